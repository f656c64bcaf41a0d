"""Results of plans whose later blocks began with golden copies."""

import shutil
from pathlib import Path

from dbdyno.analysis import compare
from dbdyno.model import Comparison
from dbdyno.model.golden import GoldenUse
from dbdyno.report import page
from dbdyno.report.render import markdown
from dbdyno.store import Results
from doubted import doubted
from result_builder import build

WORKLOAD = "insert-benchmark"
DAY_NS = 1_795_193_071_191_415_511  # 2026-11-20


def begin(folder: Path, block: int, arm: str, *, began: bool = True) -> None:
    """Makes a run of built results one that began with a copy (or made it), kept after l.i1."""
    results = Results.open(folder)
    use = GoldenUse(
        began=began,
        workload=WORKLOAD,
        step="l.i1",
        step_ordinal=3,
        key="abc",
        made_unix_ns=DAY_NS,
        bytes=1,
    )
    results.write_golden(block, arm, use)
    if began:
        for step in ("01-l.i0", "02-l.x", "03-l.i1"):
            shutil.rmtree(folder / "blocks" / f"{block:03d}" / arm / WORKLOAD / step)


def notes(comparison: Comparison) -> list[str]:
    return [line for line in doubted(comparison) if line.startswith(("golden", "begun"))]


def statuses(comparison: Comparison, step: str) -> dict[str, list[tuple[int, str]]]:
    (found,) = [one for one in comparison.steps if one.step == step]
    return {cell.arm: [(run.block, run.ending.status) for run in cell.runs] for cell in found.cells}


def test_steps_before_a_copy_were_not_skipped_and_have_the_blocks_that_ran_them(tmp_path: Path):
    folder = build(tmp_path)
    for arm in ("pg17", "pg18"):
        begin(folder, 1, arm, began=False)
        begin(folder, 2, arm)
        begin(folder, 3, arm)
    found = compare.load(folder)
    assert statuses(found, "l.i0") == {"pg17": [(1, "ok")], "pg18": [(1, "ok")]}
    assert statuses(found, "qr100")["pg18"] == [(1, "ok"), (2, "ok"), (3, "ok")]
    assert notes(found) == [
        "golden copies: began with a copy of the state after l.i1; steps up to it ran only in "
        "block 1"
    ]
    said = notes(found)[0].replace(": began", ": blocks 2, 3: began")
    assert said in markdown.render(page.make(found))


def test_a_step_after_the_copy_that_a_run_never_came_to_is_still_skipped(tmp_path: Path) -> None:
    folder = build(tmp_path, blocks=2)
    begin(folder, 2, "pg18")
    shutil.rmtree(folder / "blocks/002/pg18" / WORKLOAD / "06-qr100")
    assert statuses(compare.load(folder), "qr100")["pg18"] == [(1, "ok"), (2, "skipped")]


def test_copies_of_an_earlier_plan_are_said_with_their_day(tmp_path: Path) -> None:
    folder = build(tmp_path, blocks=2)
    for block in (1, 2):
        for arm in ("pg17", "pg18"):
            begin(folder, block, arm)
    found = compare.load(folder)
    assert [step.step for step in found.steps] == ["cleanup", "qr100"]
    assert notes(found) == [
        "golden copies: began with a copy of 2026-11-20, which an earlier plan made after l.i1"
    ]


def test_a_block_whose_arms_began_unlike_is_said_and_the_page_is_made(tmp_path: Path) -> None:
    folder = build(tmp_path, blocks=1)
    begin(folder, 1, "pg17")
    begin(folder, 1, "pg18", began=False)
    found = compare.load(folder)
    assert statuses(found, "l.i0") == {"pg17": [], "pg18": [(1, "ok")]}
    assert notes(found)[0] == (
        "begun unlike: pg17 began with a copy made before, pg18 went through all steps"
    )
    made = page.make(found)
    assert "begun unlike" in markdown.render(made)


def test_results_without_copies_have_no_word_of_them(tmp_path: Path) -> None:
    assert notes(compare.load(build(tmp_path, blocks=1))) == []
