"""The server of an arm from the arm alone: its build, its settings, then the server."""

from dbdyno import engine
from dbdyno.builds import Build
from dbdyno.engine import installed
from dbdyno.engine.interface import LabServer
from dbdyno.engine.settings import ArmSettings, Demand
from dbdyno.host import capacity as capacities
from dbdyno.host.place import Place
from dbdyno.model import Arm
from dbdyno.model.size import Capacity


def settled(
    arm: Arm,
    *,
    place: Place,
    build: Build | None = None,
    connections: int = 0,
    capacity: Capacity | None = None,
) -> tuple[Build, ArmSettings]:
    """The build of an arm whose server the lab makes, and its settings.

    `build`: from `installed.locate`, which is called where it is None (and may go online).
    `connections`: of the largest step, all roles. `capacity`: what a preset is sized to; None:
    this host's. Raises PlanError, HostError or ServerError for what cannot be.
    """
    build = build or installed.locate(arm, place.cache_root, place.account)
    capacity = capacity or capacities.here(place.wal_root or place.data_root)
    demand = Demand(connections=connections)
    return build, engine.of(arm.engine).settle(arm, build, capacity, demand)


def provide(
    arm: Arm,
    *,
    place: Place,
    build: Build | None = None,
    connections: int = 0,
    capacity: Capacity | None = None,
) -> LabServer:
    """The server of `arm`, described but not yet made or started; as `settled` takes it."""
    made = settled(arm, place=place, build=build, connections=connections, capacity=capacity)
    return engine.of(arm.engine).server(arm, made[0], place, made[1])
