"""The cost of an operation by step, in the published columns: absolute, then relative.

The figures of the whole host explain a throughput: where relative QPS is below 1, `cpu/o` or `cs/o`
is often as much above it. Beside them stands the CPU time of the server processes themselves.
"""

from collections.abc import Iterable, Sequence

from dbdyno.model import StepComparison
from dbdyno.model.headlines import kind_of
from dbdyno.model.metric.primary import cpu_of
from dbdyno.parts import cells, number
from dbdyno.parts.table import Column, Row, Table

SHORT: tuple[tuple[str, str, int, str], ...] = (
    ("cpu/o", "cpupq", 2, "CPU of the host, a load generator on it included, µs per operation"),
    ("server", "", 2, "CPU of the server processes that execute it, µs per operation"),
    ("cs/o", "cspq", 3, "context switches of the whole host per operation"),
    ("r/o", "rpq", 4, "reads of the data device per operation"),
    ("rKB/o", "rkbpq", 3, "KiB read from the data device per operation"),
    ("wKB/o", "wkbpq", 3, "KiB written to the data device per operation"),
)
"""The published columns but the last, o/s: heading, metric, digits at most, what it is.

Of ours, `server`, the metric is the primary one of CPU, which the step knows.
"""

PER_SECOND = "o/s"


def table(steps: Sequence[StepComparison], name: str, title: str) -> Table:
    """For each step a line for each arm, then the same divided by the base's."""
    columns = tuple(Column(text=text, title=what) for text, _, _, what in SHORT)
    return Table(
        name=f"{name}-per-operation",
        title=f"{title.capitalize()}: what an operation costs",
        columns=(
            *columns,
            Column(text=PER_SECOND, title="operations per second: the throughput"),
            Column(text="arm", left=True),
        ),
        rows=tuple(row for step in steps for row in _rows(step)),
        heading=len(SHORT) + 1,
    )


def note(steps: Sequence[StepComparison], base: str) -> str:
    """Explains the columns, in a few sentences."""
    arms = {result.arm for step in steps for result in step.cells}
    ratios = (
        f" Below each figure: its ratio to that of {base}, or with a sign how much more it is, "
        "where a block has none."
        if len(arms) > 1
        else ""
    )
    return (
        "cpu/o: µs of CPU of the server's whole host per operation, a load generator on it "
        "included, as published (there in percent of the host); server: CPU of the server "
        "processes that execute the operation, its own cost. cs/o: context switches of the "
        "host; r/o, rKB/o, wKB/o: reads, KiB read and KiB written of the data device; o/s: "
        "operations per second. "
        f"The throughput counts operations.{ratios}"
    )


def _rows(step: StepComparison) -> Iterable[Row]:
    cpu = cpu_of(step.cells)
    for result in step.cells:
        yield Row.of(
            *(cells.figure(step, result, metric or cpu, digits) for _, metric, digits, _ in SHORT),
            cells.absolute_cell(result, "")
            if _rate(step) == step.headline
            else number.number(result.metrics.get(_rate(step))),
            result.arm,
            group=step.step,
            arm=result.arm,
        )
    base, *others = step.cells
    for result in others:
        yield Row.of(
            *(cells.estimate_cell(step, result, metric or cpu) for _, metric, _, _ in SHORT),
            cells.estimate_cell(step, result, _rate(step)),
            f"{result.arm} / {base.arm}",
            group=step.step,
            arm=result.arm,
        )


def _rate(step: StepComparison) -> str:
    """The metric that counts operations by time: the headline, where that does."""
    return "tps" if kind_of(step.headline).whole else step.headline or ""
