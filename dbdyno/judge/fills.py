"""The fills that blocks begin from, and how the scatter between them comes into intervals.

Blocks that begin from one golden copy share the layout of its fill and the statistics taken of it.
With fills enough these are what the tests count. With one, a calibration beside the result that has
measured others says how far apart they are; without one, a doubt says what no interval shows.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from msgspec import structs

from dbdyno.judge import golden_copies
from dbdyno.judge.arm_vs_base import ArmInStep, StepKey
from dbdyno.model import Comparison, StepRun, engine
from dbdyno.model.doubt import Doubt, DoubtSubject
from dbdyno.model.error import ResultError
from dbdyno.model.golden import RESTORED
from dbdyno.model.grouping import grouped
from dbdyno.model.host_facts import HostFacts
from dbdyno.model.metric.primary import UNDISTURBED
from dbdyno.model.plan import LENGTH, WorkloadUse
from dbdyno.model.plan_record import ArmRecord, PlanRecord, WorkloadRecord
from dbdyno.model.verdict import FillNoise
from dbdyno.parts.number import listed
from dbdyno.stats import fills as arithmetic
from dbdyno.stats.fills import OUTER_MIN, FillVariance, Units
from dbdyno.stats.variance_components import Variance
from dbdyno.store import Results

INNODB_APART = 0.02
"""By so much undisturbed time differs between two fills, as a logarithm's standard deviation."""
INNODB_FREEDOM = 10.0
"""Its degrees of freedom, by the fills that it was measured with."""


@dataclass(frozen=True, kw_only=True)
class Fills:
    """What the tests of a result's steps count, and what is to be said of its golden copies."""

    units: Mapping[StepKey, Units]
    doubts: tuple[Doubt, ...]
    alone: tuple[str, ...]  # workloads of one fill, how far others would be apart being unknown


@dataclass(frozen=True, kw_only=True)
class _FillMeasurement:
    """The scatter between fills of a calibration."""

    folder: str
    between: Mapping[tuple[str, str, str], FillVariance]  # by workload, step and metric

    def between_of(self, where: StepKey) -> dict[str, FillVariance]:
        """Of a step, by metric."""
        place = (where.workload, where.step)
        return {key[2]: variance for key, variance in self.between.items() if key[:2] == place}


def _assumed(plan: PlanRecord) -> dict[str, FillVariance]:
    """How far fills are apart in undisturbed time where nobody has measured it, by metric.

    Those of PostgreSQL are not, those of InnoDB sometimes are (docs/method.md).
    """
    if all(engine.of(arm.engine).statistics != "InnoDB" for arm in plan.arms):
        return {}
    return {UNDISTURBED: FillVariance(value=INNODB_APART**2, freedom=INNODB_FREEDOM)}


def of_result(
    results: Results,
    base: str,
    runs: Sequence[StepRun],
    copies: golden_copies.Kept,
    read: Callable[[Results], Comparison],
) -> Fills:
    """Of a result with these runs; `read`: what a report shows of another result."""
    plan = results.plan
    count = plan.schedule.fills
    places = list(dict.fromkeys(StepKey.of(run) for run in runs))
    units: dict[StepKey, Units] = {}
    doubts: list[Doubt] = []
    alone: list[str] = []
    measured: _FillMeasurement | None = None
    compares = len({run.arm for run in runs}) > 1
    for use in plan.workloads:
        workload = use.folder
        after = copied_after(copies, workload)
        if not use.save:
            continue
        if count > 1:
            units |= {where: Units(fills=count) for where in places if where.workload == workload}
            doubts.append(_several(workload, count))
        elif after is not None and compares and not use.save.endswith(f"-{RESTORED}"):
            of = [place for place in places if place.workload == workload and place.ordinal > after]
            measured = measured or _measured(results, base, read)
            known = {} if measured is None else {place: measured.between_of(place) for place in of}
            assumed = _assumed(plan)
            place_units = {place: Units(between=assumed | known.get(place, {})) for place in of}
            units |= place_units
            doubts += _one(workload, of, measured)
            alone += [workload] if of and not any(known.values()) else []
    return Fills(units=units, doubts=(*golden_copies.doubts(copies), *doubts), alone=tuple(alone))


def copied_after(copies: golden_copies.Kept, workload: str) -> int | None:
    """The ordinal of the step after which all blocks begin from one copy of each arm.

    None where they begin from several, or there is a single block.
    """
    by_arm = grouped((arm, use) for (name, _, arm), use in copies.items() if name == workload)
    for uses in by_arm.values():
        if len(uses) > 1 and len({use.made_unix_ns for use in uses}) == 1:
            return uses[0].step_ordinal
    return None


# --- In words --------------------------------------------------------------------------------


def _several(workload: str, count: int) -> Doubt:
    if count < OUTER_MIN:
        words = (
            f"{count} fills of {workload} are too few for an analysis by fill, which takes "
            f"{OUTER_MIN}; the tests count blocks, and intervals are as wide as these fills differ"
        )
        return DoubtSubject.FEW_FILLS.doubt(words, workload=workload)
    words = (
        f"intervals and tests of {workload} count fills, each with the mean of its blocks; the "
        f"plan has {count}"
    )
    return DoubtSubject.FILLS.doubt(words, workload=workload)


def _one(
    workload: str,
    of: Sequence[StepKey],
    measured: _FillMeasurement | None,
) -> Iterable[Doubt]:
    """What of the scatter between fills is in the intervals of these steps."""
    known = [where for where in of if measured is not None and measured.between_of(where)]
    if measured is not None and known:
        lacking = [where.step for where in of if where not in known]
        but = f", but for those of {listed(lacking)}" if lacking else ""
        words = (
            f"intervals and words of {workload} have the scatter between fills in them that "
            f"{measured.folder} measured{but}"
        )
        yield DoubtSubject.FILLS.doubt(words, workload=workload)
    elif of:
        words = (
            f"all blocks of {workload} begin from one golden copy of each arm, so the scatter "
            "between fills is in no interval; `--fills 6` of `dyno calibrate` measures it"
        )
        yield DoubtSubject.ONE_FILL.doubt(words, workload=workload)


# --- Measured elsewhere ----------------------------------------------------------------------


def _measured(
    results: Results, base: str, read: Callable[[Results], Comparison]
) -> _FillMeasurement | None:
    """The newest calibration of fills in the same folder, of the same machine, base and workloads.

    None where there is none; one that is damaged tells nothing.
    """
    with suppress(ResultError):
        host = results.host() or HostFacts()
        beside = Results.within(results.folder.parent)
        fit = [
            other_result
            for other_result in beside
            if _is_alike(other_result, results.plan, base, host)
        ]
        for other in sorted(fit, key=begun, reverse=True):
            with suppress(ResultError):
                calibration = read(other).calibration
                if calibration is not None and calibration.fills:
                    return _FillMeasurement(
                        folder=other.folder.name,
                        between={
                            (fill.workload, fill.step, fill.metric): FillVariance(
                                value=fill.means_sd**2, freedom=fill.fills - 1
                            )
                            for fill in calibration.fills
                        },
                    )
    return None


def _is_alike(other: Results, plan: PlanRecord, base: str, host: HostFacts) -> bool:
    return (
        other.plan.schedule.comparison is not None
        and other.plan.schedule.fills >= OUTER_MIN
        and other.plan.schedule.placement == plan.schedule.placement
        and _arm(other.plan, other.plan.base) == _arm(plan, base)
        and [_use(use) for use in other.plan.workloads] == [_use(use) for use in plan.workloads]
        and is_of_machine(other, host)
    )


def _arm(plan: PlanRecord, name: str) -> ArmRecord | None:
    """An arm as the plan has it, whatever it is called; without what follows from this host."""
    arm = plan.arm(name)
    return None if arm is None else structs.replace(arm, name="", build=None, leaves_out={})


def _use(use: WorkloadRecord) -> WorkloadRecord:
    """What decides what is filled and read: not the length of steps, and not how caches warm."""
    return WorkloadRecord(
        name=use.name,
        set=use.set,
        preset=use.preset,
        fill=use.fill,
        save=use.save,
        scripts=use.scripts,
        variables=use.variables,
        parameters=parameters(use),
    )


# --- Measured here ---------------------------------------------------------------------------


def noises(contests: Sequence[ArmInStep]) -> Iterable[FillNoise]:
    """The scatter between fills of each primary metric of each step of a calibration."""
    for contest in contests:
        count = contest.faced.units.fills
        for name in contest.primary if count > 1 else ():
            logs = contest.logs(name)
            scatter = arithmetic.scatter(logs, count)
            if scatter is not None:
                yield _noise(contest.where, name, len(logs), scatter)


def _noise(
    where: StepKey, metric: str, blocks: int, scatter: arithmetic.CalibrationScatter
) -> FillNoise:
    low, high = _ends(scatter.between)
    blocks_low, blocks_high = _ends(scatter.within)
    return FillNoise(
        workload=where.workload,
        step=where.step,
        metric=metric,
        fills=round(scatter.means.freedom) + 1,
        blocks=blocks,
        sd=max(scatter.between.value, 0.0) ** 0.5,
        sd_low=low,
        sd_high=high,
        blocks_sd=scatter.within.value**0.5,
        blocks_sd_low=blocks_low,
        blocks_sd_high=blocks_high,
        means_sd=scatter.means.value**0.5,
    )


def _ends(of: Variance) -> tuple[float | None, float | None]:
    low, high = (None if end is None else end**0.5 for end in (of.low, of.high))
    return low, high


def is_of_machine(results: Results, host: HostFacts) -> bool:
    """Whether all of it was measured on the machine of these facts; not where they are damaged."""
    try:
        named = results.hosts()
        nodes = dict.fromkeys(block.host for block in results.blocks() if block.host)
        hosts = [results.host(), *results.earlier_hosts(), *map(named.get, nodes)]
    except ResultError:
        return False
    return all(facts is not None and facts.machine == host.machine for facts in hosts)


def parameters(use: WorkloadRecord | WorkloadUse) -> dict[str, object]:
    """The parameters of a workload's use, without the length of its steps."""
    return {key: value for key, value in use.parameters.items() if key != LENGTH}


def begun(results: Results) -> int:
    """When its host came to be as it is, by which the newest of several is known."""
    host = results.host()
    return 0 if host is None else host.since_unix_ns or 0
