"""Runs dyno-loadgen: one job in, events out. The contract is contract/README.md."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Self, get_args

import msgspec
from msgspec.structs import replace

from dbdyno.builds import Build
from dbdyno.engine import Server
from dbdyno.host import program as binary
from dbdyno.host.child import Child
from dbdyno.model import Plan, Step, engine, events
from dbdyno.model.error import GeneratorError, ServerError
from dbdyno.model.events import Told
from dbdyno.model.job import Job
from dbdyno.model.job.endpoint import Endpoint
from dbdyno.run.driver import supplies
from dbdyno.run.driver.interface import END_TIMEOUT_S, Bench, GeneratorDied

DEFAULT_THREADS = 0
"""A job's word for as many threads as the generator takes by itself."""


class Loadgen:
    """dyno-loadgen as a driver: it tells everything, pauses, and loads tables in bulk."""

    name = "loadgen"
    tells: frozenset[Told] = frozenset(get_args(Told))

    def check(self, step: Step, plan: Plan, build: Build | None) -> None:
        """Raises PlanError where a program or a file is not there that gives rows.

        All else that it needs came with dyno.
        """
        supplies.refuse_missing(step)

    def version(self, step: Step) -> str | None:
        """The versions of programs and files that give rows; its own is that of dyno."""
        return supplies.version(step.job)

    def prepare(self, step: Step, bench: Bench) -> Job:
        """The step's job for this server and block, complete as dyno-loadgen takes it."""
        return replace(
            supplies.resolved(addressed(bench.server, step.job)),
            seed=bench.seed,
            threads=bench.threads or DEFAULT_THREADS,
            processors=bench.processors if step.job.roles else (),
            utc_offset_s=time.localtime().tm_gmtoff,
            autostart=False,
        )

    def start(self, job: Job, keep: Callable[[str], None], cpus: str | None) -> Generator:
        """Starts the generator. Raises GeneratorError where it cannot be started."""
        return Generator(job, keep, cpus=cpus)


def addressed(server: Server, job: Job) -> Job:
    """A step's job with the `engine`, `server`, `endpoints` and `fake` of an arm's server.

    Raises ServerError for a role that connects to a standby which has not joined.
    """
    address = server.load_address
    places = {} if server.standbys is None else server.standbys.addresses()
    endpoints = {}
    for role in job.roles:
        if role.endpoint is None:
            continue
        if role.endpoint not in places:
            raise ServerError(
                f"arm {server.name}: role `{role.name}` connects to `{role.endpoint}`, which has "
                "not joined yet"
            )
        endpoints[role.endpoint] = Endpoint.of(places[role.endpoint])
    return replace(
        job,
        engine=engine.of(server.engine).job,
        server=None if address is None else Endpoint.of(address),
        endpoints=endpoints,
        fake=None if server.plants is None else server.plants.of_job(job),
    )


def run(job: Job, cpus: str | None = None) -> Iterator[events.AnyEvent]:
    """The events of a job that nothing interferes with; `cpus` are the generator's.

    Raises GeneratorError, as Generator does.
    """
    with Generator(job, keep=lambda line: None, cpus=cpus) as generator:
        for event in generator.events():
            if isinstance(event, events.ReadyEvent):
                generator.go()
            elif isinstance(event, events.WindowClose):
                generator.stop()
            yield event


class Generator:
    """A running dyno-loadgen. Use it as a context manager: it is gone afterwards."""

    def __init__(
        self,
        job: Job,
        keep: Callable[[str], None],
        *,
        cpus: str | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Starts the generator with `job`. Raises GeneratorError where it cannot be started.

        `keep` gets each line that it writes, as it came, before it is parsed. `cpus`: the
        processors that it may use, as `0-3`; None: all. `environment`: variables beside our own,
        such as a password's.
        """
        self._keep = keep
        self._child = Child(
            [*placed(cpus), binary.find("dyno-loadgen")],
            name="dyno-loadgen",
            error=GeneratorError,
            environment={**os.environ, **(environment or {})},
        )
        self._child.say(msgspec.json.encode(job).decode())

    @property
    def pid(self) -> int:
        """The process id of dyno-loadgen."""
        return self._child.pid

    def go(self, at_ns: int | None = None) -> None:
        """Starts the load, after `ready`: at once, or at a time of its CLOCK_MONOTONIC."""
        self._child.say('{"do":"go"}' if at_ns is None else f'{{"do":"go","at_ns":{at_ns}}}')

    def pause(self) -> None:
        """Lets operations in flight end, and begins no others until `resume`."""
        self._child.say('{"do":"pause"}')

    def resume(self) -> None:
        """Goes on after a pause, once `paused` has come."""
        self._child.say('{"do":"resume"}')

    def stop(self) -> None:
        """Ends the step early; after `window_close`: lets the generator close its connections."""
        self._child.say('{"do":"stop"}')

    def events(self) -> Iterator[events.AnyEvent]:
        """All events up to `done`, each as soon as it is written.

        Raises GeneratorError where the generator is of another protocol or a debug build, and
        GeneratorDied where it ends without `done`.
        """
        for line in self._child.output:
            self._keep(line)
            if not line.endswith("\n"):
                break  # it died while it wrote
            event = events.parse(line)
            if isinstance(event, events.HelloEvent):
                refuse_foreign(event)
            yield event
            if isinstance(event, events.DoneEvent):
                return
        died = f"dyno-loadgen {self._child.death()} before the step was done"
        said = "; ".join(self._child.said)  # all of it, now that it has ended
        raise GeneratorDied(f"{died}: {said}" if said else died)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Ends the process (by asking, then by force) and keeps what it still said."""
        self._child.end(END_TIMEOUT_S, rest=self._keep)

    def hang_up(self) -> None:
        """Tells it that nobody listens any more: it ends by itself. Doing so twice is harmless."""
        self._child.hang_up()

    def kill(self) -> None:
        """Ends it by force."""
        self._child.kill()


def placed(cpus: str | None) -> list[str]:
    """The words before a program's own that keep it on these processors; None: on all."""
    return [] if cpus is None else ["taskset", "--cpu-list", cpus]


def refuse_foreign(hello: events.HelloEvent) -> None:
    """Raises GeneratorError where `hello` is of another protocol or of a debug build."""
    if hello.protocol != events.PROTOCOL:
        raise GeneratorError(
            f"dyno-loadgen speaks protocol {hello.protocol}, dyno {events.PROTOCOL}: reinstall both"
        )
    if hello.profile != "release":
        raise GeneratorError(
            "dyno-loadgen is a debug build and would measure itself: build it with --release"
        )
