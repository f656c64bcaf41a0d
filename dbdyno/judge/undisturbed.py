"""Undisturbed time of a step's operations by run, where the step is of its domain.

The mode of operations that is compared is chosen by the base alone: of those that all arms have the
one whose time differs least between the base's blocks. What is outside of the domain is left out,
with its reason.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import stdev

from dbdyno.model import StepRun
from dbdyno.model.metric.primary import UNDISTURBED
from dbdyno.model.service_profile import Mode, ServiceProfile, ServiceProfiles
from dbdyno.stats import undisturbed
from dbdyno.stats.undisturbed import Density

OPERATIONS_MIN = 500
"""In a block: with fewer the faster half of a mode is known to no percent."""
SHORTEST_US = 5.0
"""Shorter operations are mostly the recorder's clock and the wake-up."""
BLOCKS_SHARE = 0.75
"""Of an arm's blocks: a mode that fewer have is not compared."""
SPREAD_MAX = 1.5
"""The upper quartile of a mode by its lower one: beyond, operations differ in work."""
BLOCKS_MIN = 3
"""With fewer blocks of the base their scatter chooses nothing: then the fastest mode is taken."""

Times = Mapping[int, float]
"""Microseconds by the run's place."""


@dataclass(frozen=True, kw_only=True)
class CommonMode:
    """The mode of an operation that is compared, which all arms have."""

    times_us: Times
    by_arm: Mapping[str, Mode]


@dataclass(frozen=True, kw_only=True)
class UndisturbedRuns:
    """The runs of a step with their undisturbed time, or why they have none."""

    runs: tuple[StepRun, ...]
    left_out: str = ""
    modes: Mapping[str, Mapping[str, Mode]] = field(default_factory=dict)  # by operation and arm


def of_step(runs: Sequence[StepRun], base: str) -> UndisturbedRuns:
    """The runs of a step, of all arms."""
    facts = {
        place: run.of(ServiceProfiles)
        for place, run in enumerate(runs)
        if run.ending.status == "ok" and run.facts.headline is not None
    }
    left_out = _outside(list(facts.values())) if facts else ""
    if left_out or not facts:
        return UndisturbedRuns(runs=tuple(runs), left_out=left_out)
    arms = {place: runs[place].arm for place in facts}
    operations = _by_operation(facts)
    times: list[tuple[float, Times]] = []
    modes: dict[str, Mapping[str, Mode]] = {}
    whole = sum(each.count for profiles in operations.values() for each in profiles.values())
    for operation, profiles in operations.items():
        chosen = _chosen(profiles, arms, base)
        if isinstance(chosen, str):
            return UndisturbedRuns(runs=tuple(runs), left_out=chosen)
        share = sum(each.count for each in profiles.values()) / whole
        times.append((share, chosen.times_us))
        modes[operation] = chosen.by_arm
    return UndisturbedRuns(
        modes=modes,
        runs=tuple(
            replace(run, metrics={**run.metrics, UNDISTURBED: time_us})
            if (time_us := _mean(times, place)) is not None
            else run
            for place, run in enumerate(runs)
        ),
    )


def _mean(times: Sequence[tuple[float, Times]], place: int) -> float | None:
    """Of a run's operations, each by its share in all runs together; None where one has no time."""
    known = [(share, of[place]) for share, of in times if place in of]
    return math.fsum(share * us for share, us in known) if len(known) == len(times) else None


def _outside(every: Sequence[ServiceProfiles]) -> str:
    """Why the step is outside of the domain, by one run at least; empty where it is within."""
    if not all(facts.profiles for facts in every):
        return "the load tells no histograms of service times"
    if any(facts.waiting for facts in every):
        return "operations wait for a schedule"
    processors = [facts.processors for facts in every if facts.processors]
    if len(processors) < len(every):
        return "the processors of the server's host are not known"
    connections = max(facts.connections for facts in every)
    if connections > min(processors):
        return f"{connections} connections share {min(processors)} processors"
    fewest = min(profile.count for facts in every for profile in facts.profiles)
    if fewest < OPERATIONS_MIN:
        return f"{fewest} operations in a block are too few, it takes {OPERATIONS_MIN}"
    return ""


def _by_operation(
    by_run: Mapping[int, ServiceProfiles],
) -> dict[str, dict[int, ServiceProfile]]:
    """The profiles of each operation by the run's place, all as the coarsest recorder has them."""
    by_operation: dict[str, dict[int, ServiceProfile]] = {}
    for place, facts in by_run.items():
        for profile in facts.profiles:
            by_operation.setdefault(profile.operation, {})[place] = profile
    return {name: undisturbed.alike(profiles) for name, profiles in by_operation.items()}


def _chosen(
    profiles: Mapping[int, ServiceProfile], arms: Mapping[int, str], base: str
) -> CommonMode | str:
    """The mode that is compared, or why there is none."""
    by_arm: dict[str, dict[int, ServiceProfile]] = {}
    for place, profile in profiles.items():
        by_arm.setdefault(arms[place], {})[place] = profile
    if base not in by_arm:
        return "the base has no block"
    common = list(_common(by_arm, base))
    if not common:
        return "the arms have no mode of operations in common"

    def scatter(mode: CommonMode) -> float:
        """The standard deviation of the base's blocks; 0 where these are too few."""
        known = [mode.times_us[place] for place in by_arm[base] if place in mode.times_us]
        return stdev(known) if len(known) >= BLOCKS_MIN else 0.0

    chosen = min(common, key=scatter)
    fastest = min(chosen.times_us.values())
    if fastest < SHORTEST_US:
        return f"operations take {fastest:.1f} µs, under {SHORTEST_US:.0f} µs"
    return chosen


def _common(by_arm: Mapping[str, Mapping[int, ServiceProfile]], base: str) -> Iterator[CommonMode]:
    """The modes of alike operations that all arms have, fastest first."""
    densities = {arm: Density.of(list(blocks.values())) for arm, blocks in by_arm.items()}
    own = densities[base]
    for begin, end in own.modes():
        times: dict[int, float] = {}
        modes: dict[str, Mode] = {}
        for arm, blocks in by_arm.items():
            shift = own.shift(end, densities[arm])
            if shift is None:
                break
            mode = densities[arm].mode(begin + shift, end + shift)
            if undisturbed.spread(blocks.values(), mode) > SPREAD_MAX:
                break
            of_arm = {
                place: us
                for place, block in blocks.items()
                if (us := undisturbed.time_us(block, mode)) is not None
            }
            if len(of_arm) < BLOCKS_SHARE * len(blocks):
                break
            times |= of_arm
            modes[arm] = mode
        else:
            yield CommonMode(times_us=times, by_arm=modes)
