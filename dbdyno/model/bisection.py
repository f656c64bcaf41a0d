"""The search of a commit that changed a result: what is asked, and what was measured so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dbdyno.model.json import Natural
from dbdyno.model.metric.primary import called
from dbdyno.model.size import Capacity

SHORT_DIGITS = 10


@dataclass(frozen=True, kw_only=True)
class Commit:
    """A commit of a repository."""

    sha: str  # all 40 digits
    subject: str  # the first line of its message

    @property
    def short(self) -> str:
        """Its first digits, as people write it."""
        return self.sha[:SHORT_DIGITS]


@dataclass(frozen=True, kw_only=True)
class Question:
    """The search that is asked for; a search that goes on has the same one."""

    command: str
    repository: str  # its folder
    commits: tuple[Commit, ...]  # the good one first, the bad one last
    engine: str
    flags: str  # by which each commit is compiled
    options: tuple[str, ...]  # of configure or cmake
    workload: str
    step: str  # the measured one
    metric: str  # its headline
    config: tuple[str, ...]  # presets: each side takes the first for its version
    by: str  # what tells good from bad: "throughput", that is the headline, or "cpu"
    smallest: float  # the log ratio from which on a change is one
    minutes: float  # of one test, by which steps and tables are sized
    host: Capacity
    scatter: float | None  # of fixed work on the host, as a share
    processor: Natural | None = None  # that one client and the server share; None: any

    @property
    def compared(self) -> str:
        """What tells good from bad, in words."""
        return "CPU per operation" if self.by == "cpu" else called(self.metric)

    @property
    def last(self) -> int:
        """The index of the bad commit."""
        return len(self.commits) - 1


@dataclass(frozen=True, kw_only=True)
class CommitTest:
    """All blocks so far of one commit beside the good one."""

    index: Natural  # of the commit
    log_ratio: float  # ln(this commit / the good one)
    se: float
    blocks: Natural  # that have both
    asked: Natural  # that the plan of the test has
    folder: str  # its results, below the search's folder


@dataclass(frozen=True, kw_only=True)
class Bisection:
    """A search as far as it has come."""

    question: Question
    tests: tuple[CommitTest, ...] = ()  # in the order in which commits were first tested
    skipped: Mapping[int, str] = field(default_factory=dict)  # by index, with the reason
    built: Natural = 0  # commits that were compiled, not found in the cache
    build_s: float = 0.0
    test_s: float = 0.0

    @property
    def took_s(self) -> float:
        """The time of all commands of this search together."""
        return self.build_s + self.test_s
