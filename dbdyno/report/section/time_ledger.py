"""Where the time of an operation goes: a ledger of its connection's time that adds up; waits."""

from __future__ import annotations

from collections.abc import Iterable

from dbdyno.model import Cell, StepComparison
from dbdyno.model.headlines import kind_of
from dbdyno.model.metric.primary import REMAINDER, SAMPLED, SESSIONS_CPU, TIME
from dbdyno.parts import cells, number
from dbdyno.parts.colors import Tone
from dbdyno.parts.part import Column, Group, Row, Section, Subject, Table, TableCell
from dbdyno.report.section import waits

_ROWS: tuple[tuple[str, str, str], ...] = (  # metric, name, what it says where it is not known
    (SESSIONS_CPU, "on CPU", number.MISSING),
    ("runnable_us_per_op", "ready, without a core", number.MISSING),
    ("wait_io_us_per_op", "waiting: reads and writes", "not sampled"),
    ("wait_lwlock_us_per_op", "waiting: the server's own locks", "not sampled"),
    ("wait_lock_us_per_op", "waiting: locks", "not sampled"),
    ("wait_ipc_us_per_op", "waiting: other server processes", "not sampled"),
    ("wait_other_us_per_op", "waiting: anything else", "not sampled"),
    ("client_us_per_op", "waiting: the client", "not sampled"),
    (REMAINDER, "not accounted for", number.MISSING),
    (TIME, "connection time", number.MISSING),
)


def table(step: StepComparison, base: str, prefix: str) -> Table | None:
    """Microseconds of an operation by what its connection did; None where they are not known."""
    if all(result.metrics.get(TIME) is None for result in step.cells):
        return None
    others = [result for result in step.cells if result.arm != base]
    kind = kind_of(step.headline)
    one, many = kind.singular, kind.many
    return Table(
        name=f"{prefix}-ledger",
        look="inline",
        title=f"Where the time of a {one} goes",
        columns=(
            Column(text="µs", left=True),
            *(Column(text=result.arm, group=f"for each {one}") for result in step.cells),
            *(Column(text=result.arm, group=f"more than {base}") for result in others),
        ),
        rows=tuple(_row(step, name, title, unknown) for name, title, unknown in _ROWS),
        note=_note(step, many, compared=bool(others)),
    )


def _row(step: StepComparison, name: str, title: str, unknown: str) -> Row:
    others = step.cells[1:]
    digits = _digits(step)
    tone: Tone = "total" if name == TIME else ""
    return Row(
        cells=(
            TableCell(text=title, title=name, tone=tone),
            *(_value(result.metrics.get(name), digits, unknown, tone) for result in step.cells),
            *(_difference(result, name, digits, tone) for result in others),
        )
    )


def _digits(step: StepComparison) -> int:
    """The digits after the point that the sum has with three that count, and one more."""
    sums = [result.metrics.get(TIME) for result in step.cells]
    return min(number.digits_alike(sums, 9) + 1, 4)


def _value(value: float | None, digits: int, unknown: str, tone: Tone) -> TableCell:
    if value is None:
        return TableCell(text=unknown, tone="quiet")
    return TableCell(text=number.number(value, digits), tone=tone)


def _difference(result: Cell, name: str, digits: int, tone: Tone) -> TableCell:
    """How much more the arm has, with its interval."""
    estimate = result.estimates.get(name)
    if estimate is None or estimate.kind == "ratio" or result.metrics[name] is None:
        return TableCell(text="")
    text, detail = cells.difference(estimate, digits)
    return TableCell(text=text, detail=detail, tone=tone)


def _note(step: StepComparison, many: str, *, compared: bool) -> str:
    """Explains the rows, and the time without an account."""
    notes = [
        f"Connections of the role times the window, divided by its {many}; means of the blocks.",
        "The system counts “on CPU” and “ready”.",
    ]
    if any(result.metrics.get(name) is not None for result in step.cells for name in SAMPLED):
        notes.append(
            "For the rest, sessions slept; samples divide that time by what they waited for."
        )
    else:
        notes.append(
            "Waits were not sampled (`[observe] waits` in the plan): “not accounted for” includes "
            "them, and the client."
        )
    if compared:
        notes.append("Smaller: the 95 % interval of the differences of the blocks.")
    return " ".join(notes)


def _parts(subject: Subject) -> Iterable[Group]:
    step, base, anchor = subject.step, subject.base, subject.anchor
    spent = table(step, base, anchor)
    found = (*(() if spent is None else (spent,)), *waits.parts(step, base, anchor))
    if found:
        yield Group(
            name=f"{anchor}-time",
            title="",
            parts=found,
            depth="detail",
            entry="time",
            fold="where the time goes",
        )


SECTION = Section("step", _parts)
