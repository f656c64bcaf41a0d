"""The application of `dyno serve`: which address gives which page. Nothing is ever written."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from dbdyno.model.error import DynoError
from dbdyno.model.flame import Draw
from dbdyno.report import json_document
from dbdyno.report import page as report_page
from dbdyno.report.export.tables import TABLES
from dbdyno.report.render import html
from dbdyno.serve import beside, farm, history, listing, live, numbers
from dbdyno.serve.access import Access, Door
from dbdyno.serve.folders import Folders
from dbdyno.serve.serving import PageContext

REPORT_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""A report has its scripts in itself, and asks for nothing."""


Page = Callable[[PageContext, Request], Response]
"""Makes an answer; it may read files, so it runs beside the loop of events."""


def application(
    roots: Sequence[Path], access: Access | None = None, draw: Draw | None = None
) -> Starlette:
    """The application that serves the results below these folders, which are read once now.

    `draw` draws the flame graphs of reports.
    """
    serving = PageContext(Folders(roots), draw=draw)
    listing.page(serving.frame, serving.folders, serving.judged, "")  # so that the first is quick
    pages = [Route(path, _answered(serving, made)) for path, made in PAGES]
    return Starlette(
        routes=[*pages, Route("/events/{key:path}", _pushed(serving))],
        middleware=[Middleware(Door, access=access or Access())],
        exception_handlers={
            HTTPException: lambda _, error: _refused(serving, error),
            DynoError: lambda _, error: _refused(serving, HTTPException(422, str(error))),
        },
    )


def _answered(serving: PageContext, made: Page) -> Callable[[Request], object]:
    async def answer(request: Request) -> Response:
        return await run_in_threadpool(made, serving, request)

    return answer


def _pushed(serving: PageContext) -> Callable[[Request], object]:
    async def push(request: Request) -> Response:
        result = await run_in_threadpool(serving.result, request)
        find = partial(serving.folders.result, result.key)
        return StreamingResponse(
            live.events(serving.frame, serving.judged, find), media_type="text/event-stream"
        )

    return push


def _refused(serving: PageContext, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    title = "Not found" if error.status_code == 404 else "Cannot be shown"
    body = serving.frame.filled("refused.html.j2", text=error.detail)
    return HTMLResponse(serving.frame.page(title, body), error.status_code)


# --- Pages -------------------------------------------------------------------------------------


def results(serving: PageContext, request: Request) -> Response:
    """The list."""
    query = request.query_params.get("q", "")
    return HTMLResponse(listing.page(serving.frame, serving.folders, serving.judged, query))


def headline(serving: PageContext, request: Request) -> Response:
    """A result in a few words, which the list asks for."""
    told = serving.judged.headline(serving.result(request))
    return HTMLResponse(serving.frame.filled("headline.html.j2", alone=told))


def report(serving: PageContext, request: Request) -> Response:
    """The report of a result, with the way to the other pages above it."""
    result = serving.result(request)
    view = report_page.make(serving.judged.comparison(result))
    bar = serving.frame.bar("report", result, styled=True)
    return HTMLResponse(
        html.render(view, above=bar, draw=serving.draw),
        headers={"content-security-policy": REPORT_POLICY},
    )


def live_page(serving: PageContext, request: Request) -> Response:
    """The state of a plan; the events of `_pushed` keep the page up to date."""
    return HTMLResponse(live.page(serving.frame, serving.judged, serving.result(request)))


def numbers_page(serving: PageContext, request: Request) -> Response:
    """A table of a result: its first rows on a page, or all as `form=csv` or `form=json`."""
    result = serving.result(request)
    name, form = (request.query_params.get(key) for key in ("table", "form"))
    table = next((each for each in TABLES if each.name == (name or numbers.FIRST)), None)
    if table is None or form not in (None, *numbers.FORMS):
        raise HTTPException(404, "There is no such table, or no such form of it.")
    if form is None:
        return HTMLResponse(numbers.page(serving.frame, result, table))
    called = numbers.file_name(result, table, form)
    return StreamingResponse(
        numbers.text(result, table, form),
        media_type=numbers.FORMS[form],
        headers={"content-disposition": f'attachment; filename="{called}"'},
    )


def comparison(serving: PageContext, request: Request) -> Response:
    """The output of `dyno compare --json`."""
    found = serving.judged.comparison(serving.result(request))
    return Response(json_document.render(found), media_type="application/json")


def asset(serving: PageContext, request: Request) -> Response:
    """A style sheet or script of these pages."""
    found = serving.frame.asset(request.path_params["name"])
    if found is None:
        raise HTTPException(404, "There is no such file.")
    media, text = found
    return Response(text, media_type=media)


PAGES: tuple[tuple[str, Page], ...] = (
    ("/", results),
    ("/headline/{key:path}", headline),
    ("/report/{key:path}", report),
    ("/live/{key:path}", live_page),
    ("/numbers/{key:path}", numbers_page),
    ("/comparison/{key:path}", comparison),
    (history.PATH, history.page),
    (beside.PATH, beside.page),
    (farm.PATH, farm.page),
    ("/asset/{name}", asset),
)
"""Addresses and what they give; of a result its key ends the address."""
