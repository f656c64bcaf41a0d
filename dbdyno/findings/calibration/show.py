"""How far the verdicts can be trusted: the base compared with itself."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from dbdyno.model import Comparison
from dbdyno.model.grouping import grouped
from dbdyno.model.metric import title_of
from dbdyno.model.metric.primary import called
from dbdyno.model.verdict import Aims, Calibration, FillNoise, Noise
from dbdyno.parts import cells, colors, number
from dbdyno.parts.part import Finding, Group, Section
from dbdyno.parts.table import Column, Row, Table, TableCell

NAMES_MAX = 4
"""So many steps are named in a sentence; the tables have them all."""


# --- The base against itself -----------------------------------------------------------------


def findings(comparison: Comparison) -> Iterable[Finding]:
    """The result of comparing the base with itself; first, any excess of false alarms."""
    one = comparison.calibration
    if one is None:
        return
    aims = comparison.aims
    items = []
    if not colors.trusted(one, aims):
        items.append(
            Finding(
                label="Caution",
                tone="failed",
                text=f"more than the {number.percent(aims.level)} allowed: something other than "
                "the arms makes them differ. Read a change below as “perhaps”.",
            )
        )
    by_name = grouped((called(noise.metric), noise) for noise in one.noise)
    items += Finding.each(_seen(name, noise, aims) for name, noise in by_name.items())
    items += Finding.each(of_fills(one.fills))
    yield Finding(text=_rates(comparison.base, one, aims), items=tuple(items))


def _rates(base: str, one: Calibration, aims: Aims) -> str:
    """In 10 comparisons of pg17 with itself (ghost), 6 blocks each: 1 false verdict …"""
    plural = "s" if one.comparisons != 1 else ""
    verdict = f"{one.false_verdicts or 'no'} false verdict{'s' if one.false_verdicts != 1 else ''}"
    share = (
        f", in {_share(one.comparisons_false / one.comparisons, one.false_low, one.false_high)} "
        "of the comparisons"
        if one.comparisons > 1
        else ""
    )
    tests = (
        f"; {_share(one.rate, one.rate_low, one.rate_high)} of {one.tests:,} tests had p under "
        f"{number.number(aims.level, 2)}"
        if one.tests
        else ""
    )
    return (
        f"A/A: in {one.comparisons:,} comparison{plural} of {base} with itself ({one.arm}), "
        f"{number.blocks(one.blocks_each)}{' each' if plural else ''}, "
        f"{verdict}{share}{tests}."
    )


def _share(share: float, low: float, high: float) -> str:
    """5.2 % [1.4, 12.8]"""
    return f"{number.measured(share)} [{_figure(low)}, {_figure(high)}]"


def _smallest(noise: Noise) -> float:
    """The smallest change that one comparison finds; infinite where it finds none."""
    return math.inf if noise.visible is None else noise.visible


def _seen(called: str, noise: Sequence[Noise], aims: Aims) -> str:
    """In how many steps a change as large as wanted is seen by a metric, and in which it is not."""
    missed = sorted(
        (one for one in noise if _smallest(one) > aims.effect), key=lambda one: -_smallest(one)
    )
    seen = len(noise) - len(missed)
    where = "all" if not missed and len(noise) > 1 else f"{seen or 'none'} of"
    text = (
        f"By {called} a change of {number.percent(aims.effect)} can be seen in {where} "
        f"{len(noise)} step{'s' if len(noise) != 1 else ''}"
    )
    if not missed:
        return f"{text}."
    several = len({one.workload for one in noise}) > 1
    names = [f"{f'{one.workload} ' if several else ''}{one.step} {_from(one)}" for one in missed]
    return f"{text}; {number.few(names, NAMES_MAX)}."


def _from(noise: Noise) -> str:
    """From which change on a step shows it, in words."""
    return "not at all" if noise.visible is None else f"from {number.visible(noise.visible)} %"


def of_fills(fills: Sequence[FillNoise]) -> Iterable[str]:
    """The largest scatter between fills, and where it is; nothing where none was measured."""
    if not fills:
        return
    largest = max(fills, key=lambda fill: fill.sd)
    if not largest.sd:
        yield f"Between {largest.fills} fills no scatter was seen beside that between blocks."
        return
    yield (
        f"Between {largest.fills} fills the ratio scatters by up to "
        f"{number.measured(largest.sd, 2)} ({largest.step}, {called(largest.metric)}), between "
        "blocks of one fill by "
        f"{number.measured(largest.blocks_sd, 2)} there."
    )


# --- Tables ----------------------------------------------------------------------------------


def of_blocks(comparison: Comparison, calibration: Calibration) -> Table:
    """The noise between blocks of each step and primary metric."""
    aims, uniform = comparison.aims, calibration.p_uniform
    wanted = f"with a power of {number.percent(aims.power)}"
    table = Table(
        name="noise",
        title=f"How much {comparison.base} differs from itself",
        rows=(),
        columns=(
            Column(text="blocks", title="number of blocks that measure the noise"),
            Column(
                text="sd, %", title="standard deviation of the ratio between blocks, 95 % interval"
            ),
            Column(text="visible, %", title=f"smallest change that one comparison finds {wanted}"),
            Column(text="largest, %", title="97.5 % of comparisons of equal arms see less"),
        ),
        note=cells.sentences(
            f"{comparison.base} against its A/A arm {calibration.arm}. sd: standard deviation of "
            "the ratio between blocks, with its 95 % interval; visible: the smallest change that "
            "one comparison finds; largest: 97.5 % of comparisons of equal arms see less.",
            ""
            if uniform is None
            else "Test that p values are uniform, as they should be: p = "
            f"{number.number(uniform, 2)} (Kolmogorov-Smirnov).",
        ),
        colors=f"Gray: a change of {number.percent(aims.effect)} can be seen.",
    )
    rows = [(noise, _noise(noise, aims)) for noise in calibration.noise]
    return _filled(table, comparison, calibration, rows)


def _noise(noise: Noise, aims: Aims) -> Sequence[str | TableCell]:
    """The figures of a step and metric."""
    text = "none" if noise.visible is None else number.visible(noise.visible)
    visible = TableCell(text=text, tone="alike" if _smallest(noise) <= aims.effect else "")
    sd = _sd(noise.sd, noise.sd_low, noise.sd_high)
    return str(noise.blocks), sd, visible, _figure(noise.largest)


def between_fills(comparison: Comparison, calibration: Calibration) -> Table:
    """The scatter between fills of each step and primary metric."""
    table = Table(
        name="fill-noise",
        title=f"How much fills of {comparison.base} differ",
        rows=(),
        columns=(
            Column(text="fills"),
            Column(text="blocks"),
            Column(text="between fills, %", title="standard deviation, 95 % interval"),
            Column(text="between blocks, %", title="of one fill: the same"),
            Column(text="added, %", title="to reports of one fill: scatter of the fills' means"),
        ),
        note="Standard deviations of the ratio of A/A arm to base, with 95 % intervals; “not "
        "seen”: the scatter between blocks explains all. Added: the scatter of the fills' means, "
        "noise of their blocks with it, which widens intervals of results that have one fill.",
    )
    rows = [(fill, _fill(fill)) for fill in calibration.fills]
    return _filled(table, comparison, calibration, rows)


def _fill(fill: FillNoise) -> Sequence[str | TableCell]:
    """The figures of a step and metric."""
    between = _fill_sd(fill.sd, fill.sd_low, fill.sd_high)
    within = _fill_sd(fill.blocks_sd, fill.blocks_sd_low, fill.blocks_sd_high)
    return str(fill.fills), str(fill.blocks), between, within, _figure(fill.means_sd, 2)


def _fill_sd(sd: float, low: float | None, high: float | None) -> TableCell:
    most = "" if high is None else f"up to {_figure(high, 2)}"
    return _sd(sd, low, high) if sd else TableCell(text="not seen", detail=most)


def _filled(
    table: Table,
    comparison: Comparison,
    calibration: Calibration,
    rows: Sequence[tuple[Noise | FillNoise, Sequence[str | TableCell]]],
) -> Table:
    """The table with a row for each step and primary metric."""
    several = len({noise.workload for noise, _ in rows}) > 1
    alone = set(comparison.arms) <= {comparison.base, calibration.arm}
    return replace(
        table,
        depth="brief" if alone else "report",
        look="inline",
        entry=table.title,
        arm=calibration.arm,
        columns=Column.heads("step", Column(text="metric", left=True), *table.columns),
        rows=tuple(
            Row.of(
                noise.step,
                TableCell(text=called(noise.metric), title=title_of(noise.metric)),
                *figures,
                group=noise.workload if several else "",
            )
            for noise, figures in rows
        ),
    )


def _sd(sd: float, low: float | None, high: float | None) -> TableCell:
    """A standard deviation with its interval."""
    ends = () if low is None or high is None else (_figure(low, 2), _figure(high, 2))
    return TableCell(text=_figure(sd, 2), detail=number.EN_DASH.join(ends))


def _figure(share: float, digits: int = 1) -> str:
    """A share in a column of percentages."""
    return number.measured(share, digits).removesuffix(" %")


def tables(comparison: Comparison) -> Iterable[Table]:
    """What differs between blocks, and between fills, as far as it was measured."""
    calibration = comparison.calibration
    if calibration is not None and calibration.noise:
        yield of_blocks(comparison, calibration)
    if calibration is not None and calibration.fills:
        yield between_fills(comparison, calibration)


SECTION = Section(
    "page",
    lambda subject: (
        Group(name="", parts=(table,), depth=table.depth, of="page", entry="")
        for table in tables(subject.comparison)
    ),
)
