"""The checks of a step that two arms took at once, and by what it is judged."""

from __future__ import annotations

from collections.abc import Iterable

from dbdyno.model.duet import Duet, State
from dbdyno.report.colors import Tone
from dbdyno.report.parts import Column, Group, Row, Section, Subject, Table, TableCell

TONES: dict[State, Tone] = {"holds": "", "warns": "notice", "fails": "red"}
JUDGED = {
    "duet": "All checks hold: the duet decides, each block by the mean log ratio of its halves.",
    "solo": "A check fails: the solo turns of every third block decide instead.",
    "nothing": "The ratios are estimates, without a verdict.",
}


def table(duet: Duet, prefix: str) -> Table:
    """Each check with its figures."""
    return Table(
        name=f"{prefix}-duet",
        title="Both arms at once",
        columns=(
            Column(text="check", left=True),
            Column(text="", left=True),
            Column(text="figures", left=True),
        ),
        rows=tuple(
            Row(
                cells=(
                    TableCell(text=check.name),
                    TableCell(text=check.state, tone=TONES[check.state]),
                    TableCell(text=check.text),
                )
            )
            for check in duet.checks
        ),
        note=JUDGED[duet.judged],
    )


def _parts(subject: Subject) -> Iterable[Group]:
    duet = subject.step.duet
    if duet is not None:
        parts = (table(duet, subject.anchor),)
        yield Group(name=f"{subject.anchor}-duets", title="", parts=parts, entry="duet")


SECTION = Section("step", _parts)
