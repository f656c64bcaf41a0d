"""Doubts of a whole comparison: its servers, hosts and versions of dyno."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from statistics import median

from dbdyno.judge.differences import by_engine, names_of
from dbdyno.model import Cell, StepRun, metric
from dbdyno.model.compiler import flags_of, for_size
from dbdyno.model.disturbance import PERCENT
from dbdyno.model.doubt import Doubt, DoubtSubject
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


def doubts(
    arms: Sequence[str],
    runs: Sequence[StepRun],
    servers: Mapping[str, Sequence[ServerFacts]],
    boot_ids: Mapping[str | None, Sequence[str]],
) -> tuple[Doubt, ...]:
    """The doubts of the comparison; `servers`: each arm's server.json of every block.

    `boot_ids`: of every block by the host that it names.
    """
    last = {arm: by_block[-1] for arm, by_block in servers.items() if by_block}
    return (
        *_toolchains(arms, last),
        *_sizes(arms, last),
        *_changed_servers(servers),
        *_boots(boot_ids),
        *_canaries(arms, runs),
    )


def whole_servers(cells: Sequence[Cell], margin: float) -> Iterator[Doubt]:
    """Arms whose whole server's CPU changed otherwise than the operations' own.

    The whole server's is a second estimate: it has no owners to confuse, and the background, other
    roles and ended processes as well. Both differ by more than the margin, and the operations' own
    change lies outside of the interval of the whole server's.
    """
    for cell in cells[1:]:
        words = _whole_server(cells, cell, margin)
        if words is not None:
            yield DoubtSubject.WHOLE_SERVER.doubt(words, arm=cell.arm)


def _whole_server(cells: Sequence[Cell], cell: Cell, margin: float) -> str | None:
    own, more = (cell.estimates.get(name) for name in (cpu_of(cells), WHOLE_SERVER))
    whole = None if more is None else more.by(cells[0].metrics.get(WHOLE_SERVER) or 0.0)
    if own is None or whole is None:
        return None
    if abs(math.log(whole.value / own.value)) <= math.log1p(margin):
        return None
    if whole.low is not None and whole.high is not None and whole.low <= own.value <= whole.high:
        return None
    return (
        f"{number.amount(own.value)} CPU per operation; including the server's"
        f" background, other roles and ended processes {number.amount(whole.value)}"
    )


def _toolchains(arms: Sequence[str], servers: Mapping[str, ServerFacts]) -> Iterable[Doubt]:
    """Prebuilt servers of two majors come from two toolchains: then it is both that differ."""
    for arm, other in combinations([arm for arm in arms if arm in servers], 2):
        left, right = servers[arm], servers[other]
        if left.engine != right.engine:
            continue  # of two engines nobody asks what the compiler does
        compilers = {left.compiler, right.compiler}
        if left.version != right.version and len(compilers) == 2 and None not in compilers:
            yield DoubtSubject.BUILD.doubt(
                f"{arm} was compiled by {left.compiler}, {other} by {right.compiler};"
                " differences come from build and version together"
            )


def _sizes(arms: Sequence[str], servers: Mapping[str, ServerFacts]) -> Iterable[Doubt]:
    """Servers compiled for size beside others: prebuilt ones are, nobody's own build is."""
    for alike in by_engine([arm for arm in arms if arm in servers], servers):
        flags = {arm: flags_of(servers[arm]) for arm in alike}
        small = [arm for arm in alike if for_size(flags[arm])]
        others = [arm for arm in alike if arm not in small]
        if small and others:
            by = f"`{flags[others[0]]}`" if flags[others[0]] else "unknown flags"
            whose = f"{names_of(small)} by `{flags[small[0]]}`, {names_of(others)} by {by}"
            yield DoubtSubject.SIZE.doubt(
                f"{whose}; differences come from the build, too: build all by one recipe"
            )


def _changed_servers(servers: Mapping[str, Sequence[ServerFacts]]) -> Iterable[Doubt]:
    """An arm whose server was another one in some blocks, such as a `17` that became newer."""
    for arm, by_block in servers.items():
        versions = dict.fromkeys(str(server.version) for server in by_block)
        texts = dict.fromkeys(str(server.version_text) for server in by_block)
        if len(versions) > 1 or len(texts) > 1:
            changed = versions if len(versions) > 1 else texts
            yield DoubtSubject.CHANGED_SERVER.doubt(
                f"between blocks: {', '.join(changed)}", arm=arm
            )


def _boots(boot_ids: Mapping[str | None, Sequence[str]]) -> Iterable[Doubt]:
    for host, ids in boot_ids.items():
        count = len(set(ids))
        if count > 1:
            yield DoubtSubject.REBOOTED.doubt(
                f"{host or 'the machine'} booted between blocks, {count} boots in all", count
            )


def _canaries(arms: Sequence[str], runs: Sequence[StepRun]) -> Iterable[Doubt]:
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
            words = f"on the idle machine {what} took {slowest}, {fastest} (medians)"
            amount = PERCENT * (medians[slow] / medians[fast] - 1)
            yield DoubtSubject.CANARY.doubt(words, amount)
