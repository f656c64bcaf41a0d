"""Checks where a plan puts clients and the sessions that serve them (`[schedule] placement`)."""

from dbdyno.model import Plan, can
from dbdyno.plan.schema import refusal


def check(plan: Plan, source: str) -> None:
    """Raises PlanError where sessions, or what makes their load, cannot be placed."""
    placement = plan.schedule.placement
    if placement == "free":
        return
    how = f'placement = "{placement}"'
    if plan.generator_hosts:
        sentence = f"{how} is for load that is made beside the servers; remove `hosts`"
        raise refusal(source, "generator.hosts", sentence)
    for arm in plan.arms:
        if not can(arm, "made"):
            why = "has a `dsn`" if arm.dsn is not None else f'is of engine "{arm.engine}"'
            sentence = f"{how} is for servers that dyno runs, and arm `{arm.name}` {why}; remove it"
            raise refusal(source, "schedule.placement", sentence)
    if placement == "apart":
        _check_apart(plan, source)
    else:
        _check_together(plan, source)


def _check_apart(plan: Plan, source: str) -> None:
    named = {"server": plan.placement.server_cpus, "generator": plan.placement.generator_cpus}
    for table, cpus in named.items():
        if cpus is not None:
            sentence = 'placement = "apart" chooses processors for both sides; remove one of them'
            raise refusal(source, f"{table}.cpus", sentence)


def _check_together(plan: Plan, source: str) -> None:
    if plan.threads is not None:
        sentence = 'placement = "together" has a thread for each processor; remove it'
        raise refusal(source, "generator.threads", sentence)
