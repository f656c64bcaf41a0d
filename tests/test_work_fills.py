"""Fills of counted arms: shared where they may be the same files, else in every interval."""

import math
import random
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import structs

import example_figures
from dbdyno import plan, store
from dbdyno.engine.mysql import layout
from dbdyno.engine.postgres import data_form
from dbdyno.findings.work import fill_scatter, repeatability
from dbdyno.findings.work import plan as work
from dbdyno.findings.work import show as section
from dbdyno.findings.work import terminal as report
from dbdyno.findings.work.fill_scatter import RepeatFills
from dbdyno.model.count import Count
from dbdyno.model.golden import GoldenUse
from dbdyno.model.host_facts import CountScatter, FillScatter, fills_key
from dbdyno.model.job import Job
from dbdyno.model.job.fills import Fill
from dbdyno.model.work import WorkComparison
from dbdyno.plan import calibration, counted_step
from dbdyno.plan import count as plans
from dbdyno.run import count_fill
from dbdyno.stats import work as stats
from dbdyno.stats.work import CountSample, Scatter
from dbdyno.store import Results

EXACT = CountScatter(repeats=40, pairs=780, beyond=0, deviation=0.0, freedom=39)
APART = 0.0017
"""What two fills of one build differed by in a range of 100 rows: 122 index entries, and 120."""


def planted(
    folder: Path, offsets: Mapping[str, Sequence[float]], keys: Mapping[str, Sequence[str]]
) -> WorkComparison:
    """The example's counts with pg18 made equal to pg17 but for planted offsets of each repeat.

    `keys`: of the golden copies that each repeat began from.
    """
    counted = Results.open(store.count_folder(folder) / work.PART)
    blocks = [block for block in counted.blocks() if block.state == "done"]
    for place, block in enumerate(blocks):
        counts: dict[str, Count] = {}
        for run in sorted(block.runs(), key=lambda run: run.arm):
            for step in run.steps():
                if (count := step.count()) is not None:
                    base = counts.setdefault(step.name, count)
                    factor = math.exp(offsets[run.arm][place])
                    changed = structs.replace(base, instructions=base.instructions * factor)
                    store.write_json(step.path / "count.json", changed)
            for workload, use in run.golden().items():
                key = keys[run.arm][place]
                number = sorted(set(keys[run.arm])).index(key) + 1
                use = structs.replace(use, key=key, fill=number)
                store.write_json(run.path / workload / "golden.json", use)
    comparison = work.load(Results.open(folder))
    assert comparison is not None
    return comparison


@pytest.fixture
def example(tmp_path: Path) -> Iterator[Path]:
    """A result of counts that may be changed: two repeats of two arms."""
    with example_figures.unpacked(example_figures.KINDS / "count") as unpacked:
        yield Path(shutil.copytree(unpacked, tmp_path / "count"))


def words(comparison: WorkComparison) -> set[str]:
    """The words of all steps."""
    return {change.word for change in comparison.changes}


def test_arms_that_began_from_the_same_files_are_compared_by_repeats(example: Path) -> None:
    """What a fill has is in both."""
    offsets = {"pg17": (APART, 0.0), "pg18": (APART, 0.0)}
    same = planted(example, offsets, {"pg17": "ab", "pg18": "ab"})
    assert words(same) == {"same"}
    assert {change.fills for change in same.changes} == {0}
    assert section.fills(same) == section.SHARED


@pytest.mark.parametrize(
    "offsets",
    [
        {"pg17": (0.0, APART), "pg18": (APART, 0.0)},
        {"pg17": (0.0, 0.0), "pg18": (APART, 0.0)},
        {"pg17": (APART, 0.0), "pg18": (APART, APART)},
    ],
)
def test_two_planted_fills_decide_nothing(example: Path, offsets: Mapping[str, Sequence[float]]):
    """Neither the same work, nor more, nor less."""
    apart = planted(example, offsets, {"pg17": "ab", "pg18": "cd"})
    assert words(apart) == {"open"}
    assert {change.fills for change in apart.changes} == {2}
    assert "have 2 fills each: intervals hold" in section.fills(apart)
    assert "have 2 fills each: intervals" in " ".join(report.lines(apart))


def test_a_change_of_the_code_is_told_through_the_scatter_of_fills(example: Path) -> None:
    """Both fills show it."""
    offsets = {"pg17": (0.0, 0.0003), "pg18": (0.0204, 0.02)}
    told = planted(example, offsets, {"pg17": "ab", "pg18": "cd"})
    assert words(told) == {"more"}


@pytest.mark.parametrize(
    ("change", "deviation", "word"),
    [(0.0, 0.0, "same"), (0.0, APART, "open"), (APART, APART, "open"), (0.02, APART, "more")],
)
def test_one_fill_each_says_what_exceeds_the_fills_that_this_host_has_seen(
    example: Path, change: float, deviation: float, word: str
) -> None:
    """And nothing where it has seen none of either version."""
    offsets = {"pg17": (0.0, 0.0), "pg18": (change, change)}
    single = {"pg17": "aa", "pg18": "bb"}
    known = FillScatter(deviation=deviation, freedom=7)
    for versions in ((), ("17.11",), ("17.11", "18.6")):
        alone = planted(example, offsets, single)
        fills = {
            fills_key(version, row.name): known for row in alone.changes for version in versions
        }
        counted = Results.open(store.count_folder(example) / work.PART)
        host = counted.host()
        assert host is not None
        scatter = structs.replace(EXACT, freedom_of_writes=39, fills=fills)
        store.write_json(counted.folder / "host.json", structs.replace(host, counts=scatter))
        by_host = work.load(Results.open(example))
        assert by_host is not None
        assert words(by_host) == {word if len(versions) == 2 else "open"}
        assert "one fill each" in section.fills(by_host)
        if len(versions) < 2:
            assert fill_scatter.ONE_FILL in " ".join(" ".join(report.lines(by_host)).split())


def test_intervals_hold_the_scatter_between_fills() -> None:
    """Of draws without any change at most one in twenty intervals leaves 1 out."""
    rng, steps, left_out = random.Random(3), [("w", name) for name in "abcdef"], 0
    uses = {
        arm: RepeatFills(uses=tuple(use(f"{arm}{fill}", fill) for fill in (1, 2)))
        for arm in ("a", "b")
    }
    begun = {("w", arm): of for arm, of in uses.items()}
    floor = Scatter(deviation=stats.SCATTER_LEAST, freedom=stats.FREEDOM_LEAST)
    tries = 200
    for _ in range(tries):
        sizes = {step: 10 ** rng.uniform(-5, -3) for step in steps}
        ratios = {
            (step, "b"): [rng.gauss(0, size * math.sqrt(2)) for _ in range(2)]
            for step, size in sizes.items()
        }
        samples = fill_scatter.samples(ratios, begun, "a", dict.fromkeys(steps, floor), None)
        left_out += sum(is_left_out(sample) for sample in samples.values())
    assert left_out <= 0.05 * tries * len(steps)


def is_left_out(sample: CountSample) -> bool:
    """Whether no change is outside a sample's interval."""
    interval = stats.ratio(sample.ratios, sample.scatter)
    assert interval.low is not None
    assert interval.high is not None
    return not interval.low <= 1 <= interval.high


def use(key: str, fill: int) -> GoldenUse:
    """A run that began from a copy."""
    return GoldenUse(
        began=True, fill=fill, workload="w", step="fill", step_ordinal=1, key=key, made_unix_ns=1
    )


def test_a_calibration_tells_repeats_of_a_fill_from_fills() -> None:
    """By hand: two fills 0.0004 apart, whose repeats are 0.0001 about their means."""
    logs = (0.0001, -0.0001, 0.0005, 0.0003)
    counts = [count(math.exp(log)) for log in logs]
    row = repeatability.repeated(("w", "a"), counts, (1, 1, 2, 2), "18.6")
    assert row.freedom == 2
    assert row.deviation == pytest.approx(math.sqrt(4e-8 / 2))
    assert row.between == FillScatter(deviation=pytest.approx(0.0004 / math.sqrt(2)), freedom=1)
    assert "deviation 0.0141 %, 0.0283 % between 2 fills, range" in row.words
    pooled = repeatability.pooled([row])
    assert pooled.fills == {"18.6 w/a": row.between}
    assert pooled.deviation == pytest.approx(math.sqrt(2) * row.deviation)
    fills = FillScatter(deviation=0.0003, freedom=1)
    joined = stats.with_fills(
        Scatter(deviation=pooled.deviation, freedom=2), stats.of_both(fills, fills)
    )
    assert joined.deviation == pytest.approx(math.sqrt(pooled.deviation**2 + 2 * 0.0003**2))
    assert stats.of_both(fills, fills).freedom == pytest.approx(2)


def count(instructions: float) -> Count:
    """The counts of one repeat."""
    return Count(
        tool="valgrind 3.19.0", role="query", warmup=200, operations=500, left_out=(),
        instructions=instructions, atomics=0.0, system_calls=0.0, mark=1.0, functions=(),
    )  # fmt: skip


TEXT = """
base = "b"
arms.a = { version = "17" }
arms.b = { version = "18" }
arms.c = { version = "18", settings = { work_mem = "5MB" } }
[workload]
name = "sysbench"
steps = ["point-query"]
[count]
repeats = 3
"""


def test_arms_with_one_key_have_one_maker() -> None:
    """The base where it is among them."""
    whole = plan.parse(TEXT, None)
    keys = {"a": "x", "b": "y", "c": "y"}
    points = {"sysbench": {arm: (SimpleNamespace(key=key),) for arm, key in keys.items()}}
    prepared: Any = SimpleNamespace(points=points)
    assert [arm.name for arm in count_fill.makers(whole, prepared)] == ["a", "b"]
    prepared.points["sysbench"]["a"] = (SimpleNamespace(key="y"),)
    assert [arm.name for arm in count_fill.makers(whole, prepared)] == ["b"]


@pytest.mark.parametrize(
    ("copies", "state", "number", "due"),
    [
        ((), "missing", 1, True), (("x", "y"), "missing", 1, True), (("x", "y"), "done", 1, False),
        (("x", "y"), "missing", 2, False), (("x",), "done", 2, True),
    ],
)  # fmt: skip
def test_a_block_of_the_fill_is_due_for_data_or_rates(
    copies: Sequence[str], state: str, number: int, due: bool
) -> None:
    """Rates of the base are found in the first; the second fill has the second key."""
    part: Any = SimpleNamespace(
        plan=SimpleNamespace(base="b", arms=[SimpleNamespace(name="b")]),
        prepared=SimpleNamespace(
            points={"w": {"b": (SimpleNamespace(key="x"), SimpleNamespace(key="y"))}},
            copies=copies,
            steps={"w": {"b": (SimpleNamespace(measured=True),)}},
        ),
        results=SimpleNamespace(block_state=lambda number: state),
    )
    assert count_fill.is_due(part, number) is due


def test_arms_that_share_no_files_have_a_fill_for_each_repeat() -> None:
    """At most four; a calibration has eight."""
    wish = plan.parse(TEXT, None).count
    assert wish is not None
    assert (wish.fills_of(shared=True), wish.fills_of(shared=False)) == (1, 3)
    assert replace(wish, repeats=40).fills_of(shared=False) == 4
    often = calibration.counts(plan.parse(TEXT, None)).count
    assert often is not None
    assert often.fills_of(shared=True) == 8


def test_fills_are_alike_and_by_one_connection() -> None:
    """The same values in one order; the repeats begin from them by turns."""
    whole = plan.parse(TEXT, None)
    filling, counting = plans.filling(whole, 2), plans.counting(whole, ("counter",), 2)
    assert (filling.schedule.blocks, filling.schedule.fills, filling.schedule.fills_alike) == (
        2,
        2,
        True,
    )
    assert (counting.schedule.blocks, counting.schedule.fills) == (3, 2)
    assert counting.schedule.fills_alike
    fill = Fill(table="t", rows=5, columns=())
    step: Any = replace_job(fill)
    assert [made.streams for made in counted_step.in_order(step).job.fills] == [1]


def replace_job(fill: Fill) -> Any:
    """The first step of sysbench, with another fill."""
    from dbdyno import workload

    loaded = workload.used(plan.parse(TEXT, None).workloads[0], None)
    step = workload.expand(loaded, {}, "postgres")[0]
    job: Job = structs.replace(step.job, fills=(fill,))
    return replace(step, job=job)


@pytest.mark.parametrize(
    ("shapes", "shaping", "others"),
    [
        (
            data_form.shapes,
            ("default_statistics_target", "autovacuum", "vacuum_freeze_min_age"),
            ("work_mem", "shared_buffers", "io_method", "max_wal_size", "autovacuum_naptime"),
        ),
        (
            layout.shapes,
            ("innodb_page_size", "loose_innodb_stats_persistent", "sql-mode"),
            ("innodb_buffer_pool_size", "sync_binlog", "innodb_flush_log_at_trx_commit", "ssl"),
        ),
    ],
)
def test_settings_that_shape_data_are_known(
    shapes: Any, shaping: Sequence[str], others: Sequence[str]
) -> None:
    """Others leave the files as they are."""
    assert all(map(shapes, shaping))
    assert not any(map(shapes, others))
