"""A watcher that is killed at any moment loses nothing, measures nothing twice, reports once.

A moment is a change to the disk, the farm's or that of its hands. A child of this process watches,
is killed there, and others go on until all is done.
"""

import os
import random
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

import farm_world
from dbdyno.farm import journal, loop, state
from dbdyno.farm.journal import Journal
from dbdyno.farm.watch import Watcher
from dbdyno.host import leftovers
from disk_sweep import KILL, Operation, Seam
from farm_world import World, sha

CHANGES = {2: 0.03, 5: -0.03}
REPORTS = [f"master-{sha(2)[:10]}-1", f"master-{sha(2)[:10]}-2", f"master-{sha(5)[:10]}-1"]
MOMENTS, MOMENTS_OF_SOAK = 6, 100
RUNS_MAX = 60


@pytest.fixture(autouse=True)
def _judge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "judge", farm_world.judge)


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
