"""Fewer wake-ups, in `make bench`: where server and generator are put, and what is counted."""

from __future__ import annotations

import os
import signal
import time
from types import SimpleNamespace
from typing import Any

import pytest

from bench import figure, server, waking
from bench.pairs import BenchArm, Sample


def test_places_need_two_processors_and_have_names_that_fit_the_table() -> None:
    assert waking.places(frozenset({3})) == {}
    found = waking.places(frozenset({3, 5, 8}))
    assert found == {"same": ({3}, {3}), "apart": ({3}, {5})}
    assert all(len(name) < figure.COLUMNS[0][1] for name in found)


def test_a_client_is_on_its_processors_while_it_runs_and_no_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = os.sched_getaffinity(0)
    its = frozenset({min(before)})
    moved: list[tuple[int, frozenset[int]]] = []
    monkeypatch.setattr(waking, "move", lambda pid, cpus: moved.append((pid, cpus)))

    def run(seconds: float) -> Sample:
        assert os.sched_getaffinity(0) == its
        raise RuntimeError

    running: Any = SimpleNamespace(postmaster_pid=7)
    one = waking.placed(running, BenchArm(name="one", run=run), frozenset(before), its)
    with pytest.raises(RuntimeError):
        one.run(1.0)
    assert os.sched_getaffinity(0) == before
    assert moved == [(7, frozenset(before))]


def test_the_cpu_is_that_of_both(monkeypatch: pytest.MonkeyPatch) -> None:
    server_s = iter([0.0, 0.5, 0.5, 3.5])
    monkeypatch.setattr(server, "sessions_s", lambda running: next(server_s))
    runs = iter([(100, 0.1), (1_100, 1.1)])

    def run(seconds: float) -> Sample:
        operations, user_s = next(runs)
        return Sample(operations=operations, user_s=user_s, system_s=0.0, per_s=1.0)

    running: Any = None
    found = waking.together(running, BenchArm(name="one", run=run)).run(1.0)
    assert found.operations == 1_000
    assert found.cpu_us == pytest.approx((1.0 + 2.5) / 1_000 * 1e6)


def test_whoever_is_born_while_others_are_moved_is_moved_too() -> None:
    """A process that forks all the time: in the end all are where they should be."""
    here = sorted(os.sched_getaffinity(0))
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        for _ in range(100):
            if os.fork() == 0:
                time.sleep(6)
                os._exit(0)
            time.sleep(0.002)
        time.sleep(6)
        os._exit(0)
    try:
        time.sleep(0.1)
        waking.move(pid, frozenset(here[:1]))
        time.sleep(0.5)
        assert {frozenset(os.sched_getaffinity(one)) for one in waking.threads(pid)} == {
            frozenset(here[:1])
        }
    finally:
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
