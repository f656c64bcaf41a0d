"""Where a run left a plateau: to the second, what else changed then, and what chance brings."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from comparison_builder import comparison
from dbdyno.analysis.step import assemble, evidence
from dbdyno.analysis.step.rate_changes import EDGE_S
from dbdyno.analysis.step.role_seconds import full_seconds
from dbdyno.analysis.step.second_values import second_values
from dbdyno.host.terminal import VisibleConsole
from dbdyno.model import Json, StepComparison, StepRun
from dbdyno.model.rate_change import Event, Moved, RateChange
from dbdyno.report import page
from dbdyno.report.render import terminal
from dbdyno.report.section import rate_changes as section
from dbdyno.stats import plateau, rate_shape
from result_planted import MONO_NS, SECOND_NS, Planted, plant
from run_builder import changed, concluded, plan_of, run
from test_analysis import change, change_lines, step_folder
from test_fairness import without
from test_waits import sample, write

Numbers = npt.NDArray[np.float64]
SEED = 8


def noise(random: np.random.Generator, *, count: int, kept: float, deviation: float) -> Numbers:
    """Values each of which keeps a share of the one before."""
    found = np.empty(count)
    found[0] = random.normal(0, deviation)
    for place in range(1, count):
        fresh = random.normal(0, deviation * math.sqrt(1 - kept * kept))
        found[place] = kept * found[place - 1] + fresh
    return found


# --- To the second -------------------------------------------------------------------------------


@pytest.mark.parametrize(("jump", "kept"), [(0.1, 0.0), (0.1, 0.5), (0.2, 0.8), (-0.4, 0.5)])
def test_a_change_is_one_and_lies_within_its_bounds(jump: float, kept: float) -> None:
    """Also where it comes within a mean of ten seconds, which is then of neither plateau."""
    random = np.random.default_rng(SEED)
    found = []
    for at in range(60, 240, 3):
        rates = 1_000 * np.exp(noise(random, count=300, kept=kept, deviation=0.02))
        rates[at:] *= 1 - jump
        changes = rate_shape.changes(rates.tolist())
        covers = [one.place.first <= at <= one.place.last for one in changes]
        found.append(len(changes) == 1 and covers[0])
    assert np.mean(found) >= 0.9


def test_a_flat_run_and_a_short_one_have_no_changes() -> None:
    assert rate_shape.changes([1_000.0] * 300) == []
    assert rate_shape.changes([1_000.0] * 30 + [500.0] * 30) == []


@pytest.mark.parametrize("kept", [0.0, 0.5, 0.8])
def test_a_value_that_knows_nothing_of_the_change_is_seldom_told(kept: float) -> None:
    random = np.random.default_rng(SEED)
    errors = [
        plateau.plateaus(np.exp(noise(random, count=60, kept=kept, deviation=0.3)), 30).errors
        for _ in range(400)
    ]
    assert np.mean(np.array(errors) > plateau.SURE) <= 0.025


@pytest.mark.parametrize("kept", [0.0, 0.5])
def test_a_value_that_triples_is_told(kept: float) -> None:
    random = np.random.default_rng(SEED)
    found = []
    for _ in range(100):
        values = np.exp(noise(random, count=60, kept=kept, deviation=0.3))
        values[30:] *= 3
        found.append(plateau.plateaus(values, 30).errors > plateau.SURE)
    assert np.mean(found) >= 0.9


# --- Of a step -----------------------------------------------------------------------------------

CHANGED_S = 71
"""So many seconds of the step pass before its queries are halved."""


def halved(tmp_path: Path, readings: Callable[[float, Json], None], **planted: object) -> StepRun:
    """A step of 150 s, and its host's readings edited by their seconds."""
    numbers: Planted = plant("qr100", seconds=150.0, **planted)
    folder = step_folder(tmp_path, "qr100", numbers)
    change(folder.path / "job.json", lambda job: job["stop"].update(seconds=150))
    slow = set(range(CHANGED_S + 1, 151))
    change_lines(folder.path / "events.jsonl", without("query", slow, 0.5))

    def edit(lines: list[Json]) -> list[Json]:
        for line in lines:
            readings((line["mono_ns"] - MONO_NS) / SECOND_NS, line)
        return lines

    change_lines(folder.path / "host.jsonl", edit)
    return assemble.step_run(folder)


def nothing(_: float, __: Json) -> None:
    """Edits nothing."""


def test_what_begins_in_the_same_second_is_told_and_nothing_else(tmp_path: Path) -> None:
    """The checkpointer takes a fifth of a core more, the device's writes take a millisecond more.

    The cost of a query doubles, as its sessions spend what they did and do half of the work.
    """

    def busier(at_s: float, reading: Json) -> None:
        since_s = max(at_s - CHANGED_S, 0.0)
        reading["owners"]["background:checkpointer"]["cpu_ns"] += round(since_s * 2e8)
        reading["host"]["cpu_us"]["system"] += round(since_s * 2e5)
        reading["disk"]["write_ms"] += round(since_s * 100)

    spans = {"checkpoints": ((10.0, 12.0), (71.3, 90.0)), "autovacuums": ((100.0, 101.0),)}
    (found,) = halved(tmp_path, busier, **spans).rate_changes
    assert (found.first_s, found.at_s, found.last_s) == (CHANGED_S,) * 3
    assert (found.before, found.after) == (pytest.approx(5_000), pytest.approx(2_500))
    assert [event.what for event in found.events] == ["checkpoint began"]
    assert found.by_chance["checkpoint began"] == pytest.approx(2 * 2 * EDGE_S / 150)
    assert found.by_chance["autovacuum ended"] == pytest.approx(2 * EDGE_S / 150)
    moved = {one.name: (one.before, one.after) for one in found.moved}
    assert moved == {
        "cpu.background:checkpointer": (pytest.approx(0.4, abs=0.4), pytest.approx(20.4, abs=0.4)),
        "disk.write_ms": (pytest.approx(0.5, abs=0.05), pytest.approx(1.5, abs=0.05)),
        "cpu_per_op": (pytest.approx(100.0), pytest.approx(200.0)),
    }


@pytest.mark.parametrize("late_s", [-8, 8])
def test_what_begins_some_seconds_off_is_not_told(tmp_path: Path, late_s: int) -> None:
    def stolen(at_s: float, reading: Json) -> None:
        reading["host"]["cpu_us"]["steal"] += round(max(at_s - CHANGED_S - late_s, 0.0) * 1e5)

    spans = {"checkpoints": ((CHANGED_S + late_s, 140.0),), "autovacuums": ()}
    (found,) = halved(tmp_path, stolen, **spans).rate_changes
    assert found.events == ()
    assert [one.name for one in found.moved] == ["cpu_per_op"]


def test_time_stolen_from_that_second_on_is_told(tmp_path: Path) -> None:
    def stolen(at_s: float, reading: Json) -> None:
        taken_us = round(max(at_s - CHANGED_S, 0.0) * 1e5)
        reading["host"]["cpu_us"]["steal"] += taken_us
        reading["host"]["cpu_us"]["idle"] -= taken_us

    (found,) = halved(tmp_path, stolen).rate_changes
    (share,) = [one for one in found.moved if one.name == "steal"]
    assert (share.before, share.after) == (
        pytest.approx(0.0, abs=0.1),
        pytest.approx(5.0, abs=0.1),
    )


def test_a_window_without_readings_has_changes_and_nothing_beside_them(tmp_path: Path) -> None:
    folder = step_folder(tmp_path, "qr100", plant("qr100", seconds=150.0))
    change(folder.path / "job.json", lambda job: job["stop"].update(seconds=150))
    change_lines(folder.path / "events.jsonl", without("query", set(range(72, 151)), 0.5))
    change_lines(folder.path / "host.jsonl", lambda lines: lines[:1])
    (found,) = assemble.step_run(folder).rate_changes
    assert (found.at_s, found.moved) == (CHANGED_S, ())


def test_pages_are_not_known_before_the_first_sample_and_after_the_last(tmp_path: Path) -> None:
    folder = step_folder(tmp_path, "qr100")
    moments_s = [second + 0.5 for second in range(11)]
    write(folder.path, *(sample(at_s) | {"blocks": [round(100 * at_s), 0]} for at_s in moments_s))
    found = evidence.read(folder)
    ticks = full_seconds(found, "query")
    values = second_values(found, ticks, np.full(len(ticks), 5_000.0))
    (pages,) = [one.values for one in values if one.name == "pages_per_op"]
    assert np.flatnonzero(np.isfinite(pages)).tolist() == list(range(1, 10))
    assert pages[1:10] == pytest.approx(np.full(9, 0.02))


# --- In the report -------------------------------------------------------------------------------

EVENT = Event(kind="checkpoint", edge="began", label="checkpoint starting: time")
SHARP = RateChange(
    at_s=143.0,
    first_s=141.0,
    last_s=143.0,
    before=10_000.0,
    after=8_000.0,
    events=(EVENT,),
    by_chance={"checkpoint began": 0.04},
    moved=(
        Moved(name="disk.write_mbps", before=2.0, after=85.0),
        Moved(name="cpu.background:checkpointer", before=0.0, after=40.0),
        Moved(name="wait.IO: DataFileRead", before=0.2, after=2.9),
        Moved(name="cpu_per_op", before=41.0, after=55.0),
    ),
)
GRADUAL = RateChange(at_s=80.0, first_s=60.0, last_s=100.0, before=9_000.0, after=10_000.0)


def step_of(**arms: list[tuple[RateChange, ...]]) -> StepComparison:
    runs = [
        run(arm, block, 9_000.0, shape="unsteady" if its else "flat", rate_changes=its)
        for arm, blocks in arms.items()
        for block, its in enumerate(blocks, start=1)
    ]
    (step,) = concluded(runs, plan_of(tuple(arms))).steps
    assert isinstance(step, StepComparison)
    return step


def test_the_report_names_each_change_and_counts_events_beside_what_chance_would_bring() -> None:
    step = step_of(pg17=[(), ()], pg18=[(SHARP, GRADUAL), ()])
    (found,) = section.findings(step)
    assert found.text == (
        "pg18: the plateau changed 2 times, in 1 of 2 runs; a checkpoint began at 1 of them, where"
        " 0.04 would by chance."
    )
    sharp, gradual = (item.text.replace("\u00a0", " ") for item in found.items)
    assert sharp == (
        "block 1, after 143 s (between 141 and 143): −20.0 %, 10,000 → 8,000 queries/s; in the same"
        " seconds: a checkpoint began (checkpoint starting: time); writes to the device 2.0 → 85.0"
        " MB/s; CPU of checkpointer 0.0 → 40.0 % of a core; sessions in IO: DataFileRead 0.20 →"
        " 2.90; CPU per query 41.0 → 55.0 µs"
    )
    assert gradual == (
        "block 1, between 60 and 100 s: +11.1 %, 9,000 → 10,000 queries/s; too gradual to say what"
        " else changed then"
    )


def test_what_a_run_and_compare_print_says_the_largest_change_of_each_arm() -> None:
    drop = RateChange(at_s=1_800.0, first_s=1_800.0, last_s=1_800.0, before=290.0, after=30.0)
    made = comparison(troubles=False)
    first, *steps = made.steps
    base, other = first.cells
    runs = tuple(changed(one, rate_changes=(SHARP, drop)) for one in other.runs)
    step = replace(first, cells=(base, replace(other, runs=runs)))
    shown = page.make(replace(made, steps=(step, *steps)))
    out = io.StringIO()
    terminal.print_page(shown, VisibleConsole(file=out, width=200))
    said = out.getvalue().replace("\u00a0", " ")
    assert "A rate changed its level within runs, so that its mean is of neither:" in said
    (line,) = [line for line in said.splitlines() if "after 1800 s" in line]
    assert "pg18, " in line
    assert "block 1, after 1800 s: −89.7 %, 290 → 30.0 rows inserted/s; 5 more" in line


def test_flat_runs_have_no_section() -> None:
    assert list(section.findings(step_of(pg17=[(), ()]))) == []


def test_of_many_changes_the_largest_are_listed() -> None:
    many = tuple(
        RateChange(at_s=at, first_s=at, last_s=at, before=1_000.0, after=1_000.0 + at)
        for at in range(100, 100 + 10 * (section.CHANGES_MAX + 2), 10)
    )
    (found,) = section.findings(step_of(pg17=[many]))
    assert len(found.items) == section.CHANGES_MAX + 1
    assert found.items[-1].text == "2 smaller changes"
    assert "nothing else changed then" in found.items[0].text
    assert "1,100" not in found.items[0].text


@pytest.mark.parametrize(
    "name",
    [
        *("cpu_per_op", "ready_per_op", "pages_per_op", "errors", "retries", "steal", "swap"),
        *("role.insert", "cpu.rest", "cpu.lab", "wait.Lock", "wal_disk.write_ms"),
        *("disk.read_mbps", "disk.write_mbps", "disk.read_ms"),
    ],
)
def test_every_value_has_words(name: str) -> None:
    moved = Moved(name=name, before=1.0, after=2.0)
    told = section.moved_words(moved, "query")
    assert "1.0" in told and "2.0" in told and "{" not in told
