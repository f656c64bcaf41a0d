"""The rights that a step needs on a MySQL or MariaDB, and whether the user was granted them."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from dbdyno.engine.interface import Executor
from dbdyno.engine.rights import Need, Shapes, UnmetNeed

NEEDED: Shapes = (
    (re.compile(r"\s*SET\s+GLOBAL\b", re.IGNORECASE), "settings"),
    # A workload whose user may not administer keeps the text behind a condition that is never true.
    (re.compile(r"(?s)(?!.*\bAND 0,).*\bRESET (MASTER|BINARY LOGS)\b", re.IGNORECASE), "logs"),
    (re.compile(r"\s*CREATE\s+TABLE\b", re.IGNORECASE), "tables"),
)
OF_TABLES = ("SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "INDEX", "ALTER")
OF_SETTINGS = ("SYSTEM_VARIABLES_ADMIN", "SUPER")
ALL = "ALL PRIVILEGES"
GRANT = re.compile(r"GRANT (?P<names>.+?) ON (?P<object>\S+\.\S+) TO ", re.IGNORECASE)
COLUMNS = re.compile(r"\([^)]*\)")


def lack(need: Need, execute: Executor) -> UnmetNeed | None:
    """The right that the user lacks for a need; None: the user has it. Raises ServerError."""
    match need:
        case "tables":
            return _tables(execute)
        case "settings" | "checkpoint":
            return _settings(execute)
        case "logs":
            return _logs(execute)
        case "load":
            return _load(execute)
    return None


def _tables(execute: Executor) -> UnmetNeed | None:
    ((read_only,),) = execute("SELECT @@GLOBAL.read_only")
    user, database, held = _held(execute)
    missing = [name for name in OF_TABLES if not {name, ALL} & held.here]
    if missing:
        names = ", ".join(missing)
        return UnmetNeed(
            what=f"lacks {names} on database `{database}`",
            mend=f"run `GRANT {names} ON {database}.* TO {user}` as an administrator",
        )
    if _is_on(read_only):
        return UnmetNeed(
            what="can write nothing: the server's `read_only` is on",
            mend="name the server that it follows in the arm's `dsn`",
        )
    return None


def _settings(execute: Executor) -> UnmetNeed | None:
    user, _, held = _held(execute)
    if held.everywhere & {*OF_SETTINGS, ALL}:
        return None
    known = {str(row[0]).upper().replace(" ", "_") for row in execute("SHOW PRIVILEGES")}
    right = next((name for name in OF_SETTINGS if name in known), OF_SETTINGS[-1])
    return UnmetNeed(
        what="may not run `SET GLOBAL`",
        mend=f"run `GRANT {right} ON *.* TO {user}` as an administrator",
    )


def _logs(execute: Executor) -> UnmetNeed | None:
    ((logs,),) = execute("SELECT @@log_bin")
    user, _, held = _held(execute)
    if not _is_on(logs) or held.everywhere & {"RELOAD", ALL}:
        return None
    return UnmetNeed(
        what="may not purge binary logs, which the server writes",
        mend=f"run `GRANT RELOAD ON *.* TO {user}` as an administrator",
    )


def _load(execute: Executor) -> UnmetNeed | None:
    ((on,),) = execute("SELECT @@GLOBAL.local_infile")
    if _is_on(on):
        return None
    return UnmetNeed(
        what="cannot load in bulk: the server's `local_infile` is off",
        mend="set `local_infile = ON` as an administrator",
    )


def _is_on(value: object) -> bool:
    return str(value).upper() in ("1", "ON")


# --- What a user was granted -------------------------------------------------------------------


class UserPrivileges(NamedTuple):
    """The privileges of a user by their names in GRANT; `ALL PRIVILEGES` stands for all of them."""

    everywhere: frozenset[str]
    here: frozenset[str]  # on the tables of one database; those held everywhere are among them


def _held(execute: Executor) -> tuple[str, str, UserPrivileges]:
    """The user as GRANT names it, the connection's database, the privileges there."""
    ((user, database),) = execute("SELECT CURRENT_USER(), DATABASE()")
    name, _, host = str(user).rpartition("@")
    lines = [str(row[0]) for row in execute("SHOW GRANTS")]
    return f"'{name}'@'{host}'", str(database), held(lines, str(database))


def held(lines: Iterable[str], database: str) -> UserPrivileges:
    """The privileges by the lines of SHOW GRANTS."""
    everywhere, here = set[str](), set[str]()
    for line in lines:
        match = GRANT.match(line)
        if match is None:
            continue  # of a role to the user, or a proxy
        names = {one.strip().upper() for one in COLUMNS.sub("", match["names"]).split(",")}
        where, _, table = match["object"].rpartition(".")
        if table != "*":
            continue
        if where == "*":
            everywhere |= names
        elif covers(where.strip("`"), database):
            here |= names
    return UserPrivileges(frozenset(everywhere), frozenset(everywhere | here))


def covers(pattern: str, database: str) -> bool:
    """Whether a grant's database, in which `_` and `%` stand for any, is this one."""
    wild = {"_": ".", "%": ".*"}
    pieces = re.split(r"(\\.|[_%])", pattern)
    text = "".join(wild.get(piece, re.escape(piece.removeprefix("\\"))) for piece in pieces)
    return re.fullmatch(text, database, re.DOTALL) is not None
