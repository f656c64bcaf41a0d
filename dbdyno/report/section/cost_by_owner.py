"""The cost of an operation by owner; costs add up to those of the machine."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from dbdyno.model import Cell, OwnerCost, StepComparison
from dbdyno.model.headlines import kind_of
from dbdyno.model.metric.over import taken
from dbdyno.model.step_run import IDLE, SERVER_OWNERS
from dbdyno.parts import number
from dbdyno.parts.colors import Tone
from dbdyno.parts.part import Column, Group, Row, Section, Subject, Table, TableCell

_SERVER = "The server"
_OUTSIDE = "Outside the server"
_WAITING = "The waiting server, between its turns"
_IDLE_NOTE = (
    " Between its turns a server's costs are in other arms' time and in no window; they are divided"
    " by the same operations."
)
_NAMES = {
    "backend:other": "other backends",
    "exited": "unidentified processes",
    "generator": "load generator",
    "lab": "dyno",
    "lab:status": "dyno's questions for the server's state",
    "lab:waits": "dyno's samples of waits",
    "rest": "rest of the machine",
}
_QUANTITIES: tuple[tuple[str, Callable[[OwnerCost], float | None], int], ...] = (
    # with digits beyond those that the sum needs, so that small owners can be told from none
    ("CPU, µs", lambda cost: cost.cpu_us, 1),
    ("context switches", lambda cost: cost.context_switches, 1),
    ("bytes read", lambda cost: cost.read_bytes, 0),
    ("bytes written", lambda cost: cost.write_bytes, 0),
)


def owner_name(owner: str) -> str:
    """An owner of costs in words: `role:insert` is the insert connections."""
    owner = owner.removeprefix(IDLE)
    if owner.startswith("role:"):
        return f"{owner.removeprefix('role:')} connections"
    if owner.startswith("parallel:"):
        return f"parallel workers of {owner.removeprefix('parallel:')}"
    return _NAMES.get(owner, owner.removeprefix("background:"))


def _group(owner: str) -> str:
    return _SERVER if owner.startswith(SERVER_OWNERS) else _OUTSIDE


def _order(owner: str) -> tuple[bool, int, str]:
    """Roles first, then the server's background, then what is outside the server."""
    kinds = (*SERVER_OWNERS, "generator", "lab", "rest")
    of = owner.removeprefix(IDLE)
    place = next((i for i, kind in enumerate(kinds) if of.startswith(kind)), len(kinds))
    return (_group(of) == _OUTSIDE, place, of)


def per_operation(
    result: Cell, owners: Iterable[str], of: Callable[[OwnerCost], float | None]
) -> float | None:
    """A cost of these owners for each operation, the mean over the blocks that know it."""
    owners = set(owners)
    found = []
    for run in result.runs:
        operations = run.window.counted
        # fsum is exact, so that the order in which a set gives its owners says nothing.
        spent = [of(run.owners[owner]) for owner in owners if owner in run.owners]
        known = [value for value in spent if value is not None]
        if operations and known:
            found.append(math.fsum(known) / operations)
    return taken(found)


def cost_tables(step: StepComparison, base: str, prefix: str) -> Iterable[Table]:
    """CPU, context switches and bytes for each operation, by owner and arm, with sums."""
    found = {owner for result in step.cells for run in result.runs for owner in run.owners}
    if step.headline is None or not found:
        return
    window = sorted((owner for owner in found if not owner.startswith(IDLE)), key=_order)
    rows = [_row(step, owner_name(owner), [owner], _group(owner)) for owner in window]
    server = [owner for owner in window if _group(owner) == _SERVER]
    place = len(server)
    if server:
        rows.insert(place, _row(step, "the server's sum", server, _SERVER, total=True))
    rows.append(_row(step, "the machine's sum", window, _OUTSIDE, total=True))
    idle = sorted(found.difference(window), key=_order)
    spent = [owner for owner in idle if _spent(step, owner)]
    rows += [_row(step, owner_name(owner), [owner], _WAITING) for owner in spent]
    if spent:
        rows.append(_row(step, "the waiting server's sum", idle, _WAITING, total=True))
    columns = [Column(text="owner", left=True)]
    columns += [
        Column(text=result.arm, group=quantity)
        for quantity, _, _ in _QUANTITIES
        for result in step.cells
    ]
    kind = kind_of(step.headline)
    yield Table(
        name=f"{prefix}-costs",
        title=f"Cost of a {kind.singular}, by owner",
        columns=tuple(columns),
        rows=tuple(rows),
        note=f"Differences of counters over the window, divided by the {kind.many} counted in "
        "it; means of the blocks. Bytes: as the system charged them to the owner's processes."
        f"{_IDLE_NOTE if spent else ''}",
    )


def _spent(step: StepComparison, owner: str) -> bool:
    """Whether an owner cost anything, in any run of any arm."""
    costs = (run.owners.get(owner) for result in step.cells for run in result.runs)
    return any(cost.cpu_us or cost.write_bytes for cost in costs if cost is not None)


def _row(
    step: StepComparison, name: str, owners: list[str], group: str, *, total: bool = False
) -> Row:
    """A row of costs; the digits of a quantity are those of its sum, so that columns add up."""
    tone: Tone = "total" if total else ""
    cells = [TableCell(text=name, tone=tone)]
    everyone = {
        owner
        for result in step.cells
        for run in result.runs
        for owner in run.owners
        if not owner.startswith(IDLE)
    }
    for _, of, more in _QUANTITIES:
        sums = [per_operation(result, everyone, of) for result in step.cells]
        digits = min(number.digits_alike(sums, 9) + (more if any(sums) else 0), 4)
        cells += [
            TableCell(text=number.number(per_operation(result, owners, of), digits), tone=tone)
            for result in step.cells
        ]
    return Row(cells=tuple(cells), group=group)


def _parts(subject: Subject) -> Iterable[Group]:
    yield Group(
        name=f"{subject.anchor}-cost",
        title="",
        parts=tuple(cost_tables(subject.step, subject.base, subject.anchor)),
        depth="detail",
        entry="cost",
        pair=True,
    )


SECTION = Section("step", _parts)
