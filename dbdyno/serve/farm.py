"""The farms among the folders that are served: which there are, and their pages."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from dbdyno import __version__
from dbdyno.farm import journal, overview, state
from dbdyno.farm.chain import HeadSeries
from dbdyno.farm.overview import BranchOverview, Overview
from dbdyno.parts.part import Finding, Page, Text
from dbdyno.parts.table import Column, Row, Table, TableCell
from dbdyno.serve import farm_curve, farm_finding, farm_views
from dbdyno.serve.charted import View, link, report
from dbdyno.serve.farm_curve import Curve
from dbdyno.serve.farm_views import AT, FarmAddresses
from dbdyno.serve.folders import named
from dbdyno.serve.frame import Frame
from dbdyno.serve.serving import PageContext

PATH = "/farm"
DEPTH_MAX = 2
"""So many folders below a folder are searched for farms."""


@dataclass(frozen=True, kw_only=True)
class FarmFolder:
    """A farm's folder."""

    key: str  # what begins the keys of its results, without the last slash
    path: Path
    name: str


def places(roots: Sequence[Path]) -> list[FarmFolder]:
    """The farms in these folders, by name."""
    return sorted(
        (
            FarmFolder(key=f"{prefix}{key}".rstrip("/"), path=path, name=path.name)
            for prefix, root in named(roots).items()
            for key, path in _below("", root, DEPTH_MAX)
        ),
        key=lambda place: place.key,
    )


def _below(prefix: str, folder: Path, depth: int) -> Iterator[tuple[str, Path]]:
    if (folder / journal.FILE).is_file():
        yield prefix, folder
        return
    if depth == 0:
        return
    try:
        with os.scandir(folder) as entries:
            inside = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return
    for name in sorted(inside):
        if name[0] != ".":
            yield from _below(f"{prefix}{name}/", folder / name, depth - 1)


def read(place: FarmFolder) -> Overview:
    """What a farm has come to. Raises ResultError where its journal is damaged."""
    return overview.of(state.fold(journal.read(place.path)), place.name)


def key(series: HeadSeries) -> str:
    """What tells a series from the others of its branch, for an address."""
    return "/".join((*series.step, series.instrument, series.metric))


# --- Pages --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ServedAddresses(FarmAddresses):
    """The addresses of a server."""

    farm: FarmFolder

    def _link(self, **wanted: str) -> str:
        return link(PATH, farm=self.farm.key, **wanted)

    def grid(self, branch: str, instrument: str, metric: str) -> str:
        """Of a branch by a metric."""
        return self._link(branch=branch, instrument=instrument, metric=metric)

    def curve(self, series: HeadSeries) -> str:
        """Of a series."""
        return self._link(branch=series.branch, series=key(series))

    def finding(self, name: str) -> str:
        """Of a finding."""
        return self._link(finding=name)

    def report(self, folder: str) -> str:
        """Of a result."""
        return report(f"{self.farm.key}/{folder}" if self.farm.key else folder)


class FarmQuery(msgspec.Struct, frozen=True, kw_only=True):
    """What an address asks for; None: it does not say."""

    farm: str | None = None
    branch: str | None = None
    instrument: str | None = None
    metric: str | None = None
    series: str | None = None
    finding: str | None = None


def page(serving: PageContext, request: Request) -> Response:
    """The farms, or the grid, a curve or a finding of one."""
    query = msgspec.convert(dict(request.query_params), FarmQuery)
    farms = places(serving.folders.roots)
    wanted = farms[0].key if query.farm is None and len(farms) == 1 else query.farm
    if wanted is None:
        return _answer(serving.frame, choose(farms))
    place = next((each for each in farms if each.key == wanted), None)
    if place is None:
        raise HTTPException(404, "There is no such farm: was its folder removed or renamed?")
    farm, links = read(place), ServedAddresses(farm=place)
    if query.finding is not None:
        return _answer(serving.frame, finding_view(farm, query.finding, links))
    branch = farm.branch(query.branch)
    if branch is None:
        if not farm.branches:
            return _answer(serving.frame, begun(farm))
        raise HTTPException(404, "The farm has no such branch.")
    if query.series is not None:
        series = next((each for each in branch.series if key(each) == query.series), None)
        if series is None:
            raise HTTPException(404, "The branch has no such step.")
        view = farm_views.readings(branch, series, links)
        return _answer(serving.frame, view, drawn(branch, series, links))
    of = farm_views.shown(branch, query.instrument, query.metric)
    return _answer(serving.frame, farm_views.grid(farm, branch, of, links))


def _answer(frame: Frame, view: View, curve: Curve | None = None) -> Response:
    return HTMLResponse(frame.page(view.title, body(frame, view, curve), at=view.at))


def body(frame: Frame, view: View, curve: Curve | None = None) -> str:
    """The markup of a page without what surrounds it; it needs no script."""
    shown = Page(
        title=view.title, label=view.label, dyno=__version__, base="", arms=(), parts=view.parts
    )
    return frame.filled("farm.html.j2", page=shown, view=view, curve=curve, titles=_Titles())


class _Titles:
    """Texts on hover as they are, so that no script is needed."""

    def attribute(self, text: str) -> str:
        """The attribute of an element; none for no text."""
        return f' title="{escape(text)}"' if text else ""


def choose(farms: Sequence[FarmFolder]) -> View:
    """The farms to choose from."""
    if not farms:
        return View(title="Farm", at=AT, parts=(_said("No farm has its folder here."),))
    rows = tuple(
        Row.of(TableCell(text=each.name, link=link(PATH, farm=each.key))) for each in farms
    )
    table = Table(name="farms", title="Farms", columns=Column.words("farm"), rows=rows)
    return View(title="Farm", at=AT, parts=(table,))


def begun(farm: Overview) -> View:
    """A farm that has looked at no branch yet."""
    return View(title=farm.name, at=AT, parts=(_said("No branch was looked at yet."),))


def _said(sentence: str) -> Text:
    return Text(
        name="nothing", title="Nothing here", form="paragraphs", items=(Finding(text=sentence),)
    )


def finding_view(farm: Overview, name: str, links: FarmAddresses) -> View:
    """The page of a finding. Raises HTTPException where there is none."""
    for branch in farm.branches:
        for finding in branch.findings:
            if finding.name == name:
                return farm_finding.view(branch, finding, links)
    raise HTTPException(404, "The farm has no such finding.")


def drawn(branch: BranchOverview, series: HeadSeries, links: FarmAddresses) -> Curve | None:
    """The curve of a series."""
    folders = [
        commit.cells[series].folder if series in commit.cells else "" for commit in branch.commits
    ]
    own = [finding for finding in branch.findings if finding.is_of(series)]
    return farm_curve.curve(
        branch,
        series,
        [links.report(folder) if folder else "" for folder in folders],
        [(f"{finding.title}, {finding.standing}", links.finding(finding.name)) for finding in own],
    )
