"""A restored database that reaches nobody: what could is dropped or disabled, before it is used.

Foreign servers keep their tables, which nobody can read then; subscriptions go with their slots'
names, so that the publisher is not asked; event triggers and jobs of pg_cron do not fire.
"""

from collections.abc import Sequence

from dbdyno.engine.postgres import connection
from dbdyno.engine.restore import RESTORE_S_MAX
from dbdyno.model import Address
from dbdyno.model.error import ServerError

SUBSCRIPTIONS_FROM = 10_00_00
MAPPINGS = """
    SELECT format('DROP USER MAPPING FOR %s SERVER %I',
                  CASE umuser WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(umuser)) END,
                  srvname)
    FROM pg_user_mappings
"""
SUBSCRIPTIONS = """
    SELECT format(command, subname)
    FROM pg_subscription, unnest(ARRAY['ALTER SUBSCRIPTION %I DISABLE',
      'ALTER SUBSCRIPTION %I SET (slot_name = NONE)', 'DROP SUBSCRIPTION %I'])
      WITH ORDINALITY AS each (command, place)
    WHERE subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())
    ORDER BY subname, place
"""
EVENT_TRIGGERS = """
    SELECT format('ALTER EVENT TRIGGER %I DISABLE', evtname)
    FROM pg_event_trigger WHERE evtenabled <> 'D'
"""
JOBS = "SELECT to_regclass('cron.job') IS NOT NULL"
NO_JOBS = "UPDATE cron.job SET active = false"
VIEWS = """
    SELECT format('%I.%I', nspname, relname),
           pg_get_viewdef(pg_class.oid) ~* '\\mdblink' OR EXISTS (
             SELECT FROM pg_depend d JOIN pg_rewrite w ON w.oid = d.objid
             JOIN pg_class f ON f.oid = d.refobjid AND f.relkind = 'f'
             WHERE d.classid = 'pg_rewrite'::regclass AND d.refclassid = 'pg_class'::regclass
               AND w.ev_class = pg_class.oid)
    FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE relkind = 'm' AND NOT relispopulated
    ORDER BY pg_class.oid
"""
STATISTICS = "VACUUM (FREEZE, ANALYZE)"
CHECKPOINT = "CHECKPOINT"


def finish(address: Address) -> list[str]:
    """Shuts a restored database off, refreshes its views and gathers statistics.

    Returns a sentence for each thing that it lacks. Raises ServerError.
    """
    close(address)
    lacks = [
        f"materialized view {name} is empty: what it reads is elsewhere, or fails"
        for name in refreshed(address)
    ]
    connection.execute(address, [STATISTICS, CHECKPOINT], RESTORE_S_MAX)
    return lacks


def close(address: Address) -> None:
    """Drops or disables what could reach others, or act by itself. Raises ServerError."""
    statements = [*commands(address, EVENT_TRIGGERS), *commands(address, MAPPINGS)]
    if version_num(address) >= SUBSCRIPTIONS_FROM:
        statements += commands(address, SUBSCRIPTIONS)
    ((jobs,),) = connection.execute(address, [JOBS], RESTORE_S_MAX)
    if jobs:
        statements.append(NO_JOBS)
    if statements:
        connection.execute(address, statements, RESTORE_S_MAX)


def refreshed(address: Address) -> Sequence[str]:
    """Refreshes the views that were left empty, each after those that it reads.

    Returns those that stay so: they read foreign tables, or fail.
    """
    left: list[str] | None = None
    while True:
        views = connection.execute(address, [VIEWS], RESTORE_S_MAX)
        empty = [str(name) for name, _ in views]
        if not empty or empty == left:
            return empty
        left = empty
        for name, outward in views:
            if outward:
                continue
            try:
                command = f"REFRESH MATERIALIZED VIEW {name}"
                connection.execute(address, [command], RESTORE_S_MAX)
            except ServerError:
                continue  # what it reads may be refreshed after it; else it stays empty


def commands(address: Address, question: str) -> list[str]:
    """The statements that a question answers with."""
    return [str(row[0]) for row in connection.execute(address, [question], RESTORE_S_MAX)]


def version_num(address: Address) -> int:
    """The server's version, as 180000."""
    ((text,),) = connection.execute(address, ["SHOW server_version_num"], RESTORE_S_MAX)
    return int(text)
