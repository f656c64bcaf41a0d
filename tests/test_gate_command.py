"""`dyno gate` as a command: its file, refs and trees, what it refuses, and the course of a gate."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import get_args

import junitparser
import pytest

import command
import fake_source
from dbdyno.analysis import compare
from dbdyno.builds import checkout_state, source
from dbdyno.cli import gating, measuring
from dbdyno.cli import race as race_command
from dbdyno.cli.exit_status import say
from dbdyno.cli.gate import SideReader
from dbdyno.cli.source_arm import CommitBuilds, SourceBuilds
from dbdyno.host import place
from dbdyno.host.callgrind import program
from dbdyno.model import Comparison
from dbdyno.model.work import Event, WorkComparison
from dbdyno.plan import gate as plans
from dbdyno.plan.gate import GateForm, GateOptions
from dbdyno.plan.race import Race
from dbdyno.run.check import block_time, preflight
from fake_source import commit, git
from gate_builder import work
from result_builder import build, plant
from result_planted import Planted

Gate = Callable[..., tuple[int, str, str]]
Raced = Callable[[tuple[str, str], float, float | None], Comparison]


@pytest.fixture(name="checkout")
def _checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with the tags `good` and `bad`, which we are in."""
    monkeypatch.setattr(place, "cache_root", lambda: tmp_path / "cache")
    tree = fake_source.checkout(fake_source.make(tmp_path / "pg", version="18.6"))
    git(tree, "tag", "good")
    commit(tree, "slower", ("README", "slower"))
    git(tree, "tag", "bad")
    monkeypatch.chdir(tree)
    return tree


# --- The file and the options ----------------------------------------------------------------


def loaded(folder: Path, text: str | None = None, **options: object) -> GateForm:
    """What is asked with this file and these options."""
    if text is not None:
        (folder / plans.FILE).write_text(text)
    return plans.load(folder, GateOptions(**options))


def test_a_gate_without_a_file_has_the_usual_tolerances(tmp_path: Path) -> None:
    form = loaded(tmp_path)
    assert (form.minutes, form.work, form.time, form.steps) == (10, 0.003, 0.05, None)


def test_options_stand_above_the_file(tmp_path: Path) -> None:
    text = 'steps = ["point-query"]\nminutes = 20\nwork = "0.5%"\ntime = "off"\n'
    form = loaded(tmp_path, text)
    assert (form.minutes, form.work, form.time) == (20, 0.005, None)
    form = loaded(tmp_path, text, minutes=3.0, time="2%", steps=["hot-points"])
    assert (form.minutes, form.time, form.steps) == (3.0, 0.02, ["hot-points"])
    assert loaded(tmp_path, text, work="1%", time="off").time is None


def test_events_have_tolerances_which_are_none_more(tmp_path: Path) -> None:
    assert loaded(tmp_path).tolerances.events == {"system calls": 0, "atomics": 0}
    text = 'steps = ["point-query"]\nsystem_calls = 1\natomics = "off"\n'
    assert loaded(tmp_path, text).tolerances.events == {"system calls": 1}
    form = loaded(tmp_path, text, system_calls="0", atomics="8")
    assert form.tolerances.events == {"system calls": 0, "atomics": 8}
    assert loaded(tmp_path, text, system_calls="off").tolerances.events == {}


def test_the_command_is_repeated_with_its_options() -> None:
    options = GateOptions(
        steps=["a", "b"],
        minutes=3.0,
        operations=50,
        time="off",
        system_calls="1",
        configure=["--without-icu", "CC=clang"],
    )
    assert list(options.words()) == [
        "--steps", "a,b", "--minutes", "3", "--operations", "50", "--time", "off",
        "--system-calls", "1", "--configure", "--without-icu",
        "--configure", "CC=clang",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("stepz = []", "key `stepz`: unknown key; did you mean `steps`?"),
        ("minutes = 5", "key `steps`: missing: name those that the gate guards, such as steps = "),
        ("steps = []", "key `steps`: is empty; name the steps to guard"),
        ('steps = ["a"]\nwork = "1"', "key `work`: must be a percentage from 0.05% to 50%"),
        ('steps = ["a"]\ntime = "no"', 'key `time`: must be a percentage from 0.05% to 50%'),
        ('steps = ["a"]\natomics = 0.5', "key `atomics`: must be a whole number of an operation"),
        ('steps = ["a"]\natomics = true', "key `atomics`: must be a whole number of an operation"),
        ('steps = ["a"]\nsystem_calls = -1', "key `system_calls`: must be a whole number"),
        ('steps = ["a"]\nminutes = 0', "key `minutes`: must be from 1"),
        ("steps = [", "not valid TOML"),
    ],
)  # fmt: skip
def test_a_bad_file_is_refused_in_one_line_with_file_and_key(checkout: Path, text: str, said: str):
    (checkout / plans.FILE).write_text(text)
    ended = command.dyno("gate", "good", "bad")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith(f"dyno: {checkout / plans.FILE}: {said}")
    assert ended.stderr.count("\n") == 1


# --- What is refused before anything is built ------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("good", "nope"), "HEAD nope: `{tree}` has no such commit; git fetch --tags?"),
        (("--", "-x", "good"), "BASE -x: `{tree}` has no such commit"),
        (("good", "bad", "--minutes", "0"), "--minutes: must be from 1 to 1,440, not 0"),
        (("good", "bad", "--work", "x"), "--work: must be a percentage"),
        (("good", "bad", "--time", "x"), '"off" asks of work alone'),
        (("good", "bad", "--system-calls", "x"), "--system-calls: must be a whole number"),
        (("good", "bad", "--operations", "0"), "--operations: must be from 1 to 1,000,000, not 0"),
        (("good", "bad", "--recipe", "nope"), "BASE good: --recipe: "),
        (("good", "bad", "--source", "/nowhere"), "--source /nowhere: is no checkout of"),
    ],
)
def test_bad_input_is_one_line(checkout: Path, words: tuple[str, ...], said: str) -> None:
    ended = command.dyno("gate", *words)
    assert ended.returncode == 2, ended.stdout
    assert said.format(tree=checkout) in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_a_commit_that_does_not_build_is_told_and_what_was_built_stays(
    checkout: Path, tmp_path: Path
) -> None:
    broken = (checkout / "Makefile").read_text().replace("all:\n\t", "all:\n\texit 1; ")
    good = git(checkout, "rev-parse", "good")
    sources = SourceBuilds()
    sources.add(CommitBuilds(relaid=1).of(checkout, good, "BASE good"))
    sources.make()
    assert CommitBuilds(relaid=1).of(checkout, good, "BASE good").made
    commit(checkout, "broken", ("Makefile", broken))
    ended = command.dyno("gate", "good", "HEAD")
    assert ended.returncode == 2
    (line,) = [line for line in ended.stderr.splitlines() if line.startswith("dyno: ")]
    assert line.startswith("dyno: HEAD HEAD: compile failed: ")
    records = (tmp_path / "cache" / "builds").glob("*/build.json")
    flags = {json.loads(path.read_text())["flags"] for path in records}
    assert flags == {"-O2 -falign-functions=64", "-O2 -falign-functions=16"}


def test_a_dry_run_builds_nothing(checkout: Path, tmp_path: Path) -> None:
    ended = command.dyno("gate", "good", ".", "--dry-run")
    assert ended.returncode == 0
    assert "BASE good: commit" in ended.stdout and "is to be built" in ended.stdout
    assert not (tmp_path / "cache").exists()


# --- A tree as it stands ---------------------------------------------------------------------


def test_a_tree_with_changes_is_a_commit_of_its_content(checkout: Path) -> None:
    head, own = git(checkout, "rev-parse", "HEAD"), checkout_state.folder_of(checkout)
    assert checkout_state.of(checkout, own) == checkout_state.CheckoutState(commit=head)
    (checkout / "README").write_text("changed")
    (checkout / "new.c").write_text("int x;")
    before = git(checkout, "status", "--porcelain"), sorted((checkout / ".git").rglob("*"))
    tree = checkout_state.of(checkout, own)
    assert tree.changed == 2
    assert tree == checkout_state.of(checkout, own), "found again by its content"
    after = git(checkout, "status", "--porcelain"), sorted((checkout / ".git").rglob("*"))
    assert after == before, "its index and its objects stay"
    build = CommitBuilds().of(checkout, tree.commit, "HEAD .")
    build.make()
    (worktree,) = (place.cache_root() / "worktrees").glob("*/tree")
    assert (worktree / "new.c").read_text() == "int x;"
    assert git(worktree, "rev-parse", "HEAD^") == head
    assert "worktree" not in git(checkout, "worktree", "list", "--porcelain").splitlines()[3:]


def test_what_dyno_reads_and_writes_is_no_part_of_a_tree(checkout: Path) -> None:
    own = checkout_state.folder_of(checkout)
    clean = checkout_state.of(checkout, own)
    (checkout / plans.FILE).write_text('steps = ["point-query"]\n')
    (checkout / "mine" / "race-a-b").mkdir(parents=True)
    (checkout / "mine" / "race-a-b" / "plan.json").write_text("{}")
    (checkout / "gate.md").write_text("yes")
    assert checkout_state.of(checkout, own, without=[checkout / "gate.md"]) == clean
    assert checkout_state.of(checkout, own).changed == 1
    (checkout / "gate.md").unlink()
    assert source.identify(str(checkout)).identity == f"commit:{clean.commit}"
    (checkout / "new.c").write_text("int x;")
    with_changes = source.identify(str(checkout)).identity
    (checkout / plans.FILE).unlink()
    shutil.rmtree(checkout / "mine")
    assert source.identify(str(checkout)).identity == with_changes


# --- The course ------------------------------------------------------------------------------


def arms(self: gating.GateRequest, builds: CommitBuilds, sources: SourceBuilds) -> list[str]:
    """Arms in place of the builds of both sides; says with which layout they would be built."""
    say("relaid" if builds.relaid else "built")
    return ["17", "18"]


@pytest.fixture(name="raced", scope="module")
def _raced(tmp_path_factory: pytest.TempPathFactory) -> Raced:
    """A race in which the head has so much of the base's throughput."""

    @cache
    def raced(arms: tuple[str, str], lift: float, tolerate: float | None) -> Comparison:
        def planted(arm: str, step: str, block: int) -> Planted:
            scatter = 1 + 0.002 * (block % 3)
            return plant(step, faster=lift * scatter if arm == arms[1] else 1.0)

        folder = tmp_path_factory.mktemp("race")
        build(folder, arms=arms, blocks=6, planted=planted, steps=("qr100",))
        return compare.load(folder / "example", tolerate=tolerate)

    return raced


@pytest.fixture(name="gate")
def _gate(checkout: Path, raced: Raced, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gate:
    """`dyno gate good bad` whose counts and races say what they are told to.

    `change`: of work; `faster`: of throughput, of the race and of that with another layout;
    `look_s`: the seconds of a first look; `differ`: by what counts of one build differ.
    """
    monkeypatch.setattr(gating.GateRequest, "arms", arms)
    monkeypatch.setattr(program, "find", lambda otherwise="": None)

    def gate(
        *words: str,
        change: float = 0.0,
        faster: tuple[float, ...] = (),
        look_s: float = 10.0,
        differ: float = 0.0,
    ) -> tuple[int, str, str]:
        asked: list[dict[Event, str]] = []
        ratios = iter(faster)

        def ran(self: gating.GateRequest, wanted: Race, out: Path) -> Comparison:
            base, head = (arm.name for arm in wanted.arms)
            assert wanted.count != wanted.counted, "a race is of time alone"
            found = raced((base, head), 1.0 if wanted.count else next(ratios), wanted.tolerate)
            if not wanted.count:
                return found
            return replace(
                found, steps=(), findings={"WorkComparison": counted(base, head, change)}
            )

        monkeypatch.setattr(gating.GateRequest, "ran", ran)
        monkeypatch.setattr(measuring, "with_lengths", lambda plan, folder, foreseen: plan)
        monkeypatch.setattr(preflight, "prepare", lambda plan, foreseen: None)
        monkeypatch.setattr(
            measuring, "refuse_few", lambda plan, remedies, foreseen: asked.append(remedies)
        )
        monkeypatch.setattr(measuring, "counts_differ_by", lambda plan: differ)
        monkeypatch.setattr(block_time, "first_look_s", lambda plan, prepared: look_s)
        ended = command.dyno("gate", "good", "bad", "--out", tmp_path / "out", *words)
        assert next(ratios, None) is None, "each race was run"
        assert all(set(remedies) <= set(get_args(Event)) for remedies in asked)
        return ended.returncode, ended.stdout, ended.stderr

    return gate


def counted(base: str, head: str, change: float) -> WorkComparison:
    """The counts of a step."""
    return WorkComparison(
        base=base, arms=(base, head), repeats=2, tool="valgrind 3.19.0", left_out=(),
        scatter=0.0001, scatter_of_writes=0.0001, changes=(work(change, arm=head),),
    )  # fmt: skip


@pytest.mark.long
def test_more_work_ends_a_gate_without_a_race(gate: Gate, tmp_path: Path) -> None:
    files = tmp_path / "gate.md", tmp_path / "gate.xml"
    status, out, _ = gate(
        "--markdown", str(files[0]), "--junit", str(files[1]), "--json", change=0.0056
    )
    written = json.loads(out)
    assert (status, written["answer"]) == (1, "no")
    assert written["head"]["commit"] == git(Path.cwd(), "rev-parse", "bad")
    assert written["steps"][0]["time"]["reason"] == "not raced, as work says no"
    assert "IndexNext +225" in files[0].read_text()
    assert junitparser.JUnitXml.fromfile(str(files[1])).failures == 1
    (kept,) = (tmp_path / "out").glob("gate-good-bad/gate.json")
    assert json.loads(kept.read_text()) == written


@pytest.mark.long
def test_the_same_work_and_the_same_time_are_yes(gate: Gate) -> None:
    status, out, _ = gate(faster=(1.0,))
    assert (status, out.splitlines()[0][:9]) == (0, "gate: yes")


def test_a_gate_of_work_alone_races_nothing(gate: Gate) -> None:
    assert gate("--time", "off")[0] == 0


@pytest.mark.long
def test_a_loss_of_time_is_raced_again_with_both_sides_built_otherwise(gate: Gate) -> None:
    status, out, err = gate(faster=(0.85, 0.88))
    assert (status, "with another layout −1" in " ".join(out.split())) == (1, True), out
    assert "slower: qr100; building both again with another layout" in err
    assert [line for line in err.splitlines() if line in ("built", "relaid")] == ["built", "relaid"]


def test_a_loss_that_another_layout_does_not_have_accuses_nobody(gate: Gate) -> None:
    status, out, _ = gate(faster=(0.85, 1.0))
    assert status == 0
    assert "slower with one layout of its code, and not with another" in " ".join(out.split())


@pytest.mark.long
def test_what_is_not_built_here_is_never_accused_by_time(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    def prebuilt(self: SideReader, option: str, written: str) -> gating.GateBuild:
        return gating.GateBuild(option=option, written=written, name="")

    monkeypatch.setattr(SideReader, "side_of", prebuilt)
    status, out, _ = gate(faster=(0.85,))
    assert status == 3
    assert "only commits of a checkout are built with another" in " ".join(out.split())


def test_minutes_that_no_look_fits_in_are_refused_before_anything_is_measured(gate: Gate) -> None:
    status, out, err = gate("--minutes", "3", look_s=170.0)
    assert (status, out) == (2, "")
    assert err.splitlines()[-1].startswith("dyno: minutes: a first look in time takes about 2 min")
    assert "give at least 7, name fewer steps, or ask of work alone (--time off)" in err
    assert gate("--minutes", "3", "--time", "off", look_s=170.0)[0] == 0


def test_a_tolerance_below_what_counts_differ_by_is_refused_before_anything_is_counted(gate: Gate):
    status, out, err = gate("--time", "off", "--work", "0.05%", differ=0.0008)
    assert (status, out) == (2, "")
    assert err.splitlines()[-1] == (
        "dyno: work: counts of one build differ by up to 0.08 % on this host (dyno calibrate "
        "--count): tolerate more than 0.05 %"
    )
    assert gate("--time", "off", differ=0.0008)[0] == 0


def test_a_gate_counts_as_many_operations_as_it_is_told_to(tmp_path: Path) -> None:
    """Its race has none of that."""
    asked = gating.GateRequest(
        wish=GateForm(operations=50), builds=CommitBuilds(), out=tmp_path,
        sides=(gating.GateBuild(option="BASE", written="17", name=""),) * 2, command="",
        wait=False, quiet=True,
    )  # fmt: skip
    counting = asked.race(asked.asked(["17", "18"], count=True), SourceBuilds())
    racing = asked.race(asked.asked(["17", "18"]), SourceBuilds())
    assert "operations = 50" in race_command.text_of(counting, tmp_path / "count.toml")
    assert "operations" not in race_command.text_of(racing, tmp_path / "race.toml")


def test_the_next_gate_of_the_same_commits_takes_another_folder(gate: Gate, tmp_path: Path) -> None:
    for _ in range(2):
        gate(faster=(1.0,))
    names = {path.parent.name for path in (tmp_path / "out").glob("*/gate.json")}
    assert names == {"gate-good-bad", "gate-good-bad-2"}


def test_help_says_it_in_two_sentences() -> None:
    said = " ".join(command.dyno("gate", "--help").stdout.split())
    assert "Answer if HEAD may follow BASE" in said
