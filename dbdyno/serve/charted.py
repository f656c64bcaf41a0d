"""Pages of a report's parts within the frame: tables, callouts and charts, drawn as reports are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlencode

from starlette.responses import HTMLResponse

from dbdyno import __version__
from dbdyno.parts.part import AnyPart, Page
from dbdyno.report.render import html
from dbdyno.serve import listing
from dbdyno.serve.frame import DRAWING, Frame, ViewLinks, of_result

POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
"""Charts compile expressions and set styles; scripts come from here alone."""


@dataclass(frozen=True, kw_only=True)
class Search:
    """A field for words that what is listed must have."""

    query: str
    words: str  # an example of what can be found
    kept: Mapping[str, str] = field(default_factory=dict)  # what else the address asks for


@dataclass(frozen=True, kw_only=True)
class View:
    """The contents of a page."""

    title: str
    at: str  # its place in the bar
    parts: tuple[AnyPart, ...]
    arms: tuple[str, ...] = ()  # an arm's place gives its colour
    label: str = ""  # said below the title
    ways: tuple[ViewLinks, ...] = ()
    search: Search | None = None


def page(frame: Frame, view: View) -> HTMLResponse:
    """The page of a view."""
    shown = Page(
        title=view.title,
        label=view.label,
        dyno=__version__,
        base="",
        arms=view.arms,
        parts=view.parts,
    )
    body = frame.filled(
        "charted.html.j2", page=shown, view=view, titles=html.Titles(), **html.embedded(shown)
    )
    made = frame.page(view.title, body, at=view.at, scripts=DRAWING)
    return HTMLResponse(made, headers={"content-security-policy": POLICY})


def link(path: str, **asked: str | Sequence[str] | None) -> str:
    """An address with what is asked for; what is None is left out."""
    given = {name: value for name, value in asked.items() if value not in (None, "", (), [])}
    return f"{path}?{urlencode(given, doseq=True)}" if given else path


def report(result: str) -> str:
    """The address of a result's report, by the result's key."""
    return of_result("report", result)


def day(unix_ns: float) -> str:
    """A moment as 2026-03-01 14:05, in UTC."""
    return listing.day(unix_ns / 1e9)
