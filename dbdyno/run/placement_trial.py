"""A trial of 10 to 20 seconds that chooses `[schedule] placement` for a host and a workload.

One server of the base is filled, or begins from a golden copy, which the plan's own blocks find
afterwards. Then short windows of the first step that only reads follow each other: two with its
sessions beside their clients, two as the kernel likes, and so on. Both windows of a pair measure
the same, so what they differ by is the scatter that a plan's turns would have.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Self

from msgspec import structs

from dbdyno.engine.interface import MadeServer
from dbdyno.host.observe.usage import ProcessReader, counts_nanoseconds
from dbdyno.model import Observation, Plan, Schedule, Step, Void
from dbdyno.model.events import ConnectedEvent, DoneEvent, ReadyEvent, Tick, WindowClose, WindowOpen
from dbdyno.model.placement import PlacedCost, PlacementTrial
from dbdyno.model.step_files import StepDone
from dbdyno.plan import schedule
from dbdyno.run import blocks
from dbdyno.run.driver import registry
from dbdyno.run.driver.interface import Bench
from dbdyno.run.measurement import Measurement, StepFailed
from dbdyno.run.progress import Pulse
from dbdyno.run.ready_plan import ReadyPlan
from dbdyno.run.sessions import Sessions
from dbdyno.run.step import Load

PAIRS, PAIRS_CLEAR = 11, 6
"""Of each placement; the first of both is for caches and is left out. Fewer are enough for a clear
choice: in simulations it then is another one than that of all in 1 % of trials at most.
"""
WINDOW_S, WARM_UP_S = 0.3, 0.1
SECONDS_MAX = 20.0
"""For all pairs beyond PAIRS_CLEAR."""
MAD_TO_SD = 1.4826
"""The standard deviation of a normal distribution by its median absolute deviation: a burst of
other load in a few windows decides nothing."""
UNDISTURBED = Void(foreign=1.0)
"""A disturbed trial counts: both placements have the same share of it."""


def measured(plan: Plan) -> PlacementTrial | None:
    """The trial of a plan whose placement is left open, while the caller has the host's lock.

    None where the plan has no step to try, or the base failed in it. Raises DynoError as a block
    does.
    """
    (base,) = (arm for arm in plan.arms if arm.name == plan.base)
    alone = replace(
        plan,
        name=f"{plan.name}.placement",
        arms=(base,),
        workloads=(replace(plan.workloads[0], restart=False),),
        schedule=Schedule(placement="together", repeats_max=0, void=UNDISTURBED),
        observe=Observation(),
        hooks=(),
        chosen_s=None,
        attribution=None,
        count=None,
    )
    windows: list[TrialWindow] = []
    with (
        tempfile.TemporaryDirectory(prefix="dyno-placement-") as folder,
        blocks.opened(alone, Path(folder), quiet=True) as lab,
    ):
        steps = tried(lab.prepared, alone)
        if not steps:
            return None
        prepared = replace(lab.prepared, steps={alone.workloads[0].title: {base.name: steps}})
        lab = replace(
            lab,
            prepared=prepared,
            load=partial(ShortWindows, steps[-1].name, windows),
            part="trial",
        )
        outcome = blocks.run_whole(lab, [schedule.block(alone, 1)])
    return None if outcome.failed else trial_of(steps[-1].name, windows)


def tried(prepared: ReadyPlan, plan: Plan) -> tuple[Step, ...]:
    """The base's steps up to the first that is timed and only reads; none where there is none."""
    steps = prepared.steps[plan.workloads[0].title][plan.base]
    for number, step in enumerate(steps, start=1):
        if step.measured and not step.writes and step.headline and step.job.stop.seconds:
            return tuple(steps[:number])
    return ()


# --- Windows -----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class TrialWindow:
    """A short window of a step's load."""

    together: bool
    us: float  # of a client's time for an operation
    cpu_us: float  # of the server's sessions for it


def trial_of(step: str, windows: Sequence[TrialWindow]) -> PlacementTrial | None:
    """The trial of a step, from its windows in their order; None where one had no operation."""
    if not windows or not all(math.isfinite(window.us) for window in windows):
        return None
    together, free = (
        cost_of([window for window in windows if window.together is together])
        for together in (True, False)
    )
    return PlacementTrial(step=step, together=together, free=free)


def cost_of(windows: Sequence[TrialWindow]) -> PlacedCost:
    """The median cost of an operation in windows of one placement, the first two left out."""
    pairs = list(zip(windows[2::2], windows[3::2], strict=True))
    return PlacedCost(
        us=median(window.us for pair in pairs for window in pair),
        cpu_us=median(window.cpu_us for pair in pairs for window in pair),
        scatter=MAD_TO_SD * median(abs(math.log(first.us / second.us)) for first, second in pairs),
    )


def windows_of(step: str, take: Callable[[bool], TrialWindow]) -> list[TrialWindow]:
    """Windows of both placements by turns, two of each, until the choice is clear.

    Also until SECONDS_MAX are over: beside other load a generator's start takes longer than its
    window. `take`: makes a window, with sessions beside their clients or not.
    """
    windows: list[TrialWindow] = []
    end_s = time.monotonic() + SECONDS_MAX
    for number in range(1, PAIRS + 1):
        windows += [take(together) for together in (True, True, False, False)]
        trial = trial_of(step, windows) if number == PAIRS_CLEAR else None
        over = number >= PAIRS_CLEAR and time.monotonic() >= end_s
        if over or (trial is not None and trial.is_clear):
            break
    return windows


class ShortWindows(Load):
    """The load of the step that is tried: short windows, in place of the step's own."""

    def __init__(self, step: str, windows: list[TrialWindow], measurement: Measurement) -> None:
        super().__init__(measurement)
        self._windows = windows if self.step.name == step else None
        self._made = self.bench.server.made

    def __enter__(self) -> Self:
        """Starts nothing yet, unless it is the load of a step before."""
        return self if self._windows is not None else super().__enter__()

    def run(self, show: Callable[[Pulse], None]) -> None:
        """Takes all windows. Raises GeneratorError, StepFailed."""
        made = self._made
        if self._windows is None or made is None:
            super().run(show)
            return
        together, free = self.bench, replace(self.bench, processors=())
        self._windows += windows_of(
            self.step.name, lambda placed: window(self.step, together if placed else free, made)
        )

    def end(self, done: StepDone) -> None:
        """As any load; of the windows nothing is kept with the step."""
        if self._windows is None:
            super().end(done)


def window(step: Step, bench: Bench, made: MadeServer) -> TrialWindow:
    """A short window of a step's load, placed as the bench says. Raises StepFailed."""
    stop = structs.replace(step.job.stop, seconds=WINDOW_S, warmup_s=WARM_UP_S)
    short = replace(step, job=structs.replace(step.job, stop=stop))
    makes, placed, spent = registry.of(step), Sessions(made), SessionCost(made)
    role, operations, seconds = step.headline and step.headline.role, 0, 0.0
    with makes.start(makes.prepare(short, bench), lambda line: None, bench.cpus) as load:
        for event in load.events():
            match event:
                case ConnectedEvent():
                    spent.take(event)
                    placed.take(event)
                case ReadyEvent():
                    load.go()
                case WindowOpen():
                    spent.open()
                case Tick() if event.measured and event.role == role:
                    operations += sum(client.count for client in event.per_client)
                    seconds += event.active_ns / 1e9
                case WindowClose():
                    spent.close()
                    placed.release()
                    load.stop()
                case DoneEvent() if event.status != "ok":
                    raise StepFailed(event.reason or event.status)
    connections = step.job.connections
    return TrialWindow(
        together=bool(bench.processors),
        us=connections * seconds * 1e6 / operations if operations else math.inf,
        cpu_us=spent.us / operations if operations else math.inf,
    )


class SessionCost:
    """The CPU time that a server's sessions take in a window."""

    def __init__(self, made: MadeServer) -> None:
        self._made = made
        self._readers: list[ProcessReader] = []
        self.us = 0.0

    def take(self, event: ConnectedEvent) -> None:
        """Takes note of a session, of which the server may not say which thread it is."""
        nanoseconds, pid = counts_nanoseconds(), self._made.postmaster_pid
        if not self._made.threads:
            self._readers.append(ProcessReader(pid=event.server_pid, nanoseconds=nanoseconds))
        elif pid is not None and event.server_tid is not None:
            reader = ProcessReader(pid=pid, nanoseconds=nanoseconds, thread_id=event.server_tid)
            self._readers.append(reader)

    def open(self) -> None:
        """Reads what they had spent before the window."""
        self.us = -self._now_us()

    def close(self) -> None:
        """Reads what they have spent up to its end."""
        self.us += self._now_us()

    def _now_us(self) -> float:
        readings = filter(None, (reader.read() for reader in self._readers))
        return sum(reading.usage.cpu_ns for reading in readings) / 1e3
