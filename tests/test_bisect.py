"""The search of a commit: what is built and tested in which order, going on, what is refused."""

import json
import math
import random
import re
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from bisect_question import QUESTION, Builder
from dbdyno.model import Plan
from dbdyno.model.bisection import Bisection
from dbdyno.model.error import HostError, PlanError, ResultError, ServerError
from dbdyno.plan import bisect as plans
from dbdyno.plan import parse
from dbdyno.plan.bisect import BisectBuild
from dbdyno.run import bisect
from dbdyno.run.bisect import BLOCKS_FIRST, BLOCKS_MORE, BlockSearch
from dbdyno.stats.bisection import RELAYOUTS
from dbdyno.stats.interval import mean_and_sd
from dbdyno.store.bisection import BisectionFolder


@dataclass
class Lab:
    """Measures commits whose log ratios are known, with noise; may be broken off."""

    at: dict[int, float]  # change at each of these commits
    moves: dict[int, float] = field(default_factory=dict)  # of the layout that all builds share
    noise: float = 0.004
    seed: int = 1
    fails: tuple[int, ...] = ()
    interrupt_after: int = 99
    plans: list[Plan] = field(default_factory=list)

    def measure(self, plan: Plan, out: Path, arm: str) -> tuple[float, float, int]:
        if len(self.plans) == self.interrupt_after:
            raise KeyboardInterrupt
        self.plans.append(plan)
        index, before = index_of(arm), index_of(plan.base)
        if index in self.fails:
            raise ServerError("step `point-query` has no ratio to the good commit")
        layout = str(plan.path).partition("-layout-")[2]
        level = sum(size for place, size in self.at.items() if before < place <= index)
        level += 0 if layout else sum(of for place, of in self.moves.items() if place <= index)
        draw = random.Random(f"{self.seed} {index} {layout}")
        values = [draw.gauss(level, self.noise) for _ in range(plan.schedule.blocks)]
        mean, sd = mean_and_sd(values)
        return mean, (sd or 0.0) / math.sqrt(len(values)), len(values)

    @property
    def tested(self) -> list[int]:
        return [index_of(plan.arms[1].name) for plan in self.plans]


def index_of(arm: str) -> int:
    return 0 if arm == "good" else int(arm.split("-")[0])


def go(
    tmp_path: Path, lab: Lab, builder: Builder | None = None, minutes: float = 60.0
) -> tuple[Bisection, list[str]]:
    said: list[str] = []
    folder = BisectionFolder(tmp_path / "search")
    at = BlockSearch(
        worktree=builder or Builder(), relaid=[Builder() for _ in range(RELAYOUTS)],
        folder=folder, measure=lab.measure, say=said.append, minutes=minutes,
    )  # fmt: skip
    return bisect.search(folder.opened(QUESTION), at), said


def kept(tmp_path: Path) -> dict:
    return json.loads((tmp_path / "search" / "bisect.json").read_text())


def test_the_commit_that_is_slower_is_found_in_a_few_tests(tmp_path: Path):
    lab, builder = Lab({13: -0.03}), Builder()
    found, said = go(tmp_path, lab, builder)
    answer = bisect.found_by(found)
    assert answer is not None and answer.first == 13 and answer.sure
    assert 0.96 < answer.size.value < 0.98
    assert lab.tested[0] == 20 and len(set(lab.tested)) <= 9
    assert set(builder.built) == {QUESTION.commits[0].sha} | {
        QUESTION.commits[index].sha for index in lab.tested
    }
    assert "commit 20 of 20" in said[0] and "most probable: commit" in said[0]
    assert kept(tmp_path)["found"]["first"] == 13


def test_where_nothing_changed_few_commits_near_the_bad_one_are_tested(tmp_path: Path):
    lab = Lab({})
    found, _ = go(tmp_path, lab)
    answer = bisect.found_by(found)
    assert answer is not None and answer.first is None and answer.sure
    assert lab.tested[0] == 20 and len(set(lab.tested)) <= 12


def test_two_changes_are_both_told(tmp_path: Path):
    found, _ = go(tmp_path, Lab({5: -0.06, 15: -0.05}))
    answer = bisect.found_by(found)
    assert answer is not None and answer.first == 5
    assert [one.first for one in answer.more_changes] == [15]


def test_a_step_by_the_layout_of_one_build_is_gone_in_others_and_names_nobody(tmp_path: Path):
    lab = Lab({}, moves={13: -0.03})
    found, said = go(tmp_path, lab)
    answer = bisect.found_by(found)
    assert answer is not None and not (answer.sure and answer.first is not None)
    relaid = [plan for plan in lab.plans if "-layout-" in str(plan.path)]
    assert [(plan.base, plan.arms[1].name) for plan in relaid[:1]] == [
        tuple(f"{n}-{QUESTION.commits[n].short}" for n in (12, 13))
    ]
    assert any(" beside 12, layout 1: throughput " in line for line in said)
    assert [test["layout"] for test in kept(tmp_path)["tests"]].count(1) == 1


def test_a_search_whose_other_layouts_do_not_build_ends_unsure_and_says_so(tmp_path: Path):
    folder, said = BisectionFolder(tmp_path / "search"), []
    broken = Builder(broken=tuple(range(21)))
    at = BlockSearch(
        worktree=Builder(), relaid=[broken] * RELAYOUTS, folder=folder,  # type: ignore[list-item]
        measure=Lab({20: -0.03}).measure, say=said.append, minutes=60.0,
    )  # fmt: skip
    answer = bisect.found_by(bisect.search(folder.opened(QUESTION), at))
    assert answer is not None and (answer.first, answer.sure) == (20, False)
    assert re.search(r"layout 1: compile failed: .*; the answer stays unsure$", said[-1])


def test_each_test_is_a_plan_of_both_commits_builds(tmp_path: Path):
    lab = Lab({13: -0.03})
    go(tmp_path, lab)
    plan = lab.plans[0]
    assert [(arm.name, arm.build) for arm in plan.arms] == [
        ("good", "b0"), (f"20-{QUESTION.commits[20].short}", "b20"),
    ]  # fmt: skip
    assert {arm.config for arm in plan.arms} == {"x10b"}
    assert plan.base == "good" and plan.schedule.blocks == BLOCKS_FIRST
    assert plan.path is not None and plan.path.read_text() == plan.text
    assert kept(tmp_path)["tests"][0]["folder"] == f"tests/{plan.name}"


@pytest.mark.long
def test_a_commit_that_is_asked_again_goes_on_with_its_blocks(tmp_path: Path):
    lab = Lab({10: -0.02}, noise=0.02)
    go(tmp_path, lab)
    files = [str(plan.path) for plan in lab.plans]  # of each commit and layout one
    again = next(file for file in files if files.count(file) > 1)
    blocks = [plan.schedule.blocks for plan in lab.plans if str(plan.path) == again]
    assert blocks == [BLOCKS_FIRST + BLOCKS_MORE * number for number in range(len(blocks))]


def test_a_broken_search_goes_on_where_it_was(tmp_path: Path):
    whole = Lab({13: -0.03})
    wanted, _ = go(tmp_path / "whole", whole)
    first = Lab({13: -0.03}, interrupt_after=2)
    with pytest.raises(KeyboardInterrupt):
        go(tmp_path, first)
    second = Lab({13: -0.03})
    found, _ = go(tmp_path, second)
    assert [*first.tested, *second.tested] == whole.tested
    assert found.tests == wanted.tests


def test_a_search_that_is_over_tests_nothing_more(tmp_path: Path):
    go(tmp_path, Lab({13: -0.03}))
    lab = Lab({13: -0.03})
    go(tmp_path, lab)
    assert lab.tested == []


def test_commits_that_do_not_build_are_skipped_with_the_reason(tmp_path: Path):
    lab = Lab({13: -0.05})
    found, said = go(tmp_path, lab, Builder(broken=(12, 13)))
    assert not {12, 13} & set(lab.tested)
    assert set(found.skipped) <= {12, 13} and found.skipped
    assert any(one.startswith("skips commit") and "compile failed" in one for one in said)
    answer = bisect.found_by(found)
    assert answer is not None and 13 in answer.suspects


def test_a_commit_whose_server_fails_is_skipped(tmp_path: Path):
    found, _ = go(tmp_path, Lab({13: -0.05}, fails=(11,)))
    assert found.skipped == {11: "step `point-query` has no ratio to the good commit"}


@pytest.mark.parametrize(("index", "option"), [(0, "--good"), (20, "--bad")])
def test_an_end_that_does_not_build_ends_the_search(tmp_path: Path, index: int, option: str):
    with pytest.raises(HostError, match=f"{option} commit {index} of 20 .*: compile failed"):
        go(tmp_path, Lab({}), Builder(broken=(index,)))


def test_a_bad_commit_whose_server_fails_ends_the_search(tmp_path: Path):
    with pytest.raises(ServerError, match=r"--bad commit 20 of 20 .*: step `point-query` has no"):
        go(tmp_path, Lab({}, fails=(20,)))


def test_the_search_ends_with_its_minutes_and_says_how_far_it_came(tmp_path: Path):
    begun = Bisection(question=QUESTION)
    lab = Lab({13: -0.03})
    one, _ = go(tmp_path / "one", lab, minutes=60.0)
    slow = replace(one, tests=one.tests[:2], test_s=1200.0)
    assert not bisect.out_of_time(begun, 1.0, 0)
    assert not bisect.out_of_time(slow, 31.0, 2)
    whole = replace(begun, built=1, build_s=4500.0, test_s=60.0)
    assert not bisect.out_of_time(whole, 150.0, 1), "later builds take a part of the first"
    assert bisect.out_of_time(whole, 70.0, 1).startswith("70 minutes are over: ")
    folder = BisectionFolder(tmp_path / "search")
    folder.write(slow, bisect.answer(slow))
    _, said = go(tmp_path, lab, minutes=29.0)
    assert said == [
        "9 of 29 minutes are left, a test takes 10: the same command goes on with more --minutes"
    ]


def test_a_folder_of_another_question_is_refused_with_what_differs(tmp_path: Path):
    go(tmp_path, Lab({}))
    folder = BisectionFolder(tmp_path / "search")
    with pytest.raises(ResultError, match=r"is another search: `flags` differs; .* another --out"):
        folder.opened(replace(QUESTION, flags="-O3"))
    later = replace(QUESTION, minutes=9.0, architecture="x86_64")
    here = folder.opened(later)
    assert here.question == replace(QUESTION, architecture="x86_64")
    folder.write(here, {})
    with pytest.raises(ResultError, match="is another search: `architecture` differs"):
        folder.opened(replace(later, architecture="aarch64"))


def test_a_damaged_file_of_a_search_is_one_line(tmp_path: Path):
    go(tmp_path, Lab({}))
    path = tmp_path / "search" / "bisect.json"
    path.write_text(re.sub(r'"asked": (\d+)', r'"asked": "\1"', path.read_text()))
    with pytest.raises(ResultError, match=r"bisect\.json: the key `tests\[0\]\.asked`: exp"):
        BisectionFolder(tmp_path / "search").opened(QUESTION)


def test_a_step_of_the_usual_workload_stands_for_both():
    for asked, step in ((("point-query", []), "point-query"), (("sysbench", ["scan"]), "scan")):
        workload, its = plans.step_of(*asked, "postgres")
        assert (workload, its.name) == ("sysbench", step)


@pytest.mark.parametrize(
    ("step", "by", "shares"),
    [("point-query", "cpu", True), ("point-query", "throughput", False), ("insert", "cpu", False)],
)
def test_one_client_and_the_server_share_a_processor_where_cpu_of_reads_is_compared(
    step: str, by: str, shares: bool
) -> None:
    _, its = plans.step_of(step, [], "postgres")
    assert plans.shares_processor(its, by) is shares


def test_the_plan_of_a_test_pins_both_to_the_processor_and_has_one_client(tmp_path: Path) -> None:
    sides = [BisectBuild(build="a", version="18.6"), BisectBuild(build="b", version="18.6")]
    many = replace(QUESTION.host, cores=16)
    question = replace(QUESTION, by="cpu", processor=7, host=many)
    file = tmp_path / "test.toml"
    made = parse(plans.text(question, sides, commits=(0, 20), blocks=4, at=file), file)
    assert (made.placement.server_cpus, made.placement.generator_cpus) == ("7", "7")
    assert made.workloads[0].parameters["clients"] == 1
    assert made.schedule.interleave == "turn"
    apart = replace(question, by="throughput", processor=None)
    made = parse(plans.text(apart, sides, commits=(0, 20), blocks=4, at=file), file)
    assert made.placement.server_cpus is None
    assert made.workloads[0].parameters["clients"] == 12


@dataclass
class Tree:
    """A worktree whose source is one engine's."""

    engine: str
    source: str

    def version(self, commit: str) -> str:
        if self.engine != self.source:
            raise ServerError(f"is no source of {self.engine}")
        return "9.7.0"


def test_flags_are_refused_by_the_engine_only_if_the_source_is_of_no_other() -> None:
    def engine_of(source: str) -> object:
        def worktree_of(engine: str) -> Tree:
            if engine == "postgres":
                raise ServerError("postgres has no recipe `rel`")
            return Tree(engine, source)

        return bisect.engine_of(worktree_of, "a" * 40, Path("source"))  # type: ignore[arg-type]

    assert engine_of("mysql") == (Tree("mysql", "mysql"), "9.7.0")
    with pytest.raises(ServerError, match="has no recipe `rel`"):
        engine_of("postgres")


@pytest.mark.parametrize(
    ("workload", "step", "by", "compared"),
    [
        ("sysbench", "point-query", "throughput", "throughput"),
        ("sysbench", "point-query", "cpu", "CPU per operation"),
        ("cbc", "select-r", "throughput", "time"),
    ],
)
def test_what_is_compared_is_named_by_the_steps_headline(
    workload: str, step: str, by: str, compared: str
) -> None:
    headline = plans.measured(workload, (step,), "postgres")[step].headline
    assert headline is not None
    assert replace(QUESTION, metric=headline.metric, by=by).compared == compared


def test_several_measured_steps_are_refused_with_their_names():
    with pytest.raises(PlanError, match=r"--steps: name the one step .* `point-query\.pre`, .*"):
        plans.step_of("sysbench", [], "postgres")
    with pytest.raises(PlanError, match="`pgbench` measures `tpcb-like`, `simple-update`"):
        plans.step_of("pgbench", [], "postgres")
