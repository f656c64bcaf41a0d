"""The lines of an atlas: what a search by counts knows, small enough to keep in the repository.

A file is a search: which commits, how they are compiled, and a line of JSON for each count, each
commit that cannot be counted, and each change with its functions. A search goes on from its lines
where no results are, on a machine whose counts agree with them.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import msgspec
from msgspec import Struct, structs

from dbdyno.model.bisection import Bisection, Commit, CommitCount, Question, StepWork
from dbdyno.model.size import Capacity
from dbdyno.model.work import WorkComparison
from dbdyno.run import bisect_counts as runner
from dbdyno.store.file import write_atomically

DIGITS = 2
"""Of the instructions of an operation."""


class StepLine(Struct, frozen=True, kw_only=True):
    """What all counts of a step have in common."""

    operations: int
    warmup: int
    margin: float
    writes: bool


class SearchLine(Struct, frozen=True, kw_only=True, tag="search", tag_field="line"):
    """The first line: the search. What it has by default is not known before the first count."""

    release: str  # whose development it is
    good: str
    bad: str
    smallest: float  # percent
    margins: Mapping[str, float] = {}  # by step, where counts of a commit differ by more than usual
    between: int = 0  # commits after the good one
    serving: int = 0  # those of them that may change the server
    made: Mapping[str, str] = {}  # what counts of it have in common: flags, data, processor …
    steps: Mapping[str, StepLine] = {}


class CountLine(Struct, frozen=True, kw_only=True, tag="count", tag_field="line"):
    """A count of a commit."""

    commit: str
    place: int  # among the commits that may change the server; 0 is the good one
    dated: str
    title: str
    copies: tuple[str, ...]  # the keys of the data that the commit's counts began from
    instructions: Mapping[str, float]  # of an operation, by step


class SkipLine(Struct, frozen=True, kw_only=True, tag="skip", tag_field="line"):
    """A commit that cannot be counted."""

    commit: str
    place: int
    reason: str


class ChangeLine(Struct, frozen=True, kw_only=True, tag="change", tag_field="line"):
    """What is known of a change beside its counts."""

    before: str
    commit: str
    released: bool  # whether the release notes name the commit
    functions: Mapping[str, tuple[tuple[str, float], ...]]  # by step, with their instructions more


AtlasLine = SearchLine | CountLine | SkipLine | ChangeLine


@dataclass(frozen=True, kw_only=True)
class Atlas:
    """The lines of a file."""

    search: SearchLine
    counts: Sequence[CountLine] = ()
    skips: Sequence[SkipLine] = ()
    changes: Sequence[ChangeLine] = ()

    def change(self, before: str, commit: str) -> ChangeLine | None:
        """The line of a change; None: its functions are not known yet."""
        pairs = ((line.before, line.commit) for line in self.changes)
        known = dict(zip(pairs, self.changes, strict=True))
        return known.get((before, commit))

    @property
    def lines(self) -> Iterator[AtlasLine]:
        """All of them, in the order of the commits."""
        yield self.search
        of_commits: list[CountLine | SkipLine] = [*self.counts, *self.skips]
        yield from sorted(of_commits, key=lambda line: line.place)
        yield from self.changes


def read(path: Path) -> Atlas:
    """The lines of a file. Raises msgspec.ValidationError: a line is none of an atlas."""
    lines = [
        msgspec.json.decode(text, type=AtlasLine) for text in path.read_bytes().splitlines() if text
    ]
    (search,) = (line for line in lines if isinstance(line, SearchLine))
    return Atlas(
        search=search,
        counts=[line for line in lines if isinstance(line, CountLine)],
        skips=[line for line in lines if isinstance(line, SkipLine)],
        changes=[line for line in lines if isinstance(line, ChangeLine)],
    )


def write(path: Path, atlas: Atlas) -> None:
    """The lines into a file, which holds the old ones or the new ones."""
    write_atomically(path, b"".join(msgspec.json.encode(line) + b"\n" for line in atlas.lines))


# --- A search as lines ------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class History:
    """What the repository says of the commits of a search."""

    between: int  # after the good one
    dates: Mapping[str, str]
    released: tuple[str, ...] = ()  # how the commits begin that the release notes name


def atlas_of(
    search: Bisection, asked: SearchLine, history: History, changes: Sequence[ChangeLine]
) -> Atlas:
    """A search as far as it came."""
    commits = search.question.commits
    good = search.counts.get(0)
    steps = {
        name: StepLine(
            operations=step.operations, warmup=step.warmup, margin=step.margin, writes=step.writes
        )
        for name, step in (good.steps if good else {}).items()
    }
    skips = [
        SkipLine(commit=commits[place].sha, place=place, reason=reason)
        for place, reason in search.skipped.items()
    ]
    return Atlas(
        search=structs.replace(
            asked, between=history.between, serving=search.question.last, steps=steps
        ),
        counts=[line for count in search.counted for line in of_commit(search, count, history)],
        skips=skips,
        changes=changes,
    )


def of_commit(search: Bisection, count: CommitCount, history: History) -> Iterator[CountLine]:
    """The lines of a commit, one for each count."""
    commit = search.question.commits[count.index]
    copies = sorted({key for step in count.steps.values() for key in keys_of(step)})
    for number in range(count.many):
        yield CountLine(
            commit=commit.sha,
            place=count.index,
            dated=history.dates[commit.sha],
            title=commit.subject,
            copies=tuple(copies),
            instructions={
                name: round(step.counts[number], DIGITS) for name, step in count.steps.items()
            },
        )


def keys_of(step: StepWork) -> Iterator[str]:
    """The keys of the copies that a step's counts began from, without when each was made."""
    return (copy.partition(" ")[0] for copy in step.copies)


def change_of(
    before: Commit, commit: Commit, work: WorkComparison, history: History, most: int = 3
) -> ChangeLine:
    """A change with the functions of each step that changed most."""
    return ChangeLine(
        before=before.sha,
        commit=commit.sha,
        released=commit.sha.startswith(history.released) if history.released else False,
        functions={
            change.step: tuple(
                (function.function, round(function.change)) for function in change.changed[:most]
            )
            for change in work.changes
        },
    )


# --- Lines as a search ------------------------------------------------------------------------


def counted(atlas: Atlas) -> Iterator[CommitCount]:
    """The commits that lines have counts of, none of which has results here."""
    by_place: dict[int, list[CountLine]] = {}
    for line in atlas.counts:
        by_place.setdefault(line.place, []).append(line)
    for place, lines in by_place.items():
        steps = {name: step_of(name, step, lines) for name, step in atlas.search.steps.items()}
        yield CommitCount(index=place, steps=steps, folders=(), elsewhere=len(lines))


def step_of(name: str, step: StepLine, lines: Iterable[CountLine]) -> StepWork:
    """A step's work over the counts of a commit."""
    lines = tuple(lines)
    counts = tuple(line.instructions[name] for line in lines)
    return StepWork(
        instructions=median(counts),
        counts=counts,
        operations=step.operations,
        warmup=step.warmup,
        margin=step.margin,
        writes=step.writes,
        copies=lines[-1].copies,
    )


def differing(count: CommitCount) -> list[str]:
    """The steps whose counts of a commit do not agree, and differ by more than their margin."""
    return [
        name
        for name, step in count.steps.items()
        if runner.agreed(step) is None and max(step.counts) > min(step.counts) * (1 + step.margin)
    ]


def begun(search: Bisection, atlas: Atlas) -> Bisection:
    """A search with what lines know and its own results do not."""
    places = search.counts.keys()
    more = tuple(count for count in counted(atlas) if count.index not in places)
    skipped = {line.place: line.reason for line in atlas.skips}
    return replace(search, counted=(*search.counted, *more), skipped={**skipped, **search.skipped})


def as_search(atlas: Atlas) -> Bisection:
    """The search that lines tell of; commits of which they have no count are without a name."""
    known = {line.place: Commit(sha=line.commit, subject=line.title) for line in atlas.counts}
    known |= {line.place: Commit(sha=line.commit, subject="") for line in atlas.skips}
    bare = Commit(sha="", subject="")
    question = Question(
        command="",
        repository="",
        commits=tuple(known.get(place, bare) for place in range(atlas.search.serving + 1)),
        engine="postgres",
        flags="",
        options=(),
        workload="",
        step="",
        metric="",
        config=(),
        by="instructions",
        smallest=math.log1p(atlas.search.smallest / 100),
        minutes=1.0,
        host=Capacity(cores=1, memory_bytes=0, free_disk_bytes=0),
        steps=tuple(atlas.search.steps),
        every=True,
    )
    return begun(Bisection(question=question), atlas)
