"""What arms did not have alike in a step, from planted runs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from dbdyno.analysis import compare
from dbdyno.judge.doubts import groups
from dbdyno.judge.imbalance import doubts
from dbdyno.model import Cell, Span, StepRun
from dbdyno.parts.number import of_blocks
from doubted import flat
from result_builder import build
from result_planted import Planted, plant
from run_builder import step_run

MIB = 1 << 20
LIKE = {
    "live_rows": 1e6,
    "dead_share": 0.1,
    "table_bytes": 100.0 * MIB,
    "index_bytes": 100.0 * MIB,
    "dirty_bytes": 100.0 * MIB,
    "wal_since_checkpoint_bytes": 100.0 * MIB,
    "vacuum_backlog_rows": 0.0,
    "all_visible_share": 99.0,
}
Spans = Sequence[tuple[float, float]]


def a_run(
    arm: str,
    block: int = 1,
    *,
    before: Mapping[str, float | None] | None = None,
    checkpoints: Spans = (),
    vacuums: Spans = (),
    **changes: Any,
) -> StepRun:
    """A run of 100 s that began in a usual state; `checkpoints`, `vacuums`: start and end."""
    spans = [
        Span(kind=kind, label="", start_s=start, end_s=end)
        for kind, its in (("checkpoint", checkpoints), ("autovacuum", vacuums))
        for start, end in its
    ]
    planted = {
        "workload": "insert-benchmark",
        "ordinal": 7,
        "step": "qr100",
        "measured": True,
        "status": "ok",
        "reason": None,
        "seconds": 100.0,
        "metrics": {
            "checkpoint_overlap_s": sum(end - start for start, end in checkpoints),
            "autovacuum_runs": float(len(vacuums)),
        },
        "headline": "qps",
        **dict.fromkeys(("sla_target", "sla_achieved", "sla_met", "end_spread")),
        "limited": (),
        "spans": tuple(spans),
        "state_before": LIKE | (before or {}),
    }
    return step_run(arm=arm, block=block, **{**planted, **changes})


def told(*runs: StepRun) -> list[str]:
    """The doubts of these runs with their blocks; arms in the order in which they come."""
    arms = list(dict.fromkeys(run.arm for run in runs))
    return said([a_cell(arm, [run for run in runs if run.arm == arm]) for arm in arms])


def said(cells: Sequence[Cell]) -> list[str]:
    """The doubts of these cells, each once, with the blocks of which it is true."""
    return [
        f"{of_blocks(item.blocks)}: {group.subject}: {item.words}".removeprefix(": ")
        for group in groups([], doubts(cells))
        for item in group.items
    ]


def a_cell(arm: str, runs: Sequence[StepRun]) -> Cell:
    """A cell as far as doubts read it."""
    return Cell(
        arm=arm,
        runs=tuple(runs),
        value=None,
        value_bound="exact",
        ratio=None,
        ratio_bound="exact",
        sla_met=None,
        metrics={},
        estimates={},
    )


def pair(block: int = 1, **before: float | None) -> list[StepRun]:
    """A block of two arms, of which pg18 began in another state."""
    return [a_run("pg17", block), a_run("pg18", block, before=before)]


# --- The state at the start ------------------------------------------------------------------


def test_arms_that_began_alike_have_no_doubt() -> None:
    assert told(*pair(), *pair(2)) == []


def test_blocks_make_one_line_with_the_means_of_those_that_differ() -> None:
    runs = [*pair(1, dead_share=3.0), *pair(2, dead_share=5.0), *pair(3)]
    assert told(*runs) == [
        "blocks 1, 2: state at the start differs: dead rows 0.1 % (pg17) and 4.0 % (pg18)"
    ]


def test_what_differs_now_this_way_now_that_is_not_averaged_away() -> None:
    more = {"wal_since_checkpoint_bytes": 1000.0 * MIB}
    runs = [run for block in (1, 2) for run in pair(block, **more)]
    runs += [a_run("pg17", 3, before=more), a_run("pg18", 3)]
    begin = "state at the start differs: WAL since the last checkpoint"
    assert told(*runs) == [
        f"blocks 1, 2: {begin} 100 MiB (pg17) and 1,000 MiB (pg18)",
        f"block 3: {begin} 1,000 MiB (pg17) and 100 MiB (pg18)",
    ]


@pytest.mark.parametrize(
    ("before", "line"),
    [
        ({"vacuum_backlog_rows": 12_345.0}, "rows due for vacuum 0 (pg17) and 12,345 (pg18)"),
        ({"index_bytes": 200.0 * MIB}, "tables and indexes 200 MiB (pg17) and 300 MiB (pg18)"),
        ({"dirty_bytes": 1_500.0 * MIB}, "unwritten buffers 100 MiB (pg17) and 1,500 MiB (pg18)"),
        (
            {"wal_since_checkpoint_bytes": 400.0 * MIB},
            "WAL since the last checkpoint 100 MiB (pg17) and 400 MiB (pg18)",
        ),
        ({"all_visible_share": 80.0}, "all-visible pages 99.0 % (pg17) and 80.0 % (pg18)"),
    ],
)
def test_each_quantity_has_its_words(before: dict[str, float], line: str) -> None:
    (found,) = told(*pair(**before))
    assert found == f"block 1: state at the start differs: {line}"


@pytest.mark.parametrize(
    "before",
    [
        {"dead_share": 1.05},
        {"vacuum_backlog_rows": 9_000.0},
        {"index_bytes": 119.0 * MIB},
        {"dirty_bytes": 160.0 * MIB},
        {"wal_since_checkpoint_bytes": 350.0 * MIB},
        {"all_visible_share": 95.0},
    ],
)
def test_a_small_difference_is_not_worth_a_line(before: dict[str, float]) -> None:
    assert told(*pair(**before)) == []


def test_a_large_difference_of_a_much_larger_whole_is_not_worth_a_line() -> None:
    large = {"table_bytes": 10_000.0 * MIB}
    runs = [a_run("a", before=large), a_run("b", before={"table_bytes": 10_800.0 * MIB})]
    assert told(*runs) == []


def test_tiny_tables_are_not_judged() -> None:
    few = {"live_rows": 50_000.0}
    runs = [a_run("a", before=few), a_run("b", before=few | {"dead_share": 40.0})]
    assert told(*runs) == []
    one_is_large = [a_run("a", before=few), a_run("b", before={"dead_share": 40.0})]
    assert len(told(*one_is_large)) == 1


def test_what_only_one_arm_tells_is_not_compared() -> None:
    assert told(*pair(dead_share=None, all_visible_share=None)) == []
    assert told(a_run("a", state_before={}), a_run("b")) == []


def test_arms_are_compared_within_blocks_only() -> None:
    """The second block began with more dead rows, for both alike."""
    more = {"dead_share": 4.0}
    runs = [*pair(1), a_run("pg17", 2, before=more), a_run("pg18", 2, before=more)]
    assert told(*runs) == []


def test_three_arms_stand_in_one_line_in_their_order() -> None:
    runs = [a_run("a"), a_run("b", before={"dead_share": 9.0}), a_run("c")]
    (line,) = told(*runs)
    assert "dead rows 0.1 % (a), 9.0 % (b) and 0.1 % (c)" in line


def test_only_measured_steps_that_ended_well_are_compared() -> None:
    other = {"dead_share": 9.0}
    assert told(a_run("a"), a_run("b", before=other, status="failed")) == []
    assert told(a_run("a", measured=False), a_run("b", before=other, measured=False)) == []
    assert told(a_run("a")) == []


def test_of_many_arms_the_ends_are_told() -> None:
    shares = {"a": 0.1, "b": 9.0, "c": 0.1, "d": 4.0, "e": 0.1}
    runs = [a_run(arm, before={"dead_share": share}) for arm, share in shares.items()]
    (line,) = told(*runs)
    assert "dead rows from 0.1 % (a and 2 more) to 9.0 % (b)" in line
    ran = [
        a_run(arm, checkpoints=[(0.0, its)] if its else ())
        for arm, its in zip("abcde", (0, 20, 7, 0, 12), strict=True)
    ]
    assert told(*ran) == [
        "block 1: checkpoints in the windows differ: from none in a's to 20.0 s in b's"
    ]


# --- What ran in the windows -----------------------------------------------------------------


def test_a_checkpoint_in_one_arms_window_is_told_by_block() -> None:
    runs = [a_run("pg17", 2), a_run("pg18", 2, checkpoints=[(10.0, 22.1)])]
    runs += [a_run("pg17", 3, checkpoints=[(0.0, 1.0)]), a_run("pg18", 3, checkpoints=[(0, 9.0)])]
    assert told(*runs) == [
        "block 2: checkpoints in the windows differ: none in pg17's, 12.1 s in pg18's",
        "block 3: checkpoints in the windows differ: 1.0 s in pg17's, 9.0 s in pg18's",
    ]


def test_what_both_windows_had_is_no_doubt() -> None:
    runs = [a_run("a", checkpoints=[(0, 20)]), a_run("b", checkpoints=[(50, 85)])]
    assert told(*runs) == []


def test_a_moment_of_a_long_window_is_no_doubt() -> None:
    assert told(a_run("a"), a_run("b", checkpoints=[(0, 4.9)])) == []
    assert len(told(a_run("a"), a_run("b", checkpoints=[(0, 5.0)]))) == 1


def test_less_than_a_second_is_no_doubt_in_a_short_window_either() -> None:
    runs = [a_run("a", seconds=5.0), a_run("b", seconds=5.0, vacuums=[(1.0, 1.9)])]
    assert told(*runs) == []


def test_shares_of_the_windows_count_where_they_are_unlike_in_length() -> None:
    """A fixed work took one arm twice as long, with twice the checkpoints: alike."""
    twice = a_run("b", seconds=200.0, checkpoints=[(0, 40)])
    assert told(a_run("a", checkpoints=[(0, 20)]), twice) == []


def test_autovacuum_counts_only_within_the_window() -> None:
    runs = [a_run("a"), a_run("b", vacuums=[(-50.0, 10.0), (5.0, 15.0), (98.0, 130.0)])]
    assert told(*runs) == ["block 1: autovacuum in the windows differs: none in a's, 17.0 s in b's"]


def test_the_same_in_many_blocks_is_said_once() -> None:
    runs = [
        run
        for block in range(1, 7)
        for run in (a_run("a", block), a_run("b", block, checkpoints=[(0.0, 10.0)]))
    ]
    (line,) = told(*runs)
    assert line.startswith("blocks 1 to 6: ")


def test_a_log_that_does_not_tell_is_not_taken_for_nothing() -> None:
    """Before 15 checkpoints are logged only where asked for; autovacuum as the plan says."""
    silent = {"checkpoint_overlap_s": None, "autovacuum_runs": 3.0}
    runs = [
        a_run("pg12", metrics=silent),
        a_run("pg18", checkpoints=[(0, 50)], vacuums=[(0.0, 50.0)]),
    ]
    assert told(*runs) == []


def test_a_comparison_has_the_doubts_of_each_step(tmp_path: Path) -> None:
    def planted(arm: str, step: str, block: int) -> Planted:
        ran = ((2.0, 10.0),) if (arm, step) == ("pg18", "qr100") else ()
        return plant(step, checkpoints=ran, autovacuums=())

    folder = build(tmp_path, blocks=2, steps=("l.i1", "qr100"), planted=planted)
    found = [doubt for doubt in flat(compare.load(folder)) if doubt.subject.grade == "notice"]
    words = "none in pg17's, 8.0 s in pg18's"
    assert [(doubt.step, doubt.block, doubt.words) for doubt in found] == [
        ("qr100", 1, words),
        ("qr100", 2, words),
    ]
