"""An arm's figures in a step of one result: each metric over its blocks, from derived files."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from msgspec import Struct

from dbdyno.analysis.across import side
from dbdyno.analysis.across.side import Side
from dbdyno.analysis.across.work import Index, Trace
from dbdyno.analysis.step import collect
from dbdyno.model import Bound, Ending, Window, metric
from dbdyno.model.error import ResultError
from dbdyno.model.metric.over import geometric_mean
from dbdyno.model.metric.primary import CONNECTIONS_CPU, CPU, SESSIONS_CPU
from dbdyno.model.sweep import P99
from dbdyno.store import Shelf, StepFolder, code_version

COST = "cpu"
"""CPU by operation, whichever of its metrics a result has."""
RESPONSE = P99
"""The response time of the slowest hundredth."""
COSTS = (CONNECTIONS_CPU, CPU, SESSIONS_CPU)
"""Metrics that are COST, the first that a run has."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A metric of an arm in a step of one result."""

    value: float  # geometric mean of the blocks
    least: float  # of the blocks
    greatest: float
    blocks: int  # that have it


@dataclass(frozen=True, kw_only=True)
class Values:
    """The figures of an arm's blocks in a step."""

    figures: Mapping[str, Figure]  # of the headline's metric, COST and RESPONSE; only what is there
    failed: int  # blocks in which the step did not end well
    bound: Bound  # of the headline: the load generator may have been at its limit


class ExcerptReader(Protocol):
    """Reads what is needed of a result, so that who serves pages may keep it."""

    def values(self, index: Index, trace: Trace) -> Values | None:
        """An arm's figures in a step; None where its files are damaged."""

    def side(self, index: Index, arm: str) -> Side:
        """An arm as it ran. Raises KeyError where there is none."""


class Files:
    """A reader that keeps no figures."""

    @cached_property
    def _code(self) -> str | None:
        return code_version()

    def values(self, index: Index, trace: Trace) -> Values | None:
        """An arm's figures in a step; None where its files are damaged."""
        try:
            return read(trace, index.results.shelf(self._code))
        except ResultError:
            return None

    def side(self, index: Index, arm: str) -> Side:
        """An arm as it ran. Raises KeyError where there is none."""
        return side.of(index, arm)


def read(trace: Trace, shelf: Shelf | None) -> Values:
    """The metrics of a trace. Raises ResultError where files are damaged."""
    runs = [_excerpt(folder, shelf) for folder in trace.folders]
    well = [run for run in runs if run.ending.status == "ok"]
    by_name = {
        name: [value for run in well if (value := _value(run.metrics, name)) is not None]
        for name in (trace.work.headline, COST, RESPONSE)
    }
    return Values(
        figures={name: _figure(values) for name, values in by_name.items() if values},
        failed=len(runs) - len(well),
        bound=_bound(trace.work.headline, any(run.window.limited for run in well)),
    )


def title(name: str) -> str:
    """A metric of `Values` in words, with its unit."""
    shown = metric.by_name(CPU if name == COST else name)
    return f"{shown.title} ({shown.unit})"


def _bound(headline: str, limited: bool) -> Bound:
    """How a limited headline bounds the server's: a rate from below, a time from above."""
    if not limited:
        return "exact"
    return "at most" if metric.less_is_better(headline) else "at least"


class Excerpt(Struct, frozen=True):
    """What a history needs of a step, which is a hundredth of it."""

    ending: Ending
    window: Window
    metrics: Mapping[str, float | None]


class StoredExcerpt(Struct, frozen=True):
    """The same of a step that is kept (step.collect.StoredStep)."""

    run: Excerpt


def _excerpt(folder: StepFolder, shelf: Shelf | None) -> Excerpt:
    """A run as the shelf has it; derived where it has not."""
    kept = shelf.read(folder.path, StoredExcerpt) if shelf is not None else None
    if kept is not None:
        return kept.run
    (run,) = collect.step_runs([folder], shelf)
    return Excerpt(run.ending, run.window, run.metrics)


def _value(metrics: Mapping[str, float | None], name: str) -> float | None:
    names = COSTS if name == COST else (name,)
    return next((value for name in names if (value := metrics.get(name)) is not None), None)


def _figure(values: list[float]) -> Figure:
    return Figure(
        value=geometric_mean(values), least=min(values), greatest=max(values), blocks=len(values)
    )
