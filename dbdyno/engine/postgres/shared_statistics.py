"""One sample of the planner's statistics for all arms that have the same dump.

Two ANALYZEs of a large table draw other rows, so that plans may differ for no other reason. The
first arm's statistics are kept in a file, and put in the place of the others' own: rows of
pg_statistic, whose layout is the same in all versions but for collations (from 12 on). What they
name stands in words, because numbers differ. Extended statistics and sizes stay each arm's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from dbdyno.engine.postgres import connection
from dbdyno.engine.postgres.inward import version_num
from dbdyno.engine.restore import RESTORE_S_MAX, keep
from dbdyno.model import Address
from dbdyno.model.error import ServerError
from dbdyno.model.literal import literal
from dbdyno.model.planner_statistics import ColumnStatistics, StatisticsSlot

if TYPE_CHECKING:
    import psycopg

SLOTS = range(1, 6)
COLLATIONS_FROM = 12_00_00
PLAIN_NAMES = ("SET search_path = ''", "SET extra_float_digits = 3")
"""So that names are whole, and numbers exact."""
FIXED, PARTS = 6, 6
"""The columns of a row before its slots, and those of a slot."""
ELEMENT_BYTE = 8
"""Where an array in binary form says of what type its elements are, in four bytes."""


def share(address: Address, file: Path) -> int:
    """Takes the statistics that the file has, or makes it of the server's own.

    Returns of how many relations the statistics could not be taken. Raises ServerError.
    """
    if file.exists():
        rows = msgspec.json.decode(file.read_bytes(), type=list[ColumnStatistics])
        return len(take(address, rows))
    with connection.connected(address, RESTORE_S_MAX) as session:
        for statement in PLAIN_NAMES:
            session.execute(statement.encode())
        keep(file, msgspec.json.encode(exported(session)))
    return 0


# --- Out of a server -------------------------------------------------------------------------


def exported(session: psycopg.Connection[Any]) -> list[ColumnStatistics]:
    """The statistics of all tables that are no catalogs, in a session of PLAIN_NAMES.

    Raises psycopg.Error.
    """
    from psycopg import Cursor
    from psycopg.rows import tuple_row

    collations = session.info.server_version >= COLLATIONS_FROM
    slots = ", ".join(_slot(number, collations=collations) for number in SLOTS)
    question = f"""
        SELECT pg_class.oid::regclass::text, attname::text, stainherit, stanullfrac::text,
               stawidth, stadistinct::text, {slots}
        FROM pg_statistic JOIN pg_class ON pg_class.oid = starelid
        JOIN pg_attribute ON attrelid = starelid AND attnum = staattnum
        JOIN pg_namespace ON pg_namespace.oid = relnamespace
        WHERE nspname !~ '^(pg_|information_schema$)'
        ORDER BY pg_class.oid, staattnum, stainherit
    """
    rows = Cursor(session, row_factory=tuple_row).execute(question.encode()).fetchall()
    return [
        msgspec.convert(
            (*row[:FIXED], [row[first : first + PARTS] for first in range(FIXED, len(row), PARTS)]),
            ColumnStatistics,
        )
        for row in rows
    ]


def _slot(number: int, *, collations: bool) -> str:
    """The columns of a slot."""
    values = f"stavalues{number}"
    byte = f"get_byte(array_send({values}), {ELEMENT_BYTE} + {{}})"
    oid = " | ".join(f"({byte.format(place)} << {24 - 8 * place})" for place in range(4))
    collation = (
        f"(SELECT quote_ident(n.nspname) || '.' || quote_ident(collname) FROM pg_collation c "
        f"JOIN pg_namespace n ON n.oid = collnamespace WHERE c.oid = stacoll{number})"
    )
    return (
        f"stakind{number}::int, CASE WHEN staop{number} <> 0 THEN staop{number}::regoperator::text "
        f"END, {collation if collations else 'NULL'}, stanumbers{number}::text, {values}::text, "
        f"CASE WHEN {values} IS NOT NULL THEN ({oid})::oid::regtype::text END"
    )


# --- Into a server ---------------------------------------------------------------------------


def take(address: Address, rows: Sequence[ColumnStatistics]) -> list[str]:
    """Puts statistics in the place of the server's own, a relation at a time.

    Returns the relations of which that failed, which keep their own. Raises ServerError where it
    cannot connect.
    """
    collations = version_num(address) >= COLLATIONS_FROM
    failed = []
    for relation, its_rows in groupby(rows, lambda row: row.relation):
        inserts = [_insert(row, collations=collations) for row in its_rows]
        where = f"{literal(relation)}::regclass"
        whole = "; ".join([f"DELETE FROM pg_statistic WHERE starelid = {where}", *inserts])
        try:  # in one message, and so in one transaction
            connection.execute(address, [*PLAIN_NAMES, whole], RESTORE_S_MAX)
        except ServerError:
            failed.append(relation)
    return failed


def _insert(row: ColumnStatistics, *, collations: bool) -> str:
    """The statement that makes a row."""
    names = ["starelid", "staattnum", "stainherit", "stanullfrac", "stawidth", "stadistinct"]
    relation = f"{literal(row.relation)}::regclass"
    place = str(row.column)
    if isinstance(row.column, str):  # a dump leaves no gaps where columns were dropped
        place = (
            f"(SELECT attnum FROM pg_attribute WHERE attrelid = {relation} "
            f"AND attname = {literal(row.column)})"
        )
    values = [
        relation,
        place,
        *map(str, (row.inherited, row.null_share, row.width, row.distinct)),
    ]
    for number, slot in zip(SLOTS, row.slots, strict=True):
        names += [f"{name}{number}" for name in ("stakind", "staop", "stanumbers", "stavalues")]
        values += [
            str(slot.code),
            "0" if slot.operator is None else f"{literal(slot.operator)}::regoperator",
            "NULL" if slot.numbers is None else f"{literal(slot.numbers)}::real[]",
            "NULL" if slot.values is None else array(slot.values, str(slot.type)),
        ]
        if collations:
            names.append(f"stacoll{number}")
            values.append(_collation(slot))
    return f"INSERT INTO pg_statistic ({', '.join(names)}) SELECT {', '.join(values)}"


def array(values: str, type: str) -> str:
    """The values of a slot in SQL, of that type."""
    return f"array_in({literal(values)}, {literal(type)}::regtype, -1)"


def _collation(slot: StatisticsSlot) -> str:
    """The number of a collation; 0 of none, and of those before 12, which had none of their own."""
    if slot.collation is None:
        return "0"
    return (
        "(SELECT c.oid FROM pg_collation c JOIN pg_namespace n ON n.oid = collnamespace WHERE "
        f"quote_ident(n.nspname) || '.' || quote_ident(collname) = {literal(slot.collation)} "
        "LIMIT 1)"
    )
