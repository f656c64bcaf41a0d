"""Numbers as words."""

import math

import pytest

from dbdyno.parts import number


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1_525_424.4, "1,525,424"),
        (123.4, "123"),
        (12.34, "12.3"),
        (1.234, "1.23"),
        (0.1234, "0.123"),
        (0.00001234, "0.0000123"),
        (0, "0"),
        (-2.5, "−2.50"),
        (-0.0001, "−0.000100"),
        (None, "NA"),
        (math.nan, "NA"),
        (math.inf, "inf"),
    ],
)
def test_a_number_has_digits_by_its_size(value: float | None, text: str) -> None:
    assert number.number(value) == text


def test_what_rounds_to_nothing_has_no_sign() -> None:
    assert number.number(-0.001, 1) == "0.0"


@pytest.mark.parametrize(
    ("values", "digits", "expected"),
    [
        ([1234.5, 3.25], 3, 0),
        ([12.34, 1.2], 3, 1),
        ([1.234], 1, 1),
        ([0.00006, 0.00005], 4, 6),
        ([0.0, None], 3, 0),
        ([0.25, math.nan], 0, 2),
    ],
)
def test_numbers_side_by_side_have_the_same_digits(
    values: list[float | None], digits: int, expected: int
) -> None:
    assert number.digits_alike(values, digits) == expected


@pytest.mark.parametrize(
    ("value_us", "text"),
    [
        (0, "0 µs"),
        (7.25, "7.25 µs"),
        (812, "812 µs"),
        (999.6, "1.00 ms"),
        (3_420, "3.42 ms"),
        (41_800, "41.8 ms"),
        (312_700, "313 ms"),
        (1_200_000, "1.20 s"),
        (12_003_417, "12.0 s"),
        (None, "NA"),
    ],
)
def test_a_time_is_shown_in_the_unit_that_fits(value_us: float | None, text: str) -> None:
    assert number.time_us(value_us) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 B"), (1023, "1,023 B"), (1536, "1.50 KiB"), (17_179_869_184, "16.0 GiB")],
)
def test_a_size_is_shown_in_the_unit_that_fits(value: float, text: str) -> None:
    assert number.size_bytes(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(1.05, "+5.0 %"), (0.95, "−5.0 %"), (1.0, "+0.0 %"), (3.5, "+250 %")]
)
def test_a_ratio_is_shown_as_a_change(value: float, text: str) -> None:
    assert number.change(value) == text


@pytest.mark.parametrize(
    ("value", "low", "high", "rate", "time"),
    [
        (1.091, 1.078, 1.104, "9.1 % faster [7.8, 10.4]", "slower, in 9.1 % more time [7.8, 10.4]"),
        (0.909, 0.896, 0.922, "9.1 % slower [7.8, 10.4]", "faster, in 9.1 % less time [7.8, 10.4]"),
    ],
)
def test_more_of_a_rate_is_faster_and_more_time_is_slower(
    value: float, low: float, high: float, rate: str, time: str
) -> None:
    assert number.speed(value, low, high) == rate
    assert number.haste(value, low, high) == time


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, ""), (0.5, "50.000"), (1, "100.000"), (0.000001, "nonzero"), (0.00001, "0.001")],
)
def test_a_share_is_a_percentage_as_published(value: float, text: str) -> None:
    assert number.share(value) == text


def test_a_text_that_is_cut_is_as_long_as_it_may_be() -> None:
    assert number.few_signs("twelve signs", 12) == "twelve signs"
    assert number.few_signs("twelve signs", 11) == "twelve sig…"


def test_names_beyond_the_first_are_counted_behind_the_same_sign() -> None:
    assert number.few(["a", "b", "c"], 2) == "a, b and 1 more"
    assert number.few(["a", "b", "c"], 2, "; ") == "a; b; and 1 more"


def test_a_range_of_lengths_is_one_length_where_its_ends_read_the_same() -> None:
    assert number.seconds(97.8, 98.2) == "98 s"
    assert number.seconds(93.2, 98.2) == "93 to 98 s"
    assert number.seconds(2.01, 2.34) == "2.0 to 2.3 s"


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0.98, 1.031, "0.98–1.03"),
        (99.4, 137.2, "99.40–137"),
        (2_000, 20_000, "2,000–2e4"),
        (0.0, 1.0, "too few repeats"),
        (0.0001, 29_985_537_390, "too few repeats"),
        (0.5, math.inf, "too few repeats"),
        (None, 1.0, ""),
        (1.0, math.nan, ""),
    ],
)
def test_an_interval_is_short_also_where_it_says_nothing(
    low: float | None, high: float | None, text: str
) -> None:
    assert number.interval(low, high) == text
