"""Dumps of the distribution's PostgreSQL become the data of newer servers; what does not come."""

import shutil
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dbdyno import plan
from dbdyno.engine import LabServer, golden, installed
from dbdyno.engine.postgres.restore import PostgresDump, PostgresRestorer
from dbdyno.engine.restore import ClientPrograms
from dbdyno.host.account import choose
from dbdyno.model import Arm
from dbdyno.model.error import HostError, PlanError, ServerError
from dbdyno.model.job.external import Restore, SuitedQuery
from dbdyno.run import blocks
from dbdyno.run.check import preflight
from dbdyno.store import Results
from server_place import a_place, address, distribution, newer_than, started

pytestmark = pytest.mark.live
CLIENTS = distribution() / "bin"
SOURCE = CLIENTS.parent
NEWER = newer_than(SOURCE)
LACKING = ("adminpack", "old_snapshot")
"""Extensions that went with 17."""
MARKER = "Zaubernuss-4711"
"""A value that is to reach no message."""
ROWS = 3_000
ROLES = (
    "CREATE ROLE app NOLOGIN",
    'CREATE ROLE "A reader" NOLOGIN',
    "CREATE ROLE postgres SUPERUSER",
)
SHOP = (
    "CREATE EXTENSION citext",
    "CREATE TABLE orders (id int PRIMARY KEY, who citext, note text, at timestamptz DEFAULT now())",
    f"INSERT INTO orders SELECT i, 'c' || i % 7, '{MARKER}' FROM generate_series(1, {ROWS}) i",
    "CREATE INDEX ON orders (who)",
    "ALTER TABLE orders OWNER TO app",
    'GRANT SELECT ON orders TO "A reader"',
    "ALTER TABLE orders ENABLE ROW LEVEL SECURITY",
    'CREATE POLICY own ON orders TO "A reader" USING (id % 2 = 0)',
    "CREATE MATERIALIZED VIEW counts AS SELECT who, count(*) FROM orders GROUP BY who",
    "CREATE MATERIALIZED VIEW above AS SELECT sum(count) AS every FROM counts",
    "CREATE FUNCTION noted() RETURNS event_trigger LANGUAGE plpgsql AS $$BEGIN END$$",
    "CREATE EVENT TRIGGER watch ON ddl_command_start EXECUTE FUNCTION noted()",
    "COMMENT ON EVENT TRIGGER watch IS 'watches'",
    "CREATE SUBSCRIPTION far CONNECTION 'host=127.0.0.1 port={port}' PUBLICATION p "
    "WITH (connect = false)",
    "CREATE EXTENSION postgres_fdw",
    "CREATE SERVER away FOREIGN DATA WRAPPER postgres_fdw "
    "OPTIONS (host '127.0.0.1', port '{port}')",
    "CREATE USER MAPPING FOR PUBLIC SERVER away OPTIONS (user 'x', password '" + MARKER + "')",
    "CREATE FOREIGN TABLE away (a int) SERVER away",
    "CREATE MATERIALIZED VIEW of_away AS SELECT * FROM away WITH NO DATA",
    "CREATE TABLE big AS SELECT random() AS x, md5(i::text)::citext AS y, "
    "ARRAY[i % 9, i % 50] AS z, daterange(current_date - i % 300, current_date) AS r "
    "FROM generate_series(1, 20000) i",
    "CREATE INDEX ON big (upper(y::text))",
    "ALTER INDEX big_upper_idx ALTER COLUMN 1 SET STATISTICS 5",
    *(f"ALTER TABLE big ALTER COLUMN {name} SET STATISTICS 5" for name in "xyzr"),
    "ALTER DATABASE shop SET work_mem = '7MB'",
)


@pytest.fixture(scope="module")
def listener() -> Iterator[socket.socket]:
    """A port that stands for production: whoever connects is seen."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        yield server


@pytest.fixture(scope="module")
def source(listener: socket.socket) -> Iterator[LabServer]:
    if not (CLIENTS / "pg_dump").exists():
        pytest.skip("no PostgreSQL with its clients here: `apt-get install postgresql`")
    with (
        a_place() as place,
        started(Arm(name="s", engine="postgres", base_dir=SOURCE), place) as it,
    ):
        it.execute(*ROLES)
        it.create_database("shop")
        port = listener.getsockname()[1]
        it.execute(*(sql.replace("{port}", str(port)) for sql in SHOP))
        yield it


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with a_place() as place:
        yield place.data_root


def dumped(source: LabServer, path: Path, *options: str) -> Path:
    """A dump of the shop, made once."""
    if not path.exists():
        at = address(source)
        server = ["-h", at.host, "-p", str(at.port), "-U", at.user, "-d", at.database]
        subprocess.run([CLIENTS / "pg_dump", *server, *options, "-f", path], check=True)
    return path


DUMPED = [
    pytest.param("custom"),
    *(pytest.param(form, marks=pytest.mark.long) for form in ("folder", "plain", "tar")),
]
FORMS = {"custom": ["-Fc"], "folder": ["-Fd"], "plain": [], "tar": ["-Ft"]}


def of_form(form: str, source: LabServer, folder: Path) -> Path:
    return dumped(source, folder / f"app.{form}", *FORMS[form])


def looked_into(path: Path, **wish: str) -> PostgresDump:
    return PostgresRestorer().read(Restore(path=str(path), **wish), [])


@pytest.fixture(
    scope="module",
    params=[*(pytest.param(path, marks=pytest.mark.long) for path in NEWER[:-1]), NEWER[-1]],
    ids=[path.name for path in NEWER],
)
def arm(request: pytest.FixtureRequest) -> Iterator[LabServer]:
    made = Arm(name="a", engine="postgres", base_dir=request.param)
    with a_place() as place, started(made, place) as server:
        server.create_database("ib")
        yield server


def reached(listener: socket.socket) -> bool:
    try:
        listener.accept()[0].close()
    except TimeoutError:
        return False
    return True


@pytest.mark.capability("restore")
@pytest.mark.parametrize("form", DUMPED)
def test_a_dump_becomes_the_data_and_reaches_nobody(
    form: str, source: LabServer, folder: Path, arm: LabServer, listener: socket.socket
) -> None:
    lacks = looked_into(of_form(form, source, folder)).carry_out(address(arm), ClientPrograms())
    assert arm.execute("SELECT count(*), count(DISTINCT who) FROM orders") == [(ROWS, 7)]
    assert arm.execute("SELECT every FROM above") == [(ROWS,)], "views of views are refreshed"
    assert len(lacks) == 1 and "of_away" in lacks[0]
    assert arm.execute("SELECT count(*) FROM pg_user_mappings") == [(0,)]
    assert arm.execute("SELECT count(*) FROM pg_subscription") == [(0,)]
    assert arm.execute("SELECT count(*) FROM pg_event_trigger WHERE evtenabled <> 'D'") == [(0,)]
    with pytest.raises(ServerError, match="user mapping not found"):
        arm.execute("SELECT * FROM away")
    assert not reached(listener)
    assert arm.execute(
        "SELECT pg_get_userbyid(relowner) FROM pg_class WHERE relname = 'orders'"
    ) == [("app",)]
    arm.execute("SET ROLE app", "SELECT 1")
    ((visible,),) = arm.execute(
        "SELECT count(*) FROM pg_policies WHERE roles = '{\"A reader\"}' AND tablename = 'orders'"
    )
    assert visible == 1
    ((analyzed, dead),) = arm.execute(
        "SELECT last_analyze IS NOT NULL OR last_vacuum IS NOT NULL, n_dead_tup "
        "FROM pg_stat_user_tables WHERE relname = 'orders'"
    )
    assert analyzed and dead == 0
    if form != "plain":
        assert arm.execute("SHOW work_mem") == [("7MB",)]
    assert MARKER not in arm.log_path.read_text()


def test_the_database_sorts_as_the_source_does(source: LabServer, folder: Path, arm: LabServer):
    path = of_form("custom", source, folder)
    looked_into(path, locale="C.UTF-8", encoding="UTF8").carry_out(address(arm), ClientPrograms())
    assert arm.execute(
        "SELECT datcollate, datctype FROM pg_database WHERE datname = current_database()"
    ) == [("C.UTF-8", "C.UTF-8")]
    with pytest.raises(HostError, match="localedef -i xx_YY -f UTF-8 xx_YY"):
        looked_into(path, locale="xx_YY.UTF-8")


OF_PLANNER = """
    SELECT tablename, attname, inherited, null_frac, avg_width, n_distinct, most_common_vals::text,
           most_common_freqs, histogram_bounds::text, correlation, most_common_elems::text,
           most_common_elem_freqs, elem_count_histogram
    FROM pg_stats WHERE schemaname = 'public' ORDER BY 1, 2, 3
"""


def test_servers_of_the_same_data_share_one_sample_of_statistics(
    source: LabServer, folder: Path, arm: LabServer
) -> None:
    dump, file = looked_into(of_form("custom", source, folder)), folder / "statistics.json"
    first = not file.exists()
    before = dump.carry_out(address(arm), ClientPrograms(), file)
    assert len(before) == 1, "nothing but the view that reads another server"
    shared = arm.execute(OF_PLANNER)
    assert any(row[0] == "big" and row[8] for row in shared)
    assert any(row[0] == "big_upper_idx" for row in shared)
    assert file.stat().st_mode & 0o777 == 0o600
    arm.execute("ANALYZE big")
    assert arm.execute(OF_PLANNER) != shared, "another sample differs"
    dump.carry_out(address(arm), ClientPrograms(), file)
    assert arm.execute(OF_PLANNER) == shared
    kept = folder / "planner.txt"
    if first:
        kept.write_text(repr(shared))
    assert repr(shared) == kept.read_text(), "nor does another version's"
    arm.execute("EXPLAIN SELECT * FROM big WHERE x < 0.1 AND y = 'a' AND z @> '{1}'")


def test_a_refused_row_is_told_without_its_value(source: LabServer, folder: Path, arm: LabServer):
    whole = of_form("plain", source, folder).read_text()
    broken = folder / "broken.sql"
    broken.write_text(whole.replace("note text", "note integer"))
    with pytest.raises(ServerError) as refused:
        looked_into(broken).carry_out(address(arm), ClientPrograms())
    assert "invalid input syntax for type integer" in str(refused.value)
    assert MARKER not in str(refused.value)
    assert MARKER not in arm.log_path.read_text()


@pytest.mark.parametrize("form", ["custom", "folder", "tar"])
def test_a_damaged_archive_is_one_line(form: str, source: LabServer, folder: Path) -> None:
    whole = of_form(form, source, folder)
    damaged = folder / f"damaged.{form}"
    if whole.is_dir():
        shutil.copytree(whole, damaged, dirs_exist_ok=True)
        toc = damaged / "toc.dat"
        toc.write_bytes(toc.read_bytes()[:200])
    else:
        damaged.write_bytes(whole.read_bytes()[:600])
    with pytest.raises(PlanError) as refused:
        looked_into(damaged)
    assert "cannot be read" in str(refused.value) and "\n" not in str(refused.value)


PLAN = """
[arms.old]
base_dir = "{old}"
[arms.new]
base_dir = "{new}"
[[workloads]]
name = "{workload}"
restore = "{dump}"
[schedule]
blocks = 2
[server]
data_dir = "{data}"
"""
WORKLOAD = """
[statements]
count = "SELECT count(*) FROM orders WHERE who = 'c1'"
[[steps]]
name = "count"
writes = false
stop = "query"
headline = { metric = "qps", role = "query" }
roles.query = { run = "count", stop = { operations = 20 } }
"""


def planned(folder: Path, dump: Path, old: Path, new: Path) -> plan.Plan:
    workload = folder / "shop.toml"
    workload.write_text(WORKLOAD)
    text = PLAN.format(old=old, new=new, workload=workload, dump=dump, data=folder / "arms")
    return replace(plan.parse(text, None), name="restored")


def ends_of_arms() -> tuple[Path, Path]:
    return NEWER[0], NEWER[-1]


def test_later_blocks_begin_with_a_copy_of_what_was_restored(
    source: LabServer, folder: Path, tmp_path: Path
) -> None:
    of = planned(folder, of_form("custom", source, folder), *ends_of_arms())
    outcome = blocks.run(of, tmp_path, wait=True)
    assert outcome.failed == 0
    results = Results.open(outcome.folder)
    steps = {
        (run.parent.name, run.name): sorted(path.name for path in run.rglob("done.json"))
        for run in results.folder.glob("blocks/*/*")
    }
    assert steps
    copies = golden.marked(folder / "arms")
    assert len(copies) == len(of.arms)
    moved = folder / "moved.dump"
    shutil.copy(of_form("custom", source, folder), moved)
    again = preflight.prepare(planned(folder, moved, *ends_of_arms()))
    assert len(again.copies) == len(of.arms), "the same content elsewhere is the same data"
    everything = [path for path in outcome.folder.rglob("*") if path.is_file()]
    assert not [path for path in everything if MARKER.encode() in path.read_bytes()]


def test_a_dump_that_breaks_off_ends_the_plan_and_nothing_is_kept(
    source: LabServer, folder: Path, tmp_path: Path
) -> None:
    whole = of_form("custom", source, folder).read_bytes()
    short = folder / "short.dump"
    short.write_bytes(whole[: len(whole) - 2_000])
    of = planned(folder, short, *ends_of_arms())
    before = golden.marked(folder / "arms")
    with pytest.raises(
        ServerError, match=r"^new, old: restore: .* cannot be restored: pg_restore: "
    ):
        blocks.run(of, tmp_path, wait=True)
    assert golden.marked(folder / "arms") == before


def test_an_extension_that_an_arm_lacks_is_refused_where_a_query_needs_it(
    source: LabServer, folder: Path
) -> None:
    if int(SOURCE.name.partition(".")[0]) > 16 or int(NEWER[-1].name.partition(".")[0]) < 17:
        pytest.skip("no extension that a newer lacks: `apt-get install postgresql` of Debian 12")
    source.execute(*(f"CREATE EXTENSION {name}" for name in LACKING))
    path = dumped(source, folder / "extension.dump", "-Fc")
    source.execute(*(f"DROP EXTENSION {name}" for name in LACKING))
    preflight.prepare(planned(folder, path, *ends_of_arms()))
    build, account = installed.in_folder(NEWER[-1], "newer"), choose("postgres")
    looked_into(path).refuse_unfit(build, account, "a")
    asked = SuitedQuery(name="ages", names=("old_snapshot",))
    with pytest.raises(PlanError, match=r"`old_snapshot` \(.*\): query `ages` needs it: install"):
        PostgresRestorer().read(Restore(path=str(path), queries=(asked,)), []).refuse_unfit(
            build, account, "a"
        )


def test_an_archive_newer_than_every_client_names_the_remedy(folder: Path, source: LabServer):
    raw = bytearray(of_form("custom", source, folder).read_bytes())
    raw[6] = 99
    newer = folder / "newer.dump"
    newer.write_bytes(raw)
    with pytest.raises(PlanError, match=r"format 1\.99.*DYNO_POSTGRES_CLIENTS"):
        looked_into(newer)
