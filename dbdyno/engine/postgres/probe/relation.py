"""Finds the relations that hold a workload's rows: a table itself, or its partitions."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.engine.postgres.probe.reader import Reader


def relations(reader: Reader, tables: Sequence[str]) -> list[str]:
    """The tables' names, each partitioned one by those of its partitions in its place.

    A partitioned table has no rows, no size and no dead rows of its own. A name that is no table is
    left out and named in `unavailable`.
    """
    rows = reader.rows(
        """
        WITH RECURSIVE part (place, asked, name, relid, kind) AS (
            SELECT wanted.place, wanted.name, wanted.name, class.oid, class.relkind
            FROM unnest(%s::text[]) WITH ORDINALITY AS wanted (name, place)
            JOIN pg_class AS class ON class.oid = to_regclass(wanted.name)
          UNION ALL
            SELECT part.place, part.asked, child.oid::regclass::text, child.oid, child.relkind
            FROM part JOIN pg_inherits ON inhparent = part.relid AND part.kind = 'p'
            JOIN pg_class AS child ON child.oid = inhrelid
        )
        SELECT asked, name, kind <> 'p' AS stores FROM part ORDER BY place, relid
        """,
        [list(tables)],
    )
    asked = {row["asked"] for row in rows}
    for name in tables:
        if name not in asked:
            reader.unavailable[f"tables.{name}"] = "there is no such table"
    return [row["name"] for row in rows if row["stores"]]
