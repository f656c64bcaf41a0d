"""Every chart of a page as a Vega-Lite specification by its name. Pure.

A specification holds its data and no colours: an arm's colour is its place in the page's list of
arms (`look`). In `usermeta` stands what the page and pictures need beside Vega-Lite itself: `kind`
(throughput, ratios, scaling, curves, densities, seconds), `columns` (panels side by side) and the
`title` that a picture has inside and the page beside it.
"""

import textwrap
from collections.abc import Iterable

from dbdyno.model import Json
from dbdyno.parts import drawing
from dbdyno.parts.part import Chart, Page, charts
from dbdyno.report.chart import bars, curves, densities, effects, layers, lines, plateaus, style

PICTURE_WIDTH = 760  # pixels of a picture's drawing, without what stands around it
SUBTITLE_CHARACTERS_MAX = 120  # of a line below a picture's title


def specs(page: Page, points_max: int = lines.POINTS_MAX) -> dict[str, Json]:
    """What draws every chart of a page by its name; `points_max` for each arm in each.

    Changes are not among them: a page draws those itself.
    """
    drawn = (chart for chart in charts(page.parts) if not isinstance(chart.data, drawing.Effects))
    return _specs(page, drawn, points_max)


def pictured(page: Page) -> dict[str, Json]:
    """What draws the picture of every chart by its name, changes among them."""
    return _specs(page, charts(page.parts), lines.POINTS_MAX)


def _specs(page: Page, drawn: Iterable[Chart], points_max: int) -> dict[str, Json]:
    made: dict[str, Json] = {}
    for chart in drawn:
        title = f"{chart.of}: {chart.title}" if chart.of else chart.title
        made[chart.name] = _titled(_drawn(chart, page, points_max), title, page.title, chart.note)
    return made


def standalone(
    spec: Json, config: Json, width: int = PICTURE_WIDTH, *, titled: bool = True
) -> Json:
    """A specification as a picture of its own style and width; `titled`: with its title inside."""
    made = spec | {"config": config} | ({"title": spec["usermeta"]["title"]} if titled else {})
    if "spec" not in spec:
        return made | {"width": width}
    columns = spec["usermeta"]["columns"]
    each = (width - style.AXIS_WIDTH - style.PANEL_GAP * (columns - 1)) / columns
    return made | {"spec": spec["spec"] | {"width": round(each)}}


def _drawn(chart: Chart, page: Page, points_max: int) -> Json:
    """The specification of what a chart's data are drawn as."""
    match chart.data:
        case drawing.Effects():
            return effects.spec(chart.data)
        case drawing.Bars():
            return bars.throughput(chart.data, page.base, page.arms)
        case drawing.Lines():
            return lines.spec(chart.data, page.arms, points_max)
        case drawing.Layers():
            return layers.spec(chart.data, page.arms, points_max)
        case drawing.Ratios():
            return bars.ratios(chart.data, page.arms)
        case drawing.ScaleUp():
            return bars.scaling(chart.data, page.arms)
        case drawing.Curves():
            return curves.spec(chart.data, page.arms)
        case drawing.Densities():
            return densities.spec(chart.data, page.arms)
        case drawing.Plateaus():
            return plateaus.spec(chart.data, page.arms)


def _titled(spec: Json, title: str, *subtitles: str) -> Json:
    below = [line for text in subtitles for line in textwrap.wrap(text, SUBTITLE_CHARACTERS_MAX)]
    whole = {"text": textwrap.wrap(title, SUBTITLE_CHARACTERS_MAX * 3 // 4), "subtitle": below}
    return spec | {"usermeta": spec["usermeta"] | {"title": whole}}
