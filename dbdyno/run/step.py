"""One step of one run: load, counters at exactly the window, state before and after, checks.

While a window is open nothing is sent to the server but the samples of waits that the plan asks
for; the host's sampler reads /proc only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Literal, Protocol, Self

from dbdyno import store
from dbdyno.engine import Server, probe, ready
from dbdyno.engine.fake import PLANTED_BY_NAME
from dbdyno.engine.postgres.wait_sampler import WaitSampler
from dbdyno.host import program, quiesce
from dbdyno.host.observe import canary
from dbdyno.model import Headline, HookMoment, Json, Step
from dbdyno.model.error import ServerError
from dbdyno.model.job import clients
from dbdyno.run.check import dropped_tables
from dbdyno.run.driver.loadgen import DEFAULT_THREADS, Generator, server_json
from dbdyno.run.hooks import Hooks
from dbdyno.run.progress import Pulse
from dbdyno.run.step_progress import Meter, unit

LOG_LINES_MAX = 60
"""Of the server's log in failed.json: a crash is followed by some lines of each connection."""
SERVER_GONE_S = 1.0
"""How long a lost connection may precede the sight of the server's end."""


class Sampler(Protocol):
    """What a step asks of the host's sampler (dbdyno.host.observe.sampler, or the fake one)."""

    cpu_us: float

    def start(self) -> None:
        """Begins the readings of each second."""

    def stop(self) -> None:
        """Ends them and syncs the file."""

    def read(self, kind: str, event_mono_ns: int | None = None) -> None:
        """Makes a reading at once."""

    def observe(self, event: Json) -> None:
        """Takes note of an event of the generator: who is who, what was done."""

    def set_waits(self, pid: int) -> None:
        """Tells which server process the lab asks what sessions wait for."""


@dataclass(frozen=True, kw_only=True)
class Bench:
    """Where a step is measured: the server, its database's name, the block's seed."""

    server: Server
    sampler: Callable[[Path], Sampler]  # from the path of host.jsonl
    arm: str
    block: int
    seed: int
    threads: int | None  # of the generator; None: its own default
    switch: Json | None  # what was waited for before this arm's server started
    warm: str | None = None  # how caches are warmed before the step: it is the first after a start
    checkpoint: bool = False  # whether the step begins with a checkpoint
    data_path: Path | None = None  # on the device that has to rest after it
    turns: Json | None = None  # how the step is interleaved with other arms'; None: it is not
    waits_s: float | None = None  # so often sessions are sampled for what they wait for; None: not
    cpus: str | None = None  # the processors of the generator; None: all
    hooks: Hooks | None = None  # what the plan wants before and after the step


class StepFailed(Exception):
    """The step did not end well: a result of the arm, with its reason. Not an error of the lab."""


def measure(step: Step, bench: Bench, folder: Path, show: Callable[[Pulse], None]) -> Json:
    """Runs `step` and leaves its files in `folder`; returns what stands in done.json.

    `show` gets the step's figures each second. Raises StepFailed where the arm failed (failed.json
    is written), LabDied where the lab did (then nothing of the block is to be judged).
    """
    with Measurement(step, bench, folder) as measurement:
        try:
            measurement.before(each_second=True)
            with Load(measurement) as load:
                load.run(show)
            measurement.found |= load.outcome()
            wait_for_statistics([bench.server])
            return measurement.after()
        except (StepFailed, ServerError) as error:
            raise measurement.failed(error) from error


class Measurement:
    """A step of one run from its first reading to its last: `before`, its load, then `after`.

    What lies between them is up to the caller. A context manager: readings end with it. Where
    either, or the load, raises StepFailed or ServerError, the caller says `failed`.
    """

    def __init__(self, step: Step, bench: Bench, folder: Path) -> None:
        """Says in `folder` what the step is; begins nothing."""
        write_description(step, bench, folder)
        self.step, self.bench, self.folder = step, bench, folder
        self.found: Json = {}  # of done.json, so far
        self.sampler = bench.sampler(folder / "host.jsonl")
        self._first_log_position = bench.server.log_position()
        self._log_position = self._first_log_position
        self._started_s = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.sampler.stop()

    def before(self, *, each_second: bool) -> None:
        """Makes the step ready, and the readings and the state before its load.

        `each_second`: from now on a thread makes a reading each second. Raises ServerError.
        """
        server, step = self.bench.server, self.step
        self._hook("before-step")
        self.found = make_ready(self.bench) | {"canary": {}, "warnings": []}
        self._started_s = time.monotonic()
        self._log_position = server.log_position()
        if each_second:
            self.sampler.start()
        self.found["canary"]["before"] = idle_reading(server, self.sampler, "start")
        dropped_tables.set_up(server, step.setup)
        write_probe("before", server, step, self.folder / "before.json")

    def after(self) -> Json:
        """The state and the readings after it; writes done.json and returns what stands there.

        Raises ServerError.
        """
        server, step = self.bench.server, self.step
        write_probe("after", server, step, self.folder / "after.json")
        self.found["canary"]["after"] = idle_reading(server, self.sampler, "end")
        self.found["waited_s"] = pad(step, server, self._started_s)
        self.sampler.stop()
        self.found |= {"switch": self.bench.switch, "turns": self.bench.turns}
        self.found["log_events"] = server.log_events(self._log_position)
        self.found["sampler_cpu_us"] = self.sampler.cpu_us
        self._hook("after-step")
        done = {"status": "ok"} | self.found
        store.write_json(self.folder / "done.json", done)
        return done

    def _hook(self, moment: HookMoment) -> None:
        """Runs the plan's hooks of this moment. Raises ServerError where one fails."""
        if self.bench.hooks is not None:
            self.bench.hooks.run(moment, self.bench.server, self.folder, self.step.name)

    def took_turns(self, rounds: int) -> None:
        """Says in how many rounds the arm took its turn, where slices are interleaved."""
        self.bench = replace(self.bench, turns=(self.bench.turns or {}) | {"rounds": rounds})

    def failed(self, error: Exception) -> StepFailed:
        """Writes failed.json; the failure with its reason, which may be the server's own."""
        server = self.bench.server
        reason = server.failure() or str(error)
        fail(self.folder, reason, server, self._first_log_position)
        return StepFailed(reason)


class Load:
    """A generator at work on a step, and what its events mean to the readings of the host.

    A context manager: the generator is gone afterwards.
    """

    def __init__(self, measurement: Measurement) -> None:
        self._measurement = measurement
        self.step, self.bench = measurement.step, measurement.bench
        self.sampler, self.folder = measurement.sampler, measurement.folder
        self._meter = Meter(self.step)
        self._close: Json | None = None
        self._done: Json | None = None
        self._waits: WaitSampler | None = None
        self._open = False  # whether the window was opened
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Starts the generator. Raises GeneratorError where it cannot be started."""
        complete = job(self.step, self.bench)
        store.write_json(self.folder / "job.json", complete)
        with ExitStack() as stack:
            self._waits = self._sample_waits(complete, stack)
            lines = stack.enter_context(store.Lines(self.folder / "events.jsonl"))
            self.generator = stack.enter_context(
                Generator(complete, lines.write_raw, cpus=self.bench.cpus)
            )
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.__exit__(kind, error, traceback)

    def _sample_waits(self, job: Json, stack: ExitStack) -> WaitSampler | None:
        """What samples waits, connected; None where nobody asked for it, or it cannot be.

        It is connected before the load's connections, and long before the window.
        """
        address, interval_s = self.bench.server.address(), self.bench.waits_s
        if address is None or interval_s is None:
            return None
        lines = stack.enter_context(store.Lines(self.folder / "waits.jsonl"))
        try:
            waits = WaitSampler(address, job, interval_s, lines.write)
        except ServerError as error:
            self._warn(f"waits: not sampled: {error}")
            return None
        self.sampler.set_waits(waits.pid)
        return stack.enter_context(waits)

    def _warn(self, text: str) -> None:
        """Adds a warning to done.json."""
        self._measurement.found["warnings"].append(text)

    def run(self, show: Callable[[Pulse], None]) -> None:
        """Takes the load from its beginning to its end; raises GeneratorError."""
        for event in self.generator.events():
            if event["event"] == "ready":
                self.generator.go()
            if (pulse := self.take(event)) is not None:
                show(pulse)

    def take(self, event: Json) -> Pulse | None:
        """Reads the counters at the window's two ends; how the step does where a tick says it."""
        self.sampler.observe(event)
        self._pace_waits(event)
        match event["event"]:
            case "window_open":
                self.sampler.read("open", event["mono_ns"])
            case "tick":
                return self._meter.take(event)
            case "window_close":
                self._close = event
                self.sampler.read("close", event["mono_ns"])
                self.generator.stop()
                self._end_waits()
            case "done":
                self._done = event
        return None

    def _pace_waits(self, event: Json) -> None:
        """Samples waits while the window is open and the load goes on."""
        if self._waits is None:
            return
        self._waits.observe(event)
        match event["event"]:
            case "window_open":
                self._open = True
                self._waits.begin()
            case "resumed" if self._open:
                self._waits.begin()
            case "paused" | "window_close":
                self._waits.rest()

    def _end_waits(self) -> None:
        """Ends the samples of waits, once the counters are read; says where they ended early."""
        if self._waits is None:
            return
        self._waits.finish()
        if self._waits.failure is not None:
            self._warn(f"waits: no more after {self._waits.samples:,}: {self._waits.failure}")

    @property
    def closed(self) -> bool:
        """Whether the window has closed, or the generator ended without one."""
        return self._close is not None or self.over

    @property
    def over(self) -> bool:
        """Whether the generator has said its last word."""
        return self._done is not None

    def outcome(self) -> Json:
        """The window's length, what was counted in it and in all, and the checks, once over.

        Raises StepFailed where the arm failed.
        """
        done, close = self._done, self._close
        assert done is not None
        if done["status"] != "ok" or close is None:
            if self.bench.server.engine != "fake":
                time.sleep(SERVER_GONE_S)
            raise StepFailed(done["reason"] or f"dyno-loadgen ended with `{done['status']}`")
        totals = done["totals"]
        found = checks(self.step, totals)
        return {
            "window_ns": close["active_ns"],
            "counted": self._meter.counted(),
            "totals": totals,
            "checks": found,
        }


def make_ready(bench: Bench) -> Json:
    """Warms caches and makes a checkpoint where the plan asks for it, before the first reading.

    Returns what of it stands in done.json. Raises ServerError.
    """
    found: Json = {"warm": None, "checkpoint_s": None, "rest": None}
    if bench.server.engine == "fake":
        return found
    if bench.warm is not None:
        found["warm"] = ready.warm_up(bench.server, bench.warm)
    if bench.checkpoint:
        begun_s = time.monotonic()
        ready.checkpoint(bench.server)
        found["checkpoint_s"] = time.monotonic() - begun_s
        found["rest"] = quiesce.quiet(filter(None, [bench.data_path]))
    return found


def write_description(step: Step, bench: Bench, folder: Path) -> None:
    """Writes step.json: what the step is, also where it never runs."""
    described = asdict(step)
    del described["job"]
    described |= {"arm": bench.arm, "block": bench.block, "remote": bench.server.remote}
    store.write_json(folder / "step.json", described)


def job(step: Step, bench: Bench) -> Json:
    """The step's job for this server and block, complete as dyno-loadgen takes it."""
    address = bench.server.address()
    return step.job | {
        "seed": bench.seed,
        "threads": bench.threads or DEFAULT_THREADS,
        "engine": bench.server.engine,
        "server": None if address is None else server_json(address),
        "fake": planted(bench.server.job_fake, step.job),
        "utc_offset_s": time.localtime().tm_gmtoff,
        "autostart": False,
    }


def planted(fake: Json | None, job: Json) -> Json | None:
    """What is planted for the statements and cursors of this job, of all that the arm plants."""
    if fake is None:
        return None
    names = {one["name"] for one in [*job["statements"], *job["cursors"]]}
    kept = {
        key: {name: value for name, value in fake[key].items() if name in names}
        for key in PLANTED_BY_NAME
    }
    errors = [error for error in fake["errors"] if error["statement"] in names]
    return fake | kept | {"errors": errors}


def wait_for_statistics(servers: Iterable[Server]) -> None:
    """Waits, once a step's connections are closed, until what they did stands in the statistics."""
    engines = {server.engine for server in servers} - {"fake"}
    time.sleep(max((probe.of(engine).SETTLE_S for engine in engines), default=0.0))


def summary(step: Step, found: Json) -> str:
    """What came out of a step, for the person who watches: its rate and its length."""
    seconds = f"{found['window_ns'] / 1e9:.1f} s"
    counted = found["counted"]
    if step.headline is None or not counted["seconds"]:
        return seconds
    amount = counted[step.headline.count] * (step.headline.each or 1)
    return f"{per_second(step.headline, amount, counted['seconds'])} in {seconds}"


def per_second(headline: Headline, amount: int, seconds: float) -> str:
    """A rate in words; where the work is told beforehand, of that."""
    return f"{(headline.work or amount) / seconds:,.0f} {unit(headline)}"


def checks(step: Step, totals: Json) -> list[Json]:
    """Compares the rows that each role with a quota affected with what its statements name.

    A delete that finds fewer rows than it asks for shows here.
    """
    found = []
    for role in step.job["roles"]:
        quota = role["stop"] or partner_stop(step.job["roles"], role)
        if quota is None or step.roles.get(role["name"]) not in ("insert", "delete"):
            continue
        rows = rows_per_operation(step.job, role)
        expected = quota["operations"] * clients(step.job, role) * rows
        actual = totals[role["name"]]["rows"]
        what = f"rows of role {role['name']}"
        found.append(
            {"what": what, "expected": expected, "actual": actual, "ok": expected == actual}
        )
    return found


def partner_stop(roles: list[Json], role: Json) -> Json | None:
    """The quota of the role to which `role` is tied; None where it is not tied."""
    if role["pace"]["kind"] != "tied":
        return None
    stop: Json | None = next(r["stop"] for r in roles if r["name"] == role["pace"]["to"])
    return stop


def rows_per_operation(job: Json, role: Json) -> int:
    """The nominal rows of one operation of `role`: of the sends of its first program."""
    code = job["programs"][role["choose"][0]["program"]]["code"]
    return sum(job["statements"][index]["rows"] or 0 for verb, index in code if verb == "send")


def idle_reading(server: Server, sampler: Sampler, kind: str) -> Json | None:
    """A reading of the counters and, on a real machine, the canary, while nothing runs."""
    sampler.read(kind)
    if server.data_dir is None:
        return None
    return canary.run(server.data_dir, program.find("dyno-loadgen"))


def write_probe(when: Literal["before", "after"], server: Server, step: Step, path: Path) -> None:
    """Writes the database's counters and state to `path`; nothing for an arm without a database."""
    address = server.address()
    if address is None:
        return
    its = probe.of(server.engine)
    look = its.before if when == "before" else its.after
    subject = probe.Subject(address, step.tables, step.explain, server.data_dir, server.wal_dir)
    store.write_json(path, look(subject))


def pad(step: Step, server: Server, started_s: float) -> float:
    """Waits until the step has lasted `pad_to_s`; returns the seconds waited (a fake waits not)."""
    if step.pad_to_s is None or server.engine == "fake":
        return 0.0
    wait_s = max(0.0, step.pad_to_s - (time.monotonic() - started_s))
    time.sleep(wait_s)
    return wait_s


def fail(folder: Path, reason: str, server: Server, log_position: int) -> None:
    """Writes failed.json: the reason in a sentence, the end of the server's log and its events."""
    store.write_json(
        folder / "failed.json",
        {
            "status": "failed",
            "reason": reason,
            "log_tail": server.log_tail(LOG_LINES_MAX),
            "log_events": server.log_events(log_position),
        },
    )


def give_up(step: Step, bench: Bench, folder: Path, reason: str) -> None:
    """Keeps a step that could not begin, as the server did not start; raises StepFailed."""
    write_description(step, bench, folder)
    fail(folder, reason, bench.server, 0)
    raise StepFailed(reason)


def skip(step: Step, bench: Bench, folder: Path, reason: str) -> None:
    """Keeps a step that was not run as a result with its reason."""
    write_description(step, bench, folder)
    failed = {"status": "skipped", "reason": reason, "log_tail": [], "log_events": []}
    store.write_json(folder / "failed.json", failed)
