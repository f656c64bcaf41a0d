"""The settings of the server from which an application was captured, for the arms that run it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from dbdyno import engine, workload
from dbdyno.builds import Build
from dbdyno.engine.inherited import Inherited
from dbdyno.model import Arm, Plan, can
from dbdyno.model.size import Capacity


def of(plan: Plan, arm: Arm, build: Build, host: Capacity) -> Inherited:
    """The settings that an arm takes of the source; none where it has a configuration of its own.

    `host`: what the arm's server can have; where all are up at once each has its share. Raises
    ServerError.
    """
    if arm.config is not None or not can(arm, "made"):
        return Inherited()
    written = dict(_written(plan, arm))
    if not written:
        return Inherited()
    servers = len(plan.arms) if plan.schedule.together else 1
    share = dataclasses.replace(host, memory_bytes=host.memory_bytes // servers)
    return engine.of(arm.engine).inherited(written, arm, build, share)


def _written(plan: Plan, arm: Arm) -> Iterator[tuple[str, str]]:
    """The settings of the sources of the plan's workloads that are of the arm's engine."""
    for use in plan.workloads:
        application = workload.used(use, plan.path).application
        if application is not None and application.source.engine == arm.engine:
            yield from application.source.settings.items()
