"""The load of one step on a running server, without anything that observes the host."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dbdyno.engine import Server
from dbdyno.engine.interface import HostSampler
from dbdyno.model import Json, Step
from dbdyno.run import driver, measurement
from dbdyno.run.driver.loadgen import Generator


def load(
    server: Server, step: Step, keep: Callable[[bytes], None] = lambda _: None
) -> tuple[Json, set[int]]:
    """Runs a step's load to its good end; its last event, and the server's ids of its sessions.

    `keep` gets the lines of its events.
    """
    bench = measurement.Bench(
        server=server, sampler=no_sampler, arm="suite", block=1, seed=7, switch=None, threads=1
    )  # fmt: skip
    sessions: set[int] = set()
    last: Json = {}
    with Generator(driver.of(step).prepare(step, bench), keep) as generator:
        for event in generator.events():
            if event["event"] == "connected":
                sessions.add(event["server_pid"])
            elif event["event"] == "ready":
                generator.go()
            elif event["event"] == "window_close":
                generator.stop()
            last = event
    assert last["status"] == "ok", (step.name, last["reason"])
    return last, sessions


def no_sampler(_: Path) -> HostSampler:
    """Nothing asks for it."""
    raise AssertionError
