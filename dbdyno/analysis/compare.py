"""All runs of a result folder side by side: means, and ratios to the base paired by block.

Only complete blocks are judged; void and unfinished ones are named. A step that failed or missed
its target is a result: it stays, with its words, and never falls out in favour of its arm.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from dbdyno import metric, stats
from dbdyno.analysis import damage, doubt, gather, kept, limit, uneven
from dbdyno.analysis.across import across
from dbdyno.analysis.damage import Damage
from dbdyno.analysis.paired import by_block, ratio
from dbdyno.error import ResultError
from dbdyno.model import Cell, Comparison, Json, StepComparison, StepRun
from dbdyno.store import BlockFolder, Results

Key = tuple[str, int, str]  # workload, ordinal, step


def load(source: Results | Path, base: str | None = None) -> Comparison:
    """Everything that a report shows of a result folder; `base`: in place of the plan's.

    Raises ResultError where the folder is none, is damaged, or has no such arm.
    """
    results = source if isinstance(source, Results) else Results.open(source)
    plan = results.plan
    arms = _arms(plan, base)
    judged = [block for block in results.blocks() if block.state == "done"]
    folders = [step for block in judged for run in block.runs() for step in run.steps()]
    derived = damage.named(folders, gather.step_runs(folders, results.shelf()))
    lost = Damage(results.folder)
    copies = kept.read(judged, lost)
    runs = _complete(judged, derived, copies)
    servers = _servers(judged, arms, derived, lost)
    _blocks_damage(judged, lost)
    host, generator = lost.usable(results.host), lost.usable(results.generator)
    if host is None and judged and not any(line.startswith("host.json") for line in lost.lines):
        lost.say("host.json: is missing; restore it from a copy")
    last = {arm: its[-1] for arm, its in servers.items() if its}
    steps = _steps(plan, arms, runs)
    return Comparison(
        title=_title(plan, arms),
        label=plan.get("label"),
        base=arms[0],
        arms=arms,
        blocks=len(judged),
        void_blocks=tuple(
            f"{block.name}: {block.reason}" for block in results.blocks() if block.state == "void"
        ),
        host=host or {},
        generator=generator,
        servers=last,
        plan=plan,
        steps=steps,
        across=across(steps),
        differences=doubt.differences([arm for arm in arms if arm in last], last, plan),
        warnings=(
            *damage.of_steps(derived),
            *(f"{damage.PREFIX}{line}" for line in lost.lines),
            *doubt.warnings(arms, runs, servers, _boot_ids(judged)),
            *kept.notes(copies),
        ),
        incomplete=_incomplete(results, arms),
    )


def to_json(comparison: Comparison) -> str:
    """The comparison as JSON, without the per-second series (they are in the result folder)."""
    value = asdict(comparison)
    for step in value["steps"]:
        for cell in step["cells"]:
            for run in cell["runs"]:
                del run["series"]
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False)


# --- What there is ---------------------------------------------------------------------------


def _arms(plan: Json, base: str | None) -> tuple[str, ...]:
    """The arms' names, the base first."""
    names = [arm["name"] for arm in plan["arms"]]
    first = base or plan["base"]
    if first not in names:
        raise ResultError(f"there is no arm `{first}` in this result; it has {', '.join(names)}")
    return (first, *(name for name in names if name != first))


def _title(plan: Json, arms: Sequence[str]) -> str:
    if len(arms) == 1:
        return str(plan["name"])
    return f"{plan['name']}: {' and '.join(arms[1:])} against {arms[0]}"


def _complete(
    judged: Sequence[BlockFolder], runs: list[StepRun], copies: kept.Kept
) -> list[StepRun]:
    """The runs, with a skipped one for each step that a run of a judged block lacks.

    A run that began with a golden copy does not lack the steps before it.
    """
    known = {(run.block, run.arm, _key(run)) for run in runs}
    examples = {_key(run): run for run in runs}
    missing = [
        _never_run(examples[key], arm, block.number)
        for block in judged
        for arm in block.arms()
        for key in examples
        if (block.number, arm, key) not in known
        and key[1] > kept.begins_after(copies, (key[0], block.number, arm))
    ]
    return sorted([*runs, *missing], key=lambda run: run.block)


def _never_run(example: StepRun, arm: str, block: int) -> StepRun:
    return StepRun(
        workload=example.workload,
        arm=arm,
        block=block,
        ordinal=example.ordinal,
        step=example.step,
        measured=example.measured,
        status="skipped",
        reason="the run ended before this step",
        headline=example.headline,
        sla_target=example.sla_target,
        extent=example.extent,
        group=example.group,
    )


def _key(run: StepRun) -> Key:
    return run.workload, run.ordinal, run.step


def _servers(
    judged: Sequence[BlockFolder], arms: Sequence[str], runs: Sequence[StepRun], lost: Damage
) -> dict[str, list[Json]]:
    """Each arm's server.json by block; says which one there should be and is not."""
    found: dict[str, list[Json]] = {arm: [] for arm in arms}
    ran = {(run.block, run.arm) for run in runs if run.status == "ok"}
    for block in judged:
        for run in block.runs():
            known = len(lost.lines)
            server = lost.usable(run.server)
            if server is not None and run.arm in found:
                found[run.arm].append(server)
            elif len(lost.lines) == known and (run.block, run.arm) in ran:
                lost.say(f"{run.path}/server.json: is missing; restore it from a copy")
    return found


def _blocks_damage(judged: Sequence[BlockFolder], lost: Damage) -> None:
    """Says which blocks lack their order, or a run that their order names."""
    for block in judged:
        text = block.damage()
        if text is not None:
            lost.say(f"{text}; its arms are taken from the plan, their order is not known")
        for arm in set(block.arms()) - {run.arm for run in block.runs()}:
            lost.say(f"{block.path}: has no folder of the arm `{arm}`; restore it from a copy")


def _boot_ids(judged: Sequence[BlockFolder]) -> list[str]:
    """The boots of the machine in which the blocks were measured, as far as they say it."""
    found = [block.order().get("boot_id") for block in judged]
    return [boot_id for boot_id in found if boot_id is not None]


def _incomplete(results: Results, arms: Sequence[str]) -> str | None:
    """How much of the plan is done, in words; None where all of it is."""
    planned = results.plan["blocks"]
    blocks = results.blocks()
    done = [b for b in blocks if b.state == "done" and set(arms) <= set(b.arms())]
    if len(done) >= planned:
        return None
    text = f"{len(done)} of {planned} blocks done"
    broken = [block.name for block in blocks if block.state == "broken"]
    return f"{text}, {', '.join(broken)} begun and not ended" if broken else text


# --- Side by side ----------------------------------------------------------------------------


def _steps(plan: Json, arms: Sequence[str], runs: Sequence[StepRun]) -> tuple[StepComparison, ...]:
    """The steps in the order in which they run, all arms in each."""
    workloads = [use.get("folder", use["name"]) for use in plan.get("workloads", [])]

    def place(key: Key) -> tuple[int, Key]:
        known = key[0] in workloads
        return (workloads.index(key[0]) if known else len(workloads), key)

    by_key: dict[Key, list[StepRun]] = {}
    for run in runs:
        by_key.setdefault(_key(run), []).append(run)
    return tuple(_step(key, arms, by_key[key]) for key in sorted(by_key, key=place))


def _step(key: Key, arms: Sequence[str], runs: Sequence[StepRun]) -> StepComparison:
    workload, ordinal, step = key
    by_arm = {arm: tuple(run for run in runs if run.arm == arm) for arm in arms}
    cells = tuple(_cell(arm, by_arm[arm], by_arm[arms[0]]) for arm in arms)
    return StepComparison(
        workload=workload,
        ordinal=ordinal,
        step=step,
        headline=runs[0].headline,
        group=next((run.group for run in runs if run.group is not None), None),
        cells=cells,
        notices=uneven.notices(cells),
    )


def _cell(arm: str, runs: tuple[StepRun, ...], base: tuple[StepRun, ...]) -> Cell:
    headline = next((run.headline for run in runs), None)
    values = list(by_block(runs, headline).values()) if headline is not None else []
    ratios = {name: ratio(base, runs, name) for name in _names(runs)}
    known = {name: value for name, value in ratios.items() if value is not None}
    targets = any(run.sla_target is not None for run in runs)
    return Cell(
        arm=arm,
        runs=runs,
        value=stats.geometric_mean(values) if values else None,
        value_bound=limit.value_bound(runs),
        ratio=known.get(headline) if headline is not None else None,
        ratio_bound=limit.ratio_bound(base, runs),
        sla_met=sum(run.sla_met is True for run in runs) if targets else None,
        metrics={name: _mean(by_block(runs, name)) for name in _names(runs)},
        ratios=known,
    )


def _names(runs: Sequence[StepRun]) -> list[str]:
    """The metrics that a run may have, in the table's order."""
    return [row.name for row in metric.METRICS] if any(run.metrics for run in runs) else []


def _mean(values: Mapping[int, float]) -> float | None:
    return sum(values.values()) / len(values) if values else None
