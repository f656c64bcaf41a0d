"""Generators on the plan's other hosts, as the agent beside the server has them make load.

dyno passes the messages on: the agent has no way to other hosts of its own.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from queue import Empty
from types import TracebackType
from typing import Self

from dbdyno.engine import Server
from dbdyno.model import Json, events
from dbdyno.model.error import LabDied
from dbdyno.run.agent.session import ROUND_TRIPS
from dbdyno.run.agent.upward import Channel, Upward
from dbdyno.run.driver.interface import END_TIMEOUT_S, Clock, GeneratorDied, Keep, Seat
from dbdyno.run.driver.loadgen import refuse_foreign

ANSWER_S_MAX = 60.0
"""How long a host may take to answer what takes no time there."""


class Relayed:
    """The generators of a plan (run.driver.interface.Generators)."""

    def __init__(self, hosts: Sequence[str], upward: Upward) -> None:
        self._hosts = hosts
        self._upward = upward

    def seats(self, server: Server) -> list[Seat]:
        """As Generators.seats."""
        return [self._seat(host, server) for host in self._hosts]

    def network(self, server: Server, *, trip: bool) -> dict[str, Json]:
        """As Generators.network."""
        address = server.load_address
        assert address is not None, "a server that other hosts reach has an address"
        asked = {"address": address.host, "port": address.port if trip else None}
        channels = {host: self._upward.ask(host, "network", asked) for host in self._hosts}
        return {host: answer(channel)["done"] for host, channel in channels.items()}

    def _seat(self, host: str, server: Server) -> Seat:
        def start(job: Json, keep: Keep, cpus: str | None) -> RelayedGenerator:
            asked = {"job": job, "cpus": cpus, **(server.access_secrets() or {})}
            return RelayedGenerator(self._upward.ask(host, "generate", asked), keep)

        return Seat(name=host, clock=clock(self._upward, host), start=start)


def clock(upward: Upward, host: str) -> Clock:
    """How far a host's CLOCK_MONOTONIC is ahead of ours, by the shortest of some round trips.

    The reading lies between sending and hearing, so half of the round trip bounds what is wrong
    (Cristian, "Probabilistic clock synchronization", 1989).
    """
    found = []
    for _ in range(ROUND_TRIPS):
        sent_ns = time.monotonic_ns()
        there_ns = answer(upward.ask(host, "clock", {}))["done"]["mono_ns"]
        heard_ns = time.monotonic_ns()
        half_ns = (heard_ns - sent_ns) // 2
        found.append(Clock(offset_ns=there_ns - sent_ns - half_ns, bound_ns=half_ns + 1))
    return min(found, key=lambda one: one.bound_ns)


def answer(channel: Channel) -> Json:
    """The only answer to a question. Raises LabDied where none comes."""
    try:
        return channel.answer(ANSWER_S_MAX)
    except Empty:
        raise LabDied(f"host {channel.host}: no answer within {ANSWER_S_MAX:g} s") from None


class RelayedGenerator:
    """A dyno-loadgen on another host (run.driver.interface.TimedRunning)."""

    def __init__(self, channel: Channel, keep: Keep) -> None:
        self._channel = channel
        self._keep = keep
        self._over = False

    def events(self) -> Iterator[events.AnyEvent]:
        """As Running.events."""
        for line in self._lines():
            self._keep(line)
            event = events.parse(line)
            if isinstance(event, events.Hello):
                refuse_foreign(event)
            yield event
            if isinstance(event, events.Done):
                return

    def _lines(self) -> Iterator[str]:
        """What it says, to its end. Raises GeneratorDied where that is no good one."""
        while not self._over:
            try:
                message = self._channel.answer()
            except LabDied as error:
                self._over = True
                raise GeneratorDied(str(error)) from error
            if "line" in message:
                yield message["line"]
                continue
            self._over = True
            if "error" in message:
                raise GeneratorDied(message["error"]["text"])

    def go(self, at_ns: int | None = None) -> None:
        """As TimedRunning.go."""
        self._channel.tell({"say": "go", "at_ns": at_ns})

    def pause(self) -> None:
        """As Running.pause."""
        self._channel.tell({"say": "pause"})

    def resume(self) -> None:
        """As Running.resume."""
        self._channel.tell({"say": "resume"})

    def stop(self) -> None:
        """As Running.stop."""
        self._channel.tell({"say": "stop"})

    def hang_up(self) -> None:
        """As Running.hang_up."""
        self._channel.tell({"say": "hang_up"})

    def kill(self) -> None:
        """As Running.kill."""
        self._channel.tell({"say": "kill"})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Ends it, by asking and then by force, and keeps what it still said."""
        self.hang_up()
        until_s = time.monotonic() + END_TIMEOUT_S
        while not self._over:
            left_s = until_s - time.monotonic()
            try:
                message = self._channel.answer(max(0.1, left_s))
            except Empty:
                self.kill()
                continue
            except LabDied:
                return
            if "line" in message:
                self._keep(message["line"])
            else:
                self._over = True
