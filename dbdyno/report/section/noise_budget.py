"""Where the noise of a calibration comes from, and what the same minutes would bring elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dbdyno.model import Comparison
from dbdyno.model.metric.primary import called
from dbdyno.model.noise_budget import (
    WORTH_MAX,
    Component,
    NoiseBudget,
    Source,
    Way,
    left_of,
)
from dbdyno.report import number
from dbdyno.report.parts import (
    Column,
    Finding,
    Group,
    Row,
    Section,
    Subject,
    Table,
    TableCell,
    Text,
)
from dbdyno.report.section import verdicts

SOURCES: dict[Source, tuple[str, str]] = {
    "second": ("seconds", "from second to second of a window, or of a turn"),
    "turn": ("turns", "from turn to turn"),
    "start": ("starts", "from block to block: a server start each"),
    "hour": ("hours", "from comparison to comparison"),
}
"""A source's short and full names."""
WAYS: dict[Way, tuple[str, str]] = {
    "blocks": ("more blocks", "with steps of half the length"),
    "seconds": ("longer steps", "twice as long, in fewer blocks"),
    "shorter turns": ("shorter turns", "of half the length, in as many as there is time for"),
    "longer turns": ("longer turns", "twice as long, in fewer"),
    "placement": ("placement", "at best: without what turns add to their seconds"),
}
"""A way's short and full names."""


def table(comparison: Comparison) -> Table | None:
    """The sources of each step and primary metric, and what would be left of its error."""
    one = comparison.calibration
    if one is None or not one.budget:
        return None
    several = len({its.workload for its in one.budget}) > 1
    sources = [name for name in SOURCES if any(_of(its, name) for its in one.budget)]
    ways = [way for way in WAYS if any(its.left(way) for its in one.budget)]
    titled = [(*SOURCES[name], "scatter of, %") for name in sources]
    title = f"Where the noise of {comparison.base} comes from"
    return Table(
        name="noise-budget",
        title=title,
        depth="brief" if set(comparison.arms) <= {comparison.base, one.arm} else "report",
        look="inline",
        narrow="figures",
        entry=title,
        arm=one.arm,
        columns=(
            Column(text="step", left=True),
            Column(text="metric", left=True),
            *(Column(text=text, title=its, group=group) for text, its, group in titled),
            Column(text="error, %", title="standard error of a comparison's mean, as measured"),
            *(
                Column(text=text, title=its, group="error for the same minutes, %")
                for text, its in (WAYS[way] for way in ways)
            ),
        ),
        rows=tuple(
            Row(cells=tuple(_cells(its, sources, ways)), group=its.workload if several else "")
            for its in one.budget
        ),
        note="Standard deviations of the ratio from one second, turn, server start or comparison "
        "to the next, with 95 % intervals; “not seen”: the sources to its left explain all "
        "scatter. Errors are standard errors of one comparison's mean, computed from them.",
    )


def _of(budget: NoiseBudget, source: Source) -> Component | None:
    return next((component for component in budget.components if component.source == source), None)


def _cells(
    budget: NoiseBudget, sources: Sequence[Source], ways: Sequence[Way]
) -> Iterable[TableCell]:
    yield TableCell(text=budget.step)
    metric = budget.metric
    yield TableCell(text=called(metric), title=verdicts.called_in_full(metric))
    yield from (_component(_of(budget, source)) for source in sources)
    blocks = number.blocks(round(budget.blocks))
    yield TableCell(text=_percent(budget.error), title=f"{blocks} of {_seconds(budget.seconds)}")
    errors = {prospect.way: prospect for prospect in budget.prospects}
    for way in ways:
        one = errors.get(way)
        if one is None:
            yield TableCell(text=number.EN_DASH, title="this calibration cannot predict it")
            continue
        title = f"{number.number(one.blocks, 1)} blocks of {_seconds(one.seconds)}"
        yield TableCell(text=_percent(one.error), title=title)


def _component(one: Component | None) -> TableCell:
    if one is None:
        return TableCell(text=number.EN_DASH, title="not separated")
    ends = None if one.low is None or one.high is None else (one.low, one.high)
    if one.sd is None:
        return TableCell(text="not seen", detail=f"up to {_percent(ends[1])}" if ends else "")
    detail = number.EN_DASH.join(map(_percent, ends)) if ends else ""
    return TableCell(text=_percent(one.sd), detail=detail)


def _percent(share: float) -> str:
    """A share in a column of percentages."""
    return verdicts.measured(share, 2).removesuffix(" %")


def _seconds(seconds: float) -> str:
    return f"{number.number(seconds)} s"


def sentence(budgets: Sequence[NoiseBudget]) -> Finding | None:
    """The best use of time over all steps and metrics; None without a prediction."""
    left = {way: its for way in WAYS if (its := left_of(budgets, way)) is not None}
    if not left:
        return None
    most = min((way for way in left if way != "placement"), key=lambda way: left[way])
    name, how = WAYS[most]
    others = [
        f"{WAYS[way][0]} {_times(left[way])}" for way in left if way not in (most, "placement")
    ]
    beside = f"; {', '.join(others)}" if others else ""
    said = f"{_times(left[most])} of the error would remain"
    if left[most] <= WORTH_MAX:
        text = f"The same minutes gain most from {name} ({how}): {said}{beside}."
    else:
        text = f"The same minutes are well spent: even with {name} ({how}), {said}{beside}."
    if "placement" in left:
        text += f" Another placement of processes would leave {_times(left['placement'])} or more."
    return Finding(text=text + _best(budgets))


def _times(share: float) -> str:
    """The remaining share, in percent."""
    return f"{100 * share:.0f} %"


def _best(budgets: Sequence[NoiseBudget]) -> str:
    """At which length of a step an error takes least time."""
    known = sorted(budget.best_seconds for budget in budgets if budget.best_seconds is not None)
    if not known:
        return " Server starts add no visible noise: only the seconds of blocks count."
    ends = [number.number(its) for its in (known[0], known[-1])]
    reach = ends[0] if ends[0] == ends[1] else " to ".join(ends)
    return f" Steps of {reach} s reach a given error soonest."


def _parts(subject: Subject) -> Iterable[Group]:
    found = table(subject.comparison)
    if found is None or subject.comparison.calibration is None:
        return
    said = sentence(subject.comparison.calibration.budget)
    text = (
        ()
        if said is None
        else (
            Text(
                name="noise-budget-said",
                title="",
                items=(said,),
                depth=found.depth,
                form="paragraphs",
            ),
        )
    )
    yield Group(name="", title="", parts=(found, *text), depth=found.depth, of="page", entry="")


SECTION = Section("page", _parts)
