"""Counts of steps that are not there, by the rule that counts of servers go through.

What differs between fills, between repeats and by the way between commits is drawn; words and
intervals are those of `stats.work` (tools/simulated_farm.py follows them over a year).
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dbdyno.farm.evidence import Numbers, SeriesRatios
from dbdyno.findings.work import fill_scatter
from dbdyno.findings.work.fill_scatter import RepeatFills
from dbdyno.model.golden import GoldenUse
from dbdyno.model.host_facts import CountScatter, FillScatter, fills_key
from dbdyno.model.work import MARGIN
from dbdyno.stats import work
from dbdyno.stats.work import Scatter

COUNT_REPEATS = 2
COUNT_SCATTER = 0.00006
"""Of a log count from repeat to repeat: within SCATTER_LEAST."""
COUNT_WIGGLE = 0.0002
"""What a commit moves in counts by the way: no change that anybody wants to hear of."""
FILL_SCATTERS = (0.00005, 0.0017)
"""Of a log count from fill to fill, drawn between these, log-uniform (docs/counts.md, "Fills")."""
MODES_IN, MODE_SHARE, MODE = 12, 0.2, math.log(1.1)
"""One of so many steps does so much more work on this share of fills, by the plan of a query."""
CATALOGS = 0.12
"""The share of heads with a catalog of their own: they cannot share a fill with the one before."""


@dataclass(frozen=True, kw_only=True)
class Said:
    """The ratios of a plan, and which of them may be news by the rule of counts."""

    ratios: SeriesRatios
    news: npt.NDArray[np.bool_]


class Counts:
    """Count steps that are not there: their fills, as golden copies are kept, and the words."""

    metrics = 1

    def __init__(self, steps: int, random: np.random.Generator) -> None:
        self.random, self.rows = random, steps
        low, high = (math.log(of) for of in FILL_SCATTERS)
        self.deviations = np.exp(random.uniform(low, high, steps))
        self.modes = np.arange(steps) % MODES_IN == 0
        self.pinned = self._fills()  # kept as copies, all year
        self.other = self.build = self._built()
        self.seen: list[FillScatter | None] = [None] * steps

    def _built(self) -> Numbers:
        return self.random.normal(0, COUNT_WIGGLE, self.rows)

    def _fills(self) -> Numbers:
        """What each of an arm's fills does to the log counts of the steps."""
        size = (COUNT_REPEATS, self.rows)
        other = (self.random.random(size) < MODE_SHARE) & self.modes
        return self.random.normal(0, self.deviations, size) + np.where(other, MODE, 0.0)

    def measured(self, before: Numbers, level: Numbers, *, again: bool) -> tuple[Said, Said]:
        """A head with this level after one with that: beside it, and beside the pinned release."""
        if not again:
            self.other, self.build = self.build, self._built()
        fills = self._fills()
        apart = self.random.random() < CATALOGS
        pinned = self._fills() if again else self.pinned
        head = self._counted(level + self.build, fills)
        previous = self._counted(before + self.other, self._fills() if apart else fills)
        release = self._counted(np.zeros(self.rows), pinned)
        said = (
            self._said(head - previous, fills=COUNT_REPEATS if apart else 0),
            self._said(head - release, fills=COUNT_REPEATS),
        )
        # As `run.count_fill.learn`: each night's head has fills of its own.
        for place, logs in enumerate(head.T):
            between = work.between_fills(logs.tolist())
            assert between is not None
            self.seen[place] = work.together(self.seen[place], between)
        return said

    def _counted(self, level: Numbers, fills: Numbers) -> Numbers:
        """The log counts of each repeat, by a fill each."""
        counted: Numbers = level + fills + self.random.normal(0, COUNT_SCATTER, fills.shape)
        return counted

    def _said(self, ratios: Numbers, *, fills: int) -> Said:
        """The words of the rule of counts, row by row, and the ratios that they are said of."""
        begun = {
            ("w", arm): RepeatFills(uses=tuple(use(arm if fills else "", fill) for fill in (1, 2)))
            for arm in ("base", "arm")
        }
        steps = [("w", str(place)) for place in range(self.rows)]
        floor = Scatter(deviation=work.SCATTER_LEAST, freedom=work.FREEDOM_LEAST)
        known = {
            fills_key("", step): seen for step, seen in zip(steps, self.seen, strict=True) if seen
        }
        samples = fill_scatter.samples(
            {(step, "arm"): logs.tolist() for step, logs in zip(steps, ratios.T, strict=True)},
            begun,
            "base",
            dict.fromkeys(steps, floor),
            CountScatter(fills=known),
        )
        verdicts = [work.judged(samples[step, "arm"], MARGIN) for step in steps]
        return Said(
            ratios=SeriesRatios(
                values=np.array([math.log(verdict.ratio.value) for verdict in verdicts]),
                standard_errors=np.array([verdict.ratio.se for verdict in verdicts]),
                degrees=np.array([verdict.ratio.freedom for verdict in verdicts]),
            ),
            news=np.array([verdict.word in ("more", "less") for verdict in verdicts]),
        )


def use(key: str, fill: int) -> GoldenUse:
    """A run that began from a copy."""
    return GoldenUse(
        began=True, fill=fill, workload="w", step="fill", step_ordinal=1, key=f"{key}{fill}",
        made_unix_ns=fill,
    )  # fmt: skip
