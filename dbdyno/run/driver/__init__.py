"""Drivers make a step's load: dyno-loadgen, pgbench, sysbench, or a workload file's program.

Whoever measures starts it, hears its events and lets it begin; which of them it is, `of` says.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Protocol, Self

from dbdyno.builds import Build
from dbdyno.model import Json, Plan, Step
from dbdyno.model.error import GeneratorError, LabDied
from dbdyno.model.events import AnyEvent, Told
from dbdyno.run.measurement import Bench

END_TIMEOUT_S = 30.0
"""How long the generator has for its end: more than it takes to let operations in flight end, and
then to have the server end them (contract/README.md, "Standard input")."""


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

    def prepare(self, step: Step, bench: Bench) -> Json:
        """The whole job, as job.json keeps it."""

    def start(self, job: Json, keep: Callable[[str], None], cpus: str | None) -> Running:
        """Starts it on these processors (None: all); `keep` gets the line of each event.

        Raises GeneratorError where it cannot be started.
        """


class Running(Protocol):
    """A load at work; a context manager: nothing of it is left afterwards."""

    def __enter__(self) -> Self:
        """A load that runs already."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
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


def of(step: Step) -> Driver:
    """The driver of a step, as its workload file names it."""
    # Each of them builds on what stands above.
    from dbdyno.run.driver import loadgen, pgbench, program, sysbench

    drivers: tuple[Driver, ...] = (
        *(loadgen.Loadgen(), program.Program()),
        *(pgbench.Pgbench(), sysbench.Sysbench()),
    )
    return next(one for one in drivers if one.name == step.job.get("driver", "loadgen"))


class Inbox:
    """The events of a load, waited for with an end to the waiting; they come to it by a thread.

    A context manager within the load's own.
    """

    def __init__(self, running: Running) -> None:
        self._running = running
        self._queue: SimpleQueue[AnyEvent | Exception] = SimpleQueue()
        self._thread = threading.Thread(target=self._receive, name="inbox", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Waits for its last word, by force where it takes too long."""
        self._running.hang_up()
        self._thread.join(END_TIMEOUT_S)
        if self._thread.is_alive():
            self._running.kill()
            self._thread.join()

    def next(self, until_ns: int | None = None) -> AnyEvent | None:
        """The next event; None where none came until then, in ns of CLOCK_MONOTONIC.

        Raises what `Running.events` raises.
        """
        try:
            if until_ns is None:
                found = self._queue.get()
            else:
                left_s = (until_ns - time.monotonic_ns()) / 1e9
                found = self._queue.get(timeout=max(0.0, left_s))
        except Empty:
            return None
        if isinstance(found, Exception):
            raise found
        return found

    def _receive(self) -> None:
        try:
            for event in self._running.events():
                self._queue.put(event)
        except Exception as error:
            self._queue.put(error)
