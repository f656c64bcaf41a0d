"""Indexes and figures of results, kept in memory until their files change. Nothing is written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from threading import Lock

from dbdyno.analysis.across import work
from dbdyno.analysis.across.side import Side
from dbdyno.analysis.across.values import Files, Values
from dbdyno.analysis.across.work import Index, Trace, Work
from dbdyno.model.error import ResultError
from dbdyno.serve.folders import Result
from dbdyno.store import Results
from dbdyno.store.glance import Stamp


@dataclass
class _Kept:
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
        self._kept: dict[str, _Kept] = {}
        self._works: dict[str, Work] = {}

    def indexes(self, results: Iterable[Result]) -> list[Index]:
        """The indexes of these results, without those that cannot be read."""
        return [index for result in results if (index := self.index(result)) is not None]

    def index(self, result: Result) -> Index | None:
        """The index of a result; None where it cannot be read."""
        with self._making:
            kept = self._kept.get(result.key)
            if kept is None or kept.stamp != result.stamp:
                kept = _Kept(stamp=result.stamp, index=self._read(result))
                self._kept[result.key] = kept
            return kept.index

    def _read(self, result: Result) -> Index | None:
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
