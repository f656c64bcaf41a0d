"""What sessions did over time as a Vega-Lite specification: layers that add up, by run. Pure.

A kind has its colour by its place among all kinds (`look`), whichever of them a chart shows.
"""

from collections.abc import Mapping, Sequence

from dbdyno.findings.waits.facts import KINDS, kind_place
from dbdyno.model import Json, Series
from dbdyno.parts.drawing import Layers, Stack
from dbdyno.report.chart import lines

PANEL_HEIGHT = 84
LEGEND_COLUMNS = 4  # so many fit beside each other on a telephone

OTHER = "other"


def numbers(chart: Layers, points_max: int) -> int:
    """How many numbers the layers of a chart take, from which follows what the page will weigh."""
    points = _points(chart, points_max)
    longest = (max(len(layer.x_s) for layer in stack.layers.values()) for stack in chart.stacks)
    return sum(min(points, length) for length in longest) * (1 + len(chart.kinds))


def _points(chart: Layers, points_max: int) -> int:
    """The points of a panel, so that an arm's layers take what a line of `points_max` takes."""
    blocks = len({stack.block for stack in chart.stacks})
    return max(1, 2 * points_max // (blocks * (1 + len(chart.kinds))))


def spec(chart: Layers, arms: Sequence[str], points_max: int = lines.POINTS_MAX) -> Json:
    """Sessions by kind over time: a row for each arm, a column for each block, one scale."""
    points = _points(chart, points_max)
    layer = [_layers(chart.kinds), _names(min(stack.block for stack in chart.stacks))]
    kinds = [[kind, kind_place(kind)] for kind in chart.kinds]
    return {
        "data": {"values": [_datum(stack, chart.kinds, points) for stack in chart.stacks]},
        "params": [{"name": "zoom", "value": None}],
        **lines.panels(chart.stacks, arms, layer, (PANEL_HEIGHT, 16), stacked=kinds),
    }


_SCALE: Json = {"scale": {"zero": True}, "axis": {"tickCount": 3}}


def _datum(stack: Stack, kinds: Sequence[str], points: int) -> Json:
    """A panel as arrays, which the chart unfolds; `x2` is empty, as nothing is shaded."""
    times, layers = _aligned(stack.layers, kinds)
    thinned = {
        kind: lines.thin(Series(x_s=times, y=layer), points)[:2] for kind, layer in layers.items()
    }
    made: Json = {"arm": stack.arm, "block": lines.block_name(stack.block), "what": "stack"}
    x = next(iter(thinned.values()))[0]
    return made | {
        "x": lines.shortened(x),
        "x2": [],
        **{kind: lines.shortened(y) for kind, (_, y) in thinned.items()},
    }


def _aligned(
    layers: Mapping[str, Series], kinds: Sequence[str]
) -> tuple[tuple[float, ...], dict[str, tuple[float, ...]]]:
    """All layers over the same times; a kind that was not seen at a time is 0 there."""
    times = tuple(sorted({x for layer in layers.values() for x in layer.x_s})) or (0.0,)
    values = {kind: dict(zip(one.x_s, one.y, strict=True)) for kind, one in layers.items()}
    return times, {kind: tuple(values.get(kind, {}).get(x, 0.0) for x in times) for kind in kinds}


def _layers(kinds: Sequence[str]) -> Json:
    colors = {"domain": [*KINDS, OTHER], "range": "kinds"}
    others = [kind for kind in kinds if kind not in KINDS]  # these have one colour
    names = [*dict.fromkeys(OTHER if kind in others else kind for kind in kinds)]
    shown = f"indexof({others}, datum.kind) < 0 ? datum.kind : '{OTHER}'"
    legend = {"values": names, "title": None, "columns": LEGEND_COLUMNS, "symbolType": "square"}
    return {
        "transform": [
            {"flatten": ["x", *kinds]},
            {"fold": list(kinds), "as": ["kind", "y"]},
            {"calculate": f"indexof({list(kinds)}, datum.kind)", "as": "place"},
            {"calculate": shown, "as": "shown"},
        ],
        "mark": {"type": "area", "interpolate": "linear", "clip": True},
        "encoding": {
            "x": lines.time_axis(),
            "y": {"field": "y", "type": "quantitative", "title": None, "stack": "zero"} | _SCALE,
            "color": {"field": "shown", "type": "nominal", "scale": colors, "legend": legend},
            "order": {"field": "place"},
            "detail": {"field": "kind"},
        },
    }


def _names(first_block: int) -> Json:
    """The arm's name above its first panel; colours are those of kinds here."""
    return {
        "transform": [{"filter": f"datum.block == '{lines.block_name(first_block)}'"}],
        "mark": {"type": "text", "style": "name", "align": "left", "baseline": "middle"},
        "encoding": {"x": {"value": 0}, "y": {"value": -8}, "text": {"field": "arm"}},
    }
