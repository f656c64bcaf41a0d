"""The table of metrics and the page that is generated from it."""

import pytest

import metric_table
from dbdyno.model import metric
from dbdyno.model.metric import METRICS, state
from dbdyno.model.metric.state import STATES

PUBLISHED = (
    "ips qps rps rmbps wps wmbps rpq rkbpq wpi wkbpi csps cpups cspq cpupq dbgb1 dbgb2 rss maxop"
    " p50 p99"
)


def test_the_published_columns_stand_first_under_their_names_and_in_their_order() -> None:
    assert [row.name for row in METRICS if row.published] == PUBLISHED.split()
    assert [row.published for row in METRICS] == sorted(
        (row.published for row in METRICS), reverse=True
    )


def test_every_metric_has_a_name_of_its_own() -> None:
    assert len({row.name for row in METRICS}) == len(METRICS)


def test_every_state_has_a_name_of_its_own_and_a_row_that_is_complete() -> None:
    assert len({row.name for row in STATES}) == len(STATES)
    for row in STATES:
        assert state.by_name(row.name) is row
        assert row.unit in ("bytes", "rows", "tables", "transactions", "%")
        assert row.title
        assert len(row.how) > 10
        assert "|" not in row.title + row.how, "it would break the table of docs/metrics.md"


@pytest.mark.parametrize("row", METRICS, ids=lambda row: row.name)
def test_every_row_is_complete(row: metric.Metric) -> None:
    assert row.unit
    assert row.title
    assert len(row.how) > 10
    assert 0 <= row.digits <= 4
    assert row.direction in ("higher", "lower", "neutral")
    assert "|" not in row.title + row.how, "it would break the table of docs/metrics.md"


def test_a_metric_is_found_by_its_name() -> None:
    assert metric.by_name("cpupq").unit == "µs/operation"
    with pytest.raises(KeyError):
        metric.by_name("no-such")


def test_the_page_of_metrics_is_up_to_date() -> None:
    """Mend it with `python tools/metric_table.py`."""
    assert metric_table.PATH.read_text(encoding="utf-8") == metric_table.page()
