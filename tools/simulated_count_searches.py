"""How often a search by counts errs, by simulation: `python tools/simulated_count_searches.py`.

    python tools/simulated_count_searches.py --write docs/bisect.md

writes the table anew between the two marks of the page; without --write it prints it. The searches
go by the code of `dyno bisect --by instructions`; counts are drawn in place of servers. Some of
these kinds are tests (tests/test_bisect_counts.py).
"""

import math
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

import marked_page
from dbdyno.model.bisection import Bisection, Commit, CommitCount, Question, StepWork
from dbdyno.model.size import Capacity
from dbdyno.run import bisect_counts
from table_text import header, intro, row

TOOL = "tools/simulated_count_searches.py"
SEARCHES = 1000
COMMITS = 20
INSTRUCTIONS = 40_000.0
SCATTER = 0.00005
"""Of a count: ten repeats each of twelve operations had 0.006 % at most."""
STEP = "point-query"
QUESTION = Question(
    command="dyno bisect",
    repository="/source",
    commits=tuple(Commit(sha=f"{number:040x}", subject="") for number in range(COMMITS + 1)),
    engine="postgres",
    flags="-O2",
    options=(),
    workload="sysbench",
    step=STEP,
    metric="qps",
    config=(),
    by="instructions",
    smallest=math.log1p(0.001),
    minutes=1.0,
    host=Capacity(cores=2, memory_bytes=1 << 30, free_disk_bytes=1 << 30),
    steps=(STEP,),
)


@dataclass(frozen=True, kw_only=True)
class CountKind:
    """Searches of one kind; log ratios."""

    words: str
    changes: Mapping[int, float] = field(default_factory=dict)  # by commit
    change: float = 0.0  # of a commit that is drawn
    off: float = 0.0  # share of counts that are off …
    off_by: float = 0.003  # … by this
    signed: bool = False  # whether some are off to the other side
    every: bool = False


DRIFT = dict.fromkeys(range(1, COMMITS + 1), 0.0002)
KINDS = (
    CountKind(words="nothing changed"),
    CountKind(words="each commit +0.02 %", changes=DRIFT),
    CountKind(words="each commit +0.02 %, `--all`", changes=DRIFT, every=True),
    CountKind(words="one commit +0.3 %", change=0.003),
    CountKind(words="one commit +0.15 %", change=0.0015),
    CountKind(words="nothing changed; 5 % of counts off by +0.3 %", off=0.05),
    CountKind(words="nothing changed; 5 % off by ±0.3 %", off=0.05, signed=True),
    CountKind(words="nothing changed, `--all`; 5 % off by +0.3 %", off=0.05, every=True),
    CountKind(words="one commit +0.3 %; 5 % off by +0.3 %", change=0.003, off=0.05),
    CountKind(words="one commit +0.3 %; 5 % off by ±0.3 %", change=0.003, off=0.05, signed=True),
    CountKind(
        words="one commit +0.3 %, `--all`; 5 % off by ±0.3 %",
        change=0.003,
        off=0.05,
        signed=True,
        every=True,
    ),
    CountKind(words="each commit +0.02 %; 5 % off by ±0.3 %", changes=DRIFT, off=0.05, signed=True),
)


@dataclass(frozen=True, kw_only=True)
class CountSearch:
    """A search that is over."""

    named: tuple[int, ...]
    truth: tuple[int, ...]  # the commits that changed the work by the smallest change that counts
    sure: bool
    counts: int
    builds: int

    @property
    def is_wrong(self) -> bool:
        """Whether it names a commit that changed nothing, or is sure of none where one did."""
        return bool(set(self.named) - set(self.truth)) or (
            self.sure and not self.named and bool(self.truth)
        )


def searches(kind: CountKind, count: int) -> Iterator[CountSearch]:
    """So many searches, each with a seed of its own."""
    for seed in range(count):
        yield searched(kind, np.random.default_rng([seed, 62]))


def searched(kind: CountKind, draw: np.random.Generator) -> CountSearch:
    """One search: where the change is, and each count, are drawn."""
    changes = dict(kind.changes)
    if kind.change:
        changes[int(draw.integers(1, COMMITS + 1))] = kind.change
    search = Bisection(question=replace(QUESTION, every=kind.every))
    while (index := bisect_counts.next_index(search)) is not None:
        level = sum(size for place, size in changes.items() if place <= index)
        search = counted(search, index, level + noise(kind, draw))
    smallest = search.question.smallest
    return CountSearch(
        named=tuple(stretch.end for stretch in bisect_counts.found(search)),
        truth=tuple(place for place, size in changes.items() if size >= smallest),
        sure=bisect_counts.is_sure(search),
        counts=sum(len(count.folders) for count in search.counted),
        builds=len(search.counted),
    )


def noise(kind: CountKind, draw: np.random.Generator) -> float:
    """What a count is off by."""
    scatter = float(draw.normal(0, SCATTER))
    if draw.random() >= kind.off:
        return scatter
    side = -1 if kind.signed and draw.random() < 1 / 2 else 1
    return scatter + side * kind.off_by


def counted(search: Bisection, index: int, log: float) -> Bisection:
    """The search with one more count of a commit."""
    work = INSTRUCTIONS * math.exp(log)
    step = StepWork(instructions=work, counts=(work,), operations=500, warmup=200, margin=0.001)
    before = search.counts.get(index)
    if before is not None:
        step = bisect_counts.joined(before.steps[STEP], step)
    folders = ("", *(before.folders if before is not None else ()))
    now = CommitCount(index=index, steps={STEP: step}, folders=folders)
    others = tuple(count for count in search.counted if count.index != index)
    return replace(search, counted=(*others, now))


def tables(draws: float) -> Iterator[str]:
    """The lines of the table."""
    count = marked_page.draws_of(SEARCHES, draws)
    yield intro(
        f"Of {count} searches each among {COMMITS} commits, with `--smallest 0.1` and counts that "
        "scatter by 0.005 %:"
    )
    columns = ("a commit named", "nobody, surely", "not sure", "wrong", "counts, mean", "builds")
    yield from header(("work", *columns))
    for kind in KINDS:
        ended = list(searches(kind, count))
        named = sum(bool(search.named) for search in ended)
        none = sum(search.sure and not search.named for search in ended)
        cells = [kind.words, str(named), str(none), str(count - named - none)]
        cells.append(str(sum(search.is_wrong for search in ended)))
        means = (np.mean([getattr(search, of) for search in ended]) for of in ("counts", "builds"))
        yield row((*cells, *(f"{mean:.1f}" for mean in means)))


if __name__ == "__main__":
    sys.exit(marked_page.main(TOOL, __doc__ or "", tables))
