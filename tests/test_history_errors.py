"""A page of histories has a false change point in one case of twenty at most; all draws are seeded.

`tools/simulated_histories.py` draws many more pages for docs/serve.md.
"""

from __future__ import annotations

import pytest

from dbdyno.stats.interval import share_interval
from simulated_histories import (
    PROMISED,
    SHAPES,
    Noise,
    dynos,
    false_pages,
    published,
    share_found,
)

PAGES = 60


@pytest.mark.parametrize("noise", PROMISED, ids=lambda noise: noise.words)
@pytest.mark.parametrize("results", [8, 30])
def test_at_most_one_page_of_twenty_has_a_change_point_without_a_change(
    noise: Noise, results: int
) -> None:
    false = false_pages(noise, results, PAGES, dynos)
    assert share_interval(false, PAGES, 0.99)[0] <= 0.05


def test_the_published_level_would_mark_most_pages() -> None:
    assert false_pages(PROMISED[0], 30, 10, published) >= 8


@pytest.mark.parametrize(("size", "least"), [(4.0, 0.7), (6.0, 0.95)])
def test_a_change_of_several_standard_deviations_is_found(size: float, least: float) -> None:
    assert share_found(SHAPES[0], size, PROMISED[0], 200, dynos) >= least
