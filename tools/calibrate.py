"""How often the lab errs, by simulation with many draws: `python tools/calibrate.py`.

    python tools/calibrate.py --write docs/method.md

writes the tables anew between the two marks of the page; without --write it prints them. The same
draws, fewer of them, are tests (tests/test_simulation.py). The models are those of simulation.py
and, for rules that the lab does not use, of peer_rules.py.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

import peer_rules
from dbdyno.model.verdict import Aims
from simulation import (
    Model,
    Share,
    Standing,
    coverage,
    reported,
    stood_alarms,
)

BEGIN = "<!-- made by tools/calibrate.py: begin -->"
END = "<!-- made by tools/calibrate.py: end -->"
SEED = 6
AIMS = Aims()
COVERED_BLOCKS = (3, 4, 5, 6, 8, 10, 12, 16, 20)
EFFECT_PEERS = 0.03


def main() -> int:
    """Prints or writes the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=float, default=1.0, help="times the usual number of draws")
    parser.add_argument("--write", type=Path, help="a page with the two marks, written in place")
    chosen = parser.parse_args()
    text = "\n".join(tables(chosen.draws))
    if chosen.write is None:
        print(text)
        return 0
    page = chosen.write.read_text(encoding="utf-8")
    if page.count(BEGIN) != 1 or page.count(END) != 1:
        print(f"{chosen.write}: lacks the marks `{BEGIN}` and `{END}`; add them", file=sys.stderr)
        return 1
    before, after = page.split(BEGIN)[0], page.split(END)[1]
    chosen.write.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")
    return 0


def tables(draws: float) -> Iterator[str]:
    """The lines of all tables; `draws` multiplies the usual number of comparisons."""

    def comparisons(usual: int) -> int:
        return max(1, round(usual * draws))

    yield from covered(comparisons(40_000))
    yield from alarming(comparisons(4_000))
    yield from standing(comparisons(2_000))
    yield from reporting(comparisons(1_500))
    yield from peers(comparisons(1_500))


def covered(trials: int) -> Iterator[str]:
    """Of intervals."""
    yield f"\n95 % intervals that have the true ratio within ({trials:,} comparisons each):\n"
    yield from header(["noise", *(f"n = {blocks}" for blocks in COVERED_BLOCKS)])
    for name, tail in (("normal", None), ("t with 3 degrees of freedom", 3.0)):
        shares = [coverage(blocks, trials, seeded(1), tail=tail) for blocks in COVERED_BLOCKS]
        yield row([name, *(percent(share.value) for share in shares)])


def alarming(trials: int) -> Iterator[str]:
    """Of comparisons in which nothing differs."""
    yield (
        f"\nComparisons in which nothing differs and anything is called changed ({trials:,} each; "
        "in brackets how exactly so many tell; at most 5 % are claimed):\n"
    )
    blocks = (3, 6, 12)
    yield from header(["steps", *(f"{count} blocks" for count in blocks)])
    for steps in (1, 4, 12, 42):
        found = [reported(Model(steps=steps), count, trials, seeded(2), AIMS) for count in blocks]
        yield row([str(steps), *(ranged(one.alarms) for one in found)])


def standing(trials: int) -> Iterator[str]:
    """Of comparisons in which nothing differs and either arm at times does nothing."""
    yield (
        "\nThe same where each arm stands still in a share of the runs of a step, without an "
        f"operation ({trials:,} comparisons each):\n"
    )
    blocks = (3, 6, 12)
    yield from header(["steps", "stands still in", *(f"{count} blocks" for count in blocks)])
    for steps in (1, 4):
        for often in (0.02, 0.1, 0.3):
            model = Standing(steps=steps, often=often)
            shares = [stood_alarms(model, count, trials, seeded(6), AIMS) for count in blocks]
            named = f"{often:.0%}".replace("%", " %")
            yield row([str(steps), named, *(ranged(share) for share in shares)])


def reporting(trials: int) -> Iterator[str]:
    """Of comparisons in which six of 42 steps are slower by 5 %."""
    yield (
        f"\n42 steps, six of them slower by 5 % in both metrics ({trials:,} comparisons each). "
        "False: the mean over comparisons of the false share of what each reports, of which at "
        "most 5 % are claimed, and of all reports together:\n"
    )
    columns = ["variance that steps share", "blocks", "found of the six", "false, mean", "of all"]
    yield from header(columns)
    for shared in (0.0, 0.3, 0.8):
        for blocks in (4, 6, 10):
            model = Model(steps=42, slower=6, effect=0.05, shared=shared)
            found = reported(model, blocks, trials, seeded(3), AIMS)
            values = (found.found.value, found.false_mean, found.false.value)
            yield row(
                [
                    f"{shared:.0%}".replace("%", " %"),
                    str(blocks),
                    *(percent(value) for value in values),
                ]
            )


def peers(trials: int) -> Iterator[str]:
    """Of rules that the lab does not use."""
    yield (
        f"\nFor contrast, other rules on runs of two minutes ({trials:,} comparisons each; noise "
        "of 3 % in seconds, 1 % by server start, 2 % by a host that drifts: plausible, not "
        "measured):\n"
    )
    yield from header(["rule", "false alarms", "finds a true −3 %"])
    for name in peer_rules.RULES:
        counts = [
            peer_rules.calls(name, trials, seeded(5), effect=effect)
            for effect in (0.0, EFFECT_PEERS)
        ]
        yield row([name, *(percent(count / trials) for count in counts)])


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


def ranged(share: Share) -> str:
    """`4.9 % [4.2, 5.6]`."""
    low, high = share.interval
    return f"{percent(share.value)} [{100 * low:.1f}, {100 * high:.1f}]"


if __name__ == "__main__":
    sys.exit(main())
