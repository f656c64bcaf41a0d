"""The cost of an operation by owner; costs add up to those of the machine."""

from collections.abc import Callable, Collection, Iterable

from dbdyno.findings.owners.facts import OwnerFacts
from dbdyno.model import Cell, OwnerCost, StepComparison
from dbdyno.model.headlines import kind_of
from dbdyno.model.metric.over import taken
from dbdyno.model.step_run import IDLE, SERVER_OWNERS
from dbdyno.parts import number
from dbdyno.parts.colors import Tone
from dbdyno.parts.owner import words
from dbdyno.parts.part import Group, Section, Subject
from dbdyno.parts.table import Column, Row, Table, TableCell

Of = Callable[[OwnerCost], float | None]

_SERVER = "The server"
_OUTSIDE = "Outside the server"
_WAITING = "The waiting server, between its turns"
_IDLE_NOTE = (
    " Between its turns a server's costs are in other arms' time and in no window; they are divided"
    " by the same operations."
)
_QUANTITIES: tuple[tuple[str, Of, int], ...] = (
    # with digits beyond those that the sum needs, so that small owners can be told from none
    ("CPU, µs", lambda cost: cost.cpu_us, 1),
    ("context switches", lambda cost: cost.context_switches, 1),
    ("bytes read", lambda cost: cost.read_bytes, 0),
    ("bytes written", lambda cost: cost.write_bytes, 0),
)


def _group(owner: str) -> str:
    return _SERVER if owner.startswith(SERVER_OWNERS) else _OUTSIDE


def _order(owner: str) -> tuple[bool, int, str]:
    """Roles first, then the server's background, then what is outside the server."""
    kinds = (*SERVER_OWNERS, "generator", "lab", "rest")
    of = owner.removeprefix(IDLE)
    place = next((i for i, kind in enumerate(kinds) if of.startswith(kind)), len(kinds))
    return (_group(of) == _OUTSIDE, place, of)


def per_operation(cell: Cell, owners: Collection[str], of: Of) -> float | None:
    """A cost of these owners for each operation, the mean over the blocks that know it."""
    spent = ((run.of(OwnerFacts).sum(owners, of), run.window.counted) for run in cell.runs)
    return taken(cost / counted for cost, counted in spent if cost is not None and counted)


def cost_tables(step: StepComparison, prefix: str) -> Iterable[Table]:
    """CPU, context switches and bytes for each operation, by owner and arm, with sums."""
    costs = [cost for facts in step.each(OwnerFacts) for cost in facts.costs]
    if step.headline is None or not costs:
        return
    owners = sorted({cost.owner for cost in costs}, key=_order)
    window = [owner for owner in owners if not owner.startswith(IDLE)]
    server = [owner for owner in window if _group(owner) == _SERVER]
    outside = [owner for owner in window if owner not in server]
    idle = [owner for owner in owners if owner not in window]
    spent = {cost.owner for cost in costs if cost.cpu_us or cost.write_bytes}
    groups = (
        (_SERVER, server, "the server's sum", server),
        (_OUTSIDE, outside, "the machine's sum", window),
        (_WAITING, [owner for owner in idle if owner in spent], "the waiting server's sum", idle),
    )
    digits = []
    for _, of, more in _QUANTITIES:  # those of the machine's sum, so that columns add up
        sums = [per_operation(cell, window, of) for cell in step.cells]
        digits.append(min(number.digits_alike(sums, 9) + (more if any(sums) else 0), 4))
    kind = kind_of(step.headline)
    yield Table(
        name=f"{prefix}-costs",
        title=f"Cost of a {kind.singular}, by owner",
        columns=Column.heads(
            "owner",
            *(
                Column(text=cell.arm, group=quantity)
                for quantity, _, _ in _QUANTITIES
                for cell in step.cells
            ),
        ),
        rows=tuple(
            Row.of(*row, group=group)
            for group, listed, title, summed in groups
            if listed or group == _OUTSIDE
            for row in (
                *(_row(step, digits, words(owner), [owner]) for owner in listed),
                _row(step, digits, title, summed, "total"),
            )
        ),
        note=f"Differences of counters over the window, divided by the {kind.many} counted in "
        "it; means of the blocks. Bytes: as the system charged them to the owner's processes."
        f"{_IDLE_NOTE if spent.intersection(idle) else ''}",
    )


def _row(
    step: StepComparison, digits: Iterable[int], name: str, owners: Collection[str], tone: Tone = ""
) -> tuple[TableCell, ...]:
    figures = (
        number.number(per_operation(cell, owners, of), places)
        for (_, of, _), places in zip(_QUANTITIES, digits, strict=True)
        for cell in step.cells
    )
    return tuple(TableCell(text=text, tone=tone) for text in (name, *figures))


def _parts(subject: Subject) -> Iterable[Group]:
    """Also without costs: more metrics join it."""
    parts = tuple(cost_tables(subject.step, subject.anchor))
    name = f"{subject.anchor}-cost"
    yield Group(name=name, parts=parts, depth="detail", entry="cost", pair=True)


SECTION = Section("step", _parts)
