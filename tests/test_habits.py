"""Small habits of the commands: quiet, JSON, lists, colours, completion, statuses, man page."""

import io
import json
import os
import re
import signal
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import command_reference
import man_page
from dbdyno import cli
from dbdyno.cli import measuring, race
from dbdyno.cli.exit_status import BAD_INPUT, DONE, FAILED, INTERRUPTED, MEANINGS, NOT_YET

COLOR = re.compile(r"\x1b\[(\d+;)*([349]\d|10\d)[;m]")

PLAN = """
[arms.base]
engine = "fake"
fake = { service_us = { insert = 500 }, jitter = 0.02 }

[arms.slower]
engine = "fake"
fake = { service_us = { insert = 900 }, jitter = 0.02 }

[[workloads]]
name = "insert-benchmark"
parameters = { rows = 2000 }
steps = ["l.i0"]

[schedule]
blocks = 3
"""


@dataclass(frozen=True)
class Ended:
    """What a command came to."""

    status: int
    stdout: str
    stderr: str


def dyno(*words: str | Path, at: Path, **environment: str) -> Ended:
    """Runs a command in a folder, as the program does; only these variables speak of colours."""
    out, err = io.StringIO(), io.StringIO()
    handler = signal.getsignal(signal.SIGTERM)
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_COLOR")}
    with (
        chdir(at),
        redirect_stdout(out),
        redirect_stderr(err),
        mock.patch.dict(os.environ, kept | environment, clear=True),
        mock.patch.object(sys, "argv", ["dyno", *map(str, words)]),
    ):
        try:
            status = cli.main()
        except SystemExit as end:
            status = int(end.code or 0)
        finally:
            signal.signal(signal.SIGTERM, handler)
    return Ended(status, out.getvalue(), err.getvalue())


@pytest.fixture(name="here", scope="module")
def _here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a plan."""
    folder = tmp_path_factory.mktemp("habits")
    (folder / "small.toml").write_text(PLAN)
    return folder


@pytest.fixture(name="ran", scope="module")
def _ran(here: Path) -> Ended:
    """The plan after its run, with nothing but results."""
    before = dyno("run", "small.toml", "-n", at=here)
    assert before.status == DONE and before.stdout.startswith("plan small")
    assert not (here / "results").exists(), "-n does nothing"
    return dyno("run", "small.toml", "--quiet", "--json", at=here)


def test_a_quiet_run_prints_its_results_alone(ran: Ended) -> None:
    assert ran.status == DONE, ran.stderr
    assert ran.stderr == ""
    found = json.loads(ran.stdout)
    assert found["blocks"] == 3


def test_what_goes_wrong_is_said_to_the_quiet_too(here: Path) -> None:
    found = dyno("run", "missing.toml", "--quiet", at=here)
    assert found.status == BAD_INPUT
    assert found.stderr.count("\n") == 1 and "missing.toml" in found.stderr


def test_a_log_has_the_progress_of_who_is_not_quiet(here: Path, ran: Ended) -> None:
    again = dyno("run", "small.toml", "--out", "again", at=here)
    assert "block 3/3" in again.stderr and "l.i0" in again.stderr
    assert "slower" in again.stdout and not again.stdout.startswith("{")


def test_a_race_ends_with_its_page_and_the_lines_of_its_verdict(
    here: Path, ran: Ended, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.html"
    measuring.show_results(
        here / "results" / "small", report, quiet=True, as_json=False,
        lines=lambda comparison: race.verdict(comparison, report),
    )  # fmt: skip
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) <= 10 and str(report) in printed[-1]
    assert "slower" in report.read_text()


def test_check_says_what_the_plan_would_do_as_json(here: Path) -> None:
    found = json.loads(dyno("check", "small.toml", "--json", at=here).stdout)
    assert [arm["name"] for arm in found["plan"]["arms"]] == ["base", "slower"]
    assert [block["number"] for block in found["blocks"]] == [1, 2, 3]
    assert all(sorted(block["order"]) == ["base", "slower"] for block in found["blocks"])
    assert dyno("run", "small.toml", "-n", "--json", at=here).stdout.startswith("{")


def test_ls_lists_results_in_lines_and_as_json(here: Path, ran: Ended) -> None:
    heading, line = dyno("ls", at=here).stdout.splitlines()
    assert heading.split() == ["changed", "(UTC)", "state", "blocks", "workload", "arms", "folder"]
    assert " insert-benchmark  " in line
    assert line.endswith("results/small") and "slower (fake) against base (fake)" in line
    (found,) = json.loads(dyno("ls", "results", "--json", at=here).stdout)
    assert found["plan"] == "small" and found["blocks"] == 3 and found["state"] == "complete"
    assert [arm["name"] for arm in found["arms"]] == ["base", "slower"]
    assert dyno("ls", "nowhere", at=here).status == BAD_INPUT


@pytest.mark.parametrize(
    ("what", "one"), [("workload", "insert-benchmark"), ("config", "x10a"), ("plan", "cbc")]
)
def test_lists_are_json_too(what: str, one: str, tmp_path: Path) -> None:
    found: list[dict[str, Any]] = json.loads(dyno(what, "list", "--json", at=tmp_path).stdout)
    assert one in [row["name"] for row in found]
    lines = dyno(what, "list", at=tmp_path).stdout.splitlines()
    assert {row["name"] for row in found} <= {*" ".join(lines).replace(",", "").split()}
    assert json.loads(dyno("golden", "list", "--json", at=tmp_path).stdout) == []


def test_no_color_means_none(here: Path, ran: Ended) -> None:
    words = ("compare", "results/small")
    # All colours, as other tests print: rich keeps a style's codes of the first kind of terminal.
    forced = {"FORCE_COLOR": "1", "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    assert COLOR.search(dyno(*words, at=here, **forced).stdout)
    assert not COLOR.search(dyno(*words, at=here, NO_COLOR="1", **forced).stdout)
    assert "\x1b" not in dyno(*words, at=here).stdout, "no terminal"


@pytest.mark.parametrize(
    ("typed", "place", "one"),
    [
        ("dyno ru", 1, "run"),
        ("dyno run --qu", 2, "--quiet"),
        ("dyno workload show ins", 3, "insert-benchmark"),
    ],
)
def test_the_shell_completes(typed: str, place: int, one: str, tmp_path: Path) -> None:
    asked = {"_DYNO_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(place)}
    assert one in dyno(at=tmp_path, **asked).stdout.split()


def test_the_help_the_page_and_the_man_page_tell_every_exit_status(tmp_path: Path) -> None:
    pages = (dyno("--help", at=tmp_path).stdout, command_reference.page())
    for status, meaning in MEANINGS.items():
        assert all(f"{status}" in page and meaning in page for page in pages)
        assert f".B {status}\n{man_page.plain(meaning)}\n" in man_page.page()
    assert sorted(MEANINGS) == [0, 1, BAD_INPUT, NOT_YET, INTERRUPTED]


def test_the_man_page_is_the_commands_own_help() -> None:
    assert man_page.PAGE.read_text() == man_page.page()


def test_the_man_page_escapes_what_man_would_read_as_its_own() -> None:
    assert man_page.plain(".5 of --all\n  a\\b") == r"\&.5 of \-\-all a\eb"


BROKEN = PLAN.replace(
    "insert = 900 }",
    'insert = 900 }, errors = [{ statement = "insert", every = 5, code = "XX000" }]',
)


@pytest.mark.parametrize(
    ("words", "status"), [(("run",), FAILED), (("calibrate", "--comparisons", "1"), BAD_INPUT)]
)
@pytest.mark.long
def test_a_result_that_failed_ends_the_same_command_with_its_status_again(
    words: tuple[str, ...], status: int, tmp_path: Path
) -> None:
    broken = (
        BROKEN
        if words == ("run",)
        else BROKEN.replace("[arms.base]", "base = 'slower'\n[arms.base]")
    )
    (tmp_path / "broken.toml").write_text(broken)
    first, again = (dyno(*words, "broken.toml", at=tmp_path) for _ in range(2))
    assert (first.status, again.status) == (status, status), first.stderr + again.stderr
    assert "block 1/" in first.stderr and "block 1/" not in again.stderr
