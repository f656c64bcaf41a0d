"""What earlier results of a host lend to a step that is alone: arithmetic, false alarms, files."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dbdyno.model.host_prior import HostPrior
from dbdyno.model.looks import Look
from dbdyno.model.verdict import Aims
from dbdyno.stats import decision, host_prior, moderation, significance
from dbdyno.stats.decision import Unit
from dbdyno.stats.host_prior import Earlier
from dbdyno.stats.sample import Sample

VARIANCES = (2.1, 29.3, 5.0, 1.2, 17.7, 0.3, 6.1, 33.9, 12.5, 0.8)
BY_TURNS = (1.5, 6.0, 14.4, 2.0, 5.1, 1.6, 0.9, 13.3, 1.9, 2.9)
QUIET = (0.021, -0.013, 0.034, 0.002)


def earlier(count: int = 10) -> list[Earlier]:
    return [
        Earlier(variance=variance * 1e-4, freedom=3, by_turns=turns * 1e-4)
        for variance, turns in list(zip(VARIANCES, BY_TURNS, strict=True))[:count]
    ]


def fitted() -> HostPrior:
    found = host_prior.fit(earlier())
    assert found is not None
    return found


# --- Arithmetic --------------------------------------------------------------------------------


def test_what_results_have_in_common_is_as_the_specification_s_script_has_it() -> None:
    its = fitted()
    assert (its.results, its.freedom) == (10, 30)
    assert its.variance == pytest.approx(3.7144890206865087e-4)
    assert its.variance_freedom == pytest.approx(1.9967964308500301)
    assert its.scale == pytest.approx(1.3935438424121633)
    assert its.scale_freedom == pytest.approx(2.9625781537503273)


@pytest.mark.parametrize(
    ("logs", "by_turns", "variance", "freedom"),
    [
        (QUIET, 1e-4, 4.3430981758021844e-4, 4.481289076875163),  # history is the greater
        (QUIET, 2e-3, 1.3924964325085674e-3, 4.481289076875163),  # turns are
        (tuple(10 * log for log in QUIET), 1e-4, 4.0658085370193886e-2, 3.1647688940134184),
    ],
)
def test_what_is_lent_is_as_the_specification_s_script_has_it(
    logs: tuple[float, ...], by_turns: float, variance: float, freedom: float
) -> None:
    found = host_prior.spread(logs, by_turns, fitted())
    assert found is not None
    assert found.sd**2 == pytest.approx(variance)
    assert found.freedom == pytest.approx(freedom)
    assert found.lent == pytest.approx(freedom - 3)


def test_no_more_than_four_degrees_of_freedom_are_lent_nor_a_quarter_of_the_results() -> None:
    many = replace(fitted(), scale_freedom=1e4)
    for prior, lent in ((many, 4.0), (replace(many, freedom=10), 2.5)):
        found = host_prior.spread(QUIET, 1e-4, prior)
        assert found is not None
        assert found.lent == pytest.approx(lent)


def test_fewer_than_five_results_lend_nothing() -> None:
    assert host_prior.fit(earlier(4)) is None
    assert host_prior.fit(earlier(5)) is not None
    still = replace(earlier(1)[0], variance=0.0)
    assert host_prior.fit([*earlier(4), still]) is None


def test_blocks_without_turns_or_without_scatter_keep_their_own() -> None:
    for logs, by_turns in ((QUIET, None), ((0.1, 0.1, 0.1), 1e-4)):
        found = host_prior.spread(logs, by_turns, fitted())
        assert found is not None
        assert found.lent == 0
        assert found.freedom == len(logs) - 1
    assert host_prior.spread(QUIET[:1], 1e-4, fitted()) is None


def test_results_of_unequal_length_are_fitted_by_their_own_degrees_of_freedom() -> None:
    """Drawn with s0² = 4 and d0 = 6, of 2 to 9 degrees of freedom: both come back."""
    random = np.random.default_rng(5)
    freedoms = random.integers(2, 10, 40_000)
    sigma2 = 6 * 4 / random.chisquare(6, len(freedoms))
    found = moderation.prior(sigma2 * random.chisquare(freedoms) / freedoms, freedoms)
    assert float(found[0]) == pytest.approx(4, rel=0.03)
    assert float(found[1]) == pytest.approx(6, rel=0.06)


def test_what_turns_imply_by_hand() -> None:
    """(1, 3): 2 / 2 = 1 with 1 degree; (0, 3, 6): 9 / 3 = 3 with 2: (1 + 6) / 3."""
    assert host_prior.by_turns([(1, 3), (0, 3, 6), (5,)]) == pytest.approx(7 / 3)
    assert host_prior.by_turns([(1,), ()]) is None


# --- Words -------------------------------------------------------------------------------------


def unit(prior: HostPrior | None, *, by_turns: float | None = 1e-5) -> Unit:
    """A step that is 5 % slower in four blocks which are rather alike."""
    logs = tuple(-0.05 + log for log in QUIET)
    samples = (Sample(metric="qps", better=1, logs=logs, by_turns=by_turns),)
    looks = ((Look(blocks=4, share=0.5), samples),)
    return Unit(samples=samples, looks=looks, prior=None if prior is None else {"qps": prior})


def test_a_single_step_is_judged_by_the_prior_and_its_own_word_stands_beside() -> None:
    quiet = replace(fitted(), variance=2e-4, scale_freedom=1e4)
    ((alone,),) = decision.decide([unit(None)], Aims(), done=4)
    ((lent,),) = decision.decide([unit(quiet)], Aims(), done=4)
    assert (alone.word, alone.word_own, alone.lent) == ("cannot tell", None, 0)
    assert (lent.word, lent.word_own, lent.lent) == ("slower", "cannot tell", pytest.approx(4))
    assert lent.sd == alone.sd, "as the blocks have it"
    ((untold,),) = decision.decide([unit(quiet, by_turns=None)], Aims(), done=4)
    assert (untold.word, untold.lent, untold.p) == (alone.word, 0, alone.p)


def test_of_two_steps_neither_takes_the_prior() -> None:
    both = [unit(fitted()), unit(None)]
    without = [unit(None), unit(None)]
    lent = [one.lent for (one,) in decision.decide(both, Aims(), done=4)]
    assert lent == [one.lent for (one,) in decision.decide(without, Aims(), done=4)]


# --- False alarms ------------------------------------------------------------------------------

SD = np.array([0.026, 0.016])  # throughput, CPU per operation
TURNS = 10
TRIALS = 500
TIED = -0.5
Numbers = np.ndarray


def variances(
    random: np.random.Generator, results: int, share: float, louder: float
) -> tuple[Numbers, Numbers]:
    """Between blocks, and what of it comes from turns: trials by results by metrics.

    `share` comes from server starts, which are as loud on a quiet day; results differ in loudness
    by 0.5 in ln.
    """
    loudness = louder * np.exp(random.normal(0, 0.5, (TRIALS, results, 1)))
    unlike = np.exp(random.normal(0, 0.4, (2, TRIALS, results, 1)))
    turns = (1 - share) * (loudness * unlike[1]) ** 2 * SD**2
    return share * unlike[0] ** 2 * SD**2 + turns, turns


def seen(random: np.random.Generator, truth: Numbers, freedom: int) -> Numbers:
    return truth * random.chisquare(freedom, truth.shape) / freedom


def alarms(share: float, louder: float, blocks: int, change: float = 0.0) -> tuple[float, float]:
    """How often a step is called changed, with a prior of ten results of four blocks, and without.

    Both metrics change alike; each step by one p of its two metrics, at the whole level.
    """
    random = np.random.default_rng([15, blocks, round(100 * share), round(100 * louder)])
    now, past = variances(random, 1, share, louder), variances(random, 10, share, 1.0)
    z = random.normal(size=(TRIALS, 2, blocks))
    z[:, 1] = TIED * z[:, 0] + math.sqrt(1 - TIED**2) * z[:, 1]
    logs = np.sqrt(now[0][:, 0])[..., None] * z + change * np.array([-1.0, 1.0])[:, None]
    by_turns = seen(random, now[1][:, 0], blocks * (TURNS - 1))
    s2, w2 = seen(random, past[0], 3), seen(random, past[1], 4 * (TURNS - 1))
    # As `fit` does, of all trials at once: metrics before results
    history = moderation.prior(s2.swapaxes(1, 2), 3)
    ratios = moderation.prior((s2 / w2).swapaxes(1, 2), 3)
    called = [0, 0]
    for trial in range(TRIALS):
        ps: tuple[list[float], list[float]] = ([], [])
        for metric in range(2):
            its = tuple(logs[trial, metric].tolist())
            prior = HostPrior(
                results=10,
                freedom=30,
                variance=float(history[0][trial, metric]),
                variance_freedom=float(history[1][trial, metric]),
                scale=float(ratios[0][trial, metric]),
                scale_freedom=float(ratios[1][trial, metric]),
            )
            spread = host_prior.spread(its, float(by_turns[trial, metric]), prior)
            for found, by in zip(ps, (spread, None), strict=True):
                p = significance.t_p(its, by)
                assert p is not None
                found.append(p)
        for place, found in enumerate(ps):
            called[place] += significance.combined_p(found) <= 0.05
    return called[0] / TRIALS, called[1] / TRIALS


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7])
@pytest.mark.parametrize("louder", [0.25, 0.5, 1.0, 2.0, 4.0])
def test_false_alarms_stay_under_the_level_however_loud_the_day_is(
    share: float, louder: float
) -> None:
    for blocks in (3, 4, 6):
        assert alarms(share, louder, blocks)[0] <= 0.05


def test_a_change_of_5_percent_is_found_more_often_than_by_own_blocks() -> None:
    lent, own = alarms(0.3, 1.0, 3, change=math.log(1.05))
    assert lent >= own + 0.05
