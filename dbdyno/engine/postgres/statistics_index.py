"""Indexes that a lab has and the captured server has not: as large as its statistics foretell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import json

from dbdyno.engine.postgres import connection, plan_form, shared_statistics
from dbdyno.engine.postgres.long_files import LongFile
from dbdyno.engine.postgres.statistics_explain import (
    LINE_BYTES,
    PAGE_BYTES,
    TUPLE_BYTES,
    aligned,
    reckoned_height,
)
from dbdyno.engine.restore import RESTORE_S_MAX
from dbdyno.model import Address
from dbdyno.model.error import ServerError
from dbdyno.model.literal import literal

NEW_INDEX = """SELECT indrelid::regclass::text, pg_get_expr(indpred, indrelid),
    indnatts = indnkeyatts, relam = (SELECT oid FROM pg_am WHERE amname = 'btree'), ARRAY(
    SELECT ROW(attlen, attalign, coalesce(stawidth, 32), coalesce(stadistinct, 0),
      coalesce(stanullfrac, 0), atttypid IN ('numeric'::regtype, 'float4'::regtype,
      'float8'::regtype, 'jsonb'::regtype))::text
    FROM pg_attribute a LEFT JOIN pg_statistic ON starelid = indrelid AND NOT stainherit
      AND staattnum = indkey[attnum - 1] AND staattnum > 0
    WHERE attrelid = indexrelid ORDER BY attnum)
FROM pg_index JOIN pg_class c ON c.oid = indexrelid WHERE indexrelid = {}::regclass"""
ALIGNMENTS = {"c": 1, "s": 2, "i": 4, "d": 8}
POSTING_BYTES, POINTER_BYTES, LEAF_FILLED = 800, 6, 0.9
"""About as many bytes of pointers share a key of a btree (nbtdedup.c); how full leaves are built.
"""


def create(address: Address, index: str) -> str:
    """Makes a further index, before files are long; its name. Raises ServerError."""
    before = set(_indexes(address))
    connection.execute(address, [index], RESTORE_S_MAX)
    made = [name for name in _indexes(address) if name not in before]
    if len(made) != 1:
        raise ServerError(f"--index: `{index}` makes {len(made)} indexes: name one of a table")
    return made[0]


def _indexes(address: Address) -> list[str]:
    query = "SELECT oid::regclass::text FROM pg_class WHERE relkind = 'i' ORDER BY oid"
    rows = connection.execute(address, [*shared_statistics.PLAIN_NAMES, query], RESTORE_S_MAX)
    return [str(name) for (name,) in rows]


def drop(address: Address, index: str) -> None:
    """Drops an index, with the constraint that it keeps. Raises ServerError."""
    query = (
        "SELECT conrelid::regclass::text, quote_ident(conname) FROM pg_index LEFT JOIN "
        "pg_constraint ON conindid = indexrelid AND contype IN ('p', 'u', 'x') "
        f"WHERE indexrelid = to_regclass({literal(index)})"
    )
    rows = connection.execute(address, [query], RESTORE_S_MAX)
    if not rows:
        raise ServerError(f"--without-index: `{index}`: the dump has no such index: name one of it")
    statements = [
        f"ALTER TABLE {table} DROP CONSTRAINT {name} CASCADE"
        if name is not None
        else f"DROP INDEX {index}"
        for table, name in rows
    ]
    connection.execute(address, statements, RESTORE_S_MAX)


def sized(address: Address, index: str) -> LongFile:
    """The file of a further btree as it would be, by what the planner knows of its columns.

    Its pg_class has the same. Raises ServerError.
    """
    names = shared_statistics.PLAIN_NAMES
    query = NEW_INDEX.format(literal(index))
    ((table, predicate, keys_alone, is_btree, columns),) = connection.execute(
        address, [*names, query], RESTORE_S_MAX
    )
    if not is_btree:
        raise ServerError(f"--index: `{index}`: dyno reckons the sizes of btrees alone: make one")
    where = f" WHERE {predicate}" if predicate else ""
    explain = f"EXPLAIN (FORMAT JSON) SELECT 1 FROM ONLY {table}{where}"
    ((plan,),) = connection.execute(address, [*names, explain], RESTORE_S_MAX)
    root = plan_form.read(json.encode(plan).decode()).root
    rows = 0.0 if root is None else root.expected_rows or 0.0
    widths = [IndexColumn.of(text) for text in columns]
    key = _key_bytes(widths)
    size = rows * (aligned(TUPLE_BYTES + key) + LINE_BYTES)
    distinct = min(rows, math.prod(max(1.0, each.distinct_of(rows)) for each in widths))
    if keys_alone and not any(each.uneven for each in widths) and rows > distinct:
        per = rows / distinct
        postings = math.ceil(per * POINTER_BYTES / POSTING_BYTES)
        shared = postings * (aligned(TUPLE_BYTES + key) + LINE_BYTES) + per * POINTER_BYTES
        size = min(size, distinct * shared)
    blocks = math.ceil(size / (PAGE_BYTES * LEAF_FILLED)) + 1
    ((path,),) = connection.execute(
        address,
        [
            *names,
            f"UPDATE pg_class SET reltuples = {rows!r}, relpages = {blocks} "
            f"WHERE oid = {literal(index)}::regclass",
            f"SELECT pg_relation_filepath({literal(index)}::regclass)",
        ],
        RESTORE_S_MAX,
    )
    return LongFile(path=path, blocks=blocks, height=reckoned_height(blocks, key))


@dataclass(frozen=True)
class IndexColumn:
    """A column of an index as statistics have it."""

    length: int
    alignment: str
    width: int
    distinct: float  # negative: by rows
    null_share: float
    uneven: bool  # its equal values need not be alike

    @classmethod
    def of(cls, row: str) -> IndexColumn:
        """A column of the text of a row."""
        length, alignment, width, distinct, nulls, uneven = row.strip("()").split(",")
        return cls(int(length), alignment, int(width), float(distinct), float(nulls), uneven == "t")

    def distinct_of(self, rows: float) -> float:
        """How many values it has; of which nothing is known, as many as rows."""
        if self.distinct == 0:
            return rows
        return self.distinct if self.distinct > 0 else -self.distinct * rows


def _key_bytes(columns: Sequence[IndexColumn]) -> int:
    """The bytes of a key, each column where its type may begin."""
    end = 0
    for column in columns:
        step = ALIGNMENTS[column.alignment] if column.length > 0 else 1
        end = step * math.ceil(end / step)
        end += column.length if column.length > 0 else column.width
    return end
