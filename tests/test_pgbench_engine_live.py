"""What of pgbench's engine the generator has, beside pgbench: latency limits, a connection each."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from dbdyno import workload
from dbdyno.engine import Server
from dbdyno.model import Json, Step
from dbdyno.run.driver.pgbench import log
from mysql_place import mysql_engine, mysql_server
from step_load import events, load
from test_pgbench_live import DATABASE, pgbench, server

__all__ = ["mysql_engine", "mysql_server", "server"]
pytestmark = pytest.mark.live

SLEEPING_S = 0.02
"""What a transaction takes: long beside all that a busy machine adds."""
RATE = 500
LIMIT_MS = 5

WORK = f"""
[statements]
nap = "SELECT pg_sleep({SLEEPING_S})"
own.postgres = "SELECT pg_backend_pid()"
own.mysql = "SELECT connection_id()"

[[steps]]
name = "limited"
seconds = 2
log = 1
headline = {{ metric = "qps", role = "query", count = "operations" }}
[steps.roles.query]
per = "step"
connections = 2
run = "nap"
pace = {{ per_s = {RATE}, arrivals = "poisson" }}
latency_limit_ms = {LIMIT_MS}
on_error = {{ tries = 1 }}
queue = "thread"

[[steps]]
name = "connecting"
capture = ["rows"]
headline = {{ metric = "qps", role = "query", count = "operations" }}
[steps.roles.query]
per = "step"
connections = 4
run = "own"
stop = {{ operations = 40 }}
connect = "each"
"""


def step(tmp_path: Path, name: str, engine: str = "postgres") -> Step:
    path = tmp_path / "work.toml"
    path.write_text(WORK)
    steps = workload.expand(workload.load(str(path), fill=None), {}, engine)
    return next(one for one in steps if one.name == name)


def with_log(of: Step, folder: Path) -> Step:
    """The step as `dyno run` makes it, whose log has a place."""
    assert of.job.log is not None
    log = structs.replace(of.job.log, prefix=str(folder / "transactions"))
    return replace(of, job=structs.replace(of.job, log=log))


SHAPE = log.LogShape(
    role="query", scripts=["nap"], clients=1, connections=2, lag=True, retries=False
)
ROUNDED_US = 2
"""By so much two rounded times can contradict an exact one."""


def keeps_the_rules(lines: log.Table) -> None:
    """A log of one who leaves out what missed the limit before a connection was free for it."""
    assert (lines[:, log.TIME] == -1).sum() > 100, "most are skipped"
    for client in range(2):
        its = lines[lines[:, log.CLIENT] == client]
        assert its[:, 1].tolist() == list(range(1, len(its) + 1)), "those skipped have numbers, too"
        done = its[its[:, log.TIME] >= 0]
        ends_us = done[:, log.SECONDS] * 1_000_000 + done[:, log.MICROS]
        due_us = ends_us - done[:, log.TIME]
        late_us = ends_us[:-1] - due_us[1:]
        assert len(done) > 5
        assert late_us.max() <= 1_000 * LIMIT_MS + ROUNDED_US


def test_what_is_skipped_is_so_by_pgbenchs_rules_and_the_log_is_one_of_pgbenchs(
    server: Server, tmp_path: Path
) -> None:
    totals: Json = load(server, with_log(step(tmp_path, "limited"), tmp_path))[0]["totals"]["query"]
    (ours,) = log.tables(tmp_path / "transactions.query", SHAPE)
    keeps_the_rules(ours)
    tally = log.LogTally(SHAPE, log.LogWindow(open_us=0, open_ns=0, seconds=1.0))
    tally.add(ours)
    # What was in flight as the window closed is in the totals only.
    assert 0 <= totals["count"] - tally.ended <= 2
    assert (tally.errors, tally.skipped) == (0, totals["skipped"])
    assert totals["over_limit"] == totals["count"], "each takes 20 ms"
    script = tmp_path / "nap.sql"
    script.write_text(f"SELECT pg_sleep({SLEEPING_S});\n")
    options = ["-n", "-c2", "-T2", f"-R{RATE}", f"-L{LIMIT_MS}", "-f", str(script)]
    said = pgbench(server, *options, "-l", f"--log-prefix={tmp_path}/pgbench")
    (path,) = tmp_path.glob("pgbench.*")
    (theirs,) = log.tables(path, SHAPE)
    keeps_the_rules(theirs)
    skipped = re.search(r"skipped: (\d+) ", said)
    assert skipped is not None and int(skipped[1]) == (theirs[:, log.TIME] == -1).sum()


def each_has_its_own(server: Server, of: Step) -> None:
    said = events(server, of)
    assert said[-1]["status"] == "ok", said[-1]["reason"]
    sessions = [event["rows"][0][0] for event in said if event["event"] == "captured"]
    assert len(sessions) == len(set(sessions)) == 40
    assert not any(event["event"] == "connected" for event in said)
    opened = [event["connects"] for event in said if event.get("connects")]
    assert sum(one["count"] for one in opened) == 40
    assert all(0 < one["max_us"] <= one["sum_us"] for one in opened)


def test_each_operation_has_a_session_of_its_own(server: Server, tmp_path: Path) -> None:
    each_has_its_own(server, step(tmp_path, "connecting"))


def test_so_it_has_on_mysql_and_mariadb(mysql_engine: str, mysql_server: Server, tmp_path: Path):
    mysql_server.create_database(DATABASE)
    each_has_its_own(mysql_server, step(tmp_path, "connecting", mysql_engine))
