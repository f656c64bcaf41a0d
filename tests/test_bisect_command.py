"""`dyno bisect` as a command: what it refuses before anything long, and the page of its answer."""

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
import typer

import fake_source
from bisect_question import QUESTION
from dbdyno.builds import cache as built
from dbdyno.cli import bisect
from dbdyno.cli.bisect import BisectOptions, CheckedSearch
from dbdyno.cli.exit_status import NOT_YET
from dbdyno.host import place
from dbdyno.host.callgrind import program
from dbdyno.model.bisection import Bisection, CommitTest
from dbdyno.model.error import DynoError
from dbdyno.report import bisection as report
from dbdyno.run import bisect as runner
from dbdyno.run import bisect_counts as counting
from dbdyno.store.bisection import BisectionFolder
from fake_source import commit, git


@pytest.fixture(name="repository")
def _repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout from version 12.1 to 18.6, three commits after the first."""
    monkeypatch.setattr(place, "cache_root", lambda: tmp_path / "cache")
    tree = fake_source.checkout(fake_source.make(tmp_path / "source", version="12.1"))
    git(tree, "tag", "old")
    for version in ("16.2", "17.3", "18.6"):
        commit(tree, version, ("configure", of_version(tree, version)))
        git(tree, "tag", f"v{version}")
    return tree


def of_version(tree: Path, version: str) -> str:
    """The configure that says this version."""
    return re.sub(r"VERSION='.*'", f"VERSION='{version}'", (tree / "configure").read_text())


def asked(repository: Path | str, **more: object) -> BisectOptions:
    usual = BisectOptions(
        source=str(repository), good="old", bad="main", workload="point-query", steps=[],
        by="throughput", smallest=None, config=[], minutes=20.0, recipe=None, cflags=None,
        configure=[], jobs=None,
    )  # fmt: skip
    return replace(usual, **more)


def refused(tmp_path: Path, words: BisectOptions) -> str:
    """Why it is refused; nothing was built, and no folder of results was begun."""
    with pytest.raises(DynoError) as error:
        bisect.begin(words, tmp_path / "results")
    assert not built.root(tmp_path / "cache").exists()
    assert not (tmp_path / "results").exists()
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_search_that_can_go_builds_nothing_yet(tmp_path: Path, repository: Path):
    begun = bisect.begin(asked(repository), tmp_path / "results")
    question = begun.search.question
    assert [one.subject for one in question.commits] == ["first", "16.2", "17.3", "18.6"]
    assert (question.engine, question.workload, question.step) == (
        "postgres", "sysbench", "point-query",
    )  # fmt: skip
    plan = "\n".join(begun.plan)
    assert re.search(r'\[arms\.good\][^[]*config = "x10a"', plan)  # of 12
    assert re.search(r'\[arms\.3-\w+\][^[]*config = "x10b"', plan)  # of 18
    assert not built.root(tmp_path / "cache").exists()


@pytest.mark.parametrize(
    ("words", "flags"),
    [
        ({}, "-O2 -falign-functions=64"),
        ({"recipe": "o2nofp"}, "-O2 -fno-omit-frame-pointer -falign-functions=64"),
        ({"cflags": "-O3 -g"}, "-O3 -g -falign-functions=64"),
        ({"cflags": "-O3 -falign-functions=32"}, "-O3 -falign-functions=32"),
        ({"cflags": "-falign-functions -O3"}, "-falign-functions -O3"),
        ({"cflags": "-O3 -fno-align-functions"}, "-O3 -fno-align-functions"),
    ],
)
def test_functions_are_aligned_unless_the_flags_say_how(
    tmp_path: Path, repository: Path, words: dict, flags: str
):
    begun = bisect.begin(asked(repository, **words), tmp_path / "results")
    assert begun.search.question.flags == flags


@pytest.fixture(name="valgrind")
def _valgrind(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Valgrind that counts everything, whether or not this host has one."""
    here = program.Valgrind(path=Path("/usr/bin/valgrind"), version="3.19.0")
    monkeypatch.setattr(program, "find", lambda **words: here)


@pytest.mark.usefixtures("valgrind")
def test_a_search_by_counts_takes_several_steps_small_tables_and_a_gates_builds(
    tmp_path: Path, repository: Path
):
    words = {"workload": "sysbench", "steps": ["point-query,insert"], "by": "instructions"}
    begun = bisect.begin(asked(repository, every=True, **words), tmp_path / "results")
    question = begun.search.question
    assert (question.steps, question.every) == (("point-query", "insert"), True)
    assert math.isclose(question.smallest, math.log1p(0.001))
    assert "-falign-functions=64" in question.flags
    assert begun.folder.folder.name.startswith("bisect-work-")
    plan = "\n".join(begun.plan)
    assert "rows = 20_000" in plan and "[count]\nonly = true" in plan
    assert "[arms.good]" in plan and plan.count("[arms.") == 1
    assert begun.search.question.command.endswith(
        "--steps point-query,insert --by instructions --all --minutes 20"
    )


def test_without_valgrind_a_search_by_counts_is_refused_with_what_installs_it(
    tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(program.shutil, "which", lambda name: None)
    said = refused(tmp_path, asked(repository, by="instructions"))
    assert "counting needs valgrind 3.19 or newer: apt-get install valgrind, or compare" in said
    assert said.endswith("or compare --by cpu")


def test_a_checkout_with_changes_is_refused(tmp_path: Path, repository: Path):
    (repository / "configure").write_text("changed")
    assert "a changed file (configure)" in refused(tmp_path, asked(repository))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"good": "v9"}, "--good v9: .* has no such commit"),
        ({"good": "main", "bad": "old"}, "exchange the two"),
        ({"workload": "nothing"}, "no workload `nothing`; there are"),
        ({"workload": "sysbench"}, "--steps: name the one step that got slower"),
        ({"workload": "sysbench", "steps": ["pt-query"]}, "no step `pt-query`"),
        ({"by": "speed"}, "--by speed: must be throughput, undisturbed, cpu or instructions"),
        ({"smallest": 0.0}, "--smallest: must be above 0 and up to 50 %, not 0"),
        ({"smallest": 0.05, "by": "instructions"}, "--smallest: must be at least 0.1 and up to 50"),
        ({"every": True}, "--all: of --by instructions alone"),
        ({"minutes": 0.5}, "--minutes: must be from 1 to"),
        ({"recipe": "o9"}, "postgres has no recipe `o9`"),
        ({"recipe": "o2nofp_pgo"}, "each commit would have a profile of its own"),
        ({"config": ["x10c"]}, "--config x10c: none is for version 12.1 of a commit"),
        ({"config": ["y99"]}, "y99"),
    ],
)
def test_what_cannot_be_searched_is_one_line_before_anything_is_built(
    tmp_path: Path, repository: Path, words: dict, said: str
):
    assert re.search(said, refused(tmp_path, asked(repository, **words)))


def test_a_version_that_dyno_does_not_build_is_refused(tmp_path: Path, repository: Path):
    commit(repository, "older", ("configure", of_version(repository, "11.3")))
    said = refused(tmp_path, asked(repository, good="v18.6"))
    assert "is PostgreSQL 11.3: 12 is the oldest that is built" in said


def test_a_checkout_of_something_else_is_refused(tmp_path: Path, repository: Path):
    git(repository, "rm", "--quiet", "configure")
    commit(repository, "gone")
    git(repository, "tag", "gone")
    commit(repository, "more", ("file", ""))
    said = refused(tmp_path, asked(repository, good="gone"))
    assert "is no source of PostgreSQL, MySQL, MariaDB" in said


def test_the_command_repeats_what_was_asked(repository: Path):
    words = asked("a b", steps=["scan"], workload="sysbench", cflags="-O2 -g", by="cpu")
    assert words.command == (
        "dyno bisect 'a b' --good old --bad main --workload sysbench --steps scan --by cpu "
        "--cflags '-O2 -g' --minutes 20"
    )


# --- The page --------------------------------------------------------------------------------


def searched(
    levels: dict[int, float],
    skipped: dict[int, str] | None = None,
    relaid: dict[tuple[int, int, int], float] | None = None,
    by: str = "throughput",
) -> Bisection:
    """A search with these tests; `relaid`: of two commits, with another layout by its number."""
    places = {(index, 0, 0): log for index, log in levels.items()} | (relaid or {})
    return Bisection(
        question=replace(QUESTION, by=by),
        tests=tuple(
            CommitTest(
                index=index,
                before=before,
                layout=layout,
                log_ratio=log,
                se=0.002,
                blocks=4,
                asked=4,
                folder="",
            )
            for (index, before, layout), log in places.items()
        ),
        skipped=skipped or {},
        built=4,
        build_s=400.0,
        test_s=700.0,
    )


def page_of(search: Bisection):
    chances = runner.answer(search)["posterior"]
    return report.page(search, runner.found_by(search), chances, runner.layout_by(search))


def sentences(search: Bisection) -> list[str]:
    return [one.text for one in page_of(search).parts[0].items]


FOUND = {20: -0.031, 10: 0.001, 15: -0.029, 12: 0.0, 13: -0.03}
THERE_AGAIN = {(13, 12, 1): -0.03, (13, 12, 2): -0.03}
"""The same change with two other layouts."""


def test_the_answer_names_the_commit_its_size_and_its_probability():
    search = searched(FOUND, relaid=THERE_AGAIN)
    said, other = sentences(search)
    assert other == (
        "With 2 other layouts of the code, beside the commit before it: −3.0 % ± 0.2, −3.0 % ± 0.2."
    )
    assert report.is_sure(runner.found_by(search))
    commit = QUESTION.commits[13]
    assert said.startswith(f"Commit {commit.short} “change 13” changed throughput by −")
    assert re.search(r"by −[23]\.\d % \[−[\d.]+, −[\d.]+\]: (> )?\d\d % probable\.$", said)


@pytest.mark.parametrize(("relaid", "status"), [({}, 3), (THERE_AGAIN, 0)])
def test_the_status_says_if_the_answer_is_sure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, relaid: dict, status: int
):
    search = searched(FOUND, relaid=relaid)
    monkeypatch.setattr(runner, "search", lambda begun, at: begun)
    assert status_of(search, tmp_path) == status
    assert (tmp_path / "search" / "report.html").exists()


def test_a_search_by_counts_that_has_counted_nothing_is_not_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(counting, "search", lambda begun, at: begun)
    assert status_of(searched({}, by="instructions"), tmp_path) == NOT_YET
    assert (tmp_path / "search" / "report.html").exists()


def status_of(search: Bisection, tmp_path: Path) -> int:
    """The exit status with which a search that is over ends."""
    folder = BisectionFolder(tmp_path / "search")
    begun = CheckedSearch(search=search, worktree=None, relaid=(), folder=folder, plan=[])  # type: ignore[arg-type]
    try:
        bisect.go(begun, 1.0, quiet=True, as_json=True)
    except typer.Exit as end:
        return end.exit_code
    return 0


def test_an_open_search_names_its_suspects_and_how_it_goes_on():
    search = searched({20: -0.031, 10: 0.001})
    said = sentences(search)
    assert said[0].startswith("Not sure, probably one of: ") and said[1].startswith("Most probable")
    assert not report.is_sure(runner.found_by(search))
    ended = next(one for one in said if one.startswith("The search ended before one answer"))
    assert re.search(r"the same command .* goes on, for at least \d+ further test", ended)


def test_a_search_that_layout_ends_says_how_many_builds_would_do():
    scattered = (0.011, -0.008, 0.002, 0.013, -0.012, -0.004, 0.009, -0.014, 0.001, -0.018)
    said = sentences(searched({2 * n: log for n, log in enumerate(scattered, start=1)}))
    ended = next(one for one in said if one.startswith("The search ended before one answer"))
    assert re.search(r"builds scatter by 1\.\d % \[.*\] .* it takes about \d+ builds", ended)
    assert "When it is not sure" in (Path(__file__).parent.parent / "docs/bisect.md").read_text()


def test_no_change_is_an_answer():
    levels = {20: 0.0003, 19: -0.0005, 18: 0.0002, 15: 0.0, 10: 0.0004}
    said, *_ = sentences(searched({20: levels[20]}))
    assert re.fullmatch(r"Not sure: probably no commit from .* throughput: \d\d % probable\.", said)
    (said,) = sentences(searched(levels))
    assert re.fullmatch(r"No commit from .* changed throughput: .*\d\d % probable\.", said)


def test_a_skipped_neighbour_of_the_answer_is_named():
    said = sentences(
        searched({20: -0.05, 10: 0.0, 11: 0.0, 14: -0.05, 15: -0.05}, {12: "x", 13: "x"})
    )
    text = " ".join(said)
    assert "Skipped, so that it may be one of them: " in text
    assert QUESTION.commits[12].short in text


def test_the_page_shows_every_commit_in_every_form():
    search = searched(FOUND, {7: "compile failed"})
    page = page_of(search)
    table = page.parts[1]
    assert [row.cells[0].text for row in table.rows] == [str(one) for one in range(21)]
    assert table.rows[7].cells[2].text == "skipped"


def test_of_a_long_search_only_what_was_looked_at_is_listed():
    commits = tuple(replace(QUESTION.commits[1], sha=f"{n:040x}"[::-1]) for n in range(501))
    question = replace(QUESTION, commits=commits)
    search = replace(
        searched(
            {500: -0.03, 251: -0.03, 252: -0.03, 253: -0.03}
            | dict.fromkeys((240, 245, 248, 249, 250), 0.0),
            relaid={(251, 250, 1): -0.03, (251, 250, 2): -0.03},
        ),
        question=question,
    )
    table = page_of(search).parts[1]
    shown = [int(row.cells[0].text) for row in table.rows]
    assert {0, 250, 251, 500} <= set(shown) and len(shown) < 20
    assert "other commits are not listed" in table.note
