"""The atlas: its lines, searches that go on from them, its page; which files make a server."""

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec
import pytest

import atlas
import atlas_lines
import atlas_page
from atlas_lines import Atlas, ChangeLine, History, SearchLine
from bisect_question import QUESTION
from dbdyno.model import WorkloadUse
from dbdyno.model.bisection import Bisection, Commit, CommitCount, StepWork
from dbdyno.model.error import ResultError
from dbdyno.plan import bisect as plans
from dbdyno.plan.race.course import expanded
from dbdyno.run import bisect_counts as runner

COMMITS = 60
STEPS = {"point-query": False, "insert": True}
SMALLEST = 0.5
OF_ATLAS = replace(
    QUESTION,
    commits=tuple(Commit(sha=f"{n:040x}"[::-1], subject=f"a | b {n}") for n in range(COMMITS + 1)),
    by="instructions",
    steps=tuple(STEPS),
    smallest=math.log1p(SMALLEST / 100),
    every=True,
)
ASKED = SearchLine(
    release="19", good=OF_ATLAS.commits[0].sha, bad=OF_ATLAS.commits[-1].sha, smallest=SMALLEST
)
HISTORY = History(
    between=90,
    dates={commit.sha: "2025-07-01" for commit in OF_ATLAS.commits},
    released=(OF_ATLAS.commits[7].sha[:9],),
)


@dataclass(frozen=True)
class Development:
    """Commits that change the work of steps, by what is drawn."""

    changes: Mapping[str, Mapping[int, float]]
    machine: float = 0.0  # what counts here are off by

    def counted(self, search: Bisection, index: int) -> Bisection:
        """The search with one more count of a commit."""
        before = search.counts.get(index)
        steps = {}
        for step, writes in STEPS.items():
            level = sum(size for place, size in self.changes[step].items() if place <= index)
            work = round(40_000 * math.exp(level + self.machine), 2)
            now = StepWork(
                instructions=work, counts=(work,), operations=500, warmup=200, margin=0.001,
                writes=writes, copies=("key 1",),
            )  # fmt: skip
            steps[step] = now if before is None else runner.joined(before.steps[step], now)
        first = before or CommitCount(index=index, steps={}, folders=())
        count = replace(first, steps=steps, folders=(*first.folders, f"{index}-{first.many}"))
        others = (other for other in search.counted if other.index != index)
        return replace(search, counted=(*others, count))

    def searched(self, search: Bisection, most: int = 10_000) -> tuple[Bisection, list[int]]:
        """A search that went on for so many counts, and the commits that were counted."""
        done: list[int] = []
        while len(done) < most and (index := runner.next_index(search)) is not None:
            search = self.counted(search, index)
            done.append(index)
        return search, done


def drawn(seed: int) -> Development:
    """Some changes of a few percent, among many that are too small."""
    draw = random.Random(seed)
    large = {
        step: {place: draw.choice((-1, 1)) * draw.uniform(0.01, 0.1)
               for place in draw.sample(range(1, COMMITS + 1), 3)}
        for step in STEPS
    }  # fmt: skip
    small = {place: draw.uniform(-0.0002, 0.0002) for place in range(1, COMMITS + 1)}
    return Development({step: small | of for step, of in large.items()})


def lines_of(search: Bisection, *changes: ChangeLine) -> Atlas:
    return atlas_lines.atlas_of(search, ASKED, HISTORY, changes)


def read_again(atlas_now: Atlas, tmp_path: Path) -> Atlas:
    atlas_lines.write(tmp_path / "19.jsonl", atlas_now)
    return atlas_lines.read(tmp_path / "19.jsonl")


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("most", [2, 9, 10_000])
def test_commits_and_what_is_not_searched_add_up_to_the_whole(
    tmp_path: Path, seed: int, most: int
) -> None:
    development = drawn(seed)
    search, _ = development.searched(Bisection(question=OF_ATLAS), most)
    known = read_again(lines_of(search), tmp_path)
    again = atlas_lines.as_search(known)
    assert [*runner.found(again)] == [*runner.found(search)]
    table = [*atlas_page.rows(known, again)]
    for step, of in atlas_page.sums(again, table).items():
        assert of.rows + of.unparted + of.rest == pytest.approx(of.whole)
        assert of.whole == pytest.approx(sum(development.changes[step].values()), abs=1e-5)
        small = sum(abs(size) for size in development.changes[step].values() if abs(size) < 0.001)
        hidden = 0.0 if most < 10_000 else small
        assert abs(of.rest) <= hidden + len(search.counted) * 0.0025
    assert known.search.between == 90 and known.search.serving == COMMITS
    if most == 10_000:
        assert table and not atlas_page.unparted(again)


@pytest.mark.parametrize("most", [1, 5, 12])
def test_a_search_goes_on_from_its_lines_where_no_results_are(tmp_path: Path, most: int) -> None:
    development = drawn(5)
    whole, counted = development.searched(Bisection(question=OF_ATLAS))
    first, before = development.searched(Bisection(question=OF_ATLAS), most)
    known = read_again(lines_of(first), tmp_path)
    second, after = development.searched(atlas_lines.begun(Bisection(question=OF_ATLAS), known))
    assert [*before, *after] == counted
    assert [*runner.found(second)] == [*runner.found(whole)]
    assert len(runner.found(whole)) > 2
    assert [*read_again(lines_of(second), tmp_path).lines] == [*lines_of(whole).lines]


def test_what_is_built_beside_a_count_is_counted_whatever_that_says() -> None:
    @dataclass
    class Builds:
        """Those that are there."""

        there: set[str] = field(default_factory=set)

        def is_there(self, sha: str) -> bool:
            return sha in self.there

    builds, search = Builds(), Bisection(question=OF_ATLAS)
    wanted = {OF_ATLAS.commits[place].sha for place in (COMMITS, COMMITS // 2)}
    search, _ = drawn(3).searched(search, 1)
    for _ in wanted:
        sha = atlas.to_build(search, builds)
        assert sha in wanted
        builds.there.add(sha)
    ahead: list[int] = []
    while (index := runner.next_index(search)) is not None:
        builds.there.add(OF_ATLAS.commits[index].sha)
        if (sha := atlas.to_build(search, builds)) is not None:
            builds.there.add(sha)
            ahead.append([commit.sha for commit in OF_ATLAS.commits].index(sha))
        search = drawn(3).counted(search, index)
    assert len(ahead) > 3 and set(ahead) <= search.counts.keys()


def test_counts_of_another_machine_are_no_counts_of_the_lines() -> None:
    search, _ = drawn(1).searched(Bisection(question=OF_ATLAS), 1)
    seeded = atlas_lines.begun(Bisection(question=OF_ATLAS), lines_of(search))
    atlas.refuse_others(drawn(1).counted(seeded, 0))
    with pytest.raises(ResultError, match="step `point-query` of the good commit has 40,2"):
        atlas.refuse_others(replace(drawn(1), machine=0.005).counted(seeded, 0))


def test_a_fill_that_was_unlike_others_in_a_step_is_counted_again() -> None:
    seeded = drawn(1).counted(Bisection(question=OF_ATLAS), 0)
    again = drawn(1).counted(seeded, 0)
    (count,) = again.counted
    step = count.steps["point-query"]
    other = replace(step, counts=(step.counts[0], 1.14 * step.counts[1]))
    unlike = replace(again, counted=(replace(count, steps={**count.steps, "point-query": other}),))
    assert atlas_lines.differing(again.counts[0]) == []
    assert atlas_lines.differing(unlike.counts[0]) == ["point-query"]
    atlas.refuse_others(unlike)


def test_a_copy_that_is_known_by_its_key_alone_is_the_one_that_has_it() -> None:
    step = StepWork(
        instructions=1.0, counts=(1.0,), operations=1, warmup=1, margin=0.001, copies=("a 1", "a")
    )
    for copies, own in ((("a",), False), (("a 1",), False), (("a 2",), True), (("b",), True)):
        assert runner.own_fills(step, replace(step, copies=copies)) is own


def test_a_row_says_what_changed_where_and_how_to_repeat_it(tmp_path: Path) -> None:
    development = Development({"point-query": {7: 0.02, 30: -0.03}, "insert": {}})
    search, _ = development.searched(Bisection(question=OF_ATLAS))
    commits = OF_ATLAS.commits
    change = ChangeLine(
        before=commits[6].sha,
        commit=commits[7].sha,
        released=True,
        functions={"point-query": (("ExecScan", 812.0), ("palloc", -3.0))},
    )
    text = atlas_page.page([read_again(lines_of(search, change), tmp_path)])
    loss, gain = (line for line in text.splitlines() if "| point-query | `" in line)
    assert loss.startswith(f"| +2.02 % [+2.01, +2.03] | point-query | `{commits[7].sha[:10]}` |")
    assert "a \\| b 7 | ExecScan +812, palloc −3 | yes | `dyno bisect ../postgresql --good " in loss
    assert f"--good {commits[6].sha[:10]} --bad {commits[7].sha[:10]} --by instructions" in loss
    assert gain.startswith("| −2.96 % ") and "| ? | ? |" in gain
    assert "The search is whole." in text
    (report,) = (part for part in text.split("\n\n") if part.startswith("> Since "))
    *prose, _, command = report.splitlines()
    assert "ExecScan" in report and all(len(line) <= 100 for line in prose)
    assert command == f">     {loss.split('`')[3]}"


def test_the_page_is_that_of_the_lines_which_add_up() -> None:
    atlases = atlas.atlases()
    assert [known.search.release for known in atlases] == ["19", "18", "17"]
    assert atlas_page.page(atlases) == atlas.PAGE.read_text(encoding="utf-8")
    for known in atlases:
        assert all(set(line.instructions) == set(known.search.steps) for line in known.counts)
        search = atlas_lines.as_search(known)
        if known.counts and {0, search.question.last} <= search.counts.keys():
            table = [*atlas_page.rows(known, search)]
            for of in atlas_page.sums(search, table).values():
                assert of.rows + of.unparted + of.rest == pytest.approx(of.whole)


def test_eight_operations_are_counted_on_tables_that_analyze_reads_whole() -> None:
    name, steps = plans.counted(str(atlas.WORKLOAD), (), "postgres")
    operations = ["point-query", "range-covered-pk", "hot-points", "join"]
    operations += ["update-index", "insert", "new-order", "copy"]
    assert [step.name for step in steps] == operations
    assert [step.writes for step in steps] == [False] * 4 + [True] * 4
    (fill,) = (
        step
        for step in expanded(WorkloadUse(name=name), "postgres", plans.NO_FILE)
        if step.job.fills
    )
    made = " ".join([*fill.setup, *(sql for table in fill.job.fills for sql in table.after)])
    assert made.count("PRIMARY KEY") == 13 and made.count("CREATE INDEX") == 5
    assert max(table.rows for table in fill.job.fills) <= 30_000


def test_a_line_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "19.jsonl"
    path.write_text('{"line":"total"}\n')
    with pytest.raises(msgspec.ValidationError):
        atlas_lines.read(path)
