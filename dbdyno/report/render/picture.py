"""A chart as a picture that stands by itself: SVG or PNG, with its title, on a white ground."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.model import Json
from dbdyno.report import chart
from dbdyno.report.chart import style

PNG_SCALE = 2.0  # pixels of a picture for each of the chart's, for sharp screens and for paper


def svg(spec: Json, arms: Sequence[str]) -> bytes:
    """A chart of `chart.specs` as SVG; `arms` are those of its page."""
    import vl_convert

    text: str = vl_convert.vegalite_to_svg(_whole(spec, arms))
    return text.encode()


def png(spec: Json, arms: Sequence[str], scale: float = PNG_SCALE) -> bytes:
    """A chart of `chart.specs` as PNG; `arms` are those of its page."""
    import vl_convert

    made: bytes = vl_convert.vegalite_to_png(_whole(spec, arms), scale=scale)
    return made


def _whole(spec: Json, arms: Sequence[str]) -> Json:
    return chart.standalone(spec, style.picture(len(arms)))
