"""Whether the load of every step can be made, and by the same for all arms: before a run."""

from collections.abc import Mapping, Sequence

from msgspec import to_builtins

from dbdyno.builds import Build
from dbdyno.model import Plan, Step
from dbdyno.model.error import PlanError
from dbdyno.plan import schedule
from dbdyno.run.driver import registry
from dbdyno.run.ready_plan import StepsOf


def refuse_unfit(plan: Plan, steps: StepsOf, builds: Mapping[str, Build]) -> None:
    """Raises PlanError for the first step whose load cannot be made, or not alike for all arms."""
    for use in plan.workloads:
        for arm, of_arm in steps[use.title].items():
            for step in of_arm:
                registry.of(step).check(step, plan, builds.get(arm))
                if plan.schedule.placement == "together":
                    refuse_unplaced(step)
            if plan.schedule.interleave == "turn":
                refuse_unpausing(schedule.in_turn(plan, use, of_arm)[1])
    for by_arm in steps.values():
        refuse_unlike(by_arm)


def refuse_unplaced(step: Step) -> None:
    """Raises PlanError where the load of a step, or one of its sessions, cannot be placed."""
    makes, job = registry.of(step), step.job
    where = f"schedule.placement: step `{step.name}` of {step.workload}"
    remedy = 'which placement = "together" cannot place: write "free"'
    if "places" not in makes.tells:
        raise PlanError(f'{where} has driver = "{makes.name}", {remedy}')
    for name in (
        *(f"role `{role.name}`" for role in job.roles if role.connect == "each"),
        *(f"cursor `{cursor.name}`" for cursor in job.cursors if cursor.connect == "each"),
    ):
        raise PlanError(f"{where}: {name} has a connection for each operation, {remedy}")


def refuse_unpausing(steps: Sequence[Step]) -> None:
    """Raises PlanError where a step of turns has a load that cannot pause."""
    for step in steps:
        makes = registry.of(step)
        if "pauses" not in makes.tells:
            raise PlanError(
                f'schedule.interleave: "turn" pauses the load, and step `{step.name}` of '
                f'{step.workload} has driver = "{makes.name}", which cannot pause: '
                'write interleave = "step"'
            )


def refuse_unlike(by_arm: Mapping[str, Sequence[Step]]) -> None:
    """Raises PlanError where arms have another driver, version of it or command in a step.

    Such a plan would compare the programs that make the load.
    """
    first: dict[str, tuple[str, dict[str, object]]] = {}
    for arm, steps in by_arm.items():
        for step in steps:
            makes = registry.of(step)
            program: dict[str, object] = {
                "driver": makes.name,
                "command": list(step.job.command) or None,
                "pgbench": step.job.pgbench and to_builtins(step.job.pgbench),
                "sysbench": step.job.sysbench and to_builtins(step.job.sysbench),
                "version of the program": makes.version(step),
            }
            other, theirs = first.setdefault(step.name, (arm, program))
            for key, value in program.items():
                if value != theirs[key]:
                    where = step.job.workload or step.workload
                    raise PlanError(
                        f"{where}: step `{step.name}`: the {key} is {value!r} for arm {arm} and "
                        f"{theirs[key]!r} for arm {other}: give all arms the same load"
                    )
