"""A golden copy that a server refuses: it is thrown away, and made anew once."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from dbdyno import plan
from dbdyno.engine import golden
from dbdyno.engine.golden_copy import Copy
from dbdyno.engine.postgres import fingerprint
from dbdyno.host import place
from dbdyno.run import blocks
from dbdyno.store import Results
from own_lab import command
from server_place import an_open_folder, ends

pytestmark = pytest.mark.live
needs_two = pytest.mark.skipif(
    ends()[0] == ends()[-1], reason="one PostgreSQL is here: `dyno server fetch postgres 12`"
)
ARMS = """
[arms.old]
base_dir = "{old}"
[arms.new]
base_dir = "{new}"
"""
KEPT = """
[server]
data_dir = "{data}"
[schedule]
blocks = 1
[schedule.void]
foreign = 1
[[workloads]]
name = "sysbench"
steps = ["fill", "point-query"]
parameters = {{ tables = 1, rows = 500, seconds = 1 }}
save = "post-fill"
"""
COUNTED = """
[[workloads]]
name = "sysbench"
steps = ["point-query"]
parameters = { tables = 1, rows = 500 }
[count]
operations = 20
warmup = 10
repeats = 2
only = true
"""


@pytest.fixture(name="data")
def _data() -> Iterator[Path]:
    """A folder for data that the servers' account can enter."""
    with an_open_folder("/var/tmp") as folder:
        yield folder


def arms() -> str:
    """Two versions, neither of which starts on the data of the other."""
    return ARMS.format(old=ends()[0], new=ends()[-1])


def copies(root: Path) -> dict[str, Copy]:
    """The golden copies below a root, by what their data are of."""
    found = [golden.read(folder) for folder in golden.marked(root)]
    return {str(copy.facts.major): copy for copy in found}


def forge(copy: Copy, other: Copy) -> None:
    """Puts the data of another copy into this one, and says in its golden.json that they are."""
    shutil.rmtree(copy.data_dir)
    subprocess.run(["cp", "-a", other.data_dir, copy.data_dir], check=True)
    facts = other.facts
    forged = msgspec.structs.replace(
        copy.facts, major=facts.major, control_sha256=facts.control_sha256, files=facts.files,
        bytes=facts.bytes,
    )  # fmt: skip
    (copy.folder / golden.FACTS).write_bytes(msgspec.json.encode(forged))
    assert golden.damage(golden.read(copy.folder)) is None


@needs_two
def test_a_block_makes_a_copy_anew_that_its_server_refuses(tmp_path: Path, data: Path) -> None:
    of = plan.parse(arms() + KEPT.format(data=data), None)
    assert blocks.run(replace(of, name="first"), tmp_path, wait=True).failed == 0
    by_major = copies(data)
    old, new = by_major[ends()[0].name.split(".")[0]], by_major[ends()[-1].name.split(".")[0]]
    forge(new, old)
    outcome = blocks.run(replace(of, name="second"), tmp_path, wait=True)
    assert outcome.failed == 0
    (block,) = Results.open(outcome.folder).blocks()
    steps = {run.arm: [step.step().name for step in run.steps()] for run in block.runs()}
    assert steps == {"old": ["point-query"], "new": ["fill", "point-query"]}
    began = {run.arm: [use.began for use in run.golden().values()] for run in block.runs()}
    assert began == {"old": [True], "new": [False]}
    made = golden.read(new.folder)
    assert made.facts.major == new.facts.major
    assert made.facts.made_unix_ns > new.facts.made_unix_ns
    assert fingerprint.read(made.data_dir).major == new.facts.major


@needs_two
@pytest.mark.skipif(
    shutil.which("valgrind") is None, reason="no valgrind here: `apt-get install valgrind`"
)
def test_a_count_fills_data_anew_on_which_its_server_does_not_start(tmp_path: Path) -> None:
    def counted(name: str) -> tuple[list[str], str]:
        (tmp_path / f"{name}.toml").write_text(arms() + COUNTED)
        words = command("run", tmp_path / f"{name}.toml", "--out", tmp_path)
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        repeats = Results.open(tmp_path / name / "count" / "work").blocks()
        arms_of = [
            run.arm
            for block in repeats
            if block.state == "done"
            for run in block.runs()
            for step in run.steps()
            if step.count() is not None
        ]
        return sorted(arms_of), done.stderr

    assert counted("first")[0] == ["new", "new", "old", "old"]
    root = place.data_root()
    kept = [golden.read(folder) for folder in golden.marked(root)]
    old = next(copy for copy in kept if ends()[0].name.startswith(f"{copy.facts.major}."))
    new = [copy for copy in kept if ends()[-1].name.startswith(f"{copy.facts.major}.")]
    for copy in new:
        forge(copy, old)
    both, said = counted("second")
    assert both == ["new", "new", "old", "old"]
    assert "thrown away: arm new: the server does not start: " in said
    majors = json.loads((new[0].folder / golden.FACTS).read_text())["major"]
    assert majors == new[0].facts.major
