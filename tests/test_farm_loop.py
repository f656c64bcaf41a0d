"""What a farm does next: what was begun first, and nothing before its time."""

import os
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import pytest

import farm_world
from dbdyno.farm import journal, loop, state
from dbdyno.farm.journal import Journal
from dbdyno.farm.loop import DAY_S, HOLD_S, TRY_S, TRY_S_MAX, WaitAction, next_action
from dbdyno.farm.watch import WatchClock, Watcher
from dbdyno.host import leftovers
from dbdyno.model.error import DiskError, PlanError, ResultError
from disk_sweep import KILL, Operation, Seam
from farm_world import BRANCH, World, sha

NOON_S = 20_000 * DAY_S + DAY_S / 2


@pytest.fixture(autouse=True)
def _judge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "judge", farm_world.judge)


@dataclass
class Hour:
    """A clock that stands until somebody sleeps, for so many sleeps at most."""

    now_s: float = NOON_S
    sleeps: int = 1000

    def now(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += max(seconds, 1.0)
        self.sleeps -= 1
        if not self.sleeps:
            raise KeyboardInterrupt

    @property
    def clock(self) -> WatchClock:
        return WatchClock(now=self.now, sleep=self.sleep)


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path


def watched(
    folder: Path, world: World, hour: Hour | None = None, *, always: bool = False, **keys: object
) -> list[str]:
    """What a watcher says while it follows a world."""
    said: list[str] = []
    farm = farm_world.farm(folder, world.command, **keys)
    hour = hour or Hour()
    with Journal(farm.folder, "boot") as kept:
        watcher = Watcher(farm, kept, world, said.append, hour.clock)
        if always:
            with pytest.raises(KeyboardInterrupt):
                watcher.always()
        else:
            watcher.once()
    return said


def known(folder: Path) -> state.FarmState:
    """What the journal comes to."""
    return state.fold(journal.read(folder / "farm"))


# --- A branch, commit by commit ---------------------------------------------------------------


def test_every_commit_is_measured_once_beside_the_one_before(folder: Path) -> None:
    world = World(folder / "farm")
    watched(folder, world)
    watched(folder, world)
    assert world.done() == [f"measure {number}" for number in range(12)]
    measured = known(folder).branch("master").measured
    assert [each.previous for each in measured] == [None, *map(sha, range(11))]


def test_a_change_is_repeated_searched_and_reported_once(folder: Path) -> None:
    world = World(folder / "farm", changes={4: 0.03})
    said = watched(folder, world)
    assert [line for line in world.done() if not line.startswith("measure")] == [
        "repeat 4 1", "search 4",
    ]  # fmt: skip
    reports = sorted(path.name for path in (folder / "farm" / "reports").iterdir())
    assert reports == [f"master-{sha(4)[:10]}.json", f"master-{sha(4)[:10]}.md"]
    assert f"report: master {sha(4)[:10]}: point-query +3.05 % instructions" in said


def test_a_suspect_is_settled_before_the_next_head_is_measured(folder: Path) -> None:
    world = World(folder / "farm", changes={4: 0.03})
    watched(folder, world)
    done = world.done()
    assert done.index("measure 4") < done.index("repeat 4 1") < done.index("measure 5")


def test_a_revert_is_a_finding_and_closes_the_first(folder: Path) -> None:
    world = World(folder / "farm", changes={3: 0.03, 7: -0.03}, reverts={7: 3})
    said = watched(folder, world)
    first, second = known(folder).findings.values()
    assert (first.standing, second.standing) == ("reverted", "open")
    assert first.resolved is not None and first.resolved.commit == sha(7)
    text = (folder / "farm" / "reports" / f"master-{sha(3)[:10]}.md").read_text()
    assert f"reverted: back since `{sha(7)}`" in text
    assert sum(line.startswith("report: ") for line in said) == 3


def test_a_change_that_goes_by_itself_is_fixed_and_another_size_is_not(folder: Path) -> None:
    watched(folder, World(folder / "farm", changes={3: 0.03, 7: -0.028}))
    (first, _) = known(folder).findings.values()
    assert first.standing == "fixed"


def test_a_gain_in_another_function_leaves_a_loss_open(folder: Path) -> None:
    changes = {3: 0.03, 7: -0.02, 9: -0.03}
    watched(folder, World(folder / "farm", changes=changes, functions={7: "ExecutorStart"}))
    first, *_ = known(folder).findings.values()
    assert first.resolved is not None and first.resolved.commit == sha(9)


def test_a_smaller_gain_leaves_a_loss_open(folder: Path) -> None:
    watched(folder, World(folder / "farm", changes={3: 0.03, 7: -0.01}))
    assert [each.standing for each in known(folder).findings.values()] == ["open", "open"]


def test_a_commit_that_does_not_build_is_told_once_and_the_chain_goes_around_it(folder: Path):
    world = World(folder / "farm", broken=(5,))
    said = watched(folder, world) + watched(folder, world)
    (line,) = [line for line in said if "skipped" in line]
    assert line == f"master {sha(5)[:10]}: skipped: compile failed: x.c:1: error"
    measured = {each.head: each.previous for each in known(folder).branch("master").measured}
    assert sha(5) not in measured and measured[sha(6)] == sha(4)


def test_a_suspect_that_is_never_sure_is_repeated_three_times_at_most(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsure(readings: object, budget: object) -> list[object]:
        alarms = farm_world.judge(readings, budget)  # type: ignore[arg-type]
        return [farm_world.structs.replace(alarm, sure=False) for alarm in alarms]

    monkeypatch.setattr(loop, "judge", unsure)
    world = World(folder / "farm", changes={4: 0.03})
    watched(folder, world)
    assert [line for line in world.done() if line.startswith("repeat")] == [
        "repeat 4 1", "repeat 4 2", "repeat 4 3",
    ]  # fmt: skip
    assert not known(folder).findings


# --- What is in the way -----------------------------------------------------------------------


def test_what_is_no_head_s_fault_is_told_once_and_the_head_waits(folder: Path) -> None:
    full = {"left": 3}

    def fails(what: str) -> str:
        if what != "measure 2" or not full["left"]:
            return ""
        full["left"] -= 1
        return "no room: free 3 GB in /data"

    hour = Hour(sleeps=20)
    world = World(folder / "farm", commits=4, fails=fails)
    said = watched(folder, world, hour, always=True)
    assert [line for line in said if "room" in line] == [
        "master: waits: no room: free 3 GB in /data"
    ]
    assert world.done() == [f"measure {number}" for number in range(4)]
    assert hour.now_s >= NOON_S + 3 * HOLD_S


def test_a_branch_that_is_not_reached_is_told_once_and_looked_at_again(folder: Path) -> None:
    tries = iter(["no such host", "no such host", ""])
    world = World(folder / "farm", fails=lambda what: next(tries, "") if what == "look" else "")
    said = watched(folder, world, Hour(sleeps=4), always=True)
    assert said.count("master: no such host") == 1
    assert len(world.done()) == 12


def test_one_branch_that_waits_does_not_hold_another(folder: Path) -> None:
    other = BRANCH.model_copy(update={"name": "stable"})
    blocked = World(folder / "farm", commits=2)
    blocked.fails = lambda what: ""
    measure = blocked.measure

    def measured(pair: farm_world.HeadPair) -> farm_world.HeadMeasurement:
        if pair.branch.name == "master":
            raise farm_world.HostError("another lab measures on this host")
        return measure(pair)

    blocked.measure = measured  # type: ignore[method-assign]
    watched(folder, blocked, branches=(BRANCH, other))
    assert len(known(folder).branch("stable").measured) == 2
    assert not known(folder).branch("master").measured


def test_a_full_disk_is_told_once_and_nothing_is_lost(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left, append = {"no": 3}, Journal.append

    def full(self: Journal, event: journal.Event) -> None:
        if isinstance(event, journal.MeasurementEntry) and left["no"]:
            left["no"] -= 1
            raise DiskError("`journal.jsonl`: no space left: free space there")
        append(self, event)

    monkeypatch.setattr(Journal, "append", full)
    world = World(folder / "farm", commits=3)
    said = watched(folder, world, Hour(sleeps=20), always=True)
    assert sum("no space left" in line for line in said) == 1
    assert world.done() == ["measure 0", "measure 1", "measure 2"]
    assert len(known(folder).branch("master").measured) == 3


# --- When -------------------------------------------------------------------------------------


def test_a_night_is_one_look_a_day_and_measures_its_last_commit_alone(folder: Path) -> None:
    farm = farm_world.farm(folder, branches=(BRANCH.model_copy(update={"every": "night"}),))
    looked = journal.LookEntry(at_s=NOON_S, branch="master", tip=sha(0))
    one = state.fold([looked])
    action = next_action(one, farm, NOON_S + 60)
    assert action == WaitAction(until_s=20_001 * DAY_S)
    assert isinstance(next_action(one, farm, 20_001 * DAY_S), loop.LookAction)
    missed = state.fold([journal.LookEntry(at_s=NOON_S, branch="master", why="no network")])
    assert next_action(missed, farm, NOON_S + 60) == WaitAction(until_s=NOON_S + 300)


def test_a_report_is_tried_later_and_later_but_at_least_each_hour() -> None:
    finding = state.FarmFinding(name="a", branch="master", opened_s=0, alarms=(), tried_s=100.0)
    waits = [loop.next_try_s(replace(finding, tries=tries)) - 100 for tries in (1, 2, 3, 7, 60)]
    assert waits == [TRY_S, 2 * TRY_S, 4 * TRY_S, TRY_S_MAX, TRY_S_MAX]
    assert loop.next_try_s(finding) == 0


def test_the_same_finding_is_not_reported_twice_under_two_names(folder: Path) -> None:
    alarm = farm_world.judge(
        [
            farm_world.World(folder, changes={2: 0.03}).reading(
                farm_world.HeadPair(branch=BRANCH, head=sha(2), previous=sha(1), seen_s=0), 0
            )
        ],
        loop.Budget(),
    )[0]
    culprit = journal.Culprit(commit=sha(2))
    events: list[journal.Event] = []
    for name in ("first", "second"):
        events += [
            journal.FindingEntry(at_s=1, finding=name, branch="master", alarms=(alarm,)),
            journal.SearchEntry(at_s=2, finding=name, culprit=culprit),
        ]
    first, second = state.fold(events).findings.values()
    assert (first.revision, second.revision, second.same_as) == (1, 0, "first")


def test_heads_that_wait_on_a_rewritten_branch_give_way_to_those_that_are_on_it() -> None:
    def looked(*numbers: int, parted: str = "", rewritten: bool = False) -> journal.LookEntry:
        heads = tuple(journal.Head(commit=sha(number)) for number in numbers)
        return journal.LookEntry(
            at_s=1.0, branch="master", heads=heads, tip=heads[-1].commit, parted=parted,
            rewritten=rewritten,
        )  # fmt: skip

    before = state.fold([looked(1, 2)])
    now = state.after(before, looked(7, 8, rewritten=True)).branch("master")
    assert [each.head.commit for each in now.waiting] == [sha(7), sha(8)]
    later = state.after(before, looked(7, 8, parted=sha(1), rewritten=True)).branch("master")
    assert [each.head.commit for each in later.waiting] == [sha(1), sha(7), sha(8)]
    kept = state.after(before, looked(3)).branch("master")
    assert [each.head.commit for each in kept.waiting] == [sha(1), sha(2), sha(3)]


def test_a_head_that_was_measured_before_the_branch_was_rewritten_is_not_measured_again(
    folder: Path,
) -> None:
    watched(folder, World(folder / "farm", commits=4))
    farm = farm_world.farm(folder)
    sight = farm_world.BranchState(
        tip=sha(9),
        heads=tuple(journal.Head(commit=sha(number)) for number in (2, 9)),
        rewritten=True,
    )
    event = loop.looked(1.0, known(folder), farm.branches[0], sight)
    assert [head.commit for head in event.heads] == [sha(9)]


# --- Whose folder -----------------------------------------------------------------------------


def test_a_folder_that_another_file_names_is_refused(folder: Path) -> None:
    watched(folder, World(folder / "farm", commits=1))
    farm = replace(farm_world.farm(folder), path=folder / "other.toml")
    with (
        Journal(farm.folder, "boot") as kept,
        pytest.raises(PlanError, match=r"is the folder of .*farm\.toml: name another one"),
    ):
        Watcher(farm, kept, World(folder / "farm"), print)


def test_a_file_that_was_moved_keeps_its_folder(folder: Path) -> None:
    watched(folder, World(folder / "farm", commits=1))
    (folder / "farm.toml").unlink()
    farm = replace(farm_world.farm(folder), path=folder / "moved.toml")
    (folder / "farm.toml").unlink()
    with Journal(farm.folder, "boot") as kept:
        Watcher(farm, kept, World(folder / "farm"), print)
    assert known(folder).file == str(folder / "moved.toml")


def test_the_second_watcher_of_a_folder_is_refused(folder: Path) -> None:
    with (
        Journal(folder / "farm", "boot"),
        pytest.raises(ResultError, match="another watcher works there: process "),
        Journal(folder / "farm", "boot"),
    ):
        pass


# A watcher that is killed at any moment loses nothing, measures nothing twice, reports once.
# A moment is a change to the disk, the farm's or that of its hands. A child of this process
# watches, is killed there, and others go on until all is done.


CHANGES = {2: 0.03, 5: -0.03}
REPORTS = [f"master-{sha(2)[:10]}-1", f"master-{sha(2)[:10]}-2", f"master-{sha(5)[:10]}-1"]
MOMENTS, MOMENTS_OF_SOAK = 6, 100
RUNS_MAX = 60


def watch(folder: Path, at: int | None = None) -> list[Operation]:
    """Watches until all is done, or until it is killed at a moment; the moments that there were."""
    command = "cat >>received; echo >>received"
    farm = farm_world.farm(folder, command)
    world = World(
        folder / "farm", commits=8, changes=CHANGES, broken=(4,), reverts={5: 2}, command=command
    )
    with Seam(folder, at, KILL) as seam, Journal(farm.folder, leftovers.boot_id()) as kept:
        Watcher(farm, kept, world, lambda line: None).once()
    return seam.operations


def child(folder: Path, at: int | None) -> bool:
    """Watches in a process of its own; whether it came to its end."""
    if (pid := os.fork()) == 0:
        try:
            watch(folder, at)
        except BaseException as error:  # what it says is seen, and nothing of pytest's runs here
            os.write(2, f"{error!r}\n".encode())
            os._exit(1)
        os._exit(0)
    status = os.waitpid(pid, 0)[1]
    assert not os.WIFEXITED(status) or os.WEXITSTATUS(status) == 0, "it failed"
    return os.WIFEXITED(status)


def events(folder: Path) -> Iterator[str]:
    """What the journal says, without times, and without looks, which a break repeats."""
    for event in journal.read(folder / "farm"):
        if not isinstance(event, journal.LookEntry):
            yield type(event).__name__ + getattr(event, "head", getattr(event, "finding", ""))


def received(folder: Path) -> list[str]:
    """The reports that the command got, by name and revision."""
    text = (folder / "farm" / "received").read_text()
    decoder = farm_world.decoder(farm_world.FindingReport)
    reports = [decoder.decode(line) for line in text.splitlines() if line.strip()]
    return [f"{report.id}-{report.revision}" for report in reports]


def all_is_as_without_a_kill(folder: Path, undisturbed: Path) -> None:
    """Fails where anything was lost, or done twice."""
    done = World(folder / "farm").done()
    assert sorted(done) == sorted(set(done)), "measured or searched twice"
    assert sorted(done) == sorted(World(undisturbed / "farm").done())
    assert sorted(received(folder)) == sorted(REPORTS)
    assert list(events(folder)) == list(events(undisturbed))


@pytest.fixture(name="undisturbed", scope="module")
def _undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "judge", farm_world.judge)
        assert child(folder, None)
    return folder


@pytest.fixture(name="moments", scope="module")
def _moments(tmp_path_factory: pytest.TempPathFactory) -> list[Operation]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "judge", farm_world.judge)
        return watch(tmp_path_factory.mktemp("moments"))


def delivered(moments: list[Operation]) -> list[int]:
    """The moments at which the command has taken a report, and the journal does not say so yet."""
    return [
        number
        for number, (before, now) in enumerate(pairwise(moments), 1)
        if before.path.startswith("farm/outlet") and now.path == f"farm/{journal.FILE}"
    ]


def killed(folder: Path, moments: list[Operation], seed: int) -> None:
    """Kills at one moment, or at one after the other, until nothing is left to do."""
    chance = random.Random(seed)
    some = range(len(moments)) if seed % 3 else delivered(moments)
    ended = child(folder, chance.choice(some))
    assert not ended, "it was over before it was killed"
    again = seed % 2  # every other one is killed again and again
    for _ in range(RUNS_MAX):
        if child(folder, chance.randrange(5, 60) if again else None):
            return
    raise AssertionError("it never comes to its end")


def test_without_a_kill_each_commit_is_measured_and_each_report_delivered_once(undisturbed: Path):
    assert sorted(received(undisturbed)) == sorted(REPORTS)
    findings = state.fold(journal.read(undisturbed / "farm")).findings
    assert [finding.standing for finding in findings.values()] == ["reverted", "open"]


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, MOMENTS))]
)
def test_a_watcher_that_is_killed_loses_nothing_and_does_nothing_twice(
    tmp_path: Path, undisturbed: Path, moments: list[Operation], seed: int
) -> None:
    killed(tmp_path, moments, seed)
    all_is_as_without_a_kill(tmp_path, undisturbed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(MOMENTS, MOMENTS + MOMENTS_OF_SOAK))
def test_a_hundred_kills_lose_nothing(
    tmp_path: Path, undisturbed: Path, moments: list[Operation], seed: int
) -> None:
    killed(tmp_path, moments, seed)
    all_is_as_without_a_kill(tmp_path, undisturbed)


def test_a_torn_line_of_the_journal_is_cut_off(tmp_path: Path, undisturbed: Path) -> None:
    watch(tmp_path)
    path = tmp_path / "farm" / journal.FILE
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]) + lines[-1][:10])
    watch(tmp_path)
    assert list(events(tmp_path)) == list(events(undisturbed))
    assert sorted(received(tmp_path)) == sorted(REPORTS)
