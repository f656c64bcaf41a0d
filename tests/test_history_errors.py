"""A page of histories has a false change point in one case of twenty at most; all draws are seeded.

`tools/simulated_histories.py` draws many more pages for docs/serve.md.
"""

import pytest

from dbdyno.stats.interval import share_interval
from simulated_histories import PROMISED, SHAPES, Noise, dynos, false_pages, published, share_found


@pytest.mark.parametrize(
    ("noise", "results", "pages"),
    [
        (PROMISED[0], 8, 20),
        *(
            pytest.param(noise, results, 40, marks=pytest.mark.long)
            for noise in PROMISED
            for results in (8, 30)
        ),
    ],
    ids=lambda its: its.words if isinstance(its, Noise) else str(its),
)
def test_at_most_one_page_of_twenty_has_a_change_point_without_a_change(
    noise: Noise, results: int, pages: int
) -> None:
    false = false_pages(noise, results, pages, dynos)
    assert share_interval(false, pages, 0.99)[0] <= 0.05


def test_the_published_level_would_mark_most_pages() -> None:
    assert false_pages(PROMISED[0], 30, 4, published) >= 3


@pytest.mark.parametrize(
    ("size", "least", "draws"),
    [(6.0, 0.95, 20), pytest.param(4.0, 0.7, 200, marks=pytest.mark.long)],
)
def test_a_change_of_several_standard_deviations_is_found(size: float, least: float, draws: int):
    assert share_found(SHAPES[0], size, PROMISED[0], draws, dynos) >= least
