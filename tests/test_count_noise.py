"""Changes of sampled costs: their noise, and how often simulated ones are told right."""

from dataclasses import dataclass

import numpy as np
import pytest

from dbdyno.findings.profiles.plan import LEVEL, TESTED_MIN
from dbdyno.stats.count_noise import ArmSamples, changes
from dbdyno.stats.significance import adjusted

PARTS = 200
REPEATS = 100
PLANTED = 0.03


def side(counts: list[list[float]], cost: float = 100.0) -> ArmSamples:
    found = np.array(counts, dtype=float)
    blocks = found.shape[1]
    return ArmSamples(counts=found, samples=found.sum(axis=0), cost=np.full(blocks, cost))


def test_costs_are_shares_of_what_all_samples_stand_for() -> None:
    assert side([[30, 10], [70, 90]], cost=50.0).costs.tolist() == [[15.0, 5.0], [35.0, 45.0]]


def test_the_sampling_variance_is_that_of_a_share() -> None:
    """10 of 100 samples are 10 % give or take 3 %: of 100 µs 3 µs."""
    found = side([[10.0], [90.0]])
    assert np.sqrt(found.sampling_variance[0, 0]) == pytest.approx(3.0, rel=0.05)


def test_a_change_without_scatter_is_as_unsure_as_its_counts() -> None:
    base, arm = side([[4, 4, 4], [996, 996, 996]]), side([[5, 5, 5], [995, 995, 995]])
    found = changes(base, arm)[0]
    assert found.value == pytest.approx(0.1)
    assert found.surely == pytest.approx(0.1 / np.sqrt((0.40 + 0.50) / 100 * 100 / 10 / 3), rel=0.6)
    assert found.surely < 1.0


def test_one_block_has_a_change_without_an_interval() -> None:
    (found, _) = changes(side([[10.0], [90.0]]), side([[30.0], [70.0]]))
    assert (found.value, found.low, found.high, found.p) == (pytest.approx(20.0), None, None, None)
    assert found.surely > 3.0


# --- Simulations (docs/profiles.md has their figures) -----------------------------------------


@dataclass(frozen=True, kw_only=True)
class Told:
    """How often something was told, in shares of the repeats."""

    false: float  # a function that did not change, beyond chance
    first: float  # the planted one in the first place
    found: float  # the planted one, beyond chance
    covered: float  # the planted value, by the interval


def simulated(blocks: int, *, cpu_sd: float, over: float, planted: float) -> Told:
    """Functions of uneven size, each block's CPU and each function's share with their noise."""
    draw = np.random.default_rng(1)
    shares = draw.pareto(1.0, PARTS) + 0.05
    shares /= shares.sum()
    told = np.zeros(4)

    def drawn(at: int, more: float) -> ArmSamples:
        costs, counts = np.empty(blocks), np.empty((PARTS, blocks))
        for block in range(blocks):
            level = 100 * np.exp(draw.normal(0, cpu_sd))
            its = shares * np.exp(draw.normal(0, over, PARTS)) * level
            its[at] += more
            costs[block] = its.sum()
            counts[:, block] = draw.multinomial(1_000, its / its.sum())
        return ArmSamples(counts=counts, samples=counts.sum(axis=0), cost=costs)

    for _ in range(REPEATS):
        at = int(draw.integers(PARTS))
        base, arm = drawn(at, 0.0), drawn(at, 100 * planted)
        seen = base.counts.sum(axis=1) + arm.counts.sum(axis=1)
        its = changes(base, arm)
        ps = {place: its[place].p or 0.0 for place in np.flatnonzero(seen >= TESTED_MIN).tolist()}
        qs = dict(zip(ps, adjusted(list(ps.values())), strict=True))
        low, high = its[at].low, its[at].high
        assert low is not None and high is not None
        told += (
            any(q <= LEVEL for place, q in qs.items() if place != at),
            min(ps, key=lambda place: ps[place]) == at,
            qs.get(at, 1.0) <= LEVEL,
            low <= 100 * planted <= high,
        )
    false, first, found, covered = (told / REPEATS).tolist()
    return Told(false=false, first=first, found=found, covered=covered)


@pytest.mark.soak
@pytest.mark.parametrize(("cpu_sd", "over"), [(0.01, 0.0), (0.03, 0.05), (0.03, 0.2)])
@pytest.mark.parametrize("blocks", [3, 6])
def test_simulated_changes_are_told_as_documented(blocks: int, cpu_sd: float, over: float) -> None:
    nothing = simulated(blocks, cpu_sd=cpu_sd, over=over, planted=0.0)
    planted = simulated(blocks, cpu_sd=cpu_sd, over=over, planted=PLANTED)
    assert max(nothing.false, planted.false) <= 0.05
    assert planted.first >= 0.95
    assert planted.found >= (0.95 if blocks == 6 else 0.2)
    assert planted.covered >= 0.95
