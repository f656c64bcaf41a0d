"""The clients that are held against each other: how each is called, and what it says it did.

Operations are those of the whole run and CPU is that of the whole process, connecting included,
for all alike; throughput is what each reports of the time after connecting.
"""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from msgspec import to_builtins

from bench import process
from bench.pairs import BenchArm, Sample
from bench.process import Ended, ProgramFailed
from dbdyno.model import Address, Json
from dbdyno.model.events import HelloEvent, parse
from dbdyno.model.job.endpoint import Endpoint
from dbdyno.run.driver import loadgen
from dbdyno.run.driver.pgbench import report

ROOT = Path(__file__).resolve().parents[2]
BARE_LOOP = ROOT / "target/release/examples/bare_loop"
DEBIAN_PGBENCH = "usr/lib/postgresql/*/bin/pgbench"
OVERTIME_S_MAX = 120
"""How much longer than asked for an arm may take: connecting, starting, ending."""

SYSBENCH_EVENTS = re.compile(r"^\s*transactions:\s+(\d+)\s+\(([\d.]+) per sec\.\)", re.MULTILINE)
SYSBENCH_IGNORED = re.compile(r"^\s*ignored errors:\s+(\d+)", re.MULTILINE)


POINT_SELECT = "oltp_point_select"
NO_PGBENCH = "not installed: apt-get install postgresql"
NO_SYSBENCH = "not installed: apt-get install sysbench"
EPOLL = "epoll"
WAYS = {EPOLL: "bare loop", "uring": "bare io_uring", "threads": "bare threads"}
"""How the least of a client waits, and what that is called."""
PLACEHOLDERS = {"postgres": "$1", "mysql": "?"}
"""By protocol that the bare loop speaks: how SQL names its one parameter."""
NO_BARE_LOOP = "not built: cargo build --release --example bare_loop"


def absent(name: str, missing: str) -> BenchArm:
    """An arm that is not on this machine."""

    def run(seconds: float) -> Sample:
        raise ProgramFailed(f"{name}: {missing}")

    return BenchArm(name=name, run=run, missing=missing)


# --- The generator -----------------------------------------------------------------------------


def dyno(generator: Path, job: Callable[[float], Json]) -> BenchArm:
    """The load generator with the job made for so many seconds."""

    def run(seconds: float) -> Sample:
        return run_generator(generator, job(seconds)).sample

    return BenchArm(name="dyno-loadgen", run=run)


@dataclass(frozen=True, kw_only=True)
class Generated:
    """A run of the generator; its job has one role, and a window that is the whole step."""

    sample: Sample
    thread_us: float  # CPU of the threads with the connections, while they made load
    peak_bytes: int  # of its memory


def run_generator(generator: Path, job: Json) -> Generated:
    """Runs a timed job.

    Raises ProgramFailed where it does not end well, GeneratorError for a debug build.
    """
    ended, events = generate(generator, job, job["stop"]["seconds"] + OVERTIME_S_MAX)
    done = events[-1]
    (totals,) = done["totals"].values()
    ticks = [event for event in events if event["event"] == "tick" and event["measured"]]
    counted = sum(client[0] for tick in ticks for client in tick["per_client"])
    per_s = counted / sum(tick["active_ns"] for tick in ticks) * 1e9
    sample = sampled(ended, totals["count"], per_s)
    thread_us = sum(thread["cpu_us"] for thread in done["threads"])
    return Generated(sample=sample, thread_us=thread_us, peak_bytes=done["peak_rss_bytes"])


def generate(generator: Path, job: Json, limit_s: float) -> tuple[Ended, list[Json]]:
    """Runs a job within `limit_s` seconds; how the program ended, and its events.

    Raises ProgramFailed where it does not end well, GeneratorError for a debug build.
    """
    ended = process.run([generator], limit_s=limit_s, text=json.dumps(job))
    lines = ended.output.splitlines()
    hello = parse(lines[0])
    assert isinstance(hello, HelloEvent), "it comes first"
    loadgen.refuse_foreign(hello)
    events = [json.loads(line) for line in lines]
    done = events[-1]
    if done["event"] != "done" or done["status"] != "ok":
        raise ProgramFailed(f"dyno-loadgen ended badly: {done.get('reason')}")
    return ended, events


def sampled(ended: Ended, operations: int, per_s: float) -> Sample:
    """The run of a client that is a program of its own, and has ended."""
    return Sample(operations=operations, user_s=ended.user_s, system_s=ended.system_s, per_s=per_s)


# --- The others --------------------------------------------------------------------------------


def pgbench(address: Address, script: str, connections: int) -> BenchArm:
    """pgbench with one of its built-in scripts, prepared statements and one thread."""
    program = pgbench_program()
    if program is None:
        return absent("pgbench", NO_PGBENCH)

    def run(seconds: float) -> Sample:
        command: list[str | Path] = [program, "-n", "-M", "prepared", "-j", "1"]
        command += ["-c", str(connections), "-T", f"{seconds:g}", "-b", script]
        command += ["-h", address.host, "-p", str(address.port), "-U", address.user]
        command += [address.database]
        return pgbench_sample(process.run(command, limit_s=seconds + OVERTIME_S_MAX))

    return BenchArm(name="pgbench", run=run)


def pgbench_program() -> Path | None:
    """pgbench itself; None where it is not installed.

    Debian's `pgbench` is a Perl script that looks for the real one, at the cost of tens of
    milliseconds of CPU: the newest real one is preferred.
    """
    real = sorted(Path("/").glob(DEBIAN_PGBENCH), key=lambda path: float(path.parts[-3]))
    found = shutil.which("pgbench")
    return real[-1] if real else Path(found) if found else None


def pgbench_sample(ended: Ended) -> Sample:
    """What pgbench's summary says. Raises ProgramFailed where transactions failed."""
    said = report.parse(ended.output)
    if said is None or said.tps is None or said.failed:
        raise ProgramFailed(f"pgbench said: {' '.join(ended.output.split())[-300:]}")
    return sampled(ended, said.processed, said.tps)


def sysbench(
    address: Address,
    rows: int,
    connections: int,
    script: str = POINT_SELECT,
    *,
    driver: str = "pgsql",
) -> BenchArm:
    """sysbench on its own table; it has a thread for each connection. An operation is an event."""
    program = sysbench_program()
    if program is None:
        return absent("sysbench", NO_SYSBENCH)
    command = sysbench_command(program, address, rows, script, driver=driver)

    def run(seconds: float) -> Sample:
        more = [f"--threads={connections}", f"--time={seconds:g}", "run"]
        ended = process.run(command + more, limit_s=seconds + OVERTIME_S_MAX)
        return sysbench_sample(ended)

    return BenchArm(name="sysbench", run=run)


def sysbench_program() -> Path | None:
    """sysbench; None where it is not installed."""
    found = shutil.which("sysbench")
    return Path(found) if found else None


def sysbench_command(
    program: Path, address: Address, rows: int, script: str = POINT_SELECT, *, driver: str = "pgsql"
) -> list[str]:
    """What `prepare` and `run` have in common, with the driver `pgsql` or `mysql`."""
    where = {
        "pgsql": [f"--pgsql-host={address.host}", f"--pgsql-port={address.port}"],
        "mysql": [f"--mysql-socket={address.host}"],
    }[driver]
    return [
        *(str(program), script, f"--db-driver={driver}"),
        *("--tables=1", f"--table-size={rows}", "--rand-type=uniform"),
        *where,
        *(f"--{driver}-user={address.user}", f"--{driver}-db={address.database}"),
    ]


def sysbench_sample(ended: Ended) -> Sample:
    """What sysbench's summary says. Raises ProgramFailed where it ignored errors."""
    events, ignored = SYSBENCH_EVENTS.search(ended.output), SYSBENCH_IGNORED.search(ended.output)
    if events is None or (ignored is not None and int(ignored[1])):
        raise ProgramFailed(f"sysbench said: {' '.join(ended.output.split())[-300:]}")
    return sampled(ended, int(events[1]), float(events[2]))


def bare_loop(  # noqa: PLR0913 (each by its name)
    address: Address,
    sql: str,
    *,
    key_max: int,
    connections: int,
    way: str = EPOLL,
    protocol: str = "postgres",
) -> BenchArm:
    """The least that any client can do, by one of `WAYS` (loadgen/benches/bare_loop).

    `sql` ends where the key follows, drawn from 1 to `key_max`.
    """
    name = WAYS[way]
    if not BARE_LOOP.is_file():
        return absent(name, NO_BARE_LOOP)

    def run(seconds: float) -> Sample:
        task = {
            "protocol": protocol,
            "server": to_builtins(Endpoint.of(address)),
            "sql": f"{sql}{PLACEHOLDERS[protocol]}",
            "key_max": key_max,
            "connections": connections,
            "seconds": seconds,
            "way": way,
        }
        text = json.dumps(task)
        ended = process.run([BARE_LOOP], limit_s=seconds + OVERTIME_S_MAX, text=text)
        outcome = json.loads(ended.output)
        per_s = outcome["operations"] / outcome["active_ns"] * 1e9
        return sampled(ended, outcome["operations"], per_s)

    return BenchArm(name=name, run=run)
