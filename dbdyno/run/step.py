"""One step of one run: load, counters at exactly the window, state before and after, checks.

While a window is open nothing is sent to the server but the samples of waits that the plan asks
for; the host's sampler reads /proc only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from msgspec.structs import replace

from dbdyno import store
from dbdyno.engine import Server
from dbdyno.engine.interface import WaitSampler
from dbdyno.model import Headline, Step, events
from dbdyno.model.error import ServerError
from dbdyno.model.headlines import kind_of, unit_of
from dbdyno.model.job import Job
from dbdyno.model.job.role import Role, RoleStop, TiedPace
from dbdyno.model.server_status import StatusLook
from dbdyno.model.standby_lag import StandbyLag
from dbdyno.model.step_files import Link, StepCheck, StepDone
from dbdyno.run.driver import registry
from dbdyno.run.driver.interface import Bench, Generators, Keep, NetworkReading, RunningLoad, Seat
from dbdyno.run.driver.spread import SpreadLoad
from dbdyno.run.in_window import LAG_EVERY_S, Readings, TimedHooks, catch_up
from dbdyno.run.measurement import Measurement, StepFailed
from dbdyno.run.progress import Pulse
from dbdyno.run.sessions import Sessions
from dbdyno.run.step_progress import StepMeter

MIB = 1 << 20
SERVER_GONE_S = 1.0
"""How long a lost connection may precede the sight of the server's end."""
LOG = "transactions"
"""How the names of the files begin in which operations are logged."""


def measure(
    step: Step,
    bench: Bench,
    folder: Path,
    show: Callable[[Pulse], None],
    load_of: Callable[[Measurement], Load] | None = None,
) -> StepDone:
    """Runs `step` and leaves its files in `folder`; returns what stands in done.json.

    `show` gets the step's figures each second; `load_of` makes another load than usual. Raises
    StepFailed where the arm failed (failed.json is written), LabDied where the lab did (then
    nothing of the block is to be judged).
    """
    with Measurement(step, bench, folder) as measurement:
        try:
            measurement.before(each_second=True)
            with (load_of or Load)(measurement) as load:
                load.run(show)
            load.end(measurement.done)
            if bench.server.standbys is not None:
                measurement.done.catch_up_s = catch_up(bench.server)
            if not bench.counted:
                wait_for_statistics([bench.server])
            return measurement.after()
        except (StepFailed, ServerError) as error:
            raise measurement.failed(error) from error


class Load:
    """A load at work on a step, and what its events mean to the readings of the host.

    A context manager: what makes the load is gone afterwards.
    """

    def __init__(self, measurement: Measurement) -> None:
        self._measurement = measurement
        self.step, self.bench = measurement.step, measurement.bench
        self.sampler, self.folder = measurement.sampler, measurement.folder
        self._meter = StepMeter(self.step, self.bench.claim)
        self._close: events.WindowClose | None = None
        self._done: events.DoneEvent | None = None
        self._waits: WaitSampler | None = None
        self._lag: Readings[StandbyLag] | None = None
        self._status: Readings[StatusLook] | None = None
        self._elsewhere: RemoteLoad | None = None  # whose generators make the load
        if self.bench.generators is not None:
            self._elsewhere = RemoteLoad(self.bench.generators, self.bench.server)
        self._sessions: Sessions | None = None  # that are placed
        if self.bench.processors and self.bench.server.made is not None:
            self._sessions = Sessions(self.bench.server.made)
        self._timed = TimedHooks(self.bench.hooks, self.bench.server, self.folder, self.step.name)
        self._open = False  # whether the window was opened
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Starts the generator. Raises GeneratorError where it cannot be started."""
        makes = registry.of(self.step)
        complete = self._with_log(makes.prepare(self.step, self.bench))
        store.write_json(self.folder / "job.json", complete)
        with ExitStack() as stack:
            self._waits = self._sample_waits(complete, stack)
            if (standbys := self.bench.server.standbys) is not None:
                kept = stack.enter_context(store.JsonLines(self.folder / "lag.jsonl"))
                self._lag = Readings(standbys.lag, kept.write, LAG_EVERY_S)
                stack.callback(self._lag.close)
            self._status = self._read_status(stack)
            lines = stack.enter_context(store.JsonLines(self.folder / "events.jsonl"))
            self.generator = stack.enter_context(self._started(complete, lines.write_raw, stack))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    def _started(self, job: Job, keep: Keep, stack: ExitStack) -> RunningLoad:
        """The load, made here or on other hosts, whose own lines have a file each.

        Raises GeneratorError, LabDied.
        """

        def raw(host: str) -> Keep:
            lines = store.JsonLines(self.folder / f"events.{host}.jsonl")
            return stack.enter_context(lines).write_raw

        if self._elsewhere is not None:
            return self._elsewhere.start(job, keep, self.bench.cpus, raw=raw)
        return registry.of(self.step).start(job, keep, self.bench.cpus)

    def _with_log(self, job: Job) -> Job:
        """The job with the place of its log, if it has one: `transactions.ROLE` in the folder."""
        if job.log is None:
            return job
        return replace(job, log=replace(job.log, prefix=str(self.folder.resolve() / LOG)))

    def _sample_waits(self, job: Job, stack: ExitStack) -> WaitSampler | None:
        """The sampler of waits, connected; None if nobody asked for it, or it cannot be.

        The sampler connects before the load's connections, and long before the window.
        """
        server, observe = self.bench.server, self.bench.observe
        address, client = server.address(), server.client
        if observe.waits_s is None or address is None or client is None or not server.can("waits"):
            return None
        lines = stack.enter_context(store.JsonLines(self.folder / "waits.jsonl"))
        try:
            waits = client.waits(address, job, observe, lines.write)
        except ServerError as error:
            self._warn(f"waits: not sampled: {error}")
            return None
        self.sampler.set_lab_session(waits.pid, "lab:waits")
        return stack.enter_context(waits)

    def _read_status(self, stack: ExitStack) -> Readings[StatusLook] | None:
        """The readings of the server's own state, connected; None if nobody wants or can ask it."""
        server, every_s = self.bench.server, self.bench.observe.status_s
        address, client = server.address(), server.client
        if every_s is None or address is None or client is None:
            return None
        try:
            status = client.status(address)
        except ServerError as error:
            self._warn(f"status: not read: {error}")
            return None
        stack.callback(status.close)
        self.sampler.set_lab_session(status.pid, "lab:status")
        kept = stack.enter_context(store.JsonLines(self.folder / "status.jsonl"))
        readings = Readings(status.looks, kept.write, every_s)
        stack.callback(readings.close)
        return readings

    def _warn(self, text: str) -> None:
        """Adds a warning to done.json."""
        self._measurement.done.warnings.append(text)

    def run(self, show: Callable[[Pulse], None]) -> None:
        """Takes the load from its beginning to its end; raises GeneratorError."""
        for event in self.generator.events():
            pulse = self.take(event)
            if isinstance(event, events.ReadyEvent):  # whoever takes it may have to make ready, too
                self.generator.go()
            if pulse is not None:
                show(pulse)

    def take(self, event: events.AnyEvent) -> Pulse | None:
        """Reads the counters at the window's two ends; how the step does where a tick says it."""
        self.sampler.observe(event)
        self._pace_waits(event)
        match event:
            case events.ConnectedEvent() if self._sessions is not None:
                self._sessions.take(event)
            case events.WindowOpen():
                self.sampler.read("open", event.mono_ns)
                self._timed.open()
                if self._lag is not None:
                    self._lag.open()
                if self._status is not None:
                    self._status.open()
            case events.Tick():
                return self._meter.take(event)
            case events.WindowClose():
                self._close = event
                self.sampler.read("close", event.mono_ns)
                if self._sessions is not None:
                    self._sessions.release()
                self.generator.stop()
                self._end_waits()
                self._end_readings()
            case events.DoneEvent():
                self._done = event
        if self._elsewhere is not None:  # after the counters: hosts take milliseconds to answer
            self._elsewhere.observe(event)
        return None

    def _pace_waits(self, event: events.AnyEvent) -> None:
        """Samples waits while the window is open and the load goes on."""
        if self._waits is None:
            return
        self._waits.observe(event)
        match event:
            case events.WindowOpen():
                self._open = True
                self._waits.begin()
            case events.ResumedEvent() if self._open:
                self._waits.begin()
            case events.PausedEvent() | events.WindowClose():
                self._waits.rest()

    def _end_waits(self) -> None:
        """Ends the samples of waits, once the counters are read; says where they ended early."""
        if self._waits is None:
            return
        self._waits.finish()
        if self._waits.failure is not None:
            self._warn(
                f"waits: sampling ended after {self._waits.samples:,}: {self._waits.failure}"
            )

    def _end_readings(self) -> None:
        """Ends the readings of the server's state and of replay lag, which may have ended early."""
        if self._status is not None:
            self._status.close()
        if self._lag is not None:
            self._lag.close()
            if self._lag.failure is not None:
                self._warn(f"replay lag: not read any more: {self._lag.failure}")

    @property
    def closed(self) -> bool:
        """Whether the window has closed, or the generator ended without one."""
        return self._close is not None or self.over

    @property
    def over(self) -> bool:
        """Whether the generator has said its last word."""
        return self._done is not None

    def end(self, done: StepDone) -> None:
        """Says in `done` the window's length, what was counted in it and in all, and the checks.

        Raises StepFailed where the arm failed.
        """
        last, close = self._done, self._close
        assert last is not None
        self._timed.close()
        if last.status != "ok" or close is None:
            if self.bench.server.can("clock"):
                time.sleep(SERVER_GONE_S)
            raise StepFailed(last.reason or f"dyno-loadgen ended with `{last.status}`")
        done.window_ns = close.active_ns
        done.counted = self._meter.counted()
        done.totals = last.totals
        done.checks = checks(self.step, last.totals)
        if self._elsewhere is not None:
            done.network = self._elsewhere.links()


def wait_for_statistics(servers: Iterable[Server]) -> None:
    """Waits, once a step's connections are closed, until what they did stands in the statistics."""
    clients = [server.client for server in servers if server.client is not None]
    time.sleep(max((client.settle_s for client in clients), default=0.0))


def summary(step: Step, done: StepDone) -> str:
    """The outcome of a step, for the person who watches: its rate and its length."""
    seconds = f"{done.window_ns / 1e9:.1f} s"
    counted, headline = done.counted, step.headline
    if headline is not None and headline.metric == "seconds":
        return f"{done.window_ns / 1e9:,.3f} s"
    if headline is None or counted is None or not counted.seconds:
        return seconds
    amount: float | None = counted.amount(headline.count) * (headline.each or 1)
    if headline.has_work:
        amount = headline.work if headline.work_query is None else done.work
    if amount is None:
        return seconds
    return f"{per_second(headline, amount, counted.seconds)} in {seconds}"


def per_second(headline: Headline, amount: float, seconds: float) -> str:
    """A rate in words, of so much in so many seconds."""
    rate = amount / seconds * kind_of(headline.metric).span_s
    return f"{rate / MIB if headline.metric == 'mbps' else rate:,.0f} {unit_of(headline)}"


def checks(step: Step, totals: Mapping[str, events.Totals]) -> list[StepCheck]:
    """Compares the rows that each role with a quota affected with what its statements name.

    A delete that finds fewer rows than it asks for shows here.
    """
    compared = []
    for role in step.job.roles:
        quota = role.stop or partner_stop(step.job, role)
        if quota is None or step.roles.get(role.name) not in ("insert", "delete"):
            continue
        rows = rows_per_operation(step.job, role)
        expected = (quota.operations - role.mark_count) * step.job.clients_of(role) * rows
        actual = totals[role.name].rows
        what = f"rows of role {role.name}"
        compared.append(
            StepCheck(what=what, expected=expected, actual=actual, ok=expected == actual)
        )
    return compared


def partner_stop(job: Job, role: Role) -> RoleStop | None:
    """The quota of the role to which `role` is tied; None where it is not tied."""
    partner = job.role(role.pace.to) if isinstance(role.pace, TiedPace) else None
    return None if partner is None else partner.stop


def rows_per_operation(job: Job, role: Role) -> int:
    """The nominal rows of one operation of `role`: of the sends of its first program."""
    sends = job.programs[role.choose[0].program].sends
    return sum(job.statements[number].rows or 0 for number in sends)


# --- Load from other hosts ---------------------------------------------------------------------


UNKNOWN = NetworkReading(None, None, None)


class RemoteLoad:
    """One step's load by generators on other hosts; its figures of the network."""

    def __init__(self, generators: Generators, server: Server) -> None:
        self._generators = generators
        self._server = server
        self._seats: Sequence[Seat] = ()
        self._before: dict[str, NetworkReading] = {}
        self._after: dict[str, NetworkReading] = {}

    def start(
        self, job: Job, keep: Keep, cpus: str | None, *, raw: Callable[[str], Keep]
    ) -> RunningLoad:
        """Starts the generators; `raw(host)` gets the lines that each says itself.

        Raises GeneratorError, LabDied.
        """
        self._seats = self._generators.seats(self._server)
        return SpreadLoad(job, self._seats, keep, cpus, raw=raw)

    def observe(self, event: events.AnyEvent) -> None:
        """Reads the network before the load begins, and when the window has closed."""
        match event:
            case events.ReadyEvent():
                self._before = self._generators.network(self._server, trip=True)
            case events.WindowClose():
                self._after = self._generators.network(self._server, trip=False)

    def links(self) -> Mapping[str, Link]:
        """The network to each host in the step."""
        return {seat.name: self._of(seat) for seat in self._seats}

    def _of(self, seat: Seat) -> Link:
        before = self._before.get(seat.name, UNKNOWN)
        after = self._after.get(seat.name, UNKNOWN)
        return Link(
            round_trip_us=before.round_trip_us,
            offset_us=seat.clock.offset_ns / 1e3,
            offset_bound_us=seat.clock.bound_ns / 1e3,
            sent_bytes=difference(before.sent_bytes, after.sent_bytes),
            received_bytes=difference(before.received_bytes, after.received_bytes),
        )


def difference(before: int | None, after: int | None) -> int | None:
    """What was counted in between; None where nobody tells."""
    return None if before is None or after is None else after - before
