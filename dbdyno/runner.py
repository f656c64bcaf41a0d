"""Runs the blocks of a plan: servers, steps, what was found; goes on after a break.

A block is the unit: every arm once. One that was broken off is kept as void and done again whole.
An arm that fails is a result; the other arms go on. The lab's own failure spoils the block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dbdyno import ceiling, measure, preflight, schedule, store
from dbdyno.error import ResultError, ServerError
from dbdyno.host import facts
from dbdyno.host.fake import FakeSampler
from dbdyno.host.sampler import Sampler
from dbdyno.loadgen import GeneratorDied
from dbdyno.measure import Bench, StepFailed
from dbdyno.model import Arm, Block, Json, Plan, Step, WorkloadUse
from dbdyno.preflight import Prepared
from dbdyno.progress import RUN_OVERHEAD_S, Leg, Watch
from dbdyno.server import Server, leftovers, quiet
from dbdyno.server.lock import HostLock
from dbdyno.store import Results

DATABASE = "ib"
"""The database that the workloads' tables live in; the Insert Benchmark's own name for it."""
VOIDS_MAX = 2
"""How often one command does a block again that the lab spoiled, before it gives up."""
CEILING = Leg("", "", ceiling.EXPECTED_S)
"""The part of the way on which the load generator itself is measured."""
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


def run(plan: Plan, parent: Path, *, wait: bool = False) -> Outcome:
    """Runs `plan`, or what is missing of it, into `parent`/<plan's name>.

    Everything is checked before anything starts. `wait`: for another lab on this host to end.
    Raises DynoError subclasses on what the user can mend; a KeyboardInterrupt passes through when
    the servers are down and all files whole.
    """
    with HostLock(plan=plan.name, wait=wait):
        leftovers.end_leftovers()
        prepared = preflight.prepare(plan, earlier(parent / plan.name))
        results = Results.open_or_create(parent, plan, preflight.plan_json(plan, prepared))
        keep_host(results, prepared)
        blocks = missing_blocks(plan, results)
        first = [CEILING] if blocks and has_servers(plan) else []
        with Watch([*first, *legs_of(plan, prepared, blocks)]) as watch:
            lab = Lab(plan=plan, prepared=prepared, results=results, watch=watch)
            if first:
                keep_ceiling(lab)
            return run_blocks(lab, blocks)


def earlier(folder: Path) -> Json | None:
    """The plan.json of a folder in which the plan goes on; None where it begins."""
    return Results.open(folder).plan if (folder / "plan.json").exists() else None


def keep_host(results: Results, prepared: Prepared) -> None:
    """Writes host.json, or compares the host with it.

    Raises ResultError where the folder was measured on another machine or kernel: such blocks are
    not pooled.
    """
    now = facts.collect(prepared.data_path)
    before = results.host()
    for key in SESSION_KEYS:
        if before is not None and before.get(key) != now.get(key):
            raise ResultError(
                f"{results.folder}: measured with another `{key}` ({before.get(key)!r}, now "
                f"{now.get(key)!r}): such blocks are not pooled, choose another --out"
            )
    results.write_host(now)


def has_servers(plan: Plan) -> bool:
    """Whether any arm is a server in truth; the fake's clock says nothing of this host."""
    return any(arm.engine != "fake" for arm in plan.arms)


def keep_ceiling(lab: Lab) -> None:
    """Measures what the load generator can do on this host and keeps it with the results.

    Raises GeneratorError where it cannot be measured.
    """
    plan, prepared = lab.plan, lab.prepared
    lab.watch.begin("load generator", CEILING)
    connections = max(preflight.connections(plan, arm, prepared) for arm in plan.arms)
    found = ceiling.measure(connections, plan.threads)
    lab.results.keep_generator(found)
    lab.watch.end(f"ceiling {ceiling.summary(found)}")


def missing_blocks(plan: Plan, results: Results) -> list[Block]:
    """The blocks that are still to do; broken ones are set aside as void first."""
    missing = []
    for number in results.numbers(plan):
        state = results.block_state(number)
        if state == "broken":
            results.void_block(number, "broken off: dyno ended before the block was complete")
        if state != "done":
            missing.append(schedule.block(plan, number))
    return missing


def legs_of(plan: Plan, prepared: Prepared, blocks: Sequence[Block]) -> list[Leg]:
    """The legs of these blocks, in the order in which `run_block` walks them."""
    legs = []
    for block in blocks:
        for use in plan.workloads:
            for name in block.order:
                legs.append(Leg(use.name, "", RUN_OVERHEAD_S))
                steps = prepared.steps[use.name, name]
                legs += [Leg(use.name, step.name, step.expected_s) for step in steps]
    return legs


def run_blocks(lab: Lab, blocks: Sequence[Block]) -> Outcome:
    """Runs the blocks one after the other; one that the lab spoils is void and done again."""
    failed = voids = 0
    for index, block in enumerate(blocks):
        while True:
            try:
                failed += run_block(lab, block)
                break
            except GeneratorDied as error:
                lab.results.void_block(block.number, str(error))
                voids += 1
                if voids > VOIDS_MAX:
                    raise
                lab.watch.say(f"block {block.number} is void and done again: {error}")
                lab.watch.again(legs_of(lab.plan, lab.prepared, blocks[index:]))
    return Outcome(folder=lab.results.folder, failed=failed, voids=voids)


def run_block(lab: Lab, block: Block) -> int:
    """Runs every arm once through every workload; returns how many steps failed or were skipped."""
    lab.results.begin_block(block)
    failed = 0
    for use in lab.plan.workloads:
        for name in block.order:
            arm = next(arm for arm in lab.plan.arms if arm.name == name)
            failed += Run(lab=lab, block=block, arm=arm, use=use).go()
    lab.results.end_block(block.number)
    return failed


@dataclass(frozen=True, kw_only=True)
class Run:
    """One arm going once through a workload, from a fresh server."""

    lab: Lab
    block: Block
    arm: Arm
    use: WorkloadUse

    @property
    def steps(self) -> tuple[Step, ...]:
        """The workload's steps for this arm."""
        return self.lab.prepared.steps[self.use.name, self.arm.name]

    def title(self, what: str) -> str:
        """Where the plan is, for the person who watches."""
        return f"{self.block.number}/{self.lab.plan.schedule.blocks} {self.arm.name} {what}"

    def go(self) -> int:
        """Runs all steps on a fresh server; returns how many failed or were skipped.

        An arm whose server does not start has failed in all its steps.
        """
        folder = self.lab.results.run_folder(self.block.number, self.arm.name)
        (folder / "log").mkdir(exist_ok=True)
        self.lab.watch.begin(self.title("set-up"), Leg(self.use.name, "", RUN_OVERHEAD_S))
        server = preflight.provide_server(
            self.lab.plan, self.arm, self.lab.prepared, folder / "log"
        )
        try:
            server.prepare()
            switch = self.come_to_rest(server)
            broken = self.start(server)
            if broken is None:
                store.write_json(folder / "server.json", server.facts())
            self.lab.watch.end("ready" if broken is None else broken, alarm=broken is not None)
            return self.run_steps(server, switch, broken)
        finally:
            server.stop(crash=True)
            server.remove()

    def come_to_rest(self, server: Server) -> Json | None:
        """Waits until what was written before is on the disk (docs/results.md, `switch`)."""
        if server.engine == "fake":
            return None
        return quiet.quiet([self.lab.prepared.data_path])

    def start(self, server: Server) -> str | None:
        """Starts the server and makes the database; returns why it did not go, None: it did."""
        try:
            server.start()
            server.create_database(DATABASE)
        except ServerError as error:
            return str(error)
        return None

    def run_steps(self, server: Server, switch: Json | None, broken: str | None) -> int:
        """Runs the steps in order; after one that failed the others are skipped.

        `broken`: why the server did not start; the first step has then failed for this reason.
        """
        bench = Bench(
            server=server,
            sampler=partial(new_sampler, arm=self.arm, server=server, lab=self.lab),
            arm=self.arm.name,
            block=self.block.number,
            seed=self.block.seed,
            threads=self.lab.plan.threads,
            switch=switch,
        )
        failed = 0
        last_failed: str | None = None
        for step in self.steps:
            folder = self.lab.results.step_folder(self.block.number, self.arm.name, step)
            leg = Leg(self.use.name, step.name, step.expected_s)
            self.lab.watch.begin(self.title(step.name), leg)
            if last_failed is None:
                well, said = self.run_step(step, bench, folder, broken)
                last_failed = None if well else step.name
            else:
                well, said = False, f"state unknown after {last_failed}"
                measure.skip(step, bench, folder, said)
            failed += not well
            self.lab.watch.end(said, alarm=not well)
        return failed

    def run_step(
        self, step: Step, bench: Bench, folder: Path, broken: str | None
    ) -> tuple[bool, str]:
        """Runs one step; returns whether it ended well, and what came out in words."""
        try:
            if broken is not None:
                measure.give_up(step, bench, folder, broken)
            found = measure.measure(step, bench, folder, self.lab.watch.rate)
        except StepFailed as error:
            return False, f"failed: {error}"
        return True, measure.summary(step, found)


def new_sampler(path: Path, *, arm: Arm, server: Server, lab: Lab) -> Sampler | FakeSampler:
    """The sampler for a step of `arm`: of /proc, or of the fake server's virtual clock."""
    if arm.engine == "fake":
        return FakeSampler(path, arm.fake)
    return Sampler(path, device=lab.prepared.device, server=server)
