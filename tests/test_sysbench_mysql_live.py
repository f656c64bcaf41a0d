"""The sysbench suites on MySQL and MariaDB: what the general log says that they were sent."""

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from dbdyno import workload
from dbdyno.engine import Server
from dbdyno.model import Arm
from dbdyno.run import server_parts
from mysql_place import build_of
from mysql_steps import DATABASE, LITERAL, Seen, Sent, form, is_execution, logged, logging, run
from server_place import a_place, started
from test_sysbench_live import PAD, C, operation

pytestmark = pytest.mark.live

ROWS, TABLES, CLIENTS = 2_000, 2, 3
PARAMETERS = {
    "clients": CLIENTS,
    "tables": TABLES,
    "rows": ROWS,
    "pause_s": 0.2,
    "warmup_s": 0,
    "seconds": 0.3,
    "write_seconds": 0.3,
    "scan_warm_s": 0.2,
}
STEPS = (
    *(
        "prepare",
        "vacuum",
        "postwrite.pre",
        "update-inlist",
        "update-index",
        "update-nonindex",
        "update-one",
    ),
    *("write-only", "read-write_range=10", "postwrite", "scan", "read-only_range=100"),
    *("read-only-count", "point-query", "random-points_range=10", "points-covered-si"),
    *("range-covered-pk", "range-notcovered-si", "delete", "insert"),
)
"""Every kind of statement once."""
TRANSACTIONS = ("write-only", "read-write_range=10", "read-only_range=100")
UNPREPARED = ("prepare", "vacuum", "postwrite.pre", "postwrite", "scan", "insert")
SCRIPTS = ("oltp_read_write", "oltp_write_only", "oltp_insert", "oltp_delete", "bulk_insert")
OF_ONE_TABLE = ("select_random_points", "select_random_ranges")
CONTROL = ("BEGIN", "COMMIT", "ROLLBACK")
SYSBENCH = shutil.which("sysbench")
EVENTS, SYSBENCH_S_MAX = 20, 60


@pytest.fixture(scope="module")
def server(mysql_server: Server) -> Iterator[Server]:
    """A server of each engine, which logs what it is sent."""
    yield from logging(mysql_server)


@pytest.fixture(scope="module")
def seen(server: Server) -> Mapping[str, Seen]:
    """Steps of the suite, run one after the other."""
    release = build_of(server.engine).release
    loaded = workload.load("sysbench", fill="published")
    steps = workload.expand(loaded, PARAMETERS, server.engine, version=release, steps=STEPS)
    return {step.name: run(server, step) for step in steps}


def test_the_tables_are_sysbenchs(server: Server, seen: Mapping[str, Seen]) -> None:
    assert set(seen) == set(STEPS)
    (row,) = server.execute(f"SHOW CREATE TABLE {DATABASE}.sbtest2")
    made = str(row[1])
    for wanted in ("`c` char(120)", "`pad` char(60)", "KEY `k_2` (`k`)", "PRIMARY KEY (`id`)"):
        assert wanted in made
    assert "ENGINE=InnoDB" in made
    last, first = server.execute(f"SELECT max(id), min(k) FROM {DATABASE}.sbtest1")[0]
    inserted = seen["insert"].last["totals"]["write"]["count"]
    assert ROWS < last <= ROWS + inserted, "ids go on where the fill ended"
    assert first >= 1


@pytest.mark.parametrize("name", [one for one in STEPS if one not in (*TRANSACTIONS, *UNPREPARED)])
def test_single_statements_are_prepared_once_and_executed(seen: Mapping[str, Seen], name: str):
    for sent in seen[name].sessions():
        prepared = [one.sql for one in sent if one.command == "Prepare"]
        assert sorted({form(one) for one in prepared}) == operation(seen[name].step)
        assert len(prepared) == TABLES
        executed = [one.sql for one in sent if one.command == "Execute"]
        assert executed
        assert all(any(is_execution(one, text) for text in prepared) for one in executed)
        assert not [one for one in sent if one.command == "Query" and "sbtest" in one.sql]


@pytest.mark.parametrize("name", TRANSACTIONS)
def test_a_transaction_is_its_published_statements(
    server: Server, seen: Mapping[str, Seen], name: str
) -> None:
    begin = "Query" if server.engine == "mysql" else "Execute"
    whole = operation(seen[name].step)
    found = 0
    for sent in seen[name].sessions():
        prepared = {one.sql for one in sent if one.command == "Prepare"}
        begins = {one.command for one in sent if one.sql == "BEGIN" and one.command != "Prepare"}
        assert begins == {begin}, "MySQL cannot prepare it"
        assert {one.command for one in sent if one.sql == "COMMIT"} == {"Prepare", "Execute"}
        executed = [one.sql for one in sent if one.command in ("Execute", begin)]
        for one in committed(executed):
            assert len(one) == len(whole)
            for text, wanted in zip(one, whole, strict=True):
                forms = [each for each in prepared | {"BEGIN"} if form(each) == wanted]
                assert any(is_execution(text, each) for each in forms), (text, wanted)
            found += 1
    assert found


def committed(texts: list[str]) -> Iterator[list[str]]:
    """The statements of each transaction that was committed; what was tried again comes once."""
    one: list[str] = []
    for text in texts:
        one = [text] if text == "BEGIN" else [*one, text]
        if text == "COMMIT":
            yield one
        if text in ("COMMIT", "ROLLBACK"):
            one = []
    assert not one, "the last one is ended"


def test_scans_and_inserts_are_texts(seen: Mapping[str, Seen]) -> None:
    scans = set(map(form, seen["scan"].texts("Query")))
    assert "SELECT * FROM sbtestT WHERE LENGTH(c) < 0" in scans
    inserts = [one for one in seen["insert"].texts("Query") if one.startswith("INSERT")]
    wanted = rf"INSERT INTO sbtest\d \(id, k, c, pad\) VALUES \(0, \d+, '{C}', '{PAD}'\)"
    assert inserts
    assert all(re.fullmatch(wanted, one) for one in inserts)


def test_postwrite_makes_statistics_while_dirty_pages_are_written(seen: Mapping[str, Seen]) -> None:
    for name in ("postwrite.pre", "postwrite"):
        found = Counter(form(one) for one in seen[name].texts("Query"))
        assert found["ANALYZE TABLE sbtestT"] == TABLES
        assert sum("innodb_max_dirty_pages_pct = 1" in one for one in found) == 1
        assert sum("innodb_max_dirty_pages_pct = @pct" in one for one in found) == 1


# --- Beside sysbench itself -----------------------------------------------------------------------


@pytest.mark.skipif(SYSBENCH is None, reason="no sysbench here: `apt-get install sysbench`")
@pytest.mark.parametrize("script", [*SCRIPTS, *OF_ONE_TABLE])
def test_the_server_is_sent_what_sysbench_sends(server: Server, script: str) -> None:
    tables = 1 if script in OF_ONE_TABLE or script == "bulk_insert" else TABLES
    given = {"tables": tables, "table_size": ROWS, "clients": 1, "events": EVENTS}
    loaded = workload.load("sysbench-oltp", set=script)
    *_, step = workload.expand(loaded, given | {"rows_per_insert": EVENTS}, server.engine)
    server.create_database(DATABASE)
    if script != "bulk_insert":
        sysbench(server, "oltp_read_only", tables, "prepare")
    logged(server)
    ours = run(server, step).sent
    if script == "bulk_insert":
        server.execute("TRUNCATE sbtest1")
    logged(server)
    theirs = [one for one in logged(server, lambda: sysbench(server, script, tables)) if one.sql]
    assert shapes(list(ours)) == shapes([one for one in theirs if "sysbench" not in one.sql])


def sysbench(server: Server, script: str, tables: int, command: str = "run") -> None:
    """A command of sysbench's with one of its scripts, by one thread."""
    address = server.address()
    assert address is not None
    assert SYSBENCH is not None
    subprocess.run(
        [
            *(SYSBENCH, "--db-driver=mysql", f"--mysql-socket={address.host}"),
            *(f"--mysql-user={address.user}", f"--mysql-db={DATABASE}", "--threads=1"),
            *(f"--tables={tables}", f"--table-size={ROWS}", f"--events={EVENTS}", "--time=0"),
            *("--rand-type=uniform", script, command),
        ],
        check=True,
        capture_output=True,
        timeout=SYSBENCH_S_MAX,
    )


def shapes(sent: list[Sent]) -> tuple[set[str], list[str]]:
    """What was prepared; and in its order how each statement was sent, and its text without values.

    Without what a client asks of the session itself.
    """
    prepared = {form(one.sql) for one in sent if one.command == "Prepare"}
    done = [one for one in sent if one.command in ("Query", "Execute")]
    texts = [f"{one.command} {re.sub(LITERAL, '?', form(one.sql))}" for one in done]
    return prepared, [one for one in texts if "sbtest" in one or one.split()[1] in CONTROL]


MYROCKS = Path("/usr/lib/mysql/plugin/ha_rocksdb.so")
"""Where Debian's mariadb-plugin-rocksdb lies."""


@pytest.mark.skipif(
    not MYROCKS.exists(), reason="no MyRocks here: `apt-get install mariadb-plugin-rocksdb`"
)
def test_a_real_myrocks_has_its_tables_and_ends_its_compaction() -> None:
    loaded = workload.load("sysbench")
    sizes = {"storage_engine": "rocksdb", "rows": 100, "pause_s": 1, "compaction_look_s": 1}
    steps = {step.name: step for step in workload.expand(loaded, sizes, "mariadb")}
    settings = {"plugin_load_add": "ha_rocksdb"}
    arm = Arm(name="a", engine="mariadb", base_dir=Path("/usr"), settings=settings)
    with a_place("mariadb") as place, started(arm, place) as server:
        server.create_database("ib")
        server_parts.refuse_missing(server, steps.values())
        server.execute(*steps["fill"].setup)
        ((_, made),) = server.execute("SHOW CREATE TABLE sbtest1")
        assert "ENGINE=ROCKSDB" in made
        server.execute("INSERT INTO sbtest1 (k, c, pad) SELECT seq, seq, seq FROM seq_1_to_20000")
        for statement in steps["postwrite"].job.statements:
            if statement.name in ("compaction_end", "flush_memtables"):
                server.execute(statement.beginning)
        look = (
            "SELECT VALUE FROM information_schema.ROCKSDB_CFSTATS WHERE CF_NAME = 'default' "
            "AND STAT_TYPE IN ('COMPACTION_PENDING', 'NUM_ENTRIES_ACTIVE_MEM_TABLE') ORDER BY 1"
        )
        assert server.execute(look) == [(0,), (0,)]
