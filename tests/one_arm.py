"""A plan of one arm on a real server: its results, and what the server's log says it was sent."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from dbdyno import plan
from dbdyno.run import blocks
from dbdyno.store import Results

ONE_LIVE_ARM = """
[arms.live]
base_dir = "{base_dir}"
config = "x10a"
memory = "256MB"
[server]
data_dir = "{data}"
[schedule.void]
foreign = 1
"""
"""The arm of a template, whose blocks count however busy the machine is; its tables come after."""


def results_of(text: str, parent: Path, **parts: object) -> Iterator[Results]:
    """Runs a plan, the template `text` with `parts` and its folder for `data`; for a fixture."""
    data = Path("/var/tmp") / f"dyno-test-{os.getpid()}"
    try:
        outcome = blocks.run(plan.parse(text.format(data=data, **parts), None), parent, wait=True)
        assert outcome.failed == 0
        yield Results.open(outcome.folder)
    finally:
        subprocess.run(["rm", "-rf", str(data)], check=True)


def statements(results: Results) -> list[str]:
    """What the server's log says was executed, in order, one line each; prepared ones with $n."""
    (block,) = results.blocks()
    (run,) = block.runs()
    log = run.path / "log" / "postgres.log"
    entries = re.split(r"(?m)^\d+\.\d+ \[\d+\] ", log.read_text())
    found = [re.match(r"LOG:  (?:statement|execute [^:]*): (.*)", e, re.S) for e in entries]
    return [" ".join(match[1].split()) for match in found if match]
