"""The metrics of a step: the published columns, then all others, grouped by what they tell."""

from collections.abc import Iterable
from dataclasses import replace

from dbdyno.model import Cell, StepComparison, metric
from dbdyno.model.metric import device
from dbdyno.parts import cells
from dbdyno.parts.part import Group, Section
from dbdyno.parts.table import Column, Row, Table, TableCell

_RESPONSE = (
    *("dps", "response", "service", "late", "connect_us_mean", "lag", "queue", "backlog"),
    *("over_limit", "skipped", "retries", "retried", "errors", "failed", "rolled", "told"),
)
_COUNTED = ("tps", "opm", "scan", "riops", "statements", "control", "rows_ps", "found")
_LEDGER = ("connection_us", "runnable", "wait_", "client_us", "unaccounted")
_EVENTS = ("page_faults", "migrations")

_GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Throughput and response", (*_COUNTED, *_RESPONSE)),
    ("Fairness, stalls and targets", ("jain", "finish", "stall", "target")),
    ("Where the time of an operation goes", _LEDGER),
    ("CPU and context switches", ("cpu", "cs_per", "generator", "steal", "lab")),
    (
        "Pages and bytes of the operation",
        ("buffers", "pool", "rows_read", "row_lock", "role_read", "role_write"),
    ),
    (
        "Counters of perf, in the profiled window",
        (
            *("instructions", "cycles", "kernel_", "branch", "cache_misses", "dtlb", "itlb"),
            *("l1d", "l1i", "frontend", "backend_stalls", *_EVENTS),
        ),
    ),
    (
        "Writes",
        (
            *("wpq", "wkbpq", "wal", "binlog", "fpi", "pages_written", "doublewrite", "fsync"),
            *("log_fsync", "checkpoint", "autovacuum", "dead", "history", "dirty"),
        ),
    ),
    ("Pages by second", ("blocks",)),
    (
        "The device's greatest second",
        ("rmbps_max", "wmbps_max", "rwmbps_max", "read_share_of", "write_share_of"),
    ),
)


def tables(step: StepComparison, base: str, prefix: str) -> Iterable[Table]:
    """Returns the published metrics, and where there are more a second table of those."""
    if step.headline is None or not any(result.metrics for result in step.cells):
        return
    yield _published(step, base, prefix)
    ours = _ours(step, base, prefix)
    if ours is not None:
        yield ours


def _published(step: StepComparison, base: str, prefix: str) -> Table:
    """The published columns in their order: a row for each arm, then the same as ratios."""
    shown = [one for one in metric.METRICS if one.published]
    rows = [
        Row.of(result.arm, *(_value_cell(step, result, one) for one in shown), arm=result.arm)
        for result in step.cells
    ]
    rows += [
        Row.of(
            result.arm,
            *(replace(cells.estimate_cell(step, result, one.name), detail="") for one in shown),
            group=f"beside {base}",
            arm=result.arm,
        )
        for result in step.cells
        if result.arm != base
    ]
    columns = Column.heads("arm", *(Column(text=one.name, title=_hover(one)) for one in shown))
    return Table(
        name=f"{prefix}-metrics",
        title="Published metrics",
        look="wide",
        explained=True,
        columns=columns,
        rows=tuple(rows),
        note=cells.sentences(
            "Geometric means of the blocks beside ratios, arithmetic ones beside differences, "
            "which have a sign."
            if step.blocks > 1
            else "",
            "docs/metrics.md explains each column.",
        ),
    )


def _value_cell(step: StepComparison, result: Cell, one: metric.Metric) -> TableCell:
    text = cells.figure(step, result, one.name)
    return TableCell(text=cells.signed(text, cells.value_bound(step, result, one.name)))


def _hover(one: metric.Metric) -> str:
    unit = f" ({one.unit})" if one.unit else ""
    return f"{one.title}{unit}: {one.how}"


def _ours(step: StepComparison, base: str, prefix: str) -> Table | None:
    """The other metrics, a row each, grouped by what they tell.

    Devices have their own table, and what a canary shows of the machine is a doubt.
    """
    others = [
        one
        for one in metric.METRICS
        if not one.published
        and one.name not in device.NAMES
        and not one.name.startswith("canary")
        and any(result.metrics.get(one.name) is not None for result in step.cells)
    ]
    if not others:
        return None
    groups = [group for group, _ in _GROUPS] + ["Other"]
    others.sort(key=lambda one: groups.index(_group(one.name)))
    compared = [result for result in step.cells if result.arm != base]
    rows = tuple(
        Row.of(
            TableCell(text=other.title, title=f"{other.name}: {other.how}"),
            other.unit,
            *(_value_cell(step, result, other) for result in step.cells),
            *(cells.estimate_cell(step, result, other.name) for result in compared),
            group=_group(other.name),
        )
        for other in others
    )
    # Why profiled arms lack hardware counters, or some.
    profiles = (run.profile for run in step.runs)
    uncounted = dict.fromkeys(each.no_counters for each in profiles if each and each.no_counters)
    columns = Column.heads(
        "metric",
        *Column.words("unit"),
        *Column.under("of the blocks", *(result.arm for result in step.cells)),
        *Column.under(f"beside {base}", *(result.arm for result in compared)),
    )
    return Table(
        name=f"{prefix}-more",
        title="More metrics",
        depth="detail",
        look="inline",
        joins=f"{prefix}-cost",
        columns=columns,
        rows=rows,
        note=f"Hardware counters: {'; '.join(uncounted)}." if uncounted else "",
    )


def _group(name: str) -> str:
    of = (
        group
        for group, starts in _GROUPS
        if name.startswith(starts) or ("cpu" in starts and "cpu" in name)
    )
    return next(of, "Other")


SECTION = Section.grouped(
    "step",
    lambda subject: tables(subject.step, subject.base, subject.anchor),
    Group(name="-metrics-part", entry="metrics", click="Published metrics"),
)
