"""The windows of searches apart from the steps that they belong to, and what each search found."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from dbdyno.model import StepRun
from dbdyno.model.find import FIND, METRIC
from dbdyno.model.sweep import P99
from dbdyno.stats import find
from dbdyno.stats.find import Probe

Searched = tuple[str, int, str, int, str]
"""Arm, block, workload, ordinal and name of a step."""


def with_searches(runs: Iterable[StepRun]) -> list[StepRun]:
    """The runs without the windows of searches, each with the rate that its own search found.

    Nothing is found where a window failed, or where none held.
    """
    own: list[StepRun] = []
    windows: dict[Searched, list[StepRun]] = {}
    for run in runs:
        if run.facts.probed is None:
            own.append(run)
        else:
            windows.setdefault(_place(run), []).append(run)
    return [_with_rate(run, windows) for run in own]


def _with_rate(run: StepRun, windows: Mapping[Searched, Sequence[StepRun]]) -> StepRun:
    window_runs = windows.get(_place(run))
    if window_runs is None:
        return run
    return replace(run, metrics={**run.metrics, METRIC: _found(window_runs)})


def _found(windows: Sequence[StepRun]) -> float | None:
    if any(run.ending.status != "ok" for run in windows):
        return None
    (closed_per_s,) = {run.facts.probed.closed_per_s for run in windows if run.facts.probed}
    return find.highest(closed_per_s, [_probe(run) for run in windows])


def _probe(run: StepRun) -> Probe:
    probed, p99_us = run.facts.probed, run.metrics.get(P99)
    assert probed is not None
    return Probe(probed.per_s, p99_us is not None and p99_us < probed.p99_below_us)


def _place(run: StepRun) -> Searched:
    facts = run.facts
    return run.arm, run.block, facts.workload, facts.ordinal, facts.step.partition(FIND)[0]
