"""A dump's SQL section by section: what is one statement, what goes with an extension, where."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.engine.postgres import refused
from dbdyno.engine.postgres.needed import monitors, need_of
from dbdyno.engine.postgres.sections import DumpSupport, PostgresFeed
from dbdyno.model.job.external import SuitedQuery
from dbdyno.workload.restored import names_in

HEAD = b"SET client_encoding = 'UTF8';\nSELECT pg_catalog.set_config('search_path', '', false);\n"


def section(type: str, name: str, sql: str, schema: str = "public") -> bytes:
    head = f"\n--\n-- Name: {name}; Type: {type}; Schema: {schema}; Owner: app\n--\n\n"
    return (head + sql).encode()


def a_feed(*absent: str, oids: bool = False) -> PostgresFeed:
    return PostgresFeed(
        DumpSupport(
            settings=frozenset({"client_encoding"}),
            oids=oids,
            restricts=True,
            search_path="public",
            absent=frozenset(absent),
            members=frozenset({("topology", "layer")}),
        )
    )


def fed(text: bytes, feed: PostgresFeed) -> str:
    return b"".join(feed.lines(text.splitlines(keepends=True))).decode()


def test_what_may_lack_is_one_statement_and_what_stands_behind_it_is_not() -> None:
    body = "CREATE FUNCTION f() RETURNS int AS $$\nBEGIN\nSET new_one = 1;\nEND $$;\n"
    text = HEAD + section("FUNCTION", "f()", body) + b"\nSET client_encoding = 'x';\n"
    text += section("TABLE", "t", "CREATE TABLE public.t (a int);\n")
    said = fed(text, a_feed())
    begin, end = said.index("DO $dyno"), said.index("RAISE WARNING")
    assert body in said[begin:end], "a body is nobody's setting"
    assert said.index("SET client_encoding = 'x'") > end
    assert said.index("CREATE TABLE") > end


def test_an_object_is_made_where_its_schema_is_looked_up_first() -> None:
    said = fed(HEAD + section("TABLE", "t", "CREATE TABLE s.t (a int);\n", "s"), a_feed())
    assert "'search_path', '\"s\", public'" in said
    assert "'search_path', ''" not in said


def test_what_a_dump_removes_before_it_makes_anything_is_left_out() -> None:
    clean = HEAD + b"ALTER TABLE public.t DROP CONSTRAINT c;\nDROP TABLE public.t;\n"
    said = fed(clean + section("TABLE", "t", "CREATE TABLE public.t ();\n"), a_feed())
    assert "DROP" not in said and "CREATE TABLE" in said


def test_a_line_is_known_by_its_section() -> None:
    feed = a_feed()
    said = fed(
        HEAD + section("TABLE", "t", "CREATE TABLE t ();\n") + section("INDEX", "i", "CREATE\n"),
        feed,
    )
    for label, mark in (("table `public.t`", "CREATE TABLE"), ("index `public.i`", "CREATE\n")):
        line = said[: said.index(mark)].count("\n") + 1
        assert (of := feed.at(line)) is not None
        assert of.label == label
    assert feed.at(1) is None


OF_ABSENT = (
    section("TABLE DATA", "job", "COPY cron.job (a) FROM stdin;\ngone\n\\.\n", "cron"),
    section("SEQUENCE SET", "jobs", "SELECT gone;\n", "cron"),
    section("POLICY", "job own", "CREATE POLICY gone;\n", "cron"),
    section("ROW SECURITY", "job", "ALTER gone;\n", "cron"),
    section("EXTENSION", "pg_cron", "CREATE EXTENSION IF NOT EXISTS gone;\n", "-"),
    section("PUBLICATION TABLE", "p t", "ALTER PUBLICATION gone;\n"),
)


def test_rows_and_policies_of_an_absent_extension_go_with_it_and_no_other() -> None:
    there = (
        section("TABLE", "t", "CREATE TABLE public.t ();\n"),
        section("TABLE DATA", "t", "COPY public.t (a) FROM stdin;\nrow\n\\.\n"),
        section("POLICY", "t own", "CREATE POLICY stays;\n"),
        section("TABLE DATA", "layer", "COPY topology.layer (a) FROM stdin;\n1\n\\.\n", "topology"),
    )
    said = fed(HEAD + b"".join((*there, *OF_ABSENT)), a_feed("pg_cron"))
    assert "gone" not in said
    for stays in ("CREATE TABLE", "row\n", "POLICY stays", "COPY topology.layer"):
        assert stays in said


def test_tables_with_oids_are_named_where_a_version_has_none() -> None:
    text = b"SET default_with_oids = true;\n" + section("TABLE", "t", "CREATE TABLE t ();\n")
    feed = a_feed()
    assert "with_oids" not in fed(text, feed)
    assert feed.lacks == ["table `public.t` is without its OIDs, which PostgreSQL 12 ended"]


ROWS = st.lists(
    st.sampled_from(
        [b"--\n", b"-- Name: x; Type: VIEW; Schema: s; Owner: o\n", b"SET a = 1;\n", b"\n", b"DO\n"]
    )
    | st.binary(max_size=8).map(lambda data: data.replace(b"\n", b"").replace(b"\\", b"") + b"\n"),
    max_size=20,
)


@given(ROWS)
def test_rows_of_a_copy_are_never_changed(rows: list[bytes]) -> None:
    data = b"COPY public.t (a) FROM stdin;\n" + b"".join(rows) + b"\\.\n"
    text = HEAD + section("TABLE DATA", "t", "") + data
    assert data in b"".join(a_feed().lines(io.BytesIO(text)))


def test_queries_need_what_their_texts_name() -> None:
    text = "SELECT a.x, 'cron.job', count(*) FROM \"Orders\" a JOIN cron.job ON st_area(g) > $1"
    names = names_in(text)
    assert {"orders", "cron", "st_area", "count"} <= set(names)
    assert not {"x", "job'"} & set(names)
    query = SuitedQuery(name="q", role="monitor", names=tuple(names))
    assert need_of("pg_cron", [query]) == need_of("postgis", [query]) == "q"
    assert need_of("google_vacuum_mgmt", [query]) is None
    assert monitors([query]) == []
    seen = SuitedQuery(name="s", role="monitor", names=("pg_stat_bgwriter",))
    assert monitors([query, seen]) == ["monitor"]


# --- What a server says against it --------------------------------------------------------------

SAID = """\
psql:<stdin>:7: ERROR:  42P01: relation "app.t" does not exist
LINE 1: SELECT 1 FROM app.t
CONTEXT:  SQL function "app.total" during inlining
psql:<stdin>:9: WARNING:  01000: {mark} 42883 function "f" does not exist
psql:<stdin>:11: ERROR:  22P02: invalid input syntax for type integer: "secret"
DETAIL:  secret
"""


def test_each_complaint_has_its_line_and_words_and_no_value_of_a_row() -> None:
    lines = ["a notice", *SAID.format(mark=refused.MARK).splitlines()]
    told = list(refused.complaints(lines))
    assert [(each.level, each.line, each.code) for each in told] == [
        ("ERROR", 7, "42P01"), ("WARNING", 9, "01000"), ("ERROR", 11, "22P02"),
    ]  # fmt: skip
    assert told[0].text == "relation `app.t` does not exist" and len(told[0].more) == 2
    assert "secret" not in told[2].text
    assert [refused.refused(each) for each in told] == [
        None, ("42883", "function `f` does not exist"), None,
    ]  # fmt: skip
    assert list(refused.complaints(["a notice"])) == []


@pytest.mark.parametrize(
    ("code", "said", "more", "absent", "cure"),
    [
        ("42704", 'type "abstime" does not exist', "", (), "PostgreSQL 12 ended the type"),
        ("42601", "syntax error", "LINE 1: ... WITH OIDS", (), "dump without `--oids`"),
        ("42601", "syntax error", "DETAIL: OIDS", (), None),
        ("53100", "no space left", "", (), "free space where `data_dir` lies"),
        ("42P01", "no relation", "", ("postgis", "x"), "of extension `postgis`, `x`, which this"),
        ("42P01", "no relation", "", (), None),
        ("42P01", "no relation", 'CONTEXT: PL/pgSQL function "s.f" line 3', (), "FUNCTION s.f SET"),
        ("23505", "duplicate key", 'CONTEXT: SQL function "s.f"', ("postgis",), None),
    ],
)
def test_what_cures_an_error_is_told_where_it_is_known(
    code: str, said: str, more: str, absent: tuple[str, ...], cure: str | None
) -> None:
    told = refused.cure(refused.Complaint("ERROR", 1, code, said, [more]), absent)
    assert cure is None if told == "" else cure is not None and told.startswith(": ")
    assert (cure or "") in told
