"""Planted reasons come out in the sentence, and nothing else does."""

import re
from dataclasses import replace

import pytest

from changed_builder import changed
from dbdyno.judge.explanation import explain
from dbdyno.model.verdict import Aims, Explanation, Word
from dbdyno.parts import number

pytestmark = pytest.mark.usefixtures("independent_blocks")


def explained(
    *,
    plans: tuple[str, str] = ("", ""),
    sampled: bool = True,
    helped: bool = False,
    **factors: float,
) -> Explanation:
    step = changed(plans, sampled=sampled, helped=helped, **factors)
    base, cell = step.cells
    found = explain(step, cell, base, Aims())
    assert found is not None
    return found


def metrics(found: Explanation) -> list[str]:
    return [cause.metric for cause in found.causes]


SLOWER = {"qps": 1 / 1.1, "connection_us_per_op": 1.1}


def test_more_cpu_explains_a_slower_step_with_its_interval_and_its_time() -> None:
    found = explained(**SLOWER, server_cpu_per_op=1.096)
    assert found.explained
    assert metrics(found) == ["server_cpu_per_op"]
    assert found.text == (
        "throughput 9.1 % slower [8.7, 9.5], 8.00 µs more per query: the sessions used 9.6 % more "
        "CPU per query [9.1, 10.1] (5.76 µs); context switches, reads, writes, WAL and waits did "
        "not change"
    )


def test_causes_are_named_by_how_much_of_the_time_they_carry() -> None:
    found = explained(**SLOWER, server_cpu_per_op=1.05, wait_io_us_per_op=1.9)
    assert metrics(found) == ["wait_io_us_per_op", "server_cpu_per_op"]
    assert "(5.40 µs), the sessions used 5.0 % more CPU [4.5, 5.5] (3.00 µs)" in found.text


def test_costs_that_are_no_time_come_after_those_that_are_and_once_for_each_group() -> None:
    found = explained(**SLOWER, wait_io_us_per_op=2.0, rpq=2.0, rkbpq=1.9)
    assert metrics(found) == ["wait_io_us_per_op", "rpq", "rkbpq"]
    assert "2.00 times the device reads" in found.text
    assert "KiB read" not in found.text


def test_a_cost_that_changed_the_other_way_explains_nothing() -> None:
    found = explained(**SLOWER, server_cpu_per_op=0.97, cs_per_op=0.8)
    assert not found.explained
    assert "]: nothing measured explains it; reads, writes, WAL and waits did" in found.text


def test_a_cost_that_changed_by_too_little_to_carry_the_change_is_no_reason() -> None:
    found = explained(**SLOWER, server_cpu_per_op=1.009, cs_per_op=1.01)
    assert metrics(found) == []


def test_a_cost_of_next_to_nothing_is_no_reason_however_much_it_grew() -> None:
    found = explained(**SLOWER, server_cpu_per_op=1.1, wpq=3.0, checkpointer_cpu_per_op=5.0)
    assert metrics(found) == ["server_cpu_per_op"]
    assert "wpq" in found.unchanged


def test_waits_that_the_base_has_none_of_are_found_without_a_ratio() -> None:
    found = explained(**SLOWER, wait_lock_us_per_op=8.0)
    assert metrics(found) == ["wait_lock_us_per_op"]
    assert "8.00 µs of time waiting for locks per query, where old has none" in found.text


def test_what_went_away_altogether_explains_a_faster_step() -> None:
    found = explained(qps=1.1, connection_us_per_op=1 / 1.1, wait_io_us_per_op=0.0)
    assert "no time waiting for reads and writes per query, where old has 6.00 µs" in found.text
    assert found.text.startswith("throughput 10.0 % faster [")


def test_another_plan_comes_first() -> None:
    plans = ("Index Scan using i on t", "Seq Scan on t")
    found = explained(plans=plans, qps=0.4, connection_us_per_op=2.5, server_cpu_per_op=2.8)
    assert metrics(found) == ["plan", "server_cpu_per_op"]
    assert "per query: another plan of `get`: Index Scan using i on t became Seq" in found.text
    assert "the sessions used 2.80 times the CPU per query [" in found.text


def test_plans_that_are_the_same_are_said_to_be() -> None:
    found = explained(plans=("Seq Scan on t", "Seq Scan on t"), **SLOWER, server_cpu_per_op=1.1)
    assert "waits and plans did not change" in found.text


def test_cpu_alone_leads_and_says_what_throughput_says() -> None:
    found = explained(server_cpu_per_op=1.052)
    assert metrics(found) == ["cpu_per_op"]
    assert found.text == (
        "5.2 % more CPU of the server per query [4.7, 5.7] (throughput is the same within 3 %): "
        "context switches, reads, writes, WAL and waits did not change"
    )


def test_cpu_alone_is_not_explained_by_waiting() -> None:
    found = explained(server_cpu_per_op=1.052, wait_io_us_per_op=1.5, cs_per_op=1.3)
    assert metrics(found) == ["cpu_per_op", "cs_per_op"]


def test_throughput_that_cannot_tell_is_shown_beside_cpu() -> None:
    step = changed(qps=0.98, noise=0.02, server_cpu_per_op=1.3)
    found = explain(step, step.cells[1], step.cells[0], Aims())
    assert found is not None
    assert re.search(r"\(throughput 2.0 % slower \[−.*\], open\)", found.text)


def test_slower_with_less_cpu_is_explained_by_what_grew() -> None:
    found = explained(
        qps=0.9, connection_us_per_op=1 / 0.9, server_cpu_per_op=0.9, wait_io_us_per_op=4.0
    )
    assert metrics(found) == ["wait_io_us_per_op"]
    assert "per query, with 10.0 % less CPU of the server per query [" in found.text


def test_a_change_within_the_margin_says_so() -> None:
    found = explained(qps=0.988, connection_us_per_op=1 / 0.988, server_cpu_per_op=1.012)
    assert found.text.startswith("throughput 1.2 % slower [0.7, 1.7], within the margin of 3 %, ")


def test_waits_that_were_not_sampled_are_said_to_be_missing() -> None:
    found = explained(sampled=False, **SLOWER, server_cpu_per_op=1.1)
    assert found.text.endswith("; waits were not sampled")
    assert "waits did not change" not in found.text


def test_the_remainder_is_told_where_it_carries_most_of_the_change() -> None:
    found = explained(**SLOWER, server_cpu_per_op=1.02, unaccounted_us_per_op=9.0)
    assert found.text.endswith("7.20 µs of it nothing measured accounts for")


def test_a_wide_interval_around_no_change_is_not_called_unchanged() -> None:
    step = changed(**SLOWER, noise=0.08)
    one = step.cells[1].verdict
    assert one is not None
    found = explain(
        step, replace(step.cells[1], verdict=replace(one, word="slower")), step.cells[0], Aims()
    )
    assert found is not None
    assert "cs_per_op" not in found.unchanged
    assert "wpq" in found.unchanged  # next to nothing


@pytest.mark.parametrize("word", ["same", "open", "failed"])
def test_what_is_neither_faster_nor_slower_is_not_explained(word: Word) -> None:
    step = changed(**SLOWER)
    one = step.cells[1].verdict
    assert one is not None
    cell = replace(step.cells[1], verdict=replace(one, word=word))
    assert explain(step, cell, step.cells[0], Aims()) is None


@pytest.mark.parametrize(
    ("ratio", "low", "high", "words"),
    [
        (0.909, 0.896, 0.922, "9.1 % slower [7.8, 10.4]"),
        (1.02, 0.99, 1.05, "2.0 % faster [−1.0, 5.0]"),
        (2.41, 2.12, 2.74, "2.41 times as fast [2.12, 2.74]"),
        (0.98, None, None, "2.0 % slower"),
        (1.0, 0.9999, 1.0001, "0.0 % faster [0.0, 0.0]"),
    ],
)
def test_a_ratio_in_words(ratio: float, low: float | None, high: float | None, words: str) -> None:
    assert number.speed(ratio, low, high) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.0512, "0.0512 µs"), (8.017, "8.02 µs"), (31.24, "31.2 µs"), (812.3, "812 µs"),
        (1_312.0, "1.31 ms"), (2_500_000.0, "2.50 s"), (-3.2, "−3.20 µs"),
    ],
)  # fmt: skip
def test_a_time_in_words(value: float, words: str) -> None:
    assert number.time_us(value) == words


# --- With helpers ------------------------------------------------------------------------------


def test_of_throughput_the_sessions_cpu_is_a_reason_and_of_cpu_alone_that_of_helpers() -> None:
    """Results that tell whom helpers served have both; older ones are above."""
    more = {"cpu_per_op": 1.1, "server_cpu_per_op": 1.09}
    found = explained(helped=True, **SLOWER, **more)
    assert metrics(found) == ["server_cpu_per_op"]
    assert "more per query: the sessions used 9.0 % more CPU per query [" in found.text
    found = explained(helped=True, cpu_per_op=1.2, io_worker_cpu_per_op=9.0)
    assert set(metrics(found)) == {"cpu_per_op", "io_worker_cpu_per_op"}
    assert "20.0 % more CPU of the server per query [" in found.text
    assert "9.00 times the CPU of io workers per query [" in found.text
