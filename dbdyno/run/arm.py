"""One arm going once through a workload: its server, from its start to its end, and its steps.

The caller decides when each step comes: one arm after the other (`runner`), or all arms in turn
(`together`).
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Self

from msgspec import structs

from dbdyno import store
from dbdyno.engine import Server, golden
from dbdyno.engine.golden_copy import Copy
from dbdyno.engine.interface import HostSampler, Keeper
from dbdyno.host import placement, quiesce
from dbdyno.host.observe.sampler import ReadingSink
from dbdyno.model import Arm, Block, HookMoment, Plan, Step, WorkloadUse
from dbdyno.model.error import CopyRefused, LabDied, ServerError
from dbdyno.model.step_files import DeviceWait, StepDone
from dbdyno.plan import schedule
from dbdyno.run import disk_space, find, hooks, measurement, profile, server_parts, starting_state
from dbdyno.run import step as steps
from dbdyno.run.driver.interface import Bench
from dbdyno.run.hooks import Hooks
from dbdyno.run.lab import Lab
from dbdyno.run.measurement import StepFailed
from dbdyno.run.progress import RUN_OVERHEAD_S, Leg, duration, rest_leg
from dbdyno.run.ready_plan import ReadyPlan, provide_server
from dbdyno.run.starting_state import StartingPoint
from dbdyno.stats.few_operations import Claim
from dbdyno.store.file import made

DATABASE = "ib"
"""The database that the workloads' tables live in; the Insert Benchmark's own name for it."""
REASON_LINES_MAX = 100
"""Of the end of a server's log: in these it says why it does not start."""


@dataclass(kw_only=True)
class Run:
    """One arm going once through a workload; a context manager: its server is gone afterwards.

    `begin` first, then `do` for each step. An arm whose server does not start has failed in all.
    """

    lab: Lab
    block: Block
    arm: Arm
    use: WorkloadUse
    extra: bool = False  # once more, unjudged (`extra_run`), when no other arm's server is up
    failed: int = 0  # steps that failed or were skipped
    broken: str | None = None  # why the server does not run; the next step fails for it
    failed_step: str | None = None  # after it the others are skipped
    counted: bool = False  # among those that are up
    judged: tuple[Step, ...] = ()  # what it goes through in this block, from `begin` on
    disk: Mapping[int, disk_space.DiskLevel] = field(default_factory=dict)  # as it began
    rested_s: float | None = None  # how long the host was idle before it; None: it did not rest
    restarted: bool = False  # on the data that the arm's last server left, which no step writes
    server: Server = field(init=False)
    bench: Bench = field(init=False)  # from `begin` on

    def __enter__(self) -> Self:
        log = made(self.home / "log")
        self.server = provide_server(self.lab.plan, self.arm, self.lab.prepared, log)
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        stays = self.use.restart and error is None and not self.failed and not self.extra
        self.server.stop(crash=not stays)
        if stays and self.point is not None:
            self.lab.servers.left[self.arm.name] = self.point.key, self.server
        elif self.server.made is not None:
            self.server.made.remove()
        if self.counted:
            self.lab.servers.ended()

    @property
    def home(self) -> Path:
        """The folder of the run's files; of an extra run beside those of the judged one."""
        results = self.lab.results
        folder = results.extra_run_folder if self.extra else results.run_folder
        return folder(self.block.number, self.arm.name)

    @property
    def point(self) -> StartingPoint | None:
        """Where the data are kept that the block begins from; None where the plan keeps none."""
        return self.lab.prepared.point(self.use, self.arm.name, self.block.number)

    def title(self, what: str) -> str:
        """The place in the plan, for the person who watches."""
        again = "again " if self.extra else ""
        return f"{self.of_block} {again}{self.arm.name} {what}"

    @property
    def of_block(self) -> str:
        """The block, in the same words."""
        if self.lab.part:
            return self.lab.part
        return f"block {self.block.number}/{self.lab.through or self.lab.plan.schedule.blocks}"

    # --- The server ---

    def begin(self) -> tuple[Step, ...]:
        """Makes and starts the server; the block's steps, all or those after a kept state.

        A copy that the server refuses is thrown away, and the block makes it anew. Raises
        CopyRefused where its server is counted: the data of these are filled by others.
        """
        steps, copy = self.lab.steps(self.block, self.use, self.arm.name), self.copy()
        self.judged = steps if copy is None or self.point is None else self.point.after(steps)
        self.set_up(copy, self.judged)
        if copy is not None and self.refuses_data():
            golden.remove(starting_state.data_root(self.lab.plan), [copy.key])
            said = f"{starting_state.described(copy)}, thrown away: {self.broken}"
            if self.lab.plan.placement.counter:
                raise CopyRefused(copy.key, said)
            self.lab.watch.say(said)
            self.broken, self.judged = None, steps
            self.set_up(None, steps)
        return self.judged

    def refuses_data(self) -> bool:
        """Whether the server did not start because the data that it was given are none of its."""
        made = self.server.made
        if self.broken is None or self.restarted or made is None:
            return False
        return golden.REFUSED.search("\n".join(made.log_tail(REASON_LINES_MAX))) is not None

    def set_up(self, copy: Copy | None, ahead: Sequence[Step]) -> None:
        """Makes and starts the server, from a copy or empty; `broken` says why it does not run."""
        self.disk = self.disk_now()
        self.cool_down()
        left = self.lab.servers.take(self.arm.name, None if copy is None else copy.key)
        self.restarted = left and self.use.restart
        if copy is not None:
            self.attempt(partial(self.begin_from, copy, began=True))
        self.lab.watch.begin(self.title("set-up"), Leg(self.use.title, "", RUN_OVERHEAD_S))
        if copy is None and self.server.made is not None:
            self.attempt(self.server.made.prepare)
        self.rest(ahead, warm=self.use.warm if copy is not None else None)
        self.attempt(partial(self.start, fresh=copy is None))
        self.attempt(self.tell)
        if self.broken is None:
            self.broken = self.hook("before-run")
        self.lab.watch.end(self.broken or "ready", alarm=self.broken is not None)

    def disk_now(self) -> dict[int, disk_space.DiskLevel]:
        """The level of each disk that the lab writes to; none where it makes no server here."""
        roots = {need.root for need in self.lab.prepared.disk}
        return disk_space.levels({*roots, self.lab.results.folder}) if roots else {}

    def cool_down(self) -> None:
        """Rests as long as the plan wants it since the last server ended, if none is up."""
        rest_s, servers = self.lab.plan.schedule.rest_s, self.lab.servers
        if rest_s and servers.rest_due:
            self.lab.watch.begin(self.title("rest"), rest_leg(rest_s))
            time.sleep(max(0.0, rest_s - servers.idle_s()))
            self.rested_s = servers.idle_s()
            self.lab.watch.end(f"idle for {duration(self.rested_s)}")
        if not self.counted:
            servers.began()
        self.counted = True

    def attempt(self, what: Callable[[], None]) -> None:
        """Does a part of the way to a running server, unless an earlier one failed.

        `broken` says why it failed: that is the arm's. Raises HostError where there is no room on
        the disk any more, which is nobody's arm.
        """
        if self.broken is not None:
            return
        try:
            what()
        except ServerError as error:
            disk_space.refuse_exhausted(self.lab.prepared.disk, str(error))
            self.broken = str(error)

    def tell(self) -> None:
        """Keeps the facts of the server, which runs. Raises ServerError."""
        facts = self.server.facts()
        if (asked_as := self.lab.prepared.asked_as.get(self.arm.name)) is not None:
            facts = structs.replace(facts, departures=(*facts.departures, asked_as))
        if self.rested_s is not None:
            facts = structs.replace(facts, rested_s=self.rested_s)
        store.write_json(self.home / "server.json", facts)

    def end(self) -> None:
        """Does the plan's actions after the last step, while the server still runs."""
        reason = None if self.broken else self.hook("after-run")
        if reason is not None:
            self.failed += 1
            self.lab.watch.say(f"{self.title('after-run')}: {reason}")

    def hook(self, moment: HookMoment) -> str | None:
        """Runs the plan's hooks of this moment; why one failed, None where all went well."""
        try:
            self.hooks.run(moment, self.server, self.home)
        except ServerError as error:
            return str(error)
        return None

    @property
    def hooks(self) -> Hooks:
        """The plan's hooks for this run."""
        return hooks.of_run(
            self.lab.plan, arm=self.arm.name, block=self.block.number, workload=self.use.title
        )

    def copy(self) -> Copy | None:
        """The golden copy that this run begins from; None: from an empty server.

        Raises ServerError where the copy is damaged.
        """
        if self.point is None:
            return None
        return starting_state.usable(
            starting_state.find(self.lab.plan, self.point), self.lab.results
        )

    def begin_from(self, copy: Copy, *, began: bool) -> None:
        """Gives the server a copy of the kept data, and says so in the results.

        `began`: the run begins so; else it has just made the copy. Raises HostError where the disk
        refuses.
        """
        at = self.point
        assert at is not None
        if not self.extra:  # the judged run has said it already
            use = starting_state.golden_use(copy, at, began=began, restarted=self.restarted)
            self.lab.results.write_golden(self.block.number, self.arm.name, use)
        if self.restarted:
            self.keeper.go_on()
            return
        self.lab.watch.begin(self.title("golden copy"), copy_leg(at, self.lab.prepared))
        self.keeper.prepare_from(copy, shared_blocks=not at.writes_after)
        self.lab.watch.end(("begins from " if began else "made ") + starting_state.described(copy))

    @property
    def keeper(self) -> Keeper:
        """How the server's data are kept and copied."""
        assert self.server.keeper is not None, "a plan saves no other arm"
        return self.server.keeper

    def rest(self, ahead: Sequence[Step], *, warm: str | None) -> None:
        """Makes the bench for the measured steps, once the machine rests; no server runs yet.

        `ahead`: the steps that follow; `warm`: how caches are warmed before the first of them.
        """
        build = self.lab.prepared.builds.get(self.arm.name)
        self.bench = Bench(
            server=self.server,
            sampler=partial(new_sampler, arm=self.arm, server=self.server, lab=self.lab),
            arm=self.arm.name,
            block=self.block.number,
            seed=self.block.seed,
            threads=self.lab.plan.threads,
            processors=placement.processors(self.lab.plan),
            switch=self.come_to_rest(ahead),
            warm=warm,
            checkpoint=self.lab.plan.schedule.checkpoint is not None,
            data_path=self.lab.prepared.data_path,
            observe=replace(self.lab.plan.observe, indexes=False),
            cpus=placement.of(self.lab.plan).generator_cpus,
            generators=self.lab.generators,
            hooks=self.hooks,
            restarted=self.restarted,
            build=None if build is None else build.base_dir,
            counted=self.lab.load is not None,
            claim=None
            if self.lab.part
            else Claim(self.lab.plan.aims.margin, self.lab.plan.schedule.blocks),
        )

    def come_to_rest(self, ahead: Sequence[Step]) -> DeviceWait | None:
        """Waits until what was written before is on the disk (docs/results.md, `switch`).

        Not where all arms wait together before the next step (`interleave.come_to_rest`), nor where
        nothing was written.
        """
        together = not self.extra and schedule.wait_together(self.lab.plan, self.use, ahead)
        if together or self.restarted or not self.server.can("clock"):
            return None
        return quiesce.quiet([self.lab.prepared.data_path])

    def start(self, *, fresh: bool) -> None:
        """Starts the server, with an empty database if `fresh`. Raises ServerError."""
        self.server.start()
        if fresh:
            self.server.create_database(DATABASE)
        else:
            self.server.use_database(DATABASE)
        steps = self.lab.steps(self.block, self.use, self.arm.name)
        server_parts.refuse_missing(self.server, steps)
        if self.server.standbys is not None and not self.hooks.joins:
            self.server.standbys.join()

    # --- The steps ---

    def do(self, step: Step) -> None:
        """Runs a step, or skips it where an earlier one failed."""
        leg = Leg(self.use.title, step.name, step.expected_s)
        self.lab.watch.begin(self.title(step.name), leg)
        begun_s = time.monotonic()
        well, said = self.run_step(step)
        self.lab.watch.end(said, alarm=not well)
        if well and not self.lab.plan.schedule.together:
            self.profile(step)
        if well and self.able and self.point and step.ordinal == self.point.step.ordinal:
            self.keep(self.point, time.monotonic() - begun_s)

    def run_step(self, step: Step) -> tuple[bool, str]:
        """Runs one step; returns whether it ended well, and what came out in words."""
        folder, bench = self.place(step)
        if self.judged[-1:] == (step,):
            bench = replace(bench, observe=self.lab.plan.observe)
        if self.failed_step is not None:
            reason = f"state unknown after {self.failed_step}"
            measurement.skip(step, bench, folder, reason)
            self.failed += 1
            return False, reason
        try:
            if self.broken is not None:
                measurement.give_up(step, bench, folder, self.broken)
            done = steps.measure(step, bench, folder, self.lab.watch.rate, self.lab.load)
            searched = self.search(step, done)
        except StepFailed as error:
            return self.ended(step, error)
        well, said = self.ended(step, done)
        return well, "; ".join(filter(None, (said, searched)))

    def profile(self, step: Step) -> None:
        """Profiles a further window of a step that has ended well, where the plan wants it."""
        wish = self.lab.plan.observe.profile
        if wish is None or not profile.wanted(self.lab.plan, step) or not profile.goes_on(step):
            return
        leg = profile.leg(self.use.title, profile.window(step, wish))
        self.lab.watch.begin(self.title(leg.step), leg)
        folder, bench = self.place(step)
        before = self.server.failure()
        self.lab.watch.end(profile.further(step, wish, bench, folder, self.lab.watch.rate))
        if self.server.failure() != before:  # what later steps would find is no longer the same
            self.failed_step = leg.step

    def search(self, step: Step, done: StepDone) -> str:
        """Searches the highest rate where the plan wants it; what was found in words."""
        if step.p99_below_us is None:
            return ""
        self.bench = replace(self.bench, warm=None)
        return find.search(step, done, self.place, self.lab.watch.rate)

    @property
    def able(self) -> bool:
        """Whether the next step can be measured at all."""
        return self.broken is None and self.failed_step is None

    def place(self, step: Step) -> tuple[Path, Bench]:
        """The folder of a step's files, and the bench that measures it."""
        folder = self.lab.results.step_folder(self.block.number, self.arm.name, step)
        return folder, self.seeded(step)

    def ended(self, step: Step, outcome: StepDone | StepFailed) -> tuple[bool, str]:
        """Takes note of how a step ended; whether well, and what came out in words.

        Raises LabDied where other programs filled the disk: then it is not the arm's failure.
        """
        self.bench = replace(self.bench, warm=None)
        if not isinstance(outcome, StepFailed):
            device = None if outcome.canary is None else outcome.canary.device
            self.bench = replace(self.bench, device=device)
            return True, steps.summary(step, outcome)
        if (taken := disk_space.taken_by_others(self.disk, self.disk_now())) is not None:
            raise LabDied(f"{step.name}: {outcome}; {taken}")
        self.failed += 1
        if not step.goes_on:
            self.failed_step = step.name
        return False, f"failed: {outcome}"

    def seeded(self, step: Step) -> Bench:
        """The bench of a step: its seed is the same in all blocks of a fill up to a kept state."""
        if self.point is None or step.ordinal > self.point.step.ordinal:
            return self.bench
        return replace(self.bench, seed=self.point.seed)

    def keep(self, at: StartingPoint, took_s: float) -> None:
        """Keeps what the server holds and starts it anew from a copy; its step took so long.

        `broken` says why the server does not run then.
        """
        origin = replace(
            starting_state.origin(at.step, self.lab.results, self.block.number, took_s),
            report=starting_state.report(self.lab.results, self.place(at.step)[0]),
        )
        self.attempt(lambda: self.begin_from(self.keeper.keep(at.parts, origin), began=False))
        if self.broken is None:
            device = self.bench.device
            ahead = at.after(self.lab.steps(self.block, self.use, self.arm.name))
            self.rest(ahead, warm=self.use.warm)
            self.bench = replace(self.bench, device=device)
        self.attempt(partial(self.start, fresh=False))


def copy_leg(at: StartingPoint, prepared: ReadyPlan) -> Leg:
    """The part of the way on which a data directory is copied."""
    return Leg(at.step.workload, "golden copy", starting_state.copy_s(prepared.copy_bytes[at.key]))


def new_sampler(kept: ReadingSink, *, arm: Arm, server: Server, lab: Lab) -> HostSampler:
    """The sampler for a step of `arm`."""
    foreign = knows_foreign(arm, lab.plan)
    return server.sampler(kept, device=lab.prepared.device, foreign=foreign)


def knows_foreign(arm: Arm, plan: Plan) -> bool:
    """Whether foreign load in this arm's windows can be told from the servers compared.

    One of a DSN may run on this host: in its own windows, and in turns in all, it is no other's.
    """
    in_turns = plan.schedule.interleave == "turn"
    return not any(other.dsn is not None for other in (plan.arms if in_turns else (arm,)))
