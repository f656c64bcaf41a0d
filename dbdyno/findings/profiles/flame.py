"""From a profile's call stacks to flame graphs and to the files that other viewers read. Pure."""

import json
import math
from collections.abc import Iterable, Mapping
from itertools import accumulate, pairwise

from dbdyno.findings.profiles.facts import ProfileComparison
from dbdyno.model.flame import FlameGraph
from dbdyno.model.profile import Stack

NS_PER_US = 1_000
COUNTS_MAX = 1_000_000
"""Of a folded file: a viewer makes that many samples of it, whatever they stand for."""
SPEEDSCOPE_SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def graph(profile: ProfileComparison) -> FlameGraph:
    """The arm's flame graph, coloured by what changed since the base."""
    return _graph(profile, profile.title, profile.base_stacks, profile.arm_stacks)


def base_graph(profile: ProfileComparison) -> FlameGraph:
    """The base's flame graph, coloured by what it has more than the arm: red only it calls."""
    title = f"{profile.base} beside {profile.arm}"
    return _graph(profile, title, profile.arm_stacks, profile.base_stacks)


def _graph(
    profile: ProfileComparison, title: str, base: Mapping[Stack, float], arm: Mapping[Stack, float]
) -> FlameGraph:
    return FlameGraph(
        title=title,
        subtitle=f"{profile.workload}, {profile.step}: the server's CPU",
        unit=f"ns per {profile.unit}",
        costs=_paired(base, arm),
    )


def _paired(
    base: Mapping[Stack, float], arm: Mapping[Stack, float]
) -> dict[Stack, tuple[int, int]]:
    """Nanoseconds of the stacks of either; what rounds to none in both is left out."""
    stacks = sorted(base.keys() | arm.keys())
    pairs = zip(_whole(base, stacks, 1), _whole(arm, stacks, 1), strict=True)
    return {stack: pair for stack, pair in zip(stacks, pairs, strict=True) if any(pair)}


def _whole(costs: Mapping[Stack, float], stacks: Iterable[Stack], scale_ns: int) -> list[int]:
    """The costs in units of `scale_ns`, rounded so that every sum of neighbours is right to one.

    Each stack by itself would be wrong in the same direction: most have one sample, and cost alike.
    """
    scaled = (costs.get(stack, 0.0) * NS_PER_US / scale_ns for stack in stacks)
    ends = (round(end) for end in accumulate(scaled, initial=0.0))
    return [end - start for start, end in pairwise(ends)]


# --- For other viewers -----------------------------------------------------------------------


def scale(*stacks: Mapping[Stack, float]) -> int:
    """The nanoseconds that a count stands for: the least power of ten that keeps COUNTS_MAX."""
    most = max(math.fsum(each.values()) for each in stacks) * NS_PER_US
    return int(10 ** max(0, math.ceil(math.log10(most / COUNTS_MAX)))) if most > 0 else 1


def folded(stacks: Mapping[Stack, float], scale_ns: int) -> str:
    """Lines of `caller;callee COUNT`, each count so many nanoseconds for each operation."""
    ordered = sorted(stacks)
    counts = zip(ordered, _whole(stacks, ordered, scale_ns), strict=True)
    return "".join(f"{';'.join(stack)} {count}\n" for stack, count in counts if count)


def speedscope(title: str, profiles: Mapping[str, Mapping[Stack, float]]) -> str:
    """A speedscope file with a profile for each arm by name, in microseconds for each operation.

    Source: speedscope's file-format-spec.ts, `SampledProfile`.
    """
    places: dict[str, int] = {}
    made = [_sampled(arm, stacks, places) for arm, stacks in profiles.items()]
    whole = {
        "$schema": SPEEDSCOPE_SCHEMA,
        "shared": {"frames": [{"name": name} for name in places]},
        "profiles": made,
        "name": title,
        "activeProfileIndex": len(made) - 1,
        "exporter": "dyno",
    }
    return json.dumps(whole, ensure_ascii=False, separators=(",", ":"))


def _sampled(arm: str, stacks: Mapping[Stack, float], places: dict[str, int]) -> dict[str, object]:
    """A profile of the file; frames that are new get the next place."""
    ordered = sorted((stack, cost) for stack, cost in stacks.items() if cost > 0)
    return {
        "type": "sampled",
        "name": arm,
        "unit": "microseconds",
        "startValue": 0,
        "endValue": math.fsum(cost for _, cost in ordered),
        "samples": [
            [places.setdefault(frame, len(places)) for frame in stack] for stack, _ in ordered
        ],
        "weights": [cost for _, cost in ordered],
    }
