"""All that is said of a plan before it starts and is no error."""

from collections.abc import Iterator
from pathlib import Path

from dbdyno import engine, workload
from dbdyno.engine import dsn
from dbdyno.host.perf import elf
from dbdyno.model import Plan, WorkloadUse, can
from dbdyno.run.check import counting, preflight, source_settings
from dbdyno.run.check.preflight import NO_LOG
from dbdyno.run.disk_space import gb
from dbdyno.run.ready_plan import ReadyPlan, provide_server


def notices(plan: Plan, prepared: ReadyPlan) -> Iterator[str]:
    """A line each."""
    yield from larger_than_memory(plan, prepared)
    yield from nameless_functions(plan, prepared)
    yield from counting.notices(plan, prepared)
    yield from source_settings.notices(plan, prepared)
    yield from unwritten(plan)
    yield from without_values(plan)
    yield from (f"arms.{arm}: {sentence}" for arm, sentence in prepared.asked_as.items())
    for arm in plan.arms:
        yield from dsn.passed_over(arm)


def without_values(plan: Plan) -> Iterator[str]:
    """The captured queries that do not run, as nothing is known of their values."""
    for use in plan.workloads:
        application = workload.used(use, plan.path).application
        if application is not None and application.without_values:
            count = len(application.without_values)
            yield (
                f"{count:,} of {count + len(application.queries):,} queries of {use.title} have "
                "parameters whose values are not known, and are left out: capture a log, too"
            )


def unwritten(plan: Plan) -> Iterator[str]:
    """The captured queries that do not run, as they write and an arm's server is elsewhere."""
    arms = [arm.name for arm in plan.arms if arm.dsn is not None and not arm.allow_writes]
    for use in plan.workloads if arms else ():
        application = workload.used(use, plan.path).application
        queries = [] if application is None else application.queries
        count = sum(query.writes for query in queries)
        if count:
            yield (
                f"{count:,} of {len(queries):,} queries of {use.title} write and are left out on "
                f"{', '.join(arms)}: write `allow_writes = true` in the arm, or --allow-writes"
            )


def nameless_functions(plan: Plan, prepared: ReadyPlan) -> Iterator[str]:
    """A line for each server program whose functions will have no names."""
    if plan.observe.profile is None:
        return
    programs: dict[Path, list[str]] = {}
    for arm, build in prepared.builds.items():
        if build.made:
            programs.setdefault(build.image or build.program, []).append(arm)
    for program, arms in programs.items():
        binary = elf.read(program)
        if binary is not None and not binary.symbols:
            yield (
                f"profile: {program} ({', '.join(arms)}) has no symbols: only functions that it "
                "exports have names, all others are `?`; install its debug symbols, or build it "
                "(`dyno server build --help`)"
            )


def larger_than_memory(plan: Plan, prepared: ReadyPlan) -> Iterator[str]:
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
