"""The text of the tables of `calibrate.py`, and what all of them share."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from dbdyno.model.verdict import Aims
from simulation import Share

SEED = 6
AIMS = Aims()


def intro(sentences: str) -> str:
    """The lines above a table, at most 100 columns wide."""
    return f"\n{textwrap.fill(sentences, 100, break_on_hyphens=False)}\n"


def seeded(table: int) -> np.random.Generator:
    """The random numbers of a table's cell: all cells of one have the same."""
    return np.random.default_rng([SEED, table])


def header(columns: Sequence[str]) -> Iterator[str]:
    """The first two lines of a Markdown table."""
    yield row(columns)
    yield "|" + "---|" * len(columns)


def row(cells: Iterable[str]) -> str:
    """A line of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def percent(share: float) -> str:
    """`4.9 %`."""
    return f"{100 * share:.1f} %"


def whole_percent(share: float) -> str:
    """`30 %`."""
    return f"{100 * share:.0f} %"


def beside(value: float, other: float) -> str:
    """`2.4 | 4.9 %`."""
    return f"{100 * value:.1f} \\| {percent(other)}"


def ranged(share: Share) -> str:
    """`4.9 % [4.2, 5.6]`."""
    low, high = share.interval
    return f"{percent(share.value)} [{100 * low:.1f}, {100 * high:.1f}]"
