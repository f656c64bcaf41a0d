"""What stands in for sysbench where its rough ends are tested: an event each 10 ms, two threads."""

from pathlib import Path

from msgspec import convert

from dbdyno.model.job import Job

SCRIPT = """
import os, sys, time

def say(*lines):
    print(*lines, sep="\\n", flush=True)

def second(passed, events):
    say("dyno: second %.6f 1.0 2 %d 0 0 0 3 0" % (passed, events))

def moment(word, passed):
    say("dyno: %s %.9f" % (word, began + passed))

began = time.monotonic()
{begin}
say("sysbench 1.0.20", "dyno: ready", "dyno: ready")
sys.stdin.readline(), sys.stdin.readline()
moment("begun", 0), moment("begun", 0.02)
say("Threads started!")
time.sleep(0.05)
second(0.9999, 95)
say("[ 1s ] Checkpoint report:", "    total number of events:   95")
{middle}
second(2.0003, 101)
time.sleep(0.05)
second(3.0001, 40)
moment("over", 2.92), moment("over", 3.05)
sys.stdin.readline(), sys.stdin.readline()
{end}
say("Latency histogram (values are in milliseconds)",
    "       value  ------------- distribution ------------- count",
    "       1.000 |********                                 40",
    "      12.000 |**                                       123", " ",
    "General statistics:", "    total time:                          3.1004s",
    "    total number of events:              163", "", "Latency (ms):",
    "         max:                                   11.87")
sys.exit({status})
"""


def job(
    folder: Path,
    *,
    begin: str = "",
    middle: str = "",
    end: str = "",
    status: int = 0,
    limit_s: float = 20.0,
    options: tuple[str, ...] = (),
) -> Job:
    """A job whose sysbench is this one, without a server behind."""
    program = folder / "sysbench.py"
    program.write_text(SCRIPT.format(begin=begin, middle=middle, end=end, status=status))
    command = ["python3", "-u", str(program), *options, "oltp_point_select", "run"]
    return convert(
        {
        "workload": str(folder / "mine.toml"), "step": "points", "program": "sysbench",
        "version": "1.0.20", "command": command, "folder": str(folder),
        "environment": {}, "limit_s": limit_s, "clients": 1, "session": "none",
        "engine": "mysql", "server": None,
        "roles": [
            {"name": "sysbench", "per": "step", "connections": 2,
             "pace": {"kind": "closed"}},
        ],
        "stop": {"seconds": 2, "warmup_s": 1},
        "sysbench": {
            "program": "sysbench", "script": "oltp_point_select", "options": list(options)
        },
        },
        Job,
    )  # fmt: skip
