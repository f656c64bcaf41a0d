"""The folder of a published farm: the pages of `dyno serve` as files, which need no script."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from msgspec import Struct

from dbdyno.farm import findings
from dbdyno.farm.chain import HeadSeries
from dbdyno.farm.overview import BranchOverview, FindingOverview, Overview, steps
from dbdyno.serve import farm as farms
from dbdyno.serve import farm_finding, farm_views
from dbdyno.serve.charted import View
from dbdyno.serve.farm_curve import Curve
from dbdyno.serve.farm_views import FarmAddresses
from dbdyno.serve.frame import Frame, ViewLink, ViewLinks
from dbdyno.serve.published import place


class PublishedFinding(Struct, frozen=True, kw_only=True):
    """A finding in a line."""

    name: str
    title: str
    label: str  # its standing and branch
    page: str  # the file, beside the farm's index
    changed_s: float


class PublishedFarm(Struct, frozen=True, kw_only=True):
    """farm.json of a published folder."""

    format: int = 1
    key: str
    name: str
    branches: tuple[str, ...]
    commits: int
    changed_s: float
    findings: tuple[PublishedFinding, ...]  # the newest first


@dataclass(frozen=True, kw_only=True)
class FileAddresses(FarmAddresses):
    """Files of one folder, beside the folders of results."""

    reports: Mapping[str, str]  # by the result's folder below the farm's, from the farm's pages

    def grid(self, branch: str, instrument: str, metric: str) -> str:
        """Of a branch by a metric."""
        return place.page_name("grid", branch, instrument, metric)

    def curve(self, series: HeadSeries) -> str:
        """Of a series."""
        return place.page_name("curve", series.branch, farms.key(series))

    def finding(self, name: str) -> str:
        """Of a finding."""
        return place.page_name("finding", name)

    def report(self, folder: str) -> str:
        """Of a result; empty where it was not published."""
        return self.reports.get(folder, "")


def record(farm: Overview, key: str, links: FarmAddresses) -> PublishedFarm:
    """What the index and the feed say of a farm."""
    found = [
        published_finding(branch, finding, links)
        for branch in farm.branches
        for finding in branch.findings
    ]
    times = [commit.at_s for branch in farm.branches for commit in branch.commits]
    return PublishedFarm(
        key=key,
        name=farm.name,
        branches=tuple(branch.name for branch in farm.branches),
        commits=len(times),
        changed_s=max([*times, *(finding.changed_s for finding in found)], default=0.0),
        findings=tuple(sorted(found, key=lambda finding: -finding.changed_s)),
    )


def published_finding(
    branch: BranchOverview, finding: FindingOverview, links: FarmAddresses
) -> PublishedFinding:
    """A finding in a line; its title is that of its page."""
    return PublishedFinding(
        name=finding.name,
        title=finding.title if finding.report is None else findings.title(finding.report),
        label=f"{finding.standing}, on {branch.name}",
        page=links.finding(finding.name),
        changed_s=finding.changed_s,
    )


def pages(farm: Overview, links: FarmAddresses, frame: Frame) -> Iterator[tuple[str, str]]:
    """Each page's file and text; the first grid is the index as well."""
    above = [
        ViewLink(words="Results", link=place.ABOVE + place.INDEX),
        ViewLink(words=farm.name, link=place.INDEX),
    ]

    def page(view: View, curve: Curve | None = None) -> str:
        body = farms.body(frame, view, curve)
        groups = [ViewLinks(name="", ways=tuple(above))]
        return frame.file(view.title, body, groups, place=farm.name, above=place.ABOVE)

    first = farm.branch(None)
    shown = None if first is None else farm_views.shown(first, None, None)
    index = farms.begun(farm) if first is None else farm_views.grid(farm, first, shown, links)
    yield place.INDEX, page(index)
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


def results(farm: Overview) -> frozenset[str]:
    """The results that cells lead to, by their folders below the farm's."""
    return frozenset(
        cell.folder
        for branch in farm.branches
        for commit in branch.commits
        for cell in commit.cells.values()
        if cell.folder
    )
