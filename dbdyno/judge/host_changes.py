"""Whether the hosts of a result stayed as they were between sessions, and are of one kind."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from dbdyno.doctor import stable_facts
from dbdyno.evidence.damaged_files import Damage
from dbdyno.judge.nodes import in_order
from dbdyno.model.doubt import Doubt, DoubtSubject
from dbdyno.model.grouping import grouped
from dbdyno.model.host_facts import HostFacts
from dbdyno.parts.number import few, listed, of_blocks
from dbdyno.store import BlockFolder, Results

FACTS_NAMED_MAX = 6


def of_result(
    results: Results, judged: Sequence[BlockFolder], hosts: Mapping[str, HostFacts], lost: Damage
) -> list[Doubt]:
    """What changed between the blocks of each host, and in what those with names are unlike.

    `hosts`: the last facts of each by its name, of one without a name by "".
    """
    doubts: list[Doubt] = []
    for name in dict.fromkeys(block.host for block in judged):
        read = results.earlier_hosts if name is None else partial(results.earlier_hosts_of, name)
        last = hosts.get(name or "")
        states = [*(lost.usable(read) or ()), *([] if last is None else [last])]
        measured = [block for block in judged if block.host == name]
        begun = {block.number: at for block in measured if (at := block.begun_unix_ns) is not None}
        doubts += changes(states, begun, name or "")
    return [*doubts, *unlike(hosts, [block.host or "" for block in judged])]


def changes(
    hosts: Sequence[HostFacts], begun_unix_ns: Mapping[int, int], name: str = ""
) -> Iterable[Doubt]:
    """A doubt where a lasting fact of a host was not the same in all blocks.

    `hosts`: its facts in all sessions in their order; `begun_unix_ns`: when each of its blocks
    began; `name`: that of the host, if it has one.
    """
    states = {
        block: stable_facts.state(host)
        for block, begun in sorted(begun_unix_ns.items())
        if (host := _host_at(hosts, begun)) is not None
    }
    names = dict.fromkeys(name for state in states.values() for name in state)
    changed = [words for name in names if (words := by_block(name, states)) is not None]
    if changed:
        where = f"{name} between blocks" if name else "between blocks"
        yield DoubtSubject.CHANGED_HOST.doubt(f"{where} {few(changed, FACTS_NAMED_MAX, '; ')}")


def _host_at(hosts: Sequence[HostFacts], begun: int) -> HostFacts | None:
    """The facts that held when a block began: the last ones from before it."""
    before = [host for host in hosts if (host.since_unix_ns or 0) <= begun]
    return before[-1] if before else None


def unlike(hosts: Mapping[str, HostFacts], nodes: Iterable[str]) -> Iterable[Doubt]:
    """A doubt where nodes are not of one kind: a fact that both know is another one."""
    named = [name for name in in_order(nodes) if name in hosts and name]
    states = {name: stable_facts.of_kind(hosts[name]) for name in named}
    facts = dict.fromkeys(fact for state in states.values() for fact in state)
    differing = [words for fact in facts if (words := _by_host(fact, states)) is not None]
    if differing:
        yield DoubtSubject.UNLIKE_NODES.doubt(few(differing, FACTS_NAMED_MAX, "; "))


def _by_host(fact: str, states: Mapping[str, Mapping[str, str]]) -> str | None:
    """`kernel is 6.1 on n1, n2 and 6.2 on n3`; None where it is one."""
    hosts = grouped((state[fact], name) for name, state in states.items() if fact in state)
    if len(hosts) < 2:
        return None
    return f"{fact} is {listed(f'{value} on {few(names)}' for value, names in hosts.items())}"


def by_block(name: str, states: Mapping[int, Mapping[str, str]]) -> str | None:
    """`vm.swappiness was 60 in block 1 and 1 in blocks 2, 3`; None where it stayed as it was."""
    blocks = grouped((state[name], block) for block, state in states.items() if name in state)
    if len(blocks) < 2:
        return None
    parts = [f"{value} in {of_blocks(alike)}" for value, alike in blocks.items()]
    return f"{name} was {listed(parts)}"
