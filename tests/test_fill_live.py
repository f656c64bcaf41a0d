"""Both forms of load on real servers: the fast one ends in the state of the published one."""

import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

import step_load
from dbdyno import workload
from dbdyno.engine import Server
from dbdyno.model import Arm, Json, Step
from server_place import a_place, address, newest, started

pytestmark = pytest.mark.live

DATABASE = "ib"
SYSBENCH = {"rows": 20_000, "tables": 3, "prepare_threads": 2, "rows_per_insert": 700, "streams": 2}
INSERT_BENCHMARK = {"rows": 20_050, "clients": 4}
"""As many tables as a fill has connections by itself at most: one each."""
ORDER_MIN = 0.9
"""How much the order of the rows is that of their keys where several connections share a table;
with a range of keys for each it would be 0.5 or so."""

PAGES_AHEAD_MAX = 64
"""By how many pages at a time a COPY makes a table larger, since PostgreSQL 16: the last ones may
stay empty, and a VACUUM leaves so few of them where they are."""
LATE_S_MAX = 20.0
"""How late the statistics of a backend that has ended may be, on a busy machine."""

TABLES = """
SELECT relname, relkind, relpersistence, relhasindex, reltuples,
       relallvisible, to_jsonb(c)->>'relallfrozen', reloptions
FROM pg_class c WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY relname"""
USED_PAGES = "SELECT max((ctid::text::point)[0])::int + 1 FROM {table}"
COLUMNS = """
SELECT c.relname, attnum, attname, format_type(atttypid, atttypmod), attnotnull,
       pg_get_expr(adbin, adrelid), attstattarget
FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid
LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND attnum > 0
ORDER BY c.relname, attnum"""
CONSTRAINTS = """
SELECT conrelid::regclass::text, conname, contype, pg_get_constraintdef(oid), convalidated
FROM pg_constraint WHERE connamespace = 'public'::regnamespace ORDER BY 1, 2"""
INDEXES = """
SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid), indisprimary, indisunique,
       indisvalid, reltuples
FROM pg_index JOIN pg_class c ON c.oid = indexrelid
WHERE relnamespace = 'public'::regnamespace ORDER BY 1"""
SEQUENCES = """
SELECT sequencename, data_type::text, start_value, increment_by, max_value, cycle, cache_size,
       last_value, (SELECT refobjid::regclass || '.' || refobjsubid FROM pg_depend
                    WHERE objid = (schemaname || '.' || sequencename)::regclass AND deptype = 'a')
FROM pg_sequences ORDER BY 1"""
PAGES = """
SELECT relname, relpages FROM pg_class
WHERE relkind = '{kind}' AND relnamespace = 'public'::regnamespace ORDER BY 1"""
STATISTICS = """
SELECT tablename, attname, null_frac, avg_width, n_distinct, correlation
FROM pg_stats WHERE schemaname = 'public' ORDER BY 1, 2"""
LEFT_OVER = """
SELECT relname FROM pg_stat_user_tables WHERE n_dead_tup > 0 OR n_mod_since_analyze > 0"""


@pytest.fixture(params=newest(), ids=lambda path: path.name, scope="module")
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server of the newest version that is here, without autovacuum; see `newest`."""
    arm = Arm(
        name="filled",
        engine="postgres",
        base_dir=request.param,
        settings={"autovacuum": "off", "shared_buffers": "64MB", "fsync": "off"},
    )
    with a_place() as place, started(arm, place) as made:
        made.create_database(DATABASE)
        yield made


def load(server: Server, name: str, parameters: Json, form: str) -> list[Json]:
    """Loads the tables of a workload in that form, into a database that is empty before; returns
    the last event of each step that it took."""
    server.execute("DROP SCHEMA public CASCADE", "CREATE SCHEMA public", database=DATABASE)
    steps = workload.expand(workload.load(name, fill=form), parameters, "postgres")
    loading = ("fill", "prepare", "vacuum", "l.i0")
    return [run(server, step) for step in steps if step.name in loading]


def run(server: Server, step: Step) -> Json:
    """Runs a step's SQL and its job; its last event."""
    server.execute(*step.setup, database=DATABASE)
    return step_load.load(server, step)[0]


def rows(server: Server, sql: str) -> list[tuple[Any, ...]]:
    """What a query gives."""
    where = address(server)
    with psycopg.connect(
        host=where.host, port=where.port, user=where.user, dbname=DATABASE
    ) as asked:
        return asked.execute(sql.encode()).fetchall()


def catalogs(server: Server) -> dict[str, list[tuple[Any, ...]]]:
    """All that has to be the same to the last bit."""
    end_s = time.monotonic() + LATE_S_MAX
    while (left := rows(server, LEFT_OVER)) and time.monotonic() < end_s:
        time.sleep(0.2)
    assert left == []
    asked = {
        "tables": TABLES,
        "columns": COLUMNS,
        "constraints": CONSTRAINTS,
        "indexes": INDEXES,
        "sequences": SEQUENCES,
    }
    found = {what: rows(server, sql) for what, sql in asked.items()}
    for name, *_, visible, _, _ in found["tables"]:
        assert rows(server, USED_PAGES.format(table=name)) == [(visible,)], "all pages with rows"
    return found


def assert_alike(server: Server, published: dict[str, list[tuple[Any, ...]]]) -> None:
    """What the planner knows and how large indexes are: the same but for chance."""
    indexes, tables = pages(server, "i"), pages(server, "r")
    assert indexes == pytest.approx(dict(published["index_pages"]), rel=0.05, abs=1)
    assert tables == pytest.approx(dict(published["table_pages"]), abs=PAGES_AHEAD_MAX)
    before = {one[:2]: one[2:] for one in published["statistics"]}
    now = {one[:2]: one[2:] for one in rows(server, STATISTICS)}
    assert now.keys() == before.keys()
    for column, (nulls, width, distinct, correlation) in now.items():
        assert (nulls, width) == pytest.approx(before[column][:2], abs=1), column
        # How many seconds l.i0 took is the machine's; a fill has a second for each 60,000 rows.
        if column[1] != "dateandtime":
            assert distinct == pytest.approx(before[column][2], rel=0.1), column
            assert correlation == pytest.approx(before[column][3], abs=0.05), column


def statistics(server: Server) -> dict[str, list[tuple[Any, ...]]]:
    """What `assert_alike` compares with."""
    return {
        "index_pages": list(pages(server, "i").items()),
        "table_pages": list(pages(server, "r").items()),
        "statistics": rows(server, STATISTICS),
    }


def pages(server: Server, kind: str) -> dict[str, int]:
    """The pages of each table or index."""
    return dict(rows(server, PAGES.format(kind=kind)))


@pytest.mark.capability("fills")
def test_sysbenchs_tables_are_the_same_by_either_load(server: Server) -> None:
    prepared, _ = load(server, "sysbench", SYSBENCH, "published")
    assert prepared["totals"]["insert"]["rows"] == 60_000
    published = catalogs(server)
    known = statistics(server)
    (filled,) = load(server, "sysbench", SYSBENCH, "fast")
    assert filled["totals"]["fill"]["rows"] == 60_000
    assert catalogs(server) == published
    assert_alike(server, known)
    assert [(one[0], one[4]) for one in published["tables"]] == [
        (f"sbtest{number}", 20_000) for number in (1, 2, 3)
    ]
    keys = [f"sbtest{number}_pkey" for number in (1, 2, 3)]
    assert [one[0] for one in published["indexes"]] == ["k_1", "k_2", "k_3", *keys]
    assert [one[7] for one in published["sequences"]] == [20_000] * 3
    assert rows(server, "SELECT nextval('sbtest2_id_seq')") == [(20_001,)]


def test_the_insert_benchmarks_tables_are_the_same_by_either_load(server: Server) -> None:
    load(server, "insert-benchmark", INSERT_BENCHMARK, "published")
    vacuum = [f"VACUUM (ANALYZE) pi{number}" for number in range(1, 5)]
    server.execute(*vacuum, database=DATABASE)
    published = catalogs(server)
    known = statistics(server)
    load(server, "insert-benchmark", INSERT_BENCHMARK, "fast")
    assert catalogs(server) == published
    assert_alike(server, known)
    assert [one[7] for one in published["sequences"]] == [21_000] * 4
    (limits,) = rows(server, "SELECT min(transactionid), max(transactionid), count(*) FROM pi2")
    assert limits == (1, 20_100, 20_100)


def test_rows_lie_in_their_order_however_many_connections_share_a_table(server: Server) -> None:
    parameters = {"rows": 100_000, "streams": 4}
    load(server, "sysbench", parameters, "fast")
    digest = "SELECT md5(string_agg(t::text, '|' ORDER BY id)) FROM sbtest1 t"
    (shared,) = rows(server, digest)
    ((order,),) = rows(
        server,
        "SELECT corr(id, place) FROM "
        "(SELECT id, row_number() OVER (ORDER BY ctid) AS place FROM sbtest1) AS placed",
    )
    assert order >= ORDER_MIN
    many = pages(server, "r")["sbtest1"]
    load(server, "sysbench", parameters | {"streams": 1}, "fast")
    assert rows(server, digest) == [shared]
    alone = pages(server, "r")["sbtest1"]
    assert many == pytest.approx(alone, abs=4 * PAGES_AHEAD_MAX)


@pytest.fixture
def late_commits(server: Server) -> Iterator[Server]:
    """The server with commits that reach the disk seconds later, as the presets have them."""
    late = ("SET synchronous_commit = off", "SET wal_writer_delay = '10s'")
    server.execute(*(f"ALTER SYSTEM {one}" for one in late), "SELECT pg_reload_conf()")
    yield server
    server.execute("ALTER SYSTEM RESET ALL", "SELECT pg_reload_conf()")


def test_a_fill_leaves_no_page_for_a_later_vacuum_where_commits_are_late(late_commits: Server):
    load(late_commits, "sysbench", SYSBENCH, "fast")
    catalogs(late_commits)
