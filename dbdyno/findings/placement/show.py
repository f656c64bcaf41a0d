"""A step's changes in microseconds of an operation, and of one that is placed freely.

With sessions beside their clients nothing has to be woken on another processor, so an operation
costs less, and a change of the server is a larger share of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from dbdyno.model import Cell
from dbdyno.model.metric.primary import TIME, called, is_cpu
from dbdyno.model.placement import PlacementTrial, freely
from dbdyno.model.verdict import Judgement
from dbdyno.parts import number
from dbdyno.parts.part import Finding, Section, Subject, Text


def _parts(subject: Subject) -> Iterable[Text]:
    schedule, (base, *others) = subject.comparison.plan.schedule, subject.step.cells
    lines = [
        words(cell, base, judgement, schedule.placement_trial)
        for cell in others
        if schedule.placement == "together" and cell.verdict is not None
        for judgement in cell.verdict.judgements
    ]
    if items := tuple(Finding(text=line) for line in lines if line):
        title = "In microseconds of an operation"
        yield Text(name=f"{subject.anchor}-placement", title=title, items=items)


SECTION = Section("step", _parts)


def words(cell: Cell, base: Cell, of: Judgement, trial: PlacementTrial | None) -> str:
    """A change of an arm in a metric: its microseconds, then its share of a freely placed one.

    Nothing where the base's cost or the change has no figure.
    """
    cost_us = base.metrics.get(of.metric if is_cpu(of.metric) else TIME)
    ratio, low, high = of.told
    if not cost_us or not of.blocks or ratio <= 0:
        return ""
    ends = [end for end in (low, high) if end is not None and end > 0]
    costs = [ratio, *ends]
    if not is_cpu(of.metric) and called(of.metric) == "throughput":
        costs = [1 / ratio, *(1 / end for end in reversed(ends))]
    more_us = [number.difference(cost_us * cost, cost_us, 2) for cost in costs]
    what = "CPU" if is_cpu(of.metric) else "time"
    line = f"{cell.arm}: {_with_interval(more_us, 'µs')} of an operation's {what}"
    if trial is None:
        return line
    convert = partial(freely, cost_us=cost_us, wake_us=trial.wake_us(cpu=is_cpu(of.metric)))
    shares = [number.change(convert(cost)).removesuffix(" %") for cost in costs]
    return f"{line}, {_with_interval(shares, '%')} of one that is placed freely"


def _with_interval(figures: list[str], unit: str) -> str:
    """A figure with its interval, where it has one."""
    first, *ends = figures
    return f"{first} {unit}" + (f" [{', '.join(ends)}]" if len(ends) > 1 else "")
