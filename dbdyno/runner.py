"""Runs the blocks of a plan: provide servers, run the steps, keep what was found, go on after a break.

A block is the unit: every arm once. One that was broken off is kept as void and done again whole.
An arm that fails is a result; the other arms go on. The lab's own failure spoils the block.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dbdyno import measure, preflight, schedule, store
from dbdyno.error import DynoError, GeneratorError, ResultError, ServerError
from dbdyno.host import facts
from dbdyno.host.fake import FakeSampler
from dbdyno.host.sampler import Sampler
from dbdyno.measure import Bench, StepFailed
from dbdyno.model import Arm, Block, Json, Plan, Step, WorkloadUse
from dbdyno.preflight import Prepared
from dbdyno.progress import Leg, Watch
from dbdyno.server import Server, leftovers, provide, quiet
from dbdyno.server.lock import HostLock
from dbdyno.store import Results

DATABASE = "ib"
"""The database that the workloads' tables live in; the Insert Benchmark's own name for it."""
VOIDS_MAX = 2
"""How often one command does a block again that the lab spoiled, before it gives up."""
SESSION_KEYS = ("kernel", "cpu", "memory_bytes")
"""Facts of the host that have to be the same in all blocks of a result folder."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a plan came to."""

    folder: Path
    failed: int  # steps that failed or were skipped, in the blocks of this command
    voids: int  # blocks that were spoiled and done again


@dataclass(frozen=True, kw_only=True)
class Lab:
    """What all runs of a plan share."""

    plan: Plan
    prepared: Prepared
    results: Results
    watch: Watch
    device: object  # dbdyno.host.device.Device of the data folder


def run(plan: Plan, parent: Path, *, wait: bool = False, watch: type[Watch] = Watch) -> Outcome:
    """Runs `plan`, or what is missing of it, into `parent`/<plan's name>.

    Everything is checked before anything starts. `wait`: for another lab on this host to end.
    Raises DynoError subclasses on what the user can mend; KeyboardInterrupt leaves all files whole.
    """
    with HostLock(wait=wait):
        leftovers.end_leftovers()
        prepared = preflight.prepare(plan)
        results = Results.open_or_create(parent, plan, preflight.plan_json(plan, prepared))
        keep_host(results, prepared)
        blocks = missing_blocks(plan, results)
        legs = [leg for block in blocks for leg in block_legs(plan, prepared, block)]
        with watch(legs) as shown:
            lab = Lab(
                plan=plan, prepared=prepared, results=results, watch=shown, device=prepared.device
            )
            return run_blocks(lab, blocks)


def keep_host(results: Results, prepared: Prepared) -> None:
    """Writes host.json, or compares the host with it.

    Raises ResultError where the folder was measured on another machine or kernel: such blocks are
    not pooled.
    """
    now = facts.collect(prepared.data_path)
    before = results.host()
    if before is None:
        results.write_host(now)
        return
    for key in SESSION_KEYS:
        if before.get(key) != now.get(key):
            raise ResultError(
                f"{results.folder}: measured with another `{key}` ({before.get(key)!r}, now "
                f"{now.get(key)!r}): such blocks are not pooled, choose another --out"
            )


def missing_blocks(plan: Plan, results: Results) -> list[Block]:
    """The blocks that are still to do; broken ones are set aside as void first."""
    missing = []
    for block in schedule.blocks(plan):
        state = results.block_state(block.number)
        if state == "broken":
            results.void_block(block.number, "broken off: dyno ended before the block was complete")
        if state != "done":
            missing.append(block)
    return missing


def block_legs(plan: Plan, prepared: Prepared, block: Block) -> list[Leg]:
    """The legs of one block, in the order in which `run_block` walks them."""
    legs = []
    for use in plan.workloads:
        for name in block.order:
            legs.append(Leg(use.name, "", 0.0))
            legs += [Leg(use.name, s.name, s.expected_s) for s in prepared.steps[use.name, name]]
    return legs


def run_blocks(lab: Lab, blocks: list[Block]) -> Outcome:
    """Runs the blocks one after the other; one that the lab spoils is void and done again."""
    failed = voids = 0
    for block in blocks:
        while True:
            try:
                failed += run_block(lab, block)
                break
            except GeneratorError as error:
                lab.results.void_block(block.number, str(error))
                voids += 1
                if voids > VOIDS_MAX:
                    raise
                lab.watch.say(f"block {block.number} is void and done again: {error}")
                lab.watch.again(block_legs(lab.plan, lab.prepared, block))
    return Outcome(folder=lab.results.folder, failed=failed, voids=voids)


def run_block(lab: Lab, block: Block) -> int:
    """Runs every arm once through every workload; returns how many steps failed or were skipped."""
    lab.results.begin_block(block)
    failed = 0
    for use in lab.plan.workloads:
        for name in block.order:
            arm = next(arm for arm in lab.plan.arms if arm.name == name)
            failed += run_arm(lab, block, arm, use)
    lab.results.end_block(block.number)
    return failed


def run_arm(lab: Lab, block: Block, arm: Arm, use: WorkloadUse) -> int:
    """One run: one arm through one workload, from a fresh server; returns how many steps failed."""
    folder = lab.results.run_folder(block.number, arm.name)
    title = f"block {block.number}/{lab.plan.schedule.blocks} {arm.name}"
    steps = lab.prepared.steps[use.name, arm.name]
    lab.watch.begin(f"{title} set-up", Leg(use.name, "", 0.0))
    build = lab.prepared.builds[arm.name]
    server = provide(arm, build=build, place=lab.prepared.place(lab.plan, arm, folder / "log"))
    try:
        with running(server, lab.prepared) as switch:
            store.write_json(folder / "server.json", server.facts())
            lab.watch.end()
            return run_steps(lab, block, arm, server, steps, switch)
    except ServerError as error:
        if server.engine == "fake" or not steps:
            raise
        return fail_run(lab, block, arm, server, steps, str(error))


@contextmanager
def running(server: Server, prepared: Prepared) -> Iterator[Json]:
    """A server on a fresh data directory, in a quiet machine; gone afterwards.

    Gives what was waited for at this switch of arms (docs/results.md, `switch`).
    """
    server.prepare()
    try:
        switch = {} if server.engine == "fake" else quiet.quiet([prepared.data_path])
        server.start()
        server.create_database(DATABASE)
        yield switch
    finally:
        server.stop()
        server.remove()


def run_steps(
    lab: Lab, block: Block, arm: Arm, server: Server, steps: tuple[Step, ...], switch: Json
) -> int:
    """Runs the steps in order; after one that failed the others are skipped, as the state is unknown."""
    sampler = partial(new_sampler, arm=arm, server=server, device=lab.device)
    bench = Bench(
        server=server,
        sampler=sampler,
        arm=arm.name,
        block=block.number,
        seed=block.seed,
        fake=arm.fake if arm.engine == "fake" else None,
    )
    failed_step: str | None = None
    failed = 0
    for step in steps:
        folder = lab.results.step_folder(block.number, arm.name, step)
        leg = Leg(step.workload, step.name, step.expected_s)
        title = f"block {block.number}/{lab.plan.schedule.blocks} {arm.name} {step.name}"
        lab.watch.begin(title, leg)
        if failed_step is not None:
            skip(step, bench, folder, failed_step)
            lab.watch.end(f"skipped: state unknown after {failed_step}")
            failed += 1
            continue
        try:
            found = measure.measure(step, bench, folder, lab.watch.rate)
            lab.watch.end(f"{found['window_ns'] / 1e9:.1f} s")
        except StepFailed as error:
            lab.watch.end(f"failed: {error}")
            failed_step = step.name
            failed += 1
    return failed


def new_sampler(
    path: Path, *, arm: Arm, server: Server, device: object
) -> Sampler | FakeSampler:
    """The sampler for a step of `arm`: of /proc, or of the fake server's virtual clock."""
    if arm.engine == "fake":
        return FakeSampler(path, arm.fake)
    return Sampler(path, device=device, server=server)


def skip(step: Step, bench: Bench, folder: Path, after: str) -> None:
    """Keeps a step that could not run as a result with its reason."""
    measure.write_step(step, bench, folder)
    reason = f"state unknown after {after}"
    measure.fail(folder, reason, bench.server, 0, status="skipped")
