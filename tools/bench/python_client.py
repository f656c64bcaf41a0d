"""The Insert Benchmark's l.i0 as a Python client does it: one process makes texts, one executes.

A program of its own, built as the published client is: rows drawn and written as literals one by
one, 100 to a statement, handed through a queue of 8 statements to a second process, which executes
them in autocommit. Each client has two such processes and a table of its own. Standard input:
`{"conninfo", "seconds", "clients"}`. Standard output: rows, seconds, and the CPU of all these
processes, each from its first statement to its last.
"""

from __future__ import annotations

import base64
import json
import multiprocessing
import os
import random
import resource
import sys
import time
from dataclasses import dataclass
from typing import Any

ROWS_PER_STATEMENT = 100
QUEUE_STATEMENTS_MAX = 8
NOISE_BYTES = 4 << 20
LENGTH_MIN, LENGTH_MAX = 10, 20
RANDOM_SHARE = 0.375
INSERT = "INSERT INTO pi{} (dateandtime,cashregisterid,customerid,productid,price,data) VALUES "


@dataclass(frozen=True)
class Cpu:
    """The CPU that this process has taken."""

    user_s: float
    system_s: float

    @classmethod
    def now(cls) -> Cpu:
        """Up to now."""
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return cls(usage.ru_utime, usage.ru_stime)

    def since(self, earlier: Cpu) -> Cpu:
        """The difference."""
        return Cpu(self.user_s - earlier.user_s, self.system_s - earlier.system_s)


def row(when: str, noise: str) -> str:
    """A row as literals."""
    length = random.randint(LENGTH_MIN, LENGTH_MAX)
    noisy = int(length * RANDOM_SHARE)
    start = random.randrange(len(noise) - noisy)
    data = "a" * (length - noisy) + noise[start : start + noisy]
    return (
        f"('{when}',{random.randrange(1000)},{random.randrange(100_000)},"
        f"{random.randrange(10_000)},{random.randrange(500)}.00,'{data}')"
    )


def make(statements: Any, table: int, seconds: float) -> None:
    """Makes statements until the time is over, then the mark of the end."""
    noise = base64.b64encode(os.urandom(NOISE_BYTES)).decode()
    insert = INSERT.format(table)
    end_s = time.monotonic() + seconds
    while time.monotonic() < end_s:
        when = time.strftime("%Y-%m-%d %H:%M:%S")
        statements.put(insert + ",".join([row(when, noise) for _ in range(ROWS_PER_STATEMENT)]))
    statements.put(None)


def execute(statements: Any, answer: Any, conninfo: str) -> None:
    """Executes what comes out of the queue; answers with rows, seconds and CPU."""
    import psycopg

    with psycopg.connect(conninfo, autocommit=True, prepare_threshold=None) as connection:
        cursor = connection.cursor()
        statement = statements.get()
        begun_s, begun = time.monotonic(), Cpu.now()
        rows = 0
        while statement is not None:
            cursor.execute(statement)
            rows += cursor.rowcount
            statement = statements.get()
        answer.put((rows, time.monotonic() - begun_s, Cpu.now().since(begun)))


def client(context: Any, answers: Any, table: int, task: dict[str, Any]) -> None:
    """One client: makes the statements of its table here, executes them in a second process."""
    statements = context.Queue(QUEUE_STATEMENTS_MAX)
    answer = context.Queue()
    executor = context.Process(target=execute, args=(statements, answer, task["conninfo"]))
    executor.start()
    begun = Cpu.now()
    make(statements, table, task["seconds"])
    rows, active_s, executing = answer.get()
    making = Cpu.now().since(begun)
    executor.join()
    answers.put((rows, active_s, making, executing))


def main() -> None:
    """Runs all clients and prints what they did."""
    task = json.load(sys.stdin)
    # As the published client does; a later Python would start anew.
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    numbers = range(1, task["clients"] + 1)
    clients = [
        context.Process(target=client, args=(context, answers, number, task)) for number in numbers
    ]
    for one in clients:
        one.start()
    found = [answers.get() for _ in clients]
    for one in clients:
        one.join()
    used = [cpu for _, _, making, executing in found for cpu in (making, executing)]
    print(
        json.dumps(
            {
                "rows": sum(rows for rows, *_ in found),
                "active_s": max(active_s for _, active_s, *_ in found),
                "user_s": sum(cpu.user_s for cpu in used),
                "system_s": sum(cpu.system_s for cpu in used),
            }
        )
    )


if __name__ == "__main__":
    main()
