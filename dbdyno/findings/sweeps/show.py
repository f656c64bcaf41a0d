"""Steps that a sweep repeats with other values: where each arm peaks, and curves of all arms."""

from collections.abc import Iterable, Sequence

from dbdyno.findings.sweeps.facts import Peak, Sweep, SweepFacts
from dbdyno.model.headlines import kind_of
from dbdyno.model.sweep import CLIENTS, P99
from dbdyno.parts import cells, number
from dbdyno.parts.drawing import CurvePoint, Curves
from dbdyno.parts.part import AnyPart, Chart, Group, Section, Subject, anchored
from dbdyno.parts.table import Column, Row, Table, TableCell

RATE = "rate"
"""The parameter that says how often operations are due; 0 is as fast as they can."""
LIMITED = "≥"
LOG_FROM = 8
"""Response times of which the longest is more times the shortest have a logarithmic scale."""

NOTE = (
    "Peak: the number of clients with a block's greatest throughput; over several blocks the "
    "median, and the range. Drop: the throughput with the most clients, relative to the peak."
)


def _parts(subject: Subject) -> Iterable[AnyPart]:
    """The peaks of all sweeps in one table, then the curves of each sweep beside each other."""
    facts = subject.comparison.of(SweepFacts)
    sweeps = facts.of(subject.workloads)
    peaks = [(sweep, peak) for sweep in sweeps for peak in facts.peaks_of(sweep)]
    if peaks:
        yield _table(peaks, subject)
    for sweep in sweeps:
        drawn = tuple(
            _charts(sweep, facts.peaks_of(sweep), f"{subject.anchor}-{anchored(sweep.title)}")
        )
        if drawn:
            yield Group(name="", parts=drawn, entry="", pair=True, fold="Sweeps")


SECTION = Section("workload", _parts)


# --- Peaks -----------------------------------------------------------------------------------


def _table(peaks: Sequence[tuple[Sweep, Peak]], subject: Subject) -> Table:
    beside = len(subject.comparison.arms) > 1
    by_base = (f"{number.TIMES} {subject.base}",) if beside else ()
    rows = tuple(_row(peak, beside) for _, peak in peaks)
    blocks = max(peak.blocks for _, peak in peaks)
    counted = {kind_of(sweep.headline).rate for sweep, _ in peaks}
    rate = counted.pop() if len(counted) == 1 else "throughput/s"
    limited = any(peak.limited for _, peak in peaks)
    still = any(peak.stood_still for _, peak in peaks)
    return Table(
        name=f"{subject.anchor}-peaks",
        title="Peaks over clients",
        depth="brief",
        look="inline",
        entry="peaks",
        columns=Column.heads(
            "arm",
            *Column.under("peak", "clients", rate, *by_base),
            *Column.under("with the most clients", "drop", *by_base),
        ),
        rows=rows,
        note=cells.sentences(
            NOTE,
            f"With 95 % t intervals of {number.blocks(blocks)}." if blocks > 1 else "",
            f"{LIMITED}: the load generator was at its limit; the true peak may be higher and "
            "elsewhere."
            if limited
            else "",
            cells.legend(rows, cells.STOOD_STILL_MARK) if still else "",
        ),
    )


def _row(peak: Peak, beside: bool) -> Row:
    by_base = (
        ((cells.paired_cell(peak.ratio),), (cells.paired_cell(peak.drop_ratio),))
        if beside
        else ((), ())
    )
    least = f"{LIMITED} " if peak.limited else ""
    greatest = peak.peak.value if peak.peak is not None else None
    drop = peak.drop_factor
    return Row.of(
        peak.arm,
        TableCell(text=f"{peak.clients:,}", detail=_range(peak), title=said(peak)),
        f"{least}{number.number(greatest)}",
        *by_base[0],
        TableCell(
            text=number.MISSING if drop is None else number.ratio(drop.value),
            detail="" if drop is None else number.interval(drop.low, drop.high),
            mark=cells.STOOD_STILL if peak.stood_still else "",
        ),
        *by_base[1],
        group=peak.sweep,
        arm=peak.arm,
    )


def said(peak: Peak) -> str:
    """Where an arm peaks, in words."""
    reach = _range(peak).replace(number.EN_DASH, " to ")
    among = f"{reach} in {number.blocks(peak.blocks)}" if reach else number.blocks(peak.blocks)
    clients = f"{peak.clients:,} client{'s' * (peak.clients != 1)}"
    return f"{peak.arm} peaks at {clients} ({among})"


def _range(peak: Peak) -> str:
    if peak.fewest == peak.most:
        return ""
    return f"{peak.fewest:,}{number.EN_DASH}{peak.most:,}"


# --- Curves ----------------------------------------------------------------------------------


def _charts(sweep: Sweep, peaks: Sequence[Peak], prefix: str) -> Iterable[Chart]:
    """Throughput and p99 against what is swept; of a rate that is held the p99 alone."""
    if sweep.parameter not in (CLIENTS, RATE):
        return
    name = f"{prefix}-{sweep.parameter}"
    counted = kind_of(sweep.headline).rate
    if not sweep.paced:
        yield from _chart(sweep, sweep.headline, f"{name}-throughput", counted, peaks)
    yield from _chart(sweep, P99, f"{name}-p99", "p99 in ms")


def _chart(
    sweep: Sweep, metric: str, name: str, title: str, peaks: Sequence[Peak] = ()
) -> Iterable[Chart]:
    points = tuple(
        CurvePoint(arm=point.arm, x=point.value, figure=point.figures[metric])
        for point in sweep.points
        if metric in point.figures and (sweep.parameter != RATE or point.value > 0)
    )
    if len({point.x for point in points}) < 2:
        return
    latency = metric == P99
    axis = "transactions/s asked for" if sweep.parameter == RATE else sweep.parameter
    figures = [point.figure.value for point in points]
    logarithmic = latency and max(figures) > LOG_FROM * min(figures)
    words = [said(peak) for peak in peaks]
    words += [_from_to(points, arm, latency) for arm in dict.fromkeys(one.arm for one in points)]
    yield Chart(
        name=name,
        title=f"{sweep.title}: {title}{' (log scale)' * logarithmic}, by {sweep.parameter}",
        describe="; ".join(words),
        data=Curves(
            axis=axis,
            doubling=sweep.parameter == CLIENTS,
            scale=1e-3 if latency else 1.0,
            logarithmic=logarithmic,
            points=points,
        ),
        note="Geometric means; bands are 95 % t intervals.",
    )


def _from_to(points: Sequence[CurvePoint], arm: str, latency: bool) -> str:
    """An arm's figures at both ends, in words."""
    own = sorted((point for point in points if point.arm == arm), key=lambda one: one.x)
    words = number.time_us if latency else number.number
    first, last = own[0], own[-1]
    return (
        f"{arm} {words(first.figure.value)} at {number.number(first.x)}, "
        f"{words(last.figure.value)} at {number.number(last.x)}"
    )
