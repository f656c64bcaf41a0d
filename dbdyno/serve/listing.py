"""The list of all results, and the search in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from dbdyno.parts import number
from dbdyno.serve.folders import Folders, ListedResult
from dbdyno.serve.frame import Frame
from dbdyno.serve.judged import JudgedResults, VerdictHeadline


@dataclass(frozen=True, kw_only=True)
class ResultLine:
    """A result in the list."""

    result: ListedResult
    when: str
    blocks: str
    headline: VerdictHeadline | None  # None: it is asked for when the line is on the screen


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


def counted(shown: Sequence[ListedResult], every: Sequence[ListedResult]) -> str:
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
    return ResultLine(
        result=result,
        when=day(result.changed_s),
        blocks=blocks(result),
        headline=judged.known(result),
    )
