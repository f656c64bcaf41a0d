"""The search by counts: what is built and counted in which order, going on, what it answers."""

import json
import math
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from msgspec import structs

import simulated_count_searches
from bisect_question import QUESTION, Builder
from dbdyno.analysis import commit_work
from dbdyno.cli.bisect import CheckedSearch, show_outlook
from dbdyno.model import Plan
from dbdyno.model.bisection import Bisection, CommitChange, StepWork
from dbdyno.model.error import HostError, PlanError, ResultError, ServerError
from dbdyno.model.ratio import Ratio
from dbdyno.model.work import Amounts, FunctionChange, WorkChange, WorkComparison
from dbdyno.parts.table import Table
from dbdyno.plan import bisect as plans
from dbdyno.plan import counted_step
from dbdyno.report import bisection_counts as report
from dbdyno.report.bisection_counts import UnnamedChanges
from dbdyno.report.render import html, markdown
from dbdyno.run import bisect_counts as bisect
from dbdyno.run.bisect_counts import CountSearch
from dbdyno.stats import halving
from dbdyno.store.bisection import BisectionFolder

STEPS = ("point-query", "scan")
OF_COUNTS = replace(QUESTION, by="instructions", steps=STEPS, smallest=math.log1p(0.001))


@dataclass
class Counter:
    """Counts commits whose work is known; may be broken off."""

    at: Mapping[int, float] = field(default_factory=dict)  # the change of `point-query` there
    scans: Mapping[int, float] = field(default_factory=dict)  # that of `scan`
    fails: tuple[int, ...] = ()
    interrupt_after: int = 999
    off: Mapping[tuple[int, int], float] = field(default_factory=dict)  # by commit and count
    writes: bool = False  # whether `scan` does
    catalogs: tuple[int, ...] = ()  # commits from which on data are filled anew
    plans: list[Plan] = field(default_factory=list)

    def count(self, plan: Plan, out: Path) -> dict[str, StepWork]:
        if len(self.plans) == self.interrupt_after:
            raise KeyboardInterrupt
        self.plans.append(plan)
        index = index_of(plan)
        if index in self.fails:
            raise ServerError("step `scan`: the server did not start")
        levels = [
            sum(size for place, size in at.items() if place <= index)
            for at in (self.at, self.scans)
        ]
        levels[1] += self.off.get((index, self.counted.count(index)), 0.0)
        works = {name: 40_000 * math.exp(level) for name, level in zip(STEPS, levels, strict=True)}
        return {
            name: StepWork(
                instructions=work,
                counts=(work,),
                operations=500,
                warmup=10,
                margin=0.001,
                writes=self.writes and name == "scan",
                copies=(f"copy {sum(place <= index for place in self.catalogs)}",),
            )
            for name, work in works.items()
        }

    @property
    def counted(self) -> list[int]:
        return [index_of(plan) for plan in self.plans]


def index_of(plan: Plan) -> int:
    return 0 if plan.base == "good" else int(plan.base.split("-")[0])


def go(
    tmp_path: Path,
    counter: Counter,
    builder: Builder | None = None,
    minutes: float = 60.0,
    **question: object,
) -> tuple[Bisection, list[str]]:
    said: list[str] = []
    folder = BisectionFolder(tmp_path / "search")
    at = CountSearch(
        worktree=builder or Builder(),  # type: ignore[arg-type]
        folder=folder,
        count=counter.count,
        say=said.append,
        minutes=minutes,
    )
    return bisect.search(folder.opened(replace(OF_COUNTS, **question)), at), said


def found(search: Bisection) -> list[tuple[int, int]]:
    return [(stretch.begin, stretch.end) for stretch in bisect.found(search)]


@pytest.mark.long
def test_the_commit_is_found_by_halving_with_one_count_each_and_three_of_the_answer(tmp_path: Path):
    counter, builder = Counter({13: 0.003}), Builder()
    search, said = go(tmp_path, counter, builder)
    assert found(search) == [(12, 13)]
    once = [index for index in set(counter.counted) if index not in (12, 13)]
    assert counter.counted[:3] == [0, 20, 10]
    assert all(counter.counted.count(index) == 1 for index in once)
    assert [counter.counted.count(index) for index in (12, 13)] == [3, 3]
    assert len(set(counter.counted)) <= 7 and set(counter.counted) == {
        builder.index(sha) for sha in builder.built
    }
    assert said[1].startswith("commit 20 of 20 (")
    assert said[1].endswith("): point-query 40,120 (+0.30 %), scan 40,000 (+0.00 %)")
    kept = json.loads((tmp_path / "search" / "bisect.json").read_text())
    assert [change["end"] for change in kept["changes"]] == [13]


@pytest.mark.long
def test_each_count_is_a_plan_of_one_arm_with_as_many_operations_as_the_good_one(tmp_path: Path):
    counter = Counter({13: 0.003})
    search, _ = go(tmp_path, counter)
    good, bad = counter.plans[:2]
    assert [(arm.name, arm.build) for arm in bad.arms] == [
        (f"20-{QUESTION.commits[20].short}", "b20")
    ]
    assert good.count is not None and bad.count is not None
    assert (good.count.only, good.count.repeats, good.count.operations) == (True, 1, None)
    assert bad.count.operations == dict.fromkeys(STEPS, 500)
    assert bad.count.warmup == dict.fromkeys(STEPS, 10)
    assert bad.path is not None and bad.path.read_text() == bad.text
    again = next(count for count in search.counted if count.index == 13)
    name = f"tests/013-{QUESTION.commits[13].short}"
    assert again.folders == (name, f"{name}-2", f"{name}-3")


def test_equal_ends_are_an_answer_after_two_builds(tmp_path: Path):
    search, _ = go(tmp_path, counter := Counter({5: 0.0004}))
    assert counter.counted == [0, 20, 0, 0, 20, 20] and found(search) == []


@pytest.mark.long
def test_all_finds_every_commit_of_either_sign_in_any_step(tmp_path: Path):
    counter = Counter({4: 0.03, 17: -0.012}, {11: 0.02, 12: 0.004})
    search, _ = go(tmp_path, counter, every=True, smallest=0.01)
    assert found(search) == [(3, 4), (10, 11), (16, 17)]
    signs = [max(stretch.changes.values(), key=abs) > 0 for stretch in bisect.found(search)]
    assert signs == [True, True, False]
    assert not bisect.unparted(search)


def test_without_all_the_largest_change_is_the_answer_wherever_halves_lead(tmp_path: Path):
    search, _ = go(tmp_path, Counter({3: 0.008, 8: 0.008, 15: 0.014}))
    assert found(search) == [(14, 15)]


@pytest.mark.long
def test_opposite_changes_within_a_half_hide_each_other(tmp_path: Path):
    search, _ = go(tmp_path, Counter({2: 0.03, 4: -0.03, 15: 0.02}), every=True, smallest=0.01)
    assert found(search) == [(14, 15)]


@pytest.mark.parametrize("interrupt_after", [1, 4, 9])
@pytest.mark.long
def test_a_broken_search_goes_on_and_counts_nothing_twice(tmp_path: Path, interrupt_after: int):
    whole = Counter({13: 0.003, 4: 0.002})
    wanted, _ = go(tmp_path / "whole", whole, every=True)
    first = Counter(whole.at, interrupt_after=interrupt_after)
    with pytest.raises(KeyboardInterrupt):
        go(tmp_path, first, every=True)
    second = Counter(whole.at)
    search, _ = go(tmp_path, second, every=True)
    assert [*first.counted, *second.counted] == whole.counted
    assert search.counted == wanted.counted


@pytest.mark.long
def test_a_search_that_is_over_goes_on_to_all_or_to_smaller_changes(tmp_path: Path):
    go(tmp_path, first := Counter({13: 0.03, 4: 0.002}))
    search, _ = go(tmp_path, second := Counter(first.at), every=True)
    assert found(search) == [(3, 4), (12, 13)]
    assert not {0, 20} & set(second.counted)
    folder = BisectionFolder(tmp_path / "search")
    with pytest.raises(ResultError, match="is another search: `steps` differs"):
        folder.opened(replace(OF_COUNTS, steps=("scan",)))


@pytest.mark.long
def test_commits_that_do_not_build_or_start_are_stepped_around_and_stay_suspects(tmp_path: Path):
    counter = Counter({13: 0.003}, fails=(12,))
    search, said = go(tmp_path, counter, Builder(broken=(10, 13)))
    assert set(search.skipped) == {10, 12, 13}
    assert search.built == len(set(counter.counted) - {12})
    assert search.skipped[12] == "step `scan`: the server did not start"
    assert found(search) == [(11, 14)]
    assert any(line.startswith("skips commit 13 of 20 (") for line in said)


@pytest.mark.parametrize(("index", "option"), [(0, "--good"), (20, "--bad")])
def test_an_end_that_does_not_build_or_start_ends_the_search(
    tmp_path: Path, index: int, option: str
):
    with pytest.raises(HostError, match=f"{option} commit {index} of 20 .*: compile failed"):
        go(tmp_path / "built", Counter(), Builder(broken=(index,)))
    with pytest.raises(ServerError, match=f"{option} commit {index} of 20 .*: step `scan`: the"):
        go(tmp_path / "started", Counter(fails=(index,)))


def test_the_minutes_end_a_search_with_what_is_still_to_be_parted(tmp_path: Path):
    first = Counter({13: 0.03}, interrupt_after=2)
    with pytest.raises(KeyboardInterrupt):
        go(tmp_path, first)
    folder = BisectionFolder(tmp_path / "search")
    begun = replace(folder.opened(OF_COUNTS), test_s=1200.0)
    folder.write(begun, bisect.answer(begun))
    search, said = go(tmp_path, second := Counter(first.at), minutes=29.0)
    assert second.counted == []
    assert said == [
        "9 of 29 minutes are left, a test takes 10: the same command goes on with more --minutes"
    ]
    assert [(s.begin, s.end) for s in bisect.unparted(search)] == [(0, 20)]
    said_of = [*report.answer(search, (), UnnamedChanges(unparted=bisect.unparted(search)))]
    assert said_of[1].startswith("Not searched yet, 20 commits from ")
    assert "point-query +3.05 %; scan +0.00 %; the same command goes on" in said_of[1]


@pytest.mark.parametrize(
    ("commits", "every", "said"),
    [(2, True, "about 2 of"), (21, True, "about 7 to 21 of"), (21, False, "about 7 of")],
)
def test_the_outlook_says_how_many_commits_are_to_be_built(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], commits: int, every: bool, said: str
):
    question = replace(OF_COUNTS, commits=QUESTION.commits[:commits], every=every)
    show_outlook(
        CheckedSearch(
            search=Bisection(question=question), worktree=Builder(), relaid=(),  # type: ignore[arg-type]
            folder=BisectionFolder(tmp_path), plan=[],
        )
    )  # fmt: skip
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith(f"# {commits - 1} commits after ") and second.startswith(f"# {said} ")


def test_steps_whose_work_cannot_be_counted_are_refused_by_name(monkeypatch):
    assert plans.counted("point-query", (), "postgres")[0] == "sysbench"
    _, steps = plans.counted("sysbench", ("point-query", "insert"), "postgres")
    assert [step.name for step in steps] == ["point-query", "insert"]
    monkeypatch.setattr(counted_step, "uncountable", lambda step: "keeps a rate in time")
    with pytest.raises(PlanError, match="--steps: `insert` keeps a rate in time: its work cannot"):
        plans.counted("sysbench", ("insert",), "postgres")


@pytest.mark.long
def test_a_count_of_a_step_that_writes_is_believed_after_three(tmp_path: Path):
    counter = Counter(off={(10, 1): -0.003}, at={20: 0.02}, writes=True)
    search, _ = go(tmp_path, counter, every=True)
    assert found(search) == [(19, 20)]
    assert counter.counted.count(10) == 3 and counter.counted.count(5) == 0
    later = Counter(scans={7: 0.004}, writes=True)
    search, _ = go(tmp_path / "later", later)
    assert found(search) == [(6, 7)]
    assert [later.counted.count(index) for index in (6, 7)] == [3, 3]


@pytest.mark.long
def test_twenty_commits_of_less_than_the_smallest_change_name_nobody(tmp_path: Path):
    search, _ = go(tmp_path, Counter(dict.fromkeys(range(1, 21), 0.0002)))
    assert found(search) == [] and not bisect.unparted(search) and not bisect.is_sure(search)
    said, _ = report.answer(search, (), UnnamedChanges(unnamed=[*bisect.unnamed(search)]))
    assert said.startswith(
        "No single commit: the work of point-query grew by 0.40 % over 20 commits, each below 0.1 %"
    )


@pytest.mark.long
def test_of_a_hundred_searches_with_counts_that_are_off_at_most_one_is_wrong() -> None:
    for kind in simulated_count_searches.KINDS:
        ended = list(simulated_count_searches.searches(kind, 100))
        assert sum(search.is_wrong for search in ended) <= 1, kind.words
        if not (kind.off or kind.change):
            assert not any(search.named for search in ended), kind.words


def test_a_change_that_its_interval_does_not_hold_beyond_the_smallest_is_not_named(tmp_path: Path):
    search, _ = go(tmp_path, Counter({20: 0.00105}))
    assert found(search) == [] and not bisect.is_sure(search)
    ((stretch, reason),) = bisect.unnamed(search)
    assert (stretch.end, reason) == (20, bisect.NOT_BEYOND)
    said, *_ = report.answer(search, (), UnnamedChanges(unnamed=[(stretch, reason)]))
    assert said.startswith(f"Not named: commit {QUESTION.commits[20].short} “change 20”: point-qu")


def test_a_commit_that_changes_the_initial_catalog_is_not_named_and_the_reason_is_said(
    tmp_path: Path,
):
    search, _ = go(tmp_path, Counter({13: 0.003}, catalogs=(13,)))
    assert found(search) == [] and not bisect.is_sure(search)
    assert [reason for _, reason in bisect.unnamed(search)] == [bisect.OWN_FILLS]
    kept = json.loads((tmp_path / "search" / "bisect.json").read_text())
    assert kept["unnamed"][0]["reason"] == bisect.OWN_FILLS and kept["changes"] == []
    later, _ = go(tmp_path / "later", Counter({13: 0.003}, catalogs=(9, 15)))
    assert found(later) == [(12, 13)] and bisect.is_sure(later)


@pytest.mark.long
@pytest.mark.parametrize("commit", [0, 10, 20])
def test_a_count_that_is_off_is_outvoted_and_moves_no_answer(tmp_path: Path, commit: int):
    quiet, _ = go(tmp_path / "quiet", counter := Counter(off={(commit, 1): 0.003}))
    assert found(quiet) == [] and not [*bisect.unnamed(quiet)] and bisect.is_sure(quiet)
    assert counter.counted.count(commit) == (0 if commit == 10 else 5)
    search, _ = go(tmp_path, Counter({5: 0.004}, off={(commit, 1): 0.003}))
    assert found(search) == [(4, 5)] and bisect.is_sure(search)


def test_a_commit_that_cannot_be_counted_again_is_skipped_with_its_counts(tmp_path: Path):
    class Once(Counter):
        """Counts commit 13 once."""

        def count(self, plan: Plan, out: Path) -> dict[str, StepWork]:
            self.fails = (13,) if 13 in self.counted else ()
            return super().count(plan, out)

    search, _ = go(tmp_path, Once({13: 0.003}))
    assert 13 in search.skipped and 13 not in search.counts
    assert found(search) == [(12, 14)]


def test_a_stretch_is_parted_in_its_middle_beside_what_is_skipped():
    works = {0: {"q": 0.0}, 20: {"q": 0.01}}
    least = {"q": 0.001}
    stretch = halving.next_stretch(20, works, (10, 11), least, every=False)
    assert stretch is not None and stretch.middle == 9
    assert halving.next_stretch(20, works, range(1, 20), least, every=True) is None


@pytest.fixture(name="results")
def _results(tmp_path: Path) -> Path:
    """A result folder with two counts of two steps."""
    packed = Path(__file__).parent / "example_results" / "kinds" / "count" / "result.tar.xz"
    with tarfile.open(packed) as archive:
        archive.extractall(tmp_path, filter="data")
    (folder,) = (path.parent for path in tmp_path.glob("*/plan.json"))
    return folder


def test_two_commits_are_compared_by_function_from_results_of_their_own(results: Path):
    before = commit_work.read([results])
    names = [("sysbench", "point-query"), ("sysbench", "update-index")]
    assert {*before.steps} == {*names} and [len(before.steps[name]) for name in names] == [2, 2]
    points = before.steps[names[0]]
    slower = [
        structs.replace(
            count,
            instructions=count.instructions + 200,
            functions=tuple(
                structs.replace(of, instructions=of.instructions + 200)
                if of.function == "IndexNext"
                else of
                for of in count.functions
            ),
        )
        for count in points
    ]
    after = replace(before, arm="13-a", steps={**before.steps, names[0]: slower})
    changes = {of.name: of for of in commit_work.compared(before, after, 0.001).changes}
    point, update = (changes[name] for name in names)
    assert (point.word, update.word) == ("more", "same")
    assert [of.function for of in point.changed] == ["IndexNext"] and not update.changed
    assert round(point.changed[0].change) == 200


def test_a_step_that_failed_is_the_reason_why_a_commit_is_skipped(results: Path):
    (first, *_) = sorted(results.glob("count/work/blocks/001/*/sysbench/*-point-query"))
    (first / "failed.json").write_text('{"status": "failed", "reason": "it crashed"}')
    with pytest.raises(ServerError, match="step `point-query`: it crashed; see "):
        commit_work.read([results])


# --- The page --------------------------------------------------------------------------------


def changed(before: int, commit: int) -> CommitChange:
    """A change of 0.3 % of a point query, in one function."""
    function = FunctionChange(
        function="IndexNext", subsystem="executor", binary="postgres", base_instructions=101.0,
        arm_instructions=225.0,
        base_whole_instructions=9000.0, arm_whole_instructions=9124.0, base_calls=2.0,
        arm_calls=2.0,
        base_atomics=0.0, arm_atomics=0.0, changed=True,
    )  # fmt: skip
    amounts = [
        Amounts(instructions=count, atomics=32.0, system_calls=1.0) for count in (40_000, 40_124)
    ]
    steps = (
        WorkChange(
            workload="sysbench", step="point-query", arm="13-a", word="more", of_base=amounts[0],
            of_arm=amounts[1], ratio=Ratio(value=1.0031, low=1.003, high=1.0032, blocks=2),
            functions=(function,),
        ),
        WorkChange(
            workload="sysbench", step="scan", arm="13-a", word="same", of_base=amounts[0],
            of_arm=amounts[0],
            ratio=Ratio(value=1.0, low=0.9999, high=1.0001, blocks=2),
        ),
    )  # fmt: skip
    work = WorkComparison(
        base="12-a", arms=("12-a", "13-a"), repeats=2, tool="valgrind 3.19.0", left_out=(),
        scatter=0.0001, scatter_of_writes=0.0001, changes=steps,
    )  # fmt: skip
    return CommitChange(before=before, commit=commit, work=work)


@pytest.mark.long
def test_the_answer_names_commit_step_change_and_functions(tmp_path: Path):
    search, _ = go(tmp_path, Counter({13: 0.0031}))
    change = changed(12, 13)
    first, whole, notice = report.answer(search, [change], UnnamedChanges())
    assert first == (
        f"Commit {QUESTION.commits[13].short} “change 13”: point-query more work +0.31 % "
        "[+0.30, +0.32], IndexNext +124."
    )
    assert whole.startswith("In all, from ") and "point-query +0.31 %; scan +0.00 %." in whole
    assert notice.startswith("Counts user-space instructions")
    page = report.page(search, [change], UnnamedChanges())
    table = page.parts[1]
    assert isinstance(table, Table)
    assert [row.cells[0].text for row in table.rows] == ["0", "10", "12", "13", "15", "20"]
    for text in (html.render(page), markdown.render(page)):
        assert "IndexNext" in text and QUESTION.commits[13].short in text


def test_commits_that_were_skipped_before_the_answer_are_named(tmp_path: Path):
    search, _ = go(tmp_path, Counter({13: 0.0031}), Builder(broken=(12, 13)))
    said = [*report.answer(search, [changed(11, 14)], UnnamedChanges())]
    short = [QUESTION.commits[index].short for index in (12, 13)]
    assert said[1] == f"Skipped, so that it may be one of them: {short[0]}, {short[1]}."
    assert "compile failed" in markdown.render(
        report.page(search, [changed(11, 14)], UnnamedChanges())
    )


def test_equal_ends_are_told_with_both_figures(tmp_path: Path):
    search, _ = go(tmp_path, Counter({5: 0.0004}))
    said, _ = report.answer(search, (), UnnamedChanges())
    assert said.startswith("No commit changed the work by 0.1 % for good, from ")
    assert said.endswith("point-query +0.04 %; scan +0.00 %.")
