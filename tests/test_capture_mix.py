"""Transactions of a log, and the time at which a captured query's clock stands."""

import pytest

from dbdyno.capture import mix
from dbdyno.capture.call import Call
from dbdyno.capture.clock import stopped
from dbdyno.capture.mix import Transactions

AT_S = 1_764_237_600.0  # 2025-11-27 10:00:00 UTC


def call(text: str, *, end_s: float = 1.0, session: str = "a") -> Call:
    """A call of no duration."""
    return Call(end_s=end_s, duration_s=0.0, session=session, text=text)


def run(transactions: Transactions, texts: str, *, start_s: float, session: str = "a") -> None:
    """Adds calls, a tenth of a second apart; a text is the form of its query."""
    for number, text in enumerate(texts.split()):
        made = call(text, end_s=start_s + number / 10, session=session)
        if text in ("BEGIN", "COMMIT", "ROLLBACK"):
            transactions.control(made, ends=text != "BEGIN")
        else:
            transactions.query(made, text)


def test_queries_between_begin_and_commit_are_one_transaction() -> None:
    seen = Transactions()
    for second in range(10):
        run(seen, "BEGIN a b COMMIT", start_s=second, session="one")
        run(seen, "c", start_s=second, session="two")
    run(seen, "BEGIN a ROLLBACK", start_s=10)
    found = mix.of(seen, {"a": "select-a", "b": "update-b", "c": "select-c"})
    assert found is not None
    assert dict(found.transactions) == {
        "transaction-1": ("BEGIN", "select-a", "update-b", "COMMIT"),
        "transaction-2": ("BEGIN", "select-a", "ROLLBACK"),
    }
    assert dict(found.weights) == {"transaction-1": 10, "select-c": 10, "transaction-2": 1}
    assert found.sessions == 2
    assert found.per_s == pytest.approx(21 / 10.2)
    assert found.covered == 1


def test_a_transaction_with_a_query_that_cannot_run_is_left_out() -> None:
    seen = Transactions()
    run(seen, "BEGIN a x COMMIT a a", start_s=0)
    found = mix.of(seen, {"a": "select-a"})
    assert found is not None
    assert dict(found.weights) == {"select-a": 2}
    assert found.covered == pytest.approx(2 / 3)


def test_a_log_of_one_moment_tells_no_mix() -> None:
    assert mix.of(Transactions(), {}) is None


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("now()", "timestamptz '2025-11-27 10:00:00+00'"),
        ("CURRENT_TIMESTAMP(0)", "timestamptz '2025-11-27 10:00:00+00'"),
        ("localtimestamp", "timestamp '2025-11-27 10:00:00'"),
        ("CURRENT_DATE", "date '2025-11-27'"),
        ("current_time", "current_time"),
    ],
)
def test_the_clock_stands_at_the_time_of_the_capture(source: str, said: str) -> None:
    assert stopped(source, AT_S, "timestamptz") == said
    assert stopped(source, None, "timestamptz") == source


def test_mysql_has_moments_without_a_zone() -> None:
    assert stopped("NOW()", AT_S, "timestamp") == "timestamp '2025-11-27 10:00:00'"
