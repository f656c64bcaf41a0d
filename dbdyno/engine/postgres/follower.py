"""A standby elsewhere that follows the server of a `dsn`: whether it does, how far it is behind.

An ordinary user may ask all of this. Where the primary's log ended when it last sent, only a member
of pg_read_all_stats sees; for others the end of what the standby has received stands for it.
"""

from dbdyno.engine.interface import Executor
from dbdyno.engine.postgres.replay_lag import MODERN, STREAMED, ReplayLag
from dbdyno.model import Address
from dbdyno.model.error import ServerError
from dbdyno.model.standby_lag import StandbyLag

STANDBY = "SELECT pg_is_in_recovery()"
STATE = """
    SELECT pg_is_in_recovery(), reset_val FROM pg_settings
    WHERE name = 'default_transaction_read_only'
"""
CLUSTER = "SELECT system_identifier FROM pg_control_system()"
END = "SELECT {end}()::text"
SENT = f"coalesce(%s::pg_lsn, {STREAMED}, pg_last_{{wal}}_receive_{{lsn}}())"
"""A given end of the primary's log; without one, what the standby has been sent."""


def unfit(primary: Executor, endpoint: Executor) -> str | None:
    """Why the server at an endpoint does not follow the `dsn`'s; None where it does.

    Raises ServerError where one does not answer.
    """
    ((standby,),) = endpoint(STANDBY)
    if not standby:
        return "the server is no standby: name one that follows the server of the `dsn`"
    try:
        same = primary(CLUSTER) == endpoint(CLUSTER)
    except ServerError:
        return None  # a service may keep it to itself; what it does not tell is no mistake
    if not same:
        return (
            "the server is a standby of another cluster: name one that follows the server of the "
            "`dsn`"
        )
    return None


def unsuited(session: str, execute: Executor) -> str | None:
    """Why a server is not what libpq's `target_session_attrs` asks for; None where it is.

    Raises ServerError.
    """
    if session == "any":
        return None
    ((standby, read_only),) = execute(STATE)
    writes = not standby and read_only == "off"
    states = {"read-write": writes, "read-only": not writes, "primary": not standby}
    if states.get(session, standby):
        return None
    state = "a standby" if standby else "a primary that writes" if writes else "read-only"
    return f"the server is {state}, not `target_session_attrs={session}`"


def log_end(execute: Executor, version_num: int) -> str:
    """Where a primary's write-ahead log ends now. Raises ServerError."""
    modern = version_num >= MODERN
    ask = "pg_current_wal_lsn" if modern else "pg_current_xlog_location"
    ((end,),) = execute(END.format(end=ask))
    return str(end)


class PostgresFollower:
    """A standby that tells how far behind it is. Methods raise ServerError."""

    def __init__(self, address: Address, name: str) -> None:
        """Connects; `name`: the endpoint's."""
        self._name = name
        try:
            self._lag = ReplayLag(address, SENT)
        except ServerError as error:
            raise ServerError(f"`connect`: {error}") from error

    def lag(self, end: str | None) -> StandbyLag:
        """How far it is behind `end`, or behind what it was sent (engine.interface.Server.lag)."""
        try:
            return self._lag.read(self._name, end)
        except ServerError as error:
            raise ServerError(f"lag: {error}") from error

    def close(self) -> None:
        """Ends the connection, which may be gone."""
        self._lag.close()
