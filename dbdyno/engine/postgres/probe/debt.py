"""Reads what the server still has to do: WAL to be checkpointed, tables to be vacuumed, and what
keeps it from that: old transactions, replication slots. Also what it is doing: autovacuum's runs.
"""

from collections.abc import Mapping, Sequence

from dbdyno.engine.postgres.activity import NOT_SHOWN
from dbdyno.engine.postgres.probe.reader import PostgresProbe
from dbdyno.engine.snapshot import UnavailableError
from dbdyno.model import Json
from dbdyno.model.snapshot import Autovacuum

Options = Mapping[str, str]
"""Settings by name: all of autovacuum's, or a table's own."""


def last_checkpoint(reader: PostgresProbe) -> Json:
    """The last complete checkpoint: `redo_bytes`, its redo position; `seconds` since it began."""
    redo = "redo_lsn" if reader.version_num >= 100000 else "redo_location"
    return reader.row(
        f"SELECT {redo} - '0/0'::pg_lsn AS redo_bytes, "
        "extract(epoch FROM clock_timestamp() - checkpoint_time)::float8 AS seconds "
        "FROM pg_control_checkpoint()"
    )


# --- Vacuum ----------------------------------------------------------------------------------


def vacuum(reader: PostgresProbe, names: Sequence[str]) -> Json:
    """For each table how many dead and inserted rows it may have before autovacuum comes to it."""
    rows = reader.rows("SELECT name, setting FROM pg_settings WHERE name LIKE 'autovacuum%'")
    settings = {row["name"]: row["setting"] for row in rows}
    tables = reader.rows(
        """
        SELECT wanted.name AS wanted, class.reltuples AS rows, class.relpages AS pages,
               (to_jsonb(class) ->> 'relallfrozen')::float8 AS frozen_pages,
               ARRAY(SELECT option_name || '=' || option_value
                     FROM pg_options_to_table(class.reloptions)) AS options
        FROM unnest(%s::text[]) AS wanted (name)
        JOIN pg_class AS class ON class.oid = to_regclass(wanted.name)
        """,
        [list(names)],
    )
    return {row["wanted"]: thresholds(settings, row) for row in tables}


def thresholds(settings: Options, table: Json) -> Json:
    """As autovacuum.c's relation_needs_vacanalyze takes them; None: this brings no vacuum.

    `table`: its `rows` (below 0: never counted), `pages`, `frozen_pages` (from 18 on) as the
    planner has them, and its own `options` as "name=value".
    """
    options = dict(option.split("=", 1) for option in table["options"])
    rows = max(table["rows"], 0)
    dead = allowed(settings, options, "autovacuum_vacuum", rows)
    most = chosen(settings, options, "autovacuum_vacuum_max_threshold")
    if dead is not None and most is not None and most >= 0:
        dead = min(dead, most)
    growing = rows
    if table["frozen_pages"] and table["pages"]:
        growing = rows * (1 - min(table["frozen_pages"] / table["pages"], 1))
    return {
        "dead_rows_max": dead,
        "inserted_rows_max": allowed(settings, options, "autovacuum_vacuum_insert", growing),
    }


def allowed(settings: Options, options: Options, kind: str, rows: float) -> float | None:
    """A threshold with its share of the rows; None where the version has none or it is off."""
    base = chosen(settings, options, f"{kind}_threshold")
    share = chosen(settings, options, f"{kind}_scale_factor")
    return None if base is None or share is None or base < 0 else base + share * rows


def chosen(settings: Options, options: Options, name: str) -> float | None:
    """A table's own value, else the server's; None where the version has no such setting."""
    value = options.get(name, settings.get(name))
    return None if value is None else float(value)


def running(reader: PostgresProbe) -> list[Autovacuum]:
    """Autovacuum's runs of this moment: their kind, table and since when they run.

    Raises UnavailableError where one of the database's sessions may be such a run and is not shown.
    """
    if hidden(reader, "datname = current_database()"):
        raise UnavailableError(KEPT)
    rows = reader.rows(
        """
        SELECT (extract(epoch FROM query_start) * 1000)::bigint AS since_unix_ms, query
        FROM pg_stat_activity
        WHERE query LIKE 'autovacuum: %' AND datname = current_database()
        ORDER BY query_start
        """
    )
    return [run(row["query"], row["since_unix_ms"]) for row in rows]


def run(query: str, since_unix_ms: int) -> Autovacuum:
    """A run from what pg_stat_activity shows of it: `autovacuum: VACUUM ANALYZE public.pi1`."""
    words = query.removeprefix("autovacuum: ").partition(" (")[0].split()
    name = "automatic vacuum" if words[0] == "VACUUM" else "automatic analyze"
    return Autovacuum(name=name, table=words[-1], since_unix_ms=since_unix_ms)


# --- What keeps vacuum from its work ---------------------------------------------------------


def horizon(reader: PostgresProbe) -> Json:
    """How far back the oldest snapshot, transaction and slot reach; None: there is none.

    Rows that died since then stay. Ages in transactions; of other sessions than the probe's.
    """
    found = reader.row(
        """
        SELECT max(age(backend_xmin)) AS xmin_age, max(age(backend_xid)) AS transaction_age,
               extract(epoch FROM max(clock_timestamp() - xact_start))::float8 AS transaction_s,
               (SELECT count(*) FROM pg_prepared_xacts) AS prepared_transactions
        FROM pg_stat_activity WHERE pid <> pg_backend_pid()
        """
    )
    slots = reader.rows(
        """
        SELECT slot_name AS name, slot_type AS type, active, age(xmin) AS xmin_age,
               age(catalog_xmin) AS catalog_xmin_age,
               restart_lsn - '0/0'::pg_lsn AS position_bytes
        FROM pg_replication_slots ORDER BY slot_name
        """
    )
    if hidden(reader, "true"):
        reader.unavailable["horizon.transaction_s"] = KEPT
        found["transaction_s"] = None
    return found | {"slots": slots}


KEPT = "the server does not show other users' sessions to this user: grant it pg_monitor"


def hidden(reader: PostgresProbe, which: str) -> bool:
    """Whether the server keeps what sessions do from the user; `which` of them, in SQL."""
    asked = f"SELECT 1 AS one FROM pg_stat_activity WHERE {which} AND query = %s LIMIT 1"
    return bool(reader.rows(asked, [NOT_SHOWN]))
