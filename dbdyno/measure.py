"""One step of one run: load, counters at exactly the window, state before and after, checks.

While a window is open nothing is sent to the server; the sampler reads /proc only.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

from dbdyno import binary, store
from dbdyno.error import ServerError
from dbdyno.host import canary
from dbdyno.job import clients
from dbdyno.loadgen import DEFAULT_THREADS, Generator, server_json
from dbdyno.meter import Meter, unit
from dbdyno.model import Headline, Json, Step
from dbdyno.probe import postgres as probe
from dbdyno.progress import Pulse
from dbdyno.server import Server, quiet, warm
from dbdyno.server.fake import PLANTED_BY_NAME

STATISTICS_DELAY_S = 1.5
"""PostgreSQL's backends flush their statistics late; after this long they are complete."""
CHECKPOINT_S_MAX = 3600.0
LOG_LINES_MAX = 60
"""Of the server's log in failed.json: a crash is followed by some lines of each connection."""
SERVER_GONE_S = 1.0
"""How long a lost connection may precede the sight of the server's end."""


class Sampler(Protocol):
    """What a step asks of the host's sampler (dbdyno.host.sampler, or the fake one)."""

    cpu_us: float

    def start(self) -> None:
        """Begins the readings of each second."""

    def stop(self) -> None:
        """Ends them and syncs the file."""

    def read(self, kind: str, event_mono_ns: int | None = None) -> None:
        """Makes a reading at once."""

    def observe(self, event: Json) -> None:
        """Takes note of an event of the generator: who is who, what was done."""


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


class StepFailed(Exception):
    """The step did not end well: a result of the arm, with its reason. Not an error of the lab."""


def measure(step: Step, bench: Bench, folder: Path, show: Callable[[Pulse], None]) -> Json:
    """Runs `step` and leaves its files in `folder`; returns what stands in done.json.

    `show` gets the step's figures each second. Raises StepFailed where the arm failed (failed.json
    is written), GeneratorError where the lab did (then nothing of the block is to be judged).
    """
    write_description(step, bench, folder)
    log_position = bench.server.log_position()
    try:
        done = {"status": "ok"} | make_ready(bench) | take(step, bench, folder, show)
    except (StepFailed, ServerError) as error:
        reason = bench.server.failure() or str(error)
        fail(folder, reason, bench.server, log_position)
        raise StepFailed(reason) from error
    store.write_json(folder / "done.json", done)
    return done


def make_ready(bench: Bench) -> Json:
    """Warms caches and makes a checkpoint where the plan asks for it, before the first reading.

    Returns what of it stands in done.json. Raises ServerError.
    """
    ready: Json = {"warm": None, "checkpoint_s": None, "rest": None}
    if bench.server.engine == "fake":
        return ready
    if bench.warm is not None:
        ready["warm"] = warm.warm(bench.warm, bench.server.execute)
    if bench.checkpoint:
        begun_s = time.monotonic()
        bench.server.execute("CHECKPOINT", limit_s=CHECKPOINT_S_MAX)
        ready["checkpoint_s"] = time.monotonic() - begun_s
        ready["rest"] = quiet.quiet(filter(None, [bench.data_path]))
    return ready


def take(step: Step, bench: Bench, folder: Path, show: Callable[[Pulse], None]) -> Json:
    """The step itself, from its first reading to its last; returns what stands in done.json.

    Raises StepFailed, ServerError, GeneratorError.
    """
    started_s = time.monotonic()
    log_position = bench.server.log_position()
    sampler = bench.sampler(folder / "host.jsonl")
    sampler.start()
    found: Json = {"canary": {}, "warnings": []}
    try:
        found["canary"]["before"] = idle_reading(bench.server, sampler, "start")
        bench.server.execute(*step.setup)
        write_probe(probe.before, bench.server, step, folder / "before.json")
        found |= generate(step, bench, sampler, folder, show)
        write_probe(probe.after, bench.server, step, folder / "after.json")
        found["canary"]["after"] = idle_reading(bench.server, sampler, "end")
        found["waited_s"] = pad(step, bench.server, started_s)
    finally:
        sampler.stop()
    found["switch"] = bench.switch
    found["log_events"] = bench.server.log_events(log_position)
    found["sampler_cpu_us"] = sampler.cpu_us
    return found


def write_description(step: Step, bench: Bench, folder: Path) -> None:
    """Writes step.json: what the step is, also where it never runs."""
    described = asdict(step)
    del described["job"]
    store.write_json(folder / "step.json", described | {"arm": bench.arm, "block": bench.block})


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


def generate(
    step: Step, bench: Bench, sampler: Sampler, folder: Path, show: Callable[[Pulse], None]
) -> Json:
    """Runs the generator and reads the counters at the window's two ends.

    Returns the window's length, what was counted in it and in all, and the checks.
    """
    complete = job(step, bench)
    store.write_json(folder / "job.json", complete)
    meter = Meter(step)
    with (
        store.Lines(folder / "events.jsonl") as lines,
        Generator(complete, lines.write_raw) as generator,
    ):
        open_ns = close_ns = 0
        done: Json = {}
        for event in generator.events():
            sampler.observe(event)
            match event["event"]:
                case "ready":
                    generator.go()
                case "window_open":
                    open_ns = event["mono_ns"]
                    sampler.read("open", open_ns)
                case "tick" if pulse := meter.take(event):
                    show(pulse)
                case "window_close":
                    close_ns = event["mono_ns"]
                    sampler.read("close", close_ns)
                    generator.stop()
                case "done":
                    done = event
    if done["status"] != "ok":
        if bench.server.engine != "fake":
            time.sleep(SERVER_GONE_S)
        raise StepFailed(done["reason"] or f"dyno-loadgen ended with `{done['status']}`")
    if bench.server.engine != "fake":
        time.sleep(STATISTICS_DELAY_S)
    totals = done["totals"]
    return {
        "window_ns": close_ns - open_ns,
        "counted": meter.counted(),
        "totals": totals,
        "checks": checks(step, totals),
    }


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
    return canary.run(server.data_dir, binary.find("dyno-loadgen"))


def write_probe(look: Callable[..., Json], server: Server, step: Step, path: Path) -> None:
    """Writes the database's counters and state to `path`; nothing for an arm without a database."""
    address = server.address()
    if address is None:
        return
    state = look(address, step.tables, step.explain, server.data_dir, server.wal_dir)
    store.write_json(path, state)


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
