"""The load of one step, by whatever driver, without anything that observes the host: its events."""

from collections.abc import Callable
from pathlib import Path

from dbdyno import workload
from dbdyno.engine import LabServer, Server
from dbdyno.engine.interface import HostSampler
from dbdyno.model import Json, Step
from dbdyno.run.driver import registry
from dbdyno.run.driver.interface import Bench, RunningLoad
from wire_form import plain

Then = Callable[[RunningLoad, Json], None]
"""What a test does at an event."""


def load(
    server: LabServer, step: Step, keep: Callable[[bytes], None] = lambda _: None
) -> tuple[Json, set[int]]:
    """Runs a step's load to its good end; its last event, and the server's ids of its sessions.

    `keep` gets the lines of its events.
    """
    makes = registry.of(step)
    said = heard(makes.start(makes.prepare(step, bench(server)), keep, None))
    last = said[-1]
    assert last["status"] == "ok", (step.name, last["reason"])
    return last, {event["server_pid"] for event in said if event["event"] == "connected"}


def events(server: Server, step: Step, *, seed: int = 7, threads: int = 1) -> list[Json]:
    """Everything that is said of a step's load on a running server."""
    makes = registry.of(step)
    job = makes.prepare(step, bench(server, seed=seed, threads=threads))
    return heard(makes.start(job, lambda _: None, None))


def heard(load: RunningLoad, then: Then = lambda running, event: None) -> list[Json]:
    """The events of a load that begins as soon as it is ready, and closes with its window."""
    said = []
    with load as running:
        for event in map(plain, running.events()):
            said.append(event)
            if event["event"] == "ready":
                running.go()
            elif event["event"] == "window_close":
                running.stop()
            then(running, event)
    return said


def bench(server: Server, *, seed: int = 7, threads: int = 1) -> Bench:
    """Where a step of one arm is measured, and nothing is observed."""
    return Bench(
        server=server, sampler=no_sampler, arm="suite", block=1, seed=seed, switch=None,
        threads=threads,
    )  # fmt: skip


def only_step(folder: Path, text: str, engine: str = "postgres") -> Step:
    """The one step of a workload file of this text, `mine.toml` in `folder`."""
    (folder / "mine.toml").write_text(text)
    loaded = workload.load("./mine.toml", folder / "plan.toml")
    (step,) = workload.expand(loaded, {}, engine)
    return step


def no_sampler(_: Path) -> HostSampler:
    """Nothing asks for it."""
    raise AssertionError
