"""What a report says first: how sure one can be, each arm against the base, what went wrong."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dbdyno.model import Bound, Comparison, Ratio, StepComparison
from dbdyno.report import bound, group, number
from dbdyno.report.summary import MISSED, failure, judged, missed_target, target
from dbdyno.report.view import Finding

UNDECIDED = "Interval includes no change"
LIMITED = "Cannot be told, as the load generator was at its limit"
MEASURED = "Measured"
VERDICTS = ("More", "Less", UNDECIDED, LIMITED, MEASURED)


def findings(comparison: Comparison) -> list[Finding]:
    """The sentences of the headline, each with a list of what it counts."""
    found = [*_sureness(comparison)]
    if comparison.blocks > 0:
        found += [_against_base(comparison, arm) for arm in comparison.arms[1:]]
    found += _missed_targets(comparison)
    found += _unfound(comparison)
    found += _failures(comparison)
    return found


def step_name(comparison: Comparison, step: StepComparison) -> str:
    """A step's name, with its workload's where there are several."""
    several = len({one.workload for one in comparison.steps}) > 1
    return f"{step.workload} {step.step}" if several else step.step


def _sureness(comparison: Comparison) -> list[Finding]:
    if comparison.blocks == 0:
        return [Finding(text="No block is complete: there is nothing to compare yet.")]
    if comparison.blocks == 1:
        return [
            Finding(
                text="One block decides nothing: what differs below may be chance, "
                "and it takes more blocks to tell by how much numbers vary by themselves."
            )
        ]
    return []


# --- An arm against the base -----------------------------------------------------------------


@dataclass(frozen=True)
class _Change:
    """What an arm did in a step by what the base did."""

    name: str
    ratio: Ratio
    bound: Bound

    @property
    def verdict(self) -> str:
        """What its interval decides; a bound decides only in its own direction."""
        if self.ratio.low is None or self.ratio.high is None:
            return MEASURED
        if self.ratio.low > 1 and self.bound in ("exact", "at least"):
            return "More"
        if self.ratio.high < 1 and self.bound in ("exact", "at most"):
            return "Less"
        return UNDECIDED if self.bound == "exact" else LIMITED

    @property
    def words(self) -> str:
        """The step, its change, and the interval of that."""
        text = f"{self.name} {bound.signed(number.change(self.ratio.value), self.bound)}"
        if self.bound == "unknown":
            return f"{text} ({bound.BOTH})"
        low, high = self.ratio.low, self.ratio.high
        if low is None or high is None:
            return text
        return f"{text} ({number.change(low)[:-2]} to {number.change(high)[:-2]})"


def _against_base(comparison: Comparison, arm: str) -> Finding:
    """An arm against the base: the steps in which it did more, less, or as much as can be told."""
    how = (
        f"mean change of throughput over {comparison.blocks} blocks, with its 95 % t interval"
        if comparison.blocks > 1
        else "change of throughput"
    )
    few = [step for step in comparison.steps if group.alone(step)]
    items = list(_few(_changes(comparison, few, arm)))
    for workload in dict.fromkeys(step.workload for step in comparison.steps):
        own = [step for step in comparison.steps if step.workload == workload]
        for title, steps in group.ordered(own).items():
            changes = _changes(comparison, steps, arm)
            items += [f"{title.capitalize()}: {text}" for text in _many(changes)]
    return Finding(text=f"{arm} against {comparison.base}, {how}.", items=tuple(items))


def _changes(comparison: Comparison, steps: Iterable[StepComparison], arm: str) -> list[_Change]:
    found = []
    for step in steps:
        result = next((cell for cell in step.cells if cell.arm == arm), None)
        if step.headline is None or result is None or result.ratio is None:
            continue
        mark = MISSED if any(missed_target(cell) for cell in step.cells) else ""
        mark = mark or (group.UNFOUND if any(map(group.unfound, (step.cells[0], result))) else "")
        name = f"{step_name(comparison, step)}{mark}"
        found.append(_Change(name, result.ratio, result.ratio_bound))
    return found


def _few(changes: Sequence[_Change]) -> Iterable[str]:
    """Each verdict with its steps."""
    for verdict in VERDICTS:
        its = [change.words for change in changes if change.verdict == verdict]
        if its:
            yield f"{verdict}: {', '.join(its)}"


def _many(changes: Sequence[_Change]) -> Iterable[str]:
    """A group in a line: what is decided with its steps, of the rest how far it reaches."""
    parts = []
    for verdict in VERDICTS:
        its = [change for change in changes if change.verdict == verdict]
        if its and verdict in (UNDECIDED, MEASURED):
            parts.append(f"{verdict}: {_reach(its)}")
        elif its:
            parts.append(f"{verdict}: {', '.join(change.words for change in its)}")
    if parts:
        yield "; ".join(parts)


def _reach(changes: Sequence[_Change]) -> str:
    """So many steps, from the least change to the largest, which are named."""
    if len(changes) == 1:
        return changes[0].words
    low, high = (of(changes, key=lambda change: change.ratio.value) for of in (min, max))
    ends = (
        f"{bound.signed(number.change(one.ratio.value), one.bound)} ({one.name})"
        for one in (low, high)
    )
    return f"{len(changes)} steps, from {' to '.join(ends)}"


# --- What went wrong -------------------------------------------------------------------------


def _missed_targets(comparison: Comparison) -> list[Finding]:
    items = [
        f"{result.arm} held {number.number(target(step))} rows/s in {result.sla_met or 0} of "
        f"{judged(result)} blocks in {step_name(comparison, step)}{MISSED}"
        for step in comparison.steps
        for result in step.cells
        if missed_target(result)
    ]
    text = f"{MISSED} The background insert rate was missed; throughput beside it does not compare."
    return [Finding(text=text, items=tuple(items))] if items else []


def _unfound(comparison: Comparison) -> list[Finding]:
    items = [
        f"{result.arm}: {number.number(result.metrics.get('found_share'), 1)} % of the statements "
        f"of {step_name(comparison, step)}"
        for step in comparison.steps
        if group.measured(step)
        for result in step.cells
        if group.unfound(result)
    ]
    text = f"{group.UNFOUND} So few found a row; the throughput counts those that found none, too."
    return [Finding(text=text, items=tuple(items))] if items else []


def _failures(comparison: Comparison) -> list[Finding]:
    items = [
        f"{result.arm}, {step_name(comparison, step)}, {failure(result)}"
        for step in comparison.steps
        for result in step.cells
        if any(run.status == "failed" for run in result.runs)
    ]
    return [Finding(text="Steps that failed:", items=tuple(items))] if items else []
