"""Answers of an application's queries: hashed and compared, also where something is open."""

from collections.abc import Sequence

import pytest
from msgspec import structs

from dbdyno.engine.answer_hash import ResultColumn, Rows
from dbdyno.model.answer import Answer, OpenQueryPart
from dbdyno.model.answer_word import compared

INT, FLOAT, TEXT = (
    ResultColumn(name="n", type="int4", number=True),
    ResultColumn(name="f", type="float8", number=True, inexact=True),
    ResultColumn(name="t", type="text"),
)
Row = Sequence[bytes | None]


def answer(columns: Sequence[ResultColumn], *rows: Row, key: bytes = b"key") -> Answer:
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
    numeric = ResultColumn(name="n", type="numeric", number=True)
    found = compared(answer((numeric,), (b"1.50",)), answer((numeric,), (b"1.5",)))
    assert found.word == "different"
    assert "tenth digit" in found.detail
    assert word(exact, exact) == "same"


def test_extract_is_numeric_from_14_on() -> None:
    before = ResultColumn(name="e", type="float8", number=True, inexact=True)
    after = ResultColumn(name="e", type="numeric", number=True)
    base = answer((before,), (b"1577836800",))
    found = compared(base, answer((after,), (b"1577836800.000000",)))
    assert (found.word, found.detail) == ("other type", "`e`: float8 became numeric")
    assert word(base, answer((after,), (b"1577836801.000000",))) == "different"


def test_columns_and_rows_that_are_missing_are_told() -> None:
    base = answer((INT, TEXT), (b"1", b"a"))
    assert compared(base, answer((INT,), (b"1",))).detail == "1 columns for 2"
    assert compared(base, answer((INT, TEXT))).detail == "0 rows for 1"
    renamed = answer((INT, ResultColumn(name="u", type="text")), (b"1", b"a"))
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


@pytest.mark.parametrize("code", ["23503", "1452", "23505", "1062"])
def test_what_breaks_a_key_on_both_arms_lacks_its_transaction_and_nothing_else(code: str) -> None:
    failed = Answer(query="q", outcome="failed", code=code, reason="")
    assert word(failed, failed) == "not compared"
    assert compared(failed, failed).detail.endswith(f"({code})")
    assert word(answer((INT,), (b"1",)), failed) == "fails"


def test_of_more_rows_than_are_read_a_difference_says_nothing() -> None:
    base = structs.replace(answer((INT,), (b"1",)), cut=True)
    other = structs.replace(answer((INT,), (b"2",)), cut=True)
    assert word(base, other) == "not compared"
    assert word(base, base) == "same"


def doubt(*columns: int, order: bool = False) -> OpenQueryPart:
    """A doubt of these columns; of none: of the whole answer."""
    return OpenQueryPart(query="q", reason="open", columns=columns or None, order=order)


def test_a_column_that_is_open_differs_in_nothing_and_the_others_do() -> None:
    base = answer((INT, TEXT), (b"1", b"a"), (b"2", b"b"))
    other = answer((INT, TEXT), (b"1", b"a"), (b"2", b"c"))
    assert word(base, other) == "different"
    assert compared(base, other, open_parts=[doubt(1)]).word == "not determined"
    assert compared(base, other, open_parts=[doubt(1)]).detail == "open"
    assert compared(base, other, open_parts=[doubt(0)]).word == "different"
    assert compared(base, other, open_parts=[doubt(1, order=True)]).word == "different"
    fewer = answer((INT, TEXT), (b"1", b"a"))
    assert compared(base, fewer, open_parts=[doubt(0), doubt(1)]).word == "different"
    assert compared(base, fewer, open_parts=[doubt()]).word == "not determined"


def test_rows_that_only_an_open_column_joins_differently_are_not_determined() -> None:
    base = answer((INT, TEXT), (b"1", b"a"), (b"2", b"b"))
    swapped = answer((INT, TEXT), (b"1", b"b"), (b"2", b"a"))
    assert compared(base, swapped, open_parts=[doubt(0)]).word == "not determined"
    assert compared(base, swapped, open_parts=[doubt(0, order=True)]).word == "different"


def test_an_order_that_is_open_is_no_other_order() -> None:
    base = answer((INT, TEXT), (b"1", b"a"), (b"2", b"b"))
    turned = answer((INT, TEXT), (b"2", b"b"), (b"1", b"a"))
    assert compared(base, turned, (0,)).word == "other order"
    assert compared(base, turned, (0,), [doubt(0, order=True)]).word == "not determined"
    assert compared(base, turned, (0,), [doubt(1, order=True)]).word == "other order"


def test_an_error_is_told_whatever_is_open() -> None:
    well, failed = answer((INT,), (b"1",)), Answer(query="q", outcome="failed", code="42601")
    assert compared(well, failed, open_parts=[doubt()]).word == "fails"
