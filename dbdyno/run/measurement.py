"""Surrounds the load of a step: state before and after it, readings, its end.

Everything that asks the server anything happens here, before the load begins or after it has ended.
"""

import re
import time
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Literal, Self

from msgspec import structs

from dbdyno import store
from dbdyno.engine import Server
from dbdyno.engine.interface import HostSampler
from dbdyno.engine.snapshot import SnapshotSubject
from dbdyno.host import program, quiesce
from dbdyno.host.observe import canary
from dbdyno.model import HookMoment, Step
from dbdyno.model.error import ServerError
from dbdyno.model.step_files import Canary, CanaryReading, DeviceReading, StepDone, StepFailure
from dbdyno.run import dropped_tables, invariants, load_output
from dbdyno.run.driver.interface import Bench

LOG_LINES_MAX = 60
"""Of the server's log in failed.json: a crash is followed by some lines of each connection."""


class StepFailed(Exception):
    """The step did not end well: a result of the arm, with its reason. Not an error of the lab."""


class Measurement:
    """A step of one run from its first reading to its last: `before`, its load, then `after`.

    The caller decides what lies between them. A context manager: readings end with it. If either,
    or the load, raises StepFailed or ServerError, the caller says `failed`.
    """

    def __init__(self, step: Step, bench: Bench, folder: Path) -> None:
        """Says in `folder` what the step is; begins nothing."""
        write_description(step, bench, folder)
        self.step, self.bench, self.folder = step, bench, folder
        self.done = StepDone(status="ok")
        self._is_set_up = False  # so that tables that the step makes are the lab's
        self._answers: list[str] = []  # to the step's invariants, before its load
        self._first: load_output.Before = {}  # what is told as a change, before its load
        self.sampler = bench.sampler(store.JsonLines(folder / "host.jsonl"))
        self._first_log_position = log_position(bench.server)
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
        make_ready(self.bench, self.done)
        self.done.canary = canaries = Canary(device=self._device())
        self._started_s = time.monotonic()
        self._log_position = log_position(server)
        if each_second:
            self.sampler.start()
        canaries.before = idle_reading(self.bench, self.sampler, "start")
        dropped_tables.set_up(server, step.setup)
        self._is_set_up = True
        self._answers = invariants.answers(server, step)
        self._first = load_output.before(server, step)
        if server.client is not None and step.warm != "none":  # last: answers read whole tables
            self.done.warm = server.client.warm_up(step.warm, server.execute)
        write_probe("before", self.bench, step, self.folder / "before.json")

    def _device(self) -> DeviceReading | None:
        """The device's figures for a large file, if the step asks; else the last such reading.

        An arm whose data the lab does not see has none.
        """
        made, size = self.bench.server.made, self.step.device_bytes
        if not size or made is None:
            return self.bench.device
        directory = made.data_dir
        device = canary.run(directory, program.find("dyno-loadgen"), size).device
        assert device is not None
        if not device.direct:
            self.done.warnings.append(
                f"canary: the file system of {directory} has no direct I/O; the device's highest "
                "rates were measured through the page cache, which was emptied in between"
            )
        return device

    def after(self) -> StepDone:
        """The state and the readings after it; writes done.json and returns what stands there.

        Raises ServerError, and StepFailed where the load broke an invariant or made no table.
        """
        server, step = self.bench.server, self.step
        write_probe("after", self.bench, step, self.folder / "after.json")
        if self.bench.observe.indexes:
            self._read_indexes()
        self._check_invariants()
        self._ask()
        done = self.done
        assert done.canary is not None
        done.canary.after = idle_reading(self.bench, self.sampler, "end")
        done.waited_s = pad(step, server, self._started_s)
        self.sampler.stop()
        done.switch, done.turns = self.bench.switch, self.bench.turns
        if server.made is not None:
            done.log_events = server.made.log_events(self._log_position)
        done.sampler_cpu_us = self.sampler.cpu_us
        self._hook("after-step")
        store.write_json(self.folder / "done.json", done)
        return done

    def _read_indexes(self) -> None:
        """Writes the state of each index of the step's tables; a warning says if there is none."""
        client = self.bench.server.client
        if client is None:
            return
        read = client.indexes(self.bench.server.execute, self.step.tables)
        store.write_json(self.folder / "indexes.json", read)
        if read.unavailable is not None:
            self.done.warnings.append(f"indexes: not read: {read.unavailable}")

    def _check_invariants(self) -> None:
        """Adds what the step must not change, and what has to hold after it, to its checks.

        Raises StepFailed where it did, or where that does not hold.
        """
        after = invariants.answers(self.bench.server, self.step)
        checks = invariants.compared(self.step, self._answers, after)
        if (reason := invariants.broken(checks)) is not None:
            raise StepFailed(reason)
        conditions = invariants.held(self.bench.server, self.step)
        if (reason := invariants.unmet(conditions)) is not None:
            raise StepFailed(reason)
        self.done.checks = [*self.done.checks, *checks, *conditions]

    def _ask(self) -> None:
        """The values that the workload wants told; raises StepFailed if a table is missing."""
        server, step = self.bench.server, self.step
        if (reason := dropped_tables.made(server, step.makes, step.setup)) is not None:
            raise StepFailed(reason)
        load_output.take(server, step, self.folder / "events.jsonl", self.done, self._first)

    def _hook(self, moment: HookMoment) -> None:
        """Runs the plan's hooks of this moment. Raises ServerError where one fails."""
        if self.bench.hooks is not None:
            self.bench.hooks.run(moment, self.bench.server, self.folder, self.step.name)

    def took_turns(self, turns: int) -> None:
        """Says how many turns the arm took."""
        assert self.bench.turns is not None
        self.bench = replace(self.bench, turns=structs.replace(self.bench.turns, turns=turns))

    def failed(self, error: Exception) -> StepFailed:
        """Writes failed.json; the failure with its reason, which may be the server's own."""
        server = self.bench.server
        reason = server.failure() or str(error)
        if self._is_set_up and server.remote:  # else the next block would not drop them
            with suppress(ServerError):
                dropped_tables.made(server, self.step.makes, self.step.setup)
        if self.step.private:
            reason = without_values(reason)
        fail(self.folder, reason, server, self._first_log_position, private=self.step.private)
        return StepFailed(reason)


def make_ready(bench: Bench, done: StepDone) -> None:
    """Warms caches and makes a checkpoint where the plan asks for it, before the first reading.

    `done` says so. Raises ServerError.
    """
    client, execute = bench.server.client, bench.server.execute
    if client is None:
        return
    if bench.warm is not None:
        done.warm = client.warm_up(bench.warm, execute)
    if bench.checkpoint:
        begun_s = time.monotonic()
        client.checkpoint(execute)
        done.checkpoint_s = time.monotonic() - begun_s
        done.rest = quiesce.quiet(filter(None, [bench.data_path]))


def write_description(step: Step, bench: Bench, folder: Path) -> None:
    """Writes step.json: what the step is, also where it never runs."""
    described = asdict(step)
    del described["job"]
    described |= {"arm": bench.arm, "block": bench.block, "remote": bench.server.remote}
    store.write_json(folder / "step.json", described)


def idle_reading(bench: Bench, sampler: HostSampler, moment: str) -> CanaryReading | None:
    """A reading of the counters and, on a real machine, the canary, while nothing runs.

    The counters alone of a counted load, which nothing disturbs, and of a server that was restarted
    on its data, as what tells of the host then takes time from the windows.
    """
    sampler.read(moment)
    made = bench.server.made
    if made is None or bench.counted or bench.restarted:
        return None
    return canary.run(made.data_dir, program.find("dyno-loadgen"))


def log_position(server: Server) -> int:
    """The end of the server's log now; 0 where the lab does not see it."""
    return 0 if server.made is None else server.made.log_position()


def write_probe(when: Literal["before", "after"], bench: Bench, step: Step, path: Path) -> None:
    """Writes the database's counters and state to `path`.

    Nothing for an arm without a database, nor for a counted load, whose server answers slowly.
    """
    server = bench.server
    address, client, made = server.address(), server.client, server.made
    if address is None or client is None or bench.counted:
        return
    folders = (None, None) if made is None else (made.data_dir, made.wal_dir)
    session = next((role.session for role in step.job.roles if role.session), ())
    subject = SnapshotSubject(address, step.tables, step.explain, session, *folders)
    store.write_json(path, client.snapshot(when, subject))


def pad(step: Step, server: Server, started_s: float) -> float:
    """Waits until the step has lasted `pad_to_s`; returns the seconds waited (a fake waits not)."""
    if step.pad_to_s is None or not server.can("clock"):
        return 0.0
    wait_s = max(0.0, step.pad_to_s - (time.monotonic() - started_s))
    time.sleep(wait_s)
    return wait_s


QUOTED = re.compile(
    r"(?P<kept>SQLSTATE \w{5}(?:, error \d+)?|its limit of [\d.]+ s)"
    r"|\"[^\"]*\"|'[^']*'|\([^()]*\)=\([^()]*\)|(?<![(\w])\d+(?:\.\d+)?\b"
)
"""What in an error's text may be a value; `kept` are a code and the limit of a statement."""


def without_values(reason: str) -> str:
    """An error's text with what may be a value replaced: invalid input for integer: …"""
    return QUOTED.sub(lambda match: match.group("kept") or "…", reason)


def fail(folder: Path, reason: str, server: Server, since: int, *, private: bool = False) -> None:
    """Writes failed.json: the reason in a sentence, the end of the server's log and its events.

    `private`: without the log, which quotes statements.
    """
    made = None if private else server.made
    failure = StepFailure(
        status="failed",
        reason=reason,
        log_tail=[] if made is None else made.log_tail(LOG_LINES_MAX),
        log_events=[] if made is None else made.log_events(since),
    )
    store.write_json(folder / "failed.json", failure)


def give_up(step: Step, bench: Bench, folder: Path, reason: str) -> None:
    """Keeps a step that could not begin, as the server did not start; raises StepFailed."""
    write_description(step, bench, folder)
    fail(folder, reason, bench.server, 0)
    raise StepFailed(reason)


def skip(step: Step, bench: Bench, folder: Path, reason: str) -> None:
    """Keeps a step that was not run as a result with its reason."""
    write_description(step, bench, folder)
    store.write_json(folder / "failed.json", StepFailure(status="skipped", reason=reason))
