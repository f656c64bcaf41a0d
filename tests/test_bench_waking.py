"""Fewer wake-ups, in `make bench`: where server and generator are put, and what is counted."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import pytest

from bench import figure, server, waking
from bench.pairs import BenchArm, Sample
from dbdyno.host import core_sets


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
    monkeypatch.setattr(core_sets, "move", lambda pid, cpus: moved.append((pid, cpus)))

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
