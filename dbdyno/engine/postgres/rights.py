"""The rights that a step needs on a PostgreSQL, and whether the user has them.

The check leaves nothing behind. It makes an extension and takes it back at once, because only the
server knows which ones a managed service lets its users make.
"""

import re

from dbdyno.engine.interface import Executor
from dbdyno.engine.postgres.cache_warming import EXTENSION
from dbdyno.engine.rights import Need, Shapes, UnmetNeed
from dbdyno.model.error import ServerError

NEEDED: Shapes = (
    (re.compile(r"\s*CHECKPOINT\b", re.IGNORECASE), "checkpoint"),
    (re.compile(r"\s*CREATE\s+(UNLOGGED\s+)?TABLE\b", re.IGNORECASE), "tables"),
)
TABLES = """
    SELECT quote_ident(current_user), pg_is_in_recovery(), quote_ident(current_schema()),
           has_schema_privilege(current_schema(), 'CREATE'),
           (SELECT reset_val FROM pg_settings WHERE name = 'default_transaction_read_only')
"""
"""Sessions of the load begin as the role and the database say; those of dyno's own do not."""
CHECKPOINT = """
    SELECT quote_ident(current_user), rolsuper,
           (SELECT pg_has_role(oid, 'USAGE') FROM pg_roles WHERE rolname = 'pg_checkpoint')
    FROM pg_roles WHERE rolname = current_user
"""
"""Whether the user is a superuser, and has the role; null before 15, where there is none."""
UNDONE = "well and taken back"
BUFFERS = "pg_buffercache"
WARM = f"""
    DO $dyno$ BEGIN
      CREATE EXTENSION IF NOT EXISTS {EXTENSION};
      CREATE EXTENSION IF NOT EXISTS {BUFFERS};
      IF NOT has_function_privilege('{BUFFERS}_pages()', 'EXECUTE') THEN
        RAISE EXCEPTION 'permission denied for {BUFFERS}';
      END IF;
      RAISE EXCEPTION '{UNDONE}';
    END $dyno$
"""
"""Makes both extensions and takes them back; the error says how far it came."""


def lack(need: Need, execute: Executor) -> UnmetNeed | None:
    """The right that the user lacks for a need; None: the user has it. Raises ServerError."""
    match need:
        case "tables":
            return _tables(execute)
        case "checkpoint":
            return _checkpoint(execute)
        case "warm":
            return _warm(execute)
    return None


def _tables(execute: Executor) -> UnmetNeed | None:
    ((user, standby, schema, may, read_only),) = execute(TABLES)
    if standby:
        return UnmetNeed(
            what="can write nothing: the server is a standby",
            mend="name its primary in the arm's `dsn`",
        )
    if read_only == "on":
        return UnmetNeed(
            what="can write nothing: its `default_transaction_read_only` is on",
            mend=f"run `ALTER ROLE {user} SET default_transaction_read_only = off`",
        )
    if schema is None:
        return UnmetNeed(
            what="has no schema to make tables in: none of its `search_path` is there",
            mend=f"run `CREATE SCHEMA AUTHORIZATION {user}` as whoever owns the database",
        )
    if may:
        return None
    return UnmetNeed(
        what=f"may not make tables in schema `{schema}`",
        mend=f"run `GRANT CREATE ON SCHEMA {schema} TO {user}` as whoever owns it",
    )


def _checkpoint(execute: Executor) -> UnmetNeed | None:
    ((user, superuser, member),) = execute(CHECKPOINT)
    if superuser or member:
        return None
    mend = (
        "name a superuser in the arm's `dsn`"
        if member is None
        else f"run `GRANT pg_checkpoint TO {user}` as an administrator"
    )
    return UnmetNeed(what="may not run `CHECKPOINT`", mend=mend)


def _warm(execute: Executor) -> UnmetNeed | None:
    try:
        execute(WARM)
    except ServerError as error:
        said = str(error).rpartition("`: ")[2].partition(" CONTEXT: ")[0]
        if said == UNDONE:
            return None
        return UnmetNeed(
            what=f"may not read tables into the server's cache ({said})",
            mend=f"run `CREATE EXTENSION {EXTENSION}` and `CREATE EXTENSION {BUFFERS}` in the "
            "database and `GRANT pg_monitor` to the user as an administrator",
        )
    raise AssertionError("the statement always fails")
