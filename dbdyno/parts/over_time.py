"""Charts by the second: which runs they draw, their lines, and what is said of both."""

from collections.abc import Iterable

from dbdyno.model import BackgroundFacts, Series, StepComparison, StepRun
from dbdyno.model.grouping import grouped
from dbdyno.parts import number
from dbdyno.parts.drawing import Line, Lines
from dbdyno.parts.part import Chart

CHART_BLOCKS_MAX = 6
"""More blocks than these are measured but not drawn second by second."""


def drawn(step: StepComparison) -> Iterable[StepRun]:
    """The runs that charts of a step draw, by arm."""
    return (run for cell in step.cells for run in cell.runs[:CHART_BLOCKS_MAX])


def line(run: StepRun, series: Series, label: str = "") -> Line:
    """A series of a run, with what ran in the background."""
    spans = run.of(BackgroundFacts).spans
    return Line(arm=run.arm, block=run.block, series=series, spans=spans, label=label)


def chart(step: StepComparison, name: str, title: str, data: Lines) -> Chart:
    """A quantity of a step, in lines of runs or of their clients."""
    # Of each arm in words, for readers who cannot see the chart.
    values = grouped((each.arm, y * data.scale) for each in data.lines for y in each.series.y)
    ranges = (
        f"{arm} {number.number(min(some))} to {number.number(max(some))}"
        for arm, some in values.items()
    )
    return Chart(
        name=name,
        title=f"{title}{', log scale' if data.logarithmic else ''}",
        describe=f"{title}: {'; '.join(ranges)}",
        note=note(step, each=any(each.label for each in data.lines)),
        of=step.step,
        data=data,
    )


def note(step: StepComparison, *, each: bool = False) -> str:
    """Explains the charts and their marks, in sentences; `each`: whether clients have lines."""
    kinds = {span.kind for facts in step.each(BackgroundFacts) for span in facts.spans}
    columns = ", one column per block" if step.blocks > 1 else ""
    whose = "A line for each client." if each else "All clients together."
    notes = [f"One row per arm{columns}, on one scale; time in seconds. {whose}"]
    if "checkpoint" in kinds:
        notes.append("Shaded: a checkpoint.")
    if "autovacuum" in kinds:
        notes.append("Thick line at the foot: autovacuum.")
    if step.blocks > CHART_BLOCKS_MAX:
        notes.append(f"The charts show the first {CHART_BLOCKS_MAX} of {step.blocks} blocks.")
    return " ".join(notes)
