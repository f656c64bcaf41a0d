"""How often a search of a commit errs, by simulation: `python tools/simulated_searches.py`.

    python tools/simulated_searches.py --write docs/bisect.md

writes the tables anew between the two marks of the page; without --write it prints them. The same
searches, of some of these kinds, are tests (tests/test_bisection.py).
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from dbdyno.stats import bisection
from dbdyno.stats.bisection import LAYOUT_SD, Found, Test
from dbdyno.stats.interval import mean_and_sd
from simulation import MEASURED_SD

BEGIN = "<!-- made by tools/simulated_searches.py: begin -->"
END = "<!-- made by tools/simulated_searches.py: end -->"
SEARCHES = 200
BLOCKS = 4
"""Blocks of a test, as `dyno bisect` has them."""
BUSY_SD = 0.042
"""Of a block's CPU per operation in a search on two processors, with noisy neighbours."""
TESTS_MAX = 60
"""So many tests of 3 minutes have the 180 minutes of a search; it ends as unsure then."""
BINS = (0.0, 0.5, 0.8, 0.95, 1.0)
"""Of the probability that an answer gives itself."""


@dataclass(frozen=True, kw_only=True)
class Kind:
    """Searches of one kind; log ratios."""

    words: str
    commits: int = 20
    change: float = -0.03
    second: float = 0.0  # of a second change
    sd: float = MEASURED_SD[1]  # of a block
    disturbed: float = 0.0  # share of tests that are off as a whole …
    off: float = 0.02  # … with this standard deviation


@dataclass(frozen=True, kw_only=True)
class Search:
    """A search that is over."""

    truth: tuple[int, ...]  # the commits that changed something
    tests: tuple[Test, ...]
    found: Found
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


def searches(kind: Kind, count: int) -> Iterator[Search]:
    """So many searches, each with a seed of its own."""
    for seed in range(count):
        yield searched(kind, np.random.default_rng([seed, 21]))


def searched(kind: Kind, draw: np.random.Generator) -> Search:
    """One search: where the change is, what each build has of its own, and each test are drawn."""
    changes = [size for size in (kind.change, kind.second) if size]
    places = sorted(draw.choice(kind.commits, size=len(changes), replace=False) + 1)
    truth = tuple(int(place) for place in places)
    own = draw.normal(0, LAYOUT_SD, kind.commits + 1)
    tests: list[Test] = []
    standing = []
    while len(tests) < TESTS_MAX:
        index = bisection.next_test(kind.commits, tests)
        if index is None:
            break
        at = zip(truth, changes, strict=True)
        level = own[index] - own[0] + sum(size for place, size in at if place <= index)
        tests.append(_tested(kind, index, float(level), draw))
        now = bisection.found(kind.commits, tests)
        standing.append((now.probability, now.first == (truth[0] if truth else None)))
    found = bisection.found(kind.commits, tests)
    return Search(truth=truth, tests=tuple(tests), found=found, standing=tuple(standing))


def _tested(kind: Kind, index: int, level: float, draw: np.random.Generator) -> Test:
    """A test of a commit of that level."""
    if draw.random() < kind.disturbed:
        level += draw.normal(0, kind.off)
    mean, sd = mean_and_sd(draw.normal(level, kind.sd, BLOCKS).tolist())
    return Test(index=index, log_ratio=mean, se=(sd or 0.0) / math.sqrt(BLOCKS), blocks=BLOCKS)


def tables(count: int) -> Iterator[str]:
    """The lines of both tables."""
    done = {kind: tuple(searches(kind, count)) for kind in KINDS}
    yield from _errors(done, count)
    yield ""
    yield from _honesty([one for kind, all in done.items() if not kind.disturbed for one in all])


def _errors(done: dict[Kind, tuple[Search, ...]], count: int) -> Iterator[str]:
    """A row for each kind: how its searches ended, and after how much."""
    yield f"Of {count} searches each; the second column is the standard deviation of a block:"
    yield ""
    yield "| change | noise | right | wrong | not sure | tests, mean | 95 % | commits built |"
    yield "|---|--:|--:|--:|--:|--:|--:|--:|"
    for kind, all in done.items():
        sure = [one for one in all if one.found.sure]
        right = sum(one.is_right for one in sure)
        tests = [len(one.tests) for one in all]
        built = np.mean([len({test.index for test in one.tests}) for one in all])
        cells = [kind.words, f"{kind.sd:.1%}".replace("%", " %")]
        cells += [str(right), str(len(sure) - right), str(count - len(sure))]
        cells += [f"{np.mean(tests):.1f}", f"{np.quantile(tests, 0.95):.0f}", f"{built:.1f}"]
        yield f"| {' | '.join(cells)} |"


def _honesty(all: Sequence[Search]) -> Iterator[str]:
    """How often answers are right that give themselves some probability, after any test."""
    answers = np.array([answer for one in all for answer in one.standing], dtype=float)
    yield "All answers after each test, those of the disturbed searches left out:"
    yield ""
    yield "| probability that it gives itself | answers | mean probability | right |"
    yield "|---|--:|--:|--:|"
    for low, high in pairwise(BINS):
        inside = answers[(answers[:, 0] >= low) & ((answers[:, 0] < high) | (high == 1))]
        if len(inside):
            said, right = inside.mean(axis=0)
            yield f"| {low:.0%} to {high:.0%} | {len(inside)} | {said:.0%} | {right:.0%} |".replace(
                "%", " %"
            )


def main() -> None:
    """Prints the tables, or writes them into the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--searches", type=int, default=SEARCHES)
    parser.add_argument("--write", type=Path, help="the page to write the tables into")
    asked = parser.parse_args()
    lines = tables(asked.searches)
    if asked.write is None:
        sys.stdout.writelines(f"{line}\n" for line in lines)
    else:
        _write(asked.write, lines)


def _write(page: Path, lines: Iterable[str]) -> None:
    """Puts the lines between the marks of a page."""
    before, _, rest = page.read_text().partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        sys.exit(f"`{page}` has no `{BEGIN}` and `{END}`")
    table = "\n".join(lines)
    page.write_text(f"{before}{BEGIN}\n\n{table}\n\n{END}{after}")


if __name__ == "__main__":
    main()
