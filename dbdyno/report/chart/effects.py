"""Changes of an arm in all steps as a Vega-Lite specification: for pictures beside a page. Pure."""

from dbdyno.model import Json
from dbdyno.parts.drawing import ArmEffect, Effects
from dbdyno.report.chart.lines import PANEL_WIDTH, short

ROW_HEIGHT = 24
COLORS = {"faster": "#15803d", "slower": "#c92a2a", "failed": "#c92a2a", "alike": "#5a6068"}
"""Of what is decided; what is not is lighter."""
OPEN = "#9aa0a8"


def spec(chart: Effects) -> Json:
    """A row for each step: its word beside its name, dot and interval in the word's colour."""
    scale = {"type": "log", "nice": False, "domain": [short(1 / chart.reach), short(chart.reach)]}
    x: Json = {"type": "quantitative", "title": None, "scale": scale, "axis": {"tickCount": 5}}
    y: Json = {"field": "step", "type": "nominal", "sort": None, "title": None}
    color = {"field": "color", "type": "nominal", "scale": None}
    margin = {"x": {"datum": 1 / (1 + chart.margin)}, "x2": {"datum": 1 + chart.margin}}
    return {
        "data": {"values": [_datum(effect) for effect in chart.effects]},
        "width": PANEL_WIDTH,
        "height": ROW_HEIGHT * len(chart.effects),
        "layer": [
            {"mark": {"type": "rect", "color": "#eceef1"}, "encoding": margin},
            {"mark": {"type": "rule", "style": "base"}, "encoding": {"x": {"datum": 1}}},
            {
                "mark": {"type": "rule", "strokeWidth": 4, "clip": True},
                "encoding": {"y": y, "color": color, "x": x | {"field": "low"}}
                | {"x2": {"field": "high"}},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 90, "opacity": 1},
                "encoding": {"y": y, "color": color, "x": x | {"field": "speed"}},
            },
        ],
        "usermeta": {"kind": "effects", "columns": 1},
    }


def _datum(effect: ArmEffect) -> Json:
    speed = effect.speed
    ends = () if speed is None else (speed.value, speed.low, speed.high)
    return {
        "step": f"{effect.step}: {effect.word}",
        "color": COLORS.get(effect.tone, OPEN),
        **{
            name: short(end)
            for name, end in zip(("speed", "low", "high"), ends, strict=False)
            if end is not None
        },
    }
