"""How a family's servers are counted under callgrind: what marks a window, what is left out."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass

from dbdyno.model import Address
from dbdyno.model.plan import COUNTED_S, COUNTED_WRITES_S
from dbdyno.model.work import MARGIN

Hold = Callable[[Address], AbstractContextManager[None]]
"""Holds still, from its beginning to its end, what a server does beside a step."""


Statements = Callable[[int], tuple[str, ...]]
"""By a build's version_num: statements of which the last one's rows are counters and values."""


@dataclass(frozen=True, kw_only=True)
class Background:
    """How processes, or threads, of the background are told apart."""

    kinds: Mapping[str, str]  # by a function, which counts with all that it calls: what it is for
    # By which processes read their settings anew, when they are told to by SIGHUP; "": threads.
    function: str = ""
    # Of threads: functions of those that serve sessions, or take connections. What others do that
    # no function of `kinds` tells is theirs, too.
    sessions: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class CountMethod:
    """What counts of a family's servers rest on."""

    mark: str  # a statement whose execution enters `function` once
    function: str  # exported, so that stripped programs have it; callgrind's wildcards go
    left_out: tuple[str, ...]  # functions whose work depends on real time; none calls another
    settings: Mapping[str, str]  # that hold work still, where an arm names none of them
    refused: Mapping[str, str]  # a setting and the value that a counted server cannot have
    unlimited: tuple[str, ...]  # by which a session's statements may take any time
    timeouts: Mapping[str, float]  # settings that end something by time; seconds of a bare number
    counted_s: float = COUNTED_S  # of the native rate, so many operations are counted
    counted_writes_s: float = COUNTED_WRITES_S  # the same of steps that write
    warmup_writes: int = 0  # the least operations before the window of such a step
    start_s: float  # about what a server's start takes under the counter, its tables read
    threads: bool  # whether one process serves all connections, with a thread for each
    counters: Statements  # what the session asks its server for, around a window
    log_bytes: str  # the counter of the log's bytes, in lower case; of the pages likewise
    pages_asked: str
    pages_read: str  # of those that were not in the server's cache
    pages_dirtied: str | None = None  # None: the server counts none, and `dirties` are told apart
    dirties: tuple[str, ...] = ()  # functions that mark a page as changed
    worker: str | None = None  # the function that a session's parallel worker enters first
    background: Background | None = None  # None: its work is not told apart
    margin_of_writes: float = MARGIN  # below it, steps that write do the same work
    hold: Hold | None = None  # keeps background work from a step that writes, where real time rules

    def refused_of(self, settings: Mapping[str, str]) -> list[str]:
        """The names of settings whose values a counted server cannot have."""
        return [name for name, value in self.refused.items() if settings.get(name) == value]
