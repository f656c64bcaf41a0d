"""What sysbench and dyno-loadgen put on MySQL's wire: which types parameters have, and when."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from bench import arms, jobs
from dbdyno import workload
from dbdyno.engine import Server
from dbdyno.host import program as binary
from dbdyno.model import Address
from mysql_steps import DATABASE
from recording_proxy import recording
from server_place import address
from test_sysbench_wire_live import EVENTS, LIMIT_S, ROWS, run_sysbench

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(
        arms.sysbench_program() is None, reason="no sysbench here: `apt-get install sysbench`"
    ),
]

SCRIPT = "oltp_read_write"
PREPARE, EXECUTE = 0x16, 0x17
LONGLONG, VAR_STRING = 8, 253
FIXED_BYTES = 10
"""Of an execution: the command, the statement's number, flags, how often."""


class Executed(NamedTuple):
    """An execution: whether it declares types, and these."""

    sql: str
    declares: bool
    types: tuple[int, ...]


@pytest.fixture(scope="module")
def tables(mysql_server: Server) -> Iterator[Server]:
    """A server with sysbench's table, made by sysbench."""
    mysql_server.create_database(DATABASE)
    run_sysbench(address(mysql_server), SCRIPT, "prepare", {}, driver="mysql")
    yield mysql_server


def dyno(engine: str, where: Address) -> None:
    """The generator runs the shipped workload's step."""
    given = {"tables": 1, "table_size": ROWS, "clients": 1, "events": EVENTS}
    *_, step = workload.expand(workload.load("sysbench-oltp", set=SCRIPT), given, engine)
    job = jobs.begun_on(where, step.job)
    arms.generate(binary.find("dyno-loadgen"), job, LIMIT_S)


def packets(stream: bytes) -> Iterator[bytes]:
    """The payloads of what a connection sent."""
    position = 0
    while position < len(stream):
        length = int.from_bytes(stream[position : position + 3], "little")
        yield stream[position + 4 : position + 4 + length]
        position += 4 + length


def executions(stream: bytes) -> Counter[Executed]:
    """What a connection executed; a server numbers statements in the order of their preparation.

    MariaDB may have used numbers before the first one. The last one, COMMIT, is executed.
    """
    sent = list(packets(stream))
    numbers = [int.from_bytes(one[1:5], "little") for one in sent if one[:1] == bytes([EXECUTE])]
    made = sum(one[:1] == bytes([PREPARE]) for one in sent)
    first = max(1, max(numbers, default=1) - made + 1)
    prepared: list[str] = []
    found: Counter[Executed] = Counter()
    for packet in sent:
        if packet[:1] == bytes([PREPARE]):
            prepared.append(packet[1:].decode())
        elif packet[:1] == bytes([EXECUTE]):
            sql = prepared[int.from_bytes(packet[1:5], "little") - first]
            count = sql.count("?")
            rest = packet[FIXED_BYTES + (count + 7) // 8 :]
            declares = count > 0 and rest[0] == 1
            types = tuple(rest[1 : 1 + 2 * count : 2]) if declares else ()
            found[Executed(sql, declares, types)] += 1
    return found


def test_types_and_when_they_are_declared_are_those_of_sysbench(tables: Server) -> None:
    to = address(tables)
    found = []
    for client in ("sysbench", "dyno"):
        with recording("mysql.sock", Path(to.host)) as proxy:
            where = replace(to, host=str(proxy.path), database=DATABASE)
            if client == "sysbench":
                run_sysbench(where, SCRIPT, "run", {}, driver="mysql")
            else:
                dyno(tables.engine, where)
            (stream,) = (bytes(one) for one in proxy.sent if bytes([EXECUTE]) in one)
        found.append(executions(stream))
    theirs, ours = found
    assert ours == theirs
    assert {one for each in theirs for one in each.types} == {LONGLONG, VAR_STRING}
    first = [count for each, count in theirs.items() if each.declares]
    assert set(first) == {1}, "once in a connection"
