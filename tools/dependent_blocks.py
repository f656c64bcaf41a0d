"""Comparisons whose blocks depend on each other, or whose noise has sides, by the order of arms.

The runs of a plan are drawn one after the other, as a host has them: what its noise keeps from run
to run, what an arm leaves behind, what a place in the order is worth. The order of the arms decides
how much of that their log ratios keep. Nothing differs between the arms, so each word of a change
is false. The steps of an arm lie in its one run, and share all of this.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Literal

import numpy as np
import numpy.typing as npt

from dbdyno.model import Arm, Plan, Schedule
from dbdyno.model.looks import Look
from dbdyno.model.plan import fill_of
from dbdyno.model.verdict import Aims
from dbdyno.plan import schedule
from simulation import DIRECTIONS, MEASURED_SD, Flags, Numbers, Random, Share, share, tests, walk

AT_ONCE_MAX = 12_000
"""Steps of plans that are drawn and judged together."""
Orders = npt.NDArray[np.int64]
"""Comparisons by blocks by places: the number of the arm. The base is 0, and 1 is judged."""
SHARED = 0.3
"""Of a step's variance, what all steps of a run have in common."""
TIED = -0.5
"""Correlation of throughput and CPU per operation of a step in a run."""


@dataclass(frozen=True, kw_only=True)
class Host:
    """What a host and its arms do to runs; slowdowns are shares of throughput and of CPU alike."""

    steps: int = 1
    kept: float = 0.0  # autocorrelation of noise, from run to run
    stays: float | None = None  # the same of log ratios from block to block: an arm keeps its noise
    carry: float = 0.0  # this arm slows whatever runs after it:
    carrier: int = 1
    first: float = 0.0  # the first run of a block is slower
    modes: float = 0.0  # the arms of a block are in opposite modes, by chance
    alternate: float = 0.0  # each second run is slower: modes that starts take by turns
    second_block: float = 0.0  # one run of each second block is slower, always at the same place
    walks: float = 0.0  # an arm wanders off: steps of a random walk, by the noise of log ratios
    fill: float = 0.0  # standard deviation of log ratios between fills, of each step …
    fills: int = 1  # … of which blocks begin from so many by turns
    noise: Literal["normal", "skewed"] = "normal"  # skewed: of the arm alone, to one side
    quantum: float = 0.0  # metrics are multiples of this share


# --- Orders ----------------------------------------------------------------------------------


def drawn(arms: int, comparisons: int, blocks: int, random: Random) -> Orders:
    """Each block draws its order."""
    return np.argsort(random.random((comparisons, blocks, arms)), axis=-1)


def reversed_for(blocks_alike: int) -> Callable[[int, int, int, Random], Orders]:
    """An order is drawn, and reversed from block to block, so many blocks long."""

    def orders(arms: int, comparisons: int, blocks: int, random: Random) -> Orders:
        found = drawn(arms, comparisons, blocks, random)
        for block in range(blocks):
            if block % blocks_alike:
                found[:, block] = found[:, block - 1, ::-1]
        return found

    return orders


def williams(arms: int, comparisons: int, blocks: int, random: Random) -> Orders:
    """Rows of a square, each before its reverse, in which every arm follows every other."""
    rows = arms // 2 if arms % 2 == 0 else arms
    zigzag = np.array([(place + 1) // 2 * (1 if place % 2 else -1) for place in range(arms)])
    found = drawn(arms, comparisons, blocks, random)
    for block in range(blocks):
        if block % (2 * rows) == 0:
            names = found[:, block].copy()
        row = names[:, (zigzag + block // 2) % arms]
        found[:, block] = row[:, ::-1] if block % 2 else row
    return found


def linked(arms: int, comparisons: int, blocks: int, random: Random) -> Orders:
    """The lab's own, by `plan.schedule`."""
    names = [str(number) for number in range(arms)]
    plan_of = (_plan(names, int(seed)) for seed in random.integers(0, 2**53, comparisons))
    return np.array(
        [
            [[int(name) for name in schedule.block(plan, number).order] for number in numbers]
            for plan in plan_of
            for numbers in [range(1, blocks + 1)]
        ]
    )


def _plan(names: Sequence[str], seed: int) -> Plan:
    return Plan(
        name="p",
        path=None,
        text="",
        seed=seed,
        base=names[0],
        arms=tuple(Arm(name=name, engine="fake") for name in names),
        workloads=(),
        schedule=Schedule(),
    )


ORDERS: Mapping[str, Callable[[int, int, int, Random], Orders]] = {
    "drawn": drawn,
    "drawn, then reversed": reversed_for(2),
    "reversed for ever": reversed_for(1_000),
    "Williams": williams,
    "linked": linked,
}
"""The ways to order arms, the lab's last."""


@cache
def ordered(name: str, arms: int, comparisons: int, blocks: int, seed: int) -> Orders:
    """The orders of these comparisons, drawn once."""
    return ORDERS[name](arms, comparisons, blocks, np.random.default_rng([seed, arms]))


# --- Draws -----------------------------------------------------------------------------------


def draw(host: Host, orders: Orders, random: Random) -> Numbers:
    """Log ratios of arm 1 to the base: comparisons by steps by metrics by blocks."""
    comparisons, blocks, arms = orders.shape
    sd = np.array(MEASURED_SD)[:, None]
    noise = _noise(host, (comparisons, host.steps, 2, blocks * arms), random)
    runs = sd * noise / math.sqrt(2 * (1 - host.kept))
    runs -= DIRECTIONS[:, None] * _slowdowns(host, orders, random)[:, None, None]
    if host.quantum:
        runs = np.log(np.maximum(np.round(np.exp(runs) / host.quantum), 1.0) * host.quantum)
    places = np.argsort(orders, axis=-1)[:, None, None]
    by_arm = np.take_along_axis(runs.reshape(*runs.shape[:3], blocks, arms), places, axis=-1)
    logs: Numbers = by_arm[..., 1] - by_arm[..., 0]
    if host.stays is not None or host.noise == "skewed":
        logs = sd * _own_noise(host, logs.shape, random)
    if host.walks:
        steps = _noise(Host(steps=host.steps), logs.shape, random)
        logs += sd * host.walks * steps.cumsum(axis=-1)
    if host.fill:
        drawn_fills = random.normal(size=(comparisons, host.steps, 1, host.fills))
        of = [fill_of(block, host.fills) - 1 for block in range(1, blocks + 1)]
        logs += DIRECTIONS[:, None] * host.fill * drawn_fills[..., of]
    if host.modes:
        sides = random.choice([-1.0, 1.0], (comparisons, 1, 1, blocks))
        logs += DIRECTIONS[:, None] * math.log1p(host.modes) * sides
    return logs


def _noise(host: Host, shape: tuple[int, ...], random: Random) -> Numbers:
    """Unit noise of runs, in which steps share a part, and metrics are tied."""
    common = random.normal(size=(shape[0], 1, *shape[2:]))
    noise = math.sqrt(1 - SHARED) * random.normal(size=shape) + math.sqrt(SHARED) * common
    noise[:, :, 1] *= math.sqrt(1 - TIED**2)
    noise[:, :, 1] += TIED * noise[:, :, 0]
    return chained(noise, host.kept)


def _own_noise(host: Host, shape: tuple[int, ...], random: Random) -> Numbers:
    """Unit noise of log ratios that stays with an arm, or has sides."""
    if host.stays is not None:
        return chained(_noise(Host(steps=host.steps), shape, random), host.stays)
    slow: Numbers = random.exponential(size=(shape[0], shape[1], 1, shape[3])) - 1
    return -DIRECTIONS[:, None] * slow


def chained(noise: Numbers, kept: float) -> Numbers:
    """Autoregressive noise of the first order, along the last axis, of the same variance."""
    found = noise.copy()
    for at in range(1, noise.shape[-1] if kept else 0):
        found[..., at] = kept * found[..., at - 1] + math.sqrt(1 - kept**2) * noise[..., at]
    return found


def _slowdowns(host: Host, orders: Orders, random: Random) -> Numbers:
    """By how much runs are slower for what is no noise, as logarithms: comparisons by runs."""
    comparisons, blocks, arms = orders.shape
    by_run = orders.reshape(comparisons, blocks * arms)
    number = np.arange(blocks * arms)
    slow = np.zeros(by_run.shape)
    slow[:, 1:] += math.log1p(host.carry) * (by_run[:, :-1] == host.carrier)
    slow += math.log1p(host.first) * (number % arms == 0)
    slow += math.log1p(host.alternate) * (number % 2)
    at = random.integers(0, 2 * arms, (comparisons, 1))
    slow += math.log1p(host.second_block) * (number % (2 * arms) == at)
    return slow


# --- Questions -------------------------------------------------------------------------------


def false_words(logs: Numbers, looks: Sequence[Look], aims: Aims, *, widen: bool = True) -> Share:
    """In how many comparisons anything is called changed at any of these looks."""
    alarmed: Flags = np.zeros(len(logs), dtype=bool)
    for said in walk(logs, looks, aims, judged=partial(tests, widen=widen)):
        alarmed |= (said.changed != 0).any(axis=(1, 2))
    return share(alarmed)


@dataclass(frozen=True, kw_only=True)
class Ends:
    """How plans end in which nothing differs: with the last step's word, or with the last look."""

    false: Share  # with a word of a change
    drifting: Share  # without one, and with blocks that depend on each other


def ends(
    host: Host, looks: Sequence[Look], comparisons: int, seed: int, *, widen: bool = True
) -> Ends:
    """Plans that go on until every step is decided, as races do."""
    blocks, random = looks[-1].blocks, np.random.default_rng([seed, host.steps])
    orders = ordered("drawn", 2, comparisons, blocks, seed)
    judged = partial(tests, widen=widen, fills=host.fills)
    false, drifting = [], []
    for part in np.array_split(orders, math.ceil(comparisons * host.steps / AT_ONCE_MAX)):
        logs = draw(host, part, random)
        waiting = np.ones(len(part), dtype=bool)
        wrong, drifts = np.zeros(len(part), dtype=bool), np.zeros(len(part), dtype=bool)
        for said in walk(logs, looks, Aims(), judged=judged):
            wrong[waiting] = (said.changed != 0).any(axis=(1, 2))[waiting]
            drifts[waiting] = said.drifts[waiting]
            waiting &= ~said.told[:, : host.steps].all(axis=-1)
        false.append(wrong)
        drifting.append(waiting & drifts & ~wrong)
    return Ends(false=share(np.concatenate(false)), drifting=share(np.concatenate(drifting)))
