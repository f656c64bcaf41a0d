"""What tells two servers apart, on real ones: a race, a gate, and a search of a commit."""

import json
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import command
from bisect_question import QUESTION, Builder
from dbdyno.cli import bisect_counts, gating, measuring
from dbdyno.model import Plan
from dbdyno.model.bisection import Bisection, StepWork
from dbdyno.run import bisect_counts as searching
from dbdyno.run.bisect_counts import CountSearch
from dbdyno.run.check import step_lengths
from dbdyno.store.bisection import BisectionFolder
from server_place import ends

pytestmark = pytest.mark.live
needs_valgrind = pytest.mark.skipif(
    shutil.which("valgrind") is None, reason="no valgrind here: `apt-get install valgrind`"
)
COMMITS = QUESTION.commits[:2]


@pytest.mark.capability("race")
def test_a_race_of_two_sides_ends_with_five_lines_and_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A side that may not use its index is slower on any host."""
    monkeypatch.setattr(
        measuring, "with_lengths", lambda plan, *_: step_lengths.with_seconds(plan, 1.0)
    )
    build = ends()[-1]
    done = command.dyno(
        "race", build, f"{build};random_page_cost=1e9", "--steps", "point-query",
        "--minutes", "2", "--out", tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()  # an indented one goes on with the one before
    assert len([line for line in lines if not line.startswith(" ")]) == 5, done.stdout
    assert max(map(len, lines[:-1])) <= 80, "the last has the report's path"
    assert "slower" in done.stdout
    assert "so far, 1 block" in done.stderr
    assert list(tmp_path.glob("race-*/report.html"))


@pytest.mark.capability("gate")
@needs_valgrind
def test_a_gate_of_two_servers_answers_by_their_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By two fills of each."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(gating, "REPEATS", 2)
    old, new = ends()[0], ends()[-1]
    words = ("--steps", "point-query", "--time", "off", "--minutes", "5", "--out", tmp_path)
    ended = command.dyno("gate", old, new, *words, "--json")
    assert ended.stdout, ended.stderr
    said = json.loads(ended.stdout)
    (step,) = said["steps"]
    assert step["work"]["answer"] == said["answer"]
    assert ended.returncode == {"yes": 0, "no": 1, "not yet": 3}[said["answer"]]
    assert list(tmp_path.glob("gate-*/gate.json"))


@dataclass
class Built(Builder):
    """Commits whose builds are here: the first is the oldest server, the others the newest."""

    def of(self, index: int) -> Path:
        """The build of a commit."""
        return ends()[0] if index == 0 else ends()[-1]

    def built_version(self, sha: str) -> str:
        return self.of(self.index(sha)).name


def sharing(search: Bisection) -> Bisection:
    """The search as if all commits had begun from one fill."""
    return replace(
        search,
        counted=tuple(
            replace(
                count, steps={name: replace(step, copies=()) for name, step in count.steps.items()}
            )
            for count in search.counted
        ),
    )


@needs_valgrind
@pytest.mark.capability("bisect")
def test_a_search_by_counts_names_the_commit_whose_server_does_other_work(tmp_path: Path) -> None:
    if len(ends()) < 2:
        pytest.skip("one PostgreSQL alone: `dyno server fetch postgres 12` brings another")
    folder, builder = BisectionFolder(tmp_path / "search"), Built()

    def count(plan: Plan, out: Path) -> dict[str, StepWork]:
        """Counts a commit by its server that is here."""
        (arm,) = plan.arms
        index = 0 if arm.name == "good" else int(arm.name.partition("-")[0])
        here = replace(arm, build=None, version=None, base_dir=builder.of(index))
        return dict(bisect_counts.count(replace(plan, arms=(here,)), out, quiet=True))

    at = CountSearch(worktree=builder, folder=folder, count=count, say=lambda _: None, minutes=60)
    question = replace(
        QUESTION, commits=COMMITS, by="instructions", steps=("point-query",), smallest=0.003
    )
    search = searching.search(folder.opened(question), at)
    ((_, reason),) = searching.unnamed(search)
    assert reason == searching.OWN_FILLS, "two versions share no golden copy"
    (found,) = searching.found(search := sharing(search))
    assert (found.begin, found.end) == (0, 1)
    (change,) = bisect_counts.changes(search, folder)
    assert any(of.functions for of in change.work.changes)
