"""A sysbench at work: from threads that wait for `go` to the report that it prints."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from msgspec import structs

from dbdyno.engine.connection import password
from dbdyno.host.account import created
from dbdyno.model import engine
from dbdyno.model.events import AnyEvent, ClientCounts, Tick, Totals, WindowOpen
from dbdyno.model.job import Job
from dbdyno.model.job.endpoint import Endpoint
from dbdyno.run.driver.benchmark import Benchmark
from dbdyno.run.driver.lines import now_started, untimed
from dbdyno.run.driver.loadgen import placed
from dbdyno.run.driver.sessions import looks
from dbdyno.run.driver.sysbench import report, script
from dbdyno.run.driver.sysbench.report import Second, SysbenchReport
from dbdyno.workload.sysbench import is_file, option_name

NS_PER_S = 1_000_000_000


class SysbenchRun(Benchmark):
    """A sysbench, from its start to its last event."""

    _called = "sysbench"

    def __init__(self, job: Job, keep: Callable[[str], None], *, cpus: str | None) -> None:
        """Starts sysbench. Raises GeneratorError where it cannot be started."""
        super().__init__(job, keep)
        self._open_ns = 0
        self._close_ns = 0
        self._seconds = Seconds(job, self._role.name)
        *words, name, command = job.command
        wrapped = self._folder / "dyno.lua"
        own = is_file(name)
        wrapped.write_text(script.text(Path(job.folder, Path(name).name) if own else name))
        folder = job.folder if own else None
        words = [*placed(cpus), *words, *self._password()]
        self._start([*words, str(wrapped), command], folder=folder)

    def _password(self) -> list[str]:
        """The option by which sysbench reads a password: in a file that is ours alone.

        On a command line everybody reads it; libpq has it from its environment.
        Raises ServerError where the password is not there.
        """
        server, name = self._job.server, engine.of(self._job.engine).sysbench
        if not isinstance(server, Endpoint) or server.password is None or name == "pgsql":
            return []
        file = self._folder / "password.cnf"
        with created(file, 0o600) as written:
            written.write(f"{name}-password={password(server.address)}\n")
        return [f"--config-file={file}"]

    def events(self) -> Iterator[AnyEvent]:
        """All events up to `done`; of the window's last second when its report is there.

        Raises GeneratorDied where somebody else killed it, ServerError where the server does not
        say which sessions are its own.
        """
        yield self._hello()
        if self._heard(report.READY):
            yield from self._connected(self._sessions())
            yield self._ready(threads=self._count)
            self._began.wait()
            yield from self._work()
        rest = [line for line in self._lines() if report.second(line) is None]
        printed = report.parse(rest)
        yield from self._outcome(
            partial(self._failure, printed), partial(self._measured, printed, rest)
        )

    def _work(self) -> Iterator[AnyEvent]:
        """From the first event of its threads to their last.

        The window's edges are the threads' own times: lines may be read late on a busy host.
        """
        self._let_go(self._count)
        begun: list[int] = []
        over: list[int] = []
        for line in self._lines():
            begun += report.moment(line, report.BEGUN)
            over += report.moment(line, report.OVER)
            started = line == report.STARTED
            if started:
                yield self._say(now_started())
            if line.endswith(report.CHECKPOINT) if self._seconds.warmup_s else started:
                self._open_ns = max(begun) + self._seconds.warmup_s * NS_PER_S
                yield self._say(WindowOpen(mono_ns=self._open_ns))
                self._look()
            second = report.second(line)
            if second is not None and (tick := self._seconds.tick(second)) is not None:
                yield self._say(tick)
            if len(over) == self._count:
                break
        if not self._open_ns or len(over) < self._count:
            return
        self._close_ns, self._closed = max(over), True
        self._busy()
        length_ns = self._close_ns - self._open_ns
        yield self._window_close(self._close_ns, length_ns)
        self._read.wait()
        self._let_go(self._count)

    def _lines(self) -> Iterator[str]:
        """Its output, from here on; ends it at the first line that names a failure."""
        for line in self._foreign.child.output:
            if self._refused is None and (fatal := report.FATAL.match(line)):
                self._refused = f"`{self._name}`: {fatal[1]}"
                self._foreign.end()
            yield line.strip()

    def _heard(self, word: str) -> bool:
        """Whether each thread has said this before its output ended."""
        wanted = self._count
        lines = self._lines()
        while wanted and (line := next(lines, None)) is not None:
            wanted -= line == word
        return not wanted

    def _sessions(self) -> list[int]:
        """The server's processes of its sessions.

        None where they are not one for each thread: then nobody knows which is whose.
        """
        if "pgbench" not in engine.of(self._job.engine).can:
            return []  # sessions are threads of the server, and have no process
        before: list[int] | None = None
        for look in looks(self._job, self._foreign.ended):
            if look == before:  # one that ends may still be seen
                return look if len(look) == self._count else []
            before = look
        return []

    def _measured(self, printed: SysbenchReport | None, lines: list[str]) -> Iterator[AnyEvent]:
        """The window's last second, and `done`."""
        assert printed is not None, "without a report it is no measurement"
        yield self._seconds.last(printed, self._close_ns - self._open_ns)
        times = report.times(lines, printed, queued=self._seconds.queued)
        name = self._role.name
        total = Totals(count=printed.events, rows=None, errors=0, retries=printed.errors)
        window = None if times is None else {name: {self._seconds.operation: times}}
        yield structs.replace(self._done(total, printed), window=window)

    def _failure(self, printed: SysbenchReport | None) -> str | None:
        """Why the run is no measurement; None: it is one."""
        failure = self._unfinished()
        if failure is None and printed is None:
            failure = f"`{self._name}` printed no number of events"
        return failure


@dataclass(frozen=True, kw_only=True)
class SecondCounts:
    """The counts of some seconds."""

    events: int = 0
    errors: int = 0
    active_ns: int = 0


class Seconds:
    """Its seconds as ticks. All but the window's last are as it tells them; the last is the rest.

    So ticks add up to what the last report has, to the event.
    """

    def __init__(self, job: Job, role: str) -> None:
        assert job.sysbench is not None and job.stop.seconds is not None, "it has a window"
        self.operation = Path(job.sysbench.script).name
        self.queued = any(option_name(option) == "rate" for option in job.sysbench.options)
        self.warmup_s = int(job.stop.warmup_s)
        self._end_s = self.warmup_s + int(job.stop.seconds)
        self._role = role
        self._number = 0
        self._sum = SecondCounts()

    def tick(self, second: Second) -> Tick | None:
        """The tick of a second; None of the window's last and of what follows."""
        ends_s = round(second.since_start_s)
        if ends_s >= self._end_s:
            return None
        active_ns = round(second.seconds * NS_PER_S)
        counts = SecondCounts(events=second.events, errors=second.errors, active_ns=active_ns)
        if ends_s <= self.warmup_s:
            return self._tick(counts, measured=False)
        self._sum = SecondCounts(
            events=self._sum.events + counts.events,
            errors=self._sum.errors + counts.errors,
            active_ns=self._sum.active_ns + counts.active_ns,
        )
        return self._tick(counts, measured=True)

    def last(self, printed: SysbenchReport, active_ns: int) -> Tick:
        """The window's last tick: what the report has beside the others."""
        rest = SecondCounts(
            events=max(0, printed.events - self._sum.events),
            errors=max(0, (printed.errors or 0) - self._sum.errors),
            active_ns=max(0, active_ns - self._sum.active_ns),
        )
        return self._tick(rest, measured=True)

    def _tick(self, counts: SecondCounts, *, measured: bool) -> Tick:
        self._number += 1
        return Tick(
            mono_ns=time.monotonic_ns(),
            tick=self._number,
            active_ns=counts.active_ns,
            measured=measured,
            role=self._role,
            per_client=[ClientCounts(counts.events, None, 0, None)],
            operations={self.operation: untimed(counts.events, retries=counts.errors)},
            late_us_max=None,
            backlog=None,
        )
