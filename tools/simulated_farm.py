"""What a farm finds in a year, and what it reports for nothing: `python tools/simulated_farm.py`.

    python tools/simulated_farm.py --write docs/error-rates.md

writes the tables anew between the two marks of the page; without --write it prints them. Decisions
are those of `dbdyno.farm`; the heads that they follow are drawn here. The same years, fewer of
them, are tests (tests/test_simulated_farm.py).
"""

import math
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

import marked_page
from dbdyno.farm import alarm
from dbdyno.farm.chain import Budget, HeadSeries, Instrument
from dbdyno.farm.evidence import Numbers, SeriesEvidence, SeriesRatios
from dbdyno.farm.loop import REPEATS_MAX
from simulated_counts import COUNT_SCATTER, FILL_SCATTERS, MODES_IN, Counts, Said
from table_text import SEED, header, intro, percent, row

TOOL = "tools/simulated_farm.py"
STEPS = 12
METRICS: Mapping[Instrument, tuple[str, ...]] = {
    "work": ("instructions",),
    "time": ("qps", "cpu_per_op"),
}
SERIES = STEPS * sum(len(names) for names in METRICS.values())
"""Of a farm that counts and measures time: what shares the budget."""
BUDGET = Budget()
QUARTERS = 4
NIGHTS = 365
BLOCKS = 8
"""That fit into half an hour: three arms through twelve steps."""
REPEATED_BLOCKS = 24
"""Of one step alone, in ten minutes."""
LAYOUTS = (0.002, 0.014)
"""Deviations of what builds of one commit differ by, drawn between these, log-uniform
(docs/bisect.md)."""
LOUDNESS = 0.3
"""The deviation of ln(scatter) from night to night."""
EFFECTS = (-0.01, -0.02, -0.03, -0.05)
DRIFT_STEPS, DRIFT_EFFECT, DRIFT_NIGHTS = 10, -0.005, 9
"""So many steps of this size, each so many nights after the one before."""
WITHIN_NIGHTS, FOLLOWED_NIGHTS = 3, 30
PLANTED_NIGHTS = (60, 120)
"""A change comes on a night between these."""
YEARS, PLANTED_STEPS = 20, 480
MEASURING_MINUTES: Mapping[Instrument, float] = {"work": 10.0, "time": 30.0}
REPEATING_MINUTES: Mapping[Instrument, float] = {"work": 2.0, "time": 10.0}
BUILD_MINUTES = 4.0
RULE_LIMIT = 0.025
RULE_DRAWS = 100_000
SECONDS_SD, SECONDS = 0.03, 120
"""Of runs."""


@dataclass(frozen=True, kw_only=True)
class Host:
    """Where a farm measures, and by what."""

    words: str
    instrument: Instrument
    scatter: float  # of a log ratio between blocks, or repeats
    layouts: tuple[float, float] = LAYOUTS
    loudness: float = LOUDNESS
    disturbed: float = 0.0  # share of a step's measurements in which the head is off …
    off: float = 0.02  # … by this deviation

    @property
    def metrics(self) -> int:
        """Of each step."""
        return len(METRICS[self.instrument])


HOSTS = (
    Host(words="counts, fills that differ", instrument="work", scatter=COUNT_SCATTER),
    Host(words="time, 1.6 %", instrument="time", scatter=0.016),
    Host(words="time, 5 %", instrument="time", scatter=0.05),
)
BEYOND = (
    Host(
        words="builds scatter by 1.4 to 3 %",
        instrument="time",
        scatter=0.016,
        layouts=(0.014, 0.03),
    ),
    Host(words="nights unlike by 0.8", instrument="time", scatter=0.016, loudness=0.8),
    Host(
        words="a tenth of measurements off by 2 %", instrument="time", scatter=0.016, disturbed=0.1
    ),
)
"""Hosts that are worse than the farm is told."""


@dataclass(frozen=True, kw_only=True)
class Year:
    """What a farm did in some nights: steps of many farms, in rows."""

    reported: npt.NDArray[np.bool_]  # steps by nights: a sure alarm
    repetitions: npt.NDArray[np.int64]  # the same: plans beside the first


class Hands:
    """Time steps that are not there: rows are steps, each with the metrics of a host."""

    def __init__(self, host: Host, steps: int, random: np.random.Generator) -> None:
        self.host, self.random = host, random
        self.rows = steps * host.metrics
        low, high = (math.log(of) for of in host.layouts)
        drawn = np.exp(random.uniform(low, high, steps))
        self.layout = drawn
        self.build = self._built()

    def _built(self) -> Numbers:
        """What the layout of a new build does, the same to each metric of a step."""
        return np.repeat(self.random.normal(0, self.layout), self.host.metrics)

    def _off(self) -> Numbers:
        """What disturbs a head by itself in a plan, the same in each metric of a step."""
        steps = self.rows // self.host.metrics
        hit = self.random.random(steps) < self.host.disturbed
        return np.repeat(
            np.where(hit, self.random.normal(0, self.host.off, steps), 0.0), self.host.metrics
        )

    def measured(self, before: Numbers, level: Numbers, *, again: bool) -> tuple[Said, Said]:
        """A head with this level after one with that: beside it, and beside the pinned release."""
        other = self._built() if again else self.build
        own = self._built()
        if not again:
            self.build = own
        own = own + self._off()
        blocks = REPEATED_BLOCKS if again else BLOCKS
        deviation = self.host.scatter * math.exp(self.random.normal(0, self.host.loudness))
        arms = self.random.normal(0, deviation / math.sqrt(2 * blocks), (3, self.rows))
        steps = level + own - before - other + arms[0] - arms[1]
        levels = level + own + arms[0] - arms[2]
        return self._said(steps, deviation, blocks), self._said(levels, deviation, blocks)

    def _said(self, values: Numbers, deviation: float, blocks: int) -> Said:
        degrees = blocks - 1.0
        squares = self.random.chisquare(degrees, self.rows) / degrees
        ratios = SeriesRatios(
            values=values,
            standard_errors=np.full(self.rows, deviation / math.sqrt(blocks)) * np.sqrt(squares),
            degrees=np.full(self.rows, degrees),
        )
        return Said(ratios=ratios, news=np.full(self.rows, fill_value=True))


def followed(host: Host, levels: Numbers, random: np.random.Generator) -> Year:
    """What the farm's decisions make of steps with these levels, steps by nights."""
    steps, nights = levels.shape
    counts = host.instrument == "work"
    hands = Counts(steps, random) if counts else Hands(host, steps, random)
    limit = alarm.limits(SERIES, BUDGET)
    own = [
        HeadSeries(branch="", step=("", ""), instrument=host.instrument, metric="")
        for _ in range(hands.rows)
    ]
    farm = alarm.detector(own, nights, limit)
    year = Year(
        reported=np.zeros((steps, nights), dtype=bool),
        repetitions=np.zeros((steps, nights), dtype=np.int64),
    )
    before = np.repeat(levels[:, 0], host.metrics)
    for night in range(nights):
        level = np.repeat(levels[:, night], host.metrics)
        sides = hands.measured(before, level, again=False)
        evidence = said(farm.head(*(side.ratios for side in sides)), sides)
        sure = alarm.above(evidence, limit.sure) & alarm.sure_at_once(own)
        for _ in range(REPEATS_MAX):
            open_yet = np.repeat(~by_step(sure, host), host.metrics)
            suspect = by_step(alarm.above(evidence, limit.suspect) & open_yet, host)
            if not suspect.any():
                break
            year.repetitions[:, night] += suspect
            asked = np.repeat(suspect, host.metrics)
            sides = hands.measured(before, level, again=True)
            evidence = said(farm.repetition(*(_only(side.ratios, asked) for side in sides)), sides)
            sure |= alarm.above(evidence, limit.sure) & asked
        year.reported[:, night] = by_step(sure, host)
        farm.begin_anew(sure)
        before = level
    return year


def said(evidence: SeriesEvidence, sides: tuple[Said, Said]) -> SeriesEvidence:
    """The evidence where the rule of counts says more or less, too, as a farm takes it."""
    return alarm.borne_out(evidence, *(side.news for side in sides))


def by_step(rows: npt.NDArray[np.bool_], host: Host) -> npt.NDArray[np.bool_]:
    """Whether any metric of each step."""
    return np.asarray(rows.reshape(-1, host.metrics).any(axis=1), dtype=np.bool_)


def _only(ratios: SeriesRatios, rows: npt.NDArray[np.bool_]) -> SeriesRatios:
    return replace(ratios, values=np.where(rows, ratios.values, np.nan))


# --- What is planted ---------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Recall:
    """How changes of one size were reported."""

    at_once: float  # share, within WITHIN_NIGHTS
    later: float  # share, within FOLLOWED_NIGHTS


def planted(host: Host, effect: float, steps: int) -> Recall:
    """Of steps that each change once, on a night of their own."""
    random = np.random.default_rng([SEED, 31])
    begun = random.integers(*PLANTED_NIGHTS, steps)
    nights = np.arange(PLANTED_NIGHTS[1] + FOLLOWED_NIGHTS)
    levels = np.where(nights >= begun[:, None], math.log1p(effect), 0.0)
    since = nights - begun[:, None]
    year = followed(host, levels, random)
    return Recall(
        at_once=_share(year, (since >= 0) & (since < WITHIN_NIGHTS)),
        later=_share(year, (since >= 0) & (since < FOLLOWED_NIGHTS)),
    )


def _share(year: Year, inside: npt.NDArray[np.bool_]) -> float:
    return float((year.reported & inside).any(axis=1).mean())


@dataclass(frozen=True, kw_only=True)
class Drift:
    """How drifts were reported."""

    share: float  # at least once, FOLLOWED_NIGHTS after the last step at the latest
    lost: float  # median of what was lost by the first report


def drifted(host: Host, steps: int) -> Drift:
    """Of steps that lose a little again and again."""
    random = np.random.default_rng([SEED, 32])
    begun = PLANTED_NIGHTS[0]
    nights = np.arange(begun + DRIFT_STEPS * DRIFT_NIGHTS + FOLLOWED_NIGHTS)
    lost = np.clip((nights - begun) // DRIFT_NIGHTS + 1, 0, DRIFT_STEPS)
    levels = np.tile(lost * math.log1p(DRIFT_EFFECT), (steps, 1))
    reported = followed(host, levels, random).reported & (nights >= begun)
    seen = reported.any(axis=1)
    first = levels[np.flatnonzero(seen), reported[seen].argmax(axis=1)]
    return Drift(share=float(seen.mean()), lost=float(np.expm1(np.median(first))))


@dataclass(frozen=True, kw_only=True)
class Quiet:
    """What years cost in which nothing changes."""

    false_a_quarter: float  # reports of a farm
    repetitions_a_night: float
    hours_a_night: float


def quiet(host: Host, years: int) -> Quiet:
    """Of farms of STEPS steps."""
    random = np.random.default_rng([SEED, 33])
    year = followed(host, np.zeros((years * STEPS, NIGHTS)), random)
    nights = years * NIGHTS
    repetitions = year.repetitions.sum() / nights
    minutes = MEASURING_MINUTES[host.instrument] + BUILD_MINUTES
    minutes += repetitions * (REPEATING_MINUTES[host.instrument] + 2 * BUILD_MINUTES)
    return Quiet(
        false_a_quarter=float(year.reported.sum()) / (years * QUARTERS),
        repetitions_a_night=float(repetitions),
        hours_a_night=float(minutes) / 60,
    )


# --- Rules that the farm does not use ----------------------------------------------------------


def by_limit(ratios: Numbers) -> npt.NDArray[np.bool_]:
    """HammerDB's rule: slower by more than a limit."""
    slower: npt.NDArray[np.bool_] = ratios < math.log1p(-RULE_LIMIT)
    return slower


def by_seconds(ratios: Numbers) -> npt.NDArray[np.bool_]:
    """Welch's test on all seconds of two runs, as if they were independent, p ≤ .05."""
    error = SECONDS_SD * math.sqrt(2 / SECONDS)
    unlike: npt.NDArray[np.bool_] = np.abs(ratios) > 1.96 * error
    return unlike


RULES = {
    "a run per commit, −2.5 % (HammerDB's rule)": by_limit,
    "a run each, Welch's test on its seconds": by_seconds,
}


def ruled(rule: str, host: Host, effect: float) -> float:
    """The share of single runs beside the previous head's that a rule reports."""
    random = np.random.default_rng([SEED, 34])
    low, high = (math.log(of) for of in LAYOUTS)
    layouts = np.exp(random.uniform(low, high, RULE_DRAWS))
    loud = np.exp(random.normal(0, LOUDNESS, RULE_DRAWS))
    deviations = np.hypot(host.scatter * loud, math.sqrt(2) * layouts)
    return float(RULES[rule](random.normal(math.log1p(effect), deviations)).mean())


# --- Tables ------------------------------------------------------------------------------------


def tables(share: float) -> Iterator[str]:
    """The lines of all tables; `share` of the usual number of years and steps."""
    years, steps = (max(1, round(share * usual)) for usual in (YEARS, PLANTED_STEPS))
    yield intro(
        f"{years} years of a farm of {STEPS} steps, each counted and measured in time by two "
        f"metrics, a head a night ({steps} planted changes of each size). Time has {BLOCKS} blocks "
        f"a night, and {REPEATED_BLOCKS} for each repetition of a suspect; blocks scatter by the "
        f"named share, unlike by {LOUDNESS} in its logarithm from night to night, and builds of "
        f"equal code by {percent(LAYOUTS[0])} to {percent(LAYOUTS[1])}. Counts begin from two "
        f"fills of each catalog, which differ by {100 * FILL_SCATTERS[0]:g} % to "
        f"{100 * FILL_SCATTERS[1]:g} %, and in one step of {MODES_IN} by 10 % in a fifth of the "
        "fills: nothing smaller is told of that step. Reports a quarter although "
        "nothing changed (the farm claims at most 1); reported within three nights, and behind the "
        f"bar within {FOLLOWED_NIGHTS}:"
    )
    sizes = [_size(effect) for effect in EFFECTS]
    yield from header(["rule", "noise", "false reports a quarter", *sizes])
    calm = {host: quiet(host, years) for host in HOSTS}
    for host in HOSTS:
        cells = ["**the farm**", host.words, f"{calm[host].false_a_quarter:.2f}"]
        for effect in EFFECTS:
            found = planted(host, effect, steps)
            cells.append(f"{percent(found.at_once)} \\| {percent(found.later)}")
        yield row(cells)
    for rule in RULES:
        for host in HOSTS[1:]:
            false = ruled(rule, host, 0.0) * STEPS * BUDGET.heads_a_quarter
            shares = [percent(ruled(rule, host, effect)) for effect in EFFECTS]
            yield row([rule, host.words, f"{false:.0f}", *shares])
    yield from _slow_table(steps, calm)
    yield from _beyond_table(years, steps)


def _slow_table(steps: int, calm: Mapping[Host, Quiet]) -> Iterator[str]:
    yield intro(
        f"A drift of {DRIFT_STEPS} times {_size(DRIFT_EFFECT)}, {DRIFT_NIGHTS} nights apart "
        f"({steps} steps): reported {FOLLOWED_NIGHTS} nights after the last at the latest, and "
        "what was lost by the first report (median). Machine hours of a night without a change: "
        f"a build has {BUILD_MINUTES:g} minutes, the {STEPS} steps "
        f"{MEASURING_MINUTES['work']:g} to be counted and {MEASURING_MINUTES['time']:g} to be "
        f"timed, a repetition {REPEATING_MINUTES['work']:g} and {REPEATING_MINUTES['time']:g} and "
        "two builds:"
    )
    columns = ["noise", "drift reported", "lost by then", "repetitions a night", "hours a night"]
    yield from header(columns)
    for host in HOSTS:
        slow = drifted(host, steps)
        yield row(
            [
                host.words,
                percent(slow.share),
                _size(slow.lost),
                f"{calm[host].repetitions_a_night:.2f}",
                f"{calm[host].hours_a_night:.2f}",
            ]
        )


def _beyond_table(years: int, steps: int) -> Iterator[str]:
    yield intro(
        "Hosts that are worse than the farm is told, in time, with blocks that scatter by 1.6 % "
        f"({years} years; {steps} changes of −3 %, reported within three nights, and behind the "
        f"bar within {FOLLOWED_NIGHTS}):"
    )
    yield from header(["noise", "false reports a quarter", "−3 %", "hours a night"])
    for host in BEYOND:
        calm, recall = quiet(host, years), planted(host, -0.03, steps)
        yield row(
            [
                host.words,
                f"{calm.false_a_quarter:.2f}",
                f"{percent(recall.at_once)} \\| {percent(recall.later)}",
                f"{calm.hours_a_night:.2f}",
            ]
        )


def _size(effect: float) -> str:
    """`−3 %`."""
    return f"{'−' if effect < 0 else '+'}{abs(100 * effect):.2g} %"


if __name__ == "__main__":
    sys.exit(marked_page.main(TOOL, __doc__ or "", tables))
