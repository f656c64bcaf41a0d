"""Answers of an application's queries: hashed, compared, and whether their texts determine them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec import structs

from dbdyno.engine.answer_hash import Column, Rows
from dbdyno.model.answer import Answer
from dbdyno.model.answer_word import compared
from dbdyno.workload import determined

INT, FLOAT, TEXT = (
    Column(name="n", type="int4", number=True),
    Column(name="f", type="float8", number=True, inexact=True),
    Column(name="t", type="text"),
)
Row = Sequence[bytes | None]


def answer(columns: Sequence[Column], *rows: Row, key: bytes = b"key") -> Answer:
    """An answer of these rows."""
    held = Rows(key=key)
    held.begin([column.number for column in columns])
    for row in rows:
        held.add(row)
    return Answer(query="q", rows=held.count, columns=held.columns(columns), whole=held.whole)


def word(base: Answer, arm: Answer, *ordered: int) -> str:
    """The word for two answers."""
    return compared(base, arm, ordered).word


def test_rows_in_another_order_are_the_same_answer() -> None:
    rows = [(b"1", b"a"), (b"2", b"b"), (b"2", b"b"), (None, b"")]
    assert word(answer((INT, TEXT), *rows), answer((INT, TEXT), *reversed(rows))) == "same"


def test_order_counts_by_the_columns_of_the_order_alone() -> None:
    rows = [(b"1", b"a"), (b"1", b"b"), (b"2", b"c")]
    swapped = [rows[1], rows[0], rows[2]]
    both = answer((INT, TEXT), *rows), answer((INT, TEXT), *swapped)
    assert word(*both, 0) == "same"
    assert word(*both, 1) == "other order"
    assert "`t`" in compared(*both, [1]).detail


def test_a_row_that_comes_twice_is_not_one_that_comes_once() -> None:
    once = answer((TEXT,), (b"a",), (b"b",), (b"b",))
    other = answer((TEXT,), (b"a",), (b"a",), (b"b",))
    assert word(once, other) == "different"


def test_null_is_no_text() -> None:
    assert word(answer((TEXT,), (None,)), answer((TEXT,), (b"",))) == "different"
    assert word(answer((TEXT,), (None,)), answer((TEXT,), (b"null",))) == "different"


def test_the_same_values_in_other_rows_are_another_answer() -> None:
    found = compared(
        answer((INT, TEXT), (b"1", b"a"), (b"2", b"b")),
        answer((INT, TEXT), (b"1", b"b"), (b"2", b"a")),
    )
    assert (found.word, found.detail) == ("different", "the same values in other rows")


def test_the_last_digits_of_a_floating_point_number_mean_nothing() -> None:
    base = answer((FLOAT,), (b"0.30000000000000004",))
    found = compared(base, answer((FLOAT,), (b"0.3",)))
    assert (found.word, found.detail) == ("same", "same within 1e-9")
    assert word(base, answer((FLOAT,), (b"0.3001",))) == "different"


def test_the_last_digits_of_an_exact_number_count() -> None:
    exact = structs.replace(answer((INT,)), rows=1)
    numeric = Column(name="n", type="numeric", number=True)
    found = compared(answer((numeric,), (b"1.50",)), answer((numeric,), (b"1.5",)))
    assert found.word == "different"
    assert "tenth digit" in found.detail
    assert word(exact, exact) == "same"


def test_extract_is_numeric_from_14_on() -> None:
    before = Column(name="e", type="float8", number=True, inexact=True)
    after = Column(name="e", type="numeric", number=True)
    base = answer((before,), (b"1577836800",))
    found = compared(base, answer((after,), (b"1577836800.000000",)))
    assert (found.word, found.detail) == ("other type", "`e`: float8 became numeric")
    assert word(base, answer((after,), (b"1577836801.000000",))) == "different"


def test_columns_and_rows_that_are_missing_are_told() -> None:
    base = answer((INT, TEXT), (b"1", b"a"))
    assert compared(base, answer((INT,), (b"1",))).detail == "1 columns for 2"
    assert compared(base, answer((INT, TEXT))).detail == "0 rows for 1"
    renamed = answer((INT, Column(name="u", type="text")), (b"1", b"a"))
    assert compared(base, renamed).word == "other type"
    assert compared(base, renamed).detail == "`t` is called `u`"


def test_hashes_of_two_labs_say_nothing_of_each_other() -> None:
    first = answer((TEXT,), (b"secret",))
    second = answer((TEXT,), (b"secret",), key=b"other")
    assert first.whole != second.whole
    assert first.columns[0].values != second.columns[0].values


def test_errors_of_one_arm_come_first() -> None:
    well = answer((INT,), (b"1",))
    failed = Answer(query="q", outcome="failed", code="42601", reason="syntax error")
    late = Answer(query="q", outcome="timed out")
    assert compared(well, failed).word == "fails"
    assert compared(well, failed).detail == "42601 syntax error"
    assert word(failed, well) == "fails on the base"
    assert word(failed, failed) == "fails on both"
    assert (word(well, late), word(late, well)) == ("times out", "times out on the base")
    assert compared(late, late).detail == "no answer in time on both"
    assert word(well, structs.replace(well, outcome="not asked")) == "not compared"


def test_of_more_rows_than_are_read_a_difference_says_nothing() -> None:
    base = structs.replace(answer((INT,), (b"1",)), cut=True)
    other = structs.replace(answer((INT,), (b"2",)), cut=True)
    assert word(base, other) == "not compared"
    assert word(base, base) == "same"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELECT a FROM t LIMIT $1", "LIMIT without ORDER BY"),
        ("SELECT * FROM (SELECT a FROM t LIMIT 5) AS s ORDER BY a", "LIMIT without ORDER BY"),
        ("SELECT a FROM t FETCH FIRST 5 ROWS ONLY", "LIMIT without ORDER BY"),
        ("SELECT DISTINCT ON (a) a, b FROM t", "DISTINCT ON without ORDER BY"),
        ("SELECT string_agg(a, ',') FROM t", "string_agg without ORDER BY"),
        ("SELECT ARRAY(SELECT a FROM t)", "array without ORDER BY"),
        ("SELECT row_number() OVER (PARTITION BY a) FROM t", "row_number without ORDER BY"),
        ("SELECT * FROM t WHERE made > now() - '1 d'::interval", "the clock: now"),
        ("SELECT random() FROM t", "the volatile function random"),
        (
            "SELECT a FROM t ORDER BY b LIMIT 5",
            "LIMIT after an ORDER BY that ends in no unique key",
        ),
    ],
)
def test_a_text_that_leaves_the_answer_open_says_why(text: str, reason: str) -> None:
    assert reason in determined.doubts(determined.read(text), {"random"}, [frozenset({"id"})])


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a FROM t ORDER BY a DESC, id LIMIT 5",
        "SELECT a, b FROM t WHERE c = 'LIMIT 5 now()' /* LIMIT 3 */",
        "SELECT string_agg(a, ',' ORDER BY a) FROM t",
        "SELECT DISTINCT ON (a) a, b FROM t ORDER BY a, b",
        "SELECT row_number() OVER (PARTITION BY a ORDER BY b), sum(c) OVER () FROM t",
        "SELECT count(*) FROM t GROUP BY a",
    ],
)
def test_a_text_that_determines_the_answer_raises_no_doubt(text: str) -> None:
    assert determined.doubts(determined.read(text), {"random"}, [frozenset({"id"})]) == []


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("SELECT a, b FROM t ORDER BY t.b DESC NULLS LAST, a LIMIT 5", (1, 0)),
        ("SELECT a, b FROM t ORDER BY 2", (1,)),
        ("SELECT a, b FROM t ORDER BY lower(b), a", (0,)),
        ("SELECT a, b FROM (SELECT * FROM t ORDER BY a) AS s", ()),
        ("SELECT a, b FROM t", ()),
        ('SELECT a, b FROM t ORDER BY "b" FOR UPDATE', (1,)),
        ("SELECT a, b FROM t ORDER BY c", ()),
    ],
)
def test_the_columns_of_the_outermost_order_are_known(text: str, places: tuple[int, ...]) -> None:
    assert determined.order_columns(determined.read(text), ("a", "b")) == places
