"""Reasons to doubt a whole comparison, a line for each subject."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from statistics import median

from dbdyno.judge.differences import by_engine, names_of
from dbdyno.model import Cell, StepComparison, StepRun, metric
from dbdyno.model.comparison import PLACES_MAX
from dbdyno.model.compiler import flags_of, for_size
from dbdyno.model.metric.primary import cpu_of
from dbdyno.model.server_facts import ServerFacts
from dbdyno.parts import number

CANARY_SHARE_MAX = 0.10
"""How far the medians of two arms' canaries may lie apart."""
WHOLE_SERVER = "whole_server_cpu_per_op"

_CANARIES = {
    "canary_cpu_us": "arithmetic",
    "canary_memory_ns": "memory access",
    "canary_fsync_us": "synced writes",
}


def warnings(
    arms: Sequence[str],
    runs: Sequence[StepRun],
    servers: Mapping[str, Sequence[ServerFacts]],
    boot_ids: Mapping[str | None, Sequence[str]],
) -> tuple[str, ...]:
    """Reasons to doubt the comparison; `servers`: each arm's server.json of every block.

    `boot_ids`: of every block by the host that it names.
    """
    last = {arm: by_block[-1] for arm, by_block in servers.items() if by_block}
    return (
        *_toolchains(arms, last),
        *_sizes(arms, last),
        *_changed_servers(servers),
        *_boots(boot_ids),
        *_canaries(arms, runs),
        *_unmeasured_failures(runs),
        *_of_steps(runs),
    )


def whole_servers(steps: Sequence[StepComparison], margin: float) -> tuple[str, ...]:
    """Arms whose whole server's CPU changed otherwise than the operations' own.

    The whole server's is a second estimate: it has no owners to confuse, and the background, other
    roles and ended processes as well. Both differ by more than the margin, and the operations' own
    change lies outside of the interval of the whole server's.
    """
    places = [
        words
        for step in steps
        for cell in step.cells[1:]
        if (words := _whole_server(step, cell, margin)) is not None
    ]
    more = f"; and {len(places) - PLACES_MAX} more" if len(places) > PLACES_MAX else ""
    subject = "CPU of the whole server changed otherwise"
    return (f"{subject}: {'; '.join(places[:PLACES_MAX])}{more}",) if places else ()


def _whole_server(step: StepComparison, cell: Cell, margin: float) -> str | None:
    own, more = (cell.estimates.get(name) for name in (cpu_of(step.cells), WHOLE_SERVER))
    whole = None if more is None else more.by(step.cells[0].metrics.get(WHOLE_SERVER) or 0.0)
    if own is None or whole is None:
        return None
    if abs(math.log(whole.value / own.value)) <= math.log1p(margin):
        return None
    if whole.low is not None and whole.high is not None and whole.low <= own.value <= whole.high:
        return None
    return (
        f"{step.step} {cell.arm}: {number.amount(own.value)} CPU per operation; including the"
        f" server's background, other roles and ended processes {number.amount(whole.value)}"
    )


def _toolchains(arms: Sequence[str], servers: Mapping[str, ServerFacts]) -> Iterable[str]:
    """Prebuilt servers of two majors come from two toolchains: then it is both that differ."""
    for arm, other in combinations([arm for arm in arms if arm in servers], 2):
        left, right = servers[arm], servers[other]
        if left.engine != right.engine:
            continue  # of two engines nobody asks what the compiler does
        compilers = {left.compiler, right.compiler}
        if left.version != right.version and len(compilers) == 2 and None not in compilers:
            yield (
                f"build and version: {arm} was compiled by {left.compiler}, {other} by "
                f"{right.compiler}; differences come from build and version together"
            )


def _sizes(arms: Sequence[str], servers: Mapping[str, ServerFacts]) -> Iterable[str]:
    """Servers compiled for size beside others: prebuilt ones are, nobody's own build is."""
    for alike in by_engine([arm for arm in arms if arm in servers], servers):
        flags = {arm: flags_of(servers[arm]) for arm in alike}
        small = [arm for arm in alike if for_size(flags[arm])]
        others = [arm for arm in alike if arm not in small]
        if small and others:
            by = f"`{flags[others[0]]}`" if flags[others[0]] else "unknown flags"
            whose = f"{names_of(small)} by `{flags[small[0]]}`, {names_of(others)} by {by}"
            yield (
                f"compiled for size: {whose}; differences come from the build, too:"
                " build all by one recipe"
            )


def _changed_servers(servers: Mapping[str, Sequence[ServerFacts]]) -> Iterable[str]:
    """An arm whose server was another one in some blocks, such as a `17` that became newer."""
    for arm, by_block in servers.items():
        versions = dict.fromkeys(str(server.version) for server in by_block)
        texts = dict.fromkeys(str(server.version_text) for server in by_block)
        if len(versions) > 1 or len(texts) > 1:
            changed = versions if len(versions) > 1 else texts
            yield f"changed server: {arm} differed between blocks: {', '.join(changed)}"


def _boots(boot_ids: Mapping[str | None, Sequence[str]]) -> Iterable[str]:
    for host, ids in boot_ids.items():
        count = len(set(ids))
        if count > 1:
            yield f"rebooted: {host or 'the machine'} booted between blocks, {count} boots in all"


def _canaries(arms: Sequence[str], runs: Sequence[StepRun]) -> Iterable[str]:
    """The idle machine itself was faster for one arm than for another."""
    for name, what in _CANARIES.items():
        medians = {}
        for arm in arms:
            values = [run.metrics.get(name) for run in runs if run.arm == arm]
            known = [value for value in values if value is not None]
            if known:
                medians[arm] = median(known)
        if len(medians) < 2:
            continue
        slow, fast = max(medians, key=medians.__getitem__), min(medians, key=medians.__getitem__)
        if medians[slow] > medians[fast] * (1 + CANARY_SHARE_MAX):
            row = metric.by_name(name)
            slowest, fastest = (
                f"{medians[arm]:,.{row.digits}f} {row.unit} beside {arm}" for arm in (slow, fast)
            )
            yield f"canary: on the idle machine {what} took {slowest}, {fastest} (medians)"


def _unmeasured_failures(runs: Sequence[StepRun]) -> Iterable[str]:
    """Maintenance that failed: what follows it ran on another state, or not at all."""
    for run in runs:
        if not run.facts.measured and run.ending.status == "failed":
            yield f"failed: {run.facts.step} of {run.arm} in block {run.block}: {run.ending.reason}"


def _of_steps(runs: Sequence[StepRun]) -> Iterable[str]:
    """The warnings of all steps, one line for each subject, with the places."""
    places: dict[str, list[str]] = {}
    for run in runs:
        for text in run.warnings:
            subject, _, details = text.partition(": ")
            place = f"{run.facts.step} {run.arm} block {run.block}"
            places.setdefault(subject, []).append(f"{place}: {details}" if details else place)
    for subject, subject_places in places.items():
        more = len(subject_places) - PLACES_MAX
        ending = f"; and {more} more" if more > 0 else ""
        yield f"{subject}: {'; '.join(subject_places[:PLACES_MAX])}{ending}"
