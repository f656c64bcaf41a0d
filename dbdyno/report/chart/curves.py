"""A figure against what a sweep varies, as a Vega-Lite specification: a line for each arm. Pure."""

import math
from collections.abc import Sequence

from dbdyno.model import Json
from dbdyno.parts.drawing import CurvePoint, Curves
from dbdyno.report.chart.lines import PANEL_WIDTH, SHORT_LABEL, legend, short

HEIGHT = 220
HEADROOM = 1.15  # of an interval that is drawn, by the greatest or the smallest figure
ROOM = 1.04  # above the greatest figure, so that its point is whole


def spec(chart: Curves, arms: Sequence[str]) -> Json:
    """Each arm's line over the swept values, behind it the band of its interval."""
    y: Json = {
        "type": "quantitative",
        "title": None,
        "scale": _scale(chart),
        "axis": {"tickCount": 5, "labelExpr": SHORT_LABEL},
    }
    shown = legend(arms, (point.arm for point in chart.points), symbolOpacity=1)
    lines: Json = {"x": _x(chart), "color": shown}
    band = {"type": "area", "opacity": 0.18, "clip": True}
    return {
        "data": {"values": [_datum(point, chart.scale) for point in chart.points]},
        "width": PANEL_WIDTH,
        "height": HEIGHT,
        "layer": [
            {
                "transform": [{"filter": "isValid(datum.low)"}],
                "mark": band,
                "encoding": {**lines, "y": {**y, "field": "low"}, "y2": {"field": "high"}},
            },
            {
                "mark": {"type": "line", "point": {"filled": True, "size": 40}, "clip": True},
                "encoding": {
                    **lines,
                    "y": {**y, "field": "value"},
                    "tooltip": [{"field": name} for name in ("arm", "x", "value", "low", "high")],
                },
            },
        ],
        "usermeta": {"kind": "curves", "columns": 1},
    }


def _x(chart: Curves) -> Json:
    """The swept values: numbers of clients double from one to the next, as far apart as that."""
    values = sorted({point.x for point in chart.points})
    logarithmic = chart.doubling and values[0] > 0
    return {
        "field": "x",
        "type": "quantitative",
        "title": chart.axis,
        "scale": {
            **({"type": "log", "base": 2} if logarithmic else {"type": "linear", "zero": False}),
            "nice": False,
            "domain": [values[0], values[-1]],
            "padding": 6,
        },
        "axis": {"values": values, "grid": True, "labelOverlap": "greedy", "format": ",~g"},
    }


def _scale(chart: Curves) -> Json:
    """A scale that holds every figure, and of intervals what is not much further away."""
    figures = [chart.scale * point.figure.value for point in chart.points]
    ends = [
        chart.scale * end
        for point in chart.points
        for end in (point.figure.low, point.figure.high)
        if end is not None and math.isfinite(end)
    ]
    least, most = min(figures), max(figures)
    high = short(min(max([most * ROOM, *ends]), most * HEADROOM))
    if chart.logarithmic:
        low = short(max(min([least / ROOM, *ends]), least / HEADROOM))
        return {"type": "log", "nice": False, "domain": [low, high]}
    return {"zero": True, "domain": [0, high]}


def _datum(point: CurvePoint, scale: float) -> Json:
    low, high = point.figure.low, point.figure.high
    return {
        "arm": point.arm,
        "x": point.x,
        "value": short(scale * point.figure.value),
        "low": None if low is None else short(scale * low),
        "high": None if high is None or math.isinf(high) else short(scale * high),
    }
