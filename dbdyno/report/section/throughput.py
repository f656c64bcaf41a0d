"""One step of a report: bars, metrics, response times, charts, costs, and what went wrong."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from dbdyno.model import Cell as Result
from dbdyno.model import ResponseTimes, StepComparison, StepRun, metric
from dbdyno.report import bound, number
from dbdyno.report.parts import Bar, Cell, Column, Row, Section, Table, Tone
from dbdyno.report.section import (
    fairness,
    over_time,
    setup,
    state,
    statements,
    summary,
    time_ledger,
    waits,
    why,
)
from dbdyno.report.section import targets as target
from dbdyno.report.section.cost_by_owner import cost_tables
from dbdyno.report.section.cost_per_operation import ratio_cell

BUCKETS = ("256us", "1ms", "4ms", "16ms", "64ms", "256ms", "1s", "4s", "16s", ">16s")
KINDS = ("query", "insert", "delete")

_RESPONSE = ("dps", "response", "service", "late", "lag", "queue", "backlog", "retries", "errors")
_COUNTED = ("tps", "scan", "statements", "control", "rows_ps", "found")
_LEDGER = ("connection_us", "runnable", "wait_", "client_us", "unaccounted")
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
        "Writes",
        (
            *("wpq", "wkbpq", "wal", "binlog", "fpi", "pages_written", "doublewrite", "fsync"),
            *("log_fsync", "checkpoint", "autovacuum", "dead", "history", "dirty"),
        ),
    ),
    ("The machine, idle, before and after", ("canary",)),
)


def worth_showing(step: StepComparison) -> bool:
    """Measured steps, and any other that did not end well."""
    runs = [run for result in step.cells for run in result.runs]
    return any(run.measured or run.status != "ok" for run in runs)


def make(step: StepComparison, base: str, prefix: str) -> Section:
    """The section of one step."""
    name = f"{prefix}-{step.ordinal:02}-{''.join(c if c.isalnum() else '-' for c in step.step)}"
    charts = tuple(over_time.charts(step, name))
    clients = tuple(over_time.client_charts(step, name))
    spent = time_ledger.table(step, base, name)
    return Section(
        name=name,
        title=step.step,
        subtitle=_subtitle(step),
        notices=tuple(_notices(step)),
        bars=tuple(_bars(step, base)),
        bars_title=f"{setup.counted(step)} per second".capitalize(),
        metrics=tuple(_metric_tables(step, base, name)),
        response=tuple(_response_tables(step, name)),
        charts=charts,
        charts_note=over_time.note(step, (*charts, *clients)),
        costs=tuple(cost_tables(step, base, name)),
        fairness=tuple(fairness.tables(step, name)),
        clients=clients,
        targets=tuple(target.tables(step, name)),
        state=tuple(state.tables(step, name)),
        statements=tuple(statements.tables(step, name)),
        why=tuple(why.findings(step)),
        ledger=() if spent is None else (spent,),
        waits=tuple(waits.tables(step, base, name)),
        stacks=tuple(waits.charts(step, name)),
        group=step.group or "",
    )


# --- Words -----------------------------------------------------------------------------------


def _runs(step: StepComparison) -> list[StepRun]:
    return [run for result in step.cells for run in result.runs]


def _subtitle(step: StepComparison) -> str:
    """What was counted, beside which load, for how long."""
    runs = _runs(step)
    words = [setup.counted(step) + (" per second" if step.headline else "")]
    target = next((run.sla_target for run in runs if run.sla_target is not None), None)
    if target is not None:
        words.append(f"beside {number.number(target)} rows inserted/s")
    lengths = [run.seconds for run in runs if run.seconds is not None]
    if lengths:
        words.append(f"window {number.seconds(min(lengths), max(lengths))}")
    if fairness.never_stalled(step):
        words.append("no role stalled")
    return ", ".join(words)


def _notices(step: StepComparison) -> list[str]:
    """Failures and skips, warnings, each once for several blocks; then what was not alike."""
    notices = []
    for result in step.cells:
        if not result.runs:
            notices.append(f"{result.arm}: not run")
        by_words: dict[str, list[int]] = {}
        for run in result.runs:
            if run.status != "ok":
                words = f"{run.status}: {run.reason or 'no reason recorded'}"
                by_words.setdefault(words, []).append(run.block)
            for warning in run.warnings:
                by_words.setdefault(warning, []).append(run.block)
        notices += [
            f"{result.arm}, {_blocks(blocks)}: {words}" for words, blocks in by_words.items()
        ]
    return [*notices, *step.notices]


def _blocks(blocks: Sequence[int]) -> str:
    return f"block{'s' if len(blocks) > 1 else ''} {', '.join(map(str, blocks))}"


# --- Bars ------------------------------------------------------------------------------------


def _bars(step: StepComparison, base: str) -> Iterable[Bar]:
    """Throughput to scale, from zero; each block's own value beside the mean."""
    if step.headline is None:
        return
    values = {result.arm: _block_values(result) for result in step.cells}
    means = [result.value for result in step.cells if result.value is not None]
    largest = max([*means, *(value for some in values.values() for value in some)], default=0.0)
    for result in step.cells:
        cell = summary.absolute_cell(result, "gray" if summary.missed_target(result) else "")
        drawn = result.value is not None and largest > 0
        yield Bar(
            arm=result.arm,
            text=cell.text + cell.mark,
            share=(result.value or 0.0) / largest if drawn else None,
            blocks=tuple(value / largest for value in values[result.arm]) if drawn else (),
            detail=_bar_detail(result, base),
            ratio=None if result.arm == base else result.ratio,
            tone=cell.tone,
            title=cell.title,
        )


def _block_values(result: Result) -> list[float]:
    found = (run.metrics.get(run.headline) for run in result.runs if run.headline is not None)
    return [value for value in found if value is not None]


def _bar_detail(result: Result, base: str) -> str:
    if result.arm == base or result.ratio is None:
        return ""
    spread = summary.ratio_detail(result, 3)
    text = bound.signed(f"{number.TIMES} {number.ratio(result.ratio.value, 3)}", result.ratio_bound)
    return f"{text} ({spread})" if spread else text


# --- Metrics ---------------------------------------------------------------------------------


def _metric_tables(step: StepComparison, base: str, prefix: str) -> Iterable[Table]:
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
        Row(
            cells=(
                Cell(text=result.arm),
                *(_value_cell(step, result, one) for one in shown),
            ),
            arm=result.arm,
        )
        for result in step.cells
    ]
    rows += [
        Row(
            cells=(Cell(text=result.arm), *(ratio_cell(step, result, one.name) for one in shown)),
            group=f"divided by {base}",
            arm=result.arm,
        )
        for result in step.cells
        if result.arm != base
    ]
    columns = (
        Column(text="arm", left=True),
        *(Column(text=one.name, title=_hover(one)) for one in shown),
    )
    return Table(
        name=f"{prefix}-metrics",
        title="Published metrics",
        columns=columns,
        rows=tuple(rows),
        note=_means(step) + "docs/metrics.md says what each column is.",
    )


def _means(step: StepComparison) -> str:
    """Which means stand here, as they are not those of the throughput; nothing for one block."""
    if max((len(result.runs) for result in step.cells), default=0) <= 1:
        return ""
    return (
        "Arithmetic means of the blocks (throughput has the geometric one); ratios are geometric "
        "means of the blocks' own. "
    )


def _value_cell(step: StepComparison, result: Result, one: metric.Metric) -> Cell:
    """A metric's value, with the digits that it has for every arm."""
    values = [other.metrics.get(one.name) for other in step.cells]
    digits = number.digits_alike(values, one.digits)
    text = number.number(result.metrics.get(one.name), digits)
    return Cell(text=bound.signed(text, result.value_bound) if one.name == step.headline else text)


def _hover(one: metric.Metric) -> str:
    unit = f" ({one.unit})" if one.unit else ""
    return f"{one.title}{unit}: {one.how}"


def _ours(step: StepComparison, base: str, prefix: str) -> Table | None:
    """The other metrics, a row each, grouped by what they tell."""
    others = [
        one
        for one in metric.METRICS
        if not one.published
        and any(result.metrics.get(one.name) is not None for result in step.cells)
    ]
    if not others:
        return None
    groups = [group for group, _ in _GROUPS] + ["Other"]
    others.sort(key=lambda one: groups.index(_group(one.name)))
    compared = [result for result in step.cells if result.arm != base]
    rows = tuple(
        Row(
            cells=(
                Cell(text=one.title, title=f"{one.name}: {one.how}"),
                Cell(text=one.unit),
                *(_value_cell(step, result, one) for result in step.cells),
                *(_detailed_ratio(step, result, one.name) for result in compared),
            ),
            group=_group(one.name),
        )
        for one in others
    )
    columns = (
        Column(text="metric", left=True),
        Column(text="unit", left=True),
        *(Column(text=result.arm, group="mean of the blocks") for result in step.cells),
        *(Column(text=result.arm, group=f"divided by {base}") for result in compared),
    )
    return Table(name=f"{prefix}-more", title="More metrics", columns=columns, rows=rows)


def _group(name: str) -> str:
    return next((group for group, starts in _GROUPS if _fits(name, starts)), "Other")


def _fits(name: str, starts: tuple[str, ...]) -> bool:
    return name.startswith(starts) or ("cpu" in starts and "cpu" in name and "canary" not in name)


def _detailed_ratio(step: StepComparison, result: Result, name: str) -> Cell:
    cell = ratio_cell(step, result, name)
    paired = result.ratios.get(name)
    if paired is None:
        return cell
    return Cell(text=cell.text, detail=number.interval(paired.low, paired.high), title=cell.title)


# --- Response times --------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Timed:
    """From which moment on times are taken, and how their tables are headed."""

    title: str
    name: str
    since: str
    by_kind: Callable[[StepRun], Mapping[str, ResponseTimes]]
    by_operation: Callable[[StepRun], Mapping[str, ResponseTimes]]


_SERVICE = _Timed(
    title="Service time",
    name="service",
    since="From when an operation was sent to when it was answered, as published.",
    by_kind=lambda run: run.service,
    by_operation=lambda run: run.operations_service,
)
_RESPONSES = _Timed(
    title="Response time",
    name="response",
    since="From when an operation was due to when it was answered: with what it waited for those "
    "before it.",
    by_kind=lambda run: run.response,
    by_operation=lambda run: run.operations,
)


def _response_tables(step: StepComparison, prefix: str) -> Iterable[Table]:
    """Service times, as published; then response times of what is due by a schedule.

    In a closed loop the two are alike. Results that have no service times have the latter of all.
    """
    runs = _runs(step)
    if not any(run.service or run.operations_service for run in runs):
        yield from _times_tables(step, prefix, _RESPONSES, lambda _: True)
        return
    paced = {name for run in runs for name in run.paced}
    yield from _times_tables(step, prefix, _SERVICE, lambda _: True)
    yield from _times_tables(step, prefix, _RESPONSES, paced.__contains__)


def _times_tables(
    step: StepComparison, prefix: str, timed: _Timed, wanted: Callable[[str], bool]
) -> Iterable[Table]:
    """Rows for each kind; where a kind has several operations another table with each of them."""
    runs = _runs(step)
    kinds: list[Row] = []
    for kind in KINDS:
        if wanted(kind) and any(kind in timed.by_kind(run) for run in runs):
            kinds += _response_rows(step, kind, timed.by_kind)
    names = dict.fromkeys(
        name for run in runs for name in timed.by_operation(run) if name not in KINDS
    )
    operations: list[Row] = []
    if len(names) > 1 or not kinds:
        for name in filter(wanted, names):
            operations += _response_rows(step, name, timed.by_operation)
    if kinds:
        yield _response_table(f"{prefix}-{timed.name}-times", timed.title, kinds, timed)
    if operations:
        name = f"{prefix}-{timed.name}-operation-times"
        yield _response_table(name, f"{timed.title} of each operation", operations, timed)


def _response_table(name: str, title: str, rows: Sequence[Row], timed: _Timed) -> Table:
    group = timed.title.lower()
    columns = (
        Column(text="arm", left=True),
        *(Column(text=text, group="percent of responses, each bucket up to") for text in BUCKETS),
        *(Column(text=text, group=group) for text, _ in _PERCENTILES),
        Column(text="max", group=group),
    )
    return Table(
        name=name,
        title=title,
        columns=columns,
        rows=tuple(rows),
        note="All clients and blocks together; a percentile is the geometric mean of the blocks'. "
        + timed.since,
    )


def merged(parts: Sequence[ResponseTimes]) -> ResponseTimes:
    """Response times of several blocks as one: counts added, the largest maximum.

    A percentile is the geometric mean of the blocks' percentiles (the datum that is compared is
    the logarithm of a run's percentile); `parts` must not be empty.
    """
    return ResponseTimes(
        count=sum(part.count for part in parts),
        buckets=tuple(
            sum(column) for column in zip(*(part.buckets for part in parts), strict=True)
        ),
        p50_us=_mean([part.p50_us for part in parts]),
        p90_us=_mean([part.p90_us for part in parts]),
        p99_us=_mean([part.p99_us for part in parts]),
        p999_us=_mean([part.p999_us for part in parts]),
        max_us=max(part.max_us for part in parts),
    )


def _mean(values: Sequence[float]) -> float:
    if min(values) <= 0:
        return sum(values) / len(values)
    return math.exp(math.fsum(math.log(value) for value in values) / len(values))


_PERCENTILES: tuple[tuple[str, Callable[[ResponseTimes], float]], ...] = (
    ("p50", lambda times: times.p50_us),
    ("p90", lambda times: times.p90_us),
    ("p99", lambda times: times.p99_us),
    ("p99.9", lambda times: times.p999_us),
)


def _response_rows(
    step: StepComparison, group: str, of: Callable[[StepRun], Mapping[str, ResponseTimes]]
) -> list[Row]:
    """Percent of responses in the ten published buckets, percentiles, and the longest, by arm."""
    by_arm = {
        result.arm: [times for run in result.runs if (times := of(run).get(group)) is not None]
        for result in step.cells
    }
    whole = {arm: merged(parts) for arm, parts in by_arm.items() if parts}
    longest = [times.max_us for times in whole.values()]
    return [_bucket_row(result, whole.get(result.arm), longest, group) for result in step.cells]


def _bucket_row(
    result: Result, times: ResponseTimes | None, longest: Sequence[int], group: str
) -> Row:
    head = Cell(text=result.arm)
    if times is None or times.count == 0:
        nothing = Cell(text=summary.words_for_nothing(result), tone="failed")
        blank = Cell(text="")
        cells = (head, nothing, *[blank] * (len(BUCKETS) + len(_PERCENTILES)))
        return Row(cells=cells, group=group, arm=result.arm)
    total = sum(times.buckets) or 1
    shares = [
        Cell(
            text=number.share(count / total),
            shade=round(100 * count / total / 5),
            title=f"{count:,} of {total:,}",
        )
        for count in times.buckets
    ]
    percentiles = [Cell(text=number.time_us(of(times))) for _, of in _PERCENTILES]
    slowest = Cell(text=number.time_us(times.max_us), tone=longest_tone(times.max_us, longest))
    return Row(cells=(head, *shares, *percentiles, slowest), group=group, arm=result.arm)


def longest_tone(value: float, all_values: Sequence[float]) -> Tone:
    """Colour of a longest response time: red in the longest quarter, green in the shortest.

    Neither where the shortest is at least 0.8 of the longest: the published legend leaves out red
    then, the published code green, and both say that such values are alike.
    """
    low, high = min(all_values), max(all_values)
    if low >= 0.8 * high:
        return ""
    quarter = (high - low) / 4
    return "red" if value >= high - quarter else "green" if value <= low + quarter else ""
