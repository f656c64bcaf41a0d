"""What MySQL and MariaDB tell of the tables and functions that a query names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dbdyno.model.catalog import ColumnFacts, FunctionFacts, RelationFacts

if TYPE_CHECKING:
    from pymysql.cursors import Cursor

TABLE = """
SELECT t.table_type, v.view_definition, EXISTS (SELECT 1 FROM information_schema.triggers
  WHERE event_object_schema = t.table_schema AND event_object_table = t.table_name
   AND action_timing = 'BEFORE')
FROM information_schema.tables AS t LEFT JOIN information_schema.views AS v
 ON v.table_schema = t.table_schema AND v.table_name = t.table_name
WHERE t.table_schema = coalesce(nullif(%s, ''), database()) AND t.table_name = %s
"""
COLUMNS = """
SELECT lower(column_name), data_type IN ('float', 'double'), collation_name IS NOT NULL,
 (collation_name IS NOT NULL AND collation_name NOT LIKE '%%\\_bin'
  AND data_type NOT IN ('enum', 'set')) OR data_type = 'json',
 (column_default IS NOT NULL AND column_default <> 'NULL') OR extra LIKE '%%auto_increment%%'
FROM information_schema.columns
WHERE table_schema = coalesce(nullif(%s, ''), database()) AND table_name = %s
ORDER BY ordinal_position
"""
KEYS = """
SELECT lower(group_concat(column_name)) FROM information_schema.statistics
WHERE table_schema = coalesce(nullif(%s, ''), database()) AND table_name = %s AND non_unique = 0
GROUP BY index_name HAVING sum(coalesce(nullable, '') = 'YES' OR column_name IS NULL) = 0
"""
"""The unique indexes without expressions and NULL."""
FUNCTION = """
SELECT max(is_deterministic = 'NO') FROM information_schema.routines
WHERE routine_schema = database() AND routine_name = %s AND routine_type = 'FUNCTION'
"""
OWN = frozenset({"information_schema", "mysql", "performance_schema", "sys"})
"""Schemas of the server itself."""


@dataclass(frozen=True)
class MysqlCatalog:
    """The catalog that a session sees (model.catalog.Catalog)."""

    cursor: Cursor
    backticks: ClassVar[bool] = True

    def relation(self, schema: str, name: str) -> RelationFacts | None:
        """The table or view of that name; None: there is none."""
        if schema.lower() in OWN:
            return RelationFacts(moving=f"`{name}`, which the server keeps for itself")
        tables = self._rows(TABLE, schema, name)
        if not tables:
            return None
        type_, view, triggers = tables[0]
        if type_ == "VIEW" and not view:
            return None  # the account may not see its query
        return RelationFacts(
            columns=tuple(map(_column, self._rows(COLUMNS, schema, name))),
            keys=tuple(frozenset(str(row[0]).split(",")) for row in self._rows(KEYS, schema, name)),
            view=str(view or ""),
            moving=f"the sequence `{name}`" if type_ == "SEQUENCE" else "",
            triggers=triggers == "1",
        )

    def function(self, name: str) -> FunctionFacts:
        """The stored function of that name; what is none is the server's own."""
        ((moving,),) = self._rows(FUNCTION, name)
        return FunctionFacts(moving=moving == "1", builtin=moving is None)

    def _rows(self, query: str, *names: str) -> Sequence[Sequence[str | None]]:
        self.cursor.execute(query, names)
        return [[None if cell is None else str(cell) for cell in row] for row in self.cursor]


def _column(row: Sequence[str | None]) -> ColumnFacts:
    return ColumnFacts(
        name=row[0] or "",
        floating=row[1] == "1",
        text=row[2] == "1",
        loose=row[3] == "1",
        default=row[4] == "1",
    )
