"""The tables of blocks that depend on each other, for `calibrate.py`."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from dbdyno.model.looks import Looks
from dbdyno.stats.looks import scheduled
from dependent_blocks import ORDERS, Host, draw, ends, false_words, ordered
from simulation import Model, decided, tests
from table_text import AIMS, SEED, beside, header, intro, percent, row, seeded

UNTIL_DECIDED = scheduled(Looks(first=None))
SIX = tuple(look for look in scheduled(Looks(first=6)) if look.blocks <= UNTIL_DECIDED[-1].blocks)
DEPENDENT: Mapping[str, Host] = {
    "independent": Host(),
    "noise of the host in time, autocorrelation 0.3": Host(kept=0.3),
    "0.5": Host(kept=0.5),
    "0.8": Host(kept=0.8),
    "an arm slows its successor by 2 %": Host(carry=0.02),
    "by 5 %": Host(carry=0.05),
    "by 10 %": Host(carry=0.10),
    "the base does, by 10 %": Host(carry=0.10, carrier=0),
    "the first of a block is 10 % slower": Host(first=0.10),
    "starts take two modes by turns, 10 % apart": Host(alternate=0.10),
    "one run of each second block is 10 % slower": Host(second_block=0.10),
}
STAYING: Mapping[str, Host] = {
    "independent": Host(),
    "autocorrelation 0.3": Host(stays=0.3),
    "0.5": Host(stays=0.5),
    "0.8": Host(stays=0.8),
    "an arm wanders by 0.2 of the noise a block": Host(walks=0.2),
    "one fill, 0.5 %": Host(fill=0.005),
    "one fill, 1 %": Host(fill=0.01),
    "two fills, 0.5 %": Host(fill=0.005, fills=2),
    "two fills, 1 %": Host(fill=0.01, fills=2),
}
"""What stays with an arm, or with its fills."""
SIDED: Mapping[str, Host] = {
    "normal": Host(),
    "skewed (exponential), of one arm": Host(noise="skewed"),
    "two modes 10 % apart, always opposite, by chance": Host(modes=0.10),
    "metrics in quanta of 1 %": Host(quantum=0.01),
    "metrics in quanta of 5 %": Host(quantum=0.05),
}


def depending(trials: int) -> Iterator[str]:
    """Of hosts whose runs depend on each other, by the order of the arms."""
    for arms in (2, 3):
        yield intro(
            f"{arms} arms that do not differ, and whose runs depend on each other, by the order of "
            "arms in blocks: plans with a false word, until decided, and behind the bar with "
            f"looks after 6, 12 and 24 blocks ({trials:,} comparisons each). dyno's order is the "
            "last:"
        )
        yield from header(["runs", *ORDERS])
        for name, host in DEPENDENT.items():
            cells = []
            for order in ORDERS:
                orders = ordered(order, arms, trials, UNTIL_DECIDED[-1].blocks, SEED)
                logs = draw(host, orders, seeded(9))
                until, six = (false_words(logs, looks, AIMS) for looks in (UNTIL_DECIDED, SIX))
                cells.append(beside(until.value, six.value))
            yield row([name, *cells])


def staying(trials: int) -> Iterator[str]:
    """Of what stays with an arm from block to block, which no order cancels."""
    yield intro(
        "What stays with an arm from block to block, which no order of arms cancels: plans that "
        f"end with a false word ({trials:,} each), when every step is decided or after 30 blocks; "
        "behind the bar if blocks were taken as independent. The last columns: plans that end open "
        "as blocks drift:"
    )
    steps = (1, 4, 12)
    whole = [f"{count} step{'s' * (count > 1)}" for count in steps]
    yield from header(["", *whole, *(f"{text}, drift" for text in whole)])
    for name, host in STAYING.items():
        hosts = [replace(host, steps=count) for count in steps]
        by_kinds, plain = (
            [ends(its, UNTIL_DECIDED, trials, SEED, widen=widen) for its in hosts]
            for widen in (True, False)
        )
        pairs = zip(by_kinds, plain, strict=True)
        false = [beside(its.false.value, other.false.value) for its, other in pairs]
        yield row([name, *false, *(percent(its.drifting.value) for its in by_kinds)])


def one_sided(trials: int) -> Iterator[str]:
    """Of noise that has sides, or few values."""
    yield intro(
        "Noise that is not symmetric, or has few values, in comparisons of one step in which "
        f"nothing differs ({trials:,} each): false words at a first look, and until decided:"
    )
    firsts = (2, 3, 6)
    yield from header(["noise", *(f"n = {blocks}" for blocks in firsts), "until decided"])
    for name, host in SIDED.items():
        orders = ordered("linked", 2, trials, UNTIL_DECIDED[-1].blocks, SEED)
        logs = draw(host, orders, seeded(11))
        looks = [scheduled(Looks(first=blocks))[:1] for blocks in firsts]
        cells = [false_words(logs, its, AIMS).value for its in (*looks, UNTIL_DECIDED)]
        yield row([name, *map(percent, cells)])


def widening(trials: int) -> Iterator[str]:
    """Of the price of widening where blocks are independent."""
    yield intro(
        "The price of widening where blocks are independent, until decided: how often the first "
        "step gets the named word and after how many blocks on average, and behind the bar "
        f"without widening ({trials:,} comparisons each):"
    )
    columns = ["steps", "no change: same", "3 % slower", "5 %", "10 %", "10 %, noise of 10 %"]
    yield from header(columns)
    for steps in (1, 4, 12):
        still = Model(steps=steps, slower=1)
        changed = [replace(still, effect=effect) for effect in (0.03, 0.05, 0.1)]
        models = (still, *changed, replace(still, effect=0.1, sd=(0.1, 0.1)))
        cells = []
        for model in models:
            told = []
            for widen in (True, False):
                judged = partial(tests, widen=widen)
                found = decided(model, UNTIL_DECIDED, trials, seeded(12), AIMS, judged)
                named = found.slower if model.effect else found.same
                told.append(f"{percent(named.value)}, {found.blocks:.1f}")
            cells.append(" \\| ".join(told))
        yield row([str(steps), *cells])
