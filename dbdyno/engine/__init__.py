"""The registry of engines: `of` is the one place that picks by family.

The registry imports a family's folder when it is asked, so that nothing else knows one. `provide`
describes the server of an arm.
"""

from __future__ import annotations

from importlib import import_module

from dbdyno.builds import Build
from dbdyno.builds.flags import Recipes
from dbdyno.engine.interface import Engine, Server
from dbdyno.engine.settings import Demand, Settled
from dbdyno.host.place import Place
from dbdyno.model import Arm, can, engine
from dbdyno.model.error import ServerError
from dbdyno.model.size import Capacity

__all__ = ["Build", "Engine", "Place", "Server", "of", "provide", "recipes", "settled"]


def of(name: str) -> Engine:
    """The engine of that name. Raises PlanError that names the nearest."""
    traits = engine.of(name)
    found: Engine = import_module(f"{__name__}.{traits.family}").of(traits)
    return found


def recipes(name: str) -> Recipes:
    """The recipes by which an engine is compiled. Raises ServerError if there are none."""
    if name not in (there := engine.having("source")):
        raise ServerError(f"no engine `{name}` can be built: there are {engine.named(there)}")
    return of(name).recipes


def settled(
    arm: Arm,
    *,
    place: Place,
    build: Build | None = None,
    connections: int = 0,
    capacity: Capacity | None = None,
) -> tuple[Build, Settled]:
    """The build of an arm whose server the lab makes, and its settings.

    `build`: from `installed.locate`, which is called where it is None (and may go online).
    `connections`: of the largest step, all roles. `capacity`: what a preset is sized to; None:
    this host's. Raises PlanError, HostError or ServerError for what cannot be.
    """
    from dbdyno.engine import installed
    from dbdyno.host import capacity as host

    build = build or installed.locate(arm, place.cache_root, place.account)
    capacity = capacity or host.here(place.wal_root or place.data_root)
    demand = Demand(connections=connections)
    return build, of(arm.engine).settle(arm, build, capacity, demand)


def provide(
    arm: Arm,
    *,
    place: Place,
    build: Build | None = None,
    connections: int = 0,
    capacity: Capacity | None = None,
) -> Server:
    """The server of `arm`, described but not yet made or started; as `settled` takes it."""
    if not can(arm, "made"):
        return of(arm.engine).unmade(arm)
    made = settled(arm, place=place, build=build, connections=connections, capacity=capacity)
    return of(arm.engine).server(arm, made[0], place, made[1])
