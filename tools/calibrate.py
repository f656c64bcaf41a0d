"""How often the lab errs, by simulation with many draws: `python tools/calibrate.py`.

    python tools/calibrate.py --write docs/error-rates.md

writes the tables anew between the two marks of the page; without --write it prints them. The same
draws, fewer of them, are tests (tests/test_simulation.py). The models are those of simulation.py.
With one draw in a hundred (`--draws 0.01`) it takes seconds.
"""

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

import dependence_tables
import fill_simulation
import marked_page
import operation_lengths
import tolerated
from dbdyno.model.looks import Look, Looks
from dbdyno.model.verdict import Aims
from dbdyno.stats.looks import scheduled
from ended_plans import Ended, ended
from fill_simulation import Calibrated, Filled
from marked_page import draws_of
from simulation import (
    MEASURED_SD,
    Decided,
    Model,
    Share,
    alarms,
    alarms_once,
    all_lent,
    batches,
    coverage,
    decided,
    draw,
    reported,
    walk,
)
from standing_still import Standing, stood_alarms
from table_text import (
    AIMS,
    SEED,
    beside,
    header,
    intro,
    percent,
    ranged,
    row,
    seeded,
    whole_percent,
)

TOOL = "tools/calibrate.py"
BLOCKS = (3, 4, 6, 10)
BLOCKS_MAX = 32
"""Where plans end that are looked at as often as they can be."""
ONE_METRIC = ((True, False), (False, True))
FILL_SDS = (0.0, 0.005, 0.01, 0.02)
FILLED: Mapping[str, Filled] = {
    "one fill": Filled(sd=0),
    "one fill, calibrated by 60 blocks": Filled(sd=0, calibrated=Calibrated()),
    "one fill, calibrated by 18 blocks": Filled(sd=0, calibrated=Calibrated(blocks_each=3)),
    "2 fills": Filled(sd=0, fills=2),
    "4 fills": Filled(sd=0, fills=4),
    "6 fills": Filled(sd=0, fills=6),
}
ENDED = ((0.026, (0.0, 0.015, 0.03, 0.05)), (0.107, (0.0, 0.03, 0.05, 0.10)))
"""Of plans that end: noise between blocks, and changes in truth."""
NOISES: Mapping[str, Model] = {
    "30 % shared": Model(steps=1),
    "80 % shared": Model(steps=1, shared=0.8),
    "heavy tails": Model(steps=1, noise="heavy tails"),
    "stalls": Model(steps=1, noise="stalls"),
    "steps unlike by 0.8": Model(steps=1, unlike=0.8),
    "one step 5 times as loud": Model(steps=1, loudest=5.0),
}
UNTIL_DECIDED = scheduled(Looks(first=None))
ENDS = (
    ("until decided", UNTIL_DECIDED, False),
    ("3, 6, 12, 24, all of them", scheduled(Looks(first=3))[:4], True),
)
"""Looks of plans that end, and whether a plan goes on after its word."""


def schedules() -> Iterator[tuple[str, Sequence[Look], Aims]]:
    """The looks that a plan can have, up to BLOCKS_MAX."""
    for first in (2, 3, 4, 6):
        looks = [look for look in scheduled(Looks(first=first)) if look.blocks <= BLOCKS_MAX]
        yield ", ".join(str(look.blocks) for look in looks), looks, AIMS
    numbers = ", ".join(str(look.blocks) for look in UNTIL_DECIDED)
    yield f"until decided: {numbers}", UNTIL_DECIDED, AIMS
    yield "until decided, time over: 3, 4, 5", scheduled(Looks(first=None, last=5)), AIMS


def tables(draws: float) -> Iterator[str]:
    """The lines of all tables; `draws` multiplies the usual number of comparisons."""

    def comparisons(usual: int) -> int:
        return draws_of(usual, draws)

    yield from covered(comparisons(5_000))
    yield from alarming(comparisons(10_000))
    yield from looking(comparisons(3_000))
    yield from several(comparisons(1_000))
    yield from standing(comparisons(400))
    yield from finding(comparisons(3_000))
    yield from deciding(comparisons(2_000))
    yield from ending(comparisons(2_000))
    yield from reporting(comparisons(1_500))
    yield from filling(comparisons(4_000))
    yield from finding_filled(comparisons(2_000))
    yield from lengths(comparisons(400))
    yield from tolerated.erring(comparisons(4_000))
    yield from tolerated.answering(comparisons(2_000))
    yield from ("", "### Blocks that depend on each other")
    yield from dependence_tables.depending(comparisons(2_000))
    yield from dependence_tables.staying(comparisons(6_000))
    yield from dependence_tables.one_sided(comparisons(4_000))
    yield from dependence_tables.widening(comparisons(1_500))


def covered(trials: int) -> Iterator[str]:
    """Of intervals."""
    yield intro(
        f"95 % intervals that contain the true ratio ({trials:,} comparisons each): over all "
        "steps, and behind the bar over the loudest fifth of them:"
    )
    yield from header(["steps", *(f"n = {blocks}" for blocks in BLOCKS)])
    for steps in (1, 2, 4, 12):
        cells = []
        for blocks in BLOCKS:
            found = coverage(Model(steps=steps), blocks, trials, seeded(1))
            cells.append(beside(found.all.value, found.loudest.value))
        yield row([str(steps), *cells])


def alarming(trials: int) -> Iterator[str]:
    """Of comparisons in which nothing differs, at a single look."""
    yield intro(
        f"Comparisons that call anything changed although nothing differs ({trials:,} each): at "
        "the first look, which has half of the level, and behind the bar at a single look that has "
        "all of it. The last column lends all degrees of freedom of Smyth's rule at a single look:"
    )
    blocks = (3, 4, 6)
    columns = ["noise", "steps", *(f"n = {count}" for count in blocks), "all lent, n = 3"]
    yield from header(columns)
    for name, noise in NOISES.items():
        for steps in (4, 12):
            model = replace(noise, steps=steps)
            cells = []
            for count in blocks:
                half, whole = alarms_once(model, count, trials, seeded(2))
                cells.append(beside(half.value, whole.value))
            _, full = alarms_once(model, 3, trials, seeded(2), all_lent)
            yield row([name, str(steps), *cells, percent(full.value)])


def looking(trials: int) -> Iterator[str]:
    """Of comparisons in which nothing differs, looked at to the end."""
    yield intro(
        "The same for plans that are judged at every look up to the end "
        f"({trials:,} comparisons each; brackets hold 95 % intervals; dyno claims at most 5 %). "
        "Behind the bar, steps share 80 % of the variance:"
    )
    steps = (1, 2, 4, 12)
    yield from header(
        ["looks after … blocks", "1 step", *(f"{count} steps" for count in steps[1:])]
    )
    for name, looks, aims in schedules():
        cells = []
        for count in steps:
            found, tied = (
                alarms(Model(steps=count, shared=shared), looks, trials, seeded(3), aims)[-1]
                for shared in (0.3, 0.8)
            )
            cells.append(f"{ranged(found)} \\| {percent(tied.value)}")
        yield row([name, *cells])


def several(trials: int) -> Iterator[str]:
    """Of plans whose arms all equal the base."""
    yield intro(
        "The promise holds for each arm. Plans in which any of several arms is called changed, "
        f"although all equal the base ({trials:,} plans each, 4 steps):"
    )
    columns = (1, 2, 5, 10)
    yield from header(
        ["looks after … blocks", *(f"{arms} arm{'s' * (arms > 1)}" for arms in columns)]
    )
    for name, looks, aims in schedules():
        cells = [ranged(any_alarms(Model(steps=4), arms, looks, aims, trials)) for arms in columns]
        yield row([name, *cells])


def any_alarms(model: Model, arms: int, looks: Sequence[Look], aims: Aims, trials: int) -> Share:
    """In how many plans any of several arms, which all equal the base, is called changed.

    The arms share the base's noise, which is half of a log ratio's variance.
    """
    random, blocks, plans = seeded(9), looks[-1].blocks, 0
    for count in batches(model, trials, blocks):
        base, _ = draw(model, count, blocks, random)
        alarmed = np.zeros(count, dtype=bool)
        for _ in range(arms):
            own_noise, _ = draw(model, count, blocks, random)
            for said in walk((own_noise - base) / math.sqrt(2), looks, aims):
                alarmed |= (said.changed != 0).any(axis=(1, 2))
        plans += int(alarmed.sum())
    return Share(count=plans, total=trials)


def finding(trials: int) -> Iterator[str]:
    """Of comparisons with a change, at the first look."""
    yield intro(
        "One step slower in both metrics by 5 %, and behind the bar by 10 %: found at the first "
        f"look ({trials:,} comparisons each):"
    )
    yield from header(["steps", *(f"n = {blocks}" for blocks in BLOCKS)])
    for steps in (1, 2, 4, 12, 42):
        cells = []
        for blocks in BLOCKS:
            look = scheduled(Looks(first=blocks))[:1]
            models = (Model(steps=steps, slower=1, effect=effect) for effect in (0.05, 0.10))
            found = [decided(model, look, trials, seeded(4), AIMS).slower for model in models]
            cells.append(beside(*(share.value for share in found)))
        yield row([str(steps), *cells])


def deciding(trials: int) -> Iterator[str]:
    """Of comparisons that are looked at until they are decided."""
    yield intro(
        '`blocks = "until decided"`, at most 30 blocks: how often one step gets the named word, '
        "and after how many blocks on average, if both metrics are slower by 5 %, by 10 %, or not "
        "at all. Last column: one metric alone is worse by 3 %, the margin (the worse of the two; "
        f"dyno claims at most 7 %; {trials:,} comparisons each):"
    )
    columns = ["noise", "steps", "5 %: slower", "10 %: slower", "no change: same"]
    yield from header([*columns, "3 % in one metric: same"])
    for name, sd in (("2.6 and 1.6 %", MEASURED_SD), ("10 %", (0.10, 0.10))):
        for steps in (1, 2, 4, 12):
            model = Model(steps=steps, sd=sd, slower=1)

            def walked(effect: float, moved: tuple[bool, bool], model: Model = model) -> Decided:
                its = replace(model, effect=effect, moved=moved)
                return decided(its, UNTIL_DECIDED, trials, seeded(5), AIMS)

            slower = [walked(effect, (True, True)) for effect in (0.05, 0.10)]
            none = walked(0.0, (True, True))
            edge = [walked(AIMS.margin, moved).same.value for moved in ONE_METRIC]
            cells = [f"{percent(its.slower.value)}, {its.blocks:.1f}" for its in slower]
            cells += [f"{percent(none.same.value)}, {none.blocks:.1f}", percent(max(edge))]
            yield row([name, str(steps), *cells])


def ending(trials: int) -> Iterator[str]:
    """Of plans that ended."""
    yield intro(
        "Plans of one step that ended (both metrics slower by *change*, independent normal noise "
        "between blocks), and the figures of throughput that stand beside its word: how often the "
        "95 % interval holds the true change, in all plans and in those in which throughput was "
        "decided; how often the estimate is further from no change than the true one (50 %: "
        "median-unbiased); the median estimate where throughput was called changed, by the true "
        "change. Behind the bar, the same of the mean and its t interval at the same look "
        f"({trials:,} plans each):"
    )
    columns = ["looks", "noise", "change", "decided", "held, all", "held, decided", "further"]
    yield from header([*columns, "size"])
    for name, looks, goes_on in ENDS:
        for sd, effects in ENDED:
            for effect in effects:
                model = Model(steps=1, sd=(sd, sd), unlike=0.0, slower=1, effect=effect)
                found = ended(model, looks, trials, seeded(9), goes_on=goes_on)
                yield row([name, percent(sd), percent(effect), *_of_ended(found)])


def _of_ended(found: Ended) -> Iterator[str]:
    """The cells of plans that ended."""
    both = (found.shown, found.plain)
    yield percent(found.decided.value)
    yield beside(*(its.held.value for its in both))
    held = [its.held_decided.value for its in both if its.held_decided.total]
    yield beside(*held) if held else "none"
    yield beside(*(its.beyond.value for its in both))
    sizes = [f"{its.size:.2f}" for its in both if not math.isnan(its.size)]
    yield " \\| ".join(sizes) or "none"


def reporting(trials: int) -> Iterator[str]:
    """Of comparisons in which six of 42 steps are slower by 5 %."""
    yield intro(
        f"42 steps, six of them slower by 5 % in both metrics, at the first look ({trials:,} "
        "comparisons each). *False, mean* averages the share of false reports over comparisons "
        "(dyno claims at most 5 %); *of all* pools all reports:"
    )
    columns = ["variance that steps share", "blocks", "found of the six", "false, mean", "of all"]
    yield from header(columns)
    for shared in (0.3, 0.8):
        for blocks in (3, 4, 6):
            model = Model(steps=42, slower=6, effect=0.05, shared=shared)
            (look,) = scheduled(Looks(first=blocks))[:1]
            found = reported(model, look, trials, seeded(6), AIMS)
            values = (found.found.value, found.false_mean, found.false.value)
            yield row([whole_percent(shared), str(blocks), *(percent(value) for value in values)])


def standing(trials: int) -> Iterator[str]:
    """Of comparisons in which nothing differs and either arm at times does nothing."""
    yield intro(
        "False alarms at the first look if each arm stands still, without an operation, in a share "
        f"of the runs of a step ({trials:,} comparisons each):"
    )
    blocks = (3, 6, 12)
    yield from header(["steps", "stands still in", *(f"{count} blocks" for count in blocks)])
    for steps in (1, 4):
        for often in (0.1, 0.3):
            model = Standing(steps=steps, often=often)
            shares = [stood_alarms(model, count, trials, seeded(7), AIMS) for count in blocks]
            yield row([str(steps), whole_percent(often), *(ranged(share) for share in shares)])


def filling(trials: int) -> Iterator[str]:
    """Of blocks that begin from golden copies."""
    yield intro(
        "False alarms of one step if blocks begin from golden copies whose fills move the ratio of "
        f"both metrics by the named standard deviation ({trials:,} comparisons each). *Until "
        "decided*: looks after 3 to 30 blocks; 12: one first look. The calibrations have 6 fills, "
        "of 10 blocks and of 3 each:"
    )
    yield from header(["blocks begin from", "looks", *(percent(sd) for sd in FILL_SDS)])
    for name, way in FILLED.items():
        for title, looks in (
            ("until decided", UNTIL_DECIDED),
            ("12", [Look(blocks=12, share=0.5)]),
        ):
            cells = [
                ranged(fill_simulation.alarms(replace(way, sd=sd), looks, trials, seeded(12), AIMS))
                for sd in FILL_SDS
            ]
            yield row([name, title, *cells])


def finding_filled(trials: int) -> Iterator[str]:
    """The same of a change."""
    yield intro(
        "The same plans *until decided*, if both metrics are slower by 5 %: how often that is "
        f"found, and after how many blocks on average ({trials:,} comparisons each):"
    )
    yield from header(["blocks begin from", *(percent(sd) for sd in FILL_SDS)])
    for name, way in list(FILLED.items())[1:]:
        cells = []
        for sd in FILL_SDS:
            of = replace(way, sd=sd)
            share, blocks = fill_simulation.found(of, 0.05, UNTIL_DECIDED, trials, seeded(13))
            cells.append(f"{percent(share.value)}, {blocks:.1f}")
        yield row([name, *cells])


def lengths(cells: int) -> Iterator[str]:
    """The table of operations of any length."""
    yield intro(
        f"Operations of 0.1 ms to 5 s, fixed or ±10 %, on 1 to 64 connections in windows of 2 to "
        f"60 s, on the fake server; one arm is 0.5, 2 or 5 % slower, {operation_lengths.BLOCKS} "
        "blocks. The largest error of a ratio, in standard errors too where times vary, and how "
        "often its 95 % interval holds the truth. Cells without a rate have operations longer than "
        "their turns."
    )
    columns = ["turns", "cells", "without a rate", "error, fixed", "error, ±10 %", "held"]
    yield from header(columns)
    drawn = list(operation_lengths.drawn(cells, 100_000, SEED))
    for turns_s in operation_lengths.TURNS_S:
        own = [cell for cell in drawn if cell.turns_s == turns_s]
        told = [known for known in map(operation_lengths.outcome, own) if known is not None]
        fixed, varied = (
            [known for known in told if bool(known.cell.jitter) == jitter]
            for jitter in (False, True)
        )
        worst = max((abs(known.error) for known in varied), default=0.0)
        errors = [abs(known.error) / known.standard_error for known in varied]
        covered = sum(known.covered for known in told) / len(told) if told else 1.0
        yield row(
            [
                "none" if turns_s is None else f"{turns_s:g} s",
                str(len(own)),
                str(len(own) - len(told)),
                f"{100 * max((abs(known.error) for known in fixed), default=0.0):.4f} %",
                f"{100 * worst:.2f} %, {max(errors, default=0.0):.1f}",
                whole_percent(covered),
            ]
        )


if __name__ == "__main__":
    sys.exit(marked_page.main(TOOL, __doc__ or "", tables))
