"""Publishes results and farms: writes what is new of them, and an index, a feed and a badge of all.

What was published earlier stays, and so does whatever else lies in the folder. All files appear
together, or none does.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from dbdyno import __version__
from dbdyno.model.error import DynoError, ExportError, ResultError
from dbdyno.model.flame import Draw
from dbdyno.report import vega
from dbdyno.report.write import Publication
from dbdyno.serve import farm as farms
from dbdyno.serve import listing
from dbdyno.serve.farm import FarmFolder
from dbdyno.serve.folders import Folders, ListedResult
from dbdyno.serve.frame import FEED, STYLE, Frame, ViewLink, ViewLinks
from dbdyno.serve.published import badge, feed, place
from dbdyno.serve.published import farm as published_farm
from dbdyno.serve.published.farm import FileAddresses, PublishedFarm
from dbdyno.serve.published.feed import FeedEntry
from dbdyno.serve.published.place import PublishedMark
from dbdyno.serve.published.result import ResultPublisher, line, raw_link
from dbdyno.serve.record import PublishedResult

FINDINGS_MAX = 3
"""So many findings of a farm stand in the index."""


@dataclass(kw_only=True)
class PublishedFolder:
    """What a published folder has now."""

    results: dict[str, PublishedResult]  # by their keys
    farms: dict[str, PublishedFarm]
    damaged: dict[str, str]  # by their folders, why records of earlier ones cannot be read
    renewed: int = 0  # results whose pages were written now
    problems: list[str] = field(default_factory=list)  # what was left out, and why

    @property
    def counts(self) -> str:
        """`2 results, 1 farm`."""
        alone = [result for result in self.results.values() if not result.farm]
        counts = (counted(len(alone), "result"), counted(len(self.farms), "farm"))
        return ", ".join(filter(None, counts))


def publish(
    roots: Sequence[Path], to: Path, *, raw: bool = True, draw: Draw | None = None
) -> PublishedFolder:
    """Publishes the results and farms below some folders into the folder `to`.

    `raw`: with raw data beside; `draw` draws flame graphs. Raises DynoError in one line where
    nothing is to be published, where `to` holds other things, or where it cannot be written.
    """
    mark = place.mark(to)
    folders, found = Folders(roots), farms.places(roots)
    listed = folders.found()
    with place.alone(to), Publication() as publication:
        made = _earlier(to)
        made.problems += folders.damaged.values()
        frame = Frame()
        publisher = FolderPublisher(
            to=to,
            publication=publication,
            frame=frame,
            results=ResultPublisher(
                to=to, publication=publication, frame=frame, raw=raw, draw=draw
            ),
            published=made,
            feed=feed.new_id(listed) if mark is None else mark.feed,
        )
        publisher.add_shared()
        for result in listed:
            if not any(result.path.is_relative_to(farm.path) for farm in found):
                publisher.add_result(result)
        for farm in found:
            publisher.add_farm(farm, listed)
        written = {place.result_folder(key) for key in made.results}
        written |= {place.farm_folder(key) for key in made.farms}
        made.problems += [line for at, line in made.damaged.items() if at not in written]
        if not made.results and not made.farms:
            names = ", ".join(f"`{root}`" for root in roots)
            why = made.problems[0] if made.problems else f"there is no result in {names}"
            raise ExportError(f"nothing to publish: {why}")
        publisher.add_overviews()
    return made


def _earlier(to: Path) -> PublishedFolder:
    """What the folder has had so far."""
    results = place.records(to, PublishedResult, f"{place.RESULTS}/*/{place.RECORD}")
    known = place.records(to, PublishedFarm, f"{place.FARMS}/*/{place.FARM_RECORD}")
    return PublishedFolder(
        results={
            result.key: result
            for result in results.read
            if (to / place.result_folder(result.key)).is_dir()
        },
        farms={
            farm.key: farm for farm in known.read if (to / place.farm_folder(farm.key)).is_dir()
        },
        damaged={**results.damaged, **known.damaged},
    )


@dataclass(frozen=True, kw_only=True)
class FarmLine:
    """A farm in the index."""

    record: PublishedFarm
    link: str
    when: str
    findings: tuple[ViewLink, ...]


@dataclass(frozen=True, kw_only=True)
class FolderPublisher:
    """Adds pages to a publication."""

    to: Path
    publication: Publication
    frame: Frame
    results: ResultPublisher
    published: PublishedFolder
    feed: str  # its identifier

    def add(self, name: str, content: str | bytes) -> None:
        """Adds a file, by its place in the folder."""
        self.publication.add(
            self.to / name, content.encode() if isinstance(content, str) else content
        )

    def add_shared(self) -> None:
        """Adds the mark, first of all, and what pages share."""
        mark = PublishedMark(dyno=__version__, feed=self.feed)
        self.add(place.MARK, place.as_json(mark))
        self.add(STYLE, self.frame.css)
        self.add(place.LIBRARY, vega.library())

    def add_result(self, result: ListedResult, farm: str = "") -> bool:
        """Adds a result; whether it is there now, as it is or as it was before it was damaged."""
        before = self.published.results.get(result.key)
        try:
            record = self.results.add(result, before, farm)
        except ExportError:  # the folder takes no more
            raise
        except DynoError as error:
            self.published.problems.append(str(error))
            return before is not None
        self.published.renewed += record is not before
        self.published.results[result.key] = record
        if record.without_raw and self.results.raw:
            self.published.problems.append(f"{result.path}: without raw data: {record.without_raw}")
        return True

    def add_farm(self, farm: FarmFolder, listed: Sequence[ListedResult]) -> None:
        """Adds a farm, and the results that its cells lead to."""
        try:
            overview = farms.read(farm)
        except ResultError as error:
            self.published.problems.append(str(error))
            return
        key, wanted = farm.key or farm.name, published_farm.results(overview)
        own = {
            folder: replace(result, key=f"{key}/{folder}")
            for result in listed
            if result.path.is_relative_to(farm.path)
            and (folder := result.path.relative_to(farm.path).as_posix()) in wanted
        }
        reports = {
            folder: f"{place.ABOVE}{place.result_folder(result.key)}/{place.INDEX}"
            for folder, result in own.items()
            if self.add_result(result, key)
        }
        links = FileAddresses(reports=reports)
        record = published_farm.record(overview, key, links)
        folder = place.farm_folder(record.key)
        for name, text in published_farm.pages(overview, links, self.frame):
            self.add(f"{folder}/{name}", text)
        self.add(f"{folder}/{place.FARM_RECORD}", place.as_json(record))
        self.published.farms[record.key] = record

    def add_overviews(self) -> None:
        """Adds what tells of everything: the badge, the feed, and last the index."""
        results = newest_first(self.published.results.values())
        known = newest_first(self.published.farms.values())
        alone = [result for result in results if not result.farm]
        newest = badge.of(alone or results)
        self.add(place.BADGE, badge.svg(self.frame, newest))
        entries = [*map(result_entry, alone), *finding_entries(known)]
        self.add(FEED, feed.atom(self.feed, entries, home=place.INDEX, own=FEED))
        body = self.frame.filled(
            "published.html.j2",
            lines=list(map(line, alone)),
            farms=list(map(farm_line, known)),
            badge=place.BADGE,
            badge_words=newest.words,
            count=self.published.counts,
            feed=FEED,
        )
        here = ViewLink(words="Results", link=place.INDEX, here=True)
        ways = ViewLinks(name="", ways=(here, ViewLink(words="Feed", link=FEED)))
        self.add(place.INDEX, self.frame.file("Results", body, [ways], place="dyno", above=""))


Record = TypeVar("Record", PublishedResult, PublishedFarm)


def newest_first(records: Iterable[Record]) -> list[Record]:
    """Results or farms, the last changed first."""
    return sorted(records, key=lambda record: (-record.changed_s, record.key))


def counted(count: int, word: str) -> str:
    """`1 result`, `2 farms`; nothing of none."""
    return f"{count:,} {word}{'' if count == 1 else 's'}" if count else ""


def farm_line(record: PublishedFarm) -> FarmLine:
    """A farm in the index, with its newest findings."""
    folder = place.farm_folder(record.key)
    newest = record.findings[:FINDINGS_MAX]
    return FarmLine(
        record=record,
        link=f"{folder}/{place.INDEX}",
        when=listing.day(record.changed_s),
        findings=tuple(
            ViewLink(words=finding.title, link=f"{folder}/{finding.page}") for finding in newest
        ),
    )


def result_entry(record: PublishedResult) -> FeedEntry:
    """A result in the feed."""
    folder = f"{place.result_folder(record.key)}/"
    raw = raw_link(record, folder)
    others = ", ".join(record.arms[1:])
    arms = f" ({others} against {record.arms[0]})" if others else ""
    return FeedEntry(
        name=f"result {record.key}",
        title=f"{record.plan}: {record.told()}",
        summary=f"{', '.join(record.workloads)}{arms}: {record.told()}; {record.blocks}",
        link=folder + place.INDEX,
        changed_s=record.changed_s,
        raw=None if raw is None else (raw.link, record.raw_bytes),
    )


def finding_entries(known: Sequence[PublishedFarm]) -> Iterator[FeedEntry]:
    """The findings of all farms in the feed."""
    for farm in known:
        for finding in farm.findings:
            yield FeedEntry(
                name=f"finding {farm.key} {finding.name}",
                title=f"{farm.name}: {finding.title}",
                summary=finding.label,
                link=f"{place.farm_folder(farm.key)}/{finding.page}",
                changed_s=finding.changed_s,
            )
