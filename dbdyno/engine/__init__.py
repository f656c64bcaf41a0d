"""Makes a running server of an arm: `provide` picks by engine."""

from __future__ import annotations

from dbdyno.builds import Build
from dbdyno.engine.interface import Server
from dbdyno.host.place import Place
from dbdyno.model import FAMILIES, PRODUCTS, Arm
from dbdyno.model.error import ServerError
from dbdyno.model.size import Capacity

__all__ = ["Build", "Place", "Server", "provide"]


def provide(
    arm: Arm,
    *,
    place: Place,
    build: Build | None = None,
    connections: int = 0,
    capacity: Capacity | None = None,
) -> Server:
    """The server of `arm`, described but not yet made or started.

    `build`: from `locate.locate`, which is called where it is None (and may go online).
    `connections`: of the largest step, all roles. `capacity`: what a preset is sized to; None:
    this host's. Raises PlanError, HostError or ServerError for what cannot be.
    """
    if arm.engine == "fake":
        from dbdyno.engine.fake import FakeServer

        return FakeServer(arm)
    if arm.dsn is not None:
        from dbdyno.engine.external import ExternalServer

        return ExternalServer(arm)
    if arm.engine not in PRODUCTS:
        known = ", ".join(f"`{engine}`" for engine in PRODUCTS)
        raise ServerError(
            f"arms.{arm.name}.engine: `{arm.engine}` is not known: write one of {known}"
        )
    from dbdyno.engine import installed, settings
    from dbdyno.host import capacity as host

    build = build or installed.locate(arm, place.cache_root, place.account)
    capacity = capacity or host.here(place.wal_root or place.data_root)
    if FAMILIES[arm.engine] == "mysql":
        from dbdyno.engine.mysql import settings as mysql_settings
        from dbdyno.engine.mysql.server import MysqlServer

        return MysqlServer(
            arm, build, place, mysql_settings.settle(arm, build, capacity, connections)
        )
    from dbdyno.engine.postgres.server import PostgresServer

    settled = settings.settle(arm, build.version_num, capacity, connections)
    return PostgresServer(arm, build, place, settled)
