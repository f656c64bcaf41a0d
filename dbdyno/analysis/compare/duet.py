"""Whether two arms that ran at once can be compared as they are: checks, in every comparison.

Where one fails the solo turns are judged in the duet's place, and the verdict says which failed. A
duet that was forced onto too few cores is shown and gets no word.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from dbdyno.analysis.compare.arm_vs_base import Where, number_of_blocks
from dbdyno.analysis.compare.arms_and_blocks import Arms
from dbdyno.analysis.compare.pairing import of_halves
from dbdyno.analysis.compare.step_cells import Row, row
from dbdyno.model import Half, StepRun
from dbdyno.model.duet import Duet, DuetCheck, State
from dbdyno.model.host_facts import DuetAcceptance, HostFacts
from dbdyno.model.metric.primary import cpu_of
from dbdyno.model.plan_record import PlanRecord
from dbdyno.model.step import SOLO
from dbdyno.model.verdict import Aims
from dbdyno.stats import duet, interval, significance

TOGETHER_MIN = 0.99
"""Of the time that counts: in what is left one of them ran alone."""
LOSS_MAX = 0.10
"""Of the base's throughput alone: with more the arms get in each other's way."""
CORES_WARN = 0.05
"""Larger differences between the two sets of cores are worth a look, though they cancel."""
SOLOS_MIN = 2
"""Blocks with solo turns, under which two one-sided tests say nothing."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The facts of plan and host that the checks need."""

    forced: bool
    accepted: DuetAcceptance | None  # what `dyno calibrate --duet` found on this host
    aims: Aims


@dataclass(frozen=True, kw_only=True)
class Both:
    """The arms of a duet in one step."""

    base: Mapping[int, StepRun]  # by block
    other: Mapping[int, StepRun]
    base_solo: Mapping[int, StepRun]
    other_solo: Mapping[int, StepRun]

    @property
    def solo_blocks(self) -> list[int]:
        """The blocks in which both had a turn alone, too."""
        return sorted({*self.base, *self.other} & {*self.base_solo} & {*self.other_solo})


def parted(runs: Iterable[StepRun]) -> tuple[list[StepRun], list[StepRun]]:
    """The runs, and apart the solo turns: with the name and the place of the step they are of."""
    apart: tuple[list[StepRun], list[StepRun]] = ([], [])
    for run in runs:
        facts = replace(run.facts, step=run.facts.step.removesuffix(SOLO))
        apart[run.facts.solo].append(replace(run, facts=facts) if run.facts.solo else run)
    return apart


def checked(  # noqa: PLR0913 (a comparison's parts, each by its name)
    rows: Sequence[Row],
    solos: Sequence[StepRun],
    arms: Arms,
    plan: PlanRecord,
    host: HostFacts | None,
    aims: Aims,
) -> tuple[Row, ...]:
    """The rows; those of a duet checked, and of solo turns where a check fails."""
    if plan.schedule.interleave != "duet":
        return tuple(rows)
    setting = Setting(
        forced=plan.schedule.duet_forced,
        accepted=(host.duet or None) if host is not None else None,
        aims=aims,
    )
    return tuple(_checked(row, solos, arms, setting) for row in rows)


def _checked(compared: Row, solos: Sequence[StepRun], arms: Arms, setting: Setting) -> Row:
    """One step; as it is where it was none of the duet's."""
    if not any(run.halves for cell in compared.step.cells for run in cell.runs):
        return compared
    own = [run for run in solos if Where.of(run) == compared.where]
    both = _both(compared, own, arms)
    said = concluded(both, compared.step.headline or "", setting)
    shown = row(compared.where, arms, own, compared.units) if said.judged == "solo" else compared
    warned = tuple(f"duet: {check.text}" for check in said.checks if check.state == "warns")
    step = replace(shown.step, duet=said, notices=(*shown.step.notices, *warned))
    faced = {
        arm: replace(facing, said=said.text, withheld=said.judged == "nothing")
        for arm, facing in shown.faced.items()
    }
    return Row(step=step, faced=faced, units=compared.units)


def _both(row: Row, solos: Sequence[StepRun], arms: Arms) -> Both:
    base, other = arms.shown
    runs = [run for cell in row.step.cells for run in cell.runs]
    return Both(
        base=_by_block(runs, base),
        other=_by_block(runs, other),
        base_solo=_by_block(solos, base),
        other_solo=_by_block(solos, other),
    )


def _by_block(runs: Iterable[StepRun], arm: str) -> dict[int, StepRun]:
    """An arm's runs that ended well and have both halves."""
    return {run.block: run for run in runs if run.arm == arm and run.halves}


def concluded(both: Both, headline: str, setting: Setting) -> Duet:
    """The basis of a step's verdict, from all of its checks."""
    cpu = cpu_of((*both.base.values(), *both.other.values()))
    checks = (
        together(both),
        *(solo(both, name, setting.aims) for name in (headline, cpu)),
        company(both, headline),
        cores(both, headline),
        competition(both, setting.aims),
        acceptance(setting),
    )
    failed = [check for check in checks if check.state == "fails"]
    why = f"the duet fails: {', '.join(check.name for check in failed)}"
    if setting.forced:
        text = "an estimate, as the duet is forced onto too few cores"
        return Duet(judged="nothing", checks=checks, text=f"{text}; {why}" if failed else text)
    if not failed:
        return Duet(judged="duet", checks=checks, text="")
    blocks = len(both.solo_blocks)
    if not blocks:
        text = f"an estimate, as there are no solo turns yet; {why}"
        return Duet(judged="nothing", checks=checks, text=text)
    text = f"judged by the solo turns of {number_of_blocks(blocks)}; {why}"
    return Duet(judged="solo", checks=checks, text=text)


# --- The checks ------------------------------------------------------------------------------


def together(both: Both) -> DuetCheck:
    """Whether both ran in nearly all of the time that counts."""
    shared = whole = 0
    for block in {*both.base} & {*both.other}:
        for half, other in zip(both.base[block].halves, both.other[block].halves, strict=True):
            shared += max(
                0, min(half.ended_ns, other.ended_ns) - max(half.begun_ns, other.begun_ns)
            )
            whole += max(_length(half), _length(other))
    share = shared / whole if whole else 0.0
    return DuetCheck(
        name="at once",
        state="holds" if share >= TOGETHER_MIN else "fails",
        text=f"both ran in {100 * share:.1f} % of the time; at least "
        f"{100 * TOGETHER_MIN:.0f} % is needed",
    )


def _length(half: Half) -> int:
    return half.ended_ns - half.begun_ns


def solo(both: Both, name: str, aims: Aims) -> DuetCheck:
    """Whether the duet's ratio is within the margin of that of the solo turns, by both tests."""
    logs = [log for block in both.solo_blocks if (log := _less_solo(both, block, name)) is not None]
    called = f"as alone ({name})"
    p = significance.equivalence_p(logs, aims.margin) if len(logs) >= SOLOS_MIN else None
    if p is None:
        text = f"{number_of_blocks(len(logs))} with solo turns; at least {SOLOS_MIN} are needed"
        return DuetCheck(name=called, state="fails", text=text)
    estimate = interval.log_interval(logs, 1 - 2 * aims.level)
    assert estimate.low is not None and estimate.high is not None
    return DuetCheck(
        name=called,
        state="holds" if p <= aims.level else "fails",
        text=f"the ratio at once is {_percent(estimate.value)} of that alone, by {len(logs)} "
        f"blocks {_percent(estimate.low)} to {_percent(estimate.high)}; it must be within "
        f"±{100 * aims.margin:g} %",
    )


def _less_solo(both: Both, block: int, name: str) -> float | None:
    """ln ratio at once less ln ratio alone, of a block; None where one of them is not known."""
    at_once = of_halves(both.base[block], both.other[block], name)
    alone = of_halves(both.base_solo[block], both.other_solo[block], name)
    if at_once is None or alone is None:
        return None
    return duet.mean_of_halves(*at_once) - duet.mean_of_halves(*alone)


def company(both: Both, name: str) -> DuetCheck:
    """Whether the base does nearly as much beside the other as alone."""
    logs = [
        duet.mean_of_halves(*halves)
        for block in both.solo_blocks
        if (halves := of_halves(both.base_solo[block], both.base[block], name)) is not None
    ]
    if not logs:
        return DuetCheck(name="company", state="fails", text="no block has solo turns")
    mean, _ = interval.mean_and_sd(logs)
    return DuetCheck(
        name="company",
        state="holds" if mean > math.log(1 - LOSS_MAX) else "fails",
        text=f"the base reaches {_percent(math.exp(mean))} of its throughput alone, "
        f"and must lose under {100 * LOSS_MAX:.0f} %",
    )


def cores(both: Both, name: str) -> DuetCheck:
    """The difference between the two sets of cores: harmless, because the arms swap them."""
    log_ratios = []
    for block in sorted({*both.base} & {*both.other}):
        base, other = both.base[block], both.other[block]
        halves = of_halves(base, other, name)
        if halves is not None:
            # Which arm began on the first set is drawn for each block; it is the first in order.
            began = (base.position or 0) <= (other.position or 0)
            log_ratios.append(halves if began else halves[::-1])
    effect = math.expm1(abs(duet.core_effect(log_ratios))) if log_ratios else 0.0
    return DuetCheck(
        name="cores",
        state="warns" if effect > CORES_WARN else "holds",
        text=f"one set is {100 * effect:.1f} % faster than the other, which cancels; check the "
        f"cores if over {100 * CORES_WARN:.0f} %",
    )


def competition(both: Both, aims: Aims) -> DuetCheck:
    """Whether one arm slows where the other one speeds up, second by second."""
    estimate = duet.correlation(
        [
            list(zip(half.rates, other.rates, strict=False))
            for block in sorted({*both.base} & {*both.other})
            for half, other in zip(both.base[block].halves, both.other[block].halves, strict=True)
        ]
    )
    if estimate is None:
        text = f"too few seconds for a correlation; {duet.SECONDS_MIN} in all blocks are needed"
        return DuetCheck(name="competition", state="fails", text=text)
    text = (
        f"the arms' rates correlate by {estimate.value:+.2f} "
        f"[{estimate.low:+.2f}, {estimate.high:+.2f}] over {estimate.seconds} seconds"
    )
    if estimate.value < 0 and estimate.p_negative <= aims.level:
        text += "; below 0, the arms compete for something"
        return DuetCheck(name="competition", state="fails", text=text)
    return DuetCheck(name="competition", state="holds", text=text)


def acceptance(setting: Setting) -> DuetCheck:
    """Whether duets on this host were shown to find what was planted."""
    if setting.accepted is None:
        text = "this host has none; run `dyno calibrate --duet`"
        return DuetCheck(name="acceptance", state="fails", text=text)
    state: State = "holds" if setting.accepted.holds else "fails"
    return DuetCheck(name="acceptance", state=state, text=setting.accepted.text)


def _percent(ratio: float) -> str:
    return f"{100 * ratio:.1f} %"
