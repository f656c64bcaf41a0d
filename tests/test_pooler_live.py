"""Connections through PgBouncer that pools transactions, as many services have them."""

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from dbdyno import engine, plan
from dbdyno.analysis import compare
from dbdyno.engine import LabServer
from dbdyno.engine.external import ExternalServer
from dbdyno.engine.postgres import connection, probe
from dbdyno.engine.snapshot import SnapshotSubject
from dbdyno.model import Address, Arm
from dbdyno.model.error import ServerError
from dbdyno.run import blocks
from pooler import pooled
from server_place import a_place, ends, over_tcp, started
from step_load import events, only_step

pytestmark = pytest.mark.live

PLAN = """
[arms.theirs]
dsn = "postgresql://tenant@127.0.0.1:{port}/shop"
[schedule.void]
foreign = 1
[observe]
waits = "20ms"
[[workloads]]
name = "./mine.toml"
"""
WORKLOAD = """
[tables.t]
create = "CREATE TABLE {{t}} (id int NOT NULL, note text)"
fill.rows = 1000
fill.columns.id = ":row"
fill.columns.note = {{ pattern = "note ###", type = "text" }}
fill.after.postgres = ["ALTER TABLE {{t}} ADD PRIMARY KEY (id)", "VACUUM ANALYZE {{t}}"]

[values]
id = {{ uniform = [1, 1000] }}

[statements]
get = {{ protocol = "{protocol}", any = "SELECT note FROM {{t}} WHERE id = :id" }}

[[steps]]
name = "points"
seconds = 1
writes = false
headline = {{ metric = "qps", role = "query", count = "operations" }}
roles.query = {{ run = "get", connections = 8 }}
"""


@pytest.fixture(scope="module")
def server() -> Iterator[LabServer]:
    """A server whose database begins sessions otherwise than clients expect."""
    arm = Arm(name="behind", engine="postgres", base_dir=ends()[-1], transport="tcp")
    with a_place() as place, started(arm, place) as server:
        over_tcp(server).write_text("local all all trust\nhost all all 127.0.0.1/32 trust\n")
        server.execute(
            "SELECT pg_reload_conf()",
            "CREATE ROLE tenant LOGIN",
            "CREATE DATABASE shop OWNER tenant",
            "ALTER DATABASE shop SET datestyle = 'german, dmy'",
            "ALTER ROLE tenant SET statement_timeout = '20s'",
        )
        yield server


@pytest.fixture(scope="module")
def port(server: LabServer) -> Iterator[int]:
    """A pooler's port."""
    with pooled(server, mode="transaction", user="tenant") as port:
        yield port


def test_own_sessions_go_through_it_and_leave_its_settings_alone(port: int) -> None:
    there = Address(host="127.0.0.1", port=port, user="tenant", database="shop")
    pinned = "SELECT timestamptz '2026-01-02 03:04:05+00', current_setting('statement_timeout')"
    statements = (
        "CREATE TABLE goods (id int)",
        "VACUUM goods",
        "SET enable_seqscan = off",
        "SELECT set_config('enable_sort', 'off', false)",
        pinned + ", current_setting('enable_seqscan'), current_setting('enable_sort')",
    )
    moment = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
    assert connection.execute(there, statements, 7) == [(moment, "7s", "off", "off")]
    subject = SnapshotSubject(there, tables=["goods"], explain={"read": "SELECT id FROM goods"})
    snapshot: Any = probe.after(subject)
    assert snapshot.tables["goods"]
    assert "pooler" in snapshot.unavailable["explain"]
    left = "SELECT current_setting(name) FROM unnest(ARRAY['DateStyle', 'enable_seqscan', "
    left += "'statement_timeout', 'enable_sort']) AS name"
    with psycopg.connect(
        f"host=127.0.0.1 port={port} user=tenant dbname=shop", autocommit=True
    ) as other:
        values = [other.execute(left).fetchall() for _ in range(5)]
    assert values == 5 * [[("German, DMY",), ("on",), ("20s",), ("on",)]]


def test_a_plan_measures_through_it(port: int, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(WORKLOAD.format(protocol="extended"))
    of = plan.parse(PLAN.format(port=port), tmp_path / "plan.toml")
    outcome = blocks.run(of, tmp_path / "results", wait=True)
    assert outcome.failed == 0
    (*_, step) = compare.load(outcome.folder).steps
    assert step.cells[0].runs[0].metrics["qps"]


def test_prepared_statements_that_it_does_not_keep_are_a_line_with_the_remedy(
    port: int, tmp_path: Path
) -> None:
    there = Address(host="127.0.0.1", port=port, user="tenant", database="shop")
    connection.execute(there, ["CREATE TABLE IF NOT EXISTS t1 (id int, note text)"], 10)
    for protocol, words in (("simple", None), ("prepared", "`max_prepared_statements`")):
        text = WORKLOAD.format(protocol=protocol).replace("{t}", "t1")
        step = only_step(tmp_path, text[text.index("[values]") :])
        done = events(behind(port), step)[-1]
        assert done["reason"] is None if words is None else words in done["reason"]


def test_options_that_it_does_not_pass_on_are_a_line_with_the_remedy(port: int) -> None:
    with pytest.raises(ServerError, match=r"arms.theirs.dsn: .*options: remove .* from the DSN"):
        behind(port, "?options=-c%20geqo%3Doff").check()


def behind(port: int, query: str = "") -> ExternalServer:
    """The server behind a pooler, as a plan knows it."""
    text = PLAN.format(port=port).replace("/shop", f"/shop{query}")
    (arm,) = plan.parse(text.replace("./mine.toml", "sysbench"), None).arms
    return ExternalServer(arm, engine.of(arm.engine).client)
