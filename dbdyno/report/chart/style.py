"""How charts look: the arms' colours, and Vega's settings for the page and for pictures. Pure.

A chart's specification holds no colours. On the page they are variables of the style sheet, so
that a chart follows the reader's colour scheme and turns light on paper without being drawn anew.
A picture has to stand by itself: it has a white ground and the colours themselves.
"""

from dbdyno.model import Json

ARM_COLORS: tuple[tuple[str, str], ...] = (  # on white, on dark; after Okabe and Ito (2008)
    ("#0072b2", "#56a8dc"),
    ("#d55e00", "#f08a3c"),
    ("#009e73", "#2fc79b"),
    ("#b5679b", "#dc9cc8"),
    ("#a97c00", "#e2b340"),
    ("#5b5f66", "#a9afb8"),
    ("#6a4fb3", "#a994ea"),
    ("#8c4a2f", "#c98a6c"),
)
KIND_COLORS: tuple[tuple[str, str], ...] = (  # of findings.waits.facts.KINDS, on white and on dark
    ("#3a9a58", "#5cc47f"),
    ("#3b7fc4", "#6fb0ee"),
    ("#e08a1e", "#f2ab52"),
    ("#b3261e", "#ec6a60"),
    ("#7a5cc0", "#a98ff0"),
    ("#8c6b4f", "#c19a78"),
    ("#6f8f1f", "#a9c95a"),
    ("#c9ab2b", "#e4cd62"),
    ("#c9629f", "#ec93c6"),
    ("#8a9099", "#a9b0ba"),
    ("#b9bec6", "#747b86"),
)
OTHER_KIND = ("#4fa9a3", "#7ccfc9")  # a kind that is none of these
FONT = (
    '-apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", "Liberation Sans", Arial, '
    "system-ui, sans-serif"
)
PANEL_GAP = 8  # pixels between panels that stand side by side
AXIS_WIDTH = 48  # pixels to the left of the first panel, for the numbers of its axis

_FONT_SIZE = 10.5


def colors(arms: int) -> list[tuple[str, str]]:
    """The colours of so many arms, on white and on dark; the ninth is the first again."""
    return [ARM_COLORS[place % len(ARM_COLORS)] for place in range(arms)]


def kind_colors() -> list[tuple[str, str]]:
    """The colours of kinds, on white and on dark; the last is that of any other."""
    return [*KIND_COLORS, OTHER_KIND]


def page(arms: int) -> Json:
    """Vega's settings on the page."""
    names = [f"var(--arm-{place})" for place in range(arms)]
    kinds = [f"var(--kind-{place})" for place in range(len(kind_colors()))]
    ranges = {"category": names, "kinds": kinds}
    return _config(
        ranges, ink="var(--ink)", quiet="var(--quiet)", line="var(--line)", grid="var(--grid)"
    )


def picture(arms: int) -> Json:
    """Vega's settings for a picture that is saved."""
    names = [on_white for on_white, _ in colors(arms)]
    kinds = [on_white for on_white, _ in kind_colors()]
    ranges = {"category": names, "kinds": kinds}
    config = _config(ranges, ink="#16181c", quiet="#5a6068", line="#d4d7dc", grid="#eceef1")
    return config | {"background": "#ffffff", "padding": 14}


def _config(ranges: Json, *, ink: str, quiet: str, line: str, grid: str) -> Json:
    label = {"labelColor": quiet, "labelFontSize": _FONT_SIZE}
    return {
        "background": None,
        "font": FONT,
        "padding": 0,
        "range": ranges,
        "view": {"stroke": line},
        "axis": label
        | {
            "titleColor": quiet,
            "domain": False,
            "tickColor": line,
            "tickSize": 3,
            "gridColor": grid,
            "labelPadding": 3,
            "labelOverlap": True,
        },
        "axisYQuantitative": {"minExtent": AXIS_WIDTH - 4, "maxExtent": AXIS_WIDTH - 4},
        "axisXQuantitative": {"grid": False},
        "header": label | {"labelFontWeight": "normal"},
        "legend": label | {"titleColor": quiet, "symbolSize": 70, "orient": "top", "offset": 4},
        "title": {
            "color": ink,
            "subtitleColor": quiet,
            "anchor": "start",
            "frame": "group",
            "fontSize": 15,
            "subtitleFontSize": 11,
            "subtitlePadding": 5,
            "offset": 12,
        },
        "style": {
            "checkpoint": {"color": quiet, "fillOpacity": 0.16},
            "autovacuum": {"color": quiet, "fillOpacity": 0.8},
            "base": {"color": quiet, "strokeWidth": 1},
            "interval": {"color": ink, "strokeWidth": 2},
            "name": {"color": ink, "fontSize": 11, "fontWeight": 600},
            "words": {"color": ink, "fontSize": 12},
        },
    }
