"""Runs the blocks of a plan: servers, steps, what was found; goes on after a break.

A block is the unit: every arm once. One that was broken off is kept as void and done again whole.
An arm that fails is a result; the other arms go on. The lab's own failure spoils the block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from dbdyno import ceiling, fit, measure, origin, preflight, schedule, store
from dbdyno.error import ResultError, ServerError
from dbdyno.host import facts
from dbdyno.host.fake import FakeSampler
from dbdyno.host.sampler import Sampler
from dbdyno.loadgen import GeneratorDied
from dbdyno.measure import Bench, StepFailed
from dbdyno.model import Arm, Block, Json, Plan, Step, WorkloadUse
from dbdyno.origin import Point
from dbdyno.preflight import Prepared
from dbdyno.progress import RUN_OVERHEAD_S, Leg, Watch
from dbdyno.server import Server, golden, leftovers, quiet
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
        golden.sweep(origin.data_root(plan), plan.wal_dir)
        prepared = preflight.prepare(plan, earlier(parent / plan.name))
        results = Results.open_or_create(parent, plan, preflight.plan_json(plan, prepared))
        keep_host(results, prepared)
        blocks = missing_blocks(plan, results)
        first = [CEILING] if blocks and has_servers(plan) else []
        with Watch([*first, *legs_of(plan, prepared, results, blocks)]) as watch:
            lab = Lab(plan=plan, prepared=prepared, results=results, watch=watch)
            for notice in fit.notices(plan, prepared):
                watch.say(notice)
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


def legs_of(plan: Plan, prepared: Prepared, results: Results, blocks: Sequence[Block]) -> list[Leg]:
    """The legs of these blocks, in the order in which `run_block` walks them.

    As if all goes well: a state that is kept in one block is there in the next.
    """
    legs = []
    there = {k for k, copy in prepared.copies.items() if origin.usable(copy, results) is not None}
    for block in blocks:
        for use in plan.workloads:
            for name in block.order:
                steps = prepared.steps[use.name, name]
                at = prepared.points.get((use.name, name))
                if at is not None and at.key in there:
                    legs.append(copy_leg(at, prepared))
                    steps = at.after(steps)
                legs.append(Leg(use.name, "", RUN_OVERHEAD_S))
                for step in steps:
                    legs.append(Leg(use.name, step.name, step.expected_s))
                    if at is not None and step.ordinal == at.step.ordinal:
                        legs.append(copy_leg(at, prepared))
        there |= {at.key for at in prepared.points.values()}
    return legs


def copy_leg(at: Point, prepared: Prepared) -> Leg:
    """The part of the way on which a data directory is copied."""
    return Leg(at.step.workload, "golden copy", origin.copy_s(prepared.copy_bytes[at.key]))


def run_blocks(lab: Lab, blocks: Sequence[Block]) -> Outcome:
    """Runs the blocks one after the other; one that the lab spoils is void and done again."""
    failed = voids = 0
    for index, block in enumerate(blocks):
        while True:
            lab.watch.again(legs_of(lab.plan, lab.prepared, lab.results, blocks[index:]))
            try:
                failed += run_block(lab, block)
                break
            except GeneratorDied as error:
                lab.results.void_block(block.number, str(error))
                voids += 1
                if voids > VOIDS_MAX:
                    raise
                lab.watch.say(f"block {block.number} is void and done again: {error}")
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
    """One arm going once through a workload, from a fresh server or from a golden copy."""

    lab: Lab
    block: Block
    arm: Arm
    use: WorkloadUse

    @property
    def steps(self) -> tuple[Step, ...]:
        """The workload's steps for this arm."""
        return self.lab.prepared.steps[self.use.name, self.arm.name]

    @property
    def point(self) -> Point | None:
        """Where the arm's data are kept; None where the plan says nowhere."""
        return self.lab.prepared.points.get((self.use.name, self.arm.name))

    def title(self, what: str) -> str:
        """Where the plan is, for the person who watches."""
        whole = self.lab.plan.schedule.blocks
        return f"block {self.block.number}/{whole} {self.arm.name} {what}"

    def go(self) -> int:
        """Runs all steps, or those that follow a kept state; returns how many failed or skipped.

        An arm whose server does not start has failed in all its steps.
        """
        folder = self.lab.results.run_folder(self.block.number, self.arm.name)
        (folder / "log").mkdir(exist_ok=True)
        server = preflight.provide_server(
            self.lab.plan, self.arm, self.lab.prepared, folder / "log"
        )
        steps, copy = self.steps, self.copy()
        try:
            if copy is not None and self.point is not None:
                steps = self.point.after(steps)
                self.begin_from(server, copy, began=True)
            self.lab.watch.begin(self.title("set-up"), Leg(self.use.name, "", RUN_OVERHEAD_S))
            if copy is None:
                server.prepare()
            bench = self.bench(server, warm=self.use.warm if copy is not None else None)
            broken = self.start(server, fresh=copy is None)
            if broken is None:
                store.write_json(folder / "server.json", server.facts())
            self.lab.watch.end("ready" if broken is None else broken, alarm=broken is not None)
            return self.run_steps(steps, bench, broken)
        finally:
            server.stop(crash=True)
            server.remove()

    def copy(self) -> golden.Copy | None:
        """The golden copy that this run begins from; None: from an empty server.

        Raises ServerError where the copy is damaged.
        """
        if self.point is None:
            return None
        return origin.usable(origin.find(self.lab.plan, self.point), self.lab.results)

    def begin_from(self, server: Server, copy: golden.Copy, *, began: bool) -> None:
        """Gives the server a copy of the kept data, and says so in the results.

        `began`: the run begins so; else it has just made the copy. Raises HostError where the disk
        refuses.
        """
        at = self.point
        assert at is not None
        self.lab.watch.begin(self.title("golden copy"), copy_leg(at, self.lab.prepared))
        self.lab.results.write_golden(
            self.block.number, self.arm.name, at.step.workload, origin.record(copy, at, began=began)
        )
        server.prepare_from(copy, shared_blocks=not at.writes_after)
        self.lab.watch.end(("begins from " if began else "made ") + origin.described(copy))

    def bench(self, server: Server, *, warm: str | None) -> Bench:
        """Where the steps are measured, once the machine is at rest; the server does not run yet.

        `warm`: how caches are warmed before the next step.
        """
        return Bench(
            server=server,
            sampler=partial(new_sampler, arm=self.arm, server=server, lab=self.lab),
            arm=self.arm.name,
            block=self.block.number,
            seed=self.block.seed,
            threads=self.lab.plan.threads,
            switch=self.come_to_rest(server),
            warm=warm,
            checkpoint=self.lab.plan.schedule.checkpoint is not None,
            data_path=self.lab.prepared.data_path,
        )

    def come_to_rest(self, server: Server) -> Json | None:
        """Waits until what was written before is on the disk (docs/results.md, `switch`)."""
        if server.engine == "fake":
            return None
        return quiet.quiet([self.lab.prepared.data_path])

    def start(self, server: Server, *, fresh: bool) -> str | None:
        """Starts the server, with an empty database if `fresh`; returns why it did not go."""
        try:
            server.start()
            if fresh:
                server.create_database(DATABASE)
            else:
                server.use_database(DATABASE)
        except ServerError as error:
            return str(error)
        return None

    def run_steps(self, steps: Sequence[Step], bench: Bench, broken: str | None) -> int:
        """Runs the steps in order; after one that failed the others are skipped.

        `broken`: why the server did not start; the first step has then failed for this reason.
        """
        failed = 0
        last_failed: str | None = None
        for step in steps:
            folder = self.lab.results.step_folder(self.block.number, self.arm.name, step)
            leg = Leg(self.use.name, step.name, step.expected_s)
            self.lab.watch.begin(self.title(step.name), leg)
            if last_failed is None:
                well, said = self.run_step(step, self.seeded(bench, step), folder, broken)
                last_failed = None if well else step.name
            else:
                well, said = False, f"state unknown after {last_failed}"
                measure.skip(step, bench, folder, said)
            failed += not well
            self.lab.watch.end(said, alarm=not well)
            bench = replace(bench, warm=None)
            if well and self.point is not None and step.ordinal == self.point.step.ordinal:
                bench, broken = self.keep(self.point, bench)
        return failed

    def seeded(self, bench: Bench, step: Step) -> Bench:
        """What leads to a kept state draws the same in all blocks: there is one copy for all."""
        if self.point is None or step.ordinal > self.point.step.ordinal:
            return bench
        return replace(bench, seed=origin.seed(self.lab.plan))

    def keep(self, at: Point, bench: Bench) -> tuple[Bench, str | None]:
        """Keeps what the server holds and starts it anew from a copy; the bench for what follows.

        Also why the server does not run then (None: it does); the next step fails for it.
        """
        server = bench.server
        about = origin.about(at.step, self.lab.results, self.block.number)
        try:
            copy = server.keep(at.parts, about)
            self.begin_from(server, copy, began=False)
        except ServerError as error:
            return bench, str(error)
        return self.bench(server, warm=self.use.warm), self.start(server, fresh=False)

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
