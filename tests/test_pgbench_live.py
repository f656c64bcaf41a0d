"""The workload pgbench beside pgbench itself: the same tables, the same statements, each on the
other's tables, and balances that are checked."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from dbdyno import plan, workload
from dbdyno.analysis import compare
from dbdyno.engine import LabServer
from dbdyno.model import Arm, Step
from dbdyno.model.error import ServerError
from dbdyno.run import blocks
from dbdyno.run.check import existing_tables, preflight
from dbdyno.store import Results
from one_arm import ONE_LIVE_ARM
from server_place import a_place, address, ends, newest, started
from step_load import load

pytestmark = pytest.mark.live

DATABASE = "ib"
SCRIPTS = ["tpcb-like", "simple-update", "select-only"]
PROTOCOLS = ["simple", "extended", "prepared"]
PAGES_AHEAD_MAX = 64
"""By how many pages at a time a COPY makes a table larger, since PostgreSQL 16: the last ones may
stay empty."""
"""How late the statistics of a backend that has ended may be, on a busy machine."""

TABLES = """
SELECT relname, relkind, relpersistence, relhasindex, reloptions, pg_get_expr(relpartbound, oid),
       CASE relkind WHEN 'r' THEN reltuples END
FROM pg_class c WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace
ORDER BY relname"""
COLUMNS = """
SELECT c.relname, attnum, attname, format_type(atttypid, atttypmod), attnotnull, attstorage
FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid
WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace AND attnum > 0
ORDER BY c.relname, attnum"""
CONSTRAINTS = """
SELECT conrelid::regclass::text, conname, contype, pg_get_constraintdef(oid), convalidated
FROM pg_constraint WHERE connamespace = 'public'::regnamespace ORDER BY 1, 2"""
INDEXES = """
SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid), indisprimary, indisvalid,
       reltuples, relpages
FROM pg_index JOIN pg_class c ON c.oid = indexrelid
WHERE relnamespace = 'public'::regnamespace ORDER BY 1"""
PAGES = """
SELECT relname, relpages, relallvisible, pg_relation_size(oid) / 8192 FROM pg_class
WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY 1"""
ROWS = {
    "accounts": "SELECT count(*), sum(aid::bigint), sum(bid), sum(abalance), min(filler::text), "
    "max(octet_length(filler)), bool_and(bid = (aid - 1) / 100000 + 1) FROM pgbench_accounts",
    "tellers": "SELECT count(*), sum(tid), sum(bid), sum(tbalance), count(filler) "
    "FROM pgbench_tellers",
    "branches": "SELECT count(*), sum(bid), sum(bbalance), count(filler) FROM pgbench_branches",
    "history": "SELECT count(*) FROM pgbench_history",
}
UNFROZEN = """
SELECT count(*) FROM generate_series(0, pg_relation_size('pgbench_accounts') / 8192 - 1) AS page,
    heap_page_items(get_raw_page('pgbench_accounts', page::int))
WHERE t_infomask & 768 <> 768"""
FORMS: list[tuple[list[str], dict[str, Any]]] = [
    ([], {}),
    (["-F", "80", "--foreign-keys"], {"fillfactor": 80, "foreign_keys": 1}),
    (["--partitions=3", "-s", "2"], {"partitions": 3, "scale": 2}),
    (
        ["--partitions=2", "--partition-method=hash", "-n"],
        {"partitions": 2, "partition_method": "hash", "vacuum": 0},
    ),
    (["--unlogged-tables", "-I", "dtgv"], {"unlogged": 1, "primary_keys": 0}),
]


@pytest.fixture(params=newest(), ids=lambda path: path.name, scope="module")
def server(request: pytest.FixtureRequest) -> Iterator[LabServer]:
    """A server of the newest version that is here, without autovacuum; see `newest`."""
    settings = {"autovacuum": "off", "shared_buffers": "64MB", "fsync": "off"}
    arm = Arm(name="bench", engine="postgres", base_dir=request.param, settings=settings)
    with a_place() as place, started(arm, place) as made:
        made.create_database(DATABASE)
        yield made


def newest_pgbench() -> Path:
    """pgbench itself, the newest that is here; skips the test where there is none."""
    beside = sorted(Path("/usr/lib/postgresql").glob("*/bin/pgbench"), key=lambda p: p.parts[4])
    found = shutil.which("pgbench") or (beside[-1] if beside else None)
    if found is None:
        pytest.skip("no pgbench here: `apt-get install postgresql`")
    return Path(found).resolve() if beside == [] else beside[-1]


def pgbench(server: LabServer, *arguments: str) -> str:
    """Runs pgbench to its good end; what it reports."""
    where = address(server)
    place = {"PGHOST": where.host, "PGPORT": str(where.port), "PGUSER": where.user}
    ended = subprocess.run(
        [newest_pgbench(), *arguments], capture_output=True, text=True, check=False,
        env={**os.environ, **place, "PGDATABASE": DATABASE},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def steps(**given: Any) -> dict[str, Step]:
    loaded = workload.load("pgbench", fill=given.pop("fill", None))
    return {step.name: step for step in workload.expand(loaded, given, "postgres")}


def run(server: LabServer, step: Step) -> dict[str, Any]:
    """A step's SQL and its load; the totals of its roles."""
    server.execute(*step.setup, database=DATABASE)
    return dict(load(server, step)[0]["totals"])


def rows(server: LabServer, sql: str) -> list[tuple[Any, ...]]:
    """What a query gives."""
    where = address(server)
    with psycopg.connect(
        host=where.host, port=where.port, user=where.user, dbname=DATABASE
    ) as asked:
        return asked.execute(sql.encode()).fetchall()


def emptied(server: LabServer) -> None:
    server.execute("DROP SCHEMA public CASCADE", "CREATE SCHEMA public", database=DATABASE)


def state(server: LabServer) -> dict[str, Any]:
    """All of the tables that has to be the same."""
    asked = {"tables": TABLES, "columns": COLUMNS, "constraints": CONSTRAINTS, "indexes": INDEXES}
    return {what: rows(server, sql) for what, sql in (asked | ROWS).items()}


# --- The tables ----------------------------------------------------------------------------------


@pytest.mark.parametrize("fill", ["fast", "published"])
@pytest.mark.parametrize(("options", "given"), FORMS, ids=[" ".join(one) for one, _ in FORMS])
def test_our_tables_are_those_that_pgbench_makes(
    server: LabServer, options: list[str], given: dict[str, Any], fill: str
) -> None:
    emptied(server)
    pgbench(server, "-i", "-q", *options)
    theirs, their_pages = state(server), rows(server, PAGES)
    emptied(server)
    loading = [one for one in steps(fill=fill, **given).values() if one.name not in SCRIPTS]
    for step in loading:
        run(server, step)
    assert state(server) == theirs
    for ours, one in zip(rows(server, PAGES), their_pages, strict=True):
        assert ours[0] == one[0]
        assert ours[1:] == pytest.approx(one[1:], abs=PAGES_AHEAD_MAX), ours[0]


def test_the_server_generates_what_pgbench_has_it_generate(server: LabServer) -> None:
    emptied(server)
    pgbench(server, "-i", "-I", "dtGvp")
    theirs = state(server)
    emptied(server)
    for step in steps(fill="published", generate="server").values():
        if step.name not in SCRIPTS:
            run(server, step)
    assert state(server) == theirs


def test_rows_are_old_from_the_beginning_as_with_copy_freeze(server: LabServer) -> None:
    emptied(server)
    run(server, steps()["fill"])
    server.execute("CREATE EXTENSION pageinspect", database=DATABASE)
    assert rows(server, UNFROZEN) == [(0,)]


# --- The scripts ---------------------------------------------------------------------------------


def test_pgbench_runs_on_our_tables(server: LabServer) -> None:
    emptied(server)
    run(server, steps(scale=2)["fill"])
    said = pgbench(server, "-c", "2", "-t", "25")
    assert "number of transactions actually processed: 50/50" in said
    assert "scaling factor: 2" in said
    ((history, accounts, branches),) = rows(
        server,
        "SELECT (SELECT sum(delta) FROM pgbench_history), (SELECT sum(abalance) FROM "
        "pgbench_accounts), (SELECT sum(bbalance) FROM pgbench_branches)",
    )
    assert history == accounts == branches


def test_our_scripts_run_on_tables_that_pgbench_made(server: LabServer) -> None:
    emptied(server)
    pgbench(server, "-i", "-q", "-s", "2")
    existing_tables.refuse_unfit(server, steps(scale=2)["fill"])
    for protocol in PROTOCOLS:
        found = steps(fill="keep", scale=2, protocol=protocol, clients=2, transactions=25)
        assert list(found) == SCRIPTS
        for step in found.values():
            (total,) = run(server, step).values()
            assert (total["count"], total["errors"]) == (50, 0), step.name


KEPT = """
name = "kept"
[arms.theirs]
dsn = "postgresql://{user}@localhost:{port}/ib?host={host}"
[schedule.void]
foreign = 1
[[workloads]]
name = "pgbench"
fill = "keep"
parameters = {{ clients = 2, transactions = 20, scale = {scale} }}
"""


def test_a_plan_keeps_the_tables_that_pgbench_made(server: LabServer, tmp_path: Path) -> None:
    emptied(server)
    pgbench(server, "-i", "-q", "-s", "2")
    where = address(server)
    parts = {"user": where.user, "host": where.host, "port": where.port}
    outcome = blocks.run(plan.parse(KEPT.format(scale=2, **parts), None), tmp_path, wait=True)
    found = ended(Results.open(outcome.folder))
    assert {name: one["status"] for name, one in found.items()} == dict.fromkeys(SCRIPTS, "ok")
    with pytest.raises(ServerError, match=r"`pgbench_tellers` has about 20 rows, .* make it 50"):
        preflight.prepare(plan.parse(KEPT.format(scale=5, **parts), None))


# --- Balances ------------------------------------------------------------------------------------

PLAN = (
    'name = "bench"'
    + ONE_LIVE_ARM
    + """
[[workloads]]
name = "{name}"
{more}
parameters = {{ clients = 2, transactions = 30, {parameters} }}
"""
)


def ran(folder: Path, name: str, more: str = "", parameters: str = "scale = 1") -> Results:
    """Runs a plan of one arm as a user would."""
    data = Path("/var/tmp") / f"dyno-test-{os.getpid()}"
    parts = {"base_dir": ends()[-1], "name": name, "more": more, "parameters": parameters}
    path = folder / "plan.toml"
    path.write_text(PLAN.format(data=data, **parts))
    try:
        return Results.open(blocks.run(plan.load(path), folder, wait=True).folder)
    finally:
        subprocess.run(["rm", "-rf", str(data)], check=True)


def ended(results: Results) -> dict[str, dict[str, Any]]:
    """done.json or failed.json of each step."""
    (run,) = results.blocks()[0].runs()
    return {
        step.name: json.loads(
            next(
                path for name in ("done.json", "failed.json") if (path := step.path / name).exists()
            ).read_text()
        )
        for step in run.steps()
    }


@pytest.mark.capability("pgbench")
def test_balances_are_checked_after_each_script_that_writes(tmp_path: Path) -> None:
    results = ran(tmp_path, "pgbench", more='fill = "published"')
    found = ended(results)
    phases = ["create-tables", "generate", "vacuum", "primary-keys"]
    assert list(found) == [*phases, *SCRIPTS]
    assert {one["status"] for one in found.values()} == {"ok"}
    assert found["generate"]["counted"]["rows"] == 100_011
    assert all(found[name]["window_ns"] > 0 for name in phases)
    runs = {one.step: one.cells[0].runs[0] for one in compare.load(results.folder).steps}
    assert all(runs[name].metrics["ips"] for name in phases)
    held = {name: [one["ok"] for one in found[name]["checks"]] for name in SCRIPTS}
    assert held == {"tpcb-like": [True] * 3, "simple-update": [True] * 3, "select-only": []}


def test_a_statement_that_loses_money_fails_its_step_with_the_sum(tmp_path: Path) -> None:
    changed = workload.text("pgbench").replace("bbalance + :delta", "bbalance + :delta + 1")
    (tmp_path / "lossy.toml").write_text(changed)
    found = ended(ran(tmp_path, "./lossy.toml", more='steps = ["tpcb-like", "select-only"]'))
    assert list(found) == ["fill", "tpcb-like", "select-only"]
    assert found["tpcb-like"]["status"] == "failed"
    assert re.fullmatch(
        r"invariant `SELECT \(SELECT sum\(bbalance\) FROM pgbench_branches\) - .*` is broken: "
        r"the answer was 0 before the load and 60 after it",
        found["tpcb-like"]["reason"],
    )
    assert found["select-only"]["status"] == "skipped"
