"""How often a search of a commit errs, by simulation: `python tools/simulated_searches.py`.

    python tools/simulated_searches.py --write docs/bisect.md

writes the tables anew between the two marks of the page; without --write it prints them. The same
searches, of some of these kinds, are tests (tests/test_bisection.py).
"""

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

import marked_page
from dbdyno.stats import bisection
from dbdyno.stats.bisection import BLOCKS, RELAYOUTS, NextTest, ProbableChange
from dbdyno.stats.commit_chain import BlockTest
from dbdyno.stats.interval import mean_and_sd
from simulation import MEASURED_SD
from table_text import header, intro, percent, row, whole_percent

TOOL = "tools/simulated_searches.py"
SEARCHES = 100
LAYOUTS = (0.002, 0.005, 0.01, 0.014)
"""Standard deviations of the layout noise; where a kind has none of its own, it is drawn between
the least and the greatest, log-uniform."""
BUSY_SD = 0.042
"""Of a block's CPU per operation in a search on two processors, with noisy neighbours."""
TESTS_MAX = 60
"""So many tests of 3 minutes have the 180 minutes of a search; it ends as unsure then."""
BINS = (0.0, 0.5, 0.8, bisection.SURE, 1.0)
"""Of the probability that an answer gives itself."""


Kept = Literal["own", "creeps", "stays"]
"""How builds come to their layout noise: each draws its own; or neighbours share most of it, with a
correlation of KEPT: each differs a little from the one before, or one in ten draws it anew."""
KEPT = 0.9


@dataclass(frozen=True, kw_only=True)
class Kind:
    """Searches of one kind; log ratios."""

    words: str
    commits: int = 20
    change: float = -0.03
    second: float = 0.0  # of a second change
    sd: float = MEASURED_SD[1]  # of a block
    layout: float | None = None  # its standard deviation; None: drawn for each search
    kept: Kept = "own"
    disturbed: float = 0.0  # share of tests that are off as a whole …
    off: float = 0.02  # … with this standard deviation


@dataclass(frozen=True, kw_only=True)
class Search:
    """A search that is over."""

    truth: tuple[int, ...]  # the commits that changed something
    tests: tuple[BlockTest, ...]
    found: ProbableChange
    layout: float  # the layout noise that was drawn
    standing: tuple[tuple[float, bool], ...]  # after each test: the probability, whether right

    @property
    def is_right(self) -> bool:
        """Whether it names the first commit that changed something, or that none did."""
        return self.found.first == (self.truth[0] if self.truth else None)


KINDS = (
    Kind(words="3 %"),
    Kind(words="10 %", change=-0.1),
    Kind(words="1.5 %", change=-0.015),
    Kind(words="none", change=0.0),
    Kind(words="3 %, noise of throughput", sd=MEASURED_SD[0]),
    Kind(words="none, noise of throughput", change=0.0, sd=MEASURED_SD[0]),
    Kind(words="3 %, a quiet host", sd=0.005),
    Kind(words="3 %, a busy host", sd=BUSY_SD),
    Kind(words="6 %, a busy host", change=-0.06, sd=BUSY_SD),
    Kind(words="3 % among 200 commits", commits=200),
    Kind(words="4 %, and later 6 %", change=-0.04, second=-0.06),
    Kind(words="3 %, a tenth of tests off by 2 %", disturbed=0.1),
)
CHANGES = (0.0, -0.02, -0.03, -0.05)
BY_LAYOUT = tuple(
    Kind(words="", change=change, layout=layout, kept=kept)
    for kept in ("own", "creeps", "stays")
    for layout in ((0.0, *LAYOUTS) if kept == "own" else LAYOUTS)
    for change in CHANGES
)
"""Every size of the layout noise, kept or not, where nothing changed and where a commit did."""


def searches(kind: Kind, count: int) -> Iterator[Search]:
    """So many searches, each with a seed of its own."""
    for seed in range(count):
        yield searched(kind, np.random.default_rng([seed, 21]))


def searched(kind: Kind, draw: np.random.Generator) -> Search:
    """One search: where the change is, what each build has of its own, and each test are drawn."""
    changes = [size for size in (kind.change, kind.second) if size]
    places = sorted(draw.choice(kind.commits, size=len(changes), replace=False) + 1)
    truth = tuple(int(place) for place in places)
    layout = kind.layout
    if layout is None:
        layout = math.exp(draw.uniform(math.log(LAYOUTS[0]), math.log(LAYOUTS[-1])))
    own = layouts(kind, layout, draw)
    sizes = dict(zip(truth, changes, strict=True))
    tests: list[BlockTest] = []
    standing = []
    while len(tests) < TESTS_MAX:
        asked = bisection.next_test(kind.commits, tests)
        if asked is None:
            break
        level = own[asked.layout][asked.index] - own[asked.layout][asked.before]
        level += sum(of for place, of in sizes.items() if asked.before < place <= asked.index)
        tests.append(_tested(kind, asked, float(level), draw))
        now = bisection.found(kind.commits, tests)
        standing.append((now.probability, now.first == (truth[0] if truth else None)))
    found = bisection.found(kind.commits, tests)
    return Search(
        truth=truth, tests=tuple(tests), found=found, layout=layout, standing=tuple(standing)
    )


def layouts(kind: Kind, layout: float, draw: np.random.Generator) -> list[list[float]]:
    """The log ratio that each commit's build has of its own, by what it is built with.

    First as all are, then with the other layouts. A commit that moves code does so in all.
    """
    moves = draw.random(kind.commits) >= KEPT
    paths: list[list[float]] = []
    for _ in range(1 + RELAYOUTS):
        path = [float(draw.normal(0, layout))]
        for moved in moves:
            new = float(draw.normal(0, layout))
            if kind.kept == "creeps":
                new = KEPT * path[-1] + math.sqrt(1 - KEPT**2) * new
            elif kind.kept == "stays" and not moved:
                new = path[-1]
            path.append(new)
        paths.append(path)
    return paths


def _tested(kind: Kind, asked: NextTest, level: float, draw: np.random.Generator) -> BlockTest:
    """A test whose log ratio is that."""
    if draw.random() < kind.disturbed:
        level += draw.normal(0, kind.off)
    mean, sd = mean_and_sd(draw.normal(level, kind.sd, BLOCKS).tolist())
    return BlockTest(
        index=asked.index,
        log_ratio=mean,
        se=(sd or 0.0) / math.sqrt(BLOCKS),
        blocks=BLOCKS,
        before=asked.before,
        layout=asked.layout,
    )


def tables(draws: float) -> Iterator[str]:
    """The lines of all tables."""
    count = marked_page.draws_of(SEARCHES, draws)
    yield intro(
        f"Of {count} searches each, by the standard deviation of the layout noise and what commits "
        f"keep of it; a block's is {percent(MEASURED_SD[1])}. *Sure and right* / *sure and wrong*; "
        "all others are not sure:"
    )
    by_layout = {kind: tuple(searches(kind, count)) for kind in BY_LAYOUT}
    yield from _by_layout(by_layout)
    yield intro(
        f"Of {count // 2} searches each, with layout noise that is drawn anew for each search; the "
        "second column is the standard deviation of a block:"
    )
    drawn = {kind: tuple(searches(kind, count // 2)) for kind in KINDS}
    yield from _errors(drawn)
    yield intro("All answers after each test, those of the disturbed searches left out:")
    ended = [*by_layout.items(), *drawn.items()]
    yield from _honesty([one for kind, all in ended if not kind.disturbed for one in all])


SAID: Mapping[Kept, str] = {
    "own": "each build its own",
    "creeps": "kept, changes a little with each commit",
    "stays": "kept, a tenth of commits draw it anew",
}


def _by_layout(done: Mapping[Kind, tuple[Search, ...]]) -> Iterator[str]:
    """A row for each layout noise, with a column for each change."""
    changes = ("nothing changed", *(f"{-change:.0%}".replace("%", " %") for change in CHANGES[1:]))
    yield from header(("layout", "of it", *changes, "tests, mean"))
    for first in (kind for kind in done if kind.change == 0.0):
        row_of = [
            of
            for kind, of in done.items()
            if (kind.kept, kind.layout) == (first.kept, first.layout)
        ]
        cells = [percent(first.layout or 0.0), SAID[first.kept]]
        cells += [f"{right} / {sure - right}" for sure, right in map(_sure, row_of)]
        tests = np.mean([len(search.tests) for of in row_of for search in of])
        yield row((*cells, f"{tests:.0f}"))


def _sure(ended: Sequence[Search]) -> tuple[int, int]:
    """How many searches were sure, and how many of these right."""
    sure = [search for search in ended if search.found.sure]
    return len(sure), sum(search.is_right for search in sure)


def _errors(done: Mapping[Kind, tuple[Search, ...]]) -> Iterator[str]:
    """A row for each kind: how its searches ended, and after how much."""
    columns = ("right", "wrong", "not sure", "tests, mean", "95 %", "builds")
    yield from header(("change", "noise", *columns))
    for kind, all in done.items():
        sure, right = _sure(all)
        tests = [len(search.tests) for search in all]
        built = np.mean([builds(search) for search in all])
        cells = [kind.words, percent(kind.sd)]
        cells += [str(right), str(sure - right), str(len(all) - sure)]
        cells += [f"{np.mean(tests):.1f}", f"{np.quantile(tests, 0.95):.0f}", f"{built:.1f}"]
        yield row(cells)


def builds(search: Search) -> int:
    """How many builds a search made beside the good commit's."""
    made = {(test.layout, index) for test in search.tests for index in (test.before, test.index)}
    return len(made - {(0, 0)})


def _honesty(all: Sequence[Search]) -> Iterator[str]:
    """How often answers are right that give themselves some probability, after any test."""
    answers = np.array([answer for one in all for answer in one.standing], dtype=float)
    yield from header(("probability that it gives itself", "answers", "mean probability", "right"))
    for low, high in pairwise(BINS):
        inside = answers[(answers[:, 0] >= low) & ((answers[:, 0] < high) | (high == 1))]
        if len(inside):
            said, right = inside.mean(axis=0)
            between = f"{whole_percent(low)} to {whole_percent(high)}"
            yield row((between, str(len(inside)), whole_percent(said), whole_percent(right)))


if __name__ == "__main__":
    sys.exit(marked_page.main(TOOL, __doc__ or "", tables))
