"""A pgbench at work: from a process that waits for `go` to the events that its log tells."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from dbdyno.model.error import GeneratorError
from dbdyno.model.events import AnyEvent, Totals, WindowOpen
from dbdyno.model.job import Job
from dbdyno.run.driver.benchmark import Benchmark
from dbdyno.run.driver.lines import now_started
from dbdyno.run.driver.loadgen import placed
from dbdyno.run.driver.pgbench import report
from dbdyno.run.driver.pgbench.client import called
from dbdyno.run.driver.pgbench.report import PgbenchReport
from dbdyno.run.driver.sessions import CONNECT_S_MAX, LOOK_EVERY_S, looks
from dbdyno.workload.pgbench import connects

if TYPE_CHECKING:
    from dbdyno.run.driver.pgbench import log

GATE = ["sh", "-c", 'read -r go && exec "$@"', "gate"]
"""Becomes pgbench, with the same process id, when a line comes; ends where none can come."""
CLOCK_KEPT_FROM = 14
"""From this major version on the log's clock is the monotonic one, set once as pgbench begins."""
CLOCK_MOVED_NS_MAX = 5_000_000
LOOKS = 5


class PgbenchRun(Benchmark):
    """A pgbench, from its start to its last event."""

    _called = "pgbench"

    def __init__(self, job: Job, keep: Callable[[str], None], *, cpus: str | None) -> None:
        """Starts what becomes pgbench. Raises GeneratorError where it cannot be started."""
        super().__init__(job, keep)
        assert job.stop.seconds is not None and job.major is not None, "its window has a length"
        self._seconds = job.stop.seconds
        self._wall_clock = job.major < CLOCK_KEPT_FROM  # whether its log has that
        self._complaint: str | None = None  # the first line that says what went wrong
        self._open_ns = 0
        self._clocks_ns: list[int] = []  # at the window's two ends
        self._start([*GATE, *placed(cpus), *job.command], hear=self._hear)

    def events(self) -> Iterator[AnyEvent]:
        """All events up to `done`; those of the window's seconds come when it is over.

        Raises GeneratorError where the log cannot be read, GeneratorDied where somebody else killed
        it, ServerError where the server does not say which sessions are its own.
        """
        yield self._hello()
        yield self._ready(threads=self._job.threads)
        self._began.wait()
        clock_ns = unix_minus_mono_ns()
        self._let_go()
        yield self._say(now_started())
        yield from self._connected(self._sessions())
        yield from self._window()
        if self._wall_clock:
            clock_ns = self._clocks_ns[0] if self._clocks_ns else 0
        printed = report.parse(self._foreign.child.output.read())
        yield from self._outcome(
            partial(self._failure, printed), partial(self._measured, printed, clock_ns)
        )

    def _hear(self, line: str) -> None:
        """Takes note of a line of its standard error; ends it where a client goes on no more."""
        self._complaint = self._complaint or report.complaint([line])
        if self._refused is None and report.ABORTED.search(line):
            self._refused = f"a client of `{self._name}` ended early: {line}"
            self._foreign.end()

    def _sessions(self) -> list[int]:
        """The server's processes of its sessions, as soon as all are there.

        None where each transaction has its own, or where it has ended.
        """
        # The threads' files come after the session by which it looks at the tables has ended.
        while len(list(self._folder.iterdir())) < self._job.threads:
            if self._foreign.ended.wait(LOOK_EVERY_S):
                return []
        if connects(called(self._job).options):
            return []
        until_s = time.monotonic() + CONNECT_S_MAX
        before: list[int] = []
        for look in looks(self._job, self._foreign.ended):
            if len(look) == self._count and look == before:  # one that ends may still be seen
                return look
            before = look
            if time.monotonic() > until_s:
                self._refused = (
                    f"the server shows {len(look)} of {self._count} sessions of "
                    f"`{self._name}` after {CONNECT_S_MAX:.0f} s: connect to it without a "
                    "pooler"
                )
                self._foreign.end()
        return []

    def _window(self) -> Iterator[AnyEvent]:
        """Opens the window after the warm-up, and closes it before the run ends."""
        self._open_ns = time.monotonic_ns() + round(self._job.stop.warmup_s * 1e9)
        if self._ended_by(self._open_ns):
            return
        yield self._say(WindowOpen(mono_ns=self._open_ns))
        self._look()
        self._clocks_ns.append(unix_minus_mono_ns())
        length_ns = round(self._seconds * 1e9)
        if self._ended_by(self._open_ns + length_ns):
            return
        self._closed = True
        close_ns = self._open_ns + length_ns
        yield self._window_close(close_ns, length_ns)
        self._busy()
        self._clocks_ns.append(unix_minus_mono_ns())
        self._read.wait()
        self._foreign.child.send(signal.SIGALRM)

    def _ended_by(self, until_ns: int) -> bool:
        """Waits until then, in ns of CLOCK_MONOTONIC; whether it has ended before."""
        return self._foreign.ended.wait(max(0, until_ns - time.monotonic_ns()) / 1e9)

    def _measured(self, printed: PgbenchReport | None, clock_ns: int) -> Iterator[AnyEvent]:
        """The seconds of the window by the log, and `done`."""
        assert printed is not None, "without a report it is no measurement"
        tally = self._tally(printed, clock_ns)
        if tally.ended != printed.processed:
            raise GeneratorError(
                f"the log of `{self._name}` has {tally.ended:,} transactions and its report "
                f"{printed.processed:,}: check the free space of {self._folder.parent}"
            )
        yield from tally.ticks()
        total = Totals(
            count=tally.ended,
            rows=None,
            errors=tally.errors,
            retries=tally.retries,
            skipped=tally.skipped,
        )
        yield self._done(total, printed)

    def _failure(self, printed: PgbenchReport | None) -> str | None:
        """Why the run is no measurement; None: it is one."""
        name = f"`{self._name}`"
        if (failure := self._unfinished(self._complaint)) is not None:
            return failure
        if printed is None:
            return f"{name} printed no number of transactions"
        moved_ns = self._clocks_ns[-1] - self._clocks_ns[0]
        if self._wall_clock and abs(moved_ns) > CLOCK_MOVED_NS_MAX:
            return (
                f"the system clock was changed by {moved_ns / 1e6:+.0f} ms in the window, and "
                f"{name} {self._job.version} stamps its log by it"
            )
        return None

    def _tally(self, printed: PgbenchReport, clock_ns: int) -> log.LogTally:
        """The counts of its log. Raises GeneratorError."""
        from dbdyno.run.driver.pgbench import log

        shape = log.LogShape(
            role=self._role.name,
            scripts=[script.name for script in called(self._job).scripts],
            clients=self._job.clients_of(self._role),
            connections=self._role.connections,
            lag=printed.lag_ms is not None,
            retries=printed.retries is not None,
        )
        window = log.LogWindow(
            open_us=(self._open_ns + clock_ns) // log.NS_PER_US,
            open_ns=self._open_ns,
            seconds=self._seconds,
        )
        tally = log.LogTally(shape, window)
        for path in sorted(self._folder.iterdir()):
            for table in log.tables(path, shape):
                tally.add(table)
        return tally


def unix_minus_mono_ns() -> int:
    """The wall clock less CLOCK_MONOTONIC; of some looks the one that took least."""
    looks = []
    for _ in range(LOOKS):
        before_ns, unix_ns, after_ns = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        looks.append((after_ns - before_ns, unix_ns - (before_ns + after_ns) // 2))
    return min(looks)[1]
