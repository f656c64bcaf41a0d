"""The processors of servers and of the load generator on this host (`[schedule] placement`)."""

import os
from dataclasses import replace

from dbdyno.host import core_sets
from dbdyno.host.capacity import cpus_of
from dbdyno.host.observe.reader import HostReader
from dbdyno.model import Placement, Plan
from dbdyno.model.error import HostError

CORES_MIN = 2
"""One for a server, one for its clients."""
THREADS_MAX = 1_024
"""As dyno-loadgen has it."""


def of(plan: Plan) -> Placement:
    """The processors that servers and the generator may use on this host.

    Raises HostError where there are too few for each to have its own.
    """
    if plan.schedule.placement != "apart":
        return plan.placement
    cores = core_sets.here()
    if len(cores) < CORES_MIN:
        raise HostError(
            f'schedule.placement: "apart" needs {CORES_MIN} physical cores of one memory node, '
            f'and dyno may use {len(cores)} here; use "together"'
        )
    servers, clients = core_sets.dealt(cores)
    return replace(plan.placement, server_cpus=servers, generator_cpus=clients)


def processors(plan: Plan) -> tuple[int, ...]:
    """The processors of clients and sessions that are together; (): they are not.

    Raises HostError where the plan's processors leave none.
    """
    if plan.schedule.placement != "together":
        return ()
    allowed = os.sched_getaffinity(0)
    for cpus in (plan.placement.server_cpus, plan.placement.generator_cpus):
        allowed &= allowed if cpus is None else cpus_of(cpus)
    if not allowed:
        raise HostError(
            'generator.cpus: placement = "together" needs a processor that `server.cpus` has, too; '
            "remove one of them"
        )
    return core_sets.core_by_core(HostReader(), allowed)[:THREADS_MAX]
