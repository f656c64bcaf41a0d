"""A quantity over time as a Vega-Lite specification: a row of panels for each arm. Pure.

All panels of a chart have one scale. `usermeta` says what the page and pictures need beside
Vega-Lite itself: how many panels stand side by side, and the two scales to switch between.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import numpy

from dbdyno.model import Json, Series, Span
from dbdyno.parts.drawing import Line, Lines, Stack
from dbdyno.report.chart.style import PANEL_GAP

POINTS_MAX = 2_000  # of one arm in one chart, over all its blocks
FULL_LINES_MAX = 4  # so many lines in a panel have as many points each as one by itself
PANEL_WIDTH = 300  # pixels, before the page sets it
PANEL_HEIGHT = 62
DOTS_MAX = 12  # so few points are drawn as dots as well: one alone makes no line
LOG_PADDING = 3  # pixels above the largest and below the smallest value
SHADED_MAX = 1_000  # so many runs' shades are kept
WHOLE_MAX = 2.0**63  # from which on a number is no 64-bit integer
STRIP_HEIGHT = 3  # pixels at a panel's foot, where autovacuum is shown

_ARRAYS = ("x", "x2", "y", "low", "high")

Values = numpy.ndarray[tuple[int], numpy.dtype[numpy.float64]]


# --- Data ------------------------------------------------------------------------------------


def thin(series: Series, points_max: int) -> tuple[Values, Values, Values, Values]:
    """At most `points_max` points: x, mean, smallest and largest of equal runs of points.

    Nothing extreme is lost: the smallest and largest of the result are those of the series.
    """
    x, y = numpy.asarray(series.x_s, dtype=float), numpy.asarray(series.y, dtype=float)
    run = _run_length(series, points_max)
    if run == 1:
        return x, y, y, y
    firsts = numpy.arange(0, len(x), run)
    lengths = numpy.minimum(run, len(x) - firsts)
    mean_x, mean_y = (numpy.add.reduceat(values, firsts) / lengths for values in (x, y))
    return mean_x, mean_y, numpy.minimum.reduceat(y, firsts), numpy.maximum.reduceat(y, firsts)


def _run_length(series: Series, points_max: int) -> int:
    return max(1, math.ceil(len(series.x_s) / points_max))


def numbers(chart: Lines, points_max: int) -> int:
    """How many numbers the lines of a chart take, from which follows what the page will weigh."""
    per_line = _per_line(chart, points_max)
    lengths = ((len(line.series.x_s), _run_length(line.series, per_line)) for line in chart.lines)
    return sum(math.ceil(count / run) * (4 if run > 1 else 2) for count, run in lengths)


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


def short(value: float) -> float:
    """Four significant digits: more than a chart can show, and few bytes."""
    return shortened([value])[0]


def shortened(values: Sequence[float] | Values) -> list[float]:
    """Values with four significant digits; whole numbers as integers, which have no `.0`."""
    exact = numpy.asarray(values, dtype=float)
    sizes = numpy.abs(exact)
    digits = 3 - numpy.floor(numpy.log10(numpy.where(sizes > 0, sizes, 1.0)))
    finer = 10.0 ** numpy.maximum(digits, 0)  # powers of ten are exact, their fractions are not
    coarser = 10.0 ** numpy.maximum(-digits, 0)
    rounded = numpy.round(exact * finer / coarser) * coarser / finer
    whole = rounded == numpy.trunc(rounded)
    if whole.all() and (numpy.abs(rounded) < WHOLE_MAX).all():
        return [*rounded.astype(numpy.int64).tolist()]
    made: list[float] = rounded.tolist()
    for place in numpy.flatnonzero(whole & numpy.isfinite(rounded)).tolist():
        made[place] = int(made[place])
    return made


def block_name(block: int) -> str:
    """A block's name, by which charts have their columns."""
    return f"block {block}"


def _datum(line: Line, what: str, **arrays: Sequence[float]) -> Json:
    """A panel's data of one kind; flatten needs every array, even an empty one."""
    made: Json = {"arm": line.arm, "block": block_name(line.block), "what": what}
    if line.label and what == "line":
        made["label"] = line.label
    if what == "line" and len(line.series.x_s) <= DOTS_MAX:
        made["dots"] = True
    return made | {name: list(arrays.get(name, ())) for name in _ARRAYS}


def _line_datum(line: Line, scale: float, points_max: int) -> Json:
    """One run's line as arrays, which the chart unfolds: a tenth of the bytes of rows."""
    x, mean, low, high = thin(line.series, points_max)
    drawn = {"x": x, "y": mean * scale}
    if len(x) < len(line.series.x_s):
        drawn |= {"low": low * scale, "high": high * scale}
    return _datum(line, "line", **_all_shortened(drawn))


def _all_shortened(arrays: Mapping[str, Sequence[float] | Values]) -> dict[str, list[float]]:
    """Arrays of one length, each shortened: one computation takes less than one for each."""
    values = shortened(numpy.concatenate([numpy.asarray(array) for array in arrays.values()]))
    length = len(values) // len(arrays)
    return {
        name: values[place * length : (place + 1) * length] for place, name in enumerate(arrays)
    }


def _span_data(line: Line) -> list[Json]:
    end_s = max(line.series.x_s) if line.spans else 0.0
    data: list[Json] = []
    for kind in ("checkpoint", "autovacuum"):
        if shaded := _shaded(tuple(line.spans), kind, end_s):
            data.append(_datum(line, kind, **shaded))
    return data


@lru_cache(maxsize=SHADED_MAX)
def _shaded(spans: tuple[Span, ...], kind: str, end_s: float) -> Mapping[str, Sequence[float]]:
    """The starts and ends of what a panel shades; all charts of a run shade the same."""
    merged = merge_spans(spans, kind, end_s)
    if not merged:
        return {}
    starts, ends = zip(*merged, strict=True)
    return _all_shortened({"x": starts, "x2": ends})


def _panel_data(chart: Lines, points_max: int) -> list[Json]:
    """Every arm has a panel for every block, also where there is nothing to draw."""
    first = {(line.arm, line.block): line for line in reversed(chart.lines)}
    arms = dict.fromkeys(line.arm for line in chart.lines)
    blocks = dict.fromkeys(line.block for line in chart.lines)
    data: list[Json] = []
    for arm in arms:
        for block in blocks:
            empty = Line(arm=arm, block=block, series=Series(x_s=(0.0,), y=(0.0,)), spans=())
            line = first.get((arm, block), empty)
            data.append(_datum(line, "panel", x=[0]))
            data += _span_data(line)
    per_line = _per_line(chart, points_max)
    return data + [_line_datum(line, chart.scale, per_line) for line in chart.lines]


def _per_line(chart: Lines, points_max: int) -> int:
    blocks = len({line.block for line in chart.lines})
    lines = _lines_in_a_panel(chart)
    return max(1, points_max * min(lines, FULL_LINES_MAX) // (blocks * lines))


def _lines_in_a_panel(chart: Lines) -> int:
    return len({line.label for line in chart.lines})


# --- Specification ---------------------------------------------------------------------------


def spec(chart: Lines, arms: Sequence[str], points_max: int = POINTS_MAX) -> Json:
    """A quantity over time: a row for each arm, a column for each block, one scale for all."""
    padded = {"type": "log", "nice": False, "padding": LOG_PADDING}
    axis = {"values": _ticks(chart), "format": ",~g"}
    scales = {"linear": _LINEAR, "log": {"scale": padded, "axis": axis}}
    scale = "log" if chart.logarithmic else "linear"
    first = min(line.block for line in chart.lines)
    layer = [*_spans(), *_lines(chart, arms, scales[scale]), *_names(arms, first)]
    return {
        "data": {"values": _panel_data(chart, points_max)},
        "transform": [{"flatten": list(_ARRAYS)}],
        "params": [
            {"name": "zoom", "value": None},
            {"name": "logarithmic", "value": chart.logarithmic},
        ],
        **panels(chart.lines, arms, layer, (PANEL_HEIGHT, 14), scale=scale, scales=scales),
    }


def panels(
    drawn: Iterable[Line | Stack],
    arms: Sequence[str],
    layer: Sequence[Json],
    heights: tuple[int, int],
    **looks: object,
) -> Json:
    """A row of panels for each arm, a column for each block; `heights`: of a panel and a gap."""
    places = {(each.arm, each.block) for each in drawn}
    blocks = sorted({block for _, block in places})
    row = {"field": "arm", "sort": [arm for arm in arms if any(arm == own for own, _ in places)]}
    column = {"field": "block", "sort": [block_name(block) for block in blocks]}
    headed = {"labels": len(blocks) > 1, "labelPadding": 1}
    height, gap = heights
    return {
        "facet": {
            "row": row | {"type": "nominal", "title": None, "header": {"labels": False}},
            "column": column | {"type": "nominal", "title": None, "header": headed},
        },
        "spacing": {"row": gap, "column": PANEL_GAP},
        "spec": {"width": PANEL_WIDTH, "height": height, "layer": layer},
        "usermeta": {"kind": "seconds", "columns": len(blocks), **looks},
    }


SHORT_LABEL = "format(datum.value, abs(datum.value) < 1000 ? '~g' : '~s')"  # 0.05, 800, 12.5k
_LINEAR: Json = {"scale": {"zero": True}, "axis": {"tickCount": 3, "labelExpr": SHORT_LABEL}}


_BETWEEN = (1, 1.5, 2, 3, 5, 7)


def _ticks(chart: Lines) -> list[float]:
    """Powers of ten within a logarithmic scale; with fewer than two of them, some between."""
    values = numpy.concatenate([numpy.asarray(line.series.y) for line in chart.lines])
    values = values[values > 0] * chart.scale
    if not values.size:
        return [1.0]
    low, high = float(values.min()), float(values.max())
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    tens = [10.0**power for power in powers if low <= 10.0**power <= high]
    if len(tens) > 1:
        return tens[:: math.ceil(len(tens) / 4)]
    finer = (first * 10.0**power for power in powers for first in _BETWEEN)
    return [tick for tick in finer if low <= tick <= high] or [low]


def color(arms: Sequence[str]) -> Json:
    """An arm's colour by its place among all arms, whichever of them a chart shows."""
    scale = {"domain": list(arms)}
    return {"field": "arm", "type": "nominal", "scale": scale, "legend": None}


def legend(arms: Sequence[str], drawn: Iterable[str], **look: object) -> Json:
    """The colours of arms, with a legend of those that are drawn."""
    there = set(drawn)
    shown = [arm for arm in arms if arm in there]
    return color(arms) | {"legend": {"title": None, "values": shown, **look}}


def time_axis() -> Json:
    """The seconds, all or, where the reader looks closer, those of the parameter `zoom`."""
    return {
        "field": "x",
        "type": "quantitative",
        "title": None,
        "axis": {"tickCount": 3, "tickMinStep": 1, "format": ",d"},
        "scale": {"nice": False, "domainRaw": {"expr": "zoom"}},
    }


def _only(what: str, *conditions: str) -> list[Json]:
    return [{"filter": " && ".join((f"datum.what == '{what}'", *conditions))}]


def _drawable(name: str) -> Json:
    value = f"datum.{name}"
    return {"calculate": f"logarithmic && {value} <= 0 ? null : {value}", "as": name}


def _spans() -> list[Json]:
    """Checkpoints over the full height, autovacuum as a strip at the foot."""
    times: Json = {"x": time_axis(), "x2": {"field": "x2"}}
    foot: Json = {"y": {"value": PANEL_HEIGHT - STRIP_HEIGHT}, "y2": {"value": PANEL_HEIGHT}}
    return [
        {
            "transform": _only(kind),
            "mark": {"type": "rect", "style": kind, "clip": True},
            "encoding": times | place,
        }
        for kind, place in (("checkpoint", {}), ("autovacuum", foot))
    ]


def _lines(chart: Lines, arms: Sequence[str], scale: Json) -> list[Json]:
    """The line, behind it the band of what it was thinned from, and dots where points are few.

    A logarithmic scale has no place for zero and below: there the line has a gap.
    """
    several = _lines_in_a_panel(chart) > 1
    encoding: Json = {"x": time_axis(), "color": color(arms), "detail": {"field": "label"}}
    low = {"field": "low", "type": "quantitative", "title": None}
    y = {"field": "y", "type": "quantitative", "title": None} | scale
    band = {
        "transform": [*_only("line", "isValid(datum.low)"), _drawable("low"), _drawable("high")],
        "mark": {"type": "area", "opacity": 0.12 if several else 0.3, "clip": True},
        "encoding": encoding | {"y": low, "y2": {"field": "high"}},
    }
    line = {
        "transform": [*_only("line"), _drawable("y")],
        "mark": {"type": "line", "strokeWidth": 1, "opacity": 0.65 if several else 1, "clip": True},
        "encoding": encoding | {"y": y},
    }
    dots = {
        "transform": [*_only("line", "datum.dots"), _drawable("y")],
        "mark": {"type": "circle", "size": 12, "opacity": 1, "clip": True},
        "encoding": encoding | {"y": y},
    }
    return [band, line, dots]


def _names(arms: Sequence[str], first_block: int) -> list[Json]:
    """The arm's name above its first panel, beside its colour."""
    first = _only("panel", f"datum.block == '{block_name(first_block)}'")
    above = {"y": {"value": -8}}
    return [
        {"transform": first, "mark": one["mark"], "encoding": one["encoding"] | above}
        for one in named(arms)
    ]


def named(arms: Sequence[str], shift: float = 0) -> list[Json]:
    """An arm's colour and its name in ink, since not every colour is dark enough for words."""
    square = {"type": "square", "filled": True, "opacity": 1, "size": 70, "yOffset": shift}
    text = {"type": "text", "style": "name", "align": "left", "baseline": "middle"}
    return [
        {"mark": square, "encoding": {"x": {"value": 4}, "color": color(arms)}},
        {
            "mark": text | {"yOffset": shift},
            "encoding": {"x": {"value": 13}, "text": {"field": "arm"}},
        },
    ]
