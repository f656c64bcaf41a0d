"""Dumps that DBAs report to fail elsewhere: each becomes the data of a server, or says why not.

Every dump is written here, after a public report of what a service, a newer program or a shell
leaves. It goes the way of a race's own restore, with whichever client is the newest here.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from dbdyno import engine
from dbdyno.engine import Build, LabServer, installed
from dbdyno.engine.mysql import build
from dbdyno.engine.restore import ClientPrograms
from dbdyno.host import account
from dbdyno.model import Arm
from dbdyno.model.error import DynoError, ServerError
from dbdyno.model.job.external import Restore
from mysql_place import SETTINGS, an_arm
from server_place import NONE, a_place, address, distribution, newer_than, started

pytestmark = pytest.mark.live


def part(name: str, kind: str, sql: str, schema: str = "public") -> str:
    """A section of a dump: an object, or words about it, below the comment that says which."""
    word = "Data for Name" if kind == "TABLE DATA" else "Name"
    return f"--\n-- {word}: {name}; Type: {kind}; Schema: {schema}; Owner: shop\n--\n\n{sql}\n\n\n"


def extension(name: str, schema: str, more: str = "") -> str:
    """An extension, and a comment on it."""
    make = f"CREATE EXTENSION IF NOT EXISTS {name} WITH SCHEMA {schema}{more};"
    about = f"COMMENT ON EXTENSION {name} IS 'what it is';"
    return part(name, "EXTENSION", make, "-") + part(f"EXTENSION {name}", "COMMENT", about, "-")


def owned_by(role: str) -> str:
    """The table, of another owner."""
    end = "name text);"
    return GOODS.replace(end, f"{end}\n\n\nALTER TABLE public.goods OWNER TO {role};")


GOODS = (
    part("goods", "TABLE", "CREATE TABLE public.goods (id integer NOT NULL, name text);")
    + part(
        "goods", "TABLE DATA",
        "COPY public.goods (id, name) FROM stdin;\n1\tapple\n2\tpear\n\\.",
    )
    + part(
        "goods goods_pkey", "CONSTRAINT",
        "ALTER TABLE ONLY public.goods ADD CONSTRAINT goods_pkey PRIMARY KEY (id);",
    )
)  # fmt: skip
HEAD = "--\n-- PostgreSQL database dump\n--\n\n"
MYSQL_HEAD = (
    "-- MySQL dump 10.13  Distrib 8.0.36, for Linux (x86_64)\n--\n-- Host: db1    Database: shop\n"
)
ENDS = (
    "\n--\n-- PostgreSQL database dump complete\n--\n\n",
    "-- Dump completed on 2026-11-26 10:00:00\n",
)
BEGIN = "SET client_encoding = 'UTF8';\nSELECT pg_catalog.set_config('search_path', '', false);\n"
SLUGS = part(
    "plain(text)",
    "FUNCTION",
    "CREATE FUNCTION public.plain(value text) RETURNS text LANGUAGE sql IMMUTABLE\n"
    "    AS $_$ SELECT lower($1) $_$;",
) + part(
    "slug(text)",
    "FUNCTION",
    "CREATE FUNCTION public.slug(value text) RETURNS text LANGUAGE plpgsql IMMUTABLE\n"
    "    AS $$ BEGIN RETURN plain(value); END $$;",
)
SOLD = """
CREATE TABLE `goods` (
  `id` int NOT NULL,
  `name` varchar(20) COLLATE utf8mb4_0900_ai_ci DEFAULT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci;
INSERT INTO `goods` VALUES (1,'apple'),(2,'pear');
"""
PLAIN_SOLD = SOLD.replace("utf8mb4_0900_ai_ci", "utf8mb4_general_ci")


@dataclass(frozen=True)
class Dump:
    """A dump that was reported to fail, and what is to come of it."""

    name: str
    arm: str  # of ARMS
    sql: str | bytes
    query: str = "SELECT count(*) FROM goods"
    answer: object = 2
    lacks: str = ""  # what the data are said to lack
    refused: str = ""  # what the line says; empty: the dump becomes the data
    remedy: Callable[[str], str] | None = None  # what the line says to do, done


DUMPS = (
    Dump("docker-postgres-backup-local 174: pg_dump restricts psql by a key", "older",
         HEAD + "\\restrict GSVDDy0rLO\n" + BEGIN + GOODS + "\\unrestrict GSVDDy0rLO\n"),
    Dump("supabase cli 615: an extension that only the service has, with all that hangs on it",
         "newer", HEAD + BEGIN
         + part("graphql", "SCHEMA", "CREATE SCHEMA graphql;", "-")
         + part("extensions", "SCHEMA", "CREATE SCHEMA extensions;", "-")
         + extension("pg_graphql", "graphql")
         + part("grant_access()", "FUNCTION",
                "CREATE FUNCTION extensions.grant_access() RETURNS event_trigger\n"
                "    LANGUAGE plpgsql AS $$ BEGIN NULL; END $$;", "extensions")
         + GOODS
         + part("supabase_realtime", "PUBLICATION",
                "CREATE PUBLICATION supabase_realtime WITH (publish = 'insert, update');", "-")
         + part("SCHEMA graphql", "ACL", "GRANT USAGE ON SCHEMA graphql TO anon;", "-")
         + part("FUNCTION resolve(query text)", "ACL",
                "GRANT ALL ON FUNCTION graphql.resolve(query text) TO authenticated;", "graphql")
         + part("DEFAULT PRIVILEGES FOR TABLES", "DEFAULT ACL",
                "ALTER DEFAULT PRIVILEGES FOR ROLE supabase_admin IN SCHEMA public "
                "GRANT ALL ON TABLES TO anon;")
         + part("issue_access", "EVENT TRIGGER",
                "CREATE EVENT TRIGGER issue_access ON ddl_command_end\n"
                "    EXECUTE FUNCTION extensions.grant_access();", "-"),
         lacks="pg_graphql"),
    Dump("django-dbbackup 358: roles of RDS", "newer", HEAD + BEGIN
         + extension("aws_s3", "public", " CASCADE") + GOODS
         + part("DEFAULT PRIVILEGES FOR TABLES", "DEFAULT ACL",
                "ALTER DEFAULT PRIVILEGES FOR ROLE rdsadmin GRANT SELECT ON TABLES "
                "TO rds_superuser;", "-")
         + part("TABLE goods", "ACL",
                "GRANT ALL ON TABLE public.goods TO rds_superuser WITH GRANT OPTION;"),
         lacks="aws_s3"),
    Dump("a monitor's rights on what an extension made in another schema", "newer",
         HEAD + BEGIN + part("extensions", "SCHEMA", "CREATE SCHEMA extensions;", "-")
         + extension("pg_stat_statements", "extensions") + GOODS
         + part("TABLE pg_stat_statements", "ACL",
                "GRANT SELECT ON TABLE extensions.pg_stat_statements TO monitor;", "extensions")
         + part("FUNCTION pg_stat_statements(showtext boolean)", "ACL",
                "GRANT ALL ON FUNCTION extensions.pg_stat_statements(boolean) TO monitor;",
                "extensions")),
    Dump("timescaledb: functions of an extension that is not here guard a table", "newer",
         HEAD + BEGIN + extension("timescaledb", "public") + GOODS
         + part("goods ts_insert_blocker", "TRIGGER",
                "CREATE TRIGGER ts_insert_blocker BEFORE INSERT ON public.goods FOR EACH ROW\n"
                "    EXECUTE FUNCTION _timescaledb_functions.insert_blocker();"),
         lacks="timescaledb"),
    Dump("h3-pg 168: an index whose function needs a search path", "newer",
         HEAD + BEGIN + SLUGS + GOODS
         + part("named", "INDEX", "CREATE INDEX named ON public.goods (public.slug(name));"),
        refused="search_path",
        remedy=lambda sql: sql.replace("IMMUTABLE\n    AS $$", "IMMUTABLE\n"
                                       "    SET search_path TO 'public'\n    AS $$"),
    ),
    Dump("learn-postgresql 124: an owner that only the service has", "newer",
         HEAD + BEGIN + owned_by("hits_e2k5m6j4k46d")),
    Dump("pg_dump --create changes into a database of its own", "newer",
         HEAD + BEGIN
         + part("shop", "DATABASE",
                "CREATE DATABASE shop WITH TEMPLATE = template0 ENCODING = 'UTF8';\n\n\n"
                "\\connect shop", "-")
         + BEGIN + GOODS),
    Dump("PowerShell's > writes a dump in UTF-16", "newer",
         (HEAD + BEGIN + GOODS + ENDS[0]).replace("\n", "\r\n").encode("utf-16"), refused="UTF-16",
         remedy=lambda sql: sql),
    Dump("darkstarnetwork: collations of MySQL 8 in an older MariaDB", "older mariadb",
         MYSQL_HEAD + "/*!50503 SET NAMES utf8mb4 */;\n" + SOLD,
         query="SELECT count(*) FROM goods WHERE name = 'APPLE'", answer=1),
    Dump("a dump by way of Windows: its line ends", "mariadb",
         ("DELIMITER ;;\nCREATE TRIGGER `named` BEFORE INSERT ON `goods` FOR EACH ROW BEGIN\n"
          "  SET NEW.name = lower(NEW.name);\nEND ;;\nDELIMITER ;\n"
          ).join((MYSQL_HEAD + PLAIN_SOLD, "")).replace("\n", "\r\n")),
)  # fmt: skip
ARMS: dict[str, Callable[[], Arm]] = {
    "older": lambda: Arm(name="a", engine="postgres", base_dir=distribution()),
    "newer": lambda: Arm(name="a", engine="postgres", base_dir=newer_than(distribution())[-1]),
    "mariadb": lambda: an_arm("mariadb"),
    "older mariadb": lambda: Arm(
        name="a", engine="mariadb", base_dir=oldest_mariadb(), settings=SETTINGS
    ),
}


def oldest_mariadb() -> Path:
    """The oldest MariaDB here, which knows least of what newer dumps and MySQL write."""
    here = list[Build]()
    for folder in build.folders("mariadb"):
        with suppress(ServerError):  # it is MySQL's, or closed to the account
            here.append(build.inspect(folder, "mariadb", "", account.choose("mariadb")))
    if not here:
        pytest.skip("no MariaDB here: `dyno server fetch mariadb 10.2`")
    return min(here, key=lambda each: each.version_num).base_dir


@pytest.fixture(scope="module")
def arm(request: pytest.FixtureRequest) -> Iterator[LabServer]:
    """A running server of a kind."""
    if distribution() == NONE:
        pytest.skip("no PostgreSQL with its clients here: `apt-get install postgresql`")
    made = ARMS[request.param]()
    with a_place(made.engine) as place, started(made, place) as server:
        server.create_database("ib")
        yield server


def restored(server: LabServer, path: Path, sql: str | bytes) -> list[str]:
    """What the data of a dump are said to lack. Raises DynoError: it is refused."""
    path.write_bytes(sql if isinstance(sql, bytes) else whole(sql))
    restorer = engine.of(server.engine).restorer
    assert restorer is not None
    programs = [path for name in restorer.programs for path in installed.programs(name)]
    dump = restorer.read(Restore(path=str(path)), programs)
    return dump.carry_out(address(server), ClientPrograms())


def whole(sql: str) -> bytes:
    """A dump with the line by which its program ends it."""
    end = ENDS["-- MySQL" in sql]
    return f"{sql}{end}".encode()


def text(sql: str | bytes) -> str:
    """A dump as a person saves it in UTF-8."""
    return sql if isinstance(sql, str) else sql.decode("utf-16").replace("\r\n", "\n")


@pytest.mark.parametrize(
    ("dump", "arm"),
    [pytest.param(each, each.arm, id=each.name.split(":")[0]) for each in DUMPS],
    indirect=["arm"],
)
def test_a_dump_of_a_report_becomes_the_data_or_is_refused_with_a_remedy(
    dump: Dump, arm: LabServer, tmp_path: Path
) -> None:
    path = tmp_path / "app.sql"
    if dump.refused:
        with pytest.raises(DynoError) as error:
            restored(arm, path, dump.sql)
        assert "\n" not in str(error.value)
        assert re.search(dump.refused, str(error.value))
        if dump.remedy is None:
            return
        lacks = restored(arm, path, dump.remedy(text(dump.sql)))
    else:
        lacks = restored(arm, path, dump.sql)
    assert arm.execute(dump.query) == [(dump.answer,)]
    assert re.search(dump.lacks, "\n".join(lacks))
