"""Whether a plan's tables fit into memory: said before they are filled, and never an error."""

from collections.abc import Iterator

from dbdyno import engine
from dbdyno.model import Plan, WorkloadUse, can
from dbdyno.run.check import preflight
from dbdyno.run.check.preflight import NO_LOG
from dbdyno.run.disk_space import gb
from dbdyno.run.ready_plan import ReadyPlan, provide_server


def notices(plan: Plan, prepared: ReadyPlan) -> Iterator[str]:
    """A line for each workload whose tables are larger than the memory that should hold them."""
    for use in plan.workloads:
        sizes = {
            arm.name: tables_bytes(plan, use, arm.name, prepared)
            for arm in plan.arms
            if can(arm, "made")
        }
        if not sizes:
            continue
        most, memory_bytes = max(sizes.values()), prepared.sizing.memory_bytes
        if plan.schedule.together:  # all of them are there at once
            most = sum(sizes.values())
        if most > memory_bytes:
            yield (
                f"tables of {use.title}: {gb(most)}, more than the host's {gb(memory_bytes)} of "
                "memory: reads come from the device, too"
            )
            continue
        buffers = {name: shared_bytes(plan, name, prepared) for name in sizes}
        small = [f"{name} {gb(buffers[name])}" for name in sizes if sizes[name] > buffers[name]]
        if small:
            yield (
                f"tables of {use.title}: {gb(max(sizes.values()))}, more than {caches(plan)} "
                f"({', '.join(small)}): "
                "reads come from the page cache, too"
            )


def tables_bytes(plan: Plan, use: WorkloadUse, arm: str, prepared: ReadyPlan) -> int:
    """Tables and indexes of a workload at their largest."""
    steps = prepared.steps[use.title][arm]
    return preflight.estimate(plan, use, steps, prepared.sizing).disk_bytes


def shared_bytes(plan: Plan, name: str, prepared: ReadyPlan) -> int:
    """The cache that an arm's server has of its own: its shared_buffers, its buffer pool."""
    (arm,) = (arm for arm in plan.arms if arm.name == name)
    server = provide_server(plan, arm, prepared, NO_LOG)
    return engine.of(arm.engine).footprint(server.setting).cache_bytes


def caches(plan: Plan) -> str:
    """The name of the caches that the arms' servers have."""
    arms = [arm for arm in plan.arms if can(arm, "clock")]
    shared = all(engine.of(arm.engine).traits.statistics == "PostgreSQL" for arm in arms)
    return "shared_buffers" if shared else "the servers' own caches"
