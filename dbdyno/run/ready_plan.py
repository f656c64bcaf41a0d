"""A plan that was checked against this host (check/preflight.py): its builds, steps and servers."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dbdyno import engine
from dbdyno.builds.compile import BuildRequest
from dbdyno.engine import Build, Server, access
from dbdyno.engine.access import RemoteAccess
from dbdyno.engine.golden_copy import Copy
from dbdyno.engine.settings import ArmSettings
from dbdyno.host import place, placement
from dbdyno.model import Arm, Block, Plan, Step, WorkloadUse, can
from dbdyno.model.host_facts import Storage
from dbdyno.model.plan import fill_of
from dbdyno.model.size import Capacity
from dbdyno.plan import schedule
from dbdyno.run.disk_space import Need
from dbdyno.run.starting_state import StartingPoint

StepsOf = Mapping[str, Mapping[str, tuple[Step, ...]]]
"""The steps by workload, as the plan names it, and by arm."""


@dataclass(frozen=True, kw_only=True)
class ReadyPlan:
    """A plan that this host can carry out."""

    builds: Mapping[str, Build]  # by arm; those have none whose servers the lab does not make
    releases: Mapping[str, tuple[int, ...] | None]  # by arm: what its version can; None: a fake
    steps: StepsOf
    sizing: Capacity  # the same in all blocks, also when the plan goes on later
    points: Mapping[
        str, Mapping[str, tuple[StartingPoint, ...]]
    ]  # of each fill, likewise; if any are kept
    copies: Mapping[str, Copy]  # that are there already, by key
    copy_bytes: Mapping[str, int]  # by key: of those that are there, and a guess of the others
    disk: tuple[Need, ...]  # of the largest run, and of the golden copies that are still to be made
    data_path: Path
    device: Storage | None
    wishes: Mapping[str, BuildRequest] = field(
        default_factory=dict
    )  # by arm: builds still to be made
    settled: Mapping[str, ArmSettings] = field(default_factory=dict)  # by arm, as builds
    asked_as: Mapping[str, str] = field(default_factory=dict)  # by arm: who asks captured queries
    wal_path: Path | None = None  # where logs lie, if not with the data

    def point(self, use: WorkloadUse, arm: str, block: int) -> StartingPoint | None:
        """Where an arm's data are kept that a block begins from; None: nowhere."""
        points = self.points.get(use.title, {}).get(arm, ())
        return points[fill_of(block, len(points)) - 1] if points else None

    def kept_through(self, use: WorkloadUse, arm: str) -> int:
        """The ordinal of the step whose state is kept for later blocks; 0: none is."""
        point = self.point(use, arm, 1)
        return 0 if point is None else point.step.ordinal


def in_order(
    plan: Plan, prepared: ReadyPlan, block: Block, use: WorkloadUse, arm: str
) -> tuple[Step, ...]:
    """The steps of a workload that an arm does in a block, as it goes through them."""
    steps = schedule.of_block(block, prepared.steps[use.title][arm])
    through = prepared.kept_through(use, arm)
    return schedule.swept(plan, block.number, steps, through=through)


def provide_server(plan: Plan, arm: Arm, prepared: ReadyPlan, log_dir: Path) -> Server:
    """The arm's server, not yet made; its log is written into `log_dir`."""
    here = place.default(
        log_dir=log_dir,
        engine=arm.engine,
        data_dir=plan.data_dir,
        wal_dir=plan.wal_dir,
        server_user=plan.server_user,
    )
    family = engine.of(arm.engine)
    if not can(arm, "made"):
        return family.unmade(arm)
    where = dataclasses.replace(here, placement=placement.of(plan), access=access_of(plan, arm))
    return family.server(arm, prepared.builds[arm.name], where, prepared.settled[arm.name])


def access_of(plan: Plan, arm: Arm) -> RemoteAccess | None:
    """How the plan's generators reach the arm's server from their hosts; None: it is beside it."""
    if not plan.generator_hosts or arm.host is None:
        return None
    address = plan.hosts[arm.host].address
    clients = [plan.hosts[name].address for name in plan.generator_hosts]
    assert address is not None and None not in clients, "the plan was checked"
    return access.make(address, filter(None, clients), tls=plan.tls)
