"""The interface of drivers: what they are given, what they are, and what they start.

Whoever measures starts a driver, hears its events and lets it begin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, Self

from msgspec import Struct

from dbdyno.builds import Build
from dbdyno.engine import Server
from dbdyno.engine.interface import HostSampler
from dbdyno.host.observe.sampler import ReadingSink
from dbdyno.model import Observation, Plan, Step
from dbdyno.model.error import GeneratorError, LabDied
from dbdyno.model.events import AnyEvent, Told
from dbdyno.model.job import Job
from dbdyno.model.step_files import DeviceReading, DeviceWait, Turns
from dbdyno.run.hooks import Hooks
from dbdyno.stats.few_operations import Claim

END_TIMEOUT_S = 30.0
"""How long the generator has for its end: more than it takes to let operations in flight end, and
then to have the server end them (contract/README.md, "Standard input")."""

Keep = Callable[[str], None]
"""Gets a line."""


@dataclass(frozen=True, kw_only=True)
class Bench:
    """The place of a measurement: the server, its database's name, the block's seed."""

    server: Server
    sampler: Callable[[ReadingSink], HostSampler]  # its lines are those of host.jsonl
    arm: str
    block: int
    seed: int
    threads: int | None  # of the generator; None: its own default
    processors: tuple[int, ...] = ()  # that clients share with their sessions; (): none
    switch: DeviceWait | None  # what was waited for before this arm's server started
    warm: str | None = None  # how caches are warmed before the step: it is the first after a start
    checkpoint: bool = False  # whether the step begins with a checkpoint
    data_path: Path | None = None  # on the device that has to rest after it
    turns: Turns | None = None  # how the step is interleaved with other arms'; None: it is not
    observe: Observation = field(
        default_factory=Observation
    )  # of the server while the window is open
    cpus: str | None = None  # the processors of the generator; None: all
    generators: Generators | None = None  # on other hosts; None: the load is made here
    hooks: Hooks | None = None  # what the plan wants before and after the step
    build: Path | None = None  # the folder of the arm's build; None: the lab does not make it
    device: DeviceReading | None = None  # the run's last such reading, if any
    counted: bool = False  # whether a counter slows the server: beside its load nothing is asked
    restarted: bool = False  # on data that nothing has written to: the host is at rest
    claim: Claim | None = None  # what operations have to be enough for; None: for nothing


class Driver(Protocol):
    """A program that makes load; a file in run/driver each."""

    @property
    def name(self) -> str:
        """Its name in a workload file."""

    @property
    def tells(self) -> frozenset[Told]:
        """The facts that its events may tell, and its capabilities."""

    def check(self, step: Step, plan: Plan, build: Build | None) -> None:
        """Raises PlanError where it cannot make the load of the step, before anything starts.

        `build` is the arm's; None: the lab does not make its server.
        """

    def version(self, step: Step) -> str | None:
        """Facts beside its name and its job that would make another load; None: there are none."""

    def prepare(self, step: Step, bench: Bench) -> Job:
        """The whole job, as job.json keeps it."""

    def start(self, job: Job, keep: Callable[[str], None], cpus: str | None) -> RunningLoad:
        """Starts it on these processors (None: all); `keep` gets the line of each event.

        Raises GeneratorError where it cannot be started.
        """


class RunningLoad(Protocol):
    """A load at work; a context manager: nothing of it is left afterwards."""

    def __enter__(self) -> Self:
        """A load that runs already."""

    def __exit__(self, *_: object) -> None:
        """Ends it, by asking and then by force."""

    def events(self) -> Iterator[AnyEvent]:
        """The events of model/events, from hello to done, each as soon as it is known.

        Raises GeneratorError where one is not as agreed, GeneratorDied where `done` does not come.
        """

    def go(self) -> None:
        """Begins, after `ready`."""

    def stop(self) -> None:
        """Ends it early; after `window_close` lets it close its connections."""

    def pause(self) -> None:
        """Asked only of who tells `pauses`: begins nothing more until `resume`."""

    def resume(self) -> None:
        """Goes on after a pause."""

    def hang_up(self) -> None:
        """Says that nobody listens any more: it ends by itself. Doing so twice is harmless."""

    def kill(self) -> None:
        """Ends it by force."""


class GeneratorDied(GeneratorError, LabDied):
    """The generator ended in the middle of a step, by no doing of the arm."""


# --- Load from several places ---


class TimedLoad(RunningLoad, Protocol):
    """A load that can start at an instant."""

    def go(self, at_ns: int | None = None) -> None:
        """Begins, after `ready`: at once, or when its own CLOCK_MONOTONIC says `at_ns`."""


@dataclass(frozen=True)
class Clock:
    """What is known of a host's CLOCK_MONOTONIC."""

    offset_ns: int  # what it is ahead of ours
    bound_ns: int  # how far wrong that may be


@dataclass(frozen=True)
class Seat:
    """A place where a share of the load is made."""

    name: str
    clock: Clock
    start: Callable[[Job, Keep, str | None], TimedLoad]  # as Driver.start
    here: bool = False  # whether that is this host, whose processes the sampler sees


class NetworkReading(Struct, frozen=True, tag=True):
    """The network towards a server; None where nobody tells."""

    round_trip_us: float | None
    sent_bytes: int | None  # so far, of the interface
    received_bytes: int | None


class Generators(Protocol):
    """The plan's hosts that make the load of a server on another one."""

    def seats(self, server: Server) -> Sequence[Seat]:
        """A seat on each, with what its clock says now. Raises LabDied where one is lost."""

    def network(self, server: Server, *, trip: bool) -> dict[str, NetworkReading]:
        """By host the bytes that its interface towards the server has carried so far.

        `trip`: and how long a round trip to the server takes. Raises LabDied.
        """
