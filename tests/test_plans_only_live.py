"""Plans without data on real servers: from a capture to the answer, by roles, and refused."""

import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg
import pytest

import own_lab
import planned_shop
import plans_only_trial as trial
from captured_log import LOGGING
from dbdyno.analysis import plans_only
from dbdyno.engine import LabServer
from dbdyno.engine.arm_server import provide
from dbdyno.engine.golden_copy import CopyOrigin
from dbdyno.engine.planner_lab import IndexChanges
from dbdyno.engine.postgres import (
    shared_statistics,
    statistics_export,
    statistics_import,
    statistics_view,
)
from dbdyno.engine.postgres.long_files import LongFile
from dbdyno.engine.postgres.server import PostgresServer
from dbdyno.host import data_folder, place
from dbdyno.model import Arm
from dbdyno.model.error import ServerError
from dbdyno.model.planner_statistics import DatabaseLocale
from dbdyno.model.plans_only import FlippedQuery
from server_place import (
    a_place,
    address,
    builds,
    distribution,
    logged,
    major,
    restart_with,
    started,
    within,
)

pytestmark = pytest.mark.live

SOURCE = distribution()
OLD = next((path for path in builds() if path.name.startswith("12")), None)
NEWEST = builds()[-1]
SIZE, DRAWN = 20_000, 60
MARKER = "Marker-7a1c"
INDEXES = "SELECT oid::regclass::text FROM pg_class WHERE relkind = 'i'"
EDGES = (
    "CREATE TABLE nothing (id int PRIMARY KEY, a int)",
    "CREATE INDEX nothing_a ON nothing (a)",
    "CREATE TABLE twin (id int, a int)",
    "CREATE INDEX twin_z ON twin (a)",
    "CREATE INDEX twin_a ON twin (a)",  # the dump makes it first
    "INSERT INTO twin SELECT i, i % 90 FROM generate_series(1, 5000) i",
    "SET allow_in_place_tablespaces = on",
    "CREATE TABLESPACE quick LOCATION '' WITH (random_page_cost = 1.1)",
    "CREATE TABLE apart (id int, a int, b text) TABLESPACE quick",
    "INSERT INTO apart SELECT i, i * 7919 % 9973, repeat('x', 90) FROM generate_series(1, 20000) i",
    "CREATE INDEX apart_a ON apart (a) TABLESPACE quick",
    "CREATE TABLE pending (id int, tags text[]) WITH (autovacuum_enabled = off)",
    "INSERT INTO pending SELECT i, ARRAY['t' || i % 90] FROM generate_series(1, 20000) i",
    "CREATE INDEX pending_tags ON pending USING gin (tags)",
    "VACUUM ANALYZE nothing, twin, apart, pending",
    "INSERT INTO pending SELECT i, ARRAY['t' || i % 90] FROM generate_series(1, 3000) i",
)
"""What planners see beside rows: an empty table, the order of indexes, costs, a list of GIN."""
EDGE_TABLES = {"nothing", "twin", "apart", "pending"}
ON_EDGES = (
    "SELECT * FROM nothing WHERE a = 7",
    "SELECT * FROM twin WHERE a = 7",
    "SELECT * FROM apart WHERE a < 300",
    "SELECT * FROM pending WHERE tags @> ARRAY['t7']",
)
OTHER_SCHEMA = """--
-- PostgreSQL database dump
--
--
-- Name: elsewhere; Type: TABLE; Schema: public; Owner: -
--
CREATE TABLE public.elsewhere (a integer);
--
-- PostgreSQL database dump complete
--
"""


@dataclass(frozen=True)
class Shop:
    """A server with the shop, its log, the dump of its schema."""

    server: LabServer
    dump: Path

    def dsn(self, user: str) -> str:
        """Where a user finds it."""
        at = address(self.server)
        return f"postgres://{user}@/shop?host={at.host}&port={at.port}"

    @property
    def log(self) -> Path:
        """The folder of its log."""
        assert self.server.made is not None
        return self.server.made.data_dir / LOGGING["log_directory"]


@pytest.fixture(scope="module")
def shop() -> Iterator[Shop]:
    """The shop on the distribution's server, asked by its application."""
    if not (SOURCE / "bin" / "pg_dump").exists() or major(SOURCE) < 13:
        pytest.skip("no PostgreSQL from 13 on with its clients: `apt-get install postgresql`")
    arm = Arm(
        name="shop", engine="postgres", base_dir=SOURCE, initdb={"locale": "C.UTF-8"},
        settings={"shared_preload_libraries": "pg_stat_statements", "fsync": "off", "jit": "off"},
    )  # fmt: skip
    with a_place() as at, started(arm, at) as server:
        trial.loaded(server, SIZE)
        server.execute(*EDGES, database="shop")
        server.execute(
            "CREATE EXTENSION pg_stat_statements",
            f"INSERT INTO code SELECT 'd' || i, '{MARKER}', NULL FROM generate_series(1, 400) i",
            "ANALYZE code",
            "CREATE ROLE app LOGIN",
            "GRANT ALL ON ALL TABLES IN SCHEMA public TO app",
            "CREATE ROLE watcher LOGIN",
            "CREATE ROLE reader LOGIN",
            "GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader",
            database="shop",
        )
        dump = trial.dumped(address(server), at.data_root / "shop.sql")
        restart_with(server, LOGGING)
        server.execute("SELECT pg_stat_statements_reset()", database="shop")
        ask(server)
        logged(server)
        yield Shop(server, dump)


def ask(server: LabServer) -> None:
    """Sends what the application asks."""
    at = address(server)
    with psycopg.connect(
        host=at.host, port=at.port, user="app", dbname="shop", autocommit=True
    ) as session:
        for query in [*ON_EDGES, *planned_shop.KNOWN, *planned_shop.drawn(3, DRAWN)]:
            if query.startswith(trial.WRITES):
                continue
            session.execute(query.encode())
        session.execute(f"SELECT * FROM code WHERE meaning = '{MARKER}'".encode())
        for customer in (7, 9):
            session.execute(
                "SELECT * FROM orders WHERE customer = %s ORDER BY created DESC LIMIT 3",
                (customer,),
                prepare=True,
            )


def dyno(*words: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """A command of a lab of this process."""
    return subprocess.run(
        own_lab.command(*words), capture_output=True, text=True, cwd=folder, check=False
    )


def captured(
    shop: Shop, user: str, folder: Path, *options: str
) -> subprocess.CompletedProcess[str]:
    """The shop's queries with its statistics, in `app`."""
    words = ("capture", shop.dsn(user), shop.log, "--statistics", "--out", "app", *options)
    done = dyno(*words, folder=folder)
    assert done.returncode == 0, done.stderr
    return done


def planned(shop: Shop, folder: Path, *options: str | Path) -> dict[str, FlippedQuery]:
    """What `dyno plans` says of each query, of the source's version and the newest."""
    arms = [str(SOURCE), *([] if options else [str(NEWEST)])]
    words = ("plans", *arms, "--workload", "app", "--restore", shop.dump, "--out", "plans", "-q")
    done = dyno(*words, *options, folder=folder)
    assert done.returncode == 0, done.stderr
    assert not list(place.data_root().glob("plan-*")), "the lab is gone"
    return {row.query: row for row in plans_only.flipped(plans_only.load(folder / "plans"))}


@pytest.mark.capability("plans")
def test_plans_of_a_capture_are_told_without_its_data(shop: Shop, tmp_path: Path) -> None:
    said = captured(shop, "dyno", tmp_path).stderr
    assert "holds values of your tables" in said
    statistics = tmp_path / "app" / "statistics.json"
    assert statistics.stat().st_mode & 0o777 == 0o600
    rows = planned(shop, tmp_path)
    assert len(rows) >= 80
    assert [row for row in rows.values() if row.word == "not told"] == []
    assert all(row.proven for row in rows.values())
    assert any(row.word == "another plan" for row in rows.values()) or NEWEST == SOURCE
    record = plans_only.load(tmp_path / "plans")
    own, lab = (trial.roots(trees) for trees in (record.source, record.arms[0].trees.trees))
    edges = {each.name for each in record.queries if each.words and EDGE_TABLES & {*each.words}}
    assert len(edges) == len(ON_EDGES)
    assert trial.agreement({name: own[name] for name in edges}, lab) == (
        len(edges), len(edges), pytest.approx(1.0, abs=0.01),
    )  # fmt: skip
    holding = {
        path.name
        for path in tmp_path.rglob("*")
        if path.is_file() and MARKER in path.read_text(errors="replace")
    }
    assert "statistics.json" in holding
    assert not {path.name for path in (tmp_path / "plans").iterdir()} & holding


def test_what_a_role_does_not_see_is_named_with_what_shows_it(shop: Shop, tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    captured(shop, "dyno", tmp_path / "whole")
    whole = planned(shop, tmp_path / "whole")
    grants = {"watcher": "statistics of tables (", "reader": "extended statistics (2)"}
    for user, words in grants.items():
        folder = tmp_path / user
        folder.mkdir()
        said = captured(shop, user, folder).stderr
        assert words in said
        assert f"TO {user} shows them" in said
        for name, row in planned(shop, folder).items():
            if row.word != "not told" and name in whole:
                assert {row.word, whole[name].word} <= {"another plan", "near"} or (
                    row.word == whole[name].word
                ), name
    shop.server.execute("GRANT pg_read_all_data TO watcher")
    again = tmp_path / "again"
    again.mkdir()
    assert "hidden" not in captured(shop, "watcher", again).stderr
    assert all(row.word != "not told" for row in planned(shop, again).values())


def test_without_values_no_text_of_a_table_is_kept(shop: Shop, tmp_path: Path) -> None:
    said = captured(shop, "dyno", tmp_path, "--values", "none").stderr
    assert "holds numbers and dates of your tables, and no text" in said
    for path in (tmp_path / "app").rglob("*"):
        if path.is_file():
            content = path.read_text(errors="replace")
            assert MARKER not in content and "mail77" not in content, path.name
    rows = planned(shop, tmp_path)
    assert sum(row.word == "not told" for row in rows.values()) < len(rows) / 4


@pytest.mark.parametrize("base_dir", [NEWEST, pytest.param(SOURCE, marks=pytest.mark.long)])
def test_the_view_gives_the_rows_of_the_table(base_dir: Path) -> None:
    """But for index expressions, which belong to nobody's view, and ranges before 17."""
    arm = Arm(name="a", engine="postgres", base_dir=base_dir, settings={"fsync": "off"})
    with a_place() as at, started(arm, at) as server:
        trial.loaded(server, 5_000)
        with statistics_export.opened(address(server), "a") as source:
            source.session.set({**statistics_export.SESSION})
            raw = shared_statistics.exported(source.session.connection)
            seen = statistics_view.exported(
                source.session.connection, source.session.connection.info.server_version
            )
            indexes = {row[0] for row in source.session.ask(INDEXES)}
    ranges = () if major(base_dir) >= 17 else (statistics_view.LENGTHS, statistics_view.BOUNDS)
    by_name = {(row.relation, row.column, row.inherited): row for row in seen}
    compared = [row for row in raw if row.relation not in indexes]
    assert len(compared) >= 60
    for row in compared:
        other = by_name[row.relation, row.column, row.inherited]
        assert (row.null_share, row.width, row.distinct) == (
            other.null_share, other.width, other.distinct,
        )  # fmt: skip
        own = {slot.code: slot for slot in row.slots if slot.code and slot.code not in ranges}
        assert own == {slot.code: slot for slot in other.slots if slot.code}, row.column


def test_heights_and_lists_by_explain_are_those_of_the_pages(shop: Shop, tmp_path: Path) -> None:
    extension = "SELECT 1 FROM pg_available_extensions WHERE name = 'pageinspect'"
    if not shop.server.execute(extension):
        pytest.skip("no pageinspect here: `apt-get install postgresql-contrib`")
    shop.server.execute("CREATE EXTENSION IF NOT EXISTS pageinspect", database="shop")
    with statistics_export.opened(address(shop.server), "shop") as source:
        relations = source.exported(texts=True).relations
    heights = {each.name: each.height for each in relations if each.height is not None}
    hidden = [each.name for each in relations if each.reckoned]  # by its twin, which is taken
    assert hidden in (["public.twin_a"], ["public.twin_z"])
    for name, height in heights.items():
        ((level,),) = shop.server.execute(
            f"SELECT fastlevel FROM bt_metap('{name}')", database="shop"
        )
        assert height == level, name
    (pending,) = (each.pending for each in relations if each.name == "public.pending_tags")
    ((pages,),) = shop.server.execute(
        "SELECT n_pending_pages FROM gin_metapage_info(get_raw_page('pending_tags', 0))",
        database="shop",
    )
    assert pages > 3 and abs(pending - pages) <= 1
    assert len(heights) >= 30
    assert {0, 1} <= set(heights.values())


def test_a_lab_orders_texts_as_a_database_of_icu_does(shop: Shop, monkeypatch: pytest.MonkeyPatch):
    if major(SOURCE) < 15:
        pytest.skip("databases have a locale of ICU from 15 on")
    shop.server.execute(
        "CREATE DATABASE german TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'de'",
        "CREATE DATABASE plain TEMPLATE template0",
        database="postgres",
    )
    own = replace(address(shop.server), database="german")
    lab = replace(own, database="plain")
    with statistics_export.opened(own, "german") as source:
        locale = source.exported(texts=True).locale
    assert locale == DatabaseLocale(provider="i", locale="de")
    assert shop.server.execute("SELECT 'a' < 'B'", database="plain") == [(False,)]
    statistics_import.take_locale(lab, "a", locale)
    assert shop.server.execute("SELECT 'a' < 'B'", database="plain") == [(True,)]
    monkeypatch.setattr(statistics_import, "version_num", lambda _: 14_00_00)
    with pytest.raises(ServerError, match="arm a: has no locale `de`"):
        statistics_import.take_locale(lab, "a", locale)
    shop.server.execute("DROP DATABASE german", "DROP DATABASE plain", database="postgres")


def test_settings_and_indexes_change_the_plans_that_they_change_with_data(
    shop: Shop, tmp_path: Path
) -> None:
    queries = [*planned_shop.KNOWN, *planned_shop.drawn(4, DRAWN)]
    each = trial.source("s", shop.server, tmp_path / "own", queries)
    arm = Arm(name="a", engine="postgres", base_dir=SOURCE)
    own = trial.roots(each.statistics.plans)
    settings = {"random_page_cost": "1.1", "enable_hashjoin": "off"}
    other = Arm(name="b", engine="postgres", base_dir=SOURCE, settings=settings)
    base, changed = trial.planned(each, shop.dump, [arm, other])
    assert trial.agreement(own, base)[0] == len(queries)
    real = trial.flips(own, trial.asked(each, "shop", settings))
    assert real and trial.flips(base, changed) == real
    made, dropped = trial.with_indexes(each, "indexed")
    for real_plans, changes in (
        (made, IndexChanges(made=trial.MADE)),
        (dropped, IndexChanges(dropped=tuple(f"public.{name}" for name in trial.DROPPED))),
    ):
        twin = Arm(name="b", engine="postgres", base_dir=SOURCE)
        base, changed = trial.planned(each, shop.dump, [arm, twin], changes)
        real = trial.flips(own, real_plans)
        assert real and trial.flips(base, changed) == real
    shop.server.execute('DROP DATABASE "indexed"', database="postgres")


def test_a_lab_with_long_files_serves_nothing_else_and_is_swept_after_a_kill(
    shop: Shop, tmp_path: Path
) -> None:
    captured(shop, "dyno", tmp_path)
    words = ("plans", SOURCE, NEWEST, "--workload", "app", "--restore", shop.dump)
    lab = subprocess.Popen(
        own_lab.command(*words), cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    marks = place.data_root()
    assert within(60, lambda: list(marks.glob(f"plan-*/{data_folder.LONG}")))
    lab.send_signal(signal.SIGKILL)
    lab.wait()
    (folder, *_) = [mark.parent for mark in marks.glob(f"plan-*/{data_folder.LONG}")]
    with pytest.raises(ServerError, match="nothing else runs on them"):
        data_folder.refuse_long(folder, "x")
    assert not (tmp_path / "plans").exists()
    rows = planned(shop, tmp_path)  # the next lab sweeps what is left, and plans
    assert rows


@pytest.mark.soak
def test_labs_killed_at_any_moment_leave_nothing_to_the_next(shop: Shop, tmp_path: Path) -> None:
    captured(shop, "dyno", tmp_path)
    words = ("plans", SOURCE, NEWEST, "--workload", "app", "--restore", shop.dump)
    draw = random.Random(7)
    for _ in range(20):
        lab = subprocess.Popen(
            own_lab.command(*words), cwd=tmp_path,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        time.sleep(draw.uniform(0.5, 12.0))
        lab.kill()
        lab.wait()
        shutil.rmtree(tmp_path / "plans", ignore_errors=True)
    assert planned(shop, tmp_path)


def test_another_server_does_not_start_on_long_files_nor_keep_them() -> None:
    arm = Arm(name="a", engine="postgres", base_dir=NEWEST, initdb={"data_checksums": False})
    with a_place() as at:
        planning, other = (provide(arm, place=at) for _ in range(2))
        assert isinstance(planning, PostgresServer) and isinstance(other, PostgresServer)
        planning.only_plan()
        planning.prepare()
        planning.start()
        planning.lengthen([LongFile(path="base/1/made", blocks=300_000)])
        planning.stop()
        other.go_on()
        with pytest.raises(ServerError, match="nothing else runs on them"):
            other.start()
        with pytest.raises(ServerError, match="nothing else runs on them"):
            planning.keep({}, CopyOrigin(workload="w", step="s", block_begun_unix_ns=0))
        planning.remove()
        assert not list(at.data_root.iterdir())


@pytest.mark.parametrize("torn", [False, True])
def test_bad_input_is_one_line_and_leaves_nothing(shop: Shop, tmp_path: Path, *, torn: bool):
    captured(shop, "dyno", tmp_path)
    dump = tmp_path / "other.sql"
    dump.write_text(OTHER_SCHEMA)
    statistics = tmp_path / "app" / "statistics.json"
    if torn:
        os.truncate(statistics, statistics.stat().st_size // 2)
    words = ("plans", SOURCE, NEWEST, "--workload", "app", "--restore", dump, "-q")
    done = dyno(*words, folder=tmp_path)
    strange = "the dump has none of the tables of statistics.json"
    said = "is not JSON (Input data was truncated)" if torn else strange
    assert done.returncode == 2
    assert said in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "plans").exists()
    assert not list(place.data_root().glob("plan-*"))


def test_a_server_before_13_is_refused_in_a_line(tmp_path: Path) -> None:
    if OLD is None:
        pytest.skip("no PostgreSQL 12 here: `dyno server fetch postgres 12`")
    arm = Arm(
        name="old", engine="postgres", base_dir=OLD,
        settings={"shared_preload_libraries": "pg_stat_statements"},
    )  # fmt: skip
    with a_place() as at, started(arm, at) as server:
        server.create_database("shop")
        server.execute("CREATE EXTENSION pg_stat_statements", "CREATE TABLE t (a int)")
        server.execute("SELECT a FROM t WHERE a = 7", database="shop")
        where = address(server)
        dsn = f"postgres://dyno@/shop?host={where.host}&port={where.port}"
        done = dyno("capture", dsn, "--statistics", "--out", "app", folder=tmp_path)
    assert done.returncode == 2
    assert "--statistics: reads PostgreSQL 13 and later, and the server is 12" in done.stderr
    assert list(tmp_path.iterdir()) == []
