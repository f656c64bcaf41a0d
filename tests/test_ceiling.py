"""The load generator's ceiling: measured with the real null server; its failures in one line."""

import os
import shlex
import time
from pathlib import Path

import pytest

from dbdyno.host import process
from dbdyno.host import program as binary
from dbdyno.model.ceiling import CeilingLoad
from dbdyno.model.error import GeneratorError
from dbdyno.model.events import AnyEvent, ClientCounts, DoneEvent, HelloEvent, Thread, Tick
from dbdyno.run.driver import ceiling

HELLO = HelloEvent(mono_ns=0, protocol=1, version="9.9", commit="abc")
WAYS = ("receive", "epoll", "io_uring")


def tick(count: int, cpu_us: int, *, active_ns: int = 250_000_000, measured: bool = True) -> Tick:
    clients = [ClientCounts(count, count, 0, 50)]
    return Tick(
        mono_ns=1, tick=1, role="r", active_ns=active_ns, measured=measured, cpu_us=cpu_us,
        per_client=clients, operations={}, late_us_max=0, backlog=0,
    )  # fmt: skip


def done(status: str = "ok", reason: str | None = None) -> DoneEvent:
    threads = [Thread(cpu_us=900, busy_share=0.9)]
    return DoneEvent(mono_ns=2, status=status, reason=reason, totals={}, threads=threads)


def test_a_load_is_what_happened_in_exactly_the_window() -> None:
    events: list[AnyEvent] = [
        HELLO,
        tick(777, 99_999, measured=False),
        tick(1_000, 4_000),
        tick(3_000, 8_000),
    ]
    assert ceiling.load("mysql", 8, [*events, done()]) == CeilingLoad(
        protocol="mysql",
        connections=8,
        threads=(Thread(cpu_us=900, busy_share=0.9),),
        seconds=0.5,
        operations=4_000,
        per_s=8_000.0,
        cpu_us_per_operation=3.0,
    )


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ([tick(5, 5), done("failed", "connection lost")], "cannot be measured: connection lost"),
        ([done()], "no statement was answered"),
    ],
)
def test_a_load_that_did_not_end_well_is_an_error(events: list[AnyEvent], words: str) -> None:
    with pytest.raises(GeneratorError, match=words):
        ceiling.load("postgres", 1, [HELLO, *events])


def test_the_real_generator_and_its_null_server_give_sensible_figures() -> None:
    started_s = time.monotonic()
    found = ceiling.measure({"postgres": 16, "mysql": 1}, threads=2)
    assert time.monotonic() - started_s < 120, "about two seconds on an idle machine"
    assert [(load.protocol, load.connections) for load in found.loads] == [
        *(("postgres", count) for count in (1, 8, 16)),
        *(("mysql", count) for count in (1, 8)),
    ]
    assert [len(load.threads) for load in found.loads] == [1, 2, 2, 1, 2]
    for load in found.loads:
        assert load.seconds == pytest.approx(ceiling.SECONDS)
        assert load.operations > 1_000 * load.seconds
        assert load.per_s == pytest.approx(load.operations / load.seconds)
        assert 0.1 < (load.cpu_us_per_operation or 0) < 500
        assert all(0 < thread.busy_share < 1.1 for thread in load.threads)
        assert all(thread.wait in WAYS for thread in load.threads)
    assert found.version
    assert not process.children(os.getpid()), "generator and null server have ended"


def program(folder: Path, script: str) -> Path:
    """A script in the place of dyno-loadgen which answers `null` itself."""
    path = folder / "dyno-loadgen"
    generator = shlex.quote(str(binary.find("dyno-loadgen")))
    path.write_text(f'#!/bin/sh\n[ "$1" = null ] || exec {generator}\n{script}\n')
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo 'no room' >&2; exit 3", "ended with status 3 before it listened: no room"),
        ("echo hullo; cat", "before it listened: it said 'hullo'"),
        ("exec sleep 1000", "was killed by signal 9 before it listened: it said nothing"),
        (
            """echo '{"event":"listening","host":"/nonexistent","port":5432,"pid":1}'; cat""",
            "cannot be measured: .*/nonexistent",
        ),
    ],
)
def test_a_failing_null_server_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, words: str
) -> None:
    monkeypatch.setattr(ceiling, "NULL_SERVER_S_MAX", 1.0)
    monkeypatch.setenv("DYNO_LOADGEN", str(program(tmp_path, script)))
    with pytest.raises(GeneratorError, match=words) as error:
        ceiling.measure({"postgres": 1}, threads=None)
    assert "\n" not in str(error.value)
