"""How often a history has a change point by chance, and misses one: by simulation.

    python tools/simulated_histories.py --write docs/serve.md

writes the tables anew between the two marks of the page; without --write it prints them. Fewer of
the same pages are a test (tests/test_history_errors.py).
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import marked_page
from dbdyno.analysis.across.history import FIGURES, MAGNITUDE_MIN, STEPS, changed
from dbdyno.stats import change_points
from dbdyno.stats.change_points import ChangePoint
from dbdyno.stats.interval import share_interval
from table_text import header, row

TOOL = "tools/simulated_histories.py"
PAGES = 1000
"""Of 42 steps with three figures each, a history of its own."""
PUBLISHED_PAGES = 50
"""Fewer suffice of the published level, at which most pages have a change point."""
FOUND = 1000
"""Histories with a change, of each size."""
SD = 0.03
"""Of the noise of a result, as a share of its plateau."""
RESULTS = (8, 20, 50, 100)
SETTLE = 50
"""Values that are drawn before the first one, so that it is as any other."""
SIZES = (1.5, 2.0, 3.0, 4.0, 6.0)
"""Of a change, in standard deviations."""
NEAR = 1
"""A change point that lies so many results beside the change is right."""

Numbers = npt.NDArray[np.float64]
Find = Callable[[Sequence[float]], tuple[ChangePoint, ...]]


@dataclass(frozen=True, kw_only=True)
class Noise:
    """How the results of a history scatter about their plateau."""

    words: str
    autocorrelation: float = 0.0  # of neighbours, an AR(1) process
    tails: float | None = None  # degrees of freedom of Student's t; None: normal


NOISES = (
    Noise(words="independent"),
    Noise(words="autocorrelation 0.3", autocorrelation=0.3),
    Noise(words="autocorrelation 0.5", autocorrelation=0.5),
    Noise(words="heavy tails: t with 5 degrees of freedom", tails=5),
)
PROMISED = NOISES[:2]
"""For which docs/serve.md promises that one page of twenty has a false change point at most."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """Where a plateau of 100 becomes another one."""

    words: str
    results: int
    first: int  # of the other plateau
    end: int  # of it


SHAPES = (
    Shape(words="the last 10 of 30", results=30, first=20, end=30),
    Shape(words="the last 4 of 30", results=30, first=26, end=30),
    Shape(words="7 in the middle of 30", results=30, first=12, end=19),
    Shape(words="the last 30 of 100", results=100, first=70, end=100),
)


def published(values: Sequence[float]) -> tuple[ChangePoint, ...]:
    """Change points at the published level."""
    return change_points.find(values, magnitude_min=MAGNITUDE_MIN)


def dynos(values: Sequence[float]) -> tuple[ChangePoint, ...]:
    """Change points of `dyno serve`: of a history with one line."""
    return changed(values, 1)


def drawn(noise: Noise, results: int, histories: int, draw: np.random.Generator) -> Numbers:
    """Histories without any change, a row each, on a plateau of 100."""
    size = (SETTLE + results, histories)
    fresh = draw.normal(size=size)
    if noise.tails is not None:
        fresh = draw.standard_t(noise.tails, size=size) / (noise.tails / (noise.tails - 2)) ** 0.5
    own = (1 - noise.autocorrelation**2) ** 0.5
    values = fresh.copy()
    for place in range(1, len(values)):
        values[place] = noise.autocorrelation * values[place - 1] + own * fresh[place]
    scattered: Numbers = 100 * (1 + SD * values[SETTLE:].T)
    return scattered


def false_pages(noise: Noise, results: int, pages: int, find: Find) -> int:
    """How many of so many pages have a change point, where nothing changes."""
    false = 0
    for seed in range(pages):
        page = drawn(noise, results, STEPS * FIGURES, np.random.default_rng([seed, results, 41]))
        false += any(find(history) for history in page.tolist())
    return false


def share_found(shape: Shape, size: float, noise: Noise, histories: int, find: Find) -> float:
    """In which share of histories a change is found, and nothing else."""
    wanted = [place for place in (shape.first, shape.end) if place < shape.results]
    right = 0
    changed_ones = drawn(noise, shape.results, histories, np.random.default_rng(42))
    changed_ones[:, shape.first : shape.end] -= 100 * SD * size
    for values in changed_ones.tolist():
        places = [one.index for one in find(values)]
        right += len(places) == len(wanted) and all(
            abs(place - one) <= NEAR for place, one in zip(places, wanted, strict=True)
        )
    return right / histories


def tables(scale: float) -> Iterator[str]:
    """The lines of both tables; `scale` multiplies the usual number of draws."""
    pages, of_published = (marked_page.draws_of(of, scale) for of in (PAGES, PUBLISHED_PAGES))
    yield from _false(pages, of_published)
    yield ""
    yield from _power(marked_page.draws_of(FOUND, scale))


def _false(pages: int, of_published: int) -> Iterator[str]:
    yield (
        f"Pages of {STEPS} steps with {FIGURES} figures each that have a change point although "
        f"nothing changes, of {pages:,} pages (brackets hold 95 % intervals). Behind the bar, at "
        f"the published level (p ≤ 0.001, neighbours taken as independent), of {of_published}:"
    )
    yield ""
    yield from header(("noise", *(f"{count} results" for count in RESULTS)))
    for noise in NOISES:
        cells = []
        for results in RESULTS:
            false = false_pages(noise, results, pages, dynos)
            low, high = share_interval(false, pages)
            before = false_pages(noise, results, of_published, published) / of_published
            cells.append(
                f"{100 * false / pages:.1f} % [{100 * low:.1f}, {100 * high:.1f}] "
                f"\\| {100 * before:.0f} %"
            )
        yield row((noise.words, *cells))


def _power(histories: int) -> Iterator[str]:
    yield (
        f"Histories in which exactly a change is found, to within {NEAR} result, of {histories:,} "
        "each, by its size in standard deviations of a result, with independent noise. Behind the "
        "bar, at the published level:"
    )
    yield ""
    yield from header(("another plateau", *(f"{size:g}" for size in SIZES)))
    for shape in SHAPES:
        cells = []
        for size in SIZES:
            both = [
                share_found(shape, size, NOISES[0], histories, find) for find in (dynos, published)
            ]
            cells.append(" \\| ".join(f"{100 * one:.0f}" for one in both) + " %")
        yield row((shape.words, *cells))


if __name__ == "__main__":
    sys.exit(marked_page.main(TOOL, __doc__ or "", tables))
