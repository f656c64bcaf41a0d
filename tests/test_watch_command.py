"""`dyno watch` as a command: its file, what it refuses, and a farm from a look to a report."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

import command
import fake_source
from comparison_builder import comparison
from dbdyno import plan as plans
from dbdyno.analysis import compare
from dbdyno.cli import measuring
from dbdyno.cli.farm_hands import HostFarmWorker, at_fault
from dbdyno.cli.farm_plans import HeadPlan, blocks_of, placed, text_of
from dbdyno.farm import file, journal, readings, state
from dbdyno.farm.hands import HeadPair
from dbdyno.farm.journal import Journal
from dbdyno.host import leftovers, place
from dbdyno.host.callgrind import program
from dbdyno.model import Comparison, ProfileRequest
from dbdyno.model.error import HostError, PlanError, ServerError
from dbdyno.model.placement import SessionPlacement
from dbdyno.model.ratio import Ratio
from dbdyno.model.work import Amounts, FunctionChange, WorkChange, WorkComparison
from fake_source import commit, git
from farm_world import BRANCH

FARM = """
folder = "farm"
report_command = "cat >>received"

[[branches]]
name = "main"
source = "pg"
branch = "main"
pinned = "good"
since = "good"
every = "commit"
steps = ["point-query"]
time = false
"""
SLOW = 0.03


@pytest.fixture(name="tree")
def _tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose third commit of five is slower, one that does not build, and a farm."""
    monkeypatch.setattr(place, "cache_root", lambda: tmp_path / "cache")
    monkeypatch.chdir(tmp_path)
    tree = fake_source.checkout(fake_source.make(tmp_path / "pg", version="18.6"))
    git(tree, "tag", "good")
    whole = (tree / "Makefile").read_text()
    broken = whole.replace("all:\n\t", "all:\n\texit 1; ")
    for number in range(1, 6):
        text = broken if number == 4 else whole
        commit(tree, f"change {number}", ("README", f"{number}"), ("Makefile", text))
    (tmp_path / "farm.toml").write_text(FARM)
    return tree


@pytest.fixture(name="counted")
def _counted(tree: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Counts in place of a server's: a build is as slow as its commit; the plans that ran."""
    ran: list[str] = []
    slow = git(tree, "rev-parse", "main~2")

    def measure(plan: object, out: Path, *_: object, **__: object) -> object:
        path = Path(str(getattr(plan, "path")))  # noqa: B009 (of any plan)
        ran.append(f"{out.name}/{path.stem}")
        (out / path.stem).mkdir(parents=True, exist_ok=True)
        builds = {arm.name: arm.build for arm in getattr(plan, "arms")}  # noqa: B009
        (out / path.stem / "builds.json").write_text(json.dumps(builds))
        return type("Ended", (), {"folder": out / path.stem})()

    def load(folder: Path, base: str | None = None) -> Comparison:
        builds = json.loads((folder / "builds.json").read_text())
        repository = tree.parent / "farm" / "repositories" / "main"
        return compared(builds, base or next(iter(builds)), lambda build: is_after(
            repository, slow, build.split("-")[1]))  # fmt: skip

    monkeypatch.setattr(measuring, "measure", measure)
    monkeypatch.setattr(measuring, "with_lengths", lambda plan, folder: plan)
    monkeypatch.setattr(compare, "load", load)
    monkeypatch.setattr(program, "find", lambda **_: None)
    return ran


def is_after(repository: Path, slow: str, commit_digits: str) -> bool:
    return git(repository, "merge-base", slow, commit_digits) == slow


def compared(builds: dict[str, str], base: str, is_slow: Callable[[str], bool]) -> Comparison:
    """What counts of these builds say: slow ones do more work, in one function."""
    costs = {arm: 1000.0 * (1 + SLOW * is_slow(build)) for arm, build in builds.items()}
    changes = tuple(change(costs[base], costs[arm], arm) for arm in builds if arm != base)
    work = WorkComparison(
        base=base, arms=tuple(builds), repeats=2, tool="valgrind", left_out=(),
        scatter=0.0001, scatter_of_writes=0.0001, changes=changes,
    )  # fmt: skip
    return replace(bare(), findings={"WorkComparison": work})


@cache
def bare() -> Comparison:
    """A comparison without steps: the example takes a tenth of a second to make."""
    return replace(comparison(), steps=())


def change(base: float, arm: float, name: str) -> WorkChange:
    amounts = [Amounts(instructions=each, atomics=0, system_calls=0) for each in (base, arm)]
    function = FunctionChange(
        function="IndexNext", subsystem="", binary="postgres", base_instructions=base,
        arm_instructions=arm,
        base_whole_instructions=base, arm_whole_instructions=arm, base_calls=1, arm_calls=1,
        base_atomics=0, arm_atomics=0, changed=base != arm,
    )  # fmt: skip
    return WorkChange(
        workload="sysbench", step="point-query", arm=name, word="more", of_base=amounts[0],
        of_arm=amounts[1],
        ratio=Ratio(value=arm / base, low=arm / base, high=arm / base, blocks=2),
        functions=(function,),
    )  # fmt: skip


# --- From a look to a report ------------------------------------------------------------------


def test_a_slower_commit_is_named_with_its_function_and_reported_once(
    tree: Path, counted: list[str]
) -> None:
    ended = command.dyno("watch", "farm.toml", "--once")
    assert ended.returncode == 0, ended.stderr
    slow = git(tree, "rev-parse", "main~2")
    farm = tree.parent / "farm"
    report = json.loads((farm / "reports" / f"main-{slow[:10]}.json").read_text())
    assert report["commit"] == slow and report["subject"] == "change 3"
    assert [each["function"] for each in report["functions"]] == ["IndexNext"]
    assert report["changes"][0]["change"] == pytest.approx(SLOW, abs=0.001)
    assert f"@{slow}" in report["command"] and "--count" in report["command"]
    assert (farm / "received").read_text().count("\n") == 1
    assert len(list((farm / "reports").iterdir())) == 2, "another commit was named"
    lines = [line for line in ended.stderr.splitlines() if "skipped" in line]
    assert len(lines) == 1 and "compile failed" in lines[0]
    assert command.dyno("watch", "farm.toml", "--once").returncode == 0
    assert (farm / "received").read_text().count("\n") == 1
    assert len(counted) == len(set(counted)) == 4, "a head was measured twice, or none"


def test_a_plan_of_a_head_has_three_arms_of_the_same_blocks(tree: Path, counted: list[str]) -> None:
    command.dyno("watch", "farm.toml", "--once")
    texts = {path.parent.name: path.read_text() for path in tree.parent.glob("farm/*/work.toml")}
    (name,) = [name for name in texts if name.endswith(git(tree, "rev-parse", "main~2")[:10])]
    arms = [line for line in texts[name].splitlines() if line.startswith("[arms.")]
    assert arms == ["[arms.pinned]", "[arms.previous]", "[arms.head]"]
    first = git(tree, "rev-parse", "main~4")[:10]
    (name,) = [name for name in texts if name.endswith(first)]
    assert "[arms.previous]" not in texts[name], "it is the pinned release"


def test_a_race_of_a_head_has_the_hosts_of_the_file_and_blocks_that_fill_its_minutes(
    tree: Path, counted: list[str]
) -> None:
    hosts = '[hosts.db1]\nssh = "bench@db1"\n[server]\nhost = "db1"\n'
    path = tree.parent / "farm.toml"
    path.write_text(FARM.replace("[[branches]]", f"minutes = 30\n{hosts}[[branches]]", 1))
    farm = file.load(path)
    branch = farm.branches[0]
    origin = HostFarmWorker(farm=farm, say=print, by_slurm=lambda: None).origin(branch)
    sight = origin.look("good")
    pair = HeadPair(
        branch=branch, head=sight.heads[1].commit, previous=sight.heads[0].commit, seen_s=0
    )
    wanted = HeadPlan(arms=origin.arms(pair), steps=branch.steps, count=False, minutes=30.0, seed=3)
    plan = plans.parse(text_of(farm, branch, wanted, tree.parent / "time.toml"), path)
    assert [arm.name for arm in plan.arms] == ["pinned", "previous", "head"]
    assert (plan.seed, plan.schedule.blocks, plan.count) == (3, 6, None)
    assert {arm.host for arm in plan.arms} == {"db1"}
    both = {name: wanted.arms[name] for name in ("previous", "head")}
    sampled = replace(wanted, arms=both, profile=True)
    plan = plans.parse(text_of(farm, branch, sampled, tree.parent / "profiles.toml"), path)
    assert plan.observe.profile == ProfileRequest(seconds=10, hertz=99)
    long = blocks_of(HeadPlan(arms=wanted.arms, steps=("a",), count=False, minutes=120.0))
    assert long == 30


# --- What is refused --------------------------------------------------------------------------


def test_bad_input_is_one_line(tree: Path, counted: list[str]) -> None:
    good = command.dyno("watch", "farm.toml", "--check")
    assert (good.stdout, good.stderr) == ("main: pg, good: point-query\n", "")
    for was, now, said in (
        ("pinned", "pined", "unknown key; did you mean `pinned`?\n"),
        ("point-query", "pont-query", "did you mean `point-query`?\n"),
    ):
        (tree.parent / "farm.toml").write_text(FARM.replace(was, now))
        ended = command.dyno("watch", "farm.toml", "--check")
        assert (ended.returncode, ended.stdout) == (2, "")
        assert ended.stderr.endswith(said), ended.stderr
        assert ended.stderr.count("\n") == 1


def test_a_second_watcher_is_refused(tree: Path, counted: list[str]) -> None:
    with Journal(tree.parent / "farm", leftovers.boot_id()):
        ended = command.dyno("watch", "farm.toml", "--once")
    assert ended.returncode == 2
    assert "another watcher works there: process " in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_without_valgrind_the_file_has_to_say_so(tree: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(program.shutil, "which", lambda name: None)
    ended = command.dyno("watch", "farm.toml", "--once")
    assert ended.returncode == 2
    assert "write count = false" in ended.stderr and ended.stderr.count("\n") == 1


def test_options_of_slurm_need_slurm(tree: Path, counted: list[str]) -> None:
    ended = command.dyno("watch", "farm.toml", "--once", "--partition", "bench")
    assert (ended.returncode, ended.stderr) == (
        2, "dyno: --partition: goes with --slurm alone: add it\n",
    )  # fmt: skip


# --- Placement ---------------------------------------------------------------------------------

IN_TIME = """
arms.pinned = { version = "17" }
arms.head = { version = "18" }
[[workloads]]
name = "sysbench"
steps = ["fill", "point-query"]

[schedule]
blocks = 6
"""


@pytest.mark.parametrize(
    ("asked", "fits", "placement"),
    [
        (None, True, "together"),
        (None, False, "free"),
        ("apart", True, "apart"),
        ("together", False, "together"),  # refused where it is run
    ],
)
def test_races_are_placed_as_the_branch_says_or_together_where_that_can_be(
    asked: SessionPlacement | None,
    fits: bool,
    placement: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def checked(plan: plans.Plan) -> None:
        if plan.schedule.placement != "free" and not fits:
            raise PlanError("a connection for each operation")

    monkeypatch.setattr(measuring, "checked", checked)
    path = tmp_path / "time.toml"
    written = placed(BRANCH.model_copy(update={"placement": asked}), IN_TIME, path)
    assert plans.parse(written, path).schedule.placement == placement


# --- Who is at fault --------------------------------------------------------------------------


def failed(reason: str) -> Comparison:
    change = WorkChange(workload="sysbench", step="x", arm="head", word="failed", reason=reason)
    work = WorkComparison(
        base="pinned", arms=("pinned", "head"), repeats=1, tool="", left_out=(), scatter=0.0,
        scatter_of_writes=0.0, changes=(change,),
    )  # fmt: skip
    return replace(bare(), findings={"WorkComparison": work})


def test_a_server_that_does_not_start_is_its_head_s_fault_and_no_other_arm_s() -> None:
    with pytest.raises(ServerError, match="step `x`: head: the server ended"):
        list(readings.work_ratios(failed("head: the server ended"), Path("results")))
    with pytest.raises(HostError, match="step `x`: pinned: the server ended"):
        list(readings.work_ratios(failed("pinned: the server ended"), Path("results")))


@pytest.mark.parametrize(
    ("said", "elsewhere", "kind"),
    [
        ("time.toml: arms.head.base_dir: no bin/postgres", False, ServerError),
        ("the server ended", False, ServerError),
        ("time.toml: arms.pinned.base_dir: no bin/postgres", False, HostError),
        ("host h1: time.toml: arms.head.base_dir: no bin/postgres", True, HostError),
    ],
)
def test_what_another_arm_or_host_lacks_is_no_head_s_fault(
    said: str, elsewhere: bool, kind: type[Exception]
) -> None:
    assert type(at_fault(ServerError(said), elsewhere=elsewhere)) is kind


def test_hands_are_those_that_a_loop_asks_for(tree: Path) -> None:
    from dbdyno.farm.hands import FarmWorker

    hands: FarmWorker = HostFarmWorker(
        farm=file.load(Path("farm.toml")), say=print, by_slurm=lambda: None
    )
    assert hands.look(file.load(Path("farm.toml")).branches[0], "good").heads


def test_a_journal_of_an_unknown_event_is_refused(tmp_path: Path) -> None:
    (tmp_path / journal.FILE).write_text('{"type":"slept","at_s":1}\n{"type":"begun"}\n')
    with pytest.raises(Exception, match=r"journal\.jsonl:1"):
        state.fold(journal.read(tmp_path))


def test_arms_that_are_one_build_are_one_arm() -> None:
    from dbdyno.cli.farm_plans import arms_apart

    same = arms_apart({"pinned": "a", "previous": "a", "head": "b"})
    assert same == {"pinned": "a", "head": "b"}
    back = arms_apart({"pinned": "b", "previous": "a", "head": "b"})
    assert back == {"previous": "a", "head": "b"}
