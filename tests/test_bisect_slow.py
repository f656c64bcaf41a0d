"""A search among real commits of PostgreSQL, of which one, or none, burns CPU in the executor."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

import own_lab
import planted_commits
from dbdyno.model import Json
from planted_commits import Wish

SOURCE = os.environ.get("DYNO_SOURCE", "")
AT, BROKEN = 13, 15
TURNS = 40_000
"""Of the loop: a query takes several times as long, on any host."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not SOURCE, reason="DYNO_SOURCE names no tarball of PostgreSQL: `make test-slow`"
    ),
]


def planted(folder: Path, wish: Wish) -> Path:
    """A checkout with those commits."""
    planted_commits.make(Path(SOURCE).absolute(), folder, wish)
    return folder


def command(checkout: Path, out: Path, minutes: int) -> list[str]:
    """`dyno bisect`, asked for changes of 20 %, as little time is enough for those."""
    words = ["bisect", checkout, "--good", "good", "--bad", "bad", "--workload", "point-query"]
    words += ["--by", "cpu", "--smallest", "20", "--minutes", str(minutes), "--recipe", "o2nofp"]
    return own_lab.command(*words, "--out", out)


def go_on(checkout: Path, out: Path) -> str:
    """The same search with all the time that a busy host may need; what it prints."""
    asked = command(checkout, out, 180)
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def told(out: Path) -> Json:
    """What bisect.json has."""
    (file,) = out.glob("bisect-*/bisect.json")
    found: Json = json.loads(file.read_text())
    return found


def test_a_search_that_was_interrupted_names_the_commit_that_burns_cpu(tmp_path: Path) -> None:
    checkout = planted(tmp_path / "planted", Wish(at=AT, turns=TURNS, broken=(BROKEN,)))
    out = tmp_path / "results"
    # The minutes of the first command say how large a test is.
    with subprocess.Popen(command(checkout, out, 18), stderr=subprocess.PIPE, text=True) as first:
        assert first.stderr is not None
        said = next(line for line in first.stderr if line.startswith("commit 20 of 20 ("))
        first.send_signal(signal.SIGINT)
        first.stderr.read()
    assert first.returncode == 130, said
    (before,) = told(out)["tests"]
    said = go_on(checkout, out)
    answer = told(out)
    assert before in answer["tests"], "nothing that was measured is measured anew"
    assert (answer["found"]["first"], answer["found"]["sure"]) == (AT, True)
    assert answer["found"]["suspects"] == [AT]
    assert answer["found"]["size"]["low"] > 1.5
    assert "Mix the address of an index scan" in said
    assert set(answer["skipped"]) <= {str(BROKEN)}


def test_a_search_of_harmless_commits_tells_that_none_is_guilty(tmp_path: Path) -> None:
    checkout = planted(tmp_path / "harmless", Wish(broken=(BROKEN,)))
    out = tmp_path / "results"
    subprocess.run(command(checkout, out, 18), capture_output=True, check=True)
    go_on(checkout, out)
    found = told(out)["found"]
    assert (found["first"], found["sure"]) == (None, True)
    assert found["probability"] > 0.95
