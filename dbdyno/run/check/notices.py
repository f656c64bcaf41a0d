"""All that is said of a plan before it starts and is no error."""

from collections.abc import Iterator

from dbdyno import workload
from dbdyno.engine import dsn
from dbdyno.model import Plan
from dbdyno.run.check import counting, memory_fit, profiling, source_settings
from dbdyno.run.ready_plan import ReadyPlan


def notices(plan: Plan, prepared: ReadyPlan) -> Iterator[str]:
    """A line each."""
    yield from memory_fit.notices(plan, prepared)
    yield from profiling.notices(plan, prepared)
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
