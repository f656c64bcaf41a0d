"""What all pages of `dyno serve` are made from: the results, and what was read of them before."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from threading import Lock

from starlette.exceptions import HTTPException
from starlette.requests import Request

from dbdyno.analysis.across import work
from dbdyno.analysis.across.side import Side
from dbdyno.analysis.across.values import Files, Values
from dbdyno.analysis.across.work import Index, Trace, Work
from dbdyno.model.error import ResultError
from dbdyno.model.flame import Draw
from dbdyno.serve.folders import Folders, ListedResult
from dbdyno.serve.frame import Frame
from dbdyno.serve.judged import JudgedResults
from dbdyno.store import Results
from dbdyno.store.glance import Stamp


@dataclass
class _CachedResult:
    """The kept parts of one result, valid as long as its stamp is."""

    stamp: Stamp
    index: Index | None  # None: it cannot be read
    values: dict[tuple[str, str], Values | None] = field(default_factory=dict)
    sides: dict[str, Side] = field(default_factory=dict)


class Archive:
    """Reads what histories need of results; one thing is read at a time, whoever asks."""

    def __init__(self) -> None:
        self._making = Lock()
        self._files = Files()
        self._kept: dict[str, _CachedResult] = {}
        self._works: dict[str, Work] = {}

    def indexes(self, results: Iterable[ListedResult]) -> list[Index]:
        """The indexes of these results, without those that cannot be read."""
        return [index for result in results if (index := self.index(result)) is not None]

    def index(self, result: ListedResult) -> Index | None:
        """The index of a result; None where it cannot be read."""
        with self._making:
            kept = self._kept.get(result.key)
            if kept is None or kept.stamp != result.stamp:
                kept = _CachedResult(stamp=result.stamp, index=self._read(result))
                self._kept[result.key] = kept
            return kept.index

    def _read(self, result: ListedResult) -> Index | None:
        try:
            return work.index(result.key, Results.open(result.path), self._works)
        except (ResultError, OSError):
            return None

    def values(self, index: Index, trace: Trace) -> Values | None:
        """An arm's figures in a step; None where its files are damaged."""
        with self._making:
            known = self._kept[index.name].values
            key = (trace.arm, trace.work.key)
            if key not in known:
                known[key] = self._files.values(index, trace)
            return known[key]

    def side(self, index: Index, arm: str) -> Side:
        """An arm as it ran. Raises KeyError where there is none."""
        with self._making:
            known = self._kept[index.name].sides
            if arm not in known:
                known[arm] = self._files.side(index, arm)
            return known[arm]


@dataclass(frozen=True)
class PageContext:
    """The parts that all pages share."""

    folders: Folders
    frame: Frame = field(default_factory=Frame)
    judged: JudgedResults = field(default_factory=JudgedResults)
    archive: Archive = field(default_factory=Archive)
    draw: Draw | None = None  # draws a report's flame graphs

    def result(self, request: Request) -> ListedResult:
        """The result that an address names. Raises HTTPException where there is none."""
        found = self.folders.result(request.path_params["key"])
        if found is None:
            raise HTTPException(404, "There is no such result: was it removed or renamed?")
        return found
