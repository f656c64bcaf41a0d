"""What is read of a dump before it is restored, and what of it is left out; without a server."""

import bz2
import gzip
import lzma
from pathlib import Path
from typing import Any

import pytest

from dbdyno.engine import restore as restores
from dbdyno.engine.inherited import CacheMemory, of
from dbdyno.engine.postgres import dump
from dbdyno.engine.postgres.restore import restricts
from dbdyno.engine.postgres.sections import DumpSupport, PostgresFeed, without_rows
from dbdyno.engine.restore import Tool, without_values
from dbdyno.model.error import PlanError
from dbdyno.model.size import buffer_bytes

PLAIN = b"""--
-- PostgreSQL database dump
--

\\restrict abc

SET statement_timeout = 0;
SET transaction_timeout = 0;
SET client_encoding = 'UTF8';
SET row_security = off;

--
-- Name: citext; Type: EXTENSION; Schema: -; Owner: -
--

CREATE EXTENSION IF NOT EXISTS citext WITH SCHEMA public;

--
-- Name: pg_cron; Type: EXTENSION; Schema: -; Owner: -
--

CREATE EXTENSION IF NOT EXISTS pg_cron WITH SCHEMA pg_catalog;

--
-- Name: EXTENSION pg_cron; Type: COMMENT; Schema: -; Owner: -
--

COMMENT ON EXTENSION pg_cron IS 'jobs';

--
-- Name: EVENT TRIGGER watch; Type: COMMENT; Schema: -; Owner: app
--

COMMENT ON EVENT TRIGGER watch IS 'x';

SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: t; Type: TABLE; Schema: public; Owner: app
--

CREATE TABLE public.t (
    a text
);

ALTER TABLE public.t OWNER TO app;

--
-- Name: USER MAPPING app SERVER far; Type: USER MAPPING; Schema: -; Owner: app
--

CREATE USER MAPPING FOR app SERVER far OPTIONS (
    password 'hunter2;',
    "user" 'x'
);


--
-- Data for Name: t; Type: TABLE DATA; Schema: public; Owner: app
--

COPY public.t (a) FROM stdin;
-- Name: t; Type: SUBSCRIPTION; Schema: x
SET transaction_timeout = 0;
GRANT ALL ON TABLE t TO nobody_at_all;
\\.


--
-- Name: mv; Type: MATERIALIZED VIEW DATA; Schema: public; Owner: app
--

REFRESH MATERIALIZED VIEW public.mv;


--
-- Name: s; Type: SUBSCRIPTION; Schema: -; Owner: postgres
--

CREATE SUBSCRIPTION s CONNECTION 'host=prod' PUBLICATION p WITH (connect = false);


--
-- PostgreSQL database dump complete
--

\\unrestrict abc

"""


def lines(text: bytes) -> list[bytes]:
    return text.splitlines(keepends=True)


def fed(text: bytes, **more: Any) -> bytes:
    """A dump as psql gets it, of a server that knows few settings and lacks pg_cron."""
    known = {"statement_timeout", "client_encoding", "row_security"}
    settings = frozenset(known | more.pop("settings", set()))
    of_server = {"oids": False, "restricts": True, "search_path": "app", "members": frozenset()}
    absent = frozenset({"pg_cron"})
    taking = DumpSupport(**{"settings": settings, "absent": absent, **of_server, **more})
    return b"".join(PostgresFeed(taking).lines(lines(text)))


def test_nothing_that_could_reach_others_is_restored_of_a_dump() -> None:
    kept = fed(PLAIN, settings={"transaction_timeout", "default_table_access_method"})
    for gone in (b"hunter2", b"USER MAPPING FOR", b"CREATE SUBSCRIPTION", b"EXISTS pg_cron"):
        assert gone not in kept
    assert b"REFRESH" not in kept
    for stays in (b"\\restrict abc", b"\\unrestrict abc", b"CREATE EXTENSION", b"OWNER TO app"):
        assert stays in kept
    assert b"SET default_table_access_method = heap" in kept, "it stands after what is dropped"


def test_rows_stay_as_they_are_whatever_they_look_like() -> None:
    begin, end = PLAIN.index(b"COPY public.t"), PLAIN.index(b"\\.\n")
    assert PLAIN[begin:end] in fed(PLAIN)


def test_settings_of_newer_servers_are_left_out_where_a_server_does_not_know_them() -> None:
    head = fed(PLAIN, restricts=False).partition(b"COPY")[0]
    assert b"transaction_timeout" not in head
    assert b"access_method" not in head
    assert b"statement_timeout" in head
    assert b"restrict abc" not in fed(PLAIN, restricts=False)


def test_roles_and_extensions_are_read_outside_of_rows() -> None:
    contents = dump.contents_of(line.decode() for line in without_rows(lines(PLAIN)))
    assert contents.roles == ("app",)
    assert contents.extensions == ("citext", "pg_cron")
    assert contents.texts == dump.Texts(encoding="UTF8")
    assert contents.complete and contents.dumped is None


SQL = """\
CREATE DATABASE "My Shop" WITH TEMPLATE = template0 ENCODING = 'LATIN1' LOCALE_PROVIDER = icu \
LOCALE = 'de_DE.UTF-8' ICU_LOCALE = 'de';
ALTER DATABASE "My Shop" OWNER TO boss;
ALTER DATABASE "My Shop" SET search_path TO '$user', 'shop', 'public';
ALTER ROLE other IN DATABASE "My Shop" SET work_mem TO '8MB';
CREATE SCHEMA "a b";
ALTER EVENT TRIGGER watch OWNER TO postgres;
ALTER FOREIGN DATA WRAPPER fdw OWNER TO "The Owner";
GRANT SELECT ON TABLE public.t TO PUBLIC;
GRANT SELECT(a),UPDATE ON TABLE public.t TO "r""x" WITH GRANT OPTION;
REVOKE ALL ON SCHEMA public FROM reader;
GRANT pg_read_all_data TO pg_monitor;
ALTER DEFAULT PRIVILEGES FOR ROLE maker IN SCHEMA public GRANT SELECT ON TABLES  TO other;
CREATE POLICY p ON public.t TO alice, bob USING ((a = 1));
"""


def test_a_database_and_its_roles_are_read_of_an_archive_s_sql() -> None:
    contents = dump.contents_of(SQL.splitlines())
    assert contents.texts == dump.Texts(
        encoding="LATIN1", collate="de_DE.UTF-8", ctype="de_DE.UTF-8", icu_locale="de"
    )
    assert [(each.role, each.text) for each in contents.settings] == [
        (None, "search_path TO '$user', 'shop', 'public'"),
        ("other", "work_mem TO '8MB'"),
    ]
    assert contents.search_path == '"$user", "shop", "public", "a b"'
    assert set(contents.roles) == {
        *("boss", "postgres", "The Owner", 'r"x', "reader", "maker", "other", "alice", "bob")
    }
    assert contents.superusers == {"postgres", "The Owner"}


VERBOSE = """\
-- Started on 2026-11-20 10:00:00 CET
-- TOC entry 2 (class 3079 OID 16386)
-- Name: citext; Type: EXTENSION; Schema: -; Owner: -
CREATE EXTENSION IF NOT EXISTS citext WITH SCHEMA public;
-- TOC entry 3 (class 0 OID 0)
-- Dependencies: 2
-- Name: EXTENSION citext; Type: COMMENT; Schema: -; Owner: -
-- TOC entry 215 (class 1259 OID 16385)
-- Dependencies: 2 7
-- Name: orders; Type: TABLE; Schema: public; Owner: app
-- TOC entry 216 (class 1259 OID 16385)
-- Dependencies: 2
-- Name: v; Type: VIEW; Schema: public; Owner: app
-- PostgreSQL database dump complete
"""


def test_a_verbose_dump_tells_what_needs_an_extension_and_when_it_was_made() -> None:
    contents = dump.contents_of(VERBOSE.splitlines())
    assert contents.needs == {"citext": ("table `public.orders`",)}, "no view, no comment"
    assert contents.dumped == "2026-11-20T10:00:00", "nobody knows what CET was there"
    assert contents.complete


@pytest.mark.parametrize(
    ("content", "form"),
    [
        (b"PGDMP\x01\x10\x00rest", "custom"),
        (PLAIN, "plain"),
        (gzip.compress(PLAIN, mtime=0), "plain"),
        (bz2.compress(PLAIN), "plain"),
        (lzma.compress(PLAIN), "plain"),
    ],
)
def test_the_form_of_a_dump_is_told_by_its_first_bytes(tmp_path: Path, content: bytes, form: str):
    path = tmp_path / "app.dump"
    path.write_bytes(content)
    assert dump.form_of(path) == form


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is no dump of PostgreSQL"),
        (b"SELECT 1;\n", "is no dump of PostgreSQL"),
        (b"-- MySQL dump 10.13\n", "is no dump of PostgreSQL"),
        ("-- PostgreSQL database dump\n".encode("utf-16"), "is written in UTF-16"),
        (b"--\n-- PostgreSQL database cluster dump\n--\n", "pg_dumpall"),
        (b"\x28\xb5\x2f\xfdpacked", "is packed by zstd: unpack it"),
        (b"\x1f\x8bnot packed", "write the path of a dump that may be read"),
    ],
)
def test_what_is_no_dump_is_refused_in_a_line(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "app.dump"
    path.write_bytes(content)
    with pytest.raises(PlanError) as refused:
        dump.form_of(path)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_an_archive_s_format_stands_behind_its_mark(tmp_path: Path) -> None:
    path = tmp_path / "app.dump"
    path.write_bytes(b"PGDMP\x01\x10\x00")
    assert dump.archive_format(path) == (1, 16)
    assert dump.WRITTEN_BY[(1, 16)] == "17"


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ('ERROR:  type "citext" does not exist', "ERROR: type `citext` does not exist"),
        (
            'error: COPY failed for table "t": ERROR:  invalid input syntax for type integer: "se',
            "error: COPY failed for table `t`: ERROR: invalid input syntax for type integer: …",
        ),
        (
            'invalid byte sequence for encoding "UTF8": 0xe9 0x20 0x61',
            "invalid byte sequence for encoding `UTF8`: …",
        ),
    ],
)
def test_what_a_client_complains_of_is_told_without_values(said: str, left: str) -> None:
    assert without_values(said) == left


def test_a_dump_is_its_content_wherever_it_lies(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir()
        (folder / "toc.dat").write_bytes(b"PGDMP")
    assert restores.sha256(one) == restores.sha256(other)
    (other / "1.dat").write_bytes(b"")
    assert restores.sha256(one) != restores.sha256(other)


@pytest.mark.parametrize(
    ("version", "knows"), [("15.13", False), ("15.14", True), ("18.0", True), ("12.22", False)]
)
def test_an_older_psql_does_not_know_restrict(version: str, knows: bool) -> None:
    assert restricts(Tool(path=Path("psql"), version=version, said="")) is knows


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("/opt/13.2/bin/mariadb from 11.4.5-MariaDB, client 15.2 for linux-systemd", "11.4.5"),
        ("/usr/bin/mysql  Ver 15.1 Distrib 10.11.19-MariaDB, for debian-linux-gnu", "10.11.19"),
        ("mysql  Ver 14.14 Distrib 5.5.9, for Linux (x86_64)", "5.5.9"),
        ("/opt/8.0/mysql  Ver 9.7.0 for Linux on x86_64 (MySQL Community)", "9.7.0"),
        ("psql (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)", "15.18"),
        ("pg_restore (PostgreSQL) 18.6", "18.6"),
    ],
)
def test_a_client_s_version_is_neither_its_library_s_nor_of_its_path(
    tmp_path: Path, said: str, version: str
) -> None:
    program = tmp_path / "client"
    program.write_text(f"#!/bin/sh\necho '{said}'\n")
    program.chmod(0o755)
    (tool,) = restores.tools(["client"], [program], "NONE")
    assert (tool.version, tool.said.strip()) == (version, said)


MEMORY = CacheMemory(setting="shared_buffers", share=0.5, bytes_of=buffer_bytes)


def test_the_source_s_memory_is_cut_to_the_host_s_and_its_planner_settings_are_not() -> None:
    written = {"shared_buffers": "64GB", "effective_cache_size": "192GB", "new_one": "1"}
    taken = of(written, {"jit": "off"}, {"shared_buffers", "effective_cache_size"}, 8 << 30, MEMORY)
    assert taken.values == {"shared_buffers": "4GB", "effective_cache_size": "192GB"}
    assert any("shared_buffers is 4GB, not the source's 64GB" in line for line in taken.said)
    assert any(line.startswith("new_one of the source is left out") for line in taken.said)


def test_an_arm_s_own_setting_goes_before_the_source_s() -> None:
    assert of({"work_mem": "64MB"}, {"work_mem"}, None, 8 << 30, MEMORY).values == {}
