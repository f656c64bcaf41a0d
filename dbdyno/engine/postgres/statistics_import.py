"""Another server's statistics in a lab without data: its planner then plans as that server does.

All is written by a superuser, the same way from 13 to 19: rows of pg_statistic, bytes of extended
statistics, sizes in pg_class, and the ends of indexes as two rows a table. Files become as long as
the server's after that (long_files.py), while this one is down.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from dbdyno.engine.planner_lab import LabLacks
from dbdyno.engine.postgres import connection, shared_statistics
from dbdyno.engine.postgres.inward import version_num
from dbdyno.engine.postgres.long_files import LongFile
from dbdyno.engine.postgres.sections import quoted
from dbdyno.engine.postgres.statistics_export import (
    BUILTIN_FROM,
    LOCALES_FROM,
    RULES_FROM,
    locale_column,
)
from dbdyno.engine.restore import RESTORE_S_MAX
from dbdyno.model import Address
from dbdyno.model.error import PlanError, ServerError
from dbdyno.model.literal import literal
from dbdyno.model.planner_statistics import (
    ColumnEnds,
    DatabaseLocale,
    ExtendedStatistics,
    RelationSize,
    ServerStatistics,
    UnknownPart,
)

if TYPE_CHECKING:
    import psycopg

UNKNOWN_FROM, INHERITED_FROM = 14_00_00, 15_00_00
"""From which versions reltuples can be unknown, and extended statistics of children stand apart."""
TYPES = ("pg_ndistinct", "pg_dependencies", "pg_mcv_list")
"""The types of extended statistics, which no cast makes of bytes but one that we make for it."""
OWN_FROM = 16384
RELATIONS = f"""SELECT c.oid::regclass::text, coalesce(indrelid, c.oid)::regclass::text,
    pg_relation_filepath(c.oid)
FROM pg_class c LEFT JOIN pg_index ON indexrelid = c.oid
WHERE c.oid >= {OWN_FROM} AND relkind IN ('r', 'i', 'm', 'p', 'I', 'f')"""
OPENED = (
    "SET LOCAL session_replication_role = replica",
    f"""CREATE TEMP TABLE dyno_class ON COMMIT DROP AS SELECT c.oid AS number, relkind, relchecks,
        relispartition, reloptions, amname = 'gin' AS pending
    FROM pg_class c LEFT JOIN pg_am a ON a.oid = relam
    WHERE c.oid >= {OWN_FROM} AND relpersistence <> 't'
      AND (relkind = 'm' OR relchecks > 0 OR relispartition OR amname = 'gin')""",
    f"""CREATE TEMP TABLE dyno_column ON COMMIT DROP AS SELECT attrelid, attnum AS place
    FROM pg_attribute WHERE attrelid >= {OWN_FROM} AND attnotnull AND attnum > 0""",
    """UPDATE pg_class SET relchecks = 0, relispartition = false,
        relkind = CASE d.relkind WHEN 'm' THEN 'r' ELSE d.relkind END,
        reloptions = CASE WHEN pending THEN '{fastupdate=off}' ELSE d.reloptions END
    FROM dyno_class d WHERE oid = number""",
    """UPDATE pg_attribute a SET attnotnull = false FROM dyno_column d
    WHERE a.attrelid = d.attrelid AND attnum = place""",
)
CLOSED = (
    """UPDATE pg_class SET relchecks = d.relchecks, relispartition = d.relispartition,
        relkind = d.relkind, reloptions = d.reloptions FROM dyno_class d WHERE oid = number""",
    """UPDATE pg_attribute a SET attnotnull = true FROM dyno_column d
    WHERE a.attrelid = d.attrelid AND attnum = place""",
)
"""What keeps two rows of ends out of their tables, and its return."""
ORDER = """CREATE TEMP TABLE dyno_order AS SELECT was, becomes
FROM (SELECT x.oid AS was, row_number() OVER (PARTITION BY indrelid ORDER BY place) AS number,
    indrelid FROM unnest({names}) WITH ORDINALITY AS l (name, place)
    JOIN pg_class x ON x.oid = to_regclass(name) JOIN pg_index ON indexrelid = x.oid) AS wanted
JOIN (SELECT x.oid AS becomes, row_number() OVER (PARTITION BY indrelid ORDER BY x.oid) AS number,
    indrelid FROM unnest({names}) AS l (name)
    JOIN pg_class x ON x.oid = to_regclass(name) JOIN pg_index ON indexrelid = x.oid) AS free
  USING (indrelid, number) WHERE was <> becomes"""
NUMBERED = {
    "pg_class": ("oid",),
    "pg_index": ("indexrelid",),
    "pg_attribute": ("attrelid",),
    "pg_constraint": ("conindid",),
    "pg_inherits": ("inhrelid", "inhparent"),
    "pg_depend": ("objid", "refobjid"),
    "pg_statistic": ("starelid",),
}
"""The catalogs that have an index's number."""
AWAY = f"(was::int8 + {1 << 30})::oid"
"""A number that nothing in a lab has, for the time between."""
ALONE = b"DELETE FROM pg_user_mapping"
"""Without a user a foreign table's wrapper asks no other server for its estimates."""
TABLESPACES = """SELECT spcoptions, quote_ident(spcname) FROM pg_tablespace
WHERE spcoptions IS NOT NULL"""
KINDS = {"r": "TABLE", "i": "INDEX", "m": "MATERIALIZED VIEW"}
"""How ALTER calls what has a file."""


@dataclass(frozen=True, kw_only=True)
class ImportOutcome:
    """What came of an import."""

    files: tuple[LongFile, ...]  # that are to be as long as the server's
    lacks: LabLacks


def take(address: Address, statistics: ServerStatistics) -> ImportOutcome:
    """Gives the lab's database the statistics. Raises ServerError where it cannot connect."""
    import psycopg

    lacks: list[str] = []
    try:
        with connection.connected(address, RESTORE_S_MAX) as session:
            for statement in shared_statistics.PLAIN_NAMES:
                session.execute(statement.encode())
            names = {row[0] for row in ask(session, RELATIONS)}
            there = [each for each in statistics.relations if each.name in names]
            lacks += _take_extended(session, statistics.extended)
            lacks += _plant_ends(session, [end for end in statistics.ends if end.relation in names])
            session.execute(ALONE)
            _take_order(session, there)
            _take_sizes(session, there, statistics.version_num)
            _take_tablespaces(session, there)
            paths = {name: path for name, _, path in ask(session, RELATIONS)}
    except psycopg.Error as error:
        raise ServerError(f"statistics: {' '.join(str(error).split())}") from error
    columns = [column for column in statistics.columns if column.relation in names]
    refused = shared_statistics.take(address, columns)
    if refused:
        lacks.append(f"{few(refused)}: the statistics are not taken")
    files = tuple(
        LongFile(
            path=paths[each.name],
            blocks=each.blocks,
            height=each.height or 0,
            pending=each.pending,
        )
        for each in there
        if each.blocks and paths.get(each.name)
    )
    unknown = tuple(UnknownPart(relation=name, subject="refused") for name in refused)
    return ImportOutcome(files=files, lacks=LabLacks(tuple(lacks), unknown))


def ask(session: psycopg.Connection[Any], text: str) -> list[tuple[Any, ...]]:
    """The rows of a statement. Raises psycopg.Error."""
    cursor = session.execute(text.encode())
    return cursor.fetchall() if cursor.description else []


def take_locale(address: Address, arm: str, locale: DatabaseLocale | None) -> None:
    """Lets the lab's database order its texts as the server's does, for sessions from now on.

    Raises ServerError where the version has no such locale.
    """
    if locale is None:
        return
    number = version_num(address)
    lacking = locale.rules is not None and number < RULES_FROM
    if lacking or number < (BUILTIN_FROM if locale.provider == "b" else LOCALES_FROM):
        raise ServerError(
            f"arm {arm}: has no locale `{locale.locale}` of the provider of the database that was "
            "captured, so that it orders texts otherwise: name a later version"
        )
    values = {"datlocprovider": locale.provider, locale_column(number): locale.locale}
    if locale.rules is not None:
        values["daticurules"] = locale.rules
    listed = ", ".join(f"{name} = {literal(value)}" for name, value in values.items())
    statement = (
        f"UPDATE pg_database SET {listed}, datcollversion = NULL WHERE datname = current_database()"
    )
    connection.execute(address, [statement], RESTORE_S_MAX)


def differences(address: Address, statistics: ServerStatistics) -> LabLacks:
    """Which relations are in the statistics and not in the schema, or back.

    Raises PlanError where the schema is another's, ServerError where it cannot connect.
    """
    rows = connection.execute(address, [*shared_statistics.PLAIN_NAMES, RELATIONS], RESTORE_S_MAX)
    tables = {
        name: table
        for name, table, _ in rows
        if not name.startswith(("pg_", "information_schema."))
    }
    there, known = {*tables}, {each.name for each in statistics.relations}
    if known and not known & there:
        raise PlanError(
            "--restore: the dump has none of the tables of statistics.json: dump the schema of the "
            "database that was captured"
        )
    return LabLacks(
        sentences=tuple(
            f"{few(sorted(names))}: in {where}, not in {other}"
            for names, where, other in (
                (known - there, "the statistics", "the dump"),
                (there - known, "the dump", "the statistics"),
            )
            if names
        ),
        unknown=tuple(UnknownPart(relation=name, subject="new") for name in sorted(there - known)),
    )


def few(names: Sequence[str]) -> str:
    """The first of some names, and how many more there are."""
    return f"`{names[0]}`" + (f" and {len(names) - 1:,} more" if names[1:] else "")


# --- Extended statistics ------------------------------------------------------------------------


def _take_extended(
    session: psycopg.Connection[Any], rows: Sequence[ExtendedStatistics]
) -> Iterator[str]:
    """Puts the parts of extended statistics in their place, by casts that are gone afterwards."""
    import psycopg

    if not rows:
        return
    inherited = session.info.server_version >= INHERITED_FROM
    for type_name in TYPES:
        session.execute(f"CREATE CAST (bytea AS {type_name}) WITHOUT FUNCTION".encode())
    try:
        for row in rows:
            try:
                with session.transaction():
                    for statement in _extended(row, inherited=inherited):
                        session.execute(statement.encode())
            except psycopg.DatabaseError:
                yield f"extended statistics `{row.name}` are not taken"
    finally:
        for type_name in TYPES:
            session.execute(f"DROP CAST (bytea AS {type_name})".encode())


def _extended(row: ExtendedStatistics, *, inherited: bool) -> Iterator[str]:
    """The statements that put a row of extended statistics in its place."""
    number = (
        "(SELECT e.oid FROM pg_statistic_ext e JOIN pg_namespace n ON n.oid = stxnamespace "
        f"WHERE format('%I.%I', nspname, stxname) = {literal(row.name)})"
    )
    parts = (row.ndistinct, row.dependencies, row.common)
    values = ", ".join(
        "NULL" if part is None else f"decode('{part}', 'hex')::bytea::{type_name}"
        for type_name, part in zip(TYPES, parts, strict=True)
    )
    own = (f", {row.inherited}", ", stxdinherit") if inherited else ("", "")
    yield (
        f"DELETE FROM pg_statistic_ext_data WHERE stxoid = {number}"
        + (f" AND stxdinherit = {row.inherited}" if inherited else "")
    )
    yield (
        f"INSERT INTO pg_statistic_ext_data (stxoid{own[1]}, stxdndistinct, stxddependencies, "
        f"stxdmcv) SELECT {number}{own[0]}, {values}"
    )


# --- Ends and sizes -----------------------------------------------------------------------------


def _plant_ends(session: psycopg.Connection[Any], ends: Sequence[ColumnEnds]) -> Iterator[str]:
    """Two rows a table: the least values of columns that lead an index, and the greatest.

    All other columns are NULL. What the table refuses is left out.
    """
    import psycopg

    failed = []
    with session.transaction():
        for statement in OPENED:
            session.execute(statement.encode())
        for relation, of_relation in groupby(ends, lambda end: end.relation):
            try:
                with session.transaction():
                    for insert in _inserts(relation, list(of_relation)):
                        session.execute(insert.encode())
            except psycopg.DatabaseError:
                failed.append(relation)
        for statement in CLOSED:
            session.execute(statement.encode())
    if failed:
        yield f"{few(failed)}: the ends of indexes are those of histograms"


def _inserts(relation: str, ends: Sequence[ColumnEnds]) -> Iterator[str]:
    """The two rows; what is least and greatest at once stands in the first alone."""
    columns = ", ".join(quoted(end.column) for end in ends)
    least = [literal(end.least) for end in ends]
    greatest = ["NULL" if end.least == end.greatest else literal(end.greatest) for end in ends]
    for values in (least, greatest):
        yield (
            f"INSERT INTO {relation} ({columns}) OVERRIDING SYSTEM VALUE "
            f"VALUES ({', '.join(values)})"
        )


def _take_sizes(
    session: psycopg.Connection[Any], relations: Sequence[RelationSize], version_num: int
) -> None:
    """Puts the counts of pg_class in their place, and takes from the planner what it had not.

    `version_num`: of the server that has counted.
    """
    unknown = session.info.server_version >= UNKNOWN_FROM
    with session.transaction():
        for each in relations:
            rows = each.rows if unknown else max(each.rows, 0.0)
            if unknown and version_num < UNKNOWN_FROM and not each.pages and not rows:
                rows = -1.0  # as 13 says that nobody has counted; later ones, that it is empty
            number = f"{literal(each.name)}::regclass"
            session.execute(
                f"UPDATE pg_class SET relpages = {each.pages}, reltuples = {rows!r}, "
                f"relallvisible = {each.visible} WHERE oid = {number}".encode()
            )
            if not each.valid:
                session.execute(
                    f"UPDATE pg_index SET indisvalid = false WHERE indexrelid = {number}".encode()
                )


def _take_tablespaces(session: psycopg.Connection[Any], relations: Sequence[RelationSize]) -> None:
    """Puts what lies at costs of its own into tablespaces with these costs, within the lab.

    Raises ServerError of builds before August 2022 (13.8, 14.5).
    """
    import psycopg

    apart = [each for each in relations if each.costs]
    there = {tuple(costs): name for costs, name in ask(session, TABLESPACES)}
    names = {each.costs: f"dyno_{number}" for number, each in enumerate(apart)} | there
    try:
        for costs, name in names.items() - there.items():
            session.execute(b"SET allow_in_place_tablespaces = on")
            session.execute(
                f"CREATE TABLESPACE {name} LOCATION '' WITH ({', '.join(costs)})".encode()
            )
    except psycopg.errors.UndefinedObject:
        raise ServerError(
            "statistics: tablespaces of the server have costs of their own, and this build has "
            "none within its folder: name a newer minor version"
        ) from None
    for each in apart:
        session.execute(
            f"ALTER {KINDS[each.relkind]} {each.name} SET TABLESPACE {names[each.costs]}".encode()
        )


def _take_order(session: psycopg.Connection[Any], relations: Sequence[RelationSize]) -> None:
    """Numbers each table's indexes in the order of the server's: of equal ones it takes the first.

    A dump makes them in the order of their names.
    """
    names = ", ".join(literal(each.name) for each in relations if each.relkind in ("i", "I"))
    with session.transaction():
        session.execute(ORDER.format(names=f"ARRAY[{names}]::text[]").encode())
        for old, new in (("was", AWAY), (AWAY, "becomes")):
            for catalog, columns in NUMBERED.items():
                for column in columns:
                    session.execute(
                        f"UPDATE {catalog} SET {column} = {new} FROM dyno_order "
                        f"WHERE {column} = {old}".encode()
                    )
        session.execute(b"DROP TABLE dyno_order")
