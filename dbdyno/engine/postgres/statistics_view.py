"""Rows of pg_statistic out of the view pg_stats, for roles that may not read the table.

What the view does not tell follows from a column's type: the operators by which values are equal
or in order, and how they are collated (PostgreSQL's analyze.c, array_typanalyze.c, ts_typanalyze.c,
rangetypes_typanalyze.c).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dbdyno.engine.postgres.shared_statistics import SLOTS
from dbdyno.model.planner_statistics import ColumnStatistics, StatisticsSlot

if TYPE_CHECKING:
    import psycopg

RANGES_FROM = 17_00_00
COMMON, HISTOGRAM, CORRELATION, ELEMENTS, COUNTS, LENGTHS, BOUNDS = range(1, 8)
EMPTY = StatisticsSlot(0, None, None, None, None, None)
FLOAT, LESS = "double precision", "<(double precision,double precision)"
OPERATOR = """(SELECT amopopr::regoperator::text FROM pg_opclass c
    JOIN pg_am m ON m.oid = opcmethod AND amname = 'btree'
    JOIN pg_amop ON amopfamily = opcfamily AND amoplefttype = opcintype
      AND amoprighttype = opcintype AND amopstrategy = {strategy}
    WHERE opcdefault AND (opcintype IN ({type}.oid, {type}.general) OR EXISTS (
      SELECT FROM pg_cast WHERE castsource = {type}.oid AND casttarget = opcintype
      AND castmethod = 'b' AND castcontext = 'i'))
    ORDER BY opcintype = {type}.oid DESC,
      (SELECT typispreferred FROM pg_type p WHERE p.oid = opcintype) DESC LIMIT 1)"""
TYPE = """(SELECT t.oid, CASE
      WHEN typtype = 'e' THEN 'anyenum'::regtype::oid WHEN typtype = 'c' THEN 'record'::regtype::oid
      WHEN typtype = 'r' THEN 'anyrange'::regtype::oid WHEN typcategory = 'A' AND typlen = -1
      THEN 'anyarray'::regtype::oid ELSE t.oid END AS general
    FROM pg_type t WHERE t.oid = {oid})"""
BASE = "(SELECT CASE typtype WHEN 'd' THEN typbasetype ELSE oid END FROM pg_type WHERE oid = {})"
ELEMENT = """(SELECT CASE WHEN e.oid = 'tsvector'::regtype THEN 'text'::regtype::oid
    ELSE typelem END FROM pg_type e WHERE e.oid = whole.oid)"""
COLLATION = """(SELECT quote_ident(cn.nspname) || '.' || quote_ident(collname) FROM pg_collation c
    JOIN pg_namespace cn ON cn.oid = collnamespace WHERE c.oid = {})"""
QUESTION = """SELECT /* dyno capture */ a.attrelid::regclass::text, a.attname::text, inherited,
    null_frac::text, avg_width, n_distinct::text,
    most_common_freqs::text, most_common_vals::text, histogram_bounds::text,
    ARRAY[correlation]::real[]::text, correlation IS NULL, most_common_elem_freqs::text,
    most_common_elems::text, elem_count_histogram::text, {ranges},
    {equal}, {less}, {element_equal}, {collation}, {default}, whole.oid = 'tsvector'::regtype,
    format_type(a.atttypid, NULL), format_type(element.oid, NULL)
FROM pg_stats s JOIN pg_namespace n ON n.nspname = schemaname
JOIN pg_class r ON r.relnamespace = n.oid AND r.relname = tablename
JOIN pg_attribute a ON a.attrelid = r.oid AND a.attname = s.attname
JOIN LATERAL {whole} AS whole ON true
LEFT JOIN LATERAL {element} AS element ON true
WHERE n.nspname !~ '^(pg_|information_schema$)'
ORDER BY a.attrelid, a.attnum, inherited"""
RANGES = "range_length_histogram::text, range_empty_frac::text, range_bounds_histogram::text"


def exported(session: psycopg.Connection[Any], version_num: int) -> list[ColumnStatistics]:
    """The statistics that a role sees in the view. Raises psycopg.Error."""
    from psycopg import Cursor
    from psycopg.rows import tuple_row

    question = QUESTION.format(
        ranges=RANGES if version_num >= RANGES_FROM else "NULL, NULL, NULL",
        equal=OPERATOR.format(strategy=3, type="whole"),
        less=OPERATOR.format(strategy=1, type="whole"),
        element_equal=OPERATOR.format(strategy=3, type="element"),
        collation=COLLATION.format("a.attcollation"),
        default=COLLATION.format("100"),
        whole=TYPE.format(oid=BASE.format("a.atttypid")),
        element=TYPE.format(oid=ELEMENT),
    )
    rows = Cursor(session, row_factory=tuple_row).execute(question.encode()).fetchall()
    return [_row(*row) for row in rows]


def _row(*row: Any) -> ColumnStatistics:
    """A row of pg_statistic; slots that are not used stand at its end."""
    relation, column, inherited, null_share, width, distinct, *rest = row
    slots = list(_slots(*rest))[: len(SLOTS)]
    return ColumnStatistics(
        relation=relation,
        column=column,
        inherited=inherited,
        null_share=null_share,
        width=width,
        distinct=distinct,
        slots=(*slots, *[EMPTY] * (len(SLOTS) - len(slots))),
    )


def _slots(  # noqa: PLR0913 (the columns of a question)
    shares: str | None,
    common: str | None,
    bounds: str | None,
    correlation: str | None,
    uncorrelated: bool,
    element_shares: str | None,
    elements: str | None,
    counts: str | None,
    lengths: str | None,
    empty_share: str | None,
    range_bounds: str | None,
    equal: str | None,
    less: str | None,
    element_equal: str | None,
    collation: str | None,
    default: str | None,
    of_words: bool,
    type_: str,
    element_type: str | None,
) -> Iterator[StatisticsSlot]:
    """The slots that the view shows of a column."""
    if common is not None:
        yield StatisticsSlot(COMMON, equal, collation, shares, common, type_)
    if bounds is not None:
        yield StatisticsSlot(HISTOGRAM, less, collation, None, bounds, type_)
    if not uncorrelated:
        yield StatisticsSlot(CORRELATION, less, collation, correlation, None, None)
    of_elements = default if of_words else collation
    if elements is not None:
        yield StatisticsSlot(
            ELEMENTS, element_equal, of_elements, element_shares, elements, element_type
        )
    if counts is not None:
        yield StatisticsSlot(COUNTS, element_equal, of_elements, counts, None, None)
    if lengths is not None:
        numbers = f"{{{empty_share}}}"
        yield StatisticsSlot(LENGTHS, LESS, None, numbers, lengths, FLOAT)
    if range_bounds is not None:
        yield StatisticsSlot(BOUNDS, None, None, None, range_bounds, type_)
