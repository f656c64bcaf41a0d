"""The rates that a step asks of its inserts and deletes, and how each arm held them."""

from collections.abc import Iterable

from dbdyno.model import Cell, StepComparison, TargetFacts
from dbdyno.model.metric.over import taken
from dbdyno.parts import cells, number
from dbdyno.parts.colors import Tone
from dbdyno.parts.part import Group, Section
from dbdyno.parts.table import Column, Table, TableCell

NAMES = {"insert": "inserts", "delete": "deletes"}


def tables(step: StepComparison, prefix: str) -> Iterable[Table]:
    """One table: asked, achieved, in how many blocks held, seconds missed, by role and arm."""
    targets = [target for facts in step.each(TargetFacts) for target in facts.targets]
    if not targets:
        return
    roles = {target.role: target.kind for target in targets}
    groups = {role: NAMES.get(kind, role) for role, kind in roles.items()}
    yield Table(
        name=f"{prefix}-target-rates",
        title="Target rates",
        columns=Column.heads(
            "arm",
            "asked, rows/s",
            "achieved, rows/s",
            "share, %",
            "held in blocks",
            "seconds missed",
        ),
        rows=cells.rows(step, groups, _cells),
        note="All clients together. An arm holds a target with at least 95 % of it over the "
        "whole window; a second is missed with less than 95 %, even if later ones catch "
        f"up. {cells.blocks_note(step.blocks)}".strip(),
    )


def _cells(result: Cell, role: str) -> Iterable[TableCell]:
    targets = [
        target
        for facts in result.each(TargetFacts)
        for target in facts.targets
        if target.role == role
    ]
    if not targets:
        return [TableCell(text=number.MISSING)] * 5
    held = sum(target.met for target in targets)
    missed = sum(target.seconds_missed for target in targets)
    seconds = sum(target.seconds for target in targets)
    shares = (100 * target.achieved_per_s / target.target_per_s for target in targets)
    tone: Tone = "" if held == len(targets) else "failed"
    return (
        TableCell(text=number.number(targets[0].target_per_s)),
        cells.over_blocks((target.achieved_per_s for target in targets), tone=tone),
        TableCell(text=number.number(taken(shares), 1)),
        TableCell(text=f"{held} of {len(targets)}", tone=tone),
        TableCell(text=f"{missed:,}", detail=f"of {seconds:,}"),
    )


SECTION = Section.grouped(
    "step",
    lambda subject: tables(subject.step, subject.anchor),
    Group(name="-targets", entry="targets"),
)
