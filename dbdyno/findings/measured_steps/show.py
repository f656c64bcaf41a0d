"""The measured steps: who takes part, how much is done, for how long, and whether cached."""

from collections.abc import Iterable, Sequence
from statistics import median

from dbdyno.findings.fairness.facts import never_stalled
from dbdyno.findings.outcomes.facts import counted, throughput
from dbdyno.model import StepComparison, StepRun
from dbdyno.parts import cells, number, step_groups, table_layout
from dbdyno.parts.part import Group, Section, Subject
from dbdyno.parts.table import Column, Depth, Row, Table, TableCell

CACHED_READS_MAX = 0.01
"""Device reads for each operation up to which a step counts as cached: one in a hundred."""


def table(steps: Sequence[StepComparison], prefix: str) -> Table | None:
    """The measured steps: who takes part, how much is done, for how long, and whether cached."""
    shown = [step for step in steps if step_groups.measured(step)]
    if not shown:
        return None
    blocks = len({len(_well(step)) for step in shown}) > 1
    columns = Column.heads(
        "step",
        Column(text="counts", left=True),
        "clients",
        "connections",
        "tables",
        Column(text="rows", group="each client", title="inserted; indexed in a step that indexes"),
        Column(text="rows/s asked", group="each client"),
        "seconds",
        Column(text="r/o", title="device reads per operation"),
        *((Column(text="runs", title="of all arms that ended well"),) if blocks else ()),
    )
    rows = tuple(Row.of(*_step_cells(step, with_runs=blocks)) for step in shown)
    return table_layout.without_blank(
        Table(
            name=f"{prefix}-steps",
            title="The steps",
            columns=columns,
            rows=rows,
            note="Over all arms and blocks, smallest to largest; r/o: device reads per operation "
            f"of the median run. Cached: at most {CACHED_READS_MAX} device reads per row inserted "
            "or query, as measured.",
        )
    )


def subtitle(step: StepComparison) -> str:
    """Returns what was counted, beside which load, for how long."""
    words = [throughput(step)]
    target = cells.target(step)
    if target is not None:
        words.append(f"beside {number.number(target)} rows inserted/s")
    lengths = [run.window.seconds for run in step.runs if run.window.seconds is not None]
    if lengths:
        words.append(f"window {number.seconds(min(lengths), max(lengths))}")
    if never_stalled(step):
        words.append("no role stalled")
    return ", ".join(words)


def _well(step: StepComparison) -> list[StepRun]:
    return [run for run in step.runs if run.ending.status == "ok"]


def _step_cells(step: StepComparison, *, with_runs: bool) -> Iterable[str | TableCell]:
    well = _well(step)
    extent = next((run.facts.extent for run in step.runs if run.facts.extent is not None), None)
    clients = extent.clients if extent is not None else None
    yield from (step.step, counted(step))
    of = (extent.clients, extent.connections, extent.tables) if extent else (None,) * 3
    yield from (number.number(count, 0) for count in of)
    inserted = [(run.metrics.get("ips") or 0.0) * (run.window.seconds or 0.0) for run in well]
    yield _range([rows / clients for rows in inserted]) if clients else number.MISSING
    target = cells.target(step)
    yield number.number(target / clients) if target and clients else ""
    lengths = [run.window.seconds for run in well if run.window.seconds is not None]
    seconds = number.seconds(min(lengths), max(lengths)) if lengths else number.MISSING
    yield seconds.removesuffix(" s")
    yield _reads(well)
    if with_runs:
        yield str(len(well))


def _range(values: Sequence[float]) -> str:
    """From the smallest to the largest; nothing where there are none at all."""
    if not values:
        return number.MISSING
    if not any(values):
        return ""
    low, high = number.number(min(values), 0), number.number(max(values), 0)
    return low if low == high else f"{low} to {high}"


def _reads(runs: Sequence[StepRun]) -> TableCell:
    """Device reads for each operation in the run in the middle, and whether that is none at all."""
    values = [value for run in runs if (value := run.metrics.get("rpq")) is not None]
    if not values:
        return TableCell(text=number.MISSING)
    middle, low, high = (number.number(of(values)) for of in (median, min, max))
    cached = median(values) <= CACHED_READS_MAX
    return TableCell(
        text="cached" if cached else middle, title=f"{low} to {high} in {len(values)} runs"
    )


def _parts(subject: Subject) -> Iterable[Group]:
    """The table, which is long where the steps are in groups."""
    if part := table(subject.steps, subject.anchor):
        many = any(map(step_groups.listed, subject.steps))
        depth: Depth = "detail" if many else "report"
        yield Group(name="", parts=(part,), depth=depth, entry="", fold=part.title)


SECTION = Section("workload", _parts)
