"""How far the fills of a calibration are apart, beside the blocks that begin from one of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dbdyno.findings.verdicts import show as verdicts
from dbdyno.model import Comparison
from dbdyno.model.metric.primary import called
from dbdyno.model.verdict import FillNoise
from dbdyno.parts import number
from dbdyno.parts.part import Column, Group, Row, Section, Subject, Table, TableCell


def sentence(fills: Sequence[FillNoise]) -> str:
    """The largest scatter between fills, and where it is; nothing where none was measured."""
    if not fills:
        return ""
    one = max(fills, key=lambda its: its.sd)
    if not one.sd:
        return f"Between {one.fills} fills no scatter was seen beside that between blocks."
    return (
        f"Between {one.fills} fills the ratio scatters by up to {_percent(one.sd)} % "
        f"({one.step}, {called(one.metric)}), between blocks of one fill by "
        f"{_percent(one.blocks_sd)} % there."
    )


def table(comparison: Comparison) -> Table | None:
    """The scatter between fills of each step and primary metric; None where it was not measured."""
    one = comparison.calibration
    if one is None or not one.fills:
        return None
    several = len({fill.workload for fill in one.fills}) > 1
    title = f"How much fills of {comparison.base} differ"
    return Table(
        name="fill-noise",
        title=title,
        depth="brief" if set(comparison.arms) <= {comparison.base, one.arm} else "report",
        look="inline",
        entry=title,
        arm=one.arm,
        columns=(
            Column(text="step", left=True),
            Column(text="metric", left=True),
            Column(text="fills"),
            Column(text="blocks"),
            Column(text="between fills, %", title="standard deviation, 95 % interval"),
            Column(text="between blocks, %", title="of one fill: the same"),
            Column(text="added, %", title="to reports of one fill: scatter of the fills' means"),
        ),
        rows=tuple(
            Row(cells=tuple(_cells(fill)), group=fill.workload if several else "")
            for fill in one.fills
        ),
        note="Standard deviations of the ratio of A/A arm to base, with 95 % intervals; “not "
        "seen”: the scatter between blocks explains all. Added: the scatter of the fills' means, "
        "noise of their blocks with it, which widens intervals of results that have one fill.",
    )


def _cells(one: FillNoise) -> Iterable[TableCell]:
    yield TableCell(text=one.step)
    yield TableCell(text=called(one.metric), title=verdicts.called_in_full(one.metric))
    yield TableCell(text=str(one.fills))
    yield TableCell(text=str(one.blocks))
    yield _figure(one.sd, one.sd_low, one.sd_high)
    yield _figure(one.blocks_sd, one.blocks_sd_low, one.blocks_sd_high)
    yield TableCell(text=_percent(one.means_sd))


def _figure(sd: float, low: float | None, high: float | None) -> TableCell:
    """A standard deviation with its interval."""
    if not sd:
        return TableCell(text="not seen", detail="" if high is None else f"up to {_percent(high)}")
    ends = () if low is None or high is None else (low, high)
    return TableCell(text=_percent(sd), detail=number.EN_DASH.join(map(_percent, ends)))


def _percent(share: float) -> str:
    """A share in a column of percentages."""
    return verdicts.measured(share, 2).removesuffix(" %")


def _parts(subject: Subject) -> Iterable[Group]:
    found = table(subject.comparison)
    if found is not None:
        yield Group(name="", title="", parts=(found,), depth=found.depth, of="page", entry="")


SECTION = Section("page", _parts)
