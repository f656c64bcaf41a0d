"""Samples of waits on real servers: planted waits, rough ends, and a ledger that adds up."""

import contextlib
import json
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import psycopg
import pytest
from msgspec import convert

from dbdyno import plan
from dbdyno.analysis.step import assemble
from dbdyno.engine import LabServer
from dbdyno.engine.postgres.wait_connection import PostgresWaitConnection
from dbdyno.engine.wait_sampler import END_S_MAX, SessionSampler
from dbdyno.findings.waits.facts import WaitFacts
from dbdyno.model import Arm, Json, Observation, StepRun
from dbdyno.model.error import ServerError
from dbdyno.model.events import ConnectedEvent
from dbdyno.model.job import Job
from dbdyno.model.wait_samples import SESSION_COLUMNS
from dbdyno.run import blocks
from dbdyno.store import Results, StepFolder
from doubted import doubted
from one_arm import ONE_LIVE_ARM
from run_builder import owners
from server_place import a_place, address, newest, started, within

pytestmark = pytest.mark.live

INTERVAL_S = 0.05
JOB = convert(
    {
        "clients": 1,
        "statements": [
            {"name": "raise", "pieces": ["UPDATE t SET n = n + 1 WHERE id = ", {"value": 0}]},
            {"name": "look", "pieces": ["SELECT n FROM t WHERE id = ", {"value": 0}]},
        ],
    },
    Job,
)
# In the target list, since rows of a function in FROM are written into a file first.
ONLY_COMPUTES = (
    "SELECT count(*) FROM (SELECT generate_series(1, 5000000) AS i) AS made WHERE i % 7 = 3"
)
PLAN = (
    'name = "waits"'
    + ONE_LIVE_ARM
    + """
[[workloads]]
name = "sysbench"
parameters = {{ clients = 1, tables = 1, rows = 20_000, warmup_s = 0.5, seconds = 6, pause_s = 0 }}
steps = ["fill", "point-query"]
"""
)


@pytest.fixture(params=newest(), ids=lambda path: path.name, scope="module")
def server(request: pytest.FixtureRequest) -> Iterator[LabServer]:
    """A server with one row in the database `ib`."""
    arm = Arm(name="asked", engine="postgres", base_dir=request.param)
    with a_place() as place, started(arm, place) as made:
        made.create_database("ib")
        made.execute(
            "CREATE TABLE t (id int PRIMARY KEY, n int)", "INSERT INTO t VALUES (1, 0)"
        )  # fmt: skip
        yield made


def connected(server: LabServer) -> psycopg.Connection:
    """A connection as a load has them."""
    at = address(server)
    return psycopg.connect(
        host=at.host, port=at.port, user=at.user, dbname=at.database, autocommit=True
    )


class Samples:
    """A sampler at work, and the lines that it wrote."""

    def __init__(self, server: LabServer, roles: dict[int, str]) -> None:
        self.lines: list[Json] = []  # as the file has them
        made = server.client.waits(
            address(server),
            JOB,
            Observation(waits_s=INTERVAL_S, waits_sessions=True),
            lambda line: self.lines.append(json.loads(msgspec.json.encode(line))),
        )
        assert isinstance(made, SessionSampler)
        self.sampler = made
        for pid, role in roles.items():
            self.sampler.observe(
                ConnectedEvent(mono_ns=1, role=role, client=0, connection=0, server_pid=pid)
            )

    @property
    def seen(self) -> set[tuple[object, ...]]:
        """All that sessions were seen to do."""
        return {tuple(one[:4]) for line in self.lines for one in line.get("sessions", ())}

    @property
    def doing(self) -> set[tuple[str, str, str]]:
        """Owners, classes and events that were seen."""
        return {(str(one[0]), str(one[1]), str(one[2])) for one in self.seen}

    @property
    def moments_s(self) -> list[float]:
        """When samples were taken."""
        return [line["mono_ns"] / 1e9 for line in self.lines if "sessions" in line]


# --- What is seen ----------------------------------------------------------------------------


@pytest.mark.capability("waits")
def test_a_wait_for_a_planted_row_lock_is_seen_with_its_statement(server: LabServer) -> None:
    with connected(server) as holder, connected(server) as waiter:
        holder.execute("BEGIN")
        holder.execute("SELECT n FROM t WHERE id = 1 FOR UPDATE")
        update = threading.Thread(
            target=waiter.execute, args=("UPDATE t SET n = n + 1 WHERE id = 1",)
        )
        update.start()
        time.sleep(0.2)
        roles = {waiter.info.backend_pid: "write", holder.info.backend_pid: "hold"}
        samples = Samples(server, roles)
        with samples.sampler as sampler:
            sampler.begin()
            time.sleep(1.5)
        holder.execute("ROLLBACK")
        update.join()
    assert ("role:write", "Lock", "transactionid", "raise") in samples.seen
    assert ("role:hold", "idle in transaction", "", "look") in samples.seen
    assert {one[:2] for one in samples.seen if str(one[0]).startswith("role:")} == {
        ("role:write", "Lock"),
        ("role:hold", "idle in transaction"),
    }


def test_work_is_on_the_cpu_and_its_end_is_idle(server: LabServer) -> None:
    with connected(server) as worker:
        samples = Samples(server, {worker.info.backend_pid: "work"})
        with samples.sampler as sampler:
            sampler.begin()
            worker.execute(ONLY_COMPUTES)
            time.sleep(0.3)
    own = [
        one for line in samples.lines for one in line.get("sessions", ()) if one[0] == "role:work"
    ]
    assert own
    on_cpu = sum(one[4] for one in own if one[1] == "CPU")
    assert on_cpu >= len(own) / 2, "others may be of pages of the catalog that it reads first"
    assert any(line.get("idle", {}).get("role:work") for line in samples.lines)


def test_a_sleep_is_a_timeout_and_who_is_asked_nothing_is_idle(server: LabServer) -> None:
    with connected(server) as sleeper, connected(server) as rester:
        pid = rester.info.backend_pid
        roles = {sleeper.info.backend_pid: "nap", pid: "rest"}
        rester.execute("SELECT 7")
        samples = Samples(server, roles)
        nap = threading.Thread(target=sleeper.execute, args=("SELECT pg_sleep(0.8)",))
        nap.start()
        with samples.sampler as sampler:
            sampler.begin()
            assert within(20.0, lambda: ("role:nap", "Timeout", "PgSleep") in samples.doing)
        nap.join()
    lines = [line for line in samples.lines if "sessions" in line]
    assert all(line["idle"].get("role:rest") == 1 for line in lines)
    assert "Activity" not in {one[1] for one in samples.doing}, "the background waits for work"
    assert not any(one[0] == "role:rest" for one in samples.doing)
    rows = [dict(zip(SESSION_COLUMNS, one, strict=True)) for one in lines[0]["by_session"]]
    (rest,) = [row for row in rows if row["owner"] == "role:rest"]
    assert (rest["pid"], rest["kind"], rest["query"]) == (pid, "idle", "SELECT 7")
    assert rest["query_start_us"] == pytest.approx(time.time() * 1e6, abs=600e6)
    read, hit = lines[0]["blocks"]
    assert (read >= 0, hit > 0) == (True, True)


@pytest.mark.soak
def test_the_achieved_interval_is_the_one_asked_for(
    server: LabServer, record_property: Callable[[str, object], None]
) -> None:
    samples = Samples(server, {})
    with samples.sampler as sampler:
        sampler.begin()
        time.sleep(60 * INTERVAL_S)
    moments = samples.moments_s
    achieved = (moments[-1] - moments[0]) / (len(moments) - 1)
    last = samples.lines[-1]
    assert achieved == pytest.approx(INTERVAL_S, rel=0.2)
    assert (last["end"], last["samples"], last["failed"]) == (True, len(moments), None)
    assert last["late"] <= 12
    took_us = sorted(line["took_us"] for line in samples.lines if "took_us" in line)
    each_us = last["cpu_us"] / last["samples"]
    record_property("a sample takes, us", took_us[len(took_us) // 2])
    record_property("of our CPU, us", each_us)
    assert each_us < 2_000


def test_nothing_is_sampled_before_the_window_and_between_turns(server: LabServer) -> None:
    samples = Samples(server, {})
    with samples.sampler as sampler:
        time.sleep(0.3)
        assert samples.moments_s == []
        sampler.begin()
        time.sleep(0.3)
        sampler.rest()
        time.sleep(0.1)
        so_far = len(samples.moments_s)
        time.sleep(0.5)
        assert len(samples.moments_s) == so_far > 0
        sampler.begin()
        time.sleep(0.3)
    assert len(samples.moments_s) > so_far
    assert samples.lines[-1]["late"] <= 4, "a rest is not late"


# --- Rough ends ------------------------------------------------------------------------------


def test_a_server_that_ends_the_connection_ends_the_samples_and_nothing_else(server: LabServer):
    samples = Samples(server, {})
    with samples.sampler as sampler, connected(server) as other:
        sampler.begin()
        time.sleep(0.3)
        other.execute("SELECT pg_terminate_backend(%s)", [sampler.pid])
        time.sleep(0.5)
    assert sampler.failure is not None
    # By when the end is noticed: in the server's words, or by the connection that is gone.
    assert re.search("terminating connection|closed the connection", sampler.failure)
    assert samples.lines[-1]["failed"] == sampler.failure
    assert samples.lines[-1]["samples"] == sampler.samples > 0


def test_a_process_that_does_not_answer_is_cut_off_in_time(server: LabServer) -> None:
    samples = Samples(server, {})
    pid = samples.sampler.pid
    try:
        with samples.sampler as sampler:
            sampler.begin()
            time.sleep(0.2)
            os.kill(pid, signal.SIGSTOP)
            time.sleep(0.3)
            begun_s = time.monotonic()
        took_s = time.monotonic() - begun_s
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
    assert took_s < END_S_MAX + 20
    assert sampler.failure is not None
    assert samples.lines[-1]["end"] is True


def test_a_server_that_lets_nobody_in_is_said_in_one_line(server: LabServer) -> None:
    at = replace(address(server), database="no-such")
    with pytest.raises(ServerError, match=r"database `no-such`: .*does not exist") as error:
        PostgresWaitConnection(at, each=False)
    assert "\n" not in str(error.value)


# --- A step ----------------------------------------------------------------------------------


@pytest.fixture(params=newest(), ids=lambda path: path.name, scope="module")
def point(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[StepFolder]:
    """A point query of one client, sampled at 20 Hz."""
    data = Path("/var/tmp") / f"dyno-test-{os.getpid()}"
    written = PLAN.format(base_dir=request.param, data=data)
    asked = replace(plan.parse(written, None), observe=Observation(waits_s=INTERVAL_S))
    try:
        outcome = blocks.run(asked, tmp_path_factory.mktemp("waits"), wait=True)
        assert outcome.failed == 0
        (block,) = Results.open(outcome.folder).blocks()
        (run,) = block.runs()
        yield next(step for step in run.steps() if step.name == "point-query")
    finally:
        subprocess.run(["rm", "-rf", str(data)], check=True)


def derived(folder: StepFolder) -> StepRun:
    run = assemble.step_run(folder)
    assert run.ending.status == "ok", run.ending.reason
    return run


def test_the_parts_of_a_point_querys_time_add_up(
    point: StepFolder, record_property: Callable[[str, object], None]
) -> None:
    metrics = derived(point).metrics
    whole, left = metrics["connection_us_per_op"], metrics["unaccounted_us_per_op"]
    # The time for row locks is InnoDB's, and no part of PostgreSQL's ledger.
    ledger = {
        name: value
        for name, value in metrics.items()
        if name.endswith("_us_per_op") and name != "row_lock_us_per_op"
    }
    record_property("ledger", ledger | {"cpu": metrics["server_cpu_per_op"]})
    assert whole is not None
    assert left is not None
    assert None not in ledger.values()
    parts = [value or 0.0 for name, value in ledger.items() if name != "connection_us_per_op"]
    assert sum(parts) + (metrics["server_cpu_per_op"] or 0.0) == pytest.approx(whole, rel=0.02)
    assert 0 <= left < whole
    assert whole == pytest.approx(1e6 / (metrics["qps"] or 0.0), rel=0.01), "one client"


@pytest.mark.soak
def test_what_samples_cost_is_the_labs_and_small(
    point: StepFolder, record_property: Callable[[str, object], None]
) -> None:
    run = derived(point)
    (waits,) = run.of(WaitFacts).waits
    record_property("waits", str(replace(waits, loads=())))
    assert waits.server_cpu_us is not None
    assert 0 < waits.server_cpu_us < 0.05 * 6e6
    assert "backend:other" not in owners(run) or owners(run)["backend:other"].cpu_us < 1e4
    statements = {load.statement for load in waits.loads if load.owner == "role:query"}
    assert statements <= {"point-query", None}
    assert not [text for text in doubted(run) if "waits" in text]
