"""The life of a sampler, whichever engine it asks: its moments, its counts, its ends."""

import socket
import threading
import time
from collections.abc import Iterable

import pytest

from dbdyno.engine.activity import IDLE, ON_CPU, Session
from dbdyno.engine.wait_sampler import END_S_MAX, SessionSampler
from dbdyno.model import Observation
from dbdyno.model.events import ConnectedEvent
from dbdyno.model.job import Job
from dbdyno.model.wait_samples import SESSION_COLUMNS, SessionCount, WaitLook, WaitsBegin, WaitsEnd
from server_place import within

LIMIT_S = 20.0
INTERVAL_S = 0.02
Line = WaitsBegin | WaitLook | WaitsEnd
JOB = Job(clients=1)


class Server:
    """A server whose sessions never change; it can be slow, refuse, or hang."""

    broken = (ConnectionError,)
    pid = 4711
    version_num = 170006

    def __init__(self) -> None:
        self.here, self.there = socket.socketpair()
        self.hangs, self.refuses, self.closed = False, "", False
        self.refuses_end, self.wrong = "", False
        self.slow = threading.Event()
        self.pages = 0

    def sessions(self) -> Iterable[Session]:
        """One at work, one idle."""
        if self.refuses:
            raise ConnectionError(self.refuses)
        if self.hangs and self.here.recv(1) == b"":
            raise ConnectionError("cut")
        if self.slow.is_set():
            time.sleep(5 * INTERVAL_S)
        return [
            Session(1, None, "active", ON_CPU, "", "SELECT 1"),
            Session(2, None, "idle", IDLE, "", ""),
        ]

    def blocks(self) -> tuple[int, int]:
        """More each time."""
        assert not self.wrong
        self.pages += 10
        return self.pages, 2 * self.pages

    def fileno(self) -> int:
        """Of our end."""
        return self.here.fileno()

    def close(self) -> None:
        """Closes both ends."""
        self.closed = True
        self.here.close()
        self.there.close()
        if self.refuses_end:
            raise ConnectionError(self.refuses_end)


def sampler(server: Server, lines: list[Line], *, each: bool = False) -> SessionSampler:
    """A sampler of this server."""
    observe = Observation(waits_s=INTERVAL_S, waits_sessions=each)
    return SessionSampler(server, JOB, observe, lines.append)


def looks(lines: list[Line]) -> list[WaitLook]:
    """The lines that are samples."""
    return [line for line in lines if isinstance(line, WaitLook)]


def end_of(lines: list[Line]) -> WaitsEnd:
    """The last line."""
    last = lines[-1]
    assert isinstance(last, WaitsEnd) and last.end
    return last


def test_each_interval_has_a_sample_or_is_counted_as_late() -> None:
    """However busy the machine is: what has no sample is late, and nothing is both."""
    server, lines = Server(), list[Line]()
    with sampler(server, lines) as made:
        made.begin()
        assert within(LIMIT_S, lambda: made.samples >= 20)
        server.slow.set()
        assert within(LIMIT_S, lambda: made.samples >= 24)
        server.slow.clear()
        assert within(LIMIT_S, lambda: made.samples >= 60)
        made.rest()
    end = end_of(lines)
    assert end.samples == len(looks(lines)) >= 60
    assert end.late >= 4 * 3, "a sample of five intervals leaves at least three out"
    begun_ns, last_ns = made._base_ns, looks(lines)[-1].mono_ns
    intervals = (last_ns - begun_ns) / (INTERVAL_S * 1e9)
    counted = end.samples + end.late
    # The last one may itself have begun late, and intervals after it were not waited for.
    assert counted <= intervals + 1
    assert counted >= min(intervals, made._slot)
    assert counted == made._slot
    moments = [look.mono_ns for look in looks(lines)]
    assert moments == sorted(moments)


def test_it_keeps_every_session_only_where_it_is_asked_to() -> None:
    for each in (False, True):
        server, lines = Server(), list[Line]()
        with sampler(server, lines, each=each) as made:
            made.observe(
                ConnectedEvent(mono_ns=1, role="query", client=0, connection=0, server_pid=1)
            )
            made.begin()
            assert within(LIMIT_S, lambda made=made: made.samples > 0)  # type: ignore[misc]
        begin, first = lines[0], looks(lines)[0]
        assert isinstance(begin, WaitsBegin)
        assert first.sessions == (SessionCount("role:query", "CPU", "", "SELECT 1", 1),)
        assert first.idle == {"backend:other": 1}, "what is idle is no load"
        assert begin.by_session == (SESSION_COLUMNS if each else None)
        if each:
            assert first.by_session is not None
            assert [session.state for session in first.by_session] == ["active", "idle"]
            assert (first.by_session[0].pid, first.by_session[0].query) == (1, "SELECT 1")
        else:
            assert first.by_session is None


def test_pages_stand_in_the_first_sample_and_in_one_a_second() -> None:
    server, lines = Server(), list[Line]()
    with sampler(server, lines) as made:
        made.begin()
        assert within(LIMIT_S, lambda: server.pages >= 20)
    first, second = [look for look in looks(lines) if look.blocks is not None][:2]
    assert first == looks(lines)[0] and first.blocks == (10, 20)
    assert second.mono_ns - first.mono_ns >= 0.9e9


def test_a_server_that_refuses_ends_the_samples_with_its_reason() -> None:
    server, lines = Server(), list[Line]()
    with sampler(server, lines) as made:
        made.begin()
        assert within(LIMIT_S, lambda: made.samples > 0)
        server.refuses = "no\nmore"
        assert within(LIMIT_S, lambda: made.failure is not None)
    assert server.closed
    assert (made.failure, end_of(lines).failed) == ("no more", "no more")


def test_what_could_not_be_put_back_is_said() -> None:
    server, lines = Server(), list[Line]()
    server.refuses_end = "the instruments are still on"
    with sampler(server, lines) as made:
        pass
    assert end_of(lines).failed == made.failure == "the instruments are still on"


def test_a_server_that_hangs_is_cut_off() -> None:
    server, lines = Server(), list[Line]()
    server.hangs = True
    with sampler(server, lines) as made:
        made.begin()
        time.sleep(3 * INTERVAL_S)
        begun_s = time.monotonic()
    assert time.monotonic() - begun_s >= 0.5 * END_S_MAX, "it was given its time"
    assert made.failure == "cut"
    assert end_of(lines)


def test_a_mistake_of_ours_is_not_taken_for_the_servers() -> None:
    server, lines = Server(), list[Line]()
    server.wrong = True
    made = sampler(server, lines)
    with pytest.raises(AssertionError), made:
        made.begin()
        assert within(LIMIT_S, lambda: made._mistake is not None)
