"""The own state of a MySQL or MariaDB during a window."""

from dbdyno.engine.mysql.connection import connect
from dbdyno.engine.mysql.flavour import Flavour
from dbdyno.engine.status import APPLICATION, STATEMENT_S_MAX, Status
from dbdyno.engine.wait_sampler import said
from dbdyno.model import Address
from dbdyno.model.error import ServerError

LOGGED = ("InnoDB", "ROCKSDB")
"""Storage engines that tell their state by SHOW ENGINE."""
UNKNOWN = (
    "performance_schema is off, by which dyno tells its own session's cost from the server's: set "
    "`performance_schema = ON`"
)
THERE = "SELECT ENGINE FROM information_schema.ENGINES WHERE SUPPORT IN ('YES', 'DEFAULT')"


def connected(address: Address, flavour: Flavour) -> Status:
    """The questions, connected: the process list, and the state of each storage engine there.

    Raises ServerError.
    """
    import pymysql

    limits = {"read_timeout": STATEMENT_S_MAX, "write_timeout": STATEMENT_S_MAX}
    try:
        connection = connect(address, APPLICATION, **limits)
        with connection.cursor() as cursor:
            cursor.execute(flavour.own_thread)
            threads = cursor.fetchall()
            cursor.execute(THERE)
            there = {name.upper() for (name,) in cursor.fetchall()}
    except pymysql.MySQLError as error:
        raise ServerError(f"database `{address.database}`: {said(error)}") from error
    if not threads:
        connection.close()
        raise ServerError(UNKNOWN)
    ((pid,),) = threads
    questions = {"processlist": "SHOW FULL PROCESSLIST"}
    questions |= {
        name.lower(): f"SHOW ENGINE {name} STATUS" for name in LOGGED if name.upper() in there
    }
    return Status(connection, questions, int(pid), (pymysql.MySQLError, OSError))
