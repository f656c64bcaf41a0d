"""A post: what of a report fits one page. Pure.

The answer, absolute rates, ratios to the base, three charts, what was measured on, how to repeat.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from dbdyno.findings.answer import show as answer
from dbdyno.model import Comparison
from dbdyno.parts.colors import Scheme
from dbdyno.parts.drawing import Bars, Curves, Effects, Lines, Plateaus, Ratios, ScaleUp
from dbdyno.parts.part import AnyPart, Chart, Group, Page, Text, charts, flat, scoped
from dbdyno.parts.table import Table
from dbdyno.report import page

CHARTS_MAX = 3
"""So many charts a post has."""
KINDS = (Ratios, Curves, ScaleUp, Lines, Bars, Plateaus)
"""Charts in the order in which a post wants one of each: all steps first, then one step."""
BLOCKS_MAX = 3
"""Of a chart over time so many blocks are drawn, so that each is wide enough on a telephone."""
RATES, RATIOS = "-absolute", "-relative"
COUNTS = ("work", "work-steps")
SETUP = ("introduction", "differences")
REPEAT = "repeat"


def make(comparison: Comparison, scheme: Scheme = "words") -> Page:
    """The page of a post about a comparison; its parts are those of the report."""
    whole = page.make(comparison, scheme)
    return replace(whole, parts=tuple(_parts(whole, comparison)))


def _parts(whole: Page, comparison: Comparison) -> Iterator[AnyPart]:
    yield from (part for part in whole.parts if part.depth == "answer")
    leaves = list(flat(whole.parts))
    for ending, title in ((RATES, "Rates"), (RATIOS, f"Relative to {whole.base}")):
        yield from _group(title, (leaf for leaf in leaves if leaf.name.endswith(ending)))
    yield from _group("Work of an operation", (leaf for leaf in leaves if leaf.name in COUNTS))
    yield from _group("Charts", chosen(whole, comparison))
    yield from _group("Versions and hardware", (leaf for leaf in leaves if leaf.name in SETUP))
    repeat = next((part for part in whole.parts if part.name == REPEAT), None)
    if isinstance(repeat, Group):
        yield replace(repeat, depth="report", fold="")


def _group(title: str, parts: Iterable[AnyPart]) -> Iterator[Group]:
    """The parts under a heading; nothing where there is none."""
    opened = tuple(_opened(part) for part in parts)
    if opened:
        name = title.lower().replace(" ", "-")
        yield Group(name=f"post-{name}", title=title, parts=opened, of="page", depth="report")


def _opened(part: AnyPart) -> AnyPart:
    """A part that a post shows openly: tables have titles and arms names of their own.

    The title of the hardware is that of its group.
    """
    if isinstance(part, Text):
        return replace(part, title="", depth="report")
    if isinstance(part, Table):
        columns = tuple(replace(each, text=each.arm or each.text) for each in part.columns)
        return replace(part, short="", columns=columns, depth="report")
    return replace(part, depth="report")


def chosen(whole: Page, comparison: Comparison) -> Sequence[Chart]:
    """The charts of a post beside its answer: one of each kind, of the step that changed most.

    Where the changes of one arm are drawn in the answer, these are the first chart.
    """
    every = list(charts(whole.parts))
    alone = len(answered(whole)) == 1
    drawn = [chart for chart in every if not isinstance(chart.data, Effects)]
    drawn = [chart for chart in drawn if not (alone and isinstance(chart.data, Ratios))]
    first = [*charts(_foremost(whole, comparison)), *drawn]
    picked: dict[str, Chart] = {}
    for drawing in KINDS:
        alike = (chart for chart in first if isinstance(chart.data, drawing))
        picked |= {chart.name: chart for chart in islice(alike, 1)}
    rest = [chart for chart in drawn if isinstance(chart.data, Bars | Lines)]
    picked |= {chart.name: chart for chart in rest if chart.name not in picked}
    return tuple(map(_with_few_blocks, islice(picked.values(), CHARTS_MAX - alone)))


def answered(whole: Page) -> Sequence[Chart]:
    """The changes of each arm that stand in the answer."""
    answers = (part for part in whole.parts if part.depth == "answer")
    return [chart for chart in charts(answers) if isinstance(chart.data, Effects)]


def _with_few_blocks(chart: Chart) -> Chart:
    """A chart over time of the first blocks alone, as its note says."""
    if not isinstance(chart.data, Lines):
        return chart
    blocks = sorted({line.block for line in chart.data.lines})
    if len(blocks) <= BLOCKS_MAX:
        return chart
    lines = tuple(line for line in chart.data.lines if line.block in blocks[:BLOCKS_MAX])
    title = f"{chart.title}, the first {BLOCKS_MAX} of {len(blocks)} blocks"
    return replace(chart, title=title, data=replace(chart.data, lines=lines))


def _foremost(whole: Page, comparison: Comparison) -> Iterable[AnyPart]:
    """The parts of the step whose change comes first."""
    for (workload, step), _ in sorted(answer.ranked(comparison).items(), key=lambda item: item[1]):
        for group in scoped(whole.parts, "workload"):
            for part in scoped(group.parts, "step") if group.title == workload else ():
                if part.title == step:
                    return part.parts
    return ()
