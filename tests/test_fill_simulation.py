"""Error rates of blocks that begin from golden copies, simulated; all draws are seeded."""

import math

import numpy as np
import pytest

from dbdyno.model.looks import Look, Looks
from dbdyno.model.verdict import CHANGED, Aims
from dbdyno.stats.decision import decide
from dbdyno.stats.fills import FillCount, Units
from dbdyno.stats.look_tests import Unit
from dbdyno.stats.looks import scheduled
from dbdyno.stats.sample import Sample
from fill_simulation import Calibrated, Filled, alarms, filled, judged
from simulation import METRICS, Numbers, Share, walk

AIMS = Aims()
UNTIL_DECIDED = scheduled(Looks(first=None))
TRIALS = 4_000


def seeded(number: int) -> np.random.Generator:
    return np.random.default_rng([41, number])


def alarmed(how: Filled) -> Share:
    return alarms(how, UNTIL_DECIDED, TRIALS, seeded(1), AIMS)


def at_most_5_percent(share: Share) -> bool:
    """Within two standard errors."""
    return share.value <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / share.total)


def test_one_fill_makes_far_more_false_words_than_5_percent() -> None:
    assert at_most_5_percent(alarmed(Filled(sd=0.0)))
    assert alarmed(Filled(sd=0.01)).value > 0.15


LONG = pytest.mark.long


@pytest.mark.parametrize(
    ("count", "sd"),
    [(4, 0.02), *(pytest.param(*some, marks=LONG) for some in ((4, 0.0), (6, 0.01), (6, 0.02)))],
)
def test_with_fills_as_units_at_most_5_percent_are_false(count: int, sd: float) -> None:
    assert at_most_5_percent(alarmed(Filled(sd=sd, fills=count)))


@pytest.mark.parametrize(
    ("blocks_each", "sd"),
    [
        (3, 0.02),
        *(
            pytest.param(*some, marks=LONG)
            for some in ((3, 0.0), (3, 0.005), (10, 0.01), (10, 0.02))
        ),
    ],
)
def test_with_what_a_calibration_measured_at_most_5_percent_are_false(blocks_each: int, sd: float):
    its = Calibrated(blocks_each=blocks_each)
    assert at_most_5_percent(alarmed(Filled(sd=sd, calibrated=its)))


def samples(logs: Numbers, units: Units) -> tuple[Sample, ...]:
    """The lab's own samples of metrics by blocks."""
    return tuple(
        Sample(
            metric=metric,
            better=better,
            logs=tuple(units.means(dict(enumerate(its.tolist(), start=1))).values()),
            fills=FillCount(planned=units.fills, blocks=len(its)),
        )
        for (metric, better), its in zip(METRICS.items(), logs, strict=True)
    )


def test_what_is_simulated_of_fills_is_what_the_lab_decides() -> None:
    how, looks = Filled(sd=0.03, fills=6), [Look(blocks=12, share=0.5), Look(blocks=24, share=0.25)]
    logs = filled(how, 60, 24, seeded(2))
    said = list(walk(logs, looks, AIMS, judged=judged(how, 60, seeded(3))))[-1]
    units = Units(fills=6)
    for place, its in enumerate(logs[:, 0]):
        unit = Unit(
            samples=samples(its, units),
            looks=tuple((look, samples(its[:, : look.blocks], units)) for look in looks),
        )
        (found,) = decide([unit], AIMS, done=24)
        changed = [one.word in CHANGED for one in found]
        assert changed == (said.changed[place, 0] != 0).tolist()
