"""The frame that all pages share: the way to the others above, the report's style below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
STYLE, FEED = "style.css", "feed.xml"
"""What pages of a published folder share, by its name there."""
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


@dataclass(frozen=True, kw_only=True)
class ViewLink:
    """A link to another page, or to another view of a page."""

    words: str
    link: str
    here: bool = False  # it is what is shown


@dataclass(frozen=True, kw_only=True)
class ViewLinks:
    """Links to choose one of."""

    name: str
    ways: tuple[ViewLink, ...]


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
            "frame.html.j2",
            title=title,
            place="dyno",
            body=body,
            bar=self.bar(at, result),
            style="/asset/frame.css",
            scripts=scripts,
        )

    def file(
        self, title: str, body: str, ways: Sequence[ViewLinks], *, place: str, above: str
    ) -> str:
        """A page of a published folder, which lies `above` it; `ways` stand in its bar."""
        return self.filled(
            "frame.html.j2",
            title=title,
            place=place,
            body=body,
            bar=self.bar_of(ways),
            style=above + STYLE,
            feed=above + FEED,
            scripts=(),
        )

    def bar(self, at: str = "", result: ListedResult | None = None, *, styled: bool = False) -> str:
        """The way to the other pages; `styled`: with its style, for a page that has its own."""
        places = [ViewLink(words=word, link=link, here=name == at) for name, link, word in PLACES]
        groups = [ViewLinks(name="", ways=tuple(places))]
        if result is not None:
            own = [
                ViewLink(words=word, link=address(name, result), here=name == at)
                for name, word in OF_RESULT
            ]
            groups.append(ViewLinks(name=result.plan, ways=tuple(own)))
        return self.bar_of(groups, styled=styled)

    def bar_of(self, groups: Sequence[ViewLinks], *, styled: bool = False) -> str:
        """A bar with these links."""
        css = self.filled("bar.css.j2") if styled else ""
        return self.filled("bar.html.j2", groups=groups, css=css)

    def filled(self, template: str, **values: object) -> str:
        """A template's output."""
        return self.templates.get_template(template).render(**values)

    @cached_property
    def css(self) -> str:
        """The style of all pages."""
        return self.filled(
            "frame.css.j2",
            colors=style.colors(len(style.ARM_COLORS)),
            kinds=style.kind_colors(),
            font=style.FONT,
        )

    @cached_property
    def assets(self) -> dict[str, tuple[str, str]]:
        """The files that pages ask for: by name the media type and the text."""
        scripts = {
            name: ("text/javascript", (TEMPLATES / name).read_text(encoding="utf-8"))
            for name in SCRIPTS
        }
        return {"frame.css": ("text/css", self.css), **scripts}

    @cached_property
    def drawing(self) -> dict[str, tuple[str, str]]:
        """The files with which charts are drawn, in their order; made when one is asked for."""
        return {name: ("text/javascript", text) for name, text in html.drawing().items()}

    def asset(self, name: str) -> tuple[str, str] | None:
        """Media type and text of a file that pages ask for; None where there is none."""
        return self.assets.get(name) or (self.drawing.get(name) if name in DRAWING else None)
