"""One step's load from several dyno-loadgen, each with a share of its connections, as one load.

Where a generator runs, a seat knows. Each gets a segment of the job, all start at one instant, and
their events are merged into one stream of the contract (contract/README.md, "Several generators").
A job that cannot be shared runs on the first seat alone.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from queue import SimpleQueue
from typing import NoReturn, Self

from msgspec.structs import replace

from dbdyno.model import Step
from dbdyno.model.error import GeneratorError, PlanError
from dbdyno.model.events import AnyEvent, StartedEvent, line
from dbdyno.model.job import Job, JobSegment
from dbdyno.model.job.role import RatePace, TiedPace
from dbdyno.run.driver.interface import END_TIMEOUT_S, GeneratorDied, Keep, Seat, TimedLoad
from dbdyno.run.driver.merged_events import Merge, Share

START_AHEAD_NS = 150_000_000
"""How long before the common instant of their start generators are told of it."""
BOUNDS_AHEAD = 4
"""So many bounds of the worst clock more: a bound is about half a round trip."""
APART_NS_MAX = 50_000_000
"""A twentieth of a second; generators that start further apart do not make the planned load."""


def unkept(_name: str) -> Keep:
    """Keeps the lines of no generator."""
    return lambda line: None


class SpreadLoad:
    """A load that several seats share (interface.RunningLoad). A context manager: none is left."""

    def __init__(
        self,
        job: Job,
        seats: Sequence[Seat],
        keep: Keep,
        cpus: str | None = None,
        *,
        raw: Callable[[str], Keep] = unkept,
    ) -> None:
        """Starts a generator on each seat that has a part in it, on these processors of its host.

        `keep` gets the line of each merged event, `raw(name)` those of the seat of that name as
        they come. Raises GeneratorError where one cannot be started.
        """
        self._seats = seats[: width(job, len(seats))]
        self._job, self._keep = job, keep
        self._queue: SimpleQueue[tuple[int, AnyEvent | Exception]] = SimpleQueue()
        self._running: list[TimedLoad] = []
        shares = [
            Share(name=seat.name, offset_ns=seat.clock.offset_ns, here=seat.here)
            for seat in self._seats
        ]
        self._merge = Merge(job, shares)
        self._threads = [
            threading.Thread(target=self._receive, args=[number], name=seat.name, daemon=True)
            for number, seat in enumerate(self._seats)
        ]
        with ExitStack() as stack:
            for number, seat in enumerate(self._seats):
                part = replace(job, segment=JobSegment(index=number, of=len(self._seats)))
                running = seat.start(part, raw(seat.name), cpus)
                self._running.append(stack.enter_context(running))
            self._stack = stack.pop_all()

    @property
    def starts_ns(self) -> Mapping[str, int]:
        """When each seat's generator started, by our clock, of those that have."""
        return self._merge.starts_ns()

    def go(self) -> None:
        """Starts all at one instant shortly ahead."""
        bound_ns = max(seat.clock.bound_ns for seat in self._seats)
        at_ns = time.monotonic_ns() + START_AHEAD_NS + BOUNDS_AHEAD * bound_ns
        for seat, running in zip(self._seats, self._running, strict=True):
            running.go(at_ns + seat.clock.offset_ns)

    def pause(self) -> None:
        """Lets operations in flight end everywhere, and begins no others until `resume`."""
        for running in self._running:
            running.pause()

    def resume(self) -> None:
        """Goes on everywhere, once `paused` has come."""
        for running in self._running:
            running.resume()

    def stop(self) -> None:
        """Ends the step early; after `window_close`: lets all close their connections."""
        for running in self._running:
            running.stop()

    def hang_up(self) -> None:
        """Tells all that nobody listens any more. Doing so twice is harmless."""
        for running in self._running:
            running.hang_up()

    def kill(self) -> None:
        """Ends all by force."""
        for running in self._running:
            running.kill()

    def events(self) -> Iterator[AnyEvent]:
        """The merged events up to `done`.

        Raises GeneratorDied where one of the generators does not come to its `done`, or started
        late; GeneratorError as Running.events does.
        """
        for thread in self._threads:
            thread.start()
        stopped = False
        while not self._merge.over:
            number, incoming = self._queue.get()
            if isinstance(incoming, Exception):
                self._raise(self._seats[number].name, incoming)
            for event in self._merge.take(number, incoming):
                self._keep(line(event) + "\n")
                yield event
            if isinstance(incoming, StartedEvent):
                self._refuse_late()
            if self._merge.broken and not stopped:
                stopped = True
                self._stop_others()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Ends all, by asking and then by force."""
        try:
            self.hang_up()
            self._join()
        finally:
            self._stack.close()

    def _join(self) -> None:
        """Waits until nothing more is read of them, by force where that takes too long."""
        until_s = time.monotonic() + END_TIMEOUT_S
        begun = [thread for thread in self._threads if thread.ident is not None]
        for thread in begun:
            thread.join(max(0.0, until_s - time.monotonic()))
        if any(thread.is_alive() for thread in begun):
            self.kill()
            for thread in begun:
                thread.join()

    def _receive(self, number: int) -> None:
        try:
            for event in self._running[number].events():
                self._queue.put((number, event))
        except Exception as error:
            self._queue.put((number, error))

    def _raise(self, name: str, error: Exception) -> NoReturn:
        """Raises the error with the name of the seat, as what it is."""
        if isinstance(error, GeneratorError):
            raise type(error)(f"generator on {name}: {error}") from error
        raise error

    def _stop_others(self) -> None:
        """One has ended before its time: the others' load alone is not the step's."""
        for share, running in zip(self._merge.shares, self._running, strict=True):
            if not share.over:
                running.stop()

    def _refuse_late(self) -> None:
        starts = self.starts_ns
        apart_ns = max(starts.values()) - min(starts.values())
        if apart_ns > APART_NS_MAX:
            late = max(starts, key=lambda name: starts[name])
            raise GeneratorDied(
                f"generator on {late} started {apart_ns / 1e6:.0f} ms after the first: "
                "the network to it, or its host, stood still"
            )


def width(job: Job, seats: int) -> int:
    """How many seats can share a job: each needs connections, and a part of what ends the step."""
    bursts = any(
        role.per == "step" and isinstance(role.pace, RatePace) and role.pace.arrivals == "burst"
        for role in job.roles
    )
    if job.fills or bursts or any(role.after for role in job.roles):
        return 1
    parts = {
        role.name: role.connections if role.per == "step" else job.clients for role in job.roles
    }
    # Each segment has a part of the roles that end the step, and of pairs both.
    pairs = [(role.name, role.pace.to) for role in job.roles if isinstance(role.pace, TiedPace)]
    needed = [parts[name] for name in set(job.stop.roles).union(*pairs)]
    return min(seats, max(parts.values()), *needed)


def refuse_unfit(step: Step, hosts: Sequence[str]) -> None:
    """Raises PlanError where generators on other hosts cannot make a step's load."""
    driver = step.job.driver
    where = f"step `{step.name}`, `generator.hosts`"
    if driver != "loadgen":
        raise PlanError(
            f"{where}: {driver} makes its load beside the server; remove `hosts`, or take the "
            "driver `loadgen`"
        )
    if any(fill.source is not None for fill in step.job.fills):
        raise PlanError(
            f"{where}: a program or a file gives rows, and lies on this host; remove `hosts`"
        )
    if step.job.log is not None:
        raise PlanError(
            f"{where}: the log of transactions would be left on {', '.join(hosts)}; remove the "
            "step's `log`, or `hosts`"
        )
