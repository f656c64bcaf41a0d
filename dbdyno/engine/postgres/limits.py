"""The limits of a PostgreSQL: connections, also of its users and databases."""

from collections.abc import Callable
from dataclasses import dataclass

from dbdyno.engine.limits import Room, Rows
from dbdyno.engine.postgres import connection
from dbdyno.model import Address

LIMIT_S = 30.0
ROOM = """
    SELECT current_setting('max_connections')::int,
           CASE WHEN rolsuper THEN 0
                ELSE current_setting('superuser_reserved_connections')::int
                     + coalesce(current_setting('reserved_connections', true), '0')::int END,
           (SELECT count(*) FROM pg_stat_activity
            WHERE datname IS NOT NULL AND pid <> pg_backend_pid()),
           CASE WHEN rolsuper THEN -1 ELSE rolconnlimit END,
           (SELECT CASE WHEN rolsuper THEN -1 ELSE datconnlimit END
            FROM pg_database WHERE datname = current_database()),
           current_user, current_database()
    FROM pg_roles WHERE rolname = current_user
"""


@dataclass(frozen=True)
class PostgresLimits:
    """The limits of servers of this family (engine.limits)."""

    def room(self, address: Address) -> Room | None:
        """By the server, the user and the database: the least of these."""
        from dbdyno.engine.postgres import pinned

        with connection.connected(address, LIMIT_S) as session:
            if pinned.is_pooled(session):
                return None
            rows = session.execute(ROOM).fetchall()
        most, reserved, taken, of_user, of_database, user, database = rows[0]
        rooms = [
            Room(
                connections=most - reserved - taken,
                why=f"`max_connections` is {most}, of which {reserved} are reserved and {taken} "
                "taken",
                mend="raise it",
            )
        ]
        for limit, owner in ((of_user, f"USER {user}"), (of_database, f"DATABASE {database}")):
            if limit >= 0:
                why = f"`{owner}` has CONNECTION LIMIT {limit}"
                mend = f"run `ALTER {owner} CONNECTION LIMIT -1`"
                rooms.append(Room(connections=limit, why=why, mend=mend))
        return min(rooms, key=lambda room: room.connections)

    def keyless(self, setting: Callable[[str], str | None]) -> str | None:
        """None: a table needs no key."""
        return None

    def value(self, name: str, execute: Rows) -> str | None:
        """As the server has it for its user."""
        ((value,),) = execute(f"SELECT current_setting('{name}', true)")
        return None if value is None else str(value)


LIMITS = PostgresLimits()
