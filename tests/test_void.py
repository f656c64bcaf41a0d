"""Blocks that something outside the arms disturbed: void, done again, and what is said of them."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

import report_parts
from dbdyno import plan
from dbdyno.analysis import compare
from dbdyno.engine.fake import FakeServer
from dbdyno.engine.fake.sampler import FakeSampler
from dbdyno.host import quiesce
from dbdyno.host.observe.sampler import host_counters
from dbdyno.judge import doubts
from dbdyno.model import Comparison, Plan, Void
from dbdyno.model.disturbance import of_window
from dbdyno.model.doubt import Doubt, DoubtSubject
from dbdyno.model.error import DiskError, DynoError, HostError, LabDied, PlanError, ServerError
from dbdyno.model.host_reading import (
    ForeignLoad,
    ForeignProcess,
    HostCounters,
    HostReading,
    SwapPages,
)
from dbdyno.model.processor import CPU_STATES
from dbdyno.plan import calibration
from dbdyno.report import page
from dbdyno.run import arm, blocks, disk_space, looks, measurement, void
from dbdyno.run.runner import LocalRunner
from dbdyno.store import JsonLines, Results
from doubted import flat, void_blocks
from run_builder import step_run

PLAN = """
name = "voids"
base = "old"
[arms.old]
engine = "fake"
fake = { default_us = 1000, foreign_share = {share} }
[arms.new]
engine = "fake"
fake = { default_us = 1100, foreign_share = {share} }
[[workloads]]
name = "{workload}"
{parameters}
[schedule]
{schedule}
"""
INSERTS = """parameters = { rows = 100_000 }
steps = ["l.i0"]"""
READS = """parameters = { rows = 1_000, tables = 1, seconds = 2 }
steps = ["fill", "point-query"]"""


def planned(schedule: str = "", *, share: float = 0, reads: bool = False) -> Plan:
    text = PLAN.replace("{schedule}", schedule).replace("{share}", str(share))
    text = text.replace("{workload}", "sysbench" if reads else "insert-benchmark")
    return plan.parse(text.replace("{parameters}", READS if reads else INSERTS), None)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "blocks").iterdir())


# --- One window ------------------------------------------------------------------------------


def reading(
    *, seconds: float, foreign_s: float | None, stolen_s: float = 0, pages: int = 0
) -> HostReading:
    idle_us = round(1e6 * (2 * seconds - (foreign_s or 0) - stolen_s))
    cpu_us = {
        **dict.fromkeys(CPU_STATES, 0),
        "user": round(1e6 * (foreign_s or 0)),
        "idle": idle_us,
        "steal": round(1e6 * stolen_s),
    }
    processes = (ForeignProcess(7, "cc1", round(1e6 * (foreign_s or 0))),)
    foreign = ForeignLoad(cpu_us=cpu_us["user"], processes=processes)
    return HostReading(
        moment="open",
        mono_ns=0,
        host=HostCounters(cpu_us=cpu_us, swap_pages=SwapPages(pages, 0)),
        foreign=None if foreign_s is None else foreign,
    )


ZERO = reading(seconds=0, foreign_s=0)


def found(limits: Void, **its: float | None) -> list[str]:
    closed = reading(**its)  # type: ignore[arg-type]
    return [one.cause for one in of_window(ZERO, closed, limits)]


def test_foreign_load_is_a_share_of_all_cores_time_in_the_window() -> None:
    assert found(Void(), seconds=10, foreign_s=0.9) == []
    assert found(Void(), seconds=10, foreign_s=1.1) == ["foreign"]
    assert found(Void(foreign=0.6), seconds=10, foreign_s=11) == []
    assert found(Void(foreign=1), seconds=10, foreign_s=20) == []


def test_foreign_load_is_never_more_than_the_processors_worked() -> None:
    closed = structs.replace(
        reading(seconds=10, foreign_s=2),
        # one that ended while its parent was not yet read
        foreign=ForeignLoad(cpu_us=41_000_000),
    )
    (its,) = of_window(ZERO, closed, Void())
    assert its.amount == pytest.approx(0.1)
    assert list(of_window(ZERO, closed, Void(foreign=1))) == []


def test_some_clock_ticks_in_a_short_window_are_no_load() -> None:
    assert found(Void(), seconds=0.1, foreign_s=0.05) == []


def test_what_is_not_known_voids_nothing() -> None:
    assert found(Void(foreign=0), seconds=10, foreign_s=None) == []


def test_stolen_time_and_swapping_void_only_where_the_plan_says_so() -> None:
    its = {"seconds": 10, "foreign_s": 0, "stolen_s": 4, "pages": 9}
    assert found(Void(), **its) == []
    assert found(Void(stolen=0.1, swap=True), **its) == ["stolen", "swap"]
    assert found(Void(stolen=0.3), **its) == []


def test_a_machine_that_slept_in_a_window_voids_the_block() -> None:
    closed = reading(seconds=10, foreign_s=0)
    awake = structs.replace(ZERO.host, slept_ns=5_000_000_000)
    opened = structs.replace(ZERO, host=awake)
    for slept_s, causes in ((0, []), (0.002, []), (3600, ["slept"])):
        host = structs.replace(closed.host, slept_ns=5e9 + slept_s * 1e9)
        ended = structs.replace(closed, host=host)
        told = list(of_window(opened, ended, Void()))
        assert [one.cause for one in told] == causes
    assert void.lines([("l.i0 of new", one) for one in told]) == {
        "slept": "the machine was suspended: for 3,600.0 s in l.i0 of new"
    }
    assert host_counters().slept_ns == pytest.approx(host_counters().slept_ns, abs=1e6)


def test_it_is_said_which_window_and_who() -> None:
    closed = reading(seconds=10, foreign_s=8)
    its = list(of_window(ZERO, closed, Void()))
    assert void.lines([("l.i0 of new", one) for one in its * 3]) == {
        "foreign": "foreign load: 40.0 % of all cores' time in l.i0 of new (limit 5 %): "
        "cc1 (process 7) 40.0 %; and in 2 more windows"
    }


# --- Whole plans -----------------------------------------------------------------------------


def once(monkeypatch: pytest.MonkeyPatch, spoil: Callable[[FakeSampler], None]) -> None:
    """Spoils the first step that is measured, and no other."""
    begun: list[FakeSampler] = []
    make = arm.new_sampler

    def new_sampler(*arguments: JsonLines, **more: object) -> FakeSampler:
        sampler = make(*arguments, **more)  # type: ignore[arg-type]
        assert isinstance(sampler, FakeSampler)
        if not begun:
            spoil(sampler)
        begun.append(sampler)
        return sampler

    monkeypatch.setattr(arm, "new_sampler", new_sampler)


def load(sampler: FakeSampler) -> None:
    sampler._foreign_share = 0.4


def die(sampler: FakeSampler) -> None:
    def read(*_: object) -> None:
        raise LabDied("the sampler of the host failed: planted")

    sampler.read = read  # type: ignore[method-assign]


def test_a_block_with_foreign_load_is_void_and_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    once(monkeypatch, load)
    outcome = blocks.run(planned(), tmp_path, wait=True)
    assert (outcome.voids, outcome.failed) == (1, 0)
    assert names(outcome.folder) == ["001", "001.void1"]
    comparison = compare.load(outcome.folder)
    assert comparison.blocks == 1
    (void,) = void_blocks(comparison)
    assert void.block == 1
    assert void.words.startswith("try 1: foreign load: 40.0 % of all cores' time in l.i0 of ")
    assert "planted (process 1) 40.0 %" in void.words
    assert void.words.endswith("alone it shows, by the headline: new −9.1 % (result: −9.1 %)")
    assert any(void.words in line for line in report_parts.texts(page.make(comparison), "doubts"))
    assert not foreign(comparison)


def test_with_steps_in_turn_it_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[FakeSampler] = []
    make = arm.new_sampler

    def new_sampler(kept: JsonLines, **more: object) -> FakeSampler:
        sampler = make(kept, **more)  # type: ignore[arg-type]
        assert isinstance(sampler, FakeSampler)
        begun.append(sampler)
        sampler._foreign_share = (
            0.4 if "point-query" in kept.path.parent.name and len(begun) < 5 else 0
        )
        return sampler

    monkeypatch.setattr(arm, "new_sampler", new_sampler)
    outcome = blocks.run(planned('interleave = "step"', reads=True), tmp_path, wait=True)
    assert names(outcome.folder) == ["001", "001.void1"]
    assert outcome.voids == 1


@pytest.mark.long
def test_disturbed_blocks_that_count_are_counted_by_arm(tmp_path: Path) -> None:
    outcome = blocks.run(planned("blocks = 5\nrepeats_max = 0", share=0.2), tmp_path)
    (brief,) = report_parts.brief(page.make(compare.load(outcome.folder)))
    assert brief == "foreign load: old and new in 5 of 5 blocks"


def test_load_that_stays_counts_with_its_warning_and_a_restart_does_not_begin_anew(tmp_path: Path):
    of = planned("repeats_max = 1", share=0.25)
    outcome = blocks.run(of, tmp_path, wait=True)
    assert outcome.voids == 1
    assert names(outcome.folder) == ["001", "001.void1"]
    comparison = compare.load(outcome.folder)
    assert comparison.blocks == 1
    assert [(doubt.arm, doubt.block) for doubt in foreign(comparison)] == [("old", 1), ("new", 1)]
    assert "25.0 % of all cores' time: planted 25.0 %" in foreign(comparison)[0].words
    (outcome.folder / "blocks/001/done.json").unlink()  # as if dyno had been killed just before
    assert blocks.run(of, tmp_path, wait=True).voids == 0
    assert names(outcome.folder) == ["001", "001.void1", "001.void2"]
    assert [block.cause for block in Results.open(outcome.folder).blocks()] == [
        *("foreign", None, None)
    ]


def test_the_plan_says_how_much_is_void_and_the_report_names_what_is_not(tmp_path: Path) -> None:
    of = planned("void = { foreign = 1 }", share=0.25)
    assert blocks.run(of, tmp_path, wait=True).voids == 0
    assert len(foreign(compare.load(tmp_path / "voids"))) == 2


@pytest.mark.parametrize(
    ("limit", "percent", "named"), [(1.0, 5.1, 1), (1.0, 4.9, 0), (0.03, 3.1, 1), (0.03, 2.9, 0)]
)
def test_foreign_load_is_named_from_the_plans_limit_and_from_five_percent_on(
    limit: float, percent: float, named: int
) -> None:
    load = Doubt(subject=DoubtSubject.FOREIGN, words="load", amount=percent)
    found = list(doubts.of_runs([step_run(doubts=(load,))], Void(foreign=limit)))
    assert [(doubt.arm, doubt.block) for doubt in found] == [("base", 1)] * named


def foreign(comparison: Comparison) -> list[Doubt]:
    """What is said of foreign load in windows that count."""
    return [doubt for doubt in flat(comparison) if doubt.subject is DoubtSubject.FOREIGN]


def test_a_calibration_repeats_its_blocks_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    once(monkeypatch, load)
    calibrated = blocks.run(calibration.of(planned(), 1, 2), tmp_path, wait=True)
    assert (calibrated.voids, names(calibrated.folder)) == (1, ["001", "001.void1", "002"])


@pytest.mark.long
def test_a_plan_with_looks_repeats_its_blocks_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    once(monkeypatch, load)
    of = planned('blocks = "until decided"\nminutes_max = 1')
    looked = looks.run(of, tmp_path, compare.load, runner=LocalRunner(wait=True))
    assert looked.voids == 1
    assert names(looked.folder)[:4] == ["001", "001.void1", "002", "003"]
    assert compare.load(looked.folder).incomplete is None


def test_whatever_of_the_labs_own_dies_voids_the_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    once(monkeypatch, die)
    outcome = blocks.run(planned(), tmp_path, wait=True)
    assert (outcome.voids, outcome.failed) == (1, 0)
    (said,) = void_blocks(compare.load(outcome.folder))
    assert (said.block, said.words) == (1, "try 1: the sampler of the host failed: planted")


@pytest.mark.parametrize(
    ("cause", "raised"),
    [(None, LabDied), (OSError(24, "too many"), LabDied), (KeyError("MemFree"), KeyError)],
)
def test_a_lab_that_dies_again_and_again_ends_the_plan_and_a_mistake_shows_itself(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cause: Exception | None,
    raised: type[Exception],
) -> None:
    def idle_reading(*_: object) -> None:
        raise LabDied("the canary died") from cause

    monkeypatch.setattr(measurement, "idle_reading", idle_reading)
    with pytest.raises(raised):
        blocks.run(planned("repeats_max = 1"), tmp_path, wait=True)
    assert names(tmp_path / "voids") == ["001.void1", "001.void2"]


# --- Servers that do not come up ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("interleave", "part"),
    [
        *(("run", "start"), ("step", "create_database")),
        *(
            pytest.param(*some, marks=pytest.mark.long)
            for some in (("run", "create_database"), ("run", "facts"), ("step", "start"))
        ),
    ],
)
def test_an_arm_whose_server_cannot_be_made_fails_and_the_other_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str, interleave: str
) -> None:
    whole = getattr(FakeServer, part)

    def broken(self: FakeServer, *arguments: object) -> object:
        if self.name == "new":
            raise ServerError("arm new: initdb failed: planted")
        return whole(self, *arguments)

    monkeypatch.setattr(FakeServer, part, broken)
    of = planned(f'interleave = "{interleave}"', reads=True)
    outcome = blocks.run(of, tmp_path, wait=True)
    (block,) = Results.open(outcome.folder).blocks()
    assert block.state == "done"
    ends = {
        one.arm: [failure.reason if (failure := step.failed()) else "ok" for step in one.steps()]
        for one in block.runs()
    }
    assert ends["new"][0] == "arm new: initdb failed: planted"
    assert outcome.failed == len(ends["new"]) == len(ends["old"])
    assert set(ends["new"][1:]) == {f"state unknown after {block.runs()[0].steps()[0].name}"}
    assert set(ends["old"]) == {"ok"}


def test_a_disk_that_is_full_is_no_arms_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    need = disk_space.Need(what=disk_space.DATA, root=tmp_path, bytes=1)
    monkeypatch.setattr(quiesce, "room", lambda path: 1 << 29)
    with pytest.raises(HostError, match=r"has 0\.5 GB free \(initdb failed\): free space there"):
        disk_space.refuse_exhausted([need], "initdb failed")
    monkeypatch.setattr(quiesce, "room", lambda path: 2 << 30)
    disk_space.refuse_exhausted([need], "initdb failed")


def test_a_full_disk_of_the_results_ends_the_plan_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(*_: object) -> int:
        raise OSError(28, "No space left on device")

    begin = Results.begin_block

    def begin_block(*of: Any, **more: Any) -> Path:
        monkeypatch.setattr(os, "write", write)
        return begin(*of, **more)

    monkeypatch.setattr(Results, "begin_block", begin_block)
    words = (
        r"/001/\.order\.json\.\d+`: No space left on device: free space there, then run the same "
    )
    with pytest.raises(DiskError, match=words):
        blocks.run(planned(), tmp_path, wait=True)


# --- The plan's keys -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schedule", "sentence"),
    [
        ("void = { foreign = 5 }", "schedule.void.foreign`: must be a share of all cores' time"),
        ("void = { stolen = -1 }", "schedule.void.stolen`: must be a share"),
        ("void = { forein = 0.1 }", "schedule.void.forein`: unknown key; did you mean `foreign`"),
        ("repeats_max = -1", "schedule.repeats_max`: must be from 0 to 100, not -1"),
    ],
)
def test_a_wrong_key_gets_one_line(schedule: str, sentence: str) -> None:
    with pytest.raises(PlanError) as caught:
        planned(schedule)
    assert sentence in str(caught.value)


def test_a_plan_that_goes_on_may_say_anew_what_is_void(tmp_path: Path) -> None:
    folder = blocks.run(planned(), tmp_path, wait=True).folder
    assert (
        json.loads((folder / "plan.json").read_text())["schedule"]
        .keys()
        .isdisjoint({"void", "repeats_max"})
    ), "older folders go on: the defaults are not written"
    blocks.run(planned("blocks = 2\nvoid = { swap = true }\nrepeats_max = 0"), tmp_path, wait=True)
    written = json.loads((folder / "plan.json").read_text())["schedule"]
    assert written["void"] == {"foreign": 0.05, "stolen": None, "swap": True}


def test_the_labs_death_is_an_error_that_a_command_shows_in_one_line() -> None:
    assert issubclass(LabDied, DynoError)
