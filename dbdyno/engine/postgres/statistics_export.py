"""What a PostgreSQL's planner knows of its tables, read in one transaction that only reads.

Statistics come from pg_statistic, where the role may read it, else from pg_stats, whose view hides
some; what is hidden is named. Heights of btrees come from EXPLAIN, ends of indexes from their first
and last entries.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

from dbdyno.engine.connection import cut_off
from dbdyno.engine.inquiry import Inquirer
from dbdyno.engine.postgres import plan_form, shared_statistics, statistics_view
from dbdyno.engine.postgres.connection import connect, limited
from dbdyno.engine.postgres.inquiry import FIXED, PostgresInquirer
from dbdyno.engine.snapshot import one_line
from dbdyno.model import Address
from dbdyno.model.error import ServerError
from dbdyno.model.literal import literal
from dbdyno.model.planner_statistics import (
    FORMAT,
    WITH_VALUES,
    WITHOUT_TEXTS,
    ColumnEnds,
    ColumnStatistics,
    ExtendedStatistics,
    HiddenPart,
    HiddenStatistics,
    RelationSize,
    ServerStatistics,
)

if TYPE_CHECKING:
    import psycopg

MARK = "/* dyno capture */"
STATEMENT_S_MAX, END_S_MAX, ALL_S_MAX = 10.0, 1.0, 300.0
"""How long a statement, the look at a column's ends and the whole transaction may take."""
VERSION_NUM_MIN, READ_ALL_FROM, INHERITED_FROM = 13_00_00, 14_00_00, 15_00_00
BLOCK_BYTES, LINE_BYTES, TUPLE_BYTES, PAGE_BYTES, FILLED = 8192, 4, 8, 8152, 0.7
OWN_TYPES_FROM, ITEMS_AT, TYPES_AT = 16384, 12, 14
"""The first number of a type that is no catalog's; where extended statistics have their items, and
a list of common values its types."""
SESSION = {**FIXED, "extra_float_digits": "3", "search_path": "", "row_security": "on"}
BY_INDEX = {
    "enable_seqscan": "off",
    "enable_sort": "off",
    "enable_bitmapscan": "off",
    "enable_indexonlyscan": "off",
    "enable_indexscan": "on",
    "enable_incremental_sort": "off",
    "max_parallel_workers_per_gather": "0",
    "cpu_operator_cost": "1",
}
"""Makes a plan by order of an index begin with what a descent costs, in whole units."""
LEVEL_COST = 50
"""What a level costs of a descent, in cpu_operator_cost (selfuncs.c, DEFAULT_PAGE_CPU_MULTIPLIER).
"""
OURS = "nspname !~ '^(pg_|information_schema$)'"
FACTS = f"""SELECT {MARK} current_setting('server_version_num')::int,
    current_setting('block_size')::int, current_user::text,
    has_table_privilege('pg_catalog.pg_statistic', 'SELECT')
      AND has_table_privilege('pg_catalog.pg_statistic_ext_data', 'SELECT')"""
RELATIONS = f"""SELECT {MARK} c.oid::regclass::text, relkind::text, relpages, reltuples::float8,
    relallvisible, CASE WHEN relkind IN ('r', 'i', 'm') THEN pg_relation_size(c.oid) ELSE 0 END,
    coalesce(indisvalid, true)
FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
LEFT JOIN pg_index ON indexrelid = c.oid
WHERE {OURS} AND relkind IN ('r', 'i', 'm', 'p', 'I', 'f') ORDER BY c.oid"""
INDEXES = f"""SELECT {MARK} x.oid::regclass::text, x.relname::text, t.oid::regclass::text,
    pg_get_expr(indpred, indrelid),
    has_table_privilege(t.oid, 'SELECT') AND has_schema_privilege(t.relnamespace, 'USAGE'),
    ARRAY(SELECT format('%s%s USING OPERATOR(%I.%s) NULLS %s', pg_get_indexdef(x.oid, k, true),
          CASE WHEN indcollation[k - 1] <> 0 THEN (SELECT format(' COLLATE %I.%I', cn.nspname,
            collname) FROM pg_collation c JOIN pg_namespace cn ON cn.oid = collnamespace
            WHERE c.oid = indcollation[k - 1]) END,
          o.nspname, oprname, CASE WHEN indoption[k - 1] & 2 = 2 THEN 'FIRST' ELSE 'LAST' END)
        FROM generate_series(1, indnkeyatts) k JOIN pg_opclass oc ON oc.oid = indclass[k - 1]
        JOIN pg_amop ON amopfamily = opcfamily AND amoplefttype = opcintype AND amoppurpose = 's'
          AND amoprighttype = opcintype
          AND amopstrategy = CASE WHEN indoption[k - 1] & 1 = 1 THEN 5 ELSE 1 END
        JOIN pg_operator p ON p.oid = amopopr JOIN pg_namespace o ON o.oid = oprnamespace
        ORDER BY k),
    (SELECT sum(CASE WHEN attlen > 0 THEN attlen ELSE coalesce((SELECT max(avg_width) FROM pg_stats
        WHERE schemaname = n.nspname AND tablename = t.relname AND pg_stats.attname = a.attname),
        32) END) FROM pg_attribute a WHERE attrelid = x.oid AND attnum > 0)::int
FROM pg_index JOIN pg_class x ON x.oid = indexrelid JOIN pg_class t ON t.oid = indrelid
JOIN pg_namespace n ON n.oid = t.relnamespace
JOIN pg_am ON pg_am.oid = x.relam AND amname = 'btree'
WHERE {OURS} AND x.relkind = 'i' AND indisvalid ORDER BY x.oid"""
LEADING = f"""SELECT {MARK} DISTINCT t.oid::regclass::text, attname::text,
    format_type(atttypid, NULL)
FROM pg_index JOIN pg_class x ON x.oid = indexrelid JOIN pg_class t ON t.oid = indrelid
JOIN pg_namespace n ON n.oid = t.relnamespace
JOIN pg_am ON pg_am.oid = x.relam AND amname = 'btree'
JOIN pg_opclass c ON c.oid = indclass[0] AND opcdefault
JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0] AND attgenerated = ''
WHERE {OURS} AND t.relkind IN ('r', 'm') AND indpred IS NULL AND indisvalid
  AND indcollation[0] = attcollation AND pg_relation_size(t.oid) > 0
  AND has_column_privilege(t.oid, attnum, 'SELECT') AND NOT row_security_active(t.oid)
  AND has_schema_privilege(t.relnamespace, 'USAGE') ORDER BY 1, 2"""
EXTENDED = """SELECT {mark} format('%I.%I', nspname, stxname), {inherited},
    encode(stxdndistinct::bytea, 'hex'), encode(stxddependencies::bytea, 'hex'),
    encode(stxdmcv::bytea, 'hex'), {expressions},
    ARRAY(SELECT attnum::int FROM pg_attribute WHERE attrelid = stxrelid AND attnum > 0
      AND NOT attisdropped ORDER BY attnum)
FROM pg_statistic_ext_data JOIN pg_statistic_ext e ON e.oid = stxoid
JOIN pg_namespace n ON n.oid = stxnamespace ORDER BY e.oid, 2"""
HIDDEN = f"""SELECT {MARK} name, kind, columns FROM (
    SELECT c.oid, 'table' AS kind, ARRAY[]::text[] AS columns FROM pg_class c
    WHERE NOT has_table_privilege(c.oid, 'SELECT') OR row_security_active(c.oid)
      OR NOT has_schema_privilege(c.relnamespace, 'USAGE')
    UNION ALL SELECT indrelid, 'expression', ARRAY(SELECT attname::text FROM pg_depend
      JOIN pg_attribute ON attrelid = refobjid AND attnum = refobjsubid
      WHERE classid = 'pg_class'::regclass AND objid = indexrelid AND refobjid = indrelid
        AND refobjsubid > 0)
    FROM pg_index WHERE indexprs IS NOT NULL AND NOT has_table_privilege(indexrelid, 'SELECT')
    UNION ALL SELECT attrelid, 'range', ARRAY[attname::text] FROM pg_attribute
    JOIN pg_type t ON t.oid = atttypid AND typtype IN ('r', 'm') WHERE attnum > 0
    UNION ALL SELECT stxrelid, 'extended', ARRAY(SELECT attname::text FROM pg_depend
      JOIN pg_attribute ON attrelid = refobjid AND attnum = refobjsubid
      WHERE classid = 'pg_statistic_ext'::regclass AND objid = e.oid AND refobjid = stxrelid
        AND refobjsubid > 0) FROM pg_statistic_ext e) AS hidden
CROSS JOIN LATERAL (SELECT hidden.oid::regclass::text AS name) AS named
JOIN pg_class c ON c.oid = hidden.oid JOIN pg_namespace n ON n.oid = relnamespace
WHERE {OURS} AND relkind IN ('r', 'm', 'p') ORDER BY hidden.oid, kind, columns"""
READING = f"""SELECT {MARK} DISTINCT proname::text
FROM pg_proc p JOIN pg_namespace n ON n.oid = pronamespace JOIN pg_language l ON l.oid = prolang
WHERE {OURS} AND lanname NOT IN ('c', 'internal') AND provolatile <> 'v'
  AND {{body}} ~* '\\mfrom\\M' ORDER BY 1"""
LACKS = f"""SELECT {MARK} format('costs of tablespace `%s` are not taken', spcname)
FROM pg_tablespace s WHERE spcoptions IS NOT NULL
  AND (EXISTS (SELECT FROM pg_class WHERE reltablespace = s.oid)
    OR s.oid = (SELECT dattablespace FROM pg_database WHERE datname = current_database()))
UNION SELECT format('indexes of type `%s` are planned by their size alone', amname)
FROM pg_class c JOIN pg_am a ON a.oid = relam
WHERE relkind = 'i' AND amname NOT IN ('btree', 'hash', 'gist', 'gin', 'spgist', 'brin')"""
PLAIN_TYPES = f"""SELECT {MARK} format_type(t.oid, NULL) FROM pg_type t
LEFT JOIN pg_range r ON rngtypid = t.oid
JOIN pg_type e ON e.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype
  WHEN t.typcategory = 'A' THEN t.typelem ELSE coalesce(rngsubtype, t.oid) END
WHERE e.typcategory IN ('N', 'D', 'T', 'B', 'E', 'R')"""
"""Numbers, dates, times, booleans, enums, and arrays and ranges of them."""


@contextmanager
def opened(address: Address, name: str) -> Iterator[StatisticsSource]:
    """A server's statistics, in one transaction. Raises ServerError in a line that begins so."""
    import psycopg

    try:
        with (
            connect(
                address, "dyno capture", limited(STATEMENT_S_MAX), prepare_threshold=None
            ) as connection,
            cut_off(connection, ALL_S_MAX),
        ):
            source = StatisticsSource(connection, name)
            source.ask("BEGIN TRANSACTION READ ONLY")
            source.set(limited(STATEMENT_S_MAX))
            try:
                yield source
            finally:
                with suppress(psycopg.Error):
                    source.ask("ROLLBACK")
    except psycopg.Error as error:
        raise ServerError(f"{name}: {one_line(error)}") from error


@dataclass(frozen=True)
class StatisticsSource:
    """A session on the server, whose one transaction only reads."""

    connection: psycopg.Connection[Any]
    name: str

    @property
    def inquirer(self) -> Inquirer:
        """Asks queries within the same transaction."""
        return PostgresInquirer(self.connection.pgconn, _within=True)

    def exported(self, *, texts: bool) -> ServerStatistics:
        """All that the planner knows; `texts`: also values of text-like columns.

        Raises ServerError: of an older version, or of pages of another size; psycopg.Error.
        """
        with self._undone():
            self.set(SESSION)
            return self._exported(texts=texts)

    def _exported(self, *, texts: bool) -> ServerStatistics:
        ((version_num, block_bytes, user, all_seen),) = self.ask(FACTS)
        if version_num < VERSION_NUM_MIN:
            raise ServerError(
                f"{self.name}: --statistics: reads PostgreSQL 13 and later, and the server is "
                f"{version_num // 10000}: leave it out"
            )
        if block_bytes != BLOCK_BYTES:
            raise ServerError(
                f"{self.name}: --statistics: the server has pages of {block_bytes} bytes, and "
                f"builds of the lab have {BLOCK_BYTES}: leave it out"
            )
        body = "prosrc"
        if version_num >= READ_ALL_FROM:  # a body in SQL's own syntax is no text
            body = "concat(prosrc, pg_get_function_sqlbody(p.oid))"
        plain = None if texts else frozenset(row[0] for row in self.ask(PLAIN_TYPES))
        columns = (
            shared_statistics.exported(self.connection)
            if all_seen
            else statistics_view.exported(self.connection, version_num)
        )
        extended, lacking = self._extended(version_num, plain) if all_seen else ((), ())
        relations = [
            RelationSize(
                name=name,
                relkind=relkind,
                pages=pages,
                rows=rows,
                visible=visible,
                blocks=size // BLOCK_BYTES,
                valid=valid,
            )
            for name, relkind, pages, rows, visible, size, valid in self.ask(RELATIONS)
        ]
        return ServerStatistics(
            note=WITH_VALUES if texts else WITHOUT_TEXTS,
            format=FORMAT,
            version_num=version_num,
            user=user,
            values="all" if texts else "none",
            columns=tuple(_without_texts(columns, plain)),
            extended=tuple(extended),
            ends=tuple(self._ends(plain)),
            hidden=HiddenStatistics() if all_seen else self._hidden(version_num, user),
            reading=tuple(row[0] for row in self.ask(READING.format(body=body))),
            left_out=(*lacking, *(row[0] for row in self.ask(LACKS))),
            relations=tuple(self._heightened(relations)),
        )

    # --- Statements ---

    def ask(self, text: str) -> list[tuple[Any, ...]]:
        """The rows of a statement. Raises psycopg.Error."""
        import psycopg
        from psycopg.rows import tuple_row

        # Not the connection's own cursor: behind a pooler that one begins a transaction each.
        cursor = psycopg.Cursor(self.connection, row_factory=tuple_row).execute(text.encode())
        return cursor.fetchall() if cursor.description else []

    def set(self, settings: dict[str, str]) -> None:
        """Settings up to the end of the transaction."""
        for name, value in settings.items():
            self.ask(f"SELECT {MARK} set_config({literal(name)}, {literal(value)}, true)")

    @contextmanager
    def _undone(self) -> Iterator[None]:
        """What is set within is undone."""
        self.ask("SAVEPOINT dyno_try")
        yield
        self.ask("ROLLBACK TO SAVEPOINT dyno_try; RELEASE SAVEPOINT dyno_try")

    @contextmanager
    def _tried(self) -> Iterator[None]:
        """The same, and what fails within is passed over."""
        import psycopg

        with self._undone(), suppress(psycopg.DatabaseError):
            yield

    # --- Heights ---

    def _heightened(self, relations: Sequence[RelationSize]) -> Iterator[RelationSize]:
        """The relations, btrees with their heights."""
        indexes = {name: rest for name, *rest in self.ask(INDEXES)}
        with self._undone():
            self.set(BY_INDEX)
            heights = {name: self._height(*columns) for name, (*columns, _) in indexes.items()}
        for relation in relations:
            if relation.name not in indexes:
                yield relation
            elif (height := heights.get(relation.name)) is not None:
                yield structs.replace(relation, height=height)
            else:
                *_, width = indexes[relation.name]
                yield structs.replace(
                    relation, height=reckoned_height(relation.blocks, width or 0), reckoned=True
                )

    def _height(
        self, bare: str, table: str, predicate: str | None, readable: bool, keys: Sequence[str]
    ) -> int | None:
        """A btree's height, by what a descent costs; None where EXPLAIN does not take it."""
        height = None
        if not readable:
            return None
        where = f" WHERE {predicate}" if predicate else ""
        with self._tried():
            ((text,),) = self.ask(
                f"EXPLAIN {MARK} (FORMAT JSON) SELECT 1 FROM ONLY {table}{where} "
                f"ORDER BY {', '.join(keys)}"
            )
            root = plan_form.read(msgspec.json.encode(text).decode()).root
            if root is not None and root.index == bare and root.node == "Index Scan":
                rows = max(root.expected_rows or 1.0, 2.0)
                cost = (root.start_cost or 0.0) - math.ceil(math.log2(rows))
                height = max(0, round(cost / LEVEL_COST - 1))
        return height

    # --- Ends, and the rest ---

    def _ends(self, plain: frozenset[str] | None) -> Iterator[ColumnEnds]:
        """The ends of columns that lead a whole btree; those that take too long are left out."""
        for relation, column, type_ in self.ask(LEADING):
            if plain is not None and type_ not in plain:
                continue
            quoted = '"' + column.replace('"', '""') + '"'
            end = (
                f"(SELECT {quoted} FROM ONLY {relation} WHERE {quoted} IS NOT NULL "
                f"ORDER BY {quoted} {{}} LIMIT 1)::text"
            )
            rows: list[tuple[Any, ...]] = []
            with self._tried():
                self.set(limited(END_S_MAX))
                rows = self.ask(f"SELECT {MARK} {end.format('ASC')}, {end.format('DESC')}")
            for least, greatest in rows:
                if least is not None and greatest is not None:
                    yield ColumnEnds(
                        relation=relation, column=column, least=least, greatest=greatest
                    )

    def _extended(
        self, version_num: int, plain: frozenset[str] | None
    ) -> tuple[list[ExtendedStatistics], list[str]]:
        """Extended statistics, and a sentence for each that is left out."""
        question = EXTENDED.format(
            mark=MARK,
            inherited="stxdinherit" if version_num >= INHERITED_FROM else "false",
            expressions="stxdexpr IS NOT NULL" if version_num >= READ_ALL_FROM else "false",
        )
        rows, lacking = [], []
        for name, inherited, ndistinct, dependencies, common, expressions, places in self.ask(
            question
        ):
            if common is not None and (plain is not None or has_own_types(bytes.fromhex(common))):
                common = None
                lacking.append(f"the common values of statistics `{name}` are not taken")
            if expressions:
                lacking.append(f"the expressions of statistics `{name}` are not taken")
            rows.append(
                ExtendedStatistics(
                    name=name,
                    inherited=inherited,
                    ndistinct=renumbered(ndistinct, places, "i"),
                    dependencies=renumbered(dependencies, places, "h"),
                    common=common,
                )
            )
        return rows, lacking

    def _hidden(self, version_num: int, user: str) -> HiddenStatistics:
        """The tables of which the view does not show all."""
        quoted = user if user.isidentifier() else '"' + user.replace('"', '""') + '"'
        return HiddenStatistics(
            parts=tuple(
                HiddenPart(relation=relation, subject=subject, columns=tuple(columns))
                for relation, subject, columns in self.ask(HIDDEN)
                if subject != "range" or version_num < statistics_view.RANGES_FROM
            ),
            grant=f"GRANT pg_read_all_data TO {quoted}"
            if version_num >= READ_ALL_FROM
            else f"GRANT SELECT ON pg_statistic, pg_statistic_ext_data TO {quoted}",
        )


def renumbered(part: str | None, places: Sequence[int], count: str) -> str | None:
    """An ndistinct or a list of dependencies as a table has it whose columns have no gaps.

    Magic, type, number of items; each a double, so many columns (`count`: how that is written) and
    their numbers (mvdistinct.c, dependencies.c). `places`: the numbers that columns have now.
    """
    if part is None:
        return None
    content, at = bytearray.fromhex(part), ITEMS_AT
    while at < len(content):
        at += struct.calcsize("=d")
        (columns,) = struct.unpack_from(f"={count}", content, at)
        at += struct.calcsize(f"={count}")
        for _ in range(columns):
            (number,) = struct.unpack_from("=h", content, at)
            if number > 0:
                struct.pack_into("=h", content, at, places.index(number) + 1)
            at += struct.calcsize("=h")
    return content.hex()


def has_own_types(common: bytes) -> bool:
    """Whether a list of common values has types that another database numbers otherwise.

    pg_mcv_list: magic, type and number of items, then how many types, and these (mcv.c).
    """
    count = int.from_bytes(common[12:TYPES_AT], "little")
    types = (
        int.from_bytes(common[at : at + 4], "little")
        for at in range(TYPES_AT, TYPES_AT + 4 * count, 4)
    )
    return any(number >= OWN_TYPES_FROM for number in types)


def reckoned_height(blocks: int, width: int) -> int:
    """A btree's height by its pages and the width of its keys in bytes."""
    entry = aligned(TUPLE_BYTES + width) + LINE_BYTES
    fan_out = max(2.0, PAGE_BYTES * FILLED / entry)
    pages, height = blocks - 1.0, 0
    while pages > 1:
        pages, height = math.ceil(pages / fan_out), height + 1
    return height


def aligned(size: float) -> int:
    """Bytes of a tuple as they lie on a page."""
    return 8 * math.ceil(size / 8)


def _without_texts(
    columns: Sequence[ColumnStatistics], plain: frozenset[str] | None
) -> Iterator[ColumnStatistics]:
    """The columns without values of other types than `plain`; None: with all."""
    for column in columns:
        if plain is None:
            yield column
            continue
        slots = (
            slot
            if slot.values is None or slot.type in plain
            else structs.replace(slot, code=0, operator=None, numbers=None, values=None, type=None)
            for slot in column.slots
        )
        yield structs.replace(column, slots=tuple(slots))
