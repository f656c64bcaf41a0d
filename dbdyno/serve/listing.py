"""The list of all results, and the search in it."""

from collections.abc import Sized
from dataclasses import dataclass
from datetime import UTC, datetime

from dbdyno.parts import number
from dbdyno.serve.folders import Folders, ListedResult
from dbdyno.serve.frame import Frame, ViewLink, address
from dbdyno.serve.judged import JudgedResults, VerdictHeadline
from dbdyno.serve.record import PublishedResult


@dataclass(frozen=True, kw_only=True)
class ResultLine:
    """A result in the list."""

    result: ListedResult | PublishedResult
    link: str
    when: str
    blocks: str
    headline: VerdictHeadline | None
    asks: str = ""  # the address that gives a headline that is not known yet
    running: bool = False
    words: str = ""  # all that a search looks at
    steps: str = ""
    raw: ViewLink | None = None


def page(frame: Frame, folders: Folders, judged: JudgedResults, query: str) -> str:
    """All results that have every word of the query, the newest first."""
    every = folders.found()
    shown = [result for result in every if has_words(result.words, query)]
    body = frame.filled(
        "list.html.j2",
        lines=[_line(result, judged) for result in shown],
        query=query,
        count=counted(shown, every),
        empty=not every,
    )
    return frame.page("Results", body, at="results", scripts=("list.js",))


def has_words(text: str, query: str) -> bool:
    """Whether a text in small letters has every word of a query."""
    return all(word in text for word in query.lower().split())


def counted(shown: Sized, every: Sized) -> str:
    """12 results, or 3 of 12 results."""
    whole = f"{len(every):,} result{'' if len(every) == 1 else 's'}"
    return whole if len(shown) == len(every) else f"{len(shown):,} of {whole}"


def day(seconds: float) -> str:
    """Unix time as 2026-03-01 14:05 UTC, without the zone."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")


def blocks(result: ListedResult) -> str:
    """The complete blocks: 2 of 6 blocks, 3 blocks."""
    if result.until_decided or result.complete >= result.planned:
        return number.blocks(result.complete)
    return f"{result.complete} of {number.blocks(result.planned)}"


def _line(result: ListedResult, judged: JudgedResults) -> ResultLine:
    known, running = judged.known(result), result.state == "running"
    return ResultLine(
        result=result,
        link=address("live" if running else "report", result),
        when=day(result.changed_s),
        blocks=blocks(result),
        headline=known,
        asks=address("headline", result) if known is None and result.complete else "",
        running=running,
        words=result.words,
    )
