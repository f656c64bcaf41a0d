"""What is read of a dump before it is restored, and what of it is left out; without a server."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from dbdyno.engine import restore as restores
from dbdyno.engine.inherited import Memory, of
from dbdyno.engine.postgres import dump
from dbdyno.engine.postgres.restore import restricts
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


def taken(settings: set[str], *, restricts: bool = True) -> bytes:
    of_server = dump.Taking(
        settings=frozenset(settings), extensions=frozenset({"citext"}), restricts=restricts
    )
    return b"".join(dump.taken(lines(PLAIN), of_server))


def test_nothing_that_could_reach_others_is_restored_of_a_plain_dump() -> None:
    kept = taken({"transaction_timeout", "default_table_access_method"})
    for gone in (b"hunter2", b"USER MAPPING FOR", b"CREATE SUBSCRIPTION", b"ON EVENT TRIGGER"):
        assert gone not in kept
    assert b"REFRESH" not in kept
    assert b"pg_cron" not in kept.replace(b"-- Name: pg_cron", b"").replace(
        b"EXTENSION pg_cron;", b""
    )
    for stays in (b"\\restrict abc", b"\\unrestrict abc", b"CREATE EXTENSION", b"OWNER TO app"):
        assert stays in kept
    assert b"SET default_table_access_method = heap" in kept, "it stands after what is dropped"


def test_rows_stay_as_they_are_whatever_they_look_like() -> None:
    begin, end = PLAIN.index(b"COPY public.t"), PLAIN.index(b"\\.\n")
    assert PLAIN[begin:end] in taken(set())


def test_settings_of_newer_servers_are_left_out_where_a_server_does_not_know_them() -> None:
    head = taken(set(), restricts=False).partition(b"COPY")[0]
    assert b"transaction_timeout" not in head
    assert b"access_method" not in head
    assert b"statement_timeout" in head
    assert b"restrict abc" not in taken(set(), restricts=False)


def test_roles_and_extensions_are_read_outside_of_rows() -> None:
    contents = dump.contents_of(line.decode() for line in dump.without_rows(lines(PLAIN)))
    assert contents.roles == ("app",)
    assert contents.extensions == ("citext",)
    assert contents.texts == dump.Texts(encoding="UTF8")


SQL = """\
CREATE DATABASE "My Shop" WITH TEMPLATE = template0 ENCODING = 'LATIN1' LOCALE_PROVIDER = icu \
LOCALE = 'de_DE.UTF-8' ICU_LOCALE = 'de';
ALTER DATABASE "My Shop" OWNER TO boss;
ALTER DATABASE "My Shop" SET search_path TO 'shop', 'public';
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
    assert contents.settings == ("search_path TO 'shop', 'public'",)
    assert set(contents.roles) == {
        *("boss", "postgres", "The Owner", 'r"x', "reader", "maker", "other", "alice", "bob")
    }
    assert contents.superusers == {"postgres", "The Owner"}


LISTING = """\
;     Format: CUSTOM
2; 3079 16386 EXTENSION - citext 
3999; 0 0 COMMENT - EXTENSION citext 
;	depends on: 2
215; 1259 16385 TABLE public orders app
;	depends on: 2 2
3101; 1418 16499 USER MAPPING - USER MAPPING app SERVER far postgres
3102; 6100 16500 SUBSCRIPTION - sub postgres
3103; 0 0 COMMENT - SUBSCRIPTION sub postgres
3104; 0 16501 MATERIALIZED VIEW DATA public mv app
3105; 3466 16502 EVENT TRIGGER - watch postgres
220; 1259 16501 MATERIALIZED VIEW public mv app
"""


def test_entries_of_an_archive_are_left_out_by_their_kind() -> None:
    entries = dump.entries_of(LISTING.splitlines())
    kept = "\n".join(dump.kept_entries(entries))
    for number in ("3101;", "3102;", "3103;", "3104;", "3105;"):
        assert number not in kept
    assert "220; 1259 16501 MATERIALIZED VIEW public mv" in kept
    assert dump.needed_by(entries) == {"citext": 1}


OPERATION = """\
2; 3079 16386 EXTENSION - pg_cron 
3; 0 0 COMMENT - EXTENSION pg_cron 
;	depends on: 2
215; 0 16385 TABLE DATA cron job postgres
;	depends on: 2
4; 3079 16387 EXTENSION - pg_stat_statements 
216; 1259 16388 VIEW public slowest app
;	depends on: 4
"""


def test_extensions_for_operation_are_left_out_unless_an_object_needs_them() -> None:
    entries = dump.entries_of(OPERATION.splitlines())
    assert [line.split(";")[0] for line in dump.kept_entries(entries)] == ["4", "216"]
    assert dump.needed_by(entries) == {"pg_stat_statements": 1}


@pytest.mark.parametrize(
    ("content", "form"),
    [
        (b"PGDMP\x01\x10\x00rest", "custom"),
        (PLAIN, "plain"),
        (gzip.compress(PLAIN, mtime=0), "plain"),
    ],
)
def test_the_form_of_a_dump_is_told_by_its_first_bytes(
    tmp_path: Path, content: bytes, form: str
) -> None:
    path = tmp_path / "app.dump"
    path.write_bytes(content)
    assert dump.form_of(path) == form


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is no dump of PostgreSQL"),
        (b"SELECT 1;\n", "is no dump of PostgreSQL"),
        (b"-- MySQL dump 10.13\n", "is no dump of PostgreSQL"),
        (b"--\n-- PostgreSQL database cluster dump\n--\n", "pg_dumpall"),
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
    assert restricts(Tool(path=Path("psql"), version=version)) is knows


MEMORY = Memory(setting="shared_buffers", share=0.5, bytes_of=buffer_bytes)


def test_the_source_s_memory_is_cut_to_the_host_s_and_its_planner_settings_are_not() -> None:
    written = {"shared_buffers": "64GB", "effective_cache_size": "192GB", "new_one": "1"}
    taken = of(written, {"jit": "off"}, {"shared_buffers", "effective_cache_size"}, 8 << 30, MEMORY)
    assert taken.values == {"shared_buffers": "4GB", "effective_cache_size": "192GB"}
    assert any("shared_buffers is 4GB, not the source's 64GB" in line for line in taken.said)
    assert any(line.startswith("new_one of the source is left out") for line in taken.said)


def test_an_arm_s_own_setting_goes_before_the_source_s() -> None:
    assert of({"work_mem": "64MB"}, {"work_mem"}, None, 8 << 30, MEMORY).values == {}
