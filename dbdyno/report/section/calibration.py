"""How far the verdicts can be trusted: the base compared with itself."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from dbdyno.findings.verdicts import show as verdicts
from dbdyno.model import Comparison
from dbdyno.model.metric.primary import called
from dbdyno.model.verdict import Aims, Calibration, Noise
from dbdyno.parts import colors, number
from dbdyno.parts.part import (
    Column,
    Finding,
    Group,
    Row,
    Section,
    Subject,
    Table,
    TableCell,
)
from dbdyno.report.section import fill_noise

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
    items += [
        Finding(text=_seen(metric, [noise for noise in one.noise if noise.metric in names], aims))
        for metric, names in _by_metric(one.noise).items()
    ]
    if text := fill_noise.sentence(one.fills):
        items.append(Finding(text=text))
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
    return f"{verdicts.measured(share)} [{_figure(low)}, {_figure(high)}]"


def _by_metric(noise: Iterable[Noise]) -> dict[str, set[str]]:
    """The names of the metrics by what they are called: throughput is called so in every step."""
    found: dict[str, set[str]] = {}
    for one in noise:
        found.setdefault(called(one.metric), set()).add(one.metric)
    return found


def _smallest(noise: Noise) -> float:
    """The smallest change that one comparison finds; infinite where it finds none."""
    return math.inf if noise.visible is None else noise.visible


def _from(noise: Noise) -> str:
    """From which change on a step shows it, in words."""
    return "not at all" if noise.visible is None else f"from {verdicts.visible(noise.visible)} %"


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


def table(comparison: Comparison) -> Table | None:
    """The noise between blocks of each step and primary metric; None where it was not measured."""
    one = comparison.calibration
    if one is None or not one.noise:
        return None
    aims = comparison.aims
    several = len({noise.workload for noise in one.noise}) > 1
    wanted = f"with a power of {number.percent(aims.power)}"
    columns = (
        Column(text="step", left=True),
        Column(text="metric", left=True),
        Column(text="blocks", title="number of blocks that measure the noise"),
        Column(text="sd, %", title="standard deviation of the ratio between blocks, 95 % interval"),
        Column(text="visible, %", title=f"smallest change that one comparison finds {wanted}"),
        Column(text="largest, %", title="97.5 % of comparisons of equal arms see less"),
    )
    rows = tuple(
        Row(cells=tuple(_noise(noise, aims)), group=noise.workload if several else "")
        for noise in one.noise
    )
    uniform = one.p_uniform
    title = f"How much {comparison.base} differs from itself"
    return Table(
        name="noise",
        title=title,
        depth="brief" if set(comparison.arms) <= {comparison.base, one.arm} else "report",
        look="inline",
        entry=title,
        arm=one.arm,
        columns=columns,
        rows=rows,
        note=f"{comparison.base} against its A/A arm {one.arm}. sd: standard deviation of the "
        "ratio between blocks, with its 95 % interval; visible: the smallest change that one "
        "comparison finds; largest: 97.5 % of comparisons of equal arms see less."
        + (
            ""
            if uniform is None
            else " Test that p values are uniform, as they should be: p = "
            f"{number.number(uniform, 2)} (Kolmogorov-Smirnov)."
        ),
        colors=f"Gray: a change of {number.percent(aims.effect)} can be seen.",
    )


def _noise(noise: Noise, aims: Aims) -> Iterable[TableCell]:
    """The cells of a step and metric."""
    yield TableCell(text=noise.step)
    yield TableCell(text=called(noise.metric), title=verdicts.called_in_full(noise.metric))
    yield TableCell(text=str(noise.blocks))
    ends = (_figure(noise.sd_low, 2), _figure(noise.sd_high, 2))
    yield TableCell(text=_figure(noise.sd, 2), detail=number.EN_DASH.join(ends))
    yield TableCell(
        text="none" if noise.visible is None else verdicts.visible(noise.visible),
        tone="alike" if _smallest(noise) <= aims.effect else "",
    )
    yield TableCell(text=_figure(noise.largest))


def _figure(share: float, digits: int = 1) -> str:
    """A share in a column of percentages."""
    return verdicts.measured(share, digits).removesuffix(" %")


def _parts(subject: Subject) -> Iterable[Group]:
    found = table(subject.comparison)
    if found is not None:
        yield Group(name="", title="", parts=(found,), depth=found.depth, of="page", entry="")


SECTION = Section("page", _parts)
