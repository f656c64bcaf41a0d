"""The frame that all pages share: the way to the others above, the report's style below."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from dbdyno import __version__
from dbdyno.report.chart import style
from dbdyno.report.render import html
from dbdyno.serve.folders import ListedResult

if TYPE_CHECKING:
    from jinja2 import Environment

PLACES = (
    ("results", "/", "Results"),
    ("history", "/history", "History"),
    ("beside", "/beside", "Beside each other"),
    ("farm", "/farm", "Farm"),
)
"""The pages that belong to no single result: name, address, word."""
OF_RESULT = (("report", "Report"), ("live", "Live"), ("numbers", "Numbers"))
"""The pages of a result: name, which begins its address, and word."""
SCRIPTS = ("list.js", "live.js")
DRAWING = ("vega.js", "charts.js")
"""The scripts of pages with charts, in their order."""
TEMPLATES = Path(str(files("dbdyno.serve"))) / "templates"


def address(name: str, result: ListedResult) -> str:
    """The address of a result's page: `report`, `live`, `numbers` …"""
    return of_result(name, result.key)


def of_result(name: str, key: str) -> str:
    """The same by the result's key."""
    return f"/{name}/{quote(key)}"


class Frame:
    """Makes pages of templates; autoescape holds for whatever a template is given."""

    @cached_property
    def templates(self) -> Environment:
        """The report's templates and those of these pages."""
        environment = html.environment(TEMPLATES)
        environment.globals["address"] = address
        environment.globals["version"] = __version__
        return environment

    def page(
        self,
        title: str,
        body: str,
        *,
        at: str = "",
        result: ListedResult | None = None,
        scripts: Sequence[str] = (),
    ) -> str:
        """A page: `body` is markup (a template's output), `at` the name of its place in the bar.

        `result`: the one that the page is of. `scripts`: of SCRIPTS, those that it needs.
        """
        return self.filled(
            "frame.html.j2", title=title, body=body, bar=self.bar(at, result), scripts=scripts
        )

    def bar(self, at: str = "", result: ListedResult | None = None, *, styled: bool = False) -> str:
        """The way to the other pages; `styled`: with its style, for a page that has its own."""
        css = self.filled("bar.css.j2") if styled else ""
        return self.filled(
            "bar.html.j2", at=at, result=result, places=PLACES, of_result=OF_RESULT, css=css
        )

    def filled(self, template: str, **values: object) -> str:
        """A template's output."""
        return self.templates.get_template(template).render(**values)

    @cached_property
    def assets(self) -> dict[str, tuple[str, str]]:
        """The files that pages ask for: by name the media type and the text."""
        css = self.filled(
            "frame.css.j2",
            colors=style.colors(len(style.ARM_COLORS)),
            kinds=style.kind_colors(),
            font=style.FONT,
        )
        found = {"frame.css": ("text/css", css)}
        for name in SCRIPTS:
            text = (TEMPLATES / name).read_text(encoding="utf-8")
            found[name] = ("text/javascript", text)
        return found

    @cached_property
    def drawing(self) -> dict[str, tuple[str, str]]:
        """The files with which charts are drawn, in their order; made when one is asked for."""
        return {name: ("text/javascript", text) for name, text in html.drawing().items()}

    def asset(self, name: str) -> tuple[str, str] | None:
        """Media type and text of a file that pages ask for; None where there is none."""
        return self.assets.get(name) or (self.drawing.get(name) if name in DRAWING else None)
