"""In what the arms differ, as the plan says or beside it."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from dbdyno.findings.measured_on.show import UNKNOWN
from dbdyno.model import Difference
from dbdyno.model.comparison import OF_SOME
from dbdyno.parts.part import AnyPart, Group, Section, Subject
from dbdyno.parts.table import Column, Row, Table


def table(found: Sequence[Difference], arms: Sequence[str]) -> Table | None:
    """In what the arms differ: first what the plan does not name."""
    if not found:
        return None
    ordered = sorted(found, key=lambda difference: difference.planned)
    rows = tuple(
        Row.of(
            difference.what,
            *(difference.values.get(arm, UNKNOWN) for arm in arms),
            group="named by the plan" if difference.planned else "not named by the plan",
        )
        for difference in ordered
    )
    columns = Column.words("", *arms)
    unplanned = sum(not difference.planned for difference in found)
    note = (
        "A difference in speed may come from the differences that the plan does not name."
        if unplanned
        else ""
    )
    return Table(
        name="differences",
        title="What the arms differ in",
        look="words",
        columns=columns,
        rows=rows,
        note=note,
    )


def _parts(subject: Subject) -> Iterable[AnyPart]:
    every, arms = subject.comparison.differences, subject.comparison.arms
    if main := table([one for one in every if one.what != OF_SOME], arms):
        yield main
    if names := table([one for one in every if one.what == OF_SOME], arms):
        title = OF_SOME.capitalize()
        parts = (replace(names, name="settings-of-some", title=title),)
        yield Group(name="of-some", parts=parts, entry="", click=title)


SECTION = Section("page", _parts)
