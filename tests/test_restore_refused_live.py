"""Dumps that a newer server refuses in part or whole: what is left out, and which line is told."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dbdyno.engine import LabServer
from dbdyno.engine.postgres.restore import PostgresRestorer
from dbdyno.engine.restore import ClientPrograms
from dbdyno.model import Arm
from dbdyno.model.error import ServerError
from dbdyno.model.job.external import Restore, SuitedQuery
from server_place import a_place, address, newest, started

pytestmark = pytest.mark.live
HEAD = """--
-- PostgreSQL database dump
--
SET client_encoding = 'UTF8';
SET of_some_newer_version = 0;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET client_min_messages = warning;
"""
TAIL = "\n--\n-- PostgreSQL database dump complete\n--\n"
ABSENT = "google_vacuum_mgmt"
SECRET = "Zaubernuss-4711"


def of(type: str, name: str, sql: str, schema: str = "public") -> str:
    return f"\n--\n-- Name: {name}; Type: {type}; Schema: {schema}; Owner: app\n--\n\n{sql}\n"


EXTENSION = of("EXTENSION", ABSENT, f"CREATE EXTENSION IF NOT EXISTS {ABSENT};", "-")
FUNCTIONS = "".join(
    of(
        "FUNCTION",
        f"{name}(text)",
        f"CREATE FUNCTION shop.{name}(text) RETURNS text LANGUAGE sql IMMUTABLE "
        f"AS 'SELECT {body}($1)';",
        "shop",
    )
    for name, body in (("f", "g"), ("g", "upper"))
)
T = of("TABLE", "t", "CREATE TABLE public.t (a text);") + of(
    "TABLE DATA", "t", f"COPY public.t (a) FROM stdin;\n{SECRET}\n\\.\n"
)


@pytest.fixture(scope="module", params=newest())
def arm(request: pytest.FixtureRequest) -> Iterator[LabServer]:
    made = Arm(name="a", engine="postgres", base_dir=request.param)
    with a_place() as place, started(made, place) as server:
        server.create_database("ib")
        yield server


def restored(arm: LabServer, folder: Path, sql: str, *queries: SuitedQuery) -> list[str]:
    """Restores a dump of this SQL; what the data lack."""
    path = folder / "app.sql"
    path.write_text(HEAD + sql + TAIL)
    dump = PostgresRestorer().read(Restore(path=str(path), queries=queries), [])
    return list(dump.carry_out(address(arm), ClientPrograms()))


def test_what_only_queries_need_is_left_out_and_named(arm: LabServer, tmp_path: Path) -> None:
    lacks = restored(
        arm,
        tmp_path,
        T
        + of("VIEW", "old", "CREATE VIEW public.old AS SELECT waiting FROM pg_stat_activity;")
        + of("ACL", "TABLE old", "GRANT SELECT ON TABLE public.old TO app;")
        + of("VIEW", "new", "CREATE VIEW public.new AS SELECT a FROM public.t;")
        + of(
            "SUBSCRIPTION", "s", "CREATE SUBSCRIPTION s CONNECTION 'host=prod' PUBLICATION p;", "-"
        )
        + of("COMMENT", "SUBSCRIPTION s", "COMMENT ON SUBSCRIPTION s IS 'x';", "-"),
    )
    assert lacks == ["view `public.old` is left out: column `waiting` does not exist"]
    assert arm.execute("SELECT a FROM new") == [(SECRET,)]


def test_what_belongs_to_an_absent_extension_goes_with_it(arm: LabServer, tmp_path: Path) -> None:
    sql = (
        EXTENSION
        + T
        + of("VIEW", "uses", "CREATE VIEW public.uses AS SELECT 1 FROM public.of_extension;")
        + of("TABLE DATA", "conf", "COPY public.conf (a) FROM stdin;\n1\n\\.\n")
        + of("ACL", "TABLE conf", "GRANT SELECT ON TABLE public.conf TO reader;")
        + of("SECURITY LABEL", "TABLE conf", "SECURITY LABEL ON TABLE public.conf IS 'x';")
    )
    lacks = restored(arm, tmp_path, sql)
    assert lacks[0] == f"extension `{ABSENT}` is left out: the server does not have it"
    assert len(lacks) == 2 and lacks[1].startswith("view `public.uses` is left out: relation")
    with pytest.raises(ServerError, match=rf"extension `{ABSENT}` .*: query `q` needs it$"):
        restored(arm, tmp_path, sql, SuitedQuery(name="q", names=(ABSENT,)))
    with pytest.raises(ServerError, match=r"query `v` cannot run: view `public.uses` is"):
        restored(arm, tmp_path, sql, SuitedQuery(name="v", names=("uses",)))


def test_a_schema_of_a_provider_s_is_made_for_an_extension(arm: LabServer, tmp_path: Path) -> None:
    sql = "CREATE EXTENSION IF NOT EXISTS citext WITH SCHEMA heroku_ext;"
    table = "CREATE TABLE public.u (mail heroku_ext.citext);"
    assert (
        restored(arm, tmp_path, of("EXTENSION", "citext", sql, "-") + of("TABLE", "u", table)) == []
    )


def test_a_dump_that_makes_public_anew_is_taken(arm: LabServer, tmp_path: Path) -> None:
    sql = "DROP TABLE public.t;\nDROP SCHEMA public;\n"
    sql += of("SCHEMA", "public", "CREATE SCHEMA public;\nALTER SCHEMA public OWNER TO app;", "-")
    assert restored(arm, tmp_path, sql + T) == []


def test_roles_that_queries_need_are_made(arm: LabServer, tmp_path: Path) -> None:
    asked = SuitedQuery(name="q", role="A monitor", names=("pg_stat_bgwriter",))
    (lack,) = restored(arm, tmp_path, T, asked)
    assert "role `A monitor` of captured queries is not in the dump" in lack
    arm.execute('SET ROLE "A monitor"', "SELECT a FROM t")
    assert arm.execute("SELECT pg_has_role('A monitor', 'pg_monitor', 'member')") == [(True,)]


def test_functions_find_each_other_in_their_own_schema(arm: LabServer, tmp_path: Path) -> None:
    table = "CREATE TABLE public.c (a text, b text GENERATED ALWAYS AS (shop.f(a)) STORED);"
    rows = of("TABLE DATA", "c", "COPY public.c (a) FROM stdin;\nx\n\\.\n")
    schema = of("SCHEMA", "shop", "CREATE SCHEMA shop;", "-")
    assert restored(arm, tmp_path, schema + FUNCTIONS + of("TABLE", "c", table) + rows) == []
    assert arm.execute("SELECT b FROM c") == [("X",)]


LINES = {
    "a type that 12 ended": (
        of("TABLE", "o", "CREATE TABLE public.o (a abstime);"),
        r"table `public.o`: type `abstime` does not exist: PostgreSQL 12 ended the type: at",
    ),
    "rows with OIDs": (
        of("TABLE", "o", "CREATE TABLE public.o (a int);")
        + of("TABLE DATA", "o", "COPY public.o (a) WITH OIDS FROM stdin;\n16400\t1\n\\.\n"),
        "syntax error .*: PostgreSQL 12 ended OIDs of rows: dump without `--oids`$",
    ),
    "a locale that is not here": (
        of("COLLATION", "c", "CREATE COLLATION public.c (locale = 'xx_YY.utf8');"),
        "collation `public.c`: could not create locale `xx_YY.utf8`.*: install the locale",
    ),
    "a type of an absent extension": (
        EXTENSION + of("TABLE", "o", "CREATE TABLE public.o (a public.its_type);"),
        f"type `public.its_type` does not exist: it may be of extension `{ABSENT}`, which",
    ),
    "a function that is nowhere": (
        of("FUNCTION", "f(text)", "CREATE FUNCTION public.f(text) RETURNS text LANGUAGE sql "
           "IMMUTABLE AS 'SELECT nowhere($1)';")
        + of("TABLE", "o", "CREATE TABLE public.o (a text CHECK (public.f(a) <> ''));")
        + of("TABLE DATA", "o", "COPY public.o (a) FROM stdin;\nx\n\\.\n"),
        r"table data `public.o`: function nowhere\(text\) does not exist: function .* search_path",
    ),
    "a row that does not fit": (
        T.replace("a text", "a integer"),
        "table data `public.t`: invalid input syntax for type integer: …$",
    ),
    "what was refused before": (
        of("FUNCTION", "py(int)", "CREATE FUNCTION public.py(int) RETURNS int LANGUAGE nopython "
           "AS 'x';") + of("TABLE", "o", "CREATE TABLE public.o (a int CHECK (public.py(a) > 0));"),
        r"function public.py\(integer\) does not exist \(function `public.py\(int\)` is left out: "
        "language `nopython` does not exist",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LINES)
def test_a_refusal_is_one_line_with_the_object_and_what_cures_it(
    arm: LabServer, tmp_path: Path, name: str
) -> None:
    sql, said = LINES[name]
    with pytest.raises(ServerError, match=said) as refused:
        restored(arm, tmp_path, sql)
    assert "\n" not in str(refused.value) and "dump it again" not in str(refused.value)
    assert SECRET not in str(refused.value) and SECRET not in arm.log_path.read_text()
