"""Seats for tests of shared loads: on this host, if wanted with a clock that is off."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dbdyno.model import Json
from dbdyno.model.events import AnyEvent
from dbdyno.model.job import Job
from dbdyno.run.driver.interface import Clock, Keep, Seat
from dbdyno.run.driver.loadgen import Generator, Loadgen
from dbdyno.run.driver.spread import SpreadLoad
from wire_form import plain, typed

FRESH_NS = 60 * 10**9
TIMES = ("mono_ns", "due_ns", "start_ns", "end_ns")


class Elsewhere(Generator):
    """A generator whose clock is off: so are all times that it tells and is told."""

    offset_ns = 0
    late_ns = 0  # how much later than told it starts

    def go(self, at_ns: int | None = None) -> None:
        super().go(None if at_ns is None else at_ns - self.offset_ns + self.late_ns)

    def events(self) -> Iterator[AnyEvent]:
        return (typed(_moved(plain(event), self.offset_ns)) for event in super().events())


def _moved(event: Json, offset_ns: int) -> Json:
    event = event | {key: event[key] + offset_ns for key in TIMES if key in event}
    if event["event"] == "window_close":
        event["ended"] = {role: _all(ends, offset_ns) for role, ends in event["ended"].items()}
        event["clients_end_ns"] = _all(event["clients_end_ns"], offset_ns)
    return event


def _all(times: list[int | None], offset_ns: int) -> list[int | None]:
    return [None if one is None else one + offset_ns for one in times]


def seat(
    name: str,
    *,
    offset_ns: int = 0,
    late_ns: int = 0,
    here: bool = False,
    change: Callable[[Job], Job] = lambda job: job,
    started: list[Any] | None = None,
    lines: dict[str, list[str]] | None = None,
) -> Seat:
    """A seat of this name; `change` is made to its job, `started` gets its generator, and `lines`
    what it writes. A clock may be behind by less than the uptime of a host that has just booted.
    """
    assert offset_ns > -FRESH_NS, "a monotonic clock is never below zero"

    def start(job: Job, keep: Keep, cpus: str | None) -> Generator:
        hear = keep if lines is None else lines.setdefault(name, []).append
        running = Elsewhere(change(job), hear, cpus=cpus)
        running.offset_ns, running.late_ns = offset_ns, late_ns
        if started is not None:
            started.append(running)
        return running

    return Seat(name=name, clock=Clock(offset_ns, 1_000), start=start, here=here)


def shared_by(seats: list[Seat], monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on dyno-loadgen's load is made on these seats."""

    def start(_: Loadgen, job: Job, keep: Keep, cpus: str | None) -> SpreadLoad:
        return SpreadLoad(job, seats, keep, cpus)

    monkeypatch.setattr(Loadgen, "start", start)
