"""What a PostgreSQL's planner reads on the first pages of indexes, out of the costs of EXPLAIN.

Ordinary roles cannot read these pages, and the planner tells them: a descent of a btree costs by
its height, a scan of a GIN index by the pages of its list of what is not yet in the tree.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
from msgspec import structs

from dbdyno.engine.postgres import plan_form
from dbdyno.engine.postgres.statistics_session import MARK, OURS, StatisticsSession
from dbdyno.model.plan_tree import PlanNode
from dbdyno.model.planner_statistics import RelationSize

LINE_BYTES, TUPLE_BYTES, PAGE_BYTES, FILLED = 4, 8, 8152, 0.7
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
BY_BITMAP = {
    "enable_seqscan": "off",
    "enable_indexscan": "off",
    "enable_bitmapscan": "on",
    "max_parallel_workers_per_gather": "0",
    "random_page_cost": "1",
    "cpu_tuple_cost": "0",
    "cpu_index_tuple_cost": "0",
    "cpu_operator_cost": "0",
}
"""Makes the cost of a scan of a GIN index the number of its pages that are read."""
PAGE_ROWS = 8192 / 3
"""About as many rows stand on a page of a GIN index (selfuncs.c, gincostestimate)."""
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
GIN_INDEXES = f"""SELECT {MARK} x.oid::regclass::text, x.relname::text, t.oid::regclass::text,
    pg_get_expr(indpred, indrelid), format('%s OPERATOR(%I.%s) (SELECT %s)', key,
      (SELECT nspname FROM pg_namespace WHERE oid = oprnamespace), oprname,
      CASE (SELECT typtype FROM pg_type WHERE oid = amoprighttype)
      WHEN 'p' THEN format('%s FROM ONLY %s LIMIT 0', key, t.oid::regclass)
      ELSE format('NULL::%s', format_type(amoprighttype, NULL)) END)
FROM pg_index JOIN pg_class x ON x.oid = indexrelid JOIN pg_class t ON t.oid = indrelid
JOIN pg_namespace n ON n.oid = t.relnamespace JOIN pg_am ON pg_am.oid = x.relam AND amname = 'gin'
JOIN pg_opclass oc ON oc.oid = indclass[0]
JOIN LATERAL (SELECT pg_get_indexdef(x.oid, 1, true) AS key) AS named ON true
JOIN LATERAL (SELECT * FROM pg_amop WHERE amopfamily = opcfamily AND amoplefttype = opcintype
  AND amoppurpose = 's' ORDER BY amopstrategy LIMIT 1) AS first ON true
JOIN pg_operator p ON p.oid = amopopr
WHERE {OURS} AND x.relkind = 'i' AND indisvalid AND has_table_privilege(t.oid, 'SELECT')
  AND has_schema_privilege(t.relnamespace, 'USAGE')"""


def with_pages(
    session: StatisticsSession, relations: Sequence[RelationSize]
) -> Iterator[RelationSize]:
    """The relations, btrees with their heights, GIN indexes with their lists' lengths."""
    indexes = {name: BtreeIndex(*rest) for name, *rest in session.ask(INDEXES)}
    with session.undone():
        session.set(BY_INDEX)
        heights = {name: _height(session, index) for name, index in indexes.items()}
    with session.undone():
        session.set(BY_BITMAP)
        pending = {name: _pending(session, *rest) for name, *rest in session.ask(GIN_INDEXES)}
    for relation in relations:
        if relation.name in pending:
            yield structs.replace(relation, pending=pending[relation.name])
        elif relation.name not in indexes:
            yield relation
        elif (height := heights.get(relation.name)) is not None:
            yield structs.replace(relation, height=height)
        else:
            reckoned = reckoned_height(relation.blocks, indexes[relation.name].width or 0)
            yield structs.replace(relation, height=reckoned, reckoned=True)


class BtreeIndex(NamedTuple):
    """A btree as EXPLAIN is asked for it."""

    bare: str  # its name without its schema
    table: str
    predicate: str | None
    readable: bool
    keys: Sequence[str]
    width: int | None  # of its keys, in bytes


def _height(session: StatisticsSession, index: BtreeIndex) -> int | None:
    """A btree's height, by what a descent costs; None where EXPLAIN does not take it."""
    if not index.readable:
        return None
    where = f" WHERE {index.predicate}" if index.predicate else ""
    query = f"SELECT 1 FROM ONLY {index.table}{where} ORDER BY {', '.join(index.keys)}"
    node = _explained(session, query, index.bare)
    if node is None or node.node != "Index Scan":
        return None
    rows = max(node.expected_rows or 1.0, 2.0)
    cost = (node.start_cost or 0.0) - math.ceil(math.log2(rows))
    return max(0, round(cost / LEVEL_COST - 1))


def _pending(
    session: StatisticsSession, bare: str, table: str, predicate: str | None, condition: str
) -> int:
    """The pages of a GIN index's list: what its scans read beside a descent for each condition."""
    pages = []
    for count in (1, 2):
        conditions = [condition] * count + [f"({predicate})"] * (predicate is not None)
        node = _explained(
            session, f"SELECT 1 FROM ONLY {table} WHERE {' AND '.join(conditions)}", bare
        )
        if node is None or node.cost is None:
            return 0
        pages.append(node.cost - max(1, math.ceil((node.expected_rows or 1.0) / PAGE_ROWS)))
    return max(0, round(2 * pages[0] - pages[1]))


def _explained(session: StatisticsSession, query: str, index: str) -> PlanNode | None:
    """The node of a query's plan that reads an index; None where none does."""
    node = None
    with session.tried():
        ((text,),) = session.ask(f"EXPLAIN {MARK} (FORMAT JSON) {query}")
        root = plan_form.read(msgspec.json.encode(text).decode()).root
        nodes = () if root is None else root.walk()
        node = next((each for each in nodes if each.index == index), None)
    return node


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
