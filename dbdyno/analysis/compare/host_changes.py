"""Whether the hosts of a result stayed as they were between sessions, and are of one kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from dbdyno.analysis.compare.nodes import in_order
from dbdyno.analysis.step.damaged_files import Damage
from dbdyno.analysis.wording import few, listed
from dbdyno.doctor import stable_facts
from dbdyno.model import Json
from dbdyno.store import BlockFolder, Results

FACTS_NAMED_MAX = 6


def of_result(
    results: Results,
    judged: Sequence[BlockFolder],
    hosts: Mapping[str, Json],
    lost: Damage,
) -> list[str]:
    """What changed between the blocks of each host, and in what those with names are unlike.

    `hosts`: the last facts of each by its name, of one without a name by "".
    """
    told: list[str] = []
    for name in dict.fromkeys(block.host for block in judged):
        read = results.earlier_hosts if name is None else partial(results.earlier_hosts_of, name)
        states = [*(lost.usable(read) or ()), *filter(None, [hosts.get(name or "")])]
        its = [block for block in judged if block.host == name]
        told += changes(states, _begun(its), name or "")
    return [*told, *unlike(hosts, [block.host or "" for block in judged])]


def _begun(judged: Sequence[BlockFolder]) -> dict[int, int]:
    """When the blocks began, by wall-clock time, as far as they say it."""
    begun = {block.number: block.begun_unix_ns for block in judged}
    return {number: time_ns for number, time_ns in begun.items() if time_ns is not None}


def changes(
    hosts: Sequence[Json], begun_unix_ns: Mapping[int, int], name: str = ""
) -> Iterable[str]:
    """A line where a lasting fact of a host was not the same in all blocks.

    `hosts`: its facts in all sessions in their order; `begun_unix_ns`: when each of its blocks
    began; `name`: that of the host, if it has one.
    """
    states = {
        block: stable_facts.state(host)
        for block, begun in sorted(begun_unix_ns.items())
        if (host := _host_at(hosts, begun)) is not None
    }
    names = dict.fromkeys(name for state in states.values() for name in state)
    told = [words for name in names if (words := by_block(name, states)) is not None]
    if told:
        more = len(told) - FACTS_NAMED_MAX
        ending = f"; and {more} more" if more > 0 else ""
        where = f"{name} between blocks" if name else "between blocks"
        yield f"changed host: {where} {'; '.join(told[:FACTS_NAMED_MAX])}{ending}"


def unlike(hosts: Mapping[str, Json], nodes: Iterable[str]) -> Iterable[str]:
    """A line where nodes are not of one kind: a fact that both know is another one."""
    named = [name for name in in_order(nodes) if name in hosts and name]
    states = {name: stable_facts.of_kind(hosts[name]) for name in named}
    facts = dict.fromkeys(fact for state in states.values() for fact in state)
    told = [words for fact in facts if (words := _by_host(fact, states)) is not None]
    if told:
        more = len(told) - FACTS_NAMED_MAX
        ending = f"; and {more} more" if more > 0 else ""
        yield f"unlike nodes: {'; '.join(told[:FACTS_NAMED_MAX])}{ending}"


def _by_host(fact: str, states: Mapping[str, Mapping[str, str]]) -> str | None:
    """`kernel is 6.1 on n1, n2 and 6.2 on n3`; None where it is one."""
    hosts: dict[str, list[str]] = {}
    for name, state in states.items():
        if fact in state:
            hosts.setdefault(state[fact], []).append(name)
    if len(hosts) < 2:
        return None
    return f"{fact} is {listed(f'{value} on {few(its)}' for value, its in hosts.items())}"


def _host_at(hosts: Sequence[Json], begun: int) -> Json | None:
    """The facts that held when a block began: the last ones from before it."""
    before = [host for host in hosts if (host.get("since_unix_ns") or 0) <= begun]
    return before[-1] if before else None


def by_block(name: str, states: Mapping[int, Mapping[str, str]]) -> str | None:
    """`vm.swappiness was 60 in block 1 and 1 in blocks 2, 3`; None where it stayed as it was."""
    blocks: dict[str, list[int]] = {}
    for block, state in states.items():
        if name in state:
            blocks.setdefault(state[name], []).append(block)
    if len(blocks) < 2:
        return None
    parts = [
        f"{value} in block{'s' if len(its) > 1 else ''} {numbers(its)}"
        for value, its in blocks.items()
    ]
    return f"{name} was {listed(parts)}"


def numbers(blocks: Sequence[int]) -> str:
    """`1 to 3, 5`."""
    runs: list[list[int]] = []
    for block in blocks:
        if runs and block == runs[-1][-1] + 1:
            runs[-1].append(block)
        else:
            runs.append([block])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs)
