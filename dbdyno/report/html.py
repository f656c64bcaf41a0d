"""The page as one HTML file that needs no network: tables in the document, charts drawn by Vega."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from dbdyno.report import chart, look, number, seconds
from dbdyno.report.view import Column, Page, Row, Section, Table

if TYPE_CHECKING:
    import jinja2

BYTES_MAX = 5_000_000
POINTS_MIN = 60  # of one arm in one chart
_PLACE = "{charts}"  # where the charts' data goes once it is known how much there is room for


def render(page: Page) -> str:
    """The page as HTML, complete in itself."""
    import vl_convert

    template = _environment().get_template("page.html.j2")
    shell = template.render(
        page=page,
        charts=_PLACE,
        colors=look.colors(len(page.arms)),
        library=vl_convert.javascript_bundle(),  # type: ignore[call-arg]  # the stub forgets its default
        script=(_templates() / "charts.js").read_text(encoding="utf-8"),
    )
    before, after = shell.split(_PLACE)
    room = BYTES_MAX - len(shell.encode())
    return f"{before}{_fitting_specs(page, room)}{after}"


def _fitting_specs(page: Page, room: int) -> str:
    """The charts' specifications as JSON, thinned until they take at most `room` bytes.

    Never to fewer than POINTS_MIN: a page of very many arms is larger rather than empty.
    """
    points = seconds.POINTS_MAX
    while True:
        text = embed(chart.specs(page, points))
        size = len(text.encode())
        if size <= room or points <= POINTS_MIN:
            return text
        points = max(POINTS_MIN, min(points - 1, int(points * room / size * 0.95)))


def _templates() -> Path:
    return Path(__file__).parent / "templates"


def _environment() -> jinja2.Environment:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_templates()),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["embed"] = embed
    environment.filters["column_groups"] = column_groups
    environment.filters["row_groups"] = row_groups
    environment.filters["has_groups"] = has_groups
    environment.filters["parts"] = parts
    environment.filters["unbroken"] = number.unbroken
    return environment


def embed(value: object) -> str:
    """A value as JSON that may stand inside a script element."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def has_groups(table: Table) -> bool:
    """Whether the columns have headings in common."""
    return any(column.group for column in table.columns)


def column_groups(columns: Iterable[Column]) -> list[tuple[str, int]]:
    """Headings that neighbouring columns share, with how many share each."""
    return [(group, len(list(some))) for group, some in groupby(columns, lambda one: one.group)]


def row_groups(rows: Iterable[Row]) -> list[tuple[str, list[Row]]]:
    """Rows that stand together, under the name of their group."""
    return [(group, list(some)) for group, some in groupby(rows, lambda one: one.group)]


def parts(section: Section) -> list[tuple[str, str]]:
    """What a step's section has, as (anchor, name) for the contents list."""
    found = (
        ("metrics-part", "metrics", section.metrics),
        ("response", "response", section.response),
        ("graphs", "seconds", section.charts),
        ("cost", "cost", section.costs),
    )
    return [(f"{section.name}-{anchor}", name) for anchor, name, there in found if there]
