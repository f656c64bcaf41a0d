"""What stands in for pgbench where its rough ends are tested: it logs a transaction each 10 ms."""

import json
from pathlib import Path

from msgspec import convert

from dbdyno.model import Json
from dbdyno.model.job import Job

SCRIPT = """
import os, signal, sys, time

def report(*more):
    print("pgbench (16.3)", "transaction type: <builtin: select only>", "scaling factor: 1",
          "number of transactions actually processed: %d" % count,
          "number of failed transactions: 0 (0.000%)", "latency average = 0.412 ms",
          "tps = 99.5 (without initial connection time)", sep="\\n", flush=True)

def over(*_):
    global count
    log.flush()
    {end}
    os._exit({status})

count = 0
signal.signal(signal.SIGALRM, over)
log = open("log.%d" % os.getpid(), "w")
begun = time.monotonic()
while True:
    time.sleep(0.01)
    {each}
    at = time.time_ns() // 1000
    count += 1
    log.write("%d %d 412 0 %d %06d\\n" % (count % 2, count, at // 1000000, at % 1000000))
"""


def job(
    folder: Path,
    *,
    end: str = "report()",
    each: str = "pass",
    status: int = 0,
    seconds: float = 0.5,
    limit_s: float = 20.0,
    major: int = 16,
) -> Job:
    """A job whose pgbench is this one, without a server behind."""
    program = folder / "pgbench.py"
    program.write_text(SCRIPT.format(end=end, each=each, status=status))
    return convert(
        {
        "workload": str(folder / "mine.toml"), "step": "select", "program": "pgbench",
        "version": f"{major}.3", "major": major, "command": ["python3", "-u", str(program)],
        "environment": {}, "limit_s": limit_s, "clients": 2, "threads": 1, "session": "none",
        "engine": "postgres", "server": None,
        "roles": [
            {"name": "pgbench", "per": "client", "connections": 1,
             "pace": {"kind": "closed"}},
        ],
        "stop": {"seconds": seconds, "warmup_s": 0.1},
        "pgbench": {
            "program": "newest", "protocol": "simple", "options": ["-C"],
            "scripts": [{"name": "select-only", "builtin": True, "weight": 1}],
        },
        },
        Job,
    )  # fmt: skip


def copied(of: Json) -> Json:
    """A job of its own, to be changed."""
    own: Json = json.loads(json.dumps(of))
    return own
