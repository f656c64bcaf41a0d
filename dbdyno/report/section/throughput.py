"""One step of a report: bars, metrics, response times, charts, costs, and what went wrong."""

from __future__ import annotations

from collections.abc import Iterable

from dbdyno.model import Cell as Result
from dbdyno.model import StepComparison, StepRun
from dbdyno.report import cells, number
from dbdyno.report.parts import Bar, Section
from dbdyno.report.section import (
    fairness,
    metrics,
    notices,
    over_time,
    response_times,
    state,
    statements,
    steps,
    time_ledger,
    waits,
    why,
)
from dbdyno.report.section import targets as target
from dbdyno.report.section.cost_by_owner import cost_tables


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
        notices=tuple(notices.words(step)),
        bars=tuple(_bars(step, base)),
        bars_title=f"{steps.counted(step)} per second".capitalize(),
        metrics=tuple(metrics.tables(step, base, name)),
        response=tuple(response_times.tables(step, name)),
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
    words = [steps.counted(step) + (" per second" if step.headline else "")]
    target = next((run.sla_target for run in runs if run.sla_target is not None), None)
    if target is not None:
        words.append(f"beside {number.number(target)} rows inserted/s")
    lengths = [run.seconds for run in runs if run.seconds is not None]
    if lengths:
        words.append(f"window {number.seconds(min(lengths), max(lengths))}")
    if fairness.never_stalled(step):
        words.append("no role stalled")
    return ", ".join(words)


# --- Bars ------------------------------------------------------------------------------------


def _bars(step: StepComparison, base: str) -> Iterable[Bar]:
    """Throughput to scale, from zero; each block's own value beside the mean."""
    if step.headline is None:
        return
    values = {result.arm: _block_values(result) for result in step.cells}
    means = [result.value for result in step.cells if result.value is not None]
    largest = max([*means, *(value for some in values.values() for value in some)], default=0.0)
    for result in step.cells:
        cell = cells.absolute_cell(result, "gray" if cells.missed_target(result) else "")
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
    spread = cells.ratio_detail(result, 3)
    text = cells.signed(f"{number.TIMES} {number.ratio(result.ratio.value, 3)}", result.ratio_bound)
    return f"{text} ({spread})" if spread else text


# --- Metrics ---------------------------------------------------------------------------------


# --- Response times --------------------------------------------------------------------------
