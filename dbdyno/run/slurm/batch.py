"""The jobs of the blocks up to a look: submitted, followed, collected, submitted again.

Blocks end in any order. What Slurm says only decides when a job is looked after: what it has
measured is in its files, and they decide what came out.
"""

import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeGuard

from dbdyno.model import Block, Plan
from dbdyno.model.error import HostError
from dbdyno.model.grouping import grouped
from dbdyno.run import blocks as runner
from dbdyno.run import repeats
from dbdyno.run.blocks import PlanOutcome
from dbdyno.run.lab import Lab
from dbdyno.run.progress import Leg
from dbdyno.run.slurm import collect, hosts
from dbdyno.run.slurm.cluster import Cluster, ClusterRequest, JobState
from dbdyno.run.slurm.collect import JobEnding
from dbdyno.run.slurm.spool import Spool, SpoolJob
from dbdyno.store import Results

Place = tuple[str, int]
States = dict[Place, JobState]
RUNNING, WAITING = "running", "queued"
BLOCK = "a block on a node"
"""The leg of a block, as its steps are shown nowhere."""


@dataclass(kw_only=True)
class Jobs:
    """A plan's jobs, as one process submits and follows them."""

    cluster: Cluster
    wish: ClusterRequest
    spool: Spool
    lock: int  # held by this process
    command: Sequence[str]  # of a job, before its folder
    poll_s: float
    settle_s: float  # how long files of another node may take to be seen here
    _missing_s: dict[Place, float] = field(default_factory=dict)
    _ended_s: dict[Place, float] = field(default_factory=dict)  # that have done all they had to

    def submit(
        self, plan: Plan, blocks: Sequence[Block], results: Path, through: int | None = None
    ) -> list[SpoolJob]:
        """Submits a job for each block, or the one that checks the plan. Raises HostError."""
        made = self.spool.submission(plan, blocks, results, through)
        words = " ".join(shlex.quote(word) for word in [*self.command, str(made.folder)])
        made.script.write_text(f"#!/bin/sh\nexec {words}\n")
        parts = made.parts()
        try:
            indices = [part.index for part in parts]
            nodes = len(hosts.names(plan))
            self.cluster.submit(made.script, made.name, indices, self.wish, self.lock, nodes)
        except HostError:
            self.drop(parts)  # nobody may find them and wait
            raise
        return parts

    def drop(self, parts: Iterable[SpoolJob]) -> None:
        """Forgets jobs that never began."""
        for part in parts:
            part.close(keep_log=False)

    def states(self, parts: Iterable[SpoolJob]) -> States:
        """What Slurm knows of these jobs, and of those that have ended. Raises HostError."""
        names = {part.submission.name for part in parts} | {name for name, _ in self._ended_s}
        states = self.cluster.states(names)
        self._end_lingering(states)
        return states

    def _end_lingering(self, states: States) -> None:
        """Ends jobs of which Slurm has missed the end: they would keep their nodes.

        A controller that comes back with an older state misses an end that it had seen before.
        """
        for place, since_s in self._ended_s.items():
            state = states.get(place)
            if is_alive(state) and time.monotonic() - since_s >= self.settle_s:
                self.cluster.say(f"job {state.job_id} is over, and Slurm keeps it: dyno ends it")
                self.cluster.cancel([state.job_id])
                self._ended_s[place] = time.monotonic()

    def wait_for_ends(self) -> None:
        """Until jobs that have done all they had to are gone. Raises HostError."""
        while True:
            states = self.states(())
            if not any(is_alive(states.get(place)) for place in self._ended_s):
                break
            time.sleep(self.poll_s)
        self._ended_s.clear()

    def over(self, parts: Iterable[SpoolJob], states: States) -> list[SpoolJob]:
        """The jobs that are over and whose files can be trusted to be all there.

        What a job wrote last may be seen here only some seconds later.
        """
        return [part for part in parts if self._is_over(part, states.get(part.place))]

    def _is_over(self, part: SpoolJob, state: JobState | None) -> bool:
        ended = part.ended()
        if ended is not None and not ended.interrupted:
            return True
        if is_alive(state):  # who interrupted it is known at its end
            self._missing_s.pop(part.place, None)
            return False
        if ended is not None or (state is not None and state.state in collect.OF_USER):
            return True
        since_s = self._missing_s.setdefault(part.place, time.monotonic())
        return time.monotonic() - since_s >= self.settle_s

    def take(self, part: SpoolJob, state: JobState | None, results: Results) -> JobEnding:
        """Takes what a job has measured that is over, and forgets it. Raises HostError."""
        if state is not None and len(part.starts()) > 1:
            # A controller that came back with an older state has started it again, and it may run.
            self.cancel([part], {part.place: state})
        end = collect.collect(part, state, results)
        self.close(part, end)
        return end

    def close(self, part: SpoolJob, end: JobEnding) -> None:
        """Forgets a job, which has to be gone before the batch is over."""
        self._ended_s[part.place] = time.monotonic()
        part.close(keep_log=end.reason is not None)

    def cancel(self, parts: Iterable[SpoolJob], states: States) -> None:
        """Ends these jobs. Raises HostError."""
        self.cluster.cancel(alive(parts, states))


def alive(parts: Iterable[SpoolJob], states: States) -> list[str]:
    """The ids of those jobs that Slurm knows and that are not over."""
    known = (states.get(part.place) for part in parts)
    return [state.job_id for state in known if is_alive(state)]


def is_alive(state: JobState | None) -> TypeGuard[JobState]:
    """Whether Slurm knows the job and takes it for one that is not over."""
    return state is not None and not state.is_over


@dataclass(kw_only=True)
class Batch:
    """The blocks up to the next look, on their way."""

    jobs: Jobs
    lab: Lab
    fits: Callable[[], bool]
    wanted: dict[int, Block]  # that are not in the results yet
    parts: list[SpoolJob] = field(default_factory=list)  # their jobs
    given_up: dict[int, str] = field(default_factory=dict)  # why a block is not done in the end
    tries: dict[int, int] = field(default_factory=dict)  # how often a block was submitted here
    leaving: set[Place] = field(default_factory=set)  # jobs that were ended from here
    enough: bool = False  # whether no further block fits
    failed: int = 0
    voids: int = 0
    shown: str = ""

    def go(self) -> PlanOutcome:
        """Until every block is done, or nothing more can be done for it. Raises HostError."""
        self.adopt()
        legs = {number: self.leg(block) for number, block in self.wanted.items()}
        self.lab.watch.again(list(legs.values()))
        self.lab.watch.begin("jobs", next(iter(legs.values())))
        self.enough = not self.fits()
        while True:
            self.submit()
            states = self.jobs.states(self.parts)
            for part in self.jobs.over(self.parts, states):
                self.take(part, states.get(part.place))
            if self.enough:
                self.withdraw(states)
            self.show(states)
            if not self.parts and not self.due():
                break
            time.sleep(self.jobs.poll_s)
        self.jobs.wait_for_ends()
        if self.given_up:
            raise HostError(words_of(self.given_up))
        return PlanOutcome(folder=self.lab.results.folder, failed=self.failed, voids=self.voids)

    def adopt(self) -> None:
        """Keeps the jobs of an earlier command that measure what is wanted; ends the others."""
        self.parts = self.jobs.spool.parts()
        changed = [
            part
            for part in self.parts
            if part.submission.blocks.get(part.index) != self.wanted.get(part.index)
        ]
        for part in changed:
            self.lab.watch.say(f"the job of block {part.index} is ended: the plan has changed")
            self.leaving.add(part.place)
        self.jobs.cancel(changed, self.jobs.states(changed))

    def due(self) -> list[Block]:
        """The blocks that have no job and still want one."""
        if self.enough:
            return []
        under_way = {part.index for part in self.parts} | self.given_up.keys()
        return [block for number, block in self.wanted.items() if number not in under_way]

    def submit(self) -> None:
        """Submits a job for each block that wants one."""
        blocks = self.due()
        if not blocks:
            return
        for block in blocks:
            self.tries[block.number] = self.tries.get(block.number, 0) + 1
        folder = self.lab.results.folder.absolute()
        parts = self.jobs.submit(self.lab.plan, blocks, folder, self.lab.through)
        self.parts += parts
        numbers = listed([block.number for block in blocks])
        self.lab.watch.say(f"submitted to Slurm: {numbers} ({parts[0].submission.name})")

    def take(self, part: SpoolJob, state: JobState | None) -> None:
        """Takes what a job has measured that is over."""
        number = part.index
        end = self.jobs.take(part, state, self.lab.results)
        self.parts.remove(part)
        self.failed += end.failed
        self.voids += len(end.voids)
        again = end.again and self.may_repeat(number) and part.place not in self.leaving
        for line in said_of(number, end, again=again):
            self.lab.watch.say(line)
        if end.done:
            self.wanted.pop(number, None)
            self.done(number, end)
        elif not again and part.place not in self.leaving:
            self.given_up[number] = end.reason or "the job ended without its block"

    def done(self, number: int, end: JobEnding) -> None:
        """Says that a block is done, and asks whether further ones fit."""
        watch = self.lab.watch
        watch.retitle(f"block {number} on {end.node}")
        watch.end("done")
        watch.begin(self.shown, Leg(BLOCK, "", None))
        if end.reason is not None:
            self.given_up[number] = end.reason
        if not self.enough:
            self.enough = not self.fits()

    def may_repeat(self, number: int) -> bool:
        """Whether a block that failed by no doing of its own is done again by itself."""
        most = self.lab.plan.schedule.repeats_max
        kept = repeats.of_block(self.lab.results, number)
        return max(kept, self.tries.get(number, 0)) <= most

    def withdraw(self, states: States) -> None:
        """Ends the jobs that have not begun, as their blocks do not fit any more."""
        waiting = [
            part
            for part in self.parts
            if (state := states.get(part.place)) is not None and state.waits
        ]
        self.jobs.cancel(waiting, states)
        for part in waiting:
            if part.begun() is None:
                part.close(keep_log=False)
                self.parts.remove(part)

    # --- What is shown ---

    def leg(self, block: Block | None) -> Leg:
        """The part of the way of one block."""
        expected_s = 0.0
        if block is not None:
            for leg in runner.legs_of(self.lab, [block]):
                expected_s += self.lab.watch.forecast.seconds(leg)
        return Leg(BLOCK, "", expected_s)

    def show(self, states: States) -> None:
        """Shows what runs and what waits: a line at the foot, or one for each change."""
        done = sum(block.state == "done" for block in self.lab.results.blocks())
        text = f"{done} of {self.lab.through} done"
        text = "; ".join(filter(None, (text, described(self.parts, states))))
        self.lab.watch.retitle(text)
        if self.parts and text != self.shown and not self.lab.watch.console.is_terminal:
            self.lab.watch.say(text)
        self.shown = text


def said_of(number: int, end: JobEnding, *, again: bool) -> Iterator[str]:
    """What is said of a block whose job is over; `again`: it is submitted again."""
    for reason in end.voids:
        ending = " and is submitted again" if again and reason == end.voids[-1] else ""
        yield f"block {number} is void{ending}: {reason}"
    if again and not end.voids:
        yield f"block {number} is submitted again: {end.reason}"


def described(parts: Sequence[SpoolJob], states: States) -> str:
    """`running: block 3 on n1, block 4 on n2; queued: blocks 5 and 6 (Resources)`."""
    runs, waits, why = [], [], ""
    for part in sorted(parts, key=lambda part: part.index):
        state, begun = states.get(part.place), part.begun()
        if begun is not None or (state is not None and not state.waits):
            node = begun.node if begun is not None else state.node if state is not None else ""
            runs.append(f"block {part.index} on {node}" if node else f"block {part.index}")
        else:
            waits.append(part.index)
            why = state.why if state is not None and state.why else why
    said = [f"{RUNNING}: {', '.join(runs)}"] if runs else []
    said += [f"{WAITING}: {listed(waits)}{f' ({why})' if why else ''}"] if waits else []
    return "; ".join(said)


def listed(numbers: Sequence[int]) -> str:
    """`block 3`, or `blocks 3, 4, 5`."""
    return f"block{'s' * (len(numbers) != 1)} {', '.join(map(str, sorted(numbers)))}"


def words_of(given_up: dict[int, str]) -> str:
    """Why blocks are not done, in one line; the first reason stands for those that are the same."""
    by_reason = grouped((reason, number) for number, reason in given_up.items())
    said = "; ".join(f"{listed(numbers)}: {reason}" for reason, numbers in by_reason.items())
    return f"{said}; run the same command to submit them again"
