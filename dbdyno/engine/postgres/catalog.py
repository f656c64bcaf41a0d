"""What PostgreSQL tells of the relations and functions that a query names (workload.determined)."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from dbdyno.model.catalog import ColumnFacts, FunctionFacts, RelationFacts
from dbdyno.model.literal import literal

Row = Sequence[str | None]
RELATION = """
SELECT c.relkind, n.nspname, c.relkind = 'r' AND c.relhassubclass,
 CASE WHEN c.relkind = 'v' THEN pg_catalog.pg_get_viewdef(c.oid) END,
 EXISTS (SELECT 1 FROM pg_catalog.pg_trigger
  WHERE tgrelid = c.oid AND NOT tgisinternal AND tgtype & 2 = 2)
FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.oid = pg_catalog.to_regclass({name})
"""
COLUMNS = """
SELECT a.attname, b.oid IN (700, 701), b.typcategory = 'S',
 NOT (b.typtype = 'e' OR b.typname IN ({exact})
  OR (b.typname = 'numeric' AND greatest(a.atttypmod, t.typtypmod) >= 0))
  OR coalesce(pg_catalog.to_jsonb(k) ->> 'collisdeterministic', 'true') = 'false',
 a.atthasdef OR coalesce(pg_catalog.to_jsonb(a) ->> 'attidentity', '') <> ''
FROM pg_catalog.pg_attribute AS a JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid
JOIN pg_catalog.pg_type AS b ON b.oid = CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.oid END
LEFT JOIN pg_catalog.pg_collation AS k ON k.oid = a.attcollation
WHERE a.attrelid = pg_catalog.to_regclass({name}) AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""
EXACT = (
    *("bool", "bpchar", "bytea", "char", "cidr", "date", "float4", "float8", "inet", "int2"),
    *("int4", "int8", "macaddr", "macaddr8", "money", "name", "oid", "text", "time"),
    *("timestamp", "timestamptz", "uuid", "varchar", "bit", "varbit", "xid8"),
)
"""Types of which values that are equal look alike; of float8 but for the sign of 0."""
KEYS = """
SELECT pg_catalog.string_agg(a.attname, '\n')
FROM pg_catalog.pg_index AS i
CROSS JOIN LATERAL pg_catalog.generate_series(
 0, coalesce((pg_catalog.to_jsonb(i) ->> 'indnkeyatts')::int, i.indnatts) - 1) AS place
LEFT JOIN pg_catalog.pg_attribute AS a
 ON a.attrelid = i.indrelid AND a.attnum = i.indkey[place] AND a.attnum > 0
WHERE i.indrelid = pg_catalog.to_regclass({name})
 AND i.indisunique AND i.indisvalid AND i.indpred IS NULL
GROUP BY i.indexrelid
HAVING pg_catalog.bool_and(coalesce(a.attnotnull, false))
"""
"""The unique indexes without conditions, expressions and NULL; INCLUDE adds no part of a key."""
FUNCTION = """
SELECT pg_catalog.bool_or(p.provolatile = 'v' OR (p.provolatile = 's' AND
  (n.nspname <> 'pg_catalog' OR (p.proname LIKE 'pg\\_%' AND p.proname <> 'pg_typeof')))),
 pg_catalog.bool_and(p.prorettype IN (700, 701)),
 pg_catalog.bool_or(coalesce(pg_catalog.to_jsonb(p) ->> 'prokind' = 'a', false)
  OR coalesce(pg_catalog.to_jsonb(p) ->> 'proisagg' = 'true', false)),
 pg_catalog.bool_and(n.nspname = 'pg_catalog'),
 pg_catalog.bool_or(p.proretset)
FROM pg_catalog.pg_proc AS p JOIN pg_catalog.pg_namespace AS n ON n.oid = p.pronamespace
WHERE p.proname = {name}
"""
OWN = frozenset({"information_schema", "pg_catalog", "pg_toast"})
"""Schemas of the server itself."""


@dataclass(frozen=True)
class PostgresCatalog:
    """The catalog that a session sees (model.catalog.Catalog)."""

    texts: Callable[[str], Iterable[Row]]  # the rows of a query
    backticks: ClassVar[bool] = False

    def relation(self, schema: str, name: str) -> RelationFacts | None:
        """The relation of that name; None: there is none. Raises ServerError."""
        quoted = ".".join('"' + part.replace('"', '""') + '"' for part in (schema, name) if part)
        named = literal(quoted)
        rows = list(self.texts(RELATION.format(name=named)))
        if not rows:
            return None
        relkind, space, inherited, view, triggers = rows[0]
        exact = ", ".join(map(literal, EXACT))
        columns = self.texts(COLUMNS.format(name=named, exact=exact))
        return RelationFacts(
            columns=tuple(map(_column, columns)),
            keys=tuple(
                frozenset((row[0] or "").split("\n"))
                for row in list(self.texts(KEYS.format(name=named)))
            ),
            view=view or "",
            moving=_moving(relkind or "", space or "", name),
            inherited=inherited == "t",
            triggers=triggers == "t",
        )

    def function(self, name: str) -> FunctionFacts:
        """The functions of that name; what is none is the grammar's. Raises ServerError."""
        (row,) = self.texts(FUNCTION.format(name=literal(name)))
        return FunctionFacts(
            moving=row[0] == "t",
            floating=row[1] == "t",
            aggregate=row[2] == "t",
            builtin=row[3] != "f",
            rows=row[4] == "t",
        )


def _column(row: Row) -> ColumnFacts:
    return ColumnFacts(
        name=row[0] or "",
        floating=row[1] == "t",
        text=row[2] == "t",
        loose=row[3] == "t",
        default=row[4] == "t",
    )


def _moving(relkind: str, space: str, name: str) -> str:
    """Why the rows of a relation change by themselves."""
    if relkind == "S":
        return f"the sequence `{name}`"
    return f"`{name}`, which the server keeps for itself" if space in OWN else ""
