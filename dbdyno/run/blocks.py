"""Runs the blocks of a plan: servers, steps, what was found; goes on after a break.

A block is the unit: every arm once. One that was broken off is kept as void and done again whole.
An arm that fails is a result; the other arms go on. The lab's own failure spoils the block, and so
does what disturbs it from outside the arms: such a block is done again by itself.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from subprocess import SubprocessError

from msgspec import structs, to_builtins
from msgspec.structs import asdict, replace

from dbdyno import engine, workload
from dbdyno.builds import compile
from dbdyno.doctor import stable_facts
from dbdyno.engine import golden
from dbdyno.host import leftovers
from dbdyno.host.lock import HostLock
from dbdyno.host.observe import facts
from dbdyno.model import Block, Json, Plan, Step, WorkloadUse, can
from dbdyno.model.block_files import BlockDuration
from dbdyno.model.disturbance import Cause
from dbdyno.model.error import DynoError, LabDied, ResultError
from dbdyno.model.host_facts import HostFacts
from dbdyno.plan import schedule
from dbdyno.run import (
    commits,
    extra_run,
    inquiries,
    interleave,
    profile,
    repeats,
    site,
    starting_state,
    trial,
    void,
)
from dbdyno.run.arm import copy_leg
from dbdyno.run.check import block_time, notices, plan_record, preflight
from dbdyno.run.driver import ceiling
from dbdyno.run.lab import Lab, Servers, SiteRuns
from dbdyno.run.progress import RESTART_S, RUN_OVERHEAD_S, Leg, Watch, rest_leg
from dbdyno.run.ready_plan import ReadyPlan
from dbdyno.run.starting_state import StartingPoint
from dbdyno.store import Results
from dbdyno.store.folder_lock import FolderLock


@dataclass(frozen=True, kw_only=True)
class PlanOutcome:
    """The outcome of a plan."""

    folder: Path
    failed: int  # steps that failed or were skipped, in the blocks of this command
    voids: int  # blocks that were spoiled and done again


def run(plan: Plan, parent: Path, *, wait: bool = False) -> PlanOutcome:
    """Runs all blocks of `plan`, or what is missing of them, into `parent`/<plan's name>.

    `looks.run` reads on the way what they come to. Everything is checked before anything starts.
    `wait`: for another lab on this host to end.
    Raises DynoError subclasses on what the user can mend; a KeyboardInterrupt passes through when
    the servers are down and all files whole.
    """
    with HostLock.of_plan(plan, wait=wait), opened(plan, parent) as lab:
        return run_blocks(lab, missing_blocks(lab.plan, lab.results))


@contextmanager
def opened(plan: Plan, parent: Path, *, quiet: bool = False) -> Iterator[Lab]:
    """The lab of a plan, checked whole, with its result folder, which no other lab has meanwhile.

    Whoever calls it has the host's lock.

    `quiet`: nothing is shown on the way.
    """
    leftovers.end_leftovers()
    golden.sweep(starting_state.data_root(plan), plan.wal_dir)
    with Watch([], quiet=quiet) as watch, Servers() as servers:
        pinned = Results.begun_plan(parent / plan.name)
        prepared, begun_s = ready(plan, pinned, watch.say), time.monotonic()
        if plan.schedule.until_decided and plan.schedule.minutes_max is not None:
            spent = 0.0 if pinned is None else sum(Results.open(parent / plan.name).minutes())
            watch.ends_within(60 * (plan.schedule.minutes_max - spent))
        else:
            watch.later_s = after_trial_s(plan, prepared)
        if trial.is_due(plan, prepared, begun=pinned is not None):
            trial.go(plan, prepared, watch, servers)
            prepared = preflight.with_copies(plan, prepared)
        with FolderLock(parent / plan.name, leftovers.boot_id()):
            results = begun(parent, plan, prepared, host_facts(plan, prepared))
            commits.keep(plan, prepared.builds, results, watch.say)
            yield Lab(
                plan=plan,
                prepared=prepared,
                results=results,
                watch=watch,
                servers=servers,
                begun_s=begun_s,
                complete_before=results.complete(),
            )


def after_trial_s(plan: Plan, prepared: ReadyPlan) -> float:
    """A guess of what comes after a plan's trial, in seconds: its counts and its blocks."""
    numbers = range(1, plan.schedule.blocks + 1) if not plan.counts_only else ()
    return block_time.counts_s(plan, prepared) + block_time.blocks_s(plan, prepared, numbers)


def begun(parent: Path, plan: Plan, prepared: ReadyPlan, host: HostFacts) -> Results:
    """The result folder of a plan on a host of these facts, to begin or to go on with.

    Raises ResultError where what was measured there is of another plan or machine.
    """
    results = Results.open_or_create(parent, plan, plan_record.plan_json(plan, prepared))
    keep_host(results, host)
    results.settle_looks(plan)
    return results


def ready(plan: Plan, pinned: Json | None, say: Callable[[str], None]) -> ReadyPlan:
    """The plan, checked whole; builds that it still lacks are made when all else is known to go.

    Then it is checked again, as these builds read the settings themselves. Raises DynoError.
    """
    prepared = preflight.prepare(plan, pinned)
    if not prepared.wishes:
        return prepared
    for arm, wish in prepared.wishes.items():
        try:
            # Of several arms that ask for one build the later ones find it.
            compile.build(wish, engine.of(wish.engine).method(), say)
        except DynoError as error:
            raise type(error)(f"{plan.path or 'the plan'}: arms.{arm}.build: {error}") from error
    return preflight.prepare(plan, pinned)


def host_facts(plan: Plan, prepared: ReadyPlan) -> HostFacts:
    """The facts of this host: host.json, without the time since which they are so."""
    return facts.collect(prepared.data_path, wal_path=prepared.wal_path, measure=has_servers(plan))


def keep_host(results: Results, now: HostFacts) -> None:
    """Writes host.json, or compares the host's facts with it.

    Raises ResultError where the folder was measured on another machine or kernel: such blocks are
    not pooled.
    """
    now, changed = since(results, results.host(), now)
    results.write_host(now, changed=changed)


def keep_host_of(results: Results, name: str, now: HostFacts) -> None:
    """The same for a named host, in hosts/NAME.json."""
    now, changed = since(results, results.hosts().get(name), now)
    results.write_host_of(name, now, changed=changed)


def since(results: Results, before: HostFacts | None, now: HostFacts) -> tuple[HostFacts, bool]:
    """A host's facts with the time since which they are so, and whether they have changed.

    Raises ResultError where they are of another machine than `before`.
    """
    if before is None:
        return now, False
    is_now = asdict(now.machine)
    for key, was in asdict(before.machine).items():
        if was != is_now[key]:
            raise ResultError(
                f"{results.folder}: measured with another `{key}` ({to_builtins(was)!r}, now "
                f"{to_builtins(is_now[key])!r}): such blocks cannot be pooled; choose another --out"
            )
    changed = stable_facts.changed(before, now)
    if not changed and before.boot_id == now.boot_id and before.since_unix_ns is not None:
        now = replace(now, since_unix_ns=before.since_unix_ns)
    return now, changed


def has_servers(plan: Plan) -> bool:
    """Whether any arm is a server in truth; the fake's clock says nothing of this host."""
    return any(can(arm, "clock") for arm in plan.arms)


def begin(lab: Lab, blocks: Sequence[Block]) -> None:
    """Does the work before the first block: notices, and the load generator's ceiling."""
    for line in said_before(lab.plan, lab.prepared):
        lab.watch.say(line)
    of_base = (steps[lab.plan.base] for steps in lab.prepared.steps.values())
    if has_servers(lab.plan) and any(step.measured for steps in of_base for step in steps):
        measure_generator(lab, legs_of(lab, blocks))


def said_before(plan: Plan, prepared: ReadyPlan) -> Iterator[str]:
    """All that is said of a plan before its first block, a line each."""
    for use in plan.workloads:
        brought = workload.brought(use, prepared.steps[use.title][plan.base])
        if brought:
            yield f"{use.title}: dyno adds the load that `steps` needs: {', '.join(brought)}"
    yield from notices.notices(plan, prepared)


def measure_generator(lab: Lab, ahead: Sequence[Leg] = ()) -> None:
    """Measures the load generator by itself; `ahead`: the way that follows.

    Raises GeneratorError where it cannot be measured.
    """
    connections = most_connections(lab)
    leg = Leg("", "", len(connections) * ceiling.EXPECTED_S)
    lab.watch.again([*[leg for _ in load_hosts(lab.plan)], *ahead])
    keep_ceiling(lab, leg, connections)


def most_connections(lab: Lab) -> dict[str, int]:
    """The most connections that a step of the plan has, by the protocol of its arms."""
    most: dict[str, int] = {}
    for arm in lab.plan.arms:
        if can(arm, "clock"):
            protocol = engine.of(arm.engine).traits.protocol
            connections = preflight.connections(lab.plan, arm, lab.prepared)
            most[protocol] = max(connections, most.get(protocol, 0))
    return most


def keep_ceiling(lab: Lab, leg: Leg, connections: dict[str, int]) -> None:
    """Measures what the load generator can do where it runs, and keeps it with the results.

    Of several hosts the base's comes last, as reports show that line. Raises GeneratorError where
    it cannot be measured.
    """
    for host in load_hosts(lab.plan):
        lab.watch.begin(f"load generator{f' on {host}' if host else ''}", leg)
        measured = site.of(lab, host).ceiling(lab, connections)
        lab.results.keep_generator(structs.replace(measured, host=host or lab.node))
        lab.watch.end(f"ceiling {ceiling.summary(measured)}")


def load_hosts(plan: Plan) -> tuple[str | None, ...]:
    """The hosts on which load is made, the base's last; None: this one."""
    base = next(arm.host for arm in plan.arms if arm.name == plan.base)
    beside = {arm.host: None for arm in plan.arms if can(arm, "clock")} | {base: None}
    return plan.generator_hosts or tuple(sorted(beside, key=lambda host: host == base))


def missing_blocks(plan: Plan, results: Results) -> list[Block]:
    """The blocks that are still to do; broken ones are set aside as void first."""
    missing = []
    for number in results.numbers(plan):
        state = results.block_state(number)
        if state == "broken":
            results.void_block(number, "interrupted: dyno ended before the block was complete")
        if state != "done":
            missing.append(schedule.block(plan, number))
    return missing


def legs_of(lab: Lab, blocks: Sequence[Block]) -> list[Leg]:
    """The legs of these blocks, in the order in which `run_block` walks them.

    As if all goes well: a state that is kept in one block is there in the next.
    """
    plan, prepared = lab.plan, lab.prepared
    legs: list[Leg] = []
    rest = rests(plan, due=lab.servers.rest_due)
    there = {
        point.key
        for of_arms in prepared.points.values()
        for point in chain.from_iterable(of_arms.values())
        if starting_state.usable(starting_state.find(plan, point), lab.results) is not None
    }
    left = {name: key for name, (key, _) in lab.servers.left.items()}
    for block in blocks:
        again: list[Leg] = []
        made: set[str] = set()
        for use, order in passes_of(lab, block):
            copied = False
            for place, name in enumerate(order):
                if not (plan.schedule.together and place):
                    legs += next(rest)
                steps, at = lab.steps(block, use, name), prepared.point(use, name, block.number)
                made |= {at.key} if at is not None else set()
                judged = at.after(steps) if at is not None and at.key in there else steps
                again += extra_run.legs(plan, prepared, use, judged, at)
                if plan.schedule.together:
                    steps, _ = schedule.in_turn(plan, use, steps)
                restarted = at is not None and left.pop(name, None) == at.key
                legs += legs_of_run(lab, use, steps, at, there, restarted=restarted)
                copied |= not restarted
                if use.restart and at is not None:
                    left[name] = at.key
            if plan.schedule.together:
                _, steps = schedule.in_turn(plan, use, lab.steps(block, use, plan.base))
                legs += [interleave.rest_leg(use)] * copied
                legs += inquiries.legs(plan, use, block)
                legs += interleave.legs(plan, use, steps, block.number)
        legs += again
        there |= made
    return legs


def rests(plan: Plan, *, due: bool) -> Iterator[list[Leg]]:
    """The leg of the rest before each server in turn; `due`: whether one was up before the first.

    None of them where the plan rests not.
    """
    leg = [rest_leg(plan.schedule.rest_s)] if plan.schedule.rest_s else []
    yield leg if due else []
    while True:
        yield leg


def legs_of_run(  # noqa: PLR0913 (each by its name)
    lab: Lab,
    use: WorkloadUse,
    steps: Sequence[Step],
    at: StartingPoint | None,
    there: set[str],
    *,
    restarted: bool,
) -> Iterator[Leg]:
    """The legs of one arm's steps; `there`: the keys of the golden copies that there are.

    `restarted`: its server takes the data that the last one left.
    """
    plan, prepared = lab.plan, lab.prepared
    if at is not None and at.key in there:
        if not restarted:
            yield copy_leg(at, prepared)
        steps = at.after(steps)
    yield Leg(use.title, "", RESTART_S if restarted else RUN_OVERHEAD_S)
    for step in steps:
        yield Leg(use.title, step.name, step.expected_s)
        if not plan.schedule.together:
            yield from profile.legs(plan, use, step)
        if at is not None and step.ordinal == at.step.ordinal:
            yield copy_leg(at, prepared)


def run_blocks(
    lab: Lab, blocks: Sequence[Block], fits: Callable[[], bool] = lambda: True
) -> PlanOutcome:
    """Runs the blocks one after the other; one that the lab spoils is void and done again.

    `fits`: asked before each, whether there is time for it; the first that has none is the end.
    Before the first block of this command the load generator itself is measured. Raises DiskError
    where a file system takes no more.
    """
    if blocks and not lab.watch.forecast.took:
        begin(lab, blocks)
    failed = voids = 0
    for index in range(len(blocks)):
        look_ahead(lab, blocks[index:])
        if not fits():
            break
        outcome = run_whole(lab, blocks[index:])
        failed, voids = failed + outcome.failed, voids + outcome.voids
    return PlanOutcome(folder=lab.results.folder, failed=failed, voids=voids)


def look_ahead(lab: Lab, blocks: Sequence[Block]) -> None:
    """Foretells the way of these blocks, of which the first is walked however the time is."""
    lab.watch.again(legs_of(lab, blocks), len(legs_of(lab, blocks[:1])))


def run_whole(lab: Lab, blocks: Sequence[Block]) -> PlanOutcome:
    """Runs the first of these blocks until it counts; the others are ahead."""
    voids = 0
    look_ahead(lab, blocks)
    while (failed := attempt(lab, blocks[0])) is None:
        voids += 1
        look_ahead(lab, blocks)
    return PlanOutcome(folder=lab.results.folder, failed=failed, voids=voids)


def attempt(lab: Lab, block: Block) -> int | None:
    """Runs a block; how many steps failed or were skipped, None where it is void and to be done
    again.

    A block that was disturbed is repeated while the plan has repeats and time; then it counts, with
    what disturbed it. LabDied is raised where the lab failed in `repeats_max` repeats of a block.
    Of both those of earlier commands count.
    """
    number = block.number
    try:
        ran = run_block(lab, block)
    except LabDied as error:
        last = repeats.of_block(lab.results, number) >= lab.plan.schedule.repeats_max
        set_aside(lab, number, "lab", str(error), again=not last)
        if last:
            raise last_word(error) from None
        return None
    (block_folder,) = [
        folder for folder in lab.results.blocks() if folder.number == number and not folder.void
    ]
    disturbances = void.lines(void.disturbances(block_folder, lab.plan.schedule.void))
    why = repeats.why_not_again(lab, number, ran.took(lab).took_s) if disturbances else None
    if disturbances and why is None:
        cause = next(iter(disturbances))
        set_aside(lab, number, cause, "; ".join(disturbances.values()), again=True)
        return None
    try:
        for went in ran.went:
            went.repeat()
    finally:  # what is judged is complete, whatever ends the rest
        lab.results.end_block(number, ran.took(lab), *disturbances.values())
    for text in disturbances.values():
        lab.watch.say(f"block {number} counts although it was disturbed, as {why}: {text}")
    return ran.failed


def set_aside(lab: Lab, number: int, cause: Cause, reason: str, *, again: bool) -> None:
    """Makes a block void, and says why."""
    lab.results.void_block(number, reason, cause)
    lab.watch.say(f"block {number} is void{' and will be repeated' if again else ''}: {reason}")


def last_word(error: LabDied) -> Exception:
    """The error that ends the plan: a mistake of ours that killed the lab, with its traceback."""
    cause = error.__cause__
    ours = isinstance(cause, Exception) and not isinstance(cause, (OSError, SubprocessError))
    return cause if ours and isinstance(cause, Exception) else error


@dataclass(frozen=True, kw_only=True)
class JudgedRuns:
    """The judged runs of a block, which are over."""

    went: Sequence[SiteRuns]
    begun_s: float
    legs_before: int  # that were over when the block began

    @property
    def failed(self) -> int:
        """How many steps failed or were skipped."""
        return sum(went.failed for went in self.went)

    def took(self, lab: Lab) -> BlockDuration:
        """What the block has taken until now."""
        legs = lab.watch.forecast.took[self.legs_before :]
        return BlockDuration(took_s=time.monotonic() - self.begun_s, steps_s=steps_s(lab, legs))


def run_block(lab: Lab, block: Block) -> JudgedRuns:
    """Runs every arm once through its steps."""
    host = lab.node or only_host(lab.plan)
    passes = passes_of(lab, block)
    orders = {folder_of(lab, block, use): order for use, order in passes}
    lab.results.begin_block(
        block, lab.plan.schedule.interleave_written, sweeps_of(lab, block), passes=orders, host=host
    )
    begun_s, before = time.monotonic(), len(lab.watch.forecast.took)
    went = site.measured(lab, block, passes)
    return JudgedRuns(went=went, begun_s=begun_s, legs_before=before)


def only_host(plan: Plan) -> str | None:
    """The name of the host that measures all arms; None: this one, or several."""
    hosts = {arm.host for arm in plan.arms}
    return hosts.pop() if len(hosts) == 1 else None


def passes_of(lab: Lab, block: Block) -> tuple[tuple[WorkloadUse, tuple[str, ...]], ...]:
    """The workloads of which the block does any step, as `schedule.passes`."""
    return tuple(
        (use, order)
        for use, order in schedule.passes(lab.plan, block)
        if lab.steps(block, use, lab.plan.base)
    )


def folder_of(lab: Lab, block: Block, use: WorkloadUse) -> str:
    """How steps and results call a workload of which the block does any step."""
    return lab.steps(block, use, lab.plan.base)[0].workload


def sweeps_of(lab: Lab, block: Block) -> dict[str, dict[str, tuple[str, ...]]]:
    """By workload and sweep the steps in the order in which the block goes through them."""
    steps = (lab.steps(block, use, lab.plan.base) for use, _ in passes_of(lab, block))
    sweeps = {some[0].workload: schedule.sweeps(some) for some in steps}
    return {workload: of_workload for workload, of_workload in sweeps.items() if of_workload}


def steps_s(lab: Lab, legs: Sequence[tuple[Leg, float]]) -> dict[str, dict[str, float]]:
    """The seconds that each step took, all arms together: by workload and step."""
    seconds: dict[str, dict[str, float]] = {}
    for use in lab.plan.workloads:
        for step in lab.prepared.steps[use.title][lab.plan.base]:
            names = step.name, step.name + profile.LEG
            here = [s for leg, s in legs if leg.workload == use.title and leg.step in names]
            if here:
                seconds.setdefault(step.workload, {})[step.name] = sum(here)
    return seconds
