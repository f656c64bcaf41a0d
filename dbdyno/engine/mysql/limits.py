"""The limits of a MySQL or MariaDB: connections, also of its users, and tables without keys."""

from collections.abc import Callable
from dataclasses import dataclass

from dbdyno.engine.limits import Room, Rows
from dbdyno.engine.mysql import connection
from dbdyno.engine.mysql.options import ON
from dbdyno.model import Address

LIMIT_S = 30.0
KEYS = ("sql_require_primary_key", "innodb_force_primary_key")
"""MySQL's from 8.0.13 on, and MariaDB's."""
INVISIBLE = "sql_generate_invisible_primary_key"
"""MySQL's from 8.0.30 on: a key that nobody names, in place of a refusal."""


@dataclass(frozen=True)
class MysqlLimits:
    """The limits of servers of this family (engine.limits)."""

    def room(self, address: Address) -> Room | None:
        """By the server and by the user: the less of both."""

        def ask(statement: str) -> list[tuple[object, ...]]:
            return connection.execute(address, [statement], LIMIT_S)

        ((most, of_user),) = ask("SELECT @@GLOBAL.max_connections, @@max_user_connections")
        ((_, taken),) = ask("SHOW GLOBAL STATUS LIKE 'Threads_connected'")
        left = int(str(most)) - int(str(taken)) + 1  # the session that asks
        if 0 < int(str(of_user)) < left:
            why = f"`max_user_connections` is {of_user}"
            return Room(connections=int(str(of_user)), why=why, mend="raise it for the user")
        why = f"`max_connections` is {most}, of which {int(str(taken)) - 1} are taken"
        return Room(connections=left, why=why, mend="raise it")

    def keyless(self, setting: Callable[[str], str | None]) -> str | None:
        """The setting that is on, unless the server makes a key itself."""
        if (setting(INVISIBLE) or "").lower() in ON:
            return None
        return next((name for name in KEYS if (setting(name) or "").lower() in ON), None)

    def value(self, name: str, execute: Rows) -> str | None:
        """As new sessions have it."""
        rows = execute(f"SHOW GLOBAL VARIABLES LIKE '{name}'")
        return str(rows[0][1]) if rows else None


LIMITS = MysqlLimits()
