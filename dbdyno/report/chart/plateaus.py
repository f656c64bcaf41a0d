"""A figure over many results as a Vega-Lite specification: dots, plateaus, change points. Pure."""

import json
from collections.abc import Sequence

from dbdyno.model import Json
from dbdyno.parts.drawing import Dot, PlateauLine, Plateaus
from dbdyno.report.chart.lines import PANEL_WIDTH, SHORT_LABEL, color, short

HEIGHT = 260
ROOM_SHARE = 0.08  # of the reach of all figures, above and below
REACH_MIN = 0.02  # of the greatest figure: noise of less fills no chart
PADDING = 14  # pixels beside the first and the last dot
DATE = "%Y-%m-%d"
TIME = "%m-%d %H:%M"
DAY_MS = 86_400_000
DAYS_FOR_DATES_MIN = 6
"""Results of fewer days are marked by their time, too."""


def spec(chart: Plateaus, arms: Sequence[str]) -> Json:
    """A dot for each result, the range of its blocks behind it, a line for each plateau."""
    shown = [arm for arm in arms if any(dot.arm == arm for dot in chart.dots)]
    several = len(shown) > 1
    legend = {"title": None, "values": shown, "symbolOpacity": 1, "columns": 3} if several else None
    x, y = _x(chart), _y(chart)
    own = color(arms) | {"legend": legend}
    return {
        "data": {
            "values": [
                *[_dot(dot, chart.scale) for dot in chart.dots],
                *[_plateau(plateau, chart.scale) for plateau in chart.plateaus],
                *[{"what": "change", "x": x} for x in chart.changes],
            ]
        },
        "width": PANEL_WIDTH,
        "height": HEIGHT,
        "layer": [
            {
                "transform": _only("change"),
                "mark": {"type": "rule", "style": "base", "strokeDash": [3, 3]},
                "encoding": {"x": x},
            },
            *_plateau_marks(x, y, own),
            {
                "transform": _only("dot"),
                "mark": {"type": "rule", "opacity": 0.45, "clip": True},
                "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}}
                | {"color": own},
            },
            {
                "transform": _only("dot"),
                "mark": {"type": "circle", "size": 46, "opacity": 1, "clip": True},
                "encoding": {"x": x, "y": {**y, "field": "y"}, "color": own}
                | {
                    "tooltip": [
                        {"field": name}
                        for name in dict.fromkeys(name for dot in chart.dots for name in dot.shown)
                    ]
                },
            },
        ],
        "usermeta": {"kind": "curves", "columns": 1},
    }


def _plateau_marks(x: Json, y: Json, own: Json) -> list[Json]:
    """The means: in their arm's colour, or in ink where they are of several arms."""
    line = {"type": "rule", "strokeWidth": 5, "strokeCap": "round", "clip": True}
    ends = {"x": x, "x2": {"field": "x2"}, "y": {**y, "field": "y"}}
    return [
        {
            "transform": [*_only("plateau"), {"filter": "isValid(datum.arm)"}],
            "mark": line | {"opacity": 0.35},
            "encoding": ends | {"color": own},
        },
        {
            "transform": [*_only("plateau"), {"filter": "!isValid(datum.arm)"}],
            "mark": line | {"style": "base", "opacity": 0.35, "strokeWidth": 5},
            "encoding": ends,
        },
    ]


def _only(what: str) -> list[Json]:
    return [{"filter": f"datum.what == '{what}'"}]


def _x(chart: Plateaus) -> Json:
    """Time, or places that are marked where a new name begins."""
    if not chart.marks:
        times = [dot.x for dot in chart.dots]
        days = max(times) - min(times) >= DAYS_FOR_DATES_MIN * DAY_MS
        return {
            "field": "x",
            "type": "temporal",
            "title": None,
            "scale": {"type": "utc", "nice": False, "padding": PADDING},
            "axis": {"format": DATE if days else TIME, "labelOverlap": "greedy", "tickCount": 6},
        }
    names = {f"{place:g}": name for place, name in chart.marks.items()}
    return {
        "field": "x",
        "type": "quantitative",
        "title": None,
        "scale": {"nice": False, "zero": False, "padding": PADDING},
        "axis": {
            "values": list(chart.marks),
            "labelExpr": f"({json.dumps(names)})[datum.value]",  # Vega reads JSON's strings
            "labelAlign": "left",
            "labelOverlap": "greedy",
            "grid": True,
        },
    }


def _y(chart: Plateaus) -> Json:
    """A scale that holds all figures; not from zero, where a change of some percent is no line."""
    figures = [chart.scale * dot.y for dot in chart.dots]
    low, high = min(figures), max(figures)
    room = max(ROOM_SHARE * (high - low), REACH_MIN * high / 2)
    domain = [short(max(0.0, low - room)), short(high + room)]
    return {
        "type": "quantitative",
        "title": None,
        "scale": {"zero": False, "nice": False, "domain": domain},
        "axis": {"tickCount": 5, "labelExpr": SHORT_LABEL},
    }


def _dot(dot: Dot, scale: float) -> Json:
    figures = {name: short(scale * getattr(dot, name)) for name in ("y", "low", "high")}
    return {"what": "dot", "arm": dot.arm, "x": dot.x, **figures, **dot.shown}


def _plateau(one: PlateauLine, scale: float) -> Json:
    own = {} if one.arm is None else {"arm": one.arm}
    return {"what": "plateau", **own, "x": one.x, "x2": one.x2, "y": short(scale * one.y)}
