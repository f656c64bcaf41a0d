"""Whether a plan's tables fit into memory: said before they are filled, and never an error."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno import preflight
from dbdyno.model import Plan, WorkloadUse
from dbdyno.preflight import NO_LOG, Prepared
from dbdyno.room import gb
from dbdyno.server import Server, config

SHARED_BUFFERS_DEFAULT = 128 << 20
"""PostgreSQL's own shared_buffers."""
PAGE_BYTES = 8 << 10
"""What a size without a unit counts in."""


def notices(plan: Plan, prepared: Prepared) -> Iterator[str]:
    """A line for each workload whose tables are larger than the memory that should hold them."""
    for use in plan.workloads:
        sizes = {
            arm.name: tables_bytes(plan, use, arm.name, prepared)
            for arm in plan.arms
            if arm.engine != "fake"
        }
        if not sizes:
            continue
        most, memory_bytes = max(sizes.values()), prepared.sizing.memory_bytes
        if plan.schedule.together:  # all of them are there at once
            most = sum(sizes.values())
        if most > memory_bytes:
            yield (
                f"tables of {use.name}: {gb(most)}, more than the host's {gb(memory_bytes)} of "
                "memory: what is read comes from the device, too"
            )
            continue
        buffers = {name: shared_bytes(plan, name, prepared) for name in sizes}
        small = [f"{name} {gb(buffers[name])}" for name in sizes if sizes[name] > buffers[name]]
        if small:
            yield (
                f"tables of {use.name}: {gb(max(sizes.values()))}, more than shared_buffers "
                f"({', '.join(small)}): "
                "what is read comes from the page cache, too"
            )


def tables_bytes(plan: Plan, use: WorkloadUse, arm: str, prepared: Prepared) -> int:
    """Tables and indexes of a workload at their largest."""
    steps = prepared.steps[use.name, arm]
    return preflight.estimate(plan, use, steps, prepared.sizing).disk_bytes


def shared_bytes(plan: Plan, name: str, prepared: Prepared) -> int:
    """The shared_buffers of an arm's server."""
    (arm,) = (one for one in plan.arms if one.name == name)
    return buffers(preflight.provide_server(plan, arm, prepared, NO_LOG))


def buffers(server: Server) -> int:
    """What a server's setting of shared_buffers comes to."""
    text = server.setting("shared_buffers")
    if text is None:
        return SHARED_BUFFERS_DEFAULT
    return int(text) * PAGE_BYTES if text.strip().isdigit() else config.bytes_of(text)
