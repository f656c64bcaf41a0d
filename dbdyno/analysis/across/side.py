"""An arm as it ran in one result, and in what two such differ: servers, hosts, how it was done."""

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from msgspec import structs

from dbdyno.analysis.across.work import ALWAYS_BEFORE, Index, turns_of, words
from dbdyno.doctor import stable_facts
from dbdyno.judge import arms_and_blocks, differences
from dbdyno.model import Difference
from dbdyno.model.error import ResultError
from dbdyno.model.host_facts import HostFacts
from dbdyno.model.plan_record import ArmRecord, PlanRecord
from dbdyno.model.server_facts import ServerFacts

LEFT, RIGHT = "left", "right"
"""The keys of a difference's values."""
MISSING = "not known"


@dataclass(frozen=True, kw_only=True)
class Side:
    """An arm of a result."""

    result: str  # by which the caller knows it
    plan: str
    arm: str
    begun_unix_ns: int
    version: str  # in full, as the server says it; else as the plan says it
    version_num: int  # by which versions are ordered; 0: not known
    server: ServerFacts = field(repr=False)
    planned: ArmRecord = field(repr=False)  # the arm as the plan has it
    host: HostFacts = field(repr=False)
    done_by: Mapping[str, str] = field(repr=False)  # how it was measured: dyno, turns, blocks


def of(index: Index, arm: str) -> Side:
    """An arm of a result, whose server is not known where its files are damaged.

    Raises KeyError where it has no such arm.
    """
    results = index.results
    planned = results.plan.arm(arm)
    if planned is None:
        raise KeyError(arm)
    server = _server(index, arm)
    return Side(
        result=index.name,
        plan=results.plan.name,
        arm=arm,
        begun_unix_ns=index.begun_unix_ns,
        version=server.version or planned.version or MISSING,
        version_num=server.version_num or 0,
        server=server,
        planned=planned,
        host=index.host,
        done_by=_done_by(results.plan),
    )


def _server(index: Index, arm: str) -> ServerFacts:
    """The facts of the server of the arm's last run; none where there is none."""
    for block in reversed(arms_and_blocks.blocks(index.results)):
        for run in block.runs():
            with contextlib.suppress(ResultError):
                if run.arm == arm and (server := run.server()) is not None:
                    return server
    return ServerFacts()


def _done_by(plan: PlanRecord) -> dict[str, str]:
    threads, waits_s = plan.generator.threads, plan.observe.waits_s
    return {
        "dyno": plan.dyno or MISSING,
        **ALWAYS_BEFORE,
        **{key: words(value) for key, value in turns_of(plan.schedule).items()},
        "generator.threads": words(threads) if threads is not None else "by itself",
        "observe.waits_s": words(waits_s) if waits_s is not None else "off",
    }


def unlike(left: Side, right: Side) -> tuple[Difference, ...]:
    """The differences of two sides; `planned`: those that their plans name."""
    servers = {LEFT: left.server, RIGHT: right.server}
    arms = [structs.replace(left.planned, name=LEFT), structs.replace(right.planned, name=RIGHT)]
    of_servers = differences.differences((LEFT, RIGHT), servers, arms)
    return (
        *(server for server in of_servers if server.planned),
        *(server for server in of_servers if not server.planned),
        *_differ("host: ", _facts(left.host), _facts(right.host)),
        *_differ("", left.done_by, right.done_by),
    )


def _facts(host: HostFacts) -> dict[str, str]:
    """The lasting facts of a host, and what makes it the machine that it is."""
    machine = {
        "kernel": host.kernel,
        "memory in bytes": host.memory_bytes,
        "CPU model": host.cpu.model,
        "CPU cpus": host.cpu.cpus,
        "CPU governor": host.cpu.governor,
        "CPU mhz_max": host.cpu.mhz_max,
    }
    known = {name: words(value) for name, value in machine.items() if value is not None}
    return known | stable_facts.state(host)


def _differ(prefix: str, left: Mapping[str, str], right: Mapping[str, str]) -> Iterable[Difference]:
    """Facts that both know and that differ; a fact that one alone knows cannot be compared."""
    for name in left:
        if name in right and left[name] != right[name]:
            values = {LEFT: left[name], RIGHT: right[name]}
            yield Difference(what=f"{prefix}{name}", values=values, planned=False)
