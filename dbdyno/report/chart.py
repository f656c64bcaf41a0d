"""Charts as Vega-Lite specifications, made with Altair.

A specification holds its own data and no colours: an arm's colour is its place in the page's
list of arms, which the format that draws it turns into a colour (`config.range.category`).
`usermeta.columns` says how many panels stand side by side, so that the page can set their width.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dbdyno.model import Bound, Json, Series, Span
from dbdyno.report.view import Line, RatioChart, RatioPoint, SecondsChart

if TYPE_CHECKING:
    import altair

POINTS_MAX = 2_000  # of one arm in one chart, over all its blocks
PANEL_WIDTH = 300  # pixels, before the page sets it
PANEL_HEIGHT = 62
ROW_HEIGHT = 17  # of a step in the chart of ratios, with one arm
ARM_HEIGHT = 8  # more for each further arm
STRIP_HEIGHT = 3  # pixels at a panel's foot, where autovacuum is shown

_ARRAYS = ("x", "x2", "y", "low", "high")

Thinned = tuple[list[float], list[float], list[float], list[float]]


# --- Data ------------------------------------------------------------------------------------


def thin(series: Series, points_max: int) -> Thinned:
    """At most `points_max` points: x, mean, smallest and largest of equal runs of points.

    Nothing extreme is lost: the smallest and largest of the result are those of the series.
    """
    count = len(series.x_s)
    size = max(1, math.ceil(count / points_max))
    x, mean, low, high = [], [], [], []
    for first in range(0, count, size):
        part = series.y[first : first + size]
        times = series.x_s[first : first + size]
        x.append(math.fsum(times) / len(times))
        mean.append(math.fsum(part) / len(part))
        low.append(min(part))
        high.append(max(part))
    return x, mean, low, high


def merge_spans(spans: Iterable[Span], kind: str, end_s: float) -> list[tuple[float, float]]:
    """The times in which anything of this kind ran, within 0 and `end_s`, without overlaps."""
    cut = sorted(
        (max(0.0, span.start_s), min(end_s, span.end_s)) for span in spans if span.kind == kind
    )
    merged: list[tuple[float, float]] = []
    for start, end in cut:
        if end <= start:
            continue
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def _short(value: float) -> float:
    """Four significant digits: more than a chart can show, and few bytes."""
    short = float(f"{value:.4g}")
    return int(short) if short.is_integer() else short


def _block_name(block: int) -> str:
    return f"block {block}"


def _datum(arm: str, block: int, what: str, **arrays: Sequence[float | None]) -> Json:
    """What a panel shows of one kind; flatten wants every array, be it empty."""
    return {"arm": arm, "block": _block_name(block), "what": what} | {
        name: list(arrays.get(name, ())) for name in _ARRAYS
    }


def _line_datum(line: Line, chart: SecondsChart, points_max: int) -> Json:
    """One run's line as arrays, which the chart unfolds: a tenth of the bytes of rows."""
    x, mean, low, high = thin(line.series, points_max)

    def scaled(values: Sequence[float]) -> list[float | None]:
        made = [_short(value * chart.scale) for value in values]
        return [None if chart.logarithmic and value <= 0 else value for value in made]

    thinned = len(x) < len(line.series.x_s)
    return _datum(
        line.arm,
        line.block,
        "line",
        x=[_short(value) for value in x],
        y=scaled(mean),
        low=scaled(low) if thinned else (),
        high=scaled(high) if thinned else (),
    )


def _span_data(line: Line, kind: str) -> list[Json]:
    merged = merge_spans(line.spans, kind, max(line.series.x_s))
    if not merged:
        return []
    starts, ends = zip(*merged, strict=True)
    return [
        _datum(
            line.arm,
            line.block,
            kind,
            x=[_short(start) for start in starts],
            x2=[_short(end) for end in ends],
        )
    ]


def _panel_data(chart: SecondsChart, points_max: int) -> list[Json]:
    """Every arm has a panel for every block, also where there is nothing to draw."""
    arms = dict.fromkeys(line.arm for line in chart.lines)
    blocks = dict.fromkeys(line.block for line in chart.lines)
    data = [_datum(arm, block, "panel", x=[0]) for arm in arms for block in blocks]
    for line in chart.lines:
        data.append(_line_datum(line, chart, points_max))
        for kind in ("checkpoint", "autovacuum"):
            data += _span_data(line, kind)
    return data


# --- Specifications --------------------------------------------------------------------------


def seconds_spec(chart: SecondsChart, arms: Sequence[str], points_max: int = POINTS_MAX) -> Json:
    """A quantity over time: a row for each arm, a column for each block, one scale for all."""
    shown = {line.arm for line in chart.lines}
    blocks = tuple(sorted({line.block for line in chart.lines}))
    rows = tuple(arm for arm in arms if arm in shown)
    layout = _panels(tuple(arms), rows, blocks, _ticks(chart) if chart.logarithmic else ())
    per_line = max(1, points_max // len(blocks))
    return layout | {"data": {"values": _panel_data(chart, per_line)}}


@functools.cache
def _panels(
    arms: tuple[str, ...], rows: tuple[str, ...], blocks: tuple[int, ...], ticks: tuple[float, ...]
) -> Json:
    """The panels without data: the same for many charts, and Altair takes 0.2 s for each."""
    import altair as alt

    spec = (
        alt.layer(*_spans(), *_lines(arms, ticks), _names(arms, blocks))
        .properties(width=PANEL_WIDTH, height=PANEL_HEIGHT)
        .facet(
            data=alt.NamedData(name="values"),
            row=alt.Row("arm:N", sort=list(rows), title=None, header=alt.Header(labels=False)),
            column=alt.Column(
                "block:N",
                sort=[_block_name(block) for block in blocks],
                title=None,
                header=alt.Header(labels=len(blocks) > 1, labelPadding=1),
            ),
            spacing={"row": 14, "column": 8},
        )
        .transform_flatten(list(_ARRAYS))
    )
    return _plain(spec, len(blocks))


def _time() -> altair.X:
    import altair as alt

    axis = alt.Axis(tickCount=3, format=",d")
    return alt.X("x:Q", title=None, axis=axis, scale=alt.Scale(nice=False))


def _color(arms: Sequence[str]) -> altair.Color:
    """An arm's colour by its place among all arms, whichever of them a chart shows."""
    import altair as alt

    return alt.Color("arm:N", scale=alt.Scale(domain=list(arms)), legend=None)


def _spans() -> list[altair.Chart]:
    """Checkpoints over the full height, autovacuum as a strip at the foot."""
    import altair as alt

    checkpoint = (
        alt.Chart()
        .transform_filter("datum.what == 'checkpoint'")
        .mark_rect(style="checkpoint")
        .encode(x=_time(), x2="x2:Q")
    )
    autovacuum = (
        alt.Chart()
        .transform_filter("datum.what == 'autovacuum'")
        .mark_rect(style="autovacuum")
        .encode(
            x=_time(),
            x2="x2:Q",
            y=alt.value(PANEL_HEIGHT - STRIP_HEIGHT),
            y2=alt.value(PANEL_HEIGHT),
        )
    )
    return [checkpoint, autovacuum]


def _ticks(chart: SecondsChart) -> tuple[float, ...]:
    """Powers of ten within a logarithmic scale; with fewer than two of them, 1, 2 and 5 as well."""
    values = [y * chart.scale for line in chart.lines for y in line.series.y if y > 0]
    if not values:
        return (1.0,)
    low, high = min(values), max(values)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    tens = tuple(10.0**power for power in powers if low <= 10.0**power <= high)
    if len(tens) > 1:
        return tens[:: math.ceil(len(tens) / 4)]
    finer = (first * 10.0**power for power in powers for first in (1, 2, 5))
    return tuple(tick for tick in finer if low <= tick <= high) or (low,)


def _lines(arms: Sequence[str], ticks: tuple[float, ...]) -> list[altair.Chart]:
    """The line, and behind it the band of what it was thinned from; with `ticks` logarithmic."""
    import altair as alt

    scale = alt.Scale(type="log", nice=False) if ticks else alt.Scale(zero=True)
    axis = alt.Axis(values=ticks, format=",~g") if ticks else alt.Axis(tickCount=3, format="~s")
    lines = alt.Chart().transform_filter("datum.what == 'line'")
    band = (
        lines.transform_filter("isValid(datum.low)")
        .mark_area(opacity=0.3)
        .encode(x=_time(), y=alt.Y("low:Q", title=None), y2="high:Q", color=_color(arms))
    )
    y = alt.Y("y:Q", title=None, scale=scale, axis=axis)
    return [band, lines.mark_line(strokeWidth=1).encode(x=_time(), y=y, color=_color(arms))]


def _names(arms: Sequence[str], blocks: Sequence[int]) -> altair.Chart:
    """The arm's name above its first panel."""
    import altair as alt

    names: altair.Chart = (
        alt.Chart()
        .transform_filter("datum.what == 'panel'")
        .transform_filter(f"datum.block == '{_block_name(min(blocks))}'")
        .mark_text(align="left", baseline="bottom", fontWeight=600, fontSize=11)
        .encode(x=alt.value(0), y=alt.value(-2), text="arm:N", color=_color(arms))
    )
    return names


def ratio_spec(chart: RatioChart, arms: Sequence[str]) -> Json:
    """Ratios to the base by step, with their intervals, on a scale where 2 and 1/2 are as far."""
    import altair as alt

    shown = [arm for arm in arms if any(point.arm == arm for point in chart.points)]
    domain = _reach(chart)
    x = alt.X("ratio:Q", title=None, scale=alt.Scale(type="log", nice=False, domain=domain))
    y = alt.Y("step:N", sort=list(chart.steps), title=None, axis=alt.Axis(grid=True))
    offset = alt.YOffset("arm:N", sort=shown, scale=alt.Scale(paddingOuter=0.5))
    tips = [alt.Tooltip(f"{name}:{kind}") for name, kind in _RATIO_FIELDS]
    one = alt.Chart().mark_rule(style="base").encode(x=alt.datum(1))
    points = alt.Chart().encode(y=y, yOffset=offset, color=_color(arms), tooltip=tips)
    intervals = (
        points.transform_filter("isValid(datum.low)")
        .mark_rule(strokeWidth=2, opacity=0.55, clip=True)
        .encode(x=alt.X("low:Q", title=None), x2="high:Q")
    )
    shape = alt.Shape(
        "bound:N",
        scale=alt.Scale(domain=list(_BOUND_SHAPES), range=list(_BOUND_SHAPES.values())),
        legend=None,
    )
    dots = points.mark_point(filled=True, size=48, opacity=1).encode(x=x, shape=shape)
    height = len(chart.steps) * (ROW_HEIGHT + ARM_HEIGHT * (len(shown) - 1))
    spec = alt.layer(one, intervals, dots, data=alt.NamedData(name="values")).properties(
        width=PANEL_WIDTH, height=height
    )
    return _plain(spec, 1) | {"data": {"values": [_ratio_datum(point) for point in chart.points]}}


def _ratio_datum(point: RatioPoint) -> Json:
    ratio = point.ratio
    return {
        "arm": point.arm,
        "step": point.step,
        "ratio": _short(ratio.value),
        "low": None if ratio.low is None else _short(ratio.low),
        "high": None if ratio.high is None else _short(ratio.high),
        "bound": point.bound,
    }


_RATIO_FIELDS = (
    ("arm", "N"), ("step", "N"), ("ratio", "Q"), ("low", "Q"), ("high", "Q"), ("bound", "N")
)  # fmt: skip
_BOUND_SHAPES: Mapping[Bound, str] = {  # a triangle points to where the true ratio lies
    "exact": "circle",
    "at least": "triangle-right",
    "at most": "triangle-left",
    "unknown": "cross",
}
RATIO_REACH_MAX = 4.0  # an interval that reaches farther is cut off at the chart's edge


def _reach(chart: RatioChart) -> list[float]:
    """A domain around 1, as far down as up, that holds every ratio."""
    ends = [
        abs(math.log(end))
        for point in chart.points
        for end in (point.ratio.value, point.ratio.low, point.ratio.high)
        if end is not None and end > 0
    ]
    values = [abs(math.log(point.ratio.value)) for point in chart.points]
    far = max(math.log(1.1), max(values), min(max(ends), math.log(RATIO_REACH_MAX))) * 1.05
    return [round(math.exp(-far), 4), round(math.exp(far), 4)]


def _plain(spec: Any, columns: int) -> Json:
    """The specification as plain values, without Altair's own look and without data.

    Data never goes through Altair, which copies and checks all that it holds.
    """
    made: Json = spec.to_dict(validate=False)
    for key in ("config", "$schema", "data"):
        made.pop(key, None)
    made["usermeta"] = {"columns": columns}
    return made
