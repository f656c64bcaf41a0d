"""How often the answer to `--tolerate` is wrong, and after how many blocks it comes.

A test holds `answers` to `stats.tolerance.losses`.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr

from dbdyno.model.looks import Look, Looks
from dbdyno.stats.looks import scheduled
from simulation import (
    DIRECTIONS,
    LEVEL,
    MEASURED_SD,
    Flags,
    Model,
    Numbers,
    Random,
    Share,
    draw,
    share,
    tests,
)
from table_text import header, intro, percent, ranged, row, seeded

TOLERATED = 0.05
UNTIL_DECIDED = scheduled(Looks(first=None))
SCHEDULES = {"until decided": UNTIL_DECIDED, "4, 8, 16": scheduled(Looks(first=4))[:3]}
MODELS = {
    "1 step": Model(steps=1),
    "4 steps": Model(steps=4),
    "12 steps": Model(steps=12),
    "4 steps, 80 % shared": Model(steps=4, shared=0.8),
    "4 steps, heavy tails": Model(steps=4, noise="heavy tails"),
    "4 steps, the losing 5 times as loud": Model(steps=4, loudest=5.0),
}


@dataclass(frozen=True, kw_only=True)
class Answers:
    """By comparison, over all looks."""

    safe: Flags  # yes at any look
    lost: Flags  # no at any look
    blocks: Numbers  # at the first answer, or at the last look


def edges(tolerate: float) -> Numbers:
    """The log ratios of both metrics whose loss is exactly the tolerance."""
    return np.log1p(np.where(DIRECTIONS > 0, -tolerate, tolerate))


def answers(logs: Numbers, looks: Sequence[Look], tolerate: float) -> Answers:
    """What each comparison answers; `logs`: comparisons by steps by metrics by blocks."""
    trials, steps = logs.shape[:2]
    within = np.ones((trials, steps, len(DIRECTIONS)))
    beyond = np.ones_like(within)
    blocks = np.full(trials, math.nan)
    for look in looks:
        seen = tests(logs[..., : look.blocks])
        lost = (edges(tolerate) - seen.mean[:, :steps]) * DIRECTIONS / seen.error[:, :steps]
        freedom = seen.freedom[:, :steps]
        within = np.minimum(within, stdtr(freedom, lost) / look.share)
        beyond = np.minimum(beyond, stdtr(freedom, -lost) / look.share)
        safe = within.max(axis=(1, 2)) <= LEVEL
        least = beyond.min(axis=(1, 2)) * steps * len(DIRECTIONS)  # by Holm the first to fall
        answered = safe | (least <= LEVEL)
        blocks = np.where(np.isnan(blocks) & answered, look.blocks, blocks)
    return Answers(
        safe=safe, lost=least <= LEVEL, blocks=np.where(np.isnan(blocks), looks[-1].blocks, blocks)
    )


def drawn(
    model: Model, lost: Numbers, looks: Sequence[Look], trials: int, random: Random
) -> Answers:
    """The answers where the last steps lose so much: log ratios, steps by metrics."""
    logs, _ = draw(model, trials, looks[-1].blocks, random)
    logs[:, -len(lost) :] += lost[None, :, :, None]
    return answers(logs, looks, TOLERATED)


def erring(trials: int) -> Iterator[str]:
    """How often *yes* and *no* are wrong."""
    yield intro(
        f"`--tolerate {100 * TOLERATED:.0f}%`, asked at every look to the end ({trials:,} "
        "comparisons each). A wrong *yes*: one step, or every one, loses exactly the tolerance. A "
        "wrong *no*: every step loses exactly the tolerance in both metrics, or nothing differs. "
        "Both are to be at most 5 %:"
    )
    wrong_yes = ("throughput of one", "CPU of one", "both of all")
    yield from header(
        ["", "looks", *(f"yes: {what}" for what in wrong_yes), "no: both of all", "no: nothing"]
    )
    edge = edges(TOLERATED)
    for name, model in MODELS.items():
        every = np.tile(edge, (model.steps, 1))
        for title, looks in SCHEDULES.items():
            one = [
                share(drawn(model, lost[None], looks, trials, seeded(20)).safe)
                for lost in (edge * (1, 0), edge * (0, 1))
            ]
            at_edge = drawn(model, every, looks, trials, seeded(20))
            equal = drawn(model, 0 * every, looks, trials, seeded(20))
            shares = [*one, share(at_edge.safe), share(at_edge.lost), share(equal.lost)]
            yield row([name, title, *map(ranged, shares)])


def answering(trials: int) -> Iterator[str]:
    """How soon the answer comes."""
    yield intro(
        "The same *until decided*, how often the answer comes by 30 blocks, and after how many on "
        "average: *yes* where nothing differs, and where every step loses 2 %; *no* where one step "
        f"loses 10 % in both metrics ({trials:,} comparisons each):"
    )
    noises = (0.5, 1.0, 2.0)
    titles = [f"noise {percent(times * MEASURED_SD[0])}" for times in noises]
    yield from header(["steps", "true loss", *titles])
    for steps in (1, 4, 12):
        cases = (("nothing", 0.0, steps), ("2 % in all", 0.02, steps), ("10 % in one", 0.10, 1))
        for title, loss, losing in cases:
            cells = []
            for times in noises:
                sd = (times * MEASURED_SD[0], times * MEASURED_SD[1])
                lost = np.tile(edges(loss), (losing, 1))
                its = drawn(Model(steps=steps, sd=sd), lost, UNTIL_DECIDED, trials, seeded(21))
                right: Share = share(its.lost if loss > TOLERATED else its.safe)
                cells.append(f"{percent(right.value)}, {its.blocks.mean():.1f}")
            yield row([str(steps), title, *cells])


if __name__ == "__main__":
    for line in (*erring(4_000), *answering(2_000)):
        print(line)
