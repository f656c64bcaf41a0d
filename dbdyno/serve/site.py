"""A farm's pages as files that any web server, or none, can show; none of them needs a script."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from dbdyno.analysis import compare
from dbdyno.farm.chain import HeadSeries
from dbdyno.farm.overview import BranchOverview, Overview, steps
from dbdyno.model.error import DynoError, ExportError
from dbdyno.model.flame import Draw
from dbdyno.report import page as report_page
from dbdyno.report import vega
from dbdyno.report.render import html
from dbdyno.report.write import publish
from dbdyno.serve import farm as farms
from dbdyno.serve import farm_finding, farm_views
from dbdyno.serve.charted import View
from dbdyno.serve.farm_curve import Curve
from dbdyno.serve.farm_views import FarmAddresses
from dbdyno.serve.frame import Frame
from dbdyno.store import glance

INDEX, STYLE, LIBRARY, REPORTS = "index.html", "farm.css", "vega.js", "report"
BACK = '<p style="margin: .7rem 1.25rem 0"><a href="../index.html">To the farm</a></p>'


@dataclass(frozen=True, kw_only=True)
class SiteContents:
    """What a site has."""

    pages: int
    reports: int  # that were written now
    kept: int  # reports that are as new as their results
    problems: tuple[str, ...]  # why a result has no report


@dataclass(frozen=True, kw_only=True)
class SiteAddresses(FarmAddresses):
    """Files of one folder; a report that cannot be made has no address."""

    reports: frozenset[str] = field(default_factory=frozenset)

    def grid(self, branch: str, instrument: str, metric: str) -> str:
        """Of a branch by a metric."""
        return file_name("grid", branch, instrument, metric)

    def curve(self, series: HeadSeries) -> str:
        """Of a series."""
        return file_name("curve", series.branch, farms.key(series))

    def finding(self, name: str) -> str:
        """Of a finding."""
        return file_name("finding", name)

    def report(self, folder: str) -> str:
        """Of a result, below the farm's folder."""
        return f"{REPORTS}/{file_name(folder)}" if folder in self.reports else ""


def file_name(*words: str) -> str:
    """The name of a page's file, of letters that need no escape in an address.

    Other letters are written by their number, so that no two pages have one name.
    """
    whole = "-".join(words)
    safe = re.sub(r"[^A-Za-z0-9._-]", lambda sign: f"~{ord(sign.group()):x}.", whole)
    return f"{safe}.html"


def write(folder: Path, to: Path, draw: Draw | None = None) -> SiteContents:
    """Writes the pages of the farm in a folder, and the reports of its results, into `to`.

    Raises ExportError where no farm has its folder there, DynoError where nothing can be written.
    """
    place = next((each for each in farms.places([folder]) if each.path == folder.resolve()), None)
    if place is None:
        raise ExportError(
            f"`{folder}` is no farm's folder: name the key `folder` of a file of `dyno watch`"
        )
    farm = farms.read(place)
    reports = _reports(farm, folder, to, draw)
    links = SiteAddresses(reports=frozenset(reports.names))
    frame = Frame()
    style = frame.asset("frame.css")
    assert style is not None, "each page has it"
    files = {to / name: text.encode() for name, text in _pages(farm, links, frame)}
    files[to / STYLE] = style[1].encode()
    publish(files)
    return SiteContents(
        pages=len(files) - 1,
        reports=len(reports.names) - reports.kept,
        kept=reports.kept,
        problems=tuple(reports.problems),
    )


def _pages(farm: Overview, links: SiteAddresses, frame: Frame) -> Iterator[tuple[str, str]]:
    """Each page's file and text; the first grid is the index as well."""

    def page(view: View, curve: Curve | None = None, *, home: bool = False) -> str:
        return frame.filled(
            "site.html.j2",
            title=view.title,
            farm=farm.name,
            style=STYLE,
            home=home,
            body=farms.body(frame, view, curve),
        )

    first = farm.branch(None)
    shown = None if first is None else farm_views.shown(first, None, None)
    index = farms.begun(farm) if first is None else farm_views.grid(farm, first, shown, links)
    yield INDEX, page(index, home=True)
    for branch in farm.branches:
        for of in steps(branch.series):
            view = farm_views.grid(farm, branch, of, links)
            yield links.grid(branch.name, *of), page(view)
        if not branch.series:  # other branches lead to it
            view = farm_views.grid(farm, branch, None, links)
            yield links.grid(branch.name, "", ""), page(view)
        for series in branch.series:
            view = farm_views.readings(branch, series, links)
            yield links.curve(series), page(view, farms.drawn(branch, series, links))
        for finding in branch.findings:
            yield links.finding(finding.name), page(farm_finding.view(branch, finding, links))


@dataclass(kw_only=True)
class _Reports:
    """Which results have a report."""

    names: list[str] = field(default_factory=list)
    kept: int = 0
    problems: list[str] = field(default_factory=list)


def _reports(farm: Overview, folder: Path, to: Path, draw: Draw | None) -> _Reports:
    """Writes the reports that are not there or older than their results, each by itself."""
    made = _Reports()
    folders = {name for branch in farm.branches for name in _results(branch)}
    if folders:
        publish({to / REPORTS / LIBRARY: vega.library().encode()})
    for name in sorted(folders):
        path = to / REPORTS / file_name(name)
        try:
            if _is_new(path, folder / name):
                made.kept += 1
            else:
                publish({path: _report(folder / name, draw).encode()})
        except DynoError as error:
            made.problems.append(f"{name}: {error}")
            continue
        made.names.append(name)
    return made


def _results(branch: BranchOverview) -> Iterator[str]:
    """The results that cells lead to."""
    for commit in branch.commits:
        for cell in commit.cells.values():
            if cell.folder:
                yield cell.folder


def _is_new(path: Path, result: Path) -> bool:
    """Whether a report is there and no older than its result."""
    try:
        return path.stat().st_mtime_ns > max(glance.stamp(result))
    except OSError:
        return False


def _report(result: Path, draw: Draw | None) -> str:
    view = report_page.make(compare.load(result))
    return html.render(view, above=BACK, draw=draw, library_at=LIBRARY)
