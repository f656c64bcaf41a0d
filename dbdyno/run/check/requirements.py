"""Whether this host has what a plan requires of it: before anything is fetched or started."""

from dbdyno.doctor import requirement
from dbdyno.host.observe import facts
from dbdyno.model import Plan, can
from dbdyno.model.error import PlanError
from dbdyno.model.host_facts import HostFacts
from dbdyno.run import starting_state
from dbdyno.run.check import host_checkup


def refuse_unmet(plan: Plan) -> None:
    """Raises PlanError with a line for each setting that the host has not."""
    if not plan.require:
        return
    for arm in plan.arms:
        if can(arm, "clock") and not can(arm, "made"):
            raise PlanError(
                f"require: the server of arm {arm.name} runs elsewhere, and dyno cannot see its "
                "host: remove it"
            )
    unmet = lines(plan, look(plan))
    if unmet:
        raise PlanError("\n".join(unmet))


def look(plan: Plan) -> HostFacts:
    """The facts of this host that a plan may require."""
    root = starting_state.data_root(plan)
    return facts.collect(root, wal_path=plan.wal_dir, measure=False)


def lines(plan: Plan, host: HostFacts) -> list[str]:
    """A line for each fact that is not as the plan requires it, with the remedy."""
    needs = list(host_checkup.needs_of(plan))
    return [
        f"require: {finding.what.removeprefix('the plan requires ')}; "
        + "; ".join((*finding.mend, *([finding.barred] if finding.barred else [])))
        for finding in requirement.findings(host, plan.require, needs)
    ]
