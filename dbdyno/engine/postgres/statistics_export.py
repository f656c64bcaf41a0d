"""What a PostgreSQL's planner knows of its tables, read in one transaction that only reads.

Statistics come from pg_statistic, where the role may read it, else from pg_stats, whose view hides
some; what is hidden is named. Heights of btrees come from EXPLAIN, ends of indexes from their first
and last entries.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from msgspec import structs

from dbdyno.engine.connection import cut_off
from dbdyno.engine.inquiry import Inquirer
from dbdyno.engine.postgres import shared_statistics, statistics_explain, statistics_view
from dbdyno.engine.postgres.connection import connect, limited
from dbdyno.engine.postgres.inquiry import FIXED, PostgresInquirer
from dbdyno.engine.postgres.statistics_session import MARK, OURS, StatisticsSession
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
    DatabaseLocale,
    ExtendedStatistics,
    HiddenStatistics,
    RelationSize,
    ServerStatistics,
    UnknownPart,
)

STATEMENT_S_MAX, END_S_MAX, ALL_S_MAX = 10.0, 1.0, 300.0
"""How long a statement, the look at a column's ends and the whole transaction may take."""
BLOCK_BYTES = 8192
VERSION_NUM_MIN, READ_ALL_FROM, INHERITED_FROM = 13_00_00, 14_00_00, 15_00_00
LOCALES_FROM, RULES_FROM, BUILTIN_FROM = 15_00_00, 16_00_00, 17_00_00
"""From which versions databases have a locale of ICU, rules of it, and one of PostgreSQL itself."""
OWN_TYPES_FROM, ITEMS_AT, TYPES_AT = 16384, 12, 14
"""The first number of a type that is no catalog's; where extended statistics have their items, and
a list of common values its types."""
SESSION = {**FIXED, "extra_float_digits": "3", "search_path": "", "row_security": "on"}
FACTS = f"""SELECT {MARK} current_setting('server_version_num')::int,
    current_setting('block_size')::int, current_user::text,
    has_table_privilege('pg_catalog.pg_statistic', 'SELECT')
      AND has_table_privilege('pg_catalog.pg_statistic_ext_data', 'SELECT')"""
LOCALE = f"""SELECT {MARK} datlocprovider::text, to_jsonb(d) ->> {{locale}},
    to_jsonb(d) ->> 'daticurules' FROM pg_database d
WHERE datname = current_database() AND datlocprovider <> 'c'"""
RELATIONS = f"""SELECT {MARK} c.oid::regclass::text, relkind::text, relpages, reltuples::float8,
    relallvisible, CASE WHEN relkind IN ('r', 'i', 'm') THEN pg_relation_size(c.oid) ELSE 0 END,
    coalesce(indisvalid, true),
    ARRAY(SELECT unnest(spcoptions) FROM pg_tablespace s
      WHERE relkind IN ('r', 'i', 'm') AND s.oid = CASE reltablespace
      WHEN 0 THEN (SELECT dattablespace FROM pg_database WHERE datname = current_database())
      ELSE reltablespace END)
FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
LEFT JOIN pg_index ON indexrelid = c.oid
WHERE {OURS} AND relkind IN ('r', 'i', 'm', 'p', 'I', 'f') ORDER BY c.oid"""
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
BEYOND = f"""SELECT {MARK} t.oid::regclass::text, CASE WHEN t.relkind = 'f' THEN 'foreign'
      WHEN i.oid IS NULL THEN 'storage' ELSE 'index' END,
    ARRAY(SELECT attname::text FROM pg_depend
      JOIN pg_attribute ON attrelid = refobjid AND attnum = refobjsubid
      WHERE classid = 'pg_class'::regclass AND objid = i.oid AND refobjid = t.oid
        AND refobjsubid > 0)
FROM pg_class t JOIN pg_namespace n ON n.oid = t.relnamespace
LEFT JOIN (pg_index JOIN pg_class i ON i.oid = indexrelid JOIN pg_am a ON a.oid = i.relam
    AND amname NOT IN ('btree', 'hash', 'gist', 'gin', 'spgist', 'brin'))
  ON indrelid = t.oid AND t.relkind IN ('r', 'm')
WHERE {OURS} AND (t.relkind = 'f' OR i.oid IS NOT NULL OR t.relkind IN ('r', 'm')
  AND t.relam <> (SELECT oid FROM pg_am WHERE amname = 'heap')) ORDER BY t.oid, i.oid"""
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
            source = StatisticsSource(StatisticsSession(connection), name)
            source.session.ask("BEGIN TRANSACTION READ ONLY")
            source.session.set(limited(STATEMENT_S_MAX))
            try:
                yield source
            finally:
                with suppress(psycopg.Error):
                    source.session.ask("ROLLBACK")
    except psycopg.errors.QueryCanceled as error:
        raise ServerError(
            f"{name}: --statistics: a statement takes longer than {STATEMENT_S_MAX:.0f} s, as "
            "where a table is locked: wait for the end of what locks it, and capture again"
        ) from error
    except psycopg.Error as error:
        raise ServerError(f"{name}: {one_line(error)}") from error


@dataclass(frozen=True)
class StatisticsSource:
    """A session on the server, whose one transaction only reads."""

    session: StatisticsSession
    name: str

    @property
    def inquirer(self) -> Inquirer:
        """Asks queries within the same transaction."""
        return PostgresInquirer(self.session.connection.pgconn, _within=True)

    def exported(self, *, texts: bool) -> ServerStatistics:
        """All that the planner knows; `texts`: also values of text-like columns.

        Raises ServerError: of an older version, or of pages of another size; psycopg.Error.
        """
        with self.session.undone():
            self.session.set(SESSION)
            return self._exported(texts=texts)

    def _exported(self, *, texts: bool) -> ServerStatistics:
        ((version_num, block_bytes, user, all_seen),) = self.session.ask(FACTS)
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
        plain = None if texts else frozenset(row[0] for row in self.session.ask(PLAIN_TYPES))
        columns = (
            shared_statistics.exported(self.session.connection)
            if all_seen
            else statistics_view.exported(self.session.connection, version_num)
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
                costs=tuple(costs),
            )
            for name, relkind, pages, rows, visible, size, valid, costs in self.session.ask(
                RELATIONS
            )
        ]
        return ServerStatistics(
            note=WITH_VALUES if texts else WITHOUT_TEXTS,
            format=FORMAT,
            version_num=version_num,
            user=user,
            values="all" if texts else "none",
            locale=self._locale(version_num),
            columns=tuple(_without_texts(columns, plain)),
            extended=tuple(extended),
            ends=tuple(self._ends(plain)),
            hidden=HiddenStatistics() if all_seen else self._hidden(version_num, user),
            beyond=tuple(
                UnknownPart(relation=relation, subject=subject, columns=tuple(columns))
                for relation, subject, columns in self.session.ask(BEYOND)
            ),
            reading=tuple(row[0] for row in self.session.ask(READING.format(body=body))),
            left_out=tuple(lacking),
            relations=tuple(statistics_explain.with_pages(self.session, relations)),
        )

    # --- Ends, and the rest ---

    def _ends(self, plain: frozenset[str] | None) -> Iterator[ColumnEnds]:
        """The ends of columns that lead a whole btree; those that take too long are left out."""
        for relation, column, type_ in self.session.ask(LEADING):
            if plain is not None and type_ not in plain:
                continue
            quoted = '"' + column.replace('"', '""') + '"'
            end = (
                f"(SELECT {quoted} FROM ONLY {relation} WHERE {quoted} IS NOT NULL "
                f"ORDER BY {quoted} {{}} LIMIT 1)::text"
            )
            rows: list[tuple[Any, ...]] = []
            with self.session.tried():
                self.session.set(limited(END_S_MAX))
                rows = self.session.ask(f"SELECT {MARK} {end.format('ASC')}, {end.format('DESC')}")
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
        for (
            name,
            inherited,
            ndistinct,
            dependencies,
            common,
            expressions,
            places,
        ) in self.session.ask(question):
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

    def _locale(self, version_num: int) -> DatabaseLocale | None:
        """Who orders the database's texts, where the system does not."""
        if version_num < LOCALES_FROM:
            return None
        rows = self.session.ask(LOCALE.format(locale=literal(locale_column(version_num))))
        for provider, locale, rules in rows:
            return DatabaseLocale(provider=provider, locale=locale, rules=rules)
        return None

    def _hidden(self, version_num: int, user: str) -> HiddenStatistics:
        """The tables of which the view does not show all."""
        quoted = user if user.isidentifier() else '"' + user.replace('"', '""') + '"'
        return HiddenStatistics(
            parts=tuple(
                UnknownPart(relation=relation, subject=subject, columns=tuple(columns))
                for relation, subject, columns in self.session.ask(HIDDEN)
                if subject != "range" or version_num < statistics_view.RANGES_FROM
            ),
            grant=f"GRANT pg_read_all_data TO {quoted}"
            if version_num >= READ_ALL_FROM
            else f"GRANT SELECT ON pg_statistic, pg_statistic_ext_data TO {quoted}",
        )


def locale_column(version_num: int) -> str:
    """The column of pg_database that has the locale of other providers than the system."""
    return "datlocale" if version_num >= BUILTIN_FROM else "daticulocale"


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
