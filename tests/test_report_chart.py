"""Charts: thinning that loses no extreme, one scale for all, and colours by the arm's place."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import report_parts
from comparison_builder import comparison
from dbdyno.model import Series, Span
from dbdyno.parts.drawing import Line, Lines
from dbdyno.parts.part import Page
from dbdyno.report import chart, page
from dbdyno.report.chart import bars
from dbdyno.report.chart import lines as seconds
from dbdyno.report.render import picture


@pytest.fixture(scope="module")
def shown() -> Page:
    return page.make(comparison(blocks=2))


def test_a_thinned_series_keeps_its_extremes_and_its_mean() -> None:
    draw = random.Random(7)
    values = tuple(draw.lognormvariate(0, 2) for _ in range(9_973))
    series = Series(x_s=tuple(float(second) for second in range(len(values))), y=values)
    x, mean, low, high = seconds.thin(series, 2_000)
    assert len(x) <= 2_000
    assert low.tolist() == [min(values[first : first + 5]) for first in range(0, len(values), 5)]
    assert high.tolist() == [max(values[first : first + 5]) for first in range(0, len(values), 5)]
    weights = [5] * (len(x) - 1) + [len(values) - 5 * (len(x) - 1)]
    total = sum(weight * value for weight, value in zip(weights, mean, strict=True))
    assert total == pytest.approx(sum(values))


def test_a_short_series_is_left_as_it_is() -> None:
    series = Series(x_s=(1.0, 2.0, 3.0), y=(5.0, 0.0, 7.0))
    found = [values.tolist() for values in seconds.thin(series, 3)]
    assert found == [[1, 2, 3], [5, 0, 7], [5, 0, 7], [5, 0, 7]]


@given(st.lists(st.just(0.0) | st.floats(1e-6, 1e15) | st.floats(-1e15, -1e-6), max_size=9))
def test_shortened_numbers_have_four_digits_and_are_the_nearest_such(values: list[float]) -> None:
    for value, made in zip(values, seconds.shortened(values), strict=True):
        assert float(f"{made:.4g}") == made  # the shortest way to write it has four digits
        nearest = float(f"{value:.4g}")
        assert abs(made - value) <= abs(nearest - value) * (1 + 1e-6)


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
    assert seconds.merge_spans(spans, "autovacuum", 100) == [(0.0, 20), (90, 100)]


def test_each_arm_has_a_panel_in_each_block_and_all_share_their_scales(shown: Page) -> None:
    section = report_parts.steps(shown)[3]
    spec = seconds.spec(report_parts.lines(report_parts.charts(section, "graphs")[0]), shown.arms)
    values = spec["data"]["values"]
    panels = {(one["arm"], one["block"]) for one in values if one["what"] == "panel"}
    assert len(panels) == 4
    assert "resolve" not in spec  # nothing is scaled by itself
    assert spec["usermeta"]["columns"] == 2
    lines = [one for one in values if one["what"] == "line"]
    assert all(len(one["x"]) == len(one["y"]) <= seconds.POINTS_MAX // 2 for one in lines)


def test_a_logarithmic_chart_leaves_out_what_is_zero_and_can_be_made_linear(shown: Page) -> None:
    section = report_parts.steps(shown)[3]  # l.i2, where pg18 stalls in block 2
    spec = seconds.spec(report_parts.lines(report_parts.charts(section, "graphs")[1]), shown.arms)
    stalled = next(
        one
        for one in spec["data"]["values"]
        if one["what"] == "line" and (one["arm"], one["block"]) == ("pg18", "block 2")
    )
    assert min(stalled["y"]) == 0
    largest = max(stalled["high"] or stalled["y"])
    assert largest == pytest.approx(12_003, rel=1e-3)  # ms
    assert {"name": "logarithmic", "value": True} in spec["params"]
    scales = spec["usermeta"]["scales"]
    assert spec["spec"]["layer"][3]["encoding"]["y"]["scale"] == scales["log"]["scale"]
    assert scales["linear"]["scale"] == {"zero": True}


def test_an_arm_has_the_colour_of_its_place_also_where_others_are_missing(shown: Page) -> None:
    section = report_parts.steps(shown)[0]
    for arms in (shown.arms, (*shown.arms, "pg19")):
        layers = seconds.spec(report_parts.lines(report_parts.charts(section, "graphs")[0]), arms)[
            "spec"
        ]["layer"]
        scales = [
            layer["encoding"]["color"]["scale"]["domain"]
            for layer in layers
            if "color" in layer["encoding"]
        ]
        assert scales and all(scale == list(arms) for scale in scales)


def test_ratios_are_drawn_on_a_scale_with_one_in_the_middle(shown: Page) -> None:
    ratios = report_parts.ratios(shown)
    assert ratios is not None
    spec = bars.ratios(ratios, shown.arms)
    dots = spec["layer"][-1]["encoding"]["x"]["scale"]
    low, high = dots["domain"]
    assert dots["type"] == "log"
    assert low * high == pytest.approx(1, rel=1e-3)
    assert len(spec["data"]["values"]) == 10


def test_throughput_is_drawn_with_each_block_the_base_and_the_interval(shown: Page) -> None:
    step = report_parts.steps(shown)[3]
    spec = chart.specs(shown)["insert-benchmark-04-l-i2-throughput"]
    base, other = spec["data"]["values"]
    assert (base["arm"], other["arm"]) == ("pg17", "pg18")
    assert len(base["blocks"]) == len(other["blocks"]) == 2
    assert "low" not in base and "base" not in base
    assert other["base"] == base["share"]
    ratios = report_parts.ratios(shown)
    assert ratios is not None
    found = next(one.ratio for one in ratios.points if one.step == step.title)
    assert found.low is not None and found.high is not None
    assert other["low"] == pytest.approx(base["share"] * found.low, rel=1e-3)
    assert other["high"] == pytest.approx(base["share"] * found.high, rel=1e-3)
    assert other["low"] <= other["share"] <= other["high"]
    assert report_parts.bars(step)[1].text in other["words"]


def test_several_clients_are_several_lines_of_an_arm_in_one_panel() -> None:
    def line(arm: str, client: int) -> Line:
        series = Series(x_s=(1.0, 2.0, 3.0), y=(5.0, client, 7.0))
        return Line(arm=arm, block=1, series=series, spans=(), label=f"client {client}")

    lines = tuple(line(arm, client) for arm in ("a", "b") for client in range(4))
    made = Lines(logarithmic=False, scale=1, lines=lines)
    spec = seconds.spec(made, ("a", "b"))
    values = spec["data"]["values"]
    assert [one["label"] for one in values if one["what"] == "line"] == [
        f"client {client}" for _ in "ab" for client in range(4)
    ]
    assert len([one for one in values if one["what"] == "panel"]) == 2
    assert all(one["dots"] for one in values if one["what"] == "line")  # three points
    assert spec["spec"]["layer"][3]["encoding"]["detail"] == {"field": "label"}


@pytest.mark.long
def test_every_kind_of_chart_becomes_a_picture_that_names_itself(shown: Page) -> None:
    specs = chart.specs(shown)
    words = {
        "insert-benchmark-ratios": ("relative to pg17", "qr1000", "pg18"),
        "insert-benchmark-04-l-i2-throughput": ("l.i2: Rows", "pg17", "pg18"),
        "insert-benchmark-04-l-i2-insert-max-us": ("log scale", "block 2", "checkpoint", "pg18"),
    }
    for name, wanted in words.items():
        text = picture.svg(specs[name], shown.arms).decode()
        assert text.startswith("<svg") and shown.title in text and "#ffffff" in text
        assert "var(" not in text
        assert all(word in text for word in wanted)
        found = picture.png(specs[name], shown.arms, scale=1.0)
        assert found.startswith(b"\x89PNG") and len(found) > 5_000
