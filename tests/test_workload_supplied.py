"""Rows that programs and files give: their jobs, what is refused, which version is theirs."""

import hashlib
import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from dbdyno.model import Step
from dbdyno.model.error import PlanError
from dbdyno.run import starting_state
from dbdyno.run.driver import supplies
from workload_reader import complaint, job_of, steps

CONTRACT = Path(__file__).parent.parent / "contract"
TEXT = """
[parameters]
parts = 2

[tables.nation]
numbered = false
create = "CREATE TABLE nation (n_nationkey int)"

[tables.nation.fill]
rows = 25
streams = 1
from.file = "nation.csv"
from.columns = ["n_nationkey", "n_name", "n_regionkey", "n_comment"]

[tables.lineitem]
numbered = false
create = "CREATE TABLE lineitem (l_orderkey int)"

[tables.lineitem.fill]
rows = 6_001_215
streams = 2
after = "ANALYZE TABLE {t}"

[tables.lineitem.fill.from]
command = [
 "tpchgen-cli", "csv", "--stdout", "--tables=lineitem", "--parts={parts}", "--part={part}"
]
header = true
parts = "{parts}"
version = ["--version"]
remedy = "install it: `pip install tpchgen-cli`"

[[steps]]
name = "point"
writes = false
seconds = 10
roles.query = { run = "point" }

[statements]
point = "SELECT n_nationkey FROM nation"
"""


def load(tmp_path: Path, text: str = TEXT) -> Step:
    """The step that loads the tables."""
    return steps(text, tmp_path)[0]


def test_the_job_is_that_of_the_contract(tmp_path: Path) -> None:
    theirs = json.loads((CONTRACT / "job-source.json").read_text())["fills"]
    ours = job_of(load(tmp_path))["fills"]
    for fill in ours:
        assert fill["from"].pop("folder") == str(tmp_path)
    for fill in theirs:
        assert fill["from"].pop("folder") == "/srv/workloads"
    theirs[0]["from"]["parts"] = [{"file": "nation.csv"}]
    assert ours == theirs


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ('from.file = "nation.csv"', "", "fill.from`: needs one of `command` and `file`"),
        ("from.columns = [", "columns = { a = ':row' }\nfrom.columns = [", "write `from.columns`"),
        ("rows = 25", "rows = 25\nfrom.remedy = 'x'", "a file tells no version"),
        ('parts = "{parts}"', "parts = 10_001", "fill.from.parts`: at most 10000, not 10001"),
        ("{part}", "{turn}", "no parameter `turn`"),
        ("header = true", "header = true\nformat = 'tbl'", "fill.from.format"),
        (
            "[tables.lineitem]\nnumbered = false",
            "[tables.lineitem]\ncount = 2",
            "fill.from`: gives the rows of one table; remove `count`",
        ),
    ],
)
def test_what_cannot_give_rows_is_refused_in_a_line(tmp_path: Path, old: str, new: str, line: str):
    assert old in TEXT
    assert line in complaint(TEXT.replace(old, new, 1), tmp_path)


def test_a_fill_needs_columns_or_a_source(tmp_path: Path) -> None:
    text = TEXT.replace('from.file = "nation.csv"\n', "").replace("from.columns", "#")
    assert "`tables.nation.fill`: needs `columns`, or `from`" in complaint(text, tmp_path)


def programmed(tmp_path: Path) -> Step:
    """The load, with a program of that name in the workload's folder."""
    program = tmp_path / "give"
    program.write_text("#!/bin/sh\necho give 1.2\n")
    program.chmod(0o755)
    (tmp_path / "nation.csv").write_text("1,A,2,c\n")
    return load(tmp_path, TEXT.replace('"tpchgen-cli"', '"./give"'))


def test_versions_are_what_programs_tell_and_hashes_of_files(tmp_path: Path) -> None:
    step = programmed(tmp_path)
    hashes = [
        hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()[:12]
        for name in ("nation.csv", "give")
    ]
    expected = f"nation.csv (sha256 {hashes[0]}), give 1.2 (sha256 {hashes[1]})"
    assert supplies.version(step.job) == expected
    (tmp_path / "nation.csv").write_text("1,A,2,changed\n")
    assert supplies.version(step.job) != expected


def test_paths_are_whole_when_the_load_begins(tmp_path: Path) -> None:
    nation, lineitem = supplies.resolved(programmed(tmp_path).job).fills
    assert nation.source is not None and lineitem.source is not None
    assert nation.source.parts[0].file == str(tmp_path / "nation.csv")
    command = lineitem.source.parts[1].command
    assert command is not None and command[0] == str(tmp_path / "give")
    assert command[-1] == "--part=2"


def test_what_is_missing_is_told_before_anything_starts(tmp_path: Path) -> None:
    step = load(tmp_path, TEXT.replace('"tpchgen-cli"', '"no-such-program"'))
    with pytest.raises(PlanError) as raised:
        supplies.refuse_missing(step)
    assert str(raised.value) == (
        "w: step `fill`: table `nation`: there is no file `nation.csv`, which gives its rows: "
        "write its path relative to the workload file"
    )
    (tmp_path / "nation.csv").write_text("")
    with pytest.raises(PlanError) as raised:
        supplies.refuse_missing(step)
    assert str(raised.value).endswith(
        "there is no program `no-such-program`, which gives its rows: "
        "install it: `pip install tpchgen-cli`"
    )


def test_golden_copies_know_what_gave_the_rows_and_not_where_it_lies(tmp_path: Path) -> None:
    there, elsewhere = tmp_path / "a", tmp_path / "b"
    for folder in (there, elsewhere):
        folder.mkdir()
    first, second = (programmed(folder) for folder in (there, elsewhere))
    assert first.job != second.job
    assert starting_state.lasting(first.job) == starting_state.lasting(second.job)
    changed = replace(first.job, fills=first.job.fills[:1])
    assert starting_state.lasting(changed) != starting_state.lasting(first.job)
