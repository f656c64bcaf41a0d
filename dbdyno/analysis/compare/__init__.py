"""All runs of a result folder side by side: read, completed, compared and judged.

Only complete blocks are judged; void and unfinished ones are named. A step that failed or missed
its target is a result: it stays, with its words, and never falls out in favour of its arm.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from dbdyno.analysis.compare import provider, void_blocks
from dbdyno.analysis.step import collect
from dbdyno.evidence import damaged_files
from dbdyno.evidence.damaged_files import Damage
from dbdyno.findings import plans
from dbdyno.findings.application import plan as application
from dbdyno.findings.application import restores
from dbdyno.findings.plan_finding import JudgedResult
from dbdyno.findings.work import plan as work
from dbdyno.judge import (
    arm_order,
    arms_and_blocks,
    choices,
    conclusions,
    cost_to_decide,
    differences,
    doubts,
    fills,
    find,
    golden_copies,
    host_changes,
    looks,
    nodes,
    pairing,
    step_cells,
    tampering,
    validity,
    witness,
)
from dbdyno.judge.arm_vs_base import StepKey
from dbdyno.model import Comparison, Ending, StepComparison, StepRun
from dbdyno.model.application import ApplicationFacts
from dbdyno.model.ceiling import Ceiling
from dbdyno.model.doubt import Doubt, DoubtSubject
from dbdyno.model.host_facts import HostFacts
from dbdyno.model.plan_record import PlanRecord
from dbdyno.model.query_change import QueryChanges
from dbdyno.model.server_facts import ServerFacts
from dbdyno.model.work import WorkComparison
from dbdyno.parts.number import ARMS_NAMED_MAX, listed
from dbdyno.store import BlockFolder, Results, checksums, safe_name
from dbdyno.store.checksums import Checksums
from dbdyno.store.folder import ANSWERS, PLAN_TREES

Source = Results | Path
READ_BESIDE = ("order.json", "server.json", "golden.json", ANSWERS, PLAN_TREES)
"""The files of a block that are read beside those of its steps."""


def load(source: Source, base: str | None = None, tolerate: float | None = None) -> Comparison:
    """All that reports show of a result folder, or ResultError; `base`, `tolerate`: other ones."""
    results = source if isinstance(source, Results) else Results.open(source)
    plan, lost = results.plan, Damage(results.folder)
    arms, aims = arms_and_blocks.arms(plan, base), plan.verdict.asking(tolerate)
    blocks = arms_and_blocks.blocks(results)
    derived, copies = _derived(results, blocks, lost), golden_copies.read(blocks, lost)
    orders, where = arms_and_blocks.orders(blocks, plan), nodes.of_blocks(blocks)
    runs = pairing.placed(_complete(blocks, find.with_searches(derived), copies, plan), orders)
    repeats = work.repeats(results)
    servers = _servers(blocks or repeats, arms.planned, derived, lost)
    host, hosts, about_hosts = _hosts(results, blocks, lost)
    counted = fills.of_result(results, arms.base, runs, copies, load)
    own = step_cells.rows(plan, arms, runs, counted.units)
    rows = arm_order.with_orders(own, blocks, arms, plan)
    compared = plans.derived(JudgedResult(results, plan, blocks, repeats, arms, aims, rows, lost))
    sights = _sights(results, blocks, arms.shown, lost)
    rules = conclusions.Rules(
        aims=aims,
        sights=sights,
        minutes=cost_to_decide.minutes_per_block(blocks, copies, lost),
        blocks_each=plan.schedule.comparison,
        nodes=where,
        plans=compared.of(QueryChanges).plans,
    )
    ended = conclusions.conclude(application.without_common_failures(rows, plan), arms, rules)
    steps = witness.with_counts(ended.steps, compared.of(WorkComparison))
    compared = plans.derived(replace(compared, steps=steps, judged=True))
    looked = looks.fewest([sights[arm].looked for arm in arms.shown[1:]])
    needed = _in_every_block(ended.steps, blocks, copies)
    incomplete = arms_and_blocks.incomplete(results, arms, looked, needed)
    return Comparison(
        folder=str(results.folder),
        title=_title(plan, arms.shown),
        label=plan.label,
        base=arms.base,
        arms=arms.shown,
        blocks=len(blocks),
        unverified=unverified(blocks),
        host=host,
        generator=lost.usable(results.generator),
        hosts=hosts,
        generators=_generators(results, hosts, lost),
        nodes=where,
        servers=(last := {arm: servers[arm][-1] for arm in arms.shown if servers[arm]}),
        plan=plan,
        steps=steps,
        design=plan.design,
        overall=ended.overall,
        calibration=ended.calibration,
        looked=looked,
        aims=aims,
        differences=differences.differences(list(last), last, plan.arms),
        one_fill=counted.alone,
        findings=compared.findings,
        doubts=doubts.groups(
            arms.shown,
            void_blocks.doubts(results, arms, ended.steps, incomplete),
            _about_blocks(results, blocks, derived, base, lost),
            doubts.of_steps(ended.steps, runs, plan.schedule.void, aims.margin),
            validity.doubts(arms.shown, runs, servers, _boot_ids(blocks)),
            counted.doubts,
            restores.doubts(compared.of(ApplicationFacts)),
            about_hosts,
            map(DoubtSubject.DAMAGED.doubt, lost.lines),
        ),
        incomplete=incomplete,
    )


def _derived(results: Results, blocks: Sequence[BlockFolder], lost: Damage) -> list[StepRun]:
    """The steps of these blocks, with what imported tables say of them."""
    folders = tampering.step_folders(blocks)
    runs = damaged_files.named(folders, collect.step_runs(folders, results.shelf()))
    runs = tampering.refused(results.plan, blocks, folders, runs)
    return lost.usable(partial(provider.with_imported, results, folders, runs)) or runs


def _about_blocks(
    results: Results,
    blocks: Sequence[BlockFolder],
    derived: Sequence[StepRun],
    base: str | None,
    lost: Damage,
) -> tuple[Doubt, ...]:
    """What measured the blocks, and what was chosen with them in sight."""
    _blocks_damage(blocks, lost)
    for text in lost.usable(lambda: list(tampering.edited(results, blocks))) or ():
        lost.say(text)
    level = results.plan.verdict.level
    chosen = lost.usable(lambda: tuple(choices.doubts(results, blocks, level, base))) or ()
    return *version_doubts(blocks, derived), *chosen


def _hosts(
    results: Results, blocks: Sequence[BlockFolder], lost: Damage
) -> tuple[HostFacts, Mapping[str, HostFacts], tuple[Doubt, ...]]:
    """The facts of this host and of those that have names, and what changed on them."""
    read = partial(lost.needed, file="host.json") if blocks else lost.usable
    host = read(results.host) or HostFacts()
    hosts = lost.usable(results.hosts) or {}
    return host, hosts, tuple(host_changes.of_result(results, blocks, {"": host} | hosts, lost))


def _sights(
    results: Results, blocks: Sequence[BlockFolder], arms: Sequence[str], lost: Damage
) -> dict[str, looks.ArmLooks]:
    """The looks at each arm."""
    written = lost.usable(results.looks)
    return {arm: looks.of_arm(written, blocks, arm) for arm in arms}


def _in_every_block(
    steps: Sequence[StepComparison], blocks: Sequence[BlockFolder], copies: golden_copies.Kept
) -> list[StepComparison]:
    """The steps that further blocks have: not those before the golden copy of the last one."""
    if not blocks:
        return list(steps)
    last = blocks[-1]
    return [
        step
        for step in steps
        if all(
            step.ordinal > golden_copies.begins_after(copies, (step.workload, last.number, arm))
            for arm in last.arms()
        )
    ]


# --- What there is ---------------------------------------------------------------------------


def _title(plan: PlanRecord, arms: Sequence[str]) -> str:
    if len(arms) == 1:
        return plan.name
    others = arms[1:]
    named = listed(others) if len(others) <= ARMS_NAMED_MAX else f"{len(others)} arms"
    return f"{plan.name}: {named} against {arms[0]}"


def _complete(
    judged: Sequence[BlockFolder], runs: list[StepRun], copies: golden_copies.Kept, plan: PlanRecord
) -> list[StepRun]:
    """The runs, with a skipped one for each step that a run of a judged block lacks.

    A run that began with a golden copy does not lack the steps before it, nor does a block that
    was to do only some steps lack the others, nor an arm those that it never does.
    """
    never = {arm.name: arm.leaves_out for arm in plan.arms}
    known = {(run.block, run.arm, StepKey.of(run)) for run in runs}
    examples = {StepKey.of(run): run for run in runs}
    missing = [
        _never_run(examples[where], arm, block.number, expected)
        for block in judged
        for only, expected in [(block.steps(), block.checksums() or {})]
        for arm in block.arms()
        for where in examples
        if (block.number, arm, where) not in known
        and where.ordinal > golden_copies.begins_after(copies, (where.workload, block.number, arm))
        and where.step not in never.get(arm, {}).get(where.workload, ())
        and (only is None or where.step in only.get(where.workload, ()))
    ]
    return sorted([*runs, *missing], key=lambda run: run.block)


def _never_run(example: StepRun, arm: str, block: int, expected: Checksums) -> StepRun:
    """The run of a step without files: it never was, or its files, which were `expected`, went."""
    step = example.facts
    name = f"{step.ordinal:02d}-{safe_name(step.step)}"
    place = f"{safe_name(arm)}/{safe_name(step.workload)}/{name}"
    if any(file.startswith(f"{place}/") for file in expected):
        text = f"blocks/{block:03d}/{place}: is missing; restore it from a copy"
        ending = Ending(status="failed", reason=text, damaged=True)
    else:
        ending = Ending(status="skipped", reason="the run ended before this step")
    return StepRun(facts=step, arm=arm, block=block, ending=ending)


def _servers(
    judged: Sequence[BlockFolder], arms: Sequence[str], runs: Sequence[StepRun], lost: Damage
) -> dict[str, list[ServerFacts]]:
    """Each arm's server.json by block; says which one there should be and is not."""
    servers: dict[str, list[ServerFacts]] = {arm: [] for arm in arms}
    ran = {(run.block, run.arm) for run in runs if run.ending.status == "ok"}
    for block in judged:
        for run in block.runs():
            there = (run.block, run.arm) in ran
            file = f"{run.path}/server.json"
            server = lost.needed(run.server, file) if there else lost.usable(run.server)
            if server is not None and run.arm in servers:
                servers[run.arm].append(server)
    return servers


def _blocks_damage(judged: Sequence[BlockFolder], lost: Damage) -> None:
    """Says which blocks lack their order, or a run that their order names."""
    for block in judged:
        _say_changed(block, lost)
        text = block.damage()
        if text is not None:
            lost.say(f"{text}; its arms are taken from the plan, their order is not known")
        for arm in set(block.arms()) - {run.arm for run in block.runs()}:
            lost.say(f"{block.path}: has no folder of the arm `{arm}`; restore it from a copy")


def _say_changed(block: BlockFolder, lost: Damage) -> None:
    """Says which files beside the steps' are not as they were when the block ended."""
    expected = block.checksums() or {}
    steps = [step.path.relative_to(block.path) for run in block.runs() for step in run.steps()]
    beside = {
        name: checksum
        for name, checksum in expected.items()
        if Path(name).name in READ_BESIDE and Path(name).parent not in steps
    }
    for damage in lost.usable(lambda: list(checksums.changed(block.path, beside))) or ():
        lost.say(f"{block.path}/{damage.name}: {damage.text}")


def _generators(results: Results, hosts: Iterable[str], lost: Damage) -> dict[str, Ceiling]:
    """What the load generator can do on each named host where it was measured."""
    ceilings = {name: lost.usable(partial(results.generator_of, name)) for name in hosts}
    return {name: ceiling for name, ceiling in ceilings.items() if ceiling is not None}


def _boot_ids(judged: Sequence[BlockFolder]) -> dict[str | None, list[str]]:
    """By host the boots in which its blocks were measured, as far as they say it."""
    boot_ids: dict[str | None, list[str]] = {}
    for block in judged:
        order = block.order()
        if order is not None and order.boot_id is not None:
            boot_ids.setdefault(block.host, []).append(order.boot_id)
    return boot_ids


# --- Blocks that several versions of dyno measured, and blocks without checksums ---------------


def version_doubts(judged: Sequence[BlockFolder], runs: Sequence[StepRun]) -> Iterator[Doubt]:
    """A doubt where versions differ between blocks."""
    states = {block.number: _versions(block, runs) for block in judged}
    names = dict.fromkeys(name for state in states.values() for name in state)
    changed = [
        words for name in names if (words := host_changes.by_block(name, states)) is not None
    ]
    if changed:
        yield DoubtSubject.VERSIONS.doubt(
            f"{'; '.join(changed)}; CHANGELOG.md says what changed between them"
        )


def unverified(judged: Sequence[BlockFolder]) -> tuple[int, ...]:
    """The numbers of blocks without checksums, which an older dyno measured."""
    return tuple(block.number for block in judged if block.checksums() is None)


def _versions(block: BlockFolder, runs: Sequence[StepRun]) -> dict[str, str]:
    """What measured a block, as far as its files say it."""
    versions = {}
    order = block.order()
    if order is not None and order.dyno is not None:
        versions["dyno"] = order.dyno
    generators = {run.generator for run in runs if run.block == block.number and run.generator}
    if generators:
        versions["the load generator"] = " and ".join(sorted(generators))
    return versions
