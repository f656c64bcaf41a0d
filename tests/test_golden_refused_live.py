"""A golden copy that a server refuses: it is thrown away, and made anew once."""

import re
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
from dbdyno.engine.installed import in_folder
from dbdyno.engine.postgres import fingerprint, initdb
from dbdyno.host.account import choose
from dbdyno.model import Initdb
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
[server]
data_dir = "{data}"
[[workloads]]
name = "sysbench"
steps = ["point-query"]
parameters = {{ tables = 1, rows = 500 }}
[count]
operations = 20
warmup = 10
repeats = 1
only = true
"""


@pytest.fixture(name="data")
def _data() -> Iterator[Path]:
    """A folder for data that the servers' account can enter."""
    with an_open_folder("/var/tmp") as folder:
        yield folder


def arms(old: Path) -> str:
    """The newest version beside another, which does not start on its data, or beside itself."""
    return ARMS.format(old=old, new=ends()[-1])


def forge(copy: Copy, data: Path) -> None:
    """Puts data of another version into a copy, and says in its golden.json that they are so."""
    shutil.rmtree(copy.data_dir)
    subprocess.run(["cp", "-a", data, copy.data_dir], check=True)
    now, there = fingerprint.read(copy.data_dir), golden.census(copy.data_dir)
    forged = msgspec.structs.replace(
        copy.facts, major=now.major, control_sha256=now.sha256, files=there.files,
        bytes=there.bytes,
    )  # fmt: skip
    (copy.folder / golden.FACTS).write_bytes(msgspec.json.encode(forged))
    assert golden.damage(golden.read(copy.folder)) is None


def of_other_log(copy: Copy) -> None:
    """Gives a copy's log the form of another commit's, as between two with the same catalogs."""
    for segment in copy.data_dir.glob("pg_wal/0*"):
        with segment.open("r+b") as file:
            file.write(b"\xff\xff")
    assert golden.damage(golden.read(copy.folder)) is None


@needs_two
def test_a_block_makes_a_copy_anew_that_its_server_refuses(tmp_path: Path, data: Path) -> None:
    of = plan.parse(arms(ends()[0]) + KEPT.format(data=data), None)
    assert blocks.run(replace(of, name="first"), tmp_path, wait=True).failed == 0
    kept = {copy.facts.arm: copy for copy in map(golden.read, golden.marked(data))}
    old, new = kept["old"], kept["new"]
    forge(new, old.data_dir)
    made_unix_ns = new.facts.made_unix_ns
    for name in ("of another version", "of another log"):
        outcome = blocks.run(replace(of, name=name), tmp_path, wait=True)
        assert outcome.failed == 0
        (block,) = Results.open(outcome.folder).blocks()
        steps = {run.arm: [step.step().name for step in run.steps()] for run in block.runs()}
        assert steps == {"old": ["point-query"], "new": ["fill", "point-query"]}
        began = {run.arm: [use.began for use in run.golden().values()] for run in block.runs()}
        assert began == {"old": [True], "new": [False]}
        made = golden.read(new.folder)
        assert made.facts.major == new.facts.major
        assert made.facts.made_unix_ns > made_unix_ns
        assert fingerprint.read(made.data_dir).major == new.facts.major
        made_unix_ns = made.facts.made_unix_ns
        of_other_log(made)


@needs_two
@pytest.mark.skipif(
    shutil.which("valgrind") is None, reason="no valgrind here: `apt-get install valgrind`"
)
def test_a_count_fills_data_anew_on_which_its_server_does_not_start(tmp_path: Path, data: Path):
    def counted(name: str) -> str:
        (tmp_path / f"{name}.toml").write_text(arms(ends()[-1]) + COUNTED.format(data=data))
        words = command("run", tmp_path / f"{name}.toml", "--out", tmp_path)
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        (repeat,) = (
            block
            for block in Results.open(tmp_path / name / "count" / "work").blocks()
            if block.state == "done"
        )
        counts = [step.count() for run in repeat.runs() for step in run.steps()]
        assert len([count for count in counts if count is not None]) == 2
        return done.stderr

    own, old = choose("postgres"), in_folder(ends()[0], "x")
    counted("first")
    (copy,) = (golden.read(folder) for folder in golden.marked(data))
    own.make_folder(data / "forged")
    initdb.make(old, own, data / "forged", initdb.arguments(Initdb(), old.version_num))
    forge(copy, data / "forged")
    assert re.search("thrown away: arm (old|new): the server does not start: ", counted("second"))
    assert golden.read(copy.folder).facts.major == copy.facts.major
