"""Steps that a sweep repeats with other values side by side: curves, peaks and drops.

Which steps belong together is in their names, `select-only@clients=4,rate=500` (docs/workload.md).
A peak is of a block that has the whole sweep, and peaks are compared within blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from dbdyno.judge.pairing import by_block
from dbdyno.judge.step_cells import Row
from dbdyno.model import Cell, StepRun
from dbdyno.model.headlines import kind_of
from dbdyno.model.sweep import CLIENTS, P99, Peak, Sweep, SweepPoint, values
from dbdyno.stats import sweep as curves
from dbdyno.stats.sweep import Curve


@dataclass(frozen=True)
class _Swept:
    """A row of a sweep, at its value."""

    value: float
    row: Row


def sweeps(rows: Sequence[Row]) -> tuple[Sweep, ...]:
    """All sweeps over a number of two values at least, in the order in which their steps stand."""
    swept: dict[tuple[str, str, str], list[_Swept]] = {}
    for row in rows:
        step = row.step
        measured = any(run.facts.measured for cell in step.cells for run in cell.runs)
        for key, (value, title) in values(step.step).items() if measured else ():
            swept.setdefault((step.workload, title, key), []).append(_Swept(value, row))
    return tuple(
        _sweep(title, key, sorted(some, key=lambda point: point.value))
        for (_, title, key), some in swept.items()
        if len({point.value for point in some}) > 1
        and len({point.row.step.headline for point in some} - {None}) == 1
    )


def _sweep(title: str, parameter: str, swept: Sequence[_Swept]) -> Sweep:
    first = swept[0].row.step
    headline = str(first.headline)
    paced = any(_paced(cell, headline) for point in swept for cell in point.row.step.cells)
    peaks = _peaks(swept, headline) if parameter == CLIENTS and not paced else ()
    return Sweep(
        workload=first.workload,
        title=title,
        parameter=parameter,
        headline=headline,
        steps={point.value: point.row.step.step for point in swept},
        points=tuple(_points(swept, headline)),
        paced=paced,
        peaks=tuple(peaks),
    )


def _paced(cell: Cell, headline: str) -> bool:
    """Whether the work that the headline counts was due by a schedule."""
    times = (run.responses.by_kind.get(kind_of(headline).times_of) for run in cell.runs)
    return any(time is not None and time.paced for time in times)


def _points(swept: Sequence[_Swept], headline: str) -> Iterable[SweepPoint]:
    for point in swept:
        for cell in point.row.step.cells:
            known = {
                name: ratio
                for name in (headline, P99)
                if (ratio := curves.mean(list(by_block(cell.runs, name).values())))
            }
            if known:
                yield SweepPoint(arm=cell.arm, value=point.value, figures=known)


# --- Peaks -----------------------------------------------------------------------------------


def _peaks(swept: Sequence[_Swept], headline: str) -> Iterable[Peak]:
    """Of each arm that has a whole sweep in any block."""
    for place, cell in enumerate(swept[0].row.step.cells):
        runs = {point.value: point.row.step.cells[place].runs for point in swept}
        faced = {point.value: point.row.faced.get(cell.arm) for point in swept}
        bases = {value: facing.base_runs for value, facing in faced.items() if facing is not None}
        peak = _peak(cell.arm, _curves(runs, headline), _curves(bases, headline))
        if peak is not None:
            limits = (
                clients for clients, some in runs.items() if any(run.window.limited for run in some)
            )
            yield replace(peak, limited=tuple(int(clients) for clients in limits))


def _curves(runs: Mapping[float, Sequence[StepRun]], headline: str) -> dict[int, Curve]:
    """By block its whole curve; not of a block that lacks a value, or did nothing at all."""
    known = {value: by_block(some, headline) for value, some in runs.items()}
    blocks = set.intersection(*(set(some) for some in known.values())) if known else set()
    whole = {block: {value: known[value][block] for value in known} for block in sorted(blocks)}
    return {block: curve for block, curve in whole.items() if any(curve.values())}


def _peak(arm: str, own: Mapping[int, Curve], base: Mapping[int, Curve]) -> Peak | None:
    """An arm's peaks, by those of the base where it is not that itself."""
    if not own:
        return None
    peaks = [curves.peak(curve) for curve in own.values()]
    drops = {block: curves.drop(curve) for block, curve in own.items()}
    both = [(curve, base[block]) for block, curve in own.items() if block in base]
    by_base = [max(curve.values()) / max(other.values()) for curve, other in both]
    fallen = [(curves.drop(curve), curves.drop(other)) for curve, other in both]
    return Peak(
        arm=arm,
        clients=int(curves.typical(peaks)),
        fewest=int(min(peaks)),
        most=int(max(peaks)),
        blocks=len(own),
        throughput=curves.mean([max(curve.values()) for curve in own.values()]),
        drop=curves.mean_drop(list(drops.values())),
        by_base=curves.mean(by_base),
        drop_by_base=curves.mean([drop / other for drop, other in fallen if other]),
        stood_still=sum(not drop for drop in drops.values()),
        limited=(),
    )
