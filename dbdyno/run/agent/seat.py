"""Generators on the plan's other hosts, as the agent beside the server has them make load.

dyno passes the messages on: the agent has no way to other hosts of its own.
"""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from queue import Empty
from typing import Self

from dbdyno.engine import Server
from dbdyno.model import events
from dbdyno.model.error import GeneratorError, LabDied
from dbdyno.model.job import Job
from dbdyno.run.agent.channels import AgentChannels, Channel
from dbdyno.run.agent.session import ROUND_TRIPS
from dbdyno.run.agent.wire import (
    ClockReading,
    ClockRequest,
    FailureAnswer,
    GenerateRequest,
    GeneratorLine,
    NetworkRequest,
    ResultOf,
    result,
)
from dbdyno.run.driver import interface
from dbdyno.run.driver.loadgen import refuse_foreign

ANSWER_S_MAX = 60.0
"""How long a host may take to answer what takes no time there."""


class RelayedGenerators:
    """The generators of a plan (run.driver.interface.Generators)."""

    def __init__(self, hosts: Sequence[str], upward: AgentChannels) -> None:
        self._hosts = hosts
        self._upward = upward

    def seats(self, server: Server) -> list[interface.Seat]:
        """As Generators.seats."""
        return [self._seat(host, server) for host in self._hosts]

    def network(self, server: Server, *, trip: bool) -> dict[str, interface.NetworkReading]:
        """As Generators.network."""
        address = server.load_address
        assert address is not None, "a server that other hosts reach has an address"
        request = NetworkRequest(address.host, address.port if trip else None)
        channels = {host: self._upward.ask(host, request) for host in self._hosts}
        return {host: only(channel, interface.NetworkReading) for host, channel in channels.items()}

    def _seat(self, host: str, server: Server) -> interface.Seat:
        def start(job: Job, keep: interface.Keep, cpus: str | None) -> RelayedGenerator:
            secrets = None if server.entrance is None else server.entrance.secrets()
            request = GenerateRequest(job, cpus, secrets, samples(job))
            return RelayedGenerator(self._upward.ask(host, request), keep)

        return interface.Seat(name=host, clock=clock(self._upward, host), start=start)


def samples(job: Job) -> dict[str, bytes]:
    """The content of the files that a job's values are drawn from, by their SHA-256.

    Raises GeneratorError where one cannot be read any more.
    """
    contents = {}
    for sha256, path in job.samples.items():
        try:
            contents[sha256] = Path(path).read_bytes()
        except OSError as reason:
            raise GeneratorError(f"{path}: cannot be read as samples: {reason.strerror}") from None
    return contents


def clock(upward: AgentChannels, host: str) -> interface.Clock:
    """How far a host's CLOCK_MONOTONIC is ahead of ours, by the shortest of some round trips.

    The reading lies between sending and hearing, so half of the round trip bounds what is wrong
    (Cristian, "Probabilistic clock synchronization", 1989).
    """
    clocks = []
    for _ in range(ROUND_TRIPS):
        sent_ns = time.monotonic_ns()
        there_ns = only(upward.ask(host, ClockRequest()), ClockReading).mono_ns
        half_ns = (time.monotonic_ns() - sent_ns) // 2
        clocks.append(interface.Clock(offset_ns=there_ns - sent_ns - half_ns, bound_ns=half_ns + 1))
    return min(clocks, key=lambda clock: clock.bound_ns)


def only(channel: Channel, form: type[ResultOf]) -> ResultOf:
    """The result in the only answer to a request. Raises LabDied where none comes."""
    try:
        return result(channel.answer(ANSWER_S_MAX), form, channel.host)
    except Empty:
        raise LabDied(f"host {channel.host}: no answer within {ANSWER_S_MAX:g} s") from None


class RelayedGenerator:
    """A dyno-loadgen on another host (run.driver.interface.TimedLoad)."""

    def __init__(self, channel: Channel, keep: interface.Keep) -> None:
        self._channel = channel
        self._keep = keep
        self._over = False

    def events(self) -> Iterator[events.AnyEvent]:
        """As Running.events."""
        for line in self._lines():
            self._keep(line)
            event = events.parse(line)
            if isinstance(event, events.HelloEvent):
                refuse_foreign(event)
            yield event
            if isinstance(event, events.DoneEvent):
                return

    def _lines(self) -> Iterator[str]:
        """What it says, to its end. Raises GeneratorDied where that is no good one."""
        while not self._over:
            try:
                answer = self._channel.answer()
            except LabDied as error:
                self._over = True
                raise interface.GeneratorDied(str(error)) from error
            if isinstance(answer, GeneratorLine):
                yield answer.text
                continue
            self._over = True
            if isinstance(answer, FailureAnswer):
                raise interface.GeneratorDied(answer.text)

    def go(self, at_ns: int | None = None) -> None:
        """As TimedRunning.go."""
        self._channel.command("go", at_ns)

    def pause(self) -> None:
        """As Running.pause."""
        self._channel.command("pause")

    def resume(self) -> None:
        """As Running.resume."""
        self._channel.command("resume")

    def stop(self) -> None:
        """As Running.stop."""
        self._channel.command("stop")

    def hang_up(self) -> None:
        """As Running.hang_up."""
        self._channel.command("hang_up")

    def kill(self) -> None:
        """As Running.kill."""
        self._channel.command("kill")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Ends it, by asking and then by force, and keeps what it still said."""
        self.hang_up()
        until_s = time.monotonic() + interface.END_TIMEOUT_S
        while not self._over:
            left_s = until_s - time.monotonic()
            try:
                answer = self._channel.answer(max(0.1, left_s))
            except Empty:
                self.kill()
                continue
            except LabDied:
                return
            if isinstance(answer, GeneratorLine):
                self._keep(answer.text)
            else:
                self._over = True
