"""Charts of one number for each arm, as Vega-Lite specifications: throughput, and ratios. Pure."""

import math
from collections.abc import Mapping, Sequence

from dbdyno.model import Bound, Json
from dbdyno.parts.drawing import Bar, Bars, RatioPoint, Ratios, ScaleUp
from dbdyno.report.chart.lines import PANEL_WIDTH, color, legend, named, short

ROW_HEIGHT = 17  # of a step in the chart of ratios, with one arm
ARM_HEIGHT = 8  # more for each further arm
BAR_PITCH = 40  # pixels from one arm's bar to the next, its words above it
RATIO_REACH_MAX = 4.0  # an interval that reaches farther is cut off at the chart's edge

_BOUND_SHAPES: Mapping[Bound, str] = {  # a triangle points to where the true ratio lies
    "exact": "circle",
    "at least": "triangle-right",
    "at most": "triangle-left",
    "unknown": "cross",
}


# --- Throughput ------------------------------------------------------------------------------


def throughput(chart: Bars, base: str, arms: Sequence[str]) -> Json:
    """Throughput of a step from zero: a bar for the mean, a line for each block, the base marked.

    The interval is that of the ratio to the base, drawn from the base's mean: where it holds the
    base's mark, there may be no difference.
    """
    own = next((bar.share for bar in chart.bars if bar.arm == base), None)
    place = {
        "field": "arm",
        "type": "nominal",
        "sort": [bar.arm for bar in chart.bars],
        "axis": None,
        "scale": {"padding": 0},
    }
    return {
        "data": {"values": [_bar_datum(bar, own) for bar in chart.bars]},
        "width": PANEL_WIDTH,
        "height": {"step": BAR_PITCH},
        "view": {"stroke": None},
        "encoding": {"y": place},
        "layer": [*_bars(arms), *_comparison(), *_words(arms)],
        "usermeta": {"kind": "throughput", "columns": 1},
    }


def _bar_datum(bar: Bar, base: float | None) -> Json:
    made: Json = {
        "arm": bar.arm,
        "words": " · ".join(word for word in (bar.text, bar.detail) if word),
        "share": None if bar.share is None else short(bar.share),
        "blocks": [short(share) for share in bar.blocks],
        "faint": bar.tone == "gray",
    }
    if bar.ratio is not None and base is not None:
        made["base"] = short(base)
        if bar.ratio.low is not None and bar.ratio.high is not None:
            made["low"] = short(base * bar.ratio.low)
            made["high"] = short(base * bar.ratio.high)
    return made


BAR_HEIGHT = 14  # pixels, in the lower part of an arm's place
_BAR_SHIFT = 7
_WORDS_SHIFT = -9
_SHARE_MAX = 1.08  # of the largest number, so that its interval has room


def _share(field: str) -> Json:
    scale = {"domain": [0, _SHARE_MAX], "nice": False}
    return {"field": field, "type": "quantitative", "axis": None, "scale": scale}


def _tick(height: float, **look: object) -> Json:
    return {"type": "tick", "orient": "vertical", "size": height, "yOffset": _BAR_SHIFT, **look}


def _bars(arms: Sequence[str]) -> list[Json]:
    """The means, and an upright line for each block."""
    faint = {"condition": {"test": "datum.faint", "value": 0.22}, "value": 0.5}
    return [
        {
            "mark": {"type": "bar", "height": BAR_HEIGHT, "yOffset": _BAR_SHIFT},
            "encoding": {"x": _share("share"), "color": color(arms), "opacity": faint},
        },
        {
            "transform": [{"flatten": ["blocks"], "as": ["block"]}],
            "mark": _tick(BAR_HEIGHT, thickness=2, opacity=1),
            "encoding": {"x": _share("block"), "color": color(arms)},
        },
    ]


def _comparison() -> list[Json]:
    """The base's mean beside each other arm, and the interval of the ratio to it."""
    return [
        {
            "transform": [{"filter": "isValid(datum.base)"}],
            "mark": _tick(BAR_HEIGHT + 4, thickness=1, style="base"),
            "encoding": {"x": _share("base")},
        },
        {
            "transform": [{"filter": "isValid(datum.low)"}],
            "mark": {"type": "rule", "style": "interval", "yOffset": _BAR_SHIFT, "clip": True},
            "encoding": {"x": _share("low"), "x2": {"field": "high"}},
        },
    ]


def _words(arms: Sequence[str]) -> list[Json]:
    """The arm above its bar, and at the other end its numbers."""
    line = {"type": "text", "yOffset": _WORDS_SHIFT, "baseline": "middle"}
    numbers = {"text": {"field": "words"}, "x": {"value": "width"}}
    ours = {"mark": line | {"align": "right", "style": "words"}, "encoding": numbers}
    return [*named(arms, _WORDS_SHIFT), ours]


# --- Ratios ----------------------------------------------------------------------------------


def ratios(chart: Ratios, arms: Sequence[str]) -> Json:
    """Ratios to the base by step, with their intervals, on a scale where 2 and 1/2 are as far."""
    shown = [arm for arm in arms if any(point.arm == arm for point in chart.points)]
    place: Json = {"field": "step", "type": "nominal", "sort": list(chart.steps), "title": None}
    place["axis"] = {"grid": True}
    offset = {"field": "arm", "type": "nominal", "sort": shown, "scale": {"paddingOuter": 0.5}}
    colors = legend(arms, shown)
    one = {"mark": {"type": "rule", "style": "base"}, "encoding": {"x": {"datum": 1}}}
    return {
        "data": {"values": [_ratio_datum(point) for point in chart.points]},
        "width": PANEL_WIDTH,
        "height": len(chart.steps) * (ROW_HEIGHT + ARM_HEIGHT * (len(shown) - 1)),
        "layer": [one, *_points(chart, {"y": place, "yOffset": offset, "color": colors})],
        "usermeta": {"kind": "ratios", "columns": 1},
    }


def _points(chart: Ratios, encoding: Json) -> list[Json]:
    """Intervals, and the ratios on top of them."""
    scale = {"type": "log", "nice": False, "domain": _reach(chart)}
    shapes = {"domain": list(_BOUND_SHAPES), "range": list(_BOUND_SHAPES.values())}
    x = {"type": "quantitative", "title": None}
    shape = {"field": "bound", "type": "nominal", "scale": shapes, "legend": None}
    encoding = encoding | {"tooltip": [{"field": name} for name in _RATIO_FIELDS]}
    return [
        {
            "transform": [{"filter": "isValid(datum.low)"}],
            "mark": {"type": "rule", "strokeWidth": 2, "opacity": 0.55, "clip": True},
            "encoding": encoding | {"x": x | {"field": "low"}, "x2": {"field": "high"}},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 48, "opacity": 1},
            "encoding": encoding | {"x": x | {"field": "ratio", "scale": scale}, "shape": shape},
        },
    ]


_RATIO_FIELDS = ("arm", "step", "ratio", "low", "high", "bound")


def _ratio_datum(point: RatioPoint) -> Json:
    ratio = point.ratio
    return {
        "arm": point.arm,
        "step": point.step,
        "ratio": short(ratio.value),
        "low": None if ratio.low is None else short(ratio.low),
        "high": None if ratio.high is None else short(ratio.high),
        "bound": point.bound,
    }


def _reach(chart: Ratios) -> list[float]:
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


# --- Scale-up --------------------------------------------------------------------------------


def scaling(chart: ScaleUp, arms: Sequence[str]) -> Json:
    """Throughput by that with the fewest clients, over the clients, beside the ideal line.

    Both scales are logarithmic, so that the ideal is straight, and as many times is as far.
    """
    first, ends = chart.clients[0], [chart.clients[0], chart.clients[-1]]
    ideals = [{"what": "ideal", "clients": end, "ratio": end / first} for end in ends]
    x: Json = {
        "field": "clients",
        "type": "quantitative",
        "title": "clients",
        "scale": {"type": "log", "base": 2, "nice": False, "domain": ends},
        "axis": {"values": list(chart.clients), "grid": True, "labelOverlap": "greedy"},
    }
    y: Json = {
        "field": "ratio",
        "type": "quantitative",
        "title": None,
        "scale": {"type": "log", "base": 2, "nice": False},
        "axis": {"values": [clients / first for clients in chart.clients]},
    }
    lines: Json = {"x": x, "y": y, "color": legend(arms, (point.arm for point in chart.points))}
    ideal = {"type": "line", "strokeDash": [4, 4], "style": "base"}
    return {
        "data": {"values": [*ideals, *_scale_data(chart)]},
        "width": PANEL_WIDTH,
        "height": SCALE_HEIGHT,
        "layer": [
            {
                "transform": [{"filter": "datum.what === 'ideal'"}],
                "mark": ideal,
                "encoding": {"x": x, "y": y},
            },
            {
                "transform": [{"filter": "datum.what === 'arm' && isValid(datum.low)"}],
                "mark": {"type": "rule", "strokeWidth": 2, "opacity": 0.55},
                "encoding": {**lines, "y": {**y, "field": "low"}, "y2": {"field": "high"}},
            },
            {
                "transform": [{"filter": "datum.what === 'arm'"}],
                "mark": {"type": "line", "point": {"filled": True, "size": 40}},
                "encoding": {**lines, "tooltip": [{"field": name} for name in _SCALE_FIELDS]},
            },
        ],
        "usermeta": {"kind": "scaling", "columns": 1},
    }


SCALE_HEIGHT = 260
_SCALE_FIELDS = ("arm", "clients", "ratio", "low", "high")


def _scale_data(chart: ScaleUp) -> list[Json]:
    """Each arm from its first point, which is 1 by definition."""
    known = dict.fromkeys(point.arm for point in chart.points)
    first: list[Json] = [{"arm": arm, "clients": chart.clients[0], "ratio": 1.0} for arm in known]
    others = [
        {
            "arm": point.arm,
            "clients": point.x,
            "ratio": short(point.figure.value),
            "low": None if point.figure.low is None else short(point.figure.low),
            "high": None if point.figure.high is None else short(point.figure.high),
        }
        for point in chart.points
    ]
    return [{**one, "what": "arm"} for one in (*first, *others)]
