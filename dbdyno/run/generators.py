"""Load from other hosts: the seats of its generators, and what the network carried."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dbdyno.engine import Server
from dbdyno.model import Link
from dbdyno.model.events import AnyEvent, Ready, WindowClose
from dbdyno.model.job import Job
from dbdyno.run.driver.interface import Generators, Keep, NetworkReading, Running, Seat
from dbdyno.run.driver.spread import Spread

UNKNOWN = NetworkReading(None, None, None)


class FromElsewhere:
    """One step's load by generators on other hosts; its figures of the network."""

    def __init__(self, generators: Generators, server: Server) -> None:
        self._generators = generators
        self._server = server
        self._seats: Sequence[Seat] = ()
        self._before: dict[str, NetworkReading] = {}
        self._after: dict[str, NetworkReading] = {}

    def start(
        self, job: Job, keep: Keep, cpus: str | None, *, raw: Callable[[str], Keep]
    ) -> Running:
        """Starts the generators; `raw(host)` gets the lines that each says itself.

        Raises GeneratorError, LabDied.
        """
        self._seats = self._generators.seats(self._server)
        return Spread(job, self._seats, keep, cpus, raw=raw)

    def observe(self, event: AnyEvent) -> None:
        """Reads the network before the load begins, and when the window has closed."""
        match event:
            case Ready():
                self._before = self._generators.network(self._server, trip=True)
            case WindowClose():
                self._after = self._generators.network(self._server, trip=False)

    def links(self) -> Mapping[str, Link]:
        """The network to each host in the step."""
        return {seat.name: self._of(seat) for seat in self._seats}

    def _of(self, seat: Seat) -> Link:
        before = self._before.get(seat.name, UNKNOWN)
        after = self._after.get(seat.name, UNKNOWN)
        return Link(
            round_trip_us=before.round_trip_us,
            offset_us=seat.clock.offset_ns / 1e3,
            offset_bound_us=seat.clock.bound_ns / 1e3,
            sent_bytes=difference(before.sent_bytes, after.sent_bytes),
            received_bytes=difference(before.received_bytes, after.received_bytes),
        )


def difference(before: int | None, after: int | None) -> int | None:
    """What was counted in between; None where nobody tells."""
    return None if before is None or after is None else after - before
