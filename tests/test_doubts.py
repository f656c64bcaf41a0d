"""Doubts: one count, which first screen, steps, JSON and exports share; and their subjects."""

import tarfile
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

import pytest

import doubt_table
import report_parts
from dbdyno.analysis import compare
from dbdyno.analysis.step import assemble
from dbdyno.analysis.step.step_doubts import DISTURBANCES, DISTURBED
from dbdyno.findings.doubts.show import BRIEF_MAX
from dbdyno.judge.doubts import groups
from dbdyno.model import Comparison, Json
from dbdyno.model.doubt import GRADES, Doubt, DoubtSubject
from dbdyno.parts import number
from dbdyno.parts.number import of_blocks
from dbdyno.parts.part import Group, Page
from dbdyno.report import json_document, page
from dbdyno.report.export import step_rows
from dbdyno.report.export.source import ExportSource
from dbdyno.run import void
from dbdyno.store import Results

KINDS = sorted((Path(__file__).parent / "example_results/kinds").glob("*/result.tar.xz"))
IN_SHORT = {"turns"}


def test_the_manual_has_every_subject() -> None:
    """Mend it with `python tools/doubt_table.py`."""
    assert doubt_table.PATH.read_text(encoding="utf-8") == doubt_table.page()


def test_a_subject_says_in_a_sentence_what_it_means() -> None:
    for subject in DoubtSubject:
        assert subject.meaning.endswith(".") and "|" not in subject.meaning + subject
        assert subject.grade in GRADES


def test_a_group_counts_each_block_once_and_merges_the_same_words() -> None:
    def doubt(block: int, words: str, step: str = "a") -> Doubt:
        load = DoubtSubject.FOREIGN
        return Doubt(subject=load, words=words, step=step, arm="pg18", block=block, amount=block)

    (found,) = groups([], [doubt(3, "x"), doubt(1, "x"), doubt(1, "y"), doubt(3, "x", "b")])
    assert (found.subject, found.arm, found.blocks) == (DoubtSubject.FOREIGN, "pg18", (1, 3))
    assert [(item.step, item.words, item.blocks, item.amount) for item in found.items] == [
        ("a", "x", (1, 3), 3),
        ("a", "y", (1,), 1),
        ("b", "x", (3,), 3),
    ]


# --- Over all example results ------------------------------------------------------------------


@pytest.fixture(
    scope="module",
    name="folder",
    params=[
        pytest.param(path, marks=[] if path.parent.name in IN_SHORT else [pytest.mark.long])
        for path in KINDS
    ],
    ids=lambda path: path.parent.name,
)
def _folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An example result."""
    folder = tmp_path_factory.mktemp("example")
    with tarfile.open(request.param) as packed:
        packed.extractall(folder, filter="data")
    return min(folder.rglob("plan.json")).parent


def test_all_views_agree_in_every_group_and_count(folder: Path) -> None:
    comparison = compare.load(folder)
    written = json_document.form(comparison)["doubts"]
    exported = [
        row for table, row in step_rows.facts(ExportSource.open(folder)) if table == "doubts"
    ]
    assert of_export(exported) == [
        (group["subject"], group["grade"], group["arm"], group["blocks"], len(group["items"]))
        for group in written
    ]
    made = page.make(comparison)
    first_screen(made, written, comparison.blocks)
    in_steps(made, written, comparison)


def of_export(rows: Iterable[Json]) -> list[tuple[object, ...]]:
    """Subject, grade, arm, blocks, and how many texts, as a reader of the table counts them."""
    found: list[tuple[object, ...]] = []
    for key, of_group in groupby(rows, lambda row: (row["subject"], row["grade"], row["arm"])):
        own = list(of_group)
        blocks = sorted({row["block"] for row in own if row["block"] is not None})
        texts = {(row["workload"], row["ordinal"], row["words"]) for row in own}
        found.append((*key, blocks, len(texts)))
    return found


def first_screen(made: Page, written: Iterable[Json], blocks: int) -> None:
    """Three subjects at most, each with the number of blocks that JSON has for each arm."""
    subjects = [(key, list(own)) for key, own in groupby(written, lambda group: group["subject"])]
    brief = report_parts.brief(made)
    for line, (subject, alike) in zip(brief, subjects[:BRIEF_MAX], strict=False):
        assert line.startswith(subject)
        for group in alike:
            if group["grade"] == "void" or not group["blocks"]:
                continue
            assert f" in {len(group['blocks'])}" in line and number.blocks(blocks) in line
            assert group["arm"] is None or group["arm"] in line
    more = len(subjects) - BRIEF_MAX
    assert list(brief[BRIEF_MAX:]) == ([f"and {more} more"] if more > 0 else [])


def in_steps(made: Page, written: Iterable[Json], comparison: Comparison) -> None:
    """Each step lists the items that JSON has of it, with their blocks, and no others."""
    items = [(group, item) for group in written for item in group["items"]]
    sections: dict[str, Group] = {section.name: section for section in report_parts.steps(made)}
    for step in comparison.steps:
        own = [
            f"{who(group['arm'], item['blocks'])}{group['subject']}: {item['words']}"
            for group, item in items
            if (item["workload"], item["ordinal"]) == (step.workload, step.ordinal)
        ]
        ending = f"-{step.ordinal:02}-"
        shown = [
            text
            for name, section in sections.items()
            if ending in name and section.title == step.step
            for text in report_parts.doubts(section)
        ]
        assert sorted(shown) == sorted(own), step.step


def who(arm: str | None, blocks: list[int]) -> str:
    """Of what an item is true, in words."""
    words = ", ".join(filter(None, (arm, of_blocks(blocks))))
    return f"{words}: " if words else ""


def test_a_window_is_as_disturbed_as_for_the_rule_that_makes_blocks_void(folder: Path) -> None:
    """In turns, too, where what others took in the whole window is no turn's alone."""
    amounts = {}
    for block in Results.open(folder).blocks():
        for where, disturbance in void.disturbances(block, DISTURBED):
            subject = DISTURBANCES.get(disturbance.cause)
            share = 1 if disturbance.cause in ("swap", "slept") else 100
            amounts[block.number, block.void, where, subject] = share * disturbance.amount
    doubted = {
        (block.number, block.void, f"{run.facts.step} of {run.arm}", doubt.subject): doubt.amount
        for block in Results.open(folder).blocks()
        for arm in block.runs()
        for step in arm.steps()
        for run in [assemble.step_run(step)]
        for doubt in run.doubts
        if run.facts.measured and doubt.subject in DISTURBANCES.values()
    }
    assert doubted == pytest.approx(amounts)
