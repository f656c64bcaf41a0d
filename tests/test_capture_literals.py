"""Literals are found as PostgreSQL's own parser finds them, and come back as what they say."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

import postgast
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dbdyno.capture.gather import Query
from dbdyno.capture.naming import text_of
from dbdyno.capture.postgres_sql import PostgresSql

TEXT = st.text(
    st.sampled_from("ab'\"\\$-/*;\n\t éE0{}%") | st.characters(exclude_categories=["Cs", "Cc"]),
    max_size=12,
)


@dataclass(frozen=True)
class Literal:
    """A literal as a statement has it, and what it says."""

    source: str
    value: object


def quoted(text: str) -> Literal:
    return Literal("'" + text.replace("'", "''") + "'", text)


def escaped(text: str) -> Literal:
    body = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return Literal(f"E'{body}'", text)


def dollars(text: str) -> Literal:
    return Literal(f"$tag${text}$tag$", text)


LITERALS = st.one_of(
    TEXT.map(quoted),
    TEXT.map(escaped),
    TEXT.filter(lambda text: "$" not in text).map(dollars),
    st.integers(0, 10**20).map(lambda number: Literal(str(number), number)),
    st.integers(-(10**9), -1).map(lambda number: Literal(str(number), number)),
    st.decimals(0, 1000, places=2).map(lambda number: Literal(str(number), str(number))),
    st.sampled_from([Literal("true", True), Literal("NULL", None), Literal("FALSE", False)]),
)
BETWEEN = st.sampled_from(
    [", ", " , /* a 'comment */ ", ', "a name", ', " -- 'x\n , ", ", a.b, ", ", x1, ", ",t$1,"]
)


@given(st.lists(st.tuples(BETWEEN, LITERALS), min_size=1, max_size=6), st.booleans())
def test_literals_come_back_as_they_stood(parts: list[tuple[str, Literal]], again: bool) -> None:
    sql = PostgresSql()
    text = "SELECT x" + "".join(between + literal.source for between, literal in parts)
    if again:  # by the skeleton that is known by then
        sql.read(text)
    statement = sql.read(text)
    assert not statement.form.refused
    values = [json.loads(value, parse_float=str) for value in statement.literals]
    assert values == [literal.value for _, literal in parts]


@given(st.lists(st.tuples(BETWEEN, LITERALS), min_size=1, max_size=6))
def test_values_that_are_put_back_are_the_statement_for_the_parser(
    parts: list[tuple[str, Literal]],
) -> None:
    sql = PostgresSql()
    text = "SELECT x" + "".join(between + literal.source for between, literal in parts)
    statement = sql.read(text)
    query = Query(form=statement.form, way="simple", literals=statement.literals, calls=1, time_s=0)
    assert list(constants(text_of(query, sql).text)) == list(constants(text))


def constants(text: str) -> Iterator[tuple[str, str]]:
    """The constants of a text, by the parser itself."""
    for _, node in postgast.walk(postgast.parse(text)):
        if type(node).__name__ == "A_Const":
            yield tuple(str(node).rsplit("location", 1)[0].splitlines())  # type: ignore[misc]


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("SELECT a FROM t ORDER BY 2, 1", "SELECT a FROM t ORDER BY 2, 1"),
        ("SELECT a, sum(b) FROM t GROUP BY 1", "SELECT a, sum(b) FROM t GROUP BY 1"),
        ("SELECT a::numeric(10, 2) FROM t", "SELECT a::numeric(10, 2) FROM t"),
        ("SELECT b'101', x'1F'", "SELECT bit $1, bit $2"),
        ("SELECT date '2020-01-01' FROM t1 LIMIT 5", "SELECT date $1 FROM t1 LIMIT $2"),
        ("SELECT /*+ SeqScan(t) */ a /* x */ FROM t", "SELECT /*+ SeqScan(t) */ a FROM t"),
        ("SELECT a- -5, a -5, a-5", "SELECT a- $1, a -$2, a-$3"),
        ("SELECT U&'\\0061' UESCAPE '!'", "SELECT U&'\\0061' UESCAPE '!'"),
    ],
)
def test_what_is_part_of_the_form_stays(text: str, form: str) -> None:
    assert PostgresSql().read(text).form.key == form


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("VACUUM t", "VACUUM or ANALYZE"),
        ("SELECT a INTO x FROM t", "SELECT INTO"),
        ("SELECT pg_notify('a', 'b')", "NOTIFY"),
        ("COPY t FROM STDIN", "COPY"),
        ("SELECT * FROM dblink('x', 'y') AS t(a int)", "dblink"),
        ("CREATE TEMP TABLE x AS SELECT 1", "temporary tables"),
        ("SELECT a FROM t", ""),
        ("SELECT lower(lo_x), sleeper() FROM t", ""),
        ("SELECT pg_catalog.lo_get(5)", "large objects"),
        ("SELECT pg_terminate_backend(pid) FROM t", "administration of the server"),
        ("SELECT pg_stat_statements_reset()", "administration of the server"),
        ("SELECT cron.schedule('a', 'b')", "scheduled jobs"),
        ("SELECT schedule('a', 'b')", ""),
        (
            'SELECT $2 FROM ONLY "public"."t" x WHERE "id" OPERATOR(pg_catalog.=) $1 '
            "FOR KEY SHARE OF x",
            "checks of foreign keys, within what they check",
        ),
    ],
)
def test_what_cannot_run_alone_says_why(text: str, reason: str) -> None:
    assert PostgresSql().read(text).form.left_out == reason


@pytest.mark.parametrize(
    ("text", "writes"),
    [
        ("WITH x AS (DELETE FROM t RETURNING a) SELECT a FROM x", True),
        ("SELECT a FROM t FOR UPDATE", True),
        ("SELECT nextval('s')", True),
        ("CALL p(1)", True),
        ("WITH x AS (SELECT a FROM t) SELECT a FROM x", False),
    ],
)
def test_what_writes_is_told(text: str, writes: bool) -> None:
    form = PostgresSql().read(text).form
    assert form.writes is writes
    assert "x" not in form.tables


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (r"E'\xc3\xa9 \303\251'", "é é"),
        (r"E'\uD83D\uDE00 \U0001F600'", "😀 😀"),
        (r"U&'\D83D\DE00 \+01F600 \\'", "😀 😀 \\"),
        (r"E'\\xDEADBEEF'", r"\xDEADBEEF"),
        (r"E'\n\b\'''", "\n\b''"),
        (r"E'\uD83D'", "\ufffd"),
    ],
)
def test_escapes_say_what_the_server_reads(written: str, said: str) -> None:
    (value,) = PostgresSql().read(f"SELECT {written}").literals
    assert json.loads(value) == said


@example("it's \\ 'x", "\\'\n")
@given(TEXT, TEXT)
def test_a_session_may_read_a_backslash_as_an_escape_in_any_text(one: str, other: str) -> None:
    """`standard_conforming_strings = off`: what is an escape string elsewhere is a plain text."""
    texts = [escaped(text).source[1:] for text in (one, other)]
    dialect = PostgresSql().within({"standard_conforming_strings": "off"})
    statement = dialect.read(
        f"SELECT \"c'\\\" FROM t WHERE b = {texts[0]} AND c = E{texts[1]} -- '"
    )
    assert [json.loads(value) for value in statement.literals] == [one, other]
    assert statement.form.key == 'SELECT "c\'\\" FROM t WHERE b = $1 AND c = $2'
    written = dialect.quoted(statement.literals[0])
    assert json.loads(dialect.read(f"SELECT {written}").literals[0]) == one
    plain = dialect.within({"standard_conforming_strings": "on"})
    assert plain.quoted(statement.literals[0]) == quoted(one).source


def test_a_string_of_bits_and_null_in_its_place_are_kept_apart() -> None:
    dialect = PostgresSql()
    keys = [dialect.read(f"SELECT {bits} = {bits}").form.key for bits in ("NULL", "b'1'", "x'f'")]
    assert keys == ["SELECT $1 = $2", "SELECT bit $1 = bit $2", "SELECT bit $1 = bit $2"]
