"""The report of a finding, for people and for programs."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from msgspec import structs

import farm_world
import profile_builder
import result_builder
import run_builder
from bisect_question import QUESTION
from dbdyno.analysis import compare
from dbdyno.cli import bisect
from dbdyno.cli.farm_plans import HeadPlan
from dbdyno.cli.farm_search import Searcher
from dbdyno.farm import findings, readings
from dbdyno.farm.file import Farm
from dbdyno.farm.journal import ChangedFunction, Culprit, Head, ResolutionEntry
from dbdyno.farm.state import FarmFinding
from dbdyno.findings.profiles.facts import ProfileFacts
from dbdyno.host import perf
from dbdyno.host.callgrind import program
from dbdyno.model.bisection import Bisection, Commit
from dbdyno.model.error import HostError, ResultError, ServerError
from dbdyno.model.json import decoder
from dbdyno.store.bisection import BisectionFolder
from farm_world import BRANCH, SERIES, World, sha
from test_bisect_command import FOUND, THERE_AGAIN, searched

CULPRIT = Culprit(
    commit=sha(2),
    subject="Make `it` slow | fast",
    before=sha(1),
    functions=(
        ChangedFunction(function="IndexNext", step="point-query", before=900.0, after=1780.4),
    ),
    command="dyno race a@1 a@2 --count",
    folder="2026-01-02-master-000/work",
)


@pytest.fixture(name="finding")
def _finding(tmp_path: Path) -> FarmFinding:
    pair = farm_world.HeadPair(branch=BRANCH, head=sha(2), previous=sha(1), seen_s=0)
    readings = [World(tmp_path, changes={2: 0.03}).reading(pair, number) for number in (0, 1)]
    alarms = tuple(farm_world.judge(readings, farm_world.Budget()))
    return FarmFinding(
        name="master-x", branch="master", opened_s=86_400.0, alarms=alarms, culprit=CULPRIT
    )


def test_a_report_names_commit_step_change_functions_and_the_command(finding: FarmFinding) -> None:
    text = findings.markdown(findings.report(finding, BRANCH))
    assert text.startswith(f"# master {sha(2)[:10]}: point-query +3.05 % instructions\n")
    assert "- found 1970-01-02 on branch master of `/src`, revision 1" in text
    assert f"- commit `{sha(2)}`: Make 'it' slow \\| fast" in text
    assert "| point-query | instructions | +3.05 % | +2.94 % to +3.15 % | worse |" in text
    assert "| `IndexNext` | point-query | 900.0 | 1,780.4 | +880.4 instructions |" in text
    assert "    dyno race a@1 a@2 --count" in text


def test_functions_of_a_change_in_time_are_told_in_microseconds(finding: FarmFinding) -> None:
    cost = ChangedFunction(function="f", step="point-query", before=0.256, after=1.5, unit="µs")
    timed = structs.replace(CULPRIT, functions=(cost,))
    text = findings.markdown(findings.report(replace(finding, culprit=timed), BRANCH))
    assert "| `f` | point-query | 0.26 | 1.50 | +1.24 µs |" in text


def test_programs_read_the_same(finding: FarmFinding) -> None:
    made = findings.as_json(findings.report(finding, BRANCH))
    assert made.endswith(b"}\n") and made.count(b"\n") == 1
    read = decoder(findings.FindingReport).decode(made)
    assert read == findings.report(finding, BRANCH)
    assert (read.format, read.revision, read.standing, read.commit) == (1, 1, "open", sha(2))


def test_a_fixed_finding_says_since_when(finding: FarmFinding) -> None:
    resolved = ResolutionEntry(
        at_s=9, finding="master-x", by="master-y", commit=sha(7), reverted=False
    )
    report = findings.report(replace(finding, resolved=resolved), BRANCH)
    assert (report.revision, report.standing, report.back_since) == (2, "fixed", sha(7))
    assert f"- fixed: back since `{sha(7)}`" in findings.markdown(report)
    assert findings.title(report).startswith(f"fixed by {sha(7)[:10]}: master ")


def test_an_unsure_commit_is_said_to_be_unsure(finding: FarmFinding) -> None:
    unsure = structs.replace(
        CULPRIT, probability=0.5, suspects=(Head(commit=sha(1)), Head(commit=sha(2)))
    )
    text = findings.markdown(findings.report(replace(finding, culprit=unsure), BRANCH))
    assert "- 50 % sure; it may be any of:" in text
    assert f"    - `{sha(1)}`" in text


@pytest.mark.parametrize(
    ("instrument", "metric", "change", "worse"),
    [
        ("work", "instructions", 0.03, True),
        ("work", "instructions", -0.03, False),
        ("time", "qps", -0.03, True),
        ("time", "qps", 0.03, False),
        ("time", "cpu_per_op", 0.03, True),
    ],
)
def test_worse_is_more_work_more_cpu_and_less_throughput(
    finding: FarmFinding, instrument: str, metric: str, change: float, worse: bool
) -> None:
    alarm = structs.replace(
        finding.alarms[0],
        series=structs.replace(SERIES, instrument=instrument, metric=metric),
        change=farm_world.ratio(change),
    )
    assert findings.change_of(alarm).worse is worse


# The functions of a finding: of a change in time they are sampled, else counted.


SLOWER = profile_builder.cost("_bt_compare", 0.9)
GONE = profile_builder.cost("?", -1.5)
UNSURE = profile_builder.cost("palloc", 3.0, changed=False)


def test_a_race_gives_each_primary_metric_of_the_head_unless_it_failed(tmp_path: Path) -> None:
    made = compare.load(result_builder.build(tmp_path, arms=("previous", "head"), steps=("l.i0",)))
    told = dict(readings.ratios(made, tmp_path, "time"))
    assert {step for step, _ in told} == {(made.steps[0].workload, "l.i0")}
    assert all(ratio.standard_error >= 0 for ratio in told.values())
    (step,) = made.steps
    cells = [replace(cell, runs=tuple(map(run_builder.failed, cell.runs))) for cell in step.cells]
    broken = replace(made, steps=(replace(step, cells=tuple(cells)),))
    with pytest.raises(ServerError, match=r"step `l\.i0`: planted"):
        list(readings.ratios(broken, tmp_path, "time"))
    with pytest.raises(HostError, match="nothing was counted; see"):
        list(readings.ratios(made, tmp_path, "work"))


@dataclass(frozen=True, kw_only=True)
class Builds:
    """A branch whose commits are built already."""

    farm: Farm
    branch: object = BRANCH

    def built(self, commit: str) -> str:
        return f"build-{commit[:8]}"


@pytest.fixture(name="searcher")
def _searcher(tmp_path: Path) -> Searcher:
    """Of a finding in time, whose plans run in no time."""
    pair = farm_world.HeadPair(branch=BRANCH, head=sha(2), previous=sha(1), seen_s=0)
    taken = [World(tmp_path, changes={2: 0.03}).reading(pair, number) for number in (0, 1)]
    series = structs.replace(farm_world.SERIES, instrument="time", metric="cpu_per_op")
    alarms = farm_world.judge(taken, farm_world.Budget())
    alarms = [structs.replace(alarm, series=series) for alarm in alarms]
    return Searcher(
        origin=Builds(farm=farm_world.farm(tmp_path)),  # type: ignore[arg-type]
        finding=FarmFinding(name="x", branch="master", opened_s=0.0, alarms=tuple(alarms)),
        measured=None,
        run=lambda wanted, path: path.with_suffix(""),
    )


@pytest.fixture(name="sampling")
def _sampling(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Has perf here, and these functions in the profiles."""

    def sampling(*costs: object) -> None:
        profile = profile_builder.beside(*costs, arm="head", base="previous")  # type: ignore[arg-type]
        facts = ProfileFacts(functions=(replace(profile, step="point-query"),))
        made = replace(profile_builder.comparison(), findings={"ProfileFacts": facts})
        monkeypatch.setattr(perf, "find", lambda: None)
        monkeypatch.setattr(compare, "load", lambda folder, base: made)

    return sampling


def absent(*_: object, **__: object) -> None:
    raise HostError("`it` is not installed")


def test_what_surely_changed_is_told_in_microseconds(
    searcher: Searcher, sampling: Callable[..., None]
) -> None:
    sampling(SLOWER, GONE, UNSURE)
    costs, folder, why = searcher.functions(sha(1), sha(2))
    assert costs == (
        ChangedFunction(
            function="? of postgres", step="point-query", before=5.0, after=3.5, unit="µs"
        ),
        ChangedFunction(
            function="_bt_compare", step="point-query", before=5.0, after=5.9, unit="µs"
        ),
    )
    assert (folder, why) == ("searches/x/profiles", "")


def test_no_sure_function_is_said(searcher: Searcher, sampling: Callable[..., None]) -> None:
    sampling(UNSURE)
    costs, folder, why = searcher.functions(sha(1), sha(2))
    assert (costs, folder) == ((), "searches/x/profiles")
    assert why == "no function's CPU per operation changed beyond chance"


def test_the_commit_is_sampled_beside_the_one_before_it(
    searcher: Searcher, sampling: Callable[..., None]
) -> None:
    sampling(SLOWER)
    ran: list[HeadPlan] = []

    def run(wanted: HeadPlan, path: Path) -> Path:
        ran.append(wanted)
        return path.with_suffix("")

    replace(searcher, run=run).functions(sha(1), sha(2))
    (wanted,) = ran
    assert dict(wanted.arms) == {"previous": f"build-{sha(1)[:8]}", "head": f"build-{sha(2)[:8]}"}
    assert (wanted.profile, wanted.count, wanted.minutes) == (True, False, 10.0)


def test_a_host_that_can_neither_sample_nor_count_says_so_and_waits_for_nothing(
    searcher: Searcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(perf, "find", absent)
    monkeypatch.setattr(program, "find", absent)
    costs, folder, why = searcher.functions(sha(1), sha(2))
    assert (costs, folder) == ((), "")
    assert why == (
        "no µs of functions: `it` is not installed; "
        "no instructions of functions: `it` is not installed"
    )


@dataclass(frozen=True, kw_only=True)
class Branched(Builds):
    """The same of a repository with these commits since the last good head."""

    commits: tuple[Commit, ...]
    folder: Path = Path("/clone")
    say: Callable[[str], None] = print

    @property
    def repository(self) -> "Branched":
        return self

    def is_on(self, good: str, first: str) -> bool:
        return bool(self.commits)

    def between(self, good: str, first: str) -> tuple[Commit, ...]:
        return self.commits

    def alone(self, commit: str) -> Commit:
        return Commit(sha=commit, subject="slower")

    def reverts(self, commit: str) -> tuple[str, ...]:
        return ()


@pytest.mark.parametrize(
    ("commits", "instrument", "ended", "index", "why"),
    [
        (3, "time", None, 3, "no µs of functions: "),
        (0, "time", None, None, " is no longer before it: the branch was rewritten in between; "),
        (20, "time", searched(FOUND, relaid=THERE_AGAIN), 13, "no µs of functions: "),
        (20, "time", searched({}), None, "the search ended: no commit was told within the min"),
        (20, "work", searched({}, by="instructions"), None, "no commit was told by its counts"),
    ],
)
def test_the_commit_of_a_finding_is_the_one_that_is_left_or_that_a_search_tells(
    commits: int, instrument: str, ended: Bisection | None, index: int | None, why: str,
    searcher: Searcher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(perf, "find", absent)
    monkeypatch.setattr(program, "find", absent)
    asked: list[bisect.BisectOptions] = []

    def begin(words: bisect.BisectOptions, out: Path) -> bisect.CheckedSearch:
        asked.append(words)
        folder = BisectionFolder(tmp_path / "search")
        return bisect.CheckedSearch(search=ended, worktree=None, relaid=(), folder=folder, plan=[])  # type: ignore[arg-type]

    monkeypatch.setattr(bisect, "begin", begin)
    monkeypatch.setattr(bisect, "searched", lambda begun, *_, **__: begun.search)
    made = QUESTION.commits[3:4] if commits == 3 else QUESTION.commits[1 : commits + 1]
    origin = Branched(farm=searcher.origin.farm, commits=made)
    alarms = tuple(
        structs.replace(alarm, series=structs.replace(alarm.series, instrument=instrument))
        for alarm in searcher.finding.alarms
    )
    finding = replace(searcher.finding, alarms=alarms)
    culprit = replace(searcher, origin=origin, finding=finding).culprit()  # type: ignore[arg-type]
    assert why in culprit.why
    assert [words.by for words in asked] == (
        [] if ended is None else ["cpu" if instrument == "time" else "instructions"]
    )
    if index is not None:
        assert culprit.commit == QUESTION.commits[index].sha
        assert f"/clone@{culprit.commit}" in culprit.command
    elif commits:
        assert (culprit.commit, len(culprit.suspects)) == ("", commits)


def test_results_without_a_profile_are_refused(tmp_path: Path, sampling: Callable[..., None]):
    sampling(SLOWER)
    with pytest.raises(ResultError, match="nothing was sampled"):
        readings.sampled(tmp_path, "previous", ["another-step"])
