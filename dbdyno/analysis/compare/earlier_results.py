"""Priors from earlier results of the same host, for the only step of a new one.

They lie beside it in one parent folder. Each comparison is one unit: of a calibration there are
several, of any other result one. Such as compare the base with itself come first.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dbdyno.analysis.compare import arms_and_blocks, calibration, pairing, step_cells
from dbdyno.analysis.compare.arm_vs_base import Contest, contest
from dbdyno.analysis.compare.turn_scatter import by_turns
from dbdyno.analysis.step import collect, damaged_files
from dbdyno.doctor import stable_facts
from dbdyno.model import Json, Step
from dbdyno.model.error import ResultError
from dbdyno.model.host_prior import IN_TURNS, Prior
from dbdyno.stats import host_prior, interval
from dbdyno.stats.host_prior import RESULTS_MIN, Earlier
from dbdyno.store import Results, StepFolder

BLOCKS_MIN = 3
"""A comparison of two tells nothing of how blocks scatter."""


def prior(results: Results, step: Step) -> Prior | None:
    """The prior of `step`, the only one judged, from the results beside this one.

    They fit where processor, kernel and memory, interleaving, slices and the step's whole job, with
    its window, are the same. None where fewer than RESULTS_MIN comparisons do. A folder that is
    damaged lends nothing.
    """
    if results.plan["schedule"].get("interleave") != IN_TURNS:
        return None
    found = [
        one
        for other in results.beside()
        if _is_alike(other, results)
        for one in _comparisons(other, step)
    ]
    same = [one for one in found if one.same]
    its = same if len(same) >= RESULTS_MIN else found
    names = dict.fromkeys(name for one in its for name in one.metrics)
    fitted = {
        name: host_prior.fit([one.metrics[name] for one in its if name in one.metrics])
        for name in names
    }
    metrics = {name: one for name, one in fitted.items() if one is not None}
    if not metrics:
        return None
    return Prior(
        workload=step.workload,
        step=step.name,
        folders=tuple(dict.fromkeys(one.folder for one in its)),
        metrics=metrics,
    )


def _is_alike(other: Results, own: Results) -> bool:
    """Whether it was measured on this host, in the same turns."""
    schedules = [one.plan.get("schedule") or {} for one in (other, own)]
    turns = [(one.get("interleave"), one.get("slice_s")) for one in schedules]
    try:
        here = own.host()
    except ResultError:
        return False
    return turns[0] == turns[1] and here is not None and is_of_machine(other, here)


def is_of_machine(results: Results, host: Json) -> bool:
    """Whether all of it was measured on the machine of these facts; not where they are damaged."""
    try:
        named = results.hosts()
        nodes = dict.fromkeys(block.host for block in results.blocks() if block.host)
        its = [results.host(), *results.earlier_hosts(), *map(named.get, nodes)]
    except ResultError:
        return False
    machine = stable_facts.machine(host)
    return all(one is not None and stable_facts.machine(one) == machine for one in its)


@dataclass(frozen=True, kw_only=True)
class _Compared:
    """One earlier comparison of a step."""

    folder: str
    same: bool  # the base with itself
    metrics: Mapping[str, Earlier]


def _comparisons(results: Results, step: Step) -> Sequence[_Compared]:
    """The comparisons of a result, of one arm: its ghost, or the first beside the base."""
    try:
        arms = arms_and_blocks.arms(results.plan, None)
        one = _contest(results, step, arms)
        if one is None:
            return ()
        groups = calibration.comparisons([one], arms_and_blocks.blocks_each(results.plan))
    except ResultError:
        return ()
    return [
        _Compared(
            folder=results.folder.name,
            same=arms.ghost is not None,
            metrics=dict(_metrics(one.within(blocks))),
        )
        for blocks in groups
        if len(blocks) >= BLOCKS_MIN
    ]


def _contest(results: Results, step: Step, arms: arms_and_blocks.Arms) -> Contest | None:
    """The arm beside the base in this very step; None where the result has it not."""
    its = arms_and_blocks.blocks(results)
    folders = [
        folder
        for block in its
        for run in block.runs()
        for folder in run.steps()
        if _is_step(folder.step(), step)
    ]
    of_base = [folder for folder in folders if folder.arm == arms.base]
    if len(arms.shown) < 2 or not of_base or not all(_has_job(one, step) for one in of_base):
        return None
    derived = damaged_files.named(folders, collect.step_runs(folders, results.shelf()))
    runs = pairing.placed(derived, arms_and_blocks.orders(its))
    rows = step_cells.rows(results.plan, arms, runs)
    if len(rows) != 1:
        # Several steps have one name: which of them is meant is not known
        return None
    return contest(rows[0].where, rows[0].faced[arms.ghost or arms.shown[1]])


def _is_step(written: Json, step: Step) -> bool:
    return bool(written["workload"] == step.workload and written["name"] == step.name)


def _has_job(folder: StepFolder, step: Step) -> bool:
    """Whether it ran the same job: statements, values, clients, pace, warm-up and seconds."""
    job = folder.job() or {}
    wanted = json.loads(json.dumps(step.job))
    return all(job.get(key) == value for key, value in wanted.items())


def _metrics(one: Contest) -> Iterator[tuple[str, Earlier]]:
    """The scatter of each primary metric that both had in all blocks."""
    for sample in one.samples(one.primary):
        spread, turns = interval.own_spread(sample.logs), by_turns(one, sample.metric)
        whole = len(sample.logs) == len(one.faced.runs) and sample.bound == "exact"
        if whole and spread is not None and turns is not None:
            yield (
                sample.metric,
                Earlier(variance=spread.sd**2, freedom=len(sample.logs) - 1, by_turns=turns),
            )
