"""Charts: thinning that loses no extreme, one scale for all, and colours by the arm's place."""

from __future__ import annotations

import random

import pytest

from comparison_builder import comparison
from dbdyno.model import Series, Span
from dbdyno.report import chart, page
from dbdyno.report.view import Page


@pytest.fixture(scope="module")
def shown() -> Page:
    return page.make(comparison(blocks=2))


def test_a_thinned_series_keeps_its_extremes_and_its_mean() -> None:
    draw = random.Random(7)
    values = tuple(draw.lognormvariate(0, 2) for _ in range(9_973))
    series = Series(x_s=tuple(float(second) for second in range(len(values))), y=values)
    x, mean, low, high = chart.thin(series, 2_000)
    assert len(x) <= 2_000
    assert low == [min(values[first : first + 5]) for first in range(0, len(values), 5)]
    assert high == [max(values[first : first + 5]) for first in range(0, len(values), 5)]
    weights = [5] * (len(x) - 1) + [len(values) - 5 * (len(x) - 1)]
    total = sum(weight * value for weight, value in zip(weights, mean, strict=True))
    assert total == pytest.approx(sum(values))


def test_a_short_series_is_left_as_it_is() -> None:
    series = Series(x_s=(1.0, 2.0, 3.0), y=(5.0, 0.0, 7.0))
    assert chart.thin(series, 3) == ([1, 2, 3], [5, 0, 7], [5, 0, 7], [5, 0, 7])


def test_spans_that_overlap_are_one_and_end_with_the_window() -> None:
    def span(kind: str, start: float, end: float) -> Span:
        return Span(kind=kind, label="", start_s=start, end_s=end)

    spans = [
        span("autovacuum", -5, 10),
        span("autovacuum", 8, 20),
        span("checkpoint", 1, 2),
        span("autovacuum", 90, 200),
        span("autovacuum", 300, 400),
    ]
    assert chart.merge_spans(spans, "autovacuum", 100) == [(0.0, 20), (90, 100)]


def test_each_arm_has_a_panel_in_each_block_and_all_share_their_scales(shown: Page) -> None:
    section = shown.workloads[0].sections[3]
    spec = chart.seconds_spec(section.charts[0], shown.arms)
    values = spec["data"]["values"]
    panels = {(one["arm"], one["block"]) for one in values if one["what"] == "panel"}
    assert len(panels) == 4
    assert "resolve" not in spec  # nothing is scaled by itself
    assert spec["usermeta"] == {"columns": 2}
    lines = [one for one in values if one["what"] == "line"]
    assert all(len(one["x"]) == len(one["y"]) <= chart.POINTS_MAX // 2 for one in lines)


def test_a_logarithmic_chart_leaves_out_what_is_zero(shown: Page) -> None:
    section = shown.workloads[0].sections[3]  # l.i2, where pg18 stalls in block 2
    spec = chart.seconds_spec(section.charts[1], shown.arms)
    stalled = next(
        one
        for one in spec["data"]["values"]
        if one["what"] == "line" and (one["arm"], one["block"]) == ("pg18", "block 2")
    )
    known = [value for value in stalled["y"] if value is not None]
    assert len(known) < len(stalled["y"])
    assert min(known) > 0
    largest = max(value for value in stalled["high"] or known if value is not None)
    assert largest == pytest.approx(12_003, rel=1e-3)  # ms


def test_an_arm_has_the_colour_of_its_place_also_where_others_are_missing(shown: Page) -> None:
    section = shown.workloads[0].sections[0]
    for arms in (shown.arms, (*shown.arms, "pg19")):
        layers = chart.seconds_spec(section.charts[0], arms)["spec"]["layer"]
        scales = [
            layer["encoding"]["color"]["scale"]["domain"]
            for layer in layers
            if "color" in layer["encoding"]
        ]
        assert scales and all(scale == list(arms) for scale in scales)


def test_ratios_are_drawn_on_a_scale_with_one_in_the_middle(shown: Page) -> None:
    ratios = shown.workloads[0].ratios
    assert ratios is not None
    spec = chart.ratio_spec(ratios, shown.arms)
    dots = spec["layer"][-1]["encoding"]["x"]["scale"]
    low, high = dots["domain"]
    assert dots["type"] == "log"
    assert low * high == pytest.approx(1, rel=1e-3)
    assert len(spec["data"]["values"]) == 10
