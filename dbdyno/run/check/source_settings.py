"""The settings of the server from which an application was captured, for the arms that run it."""

import dataclasses
from collections.abc import Iterator

from dbdyno import engine, workload
from dbdyno.builds import Build
from dbdyno.engine.inherited import InheritedSettings
from dbdyno.host import capacity
from dbdyno.model import Arm, Plan, can
from dbdyno.model.size import Capacity
from dbdyno.run.ready_plan import ReadyPlan


def of(plan: Plan, arm: Arm, build: Build, host: Capacity) -> InheritedSettings:
    """The settings that an arm takes of the source; none where it has a configuration of its own.

    `host`: what the arm's server can have; where all are up at once each has its share. Raises
    ServerError.
    """
    if not (written := written_for(plan, arm)):
        return InheritedSettings()
    servers = len(plan.arms) if plan.schedule.together else 1
    share = dataclasses.replace(host, memory_bytes=host.memory_bytes // servers)
    return engine.of(arm.engine).inherited(written, arm, build, share)


def written_for(plan: Plan, arm: Arm) -> dict[str, str]:
    """The settings of the sources that are for an arm, as the workload files have them."""
    if arm.config is not None or not can(arm, "made"):
        return {}
    return dict(_of_sources(plan, arm))


def notices(plan: Plan, prepared: ReadyPlan) -> Iterator[str]:
    """A line on the settings that arms take of the source, and one for each that they do not."""
    arms: dict[str, list[str]] = {}
    for arm in plan.arms:
        if written_for(plan, arm):
            host = capacity.of_arm(arm, prepared.sizing)
            inherited = of(plan, arm, prepared.builds[arm.name], host)
            words = ", ".join(f"{name} = {value}" for name, value in inherited.values.items())
            for sentence in (f"settings of the source: {words}", *inherited.said):
                arms.setdefault(sentence, []).append(arm.name)
    for sentence, names in arms.items():
        yield sentence + ("" if len(names) == len(plan.arms) else f" ({', '.join(names)})")


def _of_sources(plan: Plan, arm: Arm) -> Iterator[tuple[str, str]]:
    """The settings of the sources of the plan's workloads that are of the arm's engine."""
    for use in plan.workloads:
        application = workload.used(use, plan.path).application
        if application is not None and application.source.engine == arm.engine:
            yield from application.source.settings.items()
