"""The normal form of plans of MySQL and MariaDB: FORMAT=JSON without values. Pure.

Both write a tree of blocks and operations, each under a key of its name, whose leaves are tables;
their words differ, and those of one product with its versions. What is kept is what decides how the
work is done: each table's access and index, the order of a join, sorts and temporary tables.

MariaDB before 10.9 writes the tables of a join under one key, again and again, so that objects are
read as pairs.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from msgspec import Struct, convert, structs

from dbdyno.engine.inquiry import CallPlan
from dbdyno.model.plan_tree import PlanNode

Form = TypeVar("Form", bound=Struct)

TABLE, BLOCK, UNION = "table", "query_block", "union_result"
PARTS_OF_UNION = "query_specifications"
BUFFERED = "block-nl-join"
SUBQUERIES = re.compile(r"subqueries$")
MERGING, MESSAGE = "index_merge", "message"
FILESORT, TEMPORARY, LOOP = "filesort", "temporary table", "nested loop"
PURPOSES = {
    "ordering_operation": "for order",
    "grouping_operation": "for groups",
    "duplicates_removal": "for distinct rows",
    "duplicate_removal": "for distinct rows",
    "windowing": "for windows",
    "buffer_result": "for the result",
}
"""Operations of MySQL that do nothing of their own: a sort or a temporary table does them."""
OPERATIONS = {
    "filesort": FILESORT,
    "temporary_table": TEMPORARY,
    "windowing": "window",
    "window_functions_computation": "window",
    "materialized_from_subquery": "materialized",
    UNION: "union",
}
TRANSPARENT = frozenset({BLOCK, "nested_loop", "read_sorted_file", "materialization"})
"""What is nothing beside what is below it."""
PAGES = re.compile(r'"pages_accessed": (\d+)')
"""How many pages of InnoDB an access of a run has asked for; MariaDB tells it from 10.11 on."""
LISTS = frozenset({"sorts", "union", "sort_union", "intersect"})
DIRECTION = re.compile(r"\s+(?:asc|desc)\b", re.IGNORECASE)
"""Of a sort's key; not all versions tell it."""
LITERAL = re.compile(
    r"""(?P<name>`(?:[^`]|``)*`)
    |[bBxXnN]?'(?:[^'\\]|\\.|'')*'
    |"(?:[^"\\]|\\.|"")*"
    |(?<![\w$.])\d[\w.]*""",
    re.VERBOSE | re.DOTALL,
)
NAME = "name"


@dataclass(frozen=True)
class RawObject:
    """An object of JSON whose keys may come several times."""

    pairs: Sequence[tuple[str, Any]]

    def typed(self, form: type[Form]) -> Form:
        """What a type reads of it. Raises msgspec.ValidationError."""
        return convert(plain(self), form, strict=False)


def plain(value: Any) -> Any:
    """A value of JSON with its objects as mappings, of which each key has its last value.

    Lists of MariaDB before 10.9 are objects, too, whose key is what each member is.
    """
    if isinstance(value, RawObject):
        return {key: listed(inner) if key in LISTS else plain(inner) for key, inner in value.pairs}
    return list(map(plain, value)) if isinstance(value, list) else value


def listed(value: Any) -> Any:
    """The members of a list, also of one that is written as an object."""
    if isinstance(value, RawObject):
        return [{key: plain(inner)} for key, inner in value.pairs]
    return plain(value)


def read(text: str) -> CallPlan:
    """The plan that FORMAT=JSON tells, in its normal form."""
    try:  # MariaDB leaves quotes of names as they are under ANSI_QUOTES, which is no JSON
        whole = json.loads(text, object_pairs_hook=RawObject)
        root = _joined(_inputs(whole))
        cost = whole.typed(MysqlPlan).cost
    except (AttributeError, ValueError):
        return CallPlan(unavailable="the server's plan has another form")
    if root is None:
        return CallPlan(unavailable="it reads none")
    pages = [int(match[1]) for match in PAGES.finditer(text)]
    return CallPlan(
        root=root if cost is None else structs.replace(root, cost=cost),
        pages=sum(pages) if pages else None,
    )


class Cost(Struct, frozen=True):
    """The cost of a query, as MySQL tells it."""

    query_cost: float | None = None


class QueryBlock(Struct, frozen=True):
    """What is read of a whole query: its cost, as MySQL or as MariaDB tells it."""

    cost_info: Cost = Cost()
    cost: float | None = None


class MysqlPlan(Struct, frozen=True):
    """What is read of a plan beside its nodes."""

    query_block: QueryBlock = QueryBlock()

    @property
    def cost(self) -> float | None:
        """The cost of the whole query; None: the version does not tell it."""
        block = self.query_block
        return block.cost if block.cost_info.query_cost is None else block.cost_info.query_cost


class FileSort(Struct, frozen=True):
    """A sort of MariaDB."""

    sort_key: str = ""


class Sort(Struct, frozen=True):
    """One of the sorts of MariaDB's windows."""

    filesort: FileSort = FileSort()


class PlannedWindow(Struct, frozen=True):
    """One of MySQL's windows."""

    using_filesort: bool = False
    using_temporary_table: bool = False
    filesort_key: tuple[str, ...] = ()


class PlanOperation(Struct, frozen=True):
    """What is read of a block or an operation."""

    message: str = ""
    using_filesort: bool = False
    using_temporary_table: bool = False
    windows: tuple[PlannedWindow, ...] = ()
    sort_key: str = ""
    sorts: tuple[Sort, ...] = ()
    access_type: str = ""
    join_type: str = ""

    @property
    def sort_keys(self) -> tuple[str, ...]:
        """By what it sorts: itself, and each of its windows."""
        windows = [", ".join(window.filesort_key) for window in self.windows]
        written = [self.sort_key, *(sort.filesort.sort_key for sort in self.sorts), *windows]
        return tuple(f"sort {without_values(DIRECTION.sub('', key))}" for key in written if key)


# --- Blocks and operations ----------------------------------------------------------------------


def _inputs(raw: RawObject) -> tuple[PlanNode, ...]:
    """The nodes under the keys of an object: those that are joined as one, then its subqueries."""
    joined: list[PlanNode] = []
    beside: list[PlanNode] = []
    for key, value in raw.pairs:
        if SUBQUERIES.search(key) and isinstance(value, list):
            beside += [PlanNode(node="subquery", inputs=_inputs(each)) for each in _objects(value)]
        elif isinstance(value, RawObject):
            joined += _under(key, value)
        elif isinstance(value, list) and key != PARTS_OF_UNION:
            node = _operated(
                key, RawObject([pair for each in _objects(value) for pair in each.pairs])
            )
            joined += [] if node is None else [node]
    message = next((value for key, value in raw.pairs if key == MESSAGE), None)
    if isinstance(message, str) and not joined:
        joined.append(PlanNode(node=f"no access: {without_values(message).lower()}"))
    first = _joined(joined)
    return (*(() if first is None else (first,)), *beside)


def _objects(values: Sequence[object]) -> list[RawObject]:
    return [value for value in values if isinstance(value, RawObject)]


def _under(key: str, value: RawObject) -> list[PlanNode]:
    """The nodes of an object under its key."""
    if key == TABLE:
        return [_table(value)]
    if key == BUFFERED:
        return [_buffered(value)]
    node = _operated(key, value)
    return [] if node is None else [node]


def _joined(nodes: Sequence[PlanNode]) -> PlanNode | None:
    """Several nodes as the loop that joins them, whose order is a part of its form."""
    if len(nodes) < 2:
        return nodes[0] if nodes else None
    order = " then ".join(node.relations[0] for node in nodes if node.relations)
    return PlanNode(node=LOOP, keys=(order,) if order else (), inputs=tuple(nodes))


def _operated(key: str, raw: RawObject) -> PlanNode | None:
    """A block, a sort, a temporary table …; None: it reads nothing."""
    if key == UNION:
        return _union(raw)
    inputs = _inputs(raw)
    if not inputs:
        return None
    if key in TRANSPARENT:
        return _single(inputs)
    operation = raw.typed(PlanOperation)
    needed = _needed(PURPOSES[key], operation, inputs) if key in PURPOSES else None
    if key in PURPOSES and key not in OPERATIONS:
        return needed or _single(inputs)
    words = OPERATIONS.get(key, key.replace("_", " ").replace("-", " "))
    return PlanNode(node=words, keys=operation.sort_keys, inputs=(needed,) if needed else inputs)


def _single(inputs: tuple[PlanNode, ...]) -> PlanNode:
    return inputs[0] if len(inputs) == 1 else PlanNode(node="query block", inputs=inputs)


def _needed(
    purpose: str, operation: PlanOperation, inputs: tuple[PlanNode, ...]
) -> PlanNode | None:
    """The sort, over the temporary table, that an operation of MySQL needs; None: neither."""
    node = None
    every: list[PlanOperation | PlannedWindow] = [operation, *operation.windows]
    if any(each.using_temporary_table for each in every):
        node = PlanNode(node=TEMPORARY, keys=(purpose,), inputs=inputs)
    if any(each.using_filesort for each in every):
        node = PlanNode(node=FILESORT, keys=(purpose,), inputs=(node,) if node else inputs)
    return node


def _union(raw: RawObject) -> PlanNode:
    operation = raw.typed(PlanOperation)
    parts = [part for key, value in raw.pairs if key == PARTS_OF_UNION for part in _objects(value)]
    inputs = tuple(node for part in parts for node in _inputs(part))
    # MariaDB tells of its table that rows pass by, and MySQL whether there is one.
    through = operation.using_temporary_table or bool(operation.access_type)
    return PlanNode(node="union by a temporary table" if through else "union", inputs=inputs)


# --- Tables -------------------------------------------------------------------------------------


class Key(Struct, frozen=True):
    """An index that is read beside the table's own."""

    key: str = ""


class IndexRange(Struct, frozen=True):
    """A range of such an index."""

    range: Key = Key()


class PlannedTable(Struct, frozen=True):
    """What is read of a table's access."""

    table_name: str = ""
    access_type: str = ""
    key: str = ""
    used_key_parts: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    using_index: bool = False
    using_index_for_group_by: bool | str = False
    using_index_for_skip_scan: bool = False
    backward_index_scan: bool = False
    using_join_buffer: str = ""
    using_MRR: bool = False
    mrr_type: str = ""
    first_match: str = ""
    loosescan: bool = False
    message: str = ""
    insert: bool = False
    replace: bool = False
    update: bool = False
    delete: bool = False
    rows: float | None = None
    rows_examined_per_scan: float | None = None
    r_rows: float | None = None
    r_loops: float | None = None
    rowid_filter: IndexRange = IndexRange()
    index_merge: Mapping[str, Any] = {}


def _table(raw: RawObject) -> PlanNode:
    """A table with how it is read; its access is called as EXPLAIN calls it."""
    table = raw.typed(PlannedTable)
    expected = table.rows if table.rows_examined_per_scan is None else table.rows_examined_per_scan
    chosen = table.rowid_filter.range.key
    parts = (f"index {', '.join(table.used_key_parts)}",) if table.used_key_parts else ()
    filters = (f"rowid filter {chosen}",) if chosen else ()
    below = [pair for pair in raw.pairs if pair[0] not in (MERGING, MESSAGE)]
    return PlanNode(
        node=_access(table),
        relation=table.table_name,
        index=table.key or _merged(table),
        keys=(*parts, *filters, *_ways(table)),
        partitions=len(table.partitions) if len(table.partitions) > 1 else 0,
        expected_rows=expected,
        rows=table.r_rows if table.r_rows is not None else 0.0 if table.r_loops == 0 else None,
        loops=1.0 if table.r_loops is None and table.r_rows is not None else table.r_loops,
        inputs=_inputs(RawObject(below)),
    )


READ_ONCE = frozenset({"const", "system"})
"""Read while the query is planned; versions differ in whether they say that the index suffices."""
CHANGES = ("insert", "replace", "update", "delete")


def _access(table: PlannedTable) -> str:
    """In words how a table is accessed, and what is done to it: `update by range`."""
    does = next((word for word in CHANGES if getattr(table, word)), "")
    if does in ("insert", "replace"):
        return does  # EXPLAIN says ALL then, though nothing is read
    words = [
        "covering" if table.using_index and table.access_type not in READ_ONCE else "",
        table.access_type or f"no access: {without_values(table.message).lower()}".rstrip(": "),
        "backward" if table.backward_index_scan else "",
    ]
    access = " ".join(filter(None, words))
    access += f" by {table.using_join_buffer.lower()}" if table.using_join_buffer else ""
    return f"{does} by {access}" if does else access


def _merged(table: PlannedTable) -> str:
    """The indexes that MariaDB brings together, as MySQL names them: `union(f_a,f_b)`."""
    for way, parts in table.index_merge.items():
        ranges = convert(parts, tuple[IndexRange, ...], strict=False)
        return f"{way}({','.join(each.range.key for each in ranges)})"
    return ""


def _ways(table: PlannedTable) -> Iterator[str]:
    """What else decides how many rows are read, or in which order."""
    if table.using_index_for_group_by:
        yield "a row for each group"
    if table.using_index_for_skip_scan:
        yield "skip scan"
    if table.using_MRR or table.mrr_type:
        yield "multi-range read"
    if table.first_match:
        yield "first match"
    if table.loosescan:
        yield "loose scan"


def _buffered(raw: RawObject) -> PlanNode:
    """A table of MariaDB that is joined by a buffer of rows: `ALL by bnl`."""
    inner = next((value for key, value in raw.pairs if key == TABLE), None)
    node = _table(inner) if isinstance(inner, RawObject) else PlanNode(node="no access")
    by = raw.typed(PlanOperation).join_type.lower() or "bnl"
    return structs.replace(node, node=f"{node.node} by {by}")


def without_values(expression: str) -> str:
    """An expression's columns and operators; `?` stands for each value."""
    return LITERAL.sub(lambda match: match.group(NAME) or "?", expression)


# --- What a run of MySQL has read ---------------------------------------------------------------

ACCESS = re.compile(
    r"^ *-> (?:[A-Z][a-z]+(?:[ -][a-z]+)*) on (?P<table>\S+)"
    r"(?: using (?P<index>\S+))?.*?\((?:never executed|actual time=\S+ rows=(?P<rows>[\d.e+-]+)"
    r" loops=(?P<loops>[\d.e+-]+))\)\s*$"
)
"""A line of EXPLAIN ANALYZE that reads a table: `-> Index lookup on f using f_x (x=7) …`."""


@dataclass(frozen=True)
class TableAccess:
    """What one access of a run has read: rows each time, and how often."""

    table: str
    index: str
    rows: float
    loops: float


def accessed(tree: str) -> Iterator[TableAccess]:
    """What the lines of EXPLAIN ANALYZE say of tables, in their order."""
    for line in tree.splitlines():
        match = ACCESS.match(line)
        if match is not None:
            yield TableAccess(
                table=match.group("table").strip("`"),
                index=(match.group("index") or "").strip("`"),
                rows=float(match.group("rows") or 0.0),
                loops=float(match.group("loops") or 0.0),
            )


def with_rows(root: PlanNode, tree: str) -> PlanNode:
    """The plan with the rows of a run, as EXPLAIN ANALYZE's tree tells them for each access.

    Accesses are found by table and index, in their order; one that is not there stays without.
    """
    left = list(accessed(tree))

    def taken(node: PlanNode) -> PlanNode:
        fits = (
            number
            for number, each in enumerate(left)
            if (each.table, each.index) == (node.relation, node.index)
        )
        place = next(fits, None) if node.relation and node.node != MERGING else None
        ran = None if place is None else left.pop(place)
        return structs.replace(
            node,
            rows=node.rows if ran is None else ran.rows,
            loops=node.loops if ran is None else ran.loops,
            inputs=tuple(map(taken, node.inputs)),
        )

    return taken(root)
