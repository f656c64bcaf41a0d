"""The folder of a published result: its report, what lists say of it, JSON, and its raw files."""

from dataclasses import dataclass
from pathlib import Path

from dbdyno import __version__
from dbdyno.analysis import compare
from dbdyno.model import Comparison
from dbdyno.model.flame import Draw
from dbdyno.parts import number
from dbdyno.report import json_document
from dbdyno.report import page as report_page
from dbdyno.report.render import html
from dbdyno.report.write import Publication
from dbdyno.serve import judged, listing
from dbdyno.serve.folders import ListedResult
from dbdyno.serve.frame import Frame, ViewLink, ViewLinks
from dbdyno.serve.published import place
from dbdyno.serve.record import PublishedResult
from dbdyno.store import Results, code_version, packed

STEPS_MAX = 6
"""So many steps are named in a list."""
OWN_QUERIES = "own queries: servers' logs may hold values of the application"


@dataclass(frozen=True, kw_only=True)
class ResultPublisher:
    """Adds results to a published folder."""

    to: Path
    publication: Publication
    frame: Frame
    raw: bool  # whether raw files lie beside the pages
    draw: Draw | None

    def add(
        self, result: ListedResult, before: PublishedResult | None, farm: str = ""
    ) -> PublishedResult:
        """Adds what is new of a result; `before`: what was published of it.

        Raises ResultError where it is damaged.
        """
        code = f"{__version__} {code_version()}"
        if before is not None and self._is_new(result, before, code):
            return before
        comparison = compare.load(result.path)
        why = self._without_raw(result)
        folder = self.to / place.result_folder(result.key)
        raw_bytes = self._add_raw(result, folder) if self.raw and not why else 0
        record = PublishedResult(
            key=result.key,
            plan=result.plan,
            label=result.label,
            arms=result.arms,
            versions=result.versions,
            configurations=result.configurations,
            workloads=result.workloads,
            steps=tuple(dict.fromkeys(step.step for step in comparison.steps if step.headline)),
            host=result.host,
            blocks=listing.blocks(result),
            changed_s=result.changed_s,
            headline=judged.headline(comparison),
            farm=farm,
            raw_bytes=raw_bytes,
            without_raw=why,
            stamp=result.stamp,
            code=code,
        )
        self._add_pages(record, comparison, folder)
        return record

    def _is_new(self, result: ListedResult, before: PublishedResult, code: str) -> bool:
        """Whether what was published is as it would be made now."""
        has_raw = bool(before.raw_bytes) == (self.raw and not before.without_raw)
        return before.stamp == result.stamp and before.code == code and has_raw

    def _without_raw(self, result: ListedResult) -> str:
        """Why a result's raw files are not to be published; empty: nothing speaks against it."""
        plan = Results.open(result.path).plan
        if any(use.application is not None for use in plan.workloads):
            return OWN_QUERIES
        secret = packed.with_password(result.path)
        return f"{secret} seems to hold a password" if secret is not None else ""

    def _add_raw(self, result: ListedResult, folder: Path) -> int:
        name = place.raw_name(result.key)
        top = name.removesuffix(packed.ENDING)
        return self.publication.add(
            folder / name, lambda file: packed.pack(result.path, top, file, result.changed_s)
        )

    def _add_pages(self, record: PublishedResult, comparison: Comparison, folder: Path) -> None:
        page = html.render(
            report_page.make(comparison),
            above=self.frame.bar_of(ways(record), styled=True),
            draw=self.draw,
            library_at=place.ABOVE + place.LIBRARY,
        )
        files = {
            place.COMPARISON: json_document.render(comparison).encode(),
            place.RECORD: place.as_json(record),
            place.INDEX: page.encode(),
        }
        for name, content in files.items():
            self.publication.add(folder / name, content)


def ways(record: PublishedResult) -> list[ViewLinks]:
    """The links above a report."""
    above = [ViewLink(words="Results", link=place.ABOVE + place.INDEX)]
    if record.farm:
        farm = f"{place.ABOVE}{place.farm_folder(record.farm)}/{place.INDEX}"
        above.append(ViewLink(words="Farm", link=farm))
    own = [ViewLink(words="Report", link=place.INDEX, here=True)]
    if raw := raw_link(record):
        own.append(raw)
    own.append(ViewLink(words="Verdicts as JSON", link=place.COMPARISON))
    return [
        ViewLinks(name="", ways=tuple(above)),
        ViewLinks(name=record.plan, ways=tuple(own)),
    ]


def raw_link(record: PublishedResult, folder: str = "") -> ViewLink | None:
    """The link to a result's raw files; `folder`: from the page to the result's, with a slash."""
    if not record.raw_bytes:
        return None
    words = f"Raw data, {number.size_bytes(record.raw_bytes)}"
    return ViewLink(words=words, link=folder + place.raw_name(record.key))


def line(record: PublishedResult) -> listing.ResultLine:
    """A result in the list of the published folder."""
    folder = f"{place.result_folder(record.key)}/"
    more = f" and {len(record.steps) - STEPS_MAX} more" if len(record.steps) > STEPS_MAX else ""
    return listing.ResultLine(
        result=record,
        link=folder + place.INDEX,
        when=listing.day(record.changed_s),
        blocks=record.blocks,
        headline=record.headline,
        steps=", ".join(record.steps[:STEPS_MAX]) + more,
        raw=raw_link(record, folder),
    )
