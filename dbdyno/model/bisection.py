"""The search of a commit that changed a result: what is asked, and what was measured so far."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from dbdyno.model.json import Natural
from dbdyno.model.metric.primary import called
from dbdyno.model.size import Capacity
from dbdyno.model.work import WorkComparison

SHORT_DIGITS = 10


def short(commit: str) -> str:
    """The first digits of a commit, as people write it."""
    return commit[:SHORT_DIGITS]


@dataclass(frozen=True, kw_only=True)
class Commit:
    """A commit of a repository."""

    sha: str  # all 40 digits
    subject: str  # the first line of its message

    @property
    def short(self) -> str:
        """Its first digits."""
        return short(self.sha)


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
    by: str  # what tells good from bad: "throughput", that is the headline, "undisturbed", "cpu" …
    smallest: float  # the log ratio from which on a change is one
    minutes: float  # of one test, by which steps and tables are sized
    host: Capacity
    processor: Natural | None = None  # that one client and the server share; None: any
    steps: tuple[str, ...] = ()  # by instructions: those that are counted, `step` the first
    architecture: str = ""  # of the processor, as uname says it; "": an older version asked
    every: bool = False  # by instructions: whether all commits of a change are looked for

    @property
    def counts(self) -> bool:
        """Whether instructions are counted, and no time is measured."""
        return self.by == "instructions"

    @property
    def compared(self) -> str:
        """What tells good from bad, in words."""
        if self.counts:
            return "work"
        if self.by == "undisturbed":
            return "undisturbed time"
        return "CPU per operation" if self.by == "cpu" else called(self.metric)

    @property
    def last(self) -> int:
        """The index of the bad commit."""
        return len(self.commits) - 1


@dataclass(frozen=True, kw_only=True)
class CommitTest:
    """All blocks so far of one commit beside the good one, or the one before it."""

    index: Natural  # of the commit
    log_ratio: float  # ln(this commit / the one beside it)
    se: float
    blocks: Natural  # that have both
    asked: Natural  # that the plan of the test has
    folder: str  # its results, below the search's folder
    before: Natural = 0  # the commit that it is beside
    layout: Natural = 0  # with which both are built; 0: as all commits are

    @property
    def place(self) -> tuple[int, int, int]:
        """What is tested."""
        return self.index, self.before, self.layout


@dataclass(frozen=True, kw_only=True)
class StepWork:
    """The work of an operation of a step, by a commit."""

    instructions: float  # the median of its counts
    counts: tuple[float, ...]
    operations: Natural  # counted each time
    warmup: Natural  # operations before them
    margin: float  # below it two counts of the step are the same work
    writes: bool = False  # whether the step does: its counts scatter more
    # The golden copies that its counts began from: each its key, and when it was made, if here.
    copies: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CommitCount:
    """What a commit's server did, counted."""

    index: Natural  # of the commit
    steps: Mapping[str, StepWork]
    folders: tuple[str, ...]  # of each count by a fresh server, below the search's folder
    elsewhere: Natural = 0  # how many counts more were made, whose folders are not here

    @property
    def many(self) -> int:
        """How often it was counted."""
        return len(self.folders) + self.elsewhere


@dataclass(frozen=True, kw_only=True)
class CommitChange:
    """A commit that changed the work of steps, beside the one that was counted before it."""

    before: int
    commit: int  # by index; those between the two cannot be counted, and may have done it
    work: WorkComparison


@dataclass(frozen=True, kw_only=True)
class Bisection:
    """A search as far as it has come."""

    question: Question
    tests: tuple[CommitTest, ...] = ()  # in the order in which commits were first tested
    counted: tuple[CommitCount, ...] = ()  # by instructions, in place of tests
    skipped: Mapping[int, str] = field(default_factory=dict)  # by index, with the reason
    built: Natural = 0  # commits that were compiled, not found in the cache
    build_s: float = 0.0
    test_s: float = 0.0

    @property
    def counts(self) -> Mapping[int, CommitCount]:
        """What is counted of commits, by their indexes; the good one's is 0."""
        return {count.index: count for count in self.counted}

    @property
    def took_s(self) -> float:
        """The time of all commands of this search together."""
        return self.build_s + self.test_s
