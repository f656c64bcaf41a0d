"""Estimates a workload before it is run: rows, room on disk, and about how much time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dbdyno.model import Step, engine
from dbdyno.workload import parameter, schema, sweep, tables
from dbdyno.workload.expression import Value
from dbdyno.workload.file import Workload
from dbdyno.workload.scope import Scope


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A guess for one run of one arm.

    `disk_bytes` is of tables and indexes at their largest, without the write-ahead log, whose size
    is the configuration's. `seconds` is None where a step says nothing about its time.
    """

    rows: int
    disk_bytes: int
    seconds: float | None


def estimate(
    workload: Workload, parameters: Mapping[str, Value], steps: Sequence[Step]
) -> Estimate:
    """The needs of these steps of the workload with these parameters. Raises WorkloadError."""
    traits = engine.of(steps[0].job.engine if steps else "fake")
    given = sweep.beside(parameters, sweep.lists(workload, parameters, traits))
    values = parameter.of(workload, given, traits)
    scope = Scope(source=workload.source, names=values, engine=traits)
    rows, disk_bytes = 0, 0
    file = tables.called(workload.file, scope)
    names = tables.names(file, scope)
    filled = {fill.table: fill.expected_rows for step in steps for fill in step.job.fills}
    for base, table in file.tables.items():
        place = scope.root("tables", base)
        written = table.fill.rows if table.fill and table.rows is None else table.rows
        if isinstance(written, schema.ChildrenForm):
            written = filled.get(base)
        each = place.at("rows").integer(0 if written is None else written, low=0)
        rows += each * len(names[base])
        per_row = _bytes_per_row(table, {step.name for step in steps}, place.at("bytes_per_row"))
        disk_bytes += round(each * len(names[base]) * per_row)
    known = [step.expected_s for step in steps]
    seconds = None if None in known else sum(step_s for step_s in known if step_s is not None)
    return Estimate(rows=rows, disk_bytes=disk_bytes, seconds=seconds)


def _bytes_per_row(table: schema.TableForm, steps: set[str], scope: Scope) -> float:
    """The most that a row takes, with its indexes and what is dead, after any of the steps."""
    written = table.bytes_per_row
    if written is None:
        return 0.0
    if not isinstance(written, dict):
        return float(scope.number(written, low=0))
    sizes = {name: float(scope.at(name).number(size, low=0)) for name, size in written.items()}
    return max((size for name, size in sizes.items() if name in steps), default=0.0)
