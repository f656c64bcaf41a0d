"""One arm in one step, beside the base: what is judged, by which metrics, and what it did instead.

What an arm, or the base, did instead of being compared: it missed its target, it failed, it stood
still.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from dbdyno.evidence import generator_limit
from dbdyno.judge.pairing import PairedRuns, ZeroBlocks
from dbdyno.model import Bound, StepRun, TargetFacts, metric
from dbdyno.model.metric.primary import TAIL, UNDISTURBED, second_of
from dbdyno.model.verdict import Judgement, Reason, Word
from dbdyno.parts.number import blocks as blocks_of
from dbdyno.stats.fills import FillCount
from dbdyno.stats.sample import Sample

BETTER_BY: Mapping[str, int] = {
    row.name: {"higher": 1, "lower": -1, "neutral": 0}[row.direction] for row in metric.METRICS
}
COMPARED_MIN = 2
"""Blocks; with fewer left, damaged files are what there is to say of a step."""
NAMES = tuple(row.name for row in metric.METRICS)


class StepKey(NamedTuple):
    """A step of a workload; several may have one name."""

    workload: str
    ordinal: int
    step: str

    @classmethod
    def of(cls, run: StepRun) -> StepKey:
        """The step of a run."""
        return cls(run.facts.workload, run.facts.ordinal, run.facts.step)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome, and whether it is the verdict."""

    word: Word | None  # None: the tests decide
    text: str  # in words; empty where all went well
    stood_still: str  # of these, who had no throughput in which blocks
    reason: Reason = ""  # of the word
    withheld: bool = False  # whether the tests give figures and no word
    yields: bool = False  # to a change that the tests show, which says more than the word

    def shown(self, judgements: Iterable[Judgement]) -> tuple[Judgement, ...]:
        """The tests' part to show: figures alone, if there is no verdict."""
        if not self.withheld:
            return tuple(judgements)
        return tuple(
            replace(
                judgement,
                word="open",
                within_margin=False,
                reason="",
                p=None,
                p_sign=None,
                q=None,
                visible=None,
                blocks_needed=None,
                minutes_needed=None,
            )
            for judgement in judgements
        )


class UnitRatios(NamedTuple):
    """A metric of an arm beside the base by unit, which is a block or a fill."""

    logs: Mapping[int, float]  # of units in which both ran
    blocks: tuple[int, ...]  # of these units
    still: ZeroBlocks  # units


@dataclass(frozen=True, kw_only=True)
class ArmInStep:
    """One arm in one measured step, beside the base."""

    where: StepKey
    headline: str
    faced: PairedRuns

    @property
    def primary(self) -> tuple[str, ...]:
        """The metrics by which the step is judged, throughput first."""
        return self.headline, self.second

    @cached_property
    def second(self) -> str:
        """The metric by which it is judged beside the headline."""
        return second_of((*self.faced.runs, *self.faced.base_runs))

    @cached_property
    def bound(self) -> Bound:
        """The bound of the ratio of throughputs, relative to that of the servers' limits."""
        return generator_limit.ratio_bound(self.faced.base_runs, self.faced.runs)

    @cached_property
    def bounded_by(self) -> Reason:
        """Why the ratio of throughputs is none but a bound, where it is one."""
        runs = (*self.faced.runs, *self.faced.base_runs)
        slow = any(run.window.slow for run in runs)
        return "calls longer than turns" if slow else "generator at its limit"

    @cached_property
    def outcome(self) -> Outcome:
        """The outcome of the arm or the base instead of a comparison."""
        compared = (sample.blocks for sample in self.samples(self.primary))
        still = self.faced.compared(self.headline).still
        ran = len(self.seen(self.headline).blocks)
        said = _outcome(self.faced, still, compared=max(compared, default=0), ran=ran)
        if not self.faced.said:
            return said
        text = "; ".join(filter(None, (said.text, self.faced.said)))
        if said.word is None and self.faced.withheld:
            return replace(said, word="open", text=text, withheld=True)
        return replace(said, text=text)

    def samples(self, names: Iterable[str]) -> Iterator[Sample]:
        """The log ratios of these metrics, of those that both arms have in a block at least.

        Of the headline a 0 is a result: it counts the blocks in which one of the two stood still.
        """
        for name in names:
            throughput = name == self.headline
            compared, seen = self.faced.compared(name), self.seen(name)
            whole = len(seen.blocks) == len(compared.logs)
            sample = Sample(
                metric=name,
                better=BETTER_BY[name],
                logs=tuple(seen.logs.values()),
                at=seen.blocks,
                patterns=self.faced.patterns_of(seen.blocks),
                copies=self.faced.units.copies(seen.blocks),
                known=compared.interval if whole else None,
                bound=self.bound if throughput else "exact",
                bounded_by=self.bounded_by,
                stood_still=len(seen.still.own),
                base_stood_still=len(seen.still.base),
                fills=self.fills_seen(len(seen.blocks)),
                between_fills=compared.between,
                base=compared.base if name in (UNDISTURBED, TAIL) else None,
            )
            if sample.compares:
                yield sample

    def seen(self, name: str) -> UnitRatios:
        """A metric by unit. A fill stood still where one of its blocks did."""
        compared, units = self.faced.compared(name), self.faced.units
        still = compared.still if name == self.headline else ZeroBlocks()
        own, base = ({units.unit(block) for block in blocks} for blocks in (still.own, still.base))
        counted = {b: log for b, log in compared.logs.items() if units.unit(b) not in own | base}
        return UnitRatios(
            logs=units.means(counted),
            blocks=tuple(counted),
            still=still._replace(own=tuple(sorted(own)), base=tuple(sorted(base))),
        )

    def fills_seen(self, blocks: int) -> FillCount | None:
        """How many fills so many blocks are of; None where blocks are the units."""
        units = self.faced.units
        return FillCount(planned=units.fills, blocks=blocks) if units.are_fills else None

    def logs(self, name: str) -> Mapping[int, float]:
        """The log ratios of a metric by block."""
        return self.faced.compared(name).logs

    def within(self, blocks: Sequence[int]) -> ArmInStep:
        """The same of these blocks alone."""
        return replace(self, faced=self.faced.within(blocks))


def contest(where: StepKey, faced: PairedRuns) -> ArmInStep | None:
    """The arm's contest in a step; None of a step without a headline, which is not judged."""
    runs: Iterable[StepRun] = (*faced.runs, *faced.base_runs)
    headline = next((run.facts.headline for run in runs if run.facts.headline is not None), None)
    if headline is None:
        return None
    return ArmInStep(where=where, headline=headline, faced=faced)


# --- What was done in place of a comparison ---------------------------------------------------


def _outcome(faced: PairedRuns, still: ZeroBlocks, *, compared: int, ran: int) -> Outcome:
    """The outcome of an arm in a step, beside its base.

    `still`: where a throughput of 0 was measured; `compared`: blocks that have both; `ran`: those
    in which neither stood still.
    """
    own, bases = faced.runs, faced.base_runs
    stood = "; ".join(_stood(still, faced, ran))
    said = (*_said(own, ""), *_said(bases, f"{faced.base} "), stood)
    text = "; ".join(filter(None, said))
    word, reason = _word((*own, *bases), compared)
    withheld = word == "failed" and not reason
    # Whether all that failed are calls of one arm that the server ended at their limit.
    ended = [[run for run in runs if run.ending.status != "ok"] for runs in (own, bases)]
    late = not all(ended) and all(run.window.slow for runs in ended for run in runs)
    return Outcome(
        word=word,
        reason=reason,
        text=text,
        stood_still=stood,
        withheld=withheld,
        yields=withheld and late,
    )


def _stood(still: ZeroBlocks, faced: PairedRuns, ran: int) -> Iterable[str]:
    """In how many blocks who stood still, and what is left for the interval."""
    count = blocks_of(len(faced.runs))
    for who, blocks in (("", still.own), (f"{faced.base} ", still.base)):
        if blocks:
            yield f"{who}stood still in {len(blocks)} of {count}"
    if still.both:
        yield f"both stood still in {len(still.both)} of {count}, which compare nothing"
    if any(still) and ran > 1:
        yield f"the interval uses the {ran} in which both ran"


def _word(runs: Sequence[StepRun], compared: int) -> tuple[Word | None, Reason]:
    """The word that is no test's: of blocks in which an arm failed, only those are left in which it
    did well, so that no comparison of them is its word.
    """
    lost = [run for run in runs if run.ending.status != "ok"]
    if not all(run.ending.damaged for run in lost):
        return "failed", ""
    if lost and compared < COMPARED_MIN:
        return "open", "nothing to compare"
    if any(run.of(TargetFacts).met is False for run in runs):
        return "failed", "target missed"
    return None, ""


def _said(runs: Sequence[StepRun], who: str) -> Iterable[str]:
    """The outcomes of these runs, a part of a sentence for each kind."""
    count = f"of {blocks_of(len(runs))}"
    if any(run.of(TargetFacts).met is False for run in runs):
        target = next(run.facts.sla_target for run in runs if run.facts.sla_target is not None)
        met = sum(run.of(TargetFacts).met is True for run in runs)
        yield f"{who}held {target:,.0f} rows/s in {met} {count}"
    damaged = sum(run.ending.damaged for run in runs)
    late = [run.ending.timed_out_s for run in runs if run.ending.timed_out_s is not None]
    failed = sum(run.ending.status == "failed" for run in runs) - damaged - len(late)
    skipped = sum(run.ending.status == "skipped" for run in runs)
    ended = f"ended by its limit of {max(late, default=0.0):g} s"
    for number, what in (
        (failed, "failed"), (len(late), ended), (skipped, "skipped"), (damaged, "damaged")
    ):  # fmt: skip
        if number:
            yield f"{who}{what} in {number} {count}"
