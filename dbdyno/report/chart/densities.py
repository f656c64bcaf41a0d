"""Service times of arms over each other, as a Vega-Lite specification. Pure."""

from collections.abc import Sequence

from dbdyno.model import Json
from dbdyno.parts.drawing import Densities
from dbdyno.report.chart.lines import PANEL_WIDTH, legend, short

HEIGHT = 160


def spec(chart: Densities, arms: Sequence[str]) -> Json:
    """Each arm's line over the logarithm of time, filled where operations are compared."""
    times = [point.us for point in chart.points]
    encoding: Json = {
        "x": {
            "field": "us",
            "type": "quantitative",
            "title": None,
            "scale": {"type": "log", "nice": False, "domain": [min(times), max(times)]},
            "axis": {"tickCount": 6, "format": ",~g", "grid": False},
        },
        "y": {
            "field": "share",
            "type": "quantitative",
            "stack": None,
            "title": None,
            "axis": {"tickCount": 3, "format": "~g"},
        },
        "color": legend(arms, (point.arm for point in chart.points), symbolOpacity=1),
    }
    return {
        "data": {
            "values": [
                {
                    "arm": point.arm,
                    "us": short(point.us),
                    "share": short(100 * point.share),
                    "compared": point.compared,
                }
                for point in chart.points
            ]
        },
        "width": PANEL_WIDTH,
        "height": HEIGHT,
        "encoding": encoding,
        "layer": [
            {
                "transform": [{"filter": "datum.compared"}],
                "mark": {"type": "area", "opacity": 0.25},
            },
            {"mark": {"type": "line", "strokeWidth": 1.5}},
        ],
        "usermeta": {"kind": "densities", "columns": 1},
    }
