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
    of_run = windows.get(_place(run))
    return (
        run if of_run is None else replace(run, metrics={**run.metrics, METRIC: _highest(of_run)})
    )


def _highest(windows: Sequence[StepRun]) -> float | None:
    if any(run.ending.status != "ok" for run in windows):
        return None
    known = [
        (probed, run.metrics.get(P99))
        for run in windows
        if (probed := run.facts.probed) is not None
    ]
    (closed_per_s,) = {probed.closed_per_s for probed, _ in known}
    probes = [
        Probe(probed.per_s, p99_us is not None and p99_us < probed.p99_below_us)
        for probed, p99_us in known
    ]
    return find.highest(closed_per_s, probes)


def _place(run: StepRun) -> Searched:
    facts = run.facts
    return run.arm, run.block, facts.workload, facts.ordinal, facts.step.partition(FIND)[0]
