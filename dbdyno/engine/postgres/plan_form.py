"""The normal form of PostgreSQL's plans: EXPLAIN's JSON without values, and without what only some
versions write. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Raw, Struct, json, structs

from dbdyno.engine.inquiry import CallPlan
from dbdyno.engine.postgres.sql_syntax import as_calls
from dbdyno.model.plan_tree import PlanNode

Texts = str | tuple[str, ...]
AS_WRITTEN = {"by": "by", "cte": "CTE", "tid": "TID"}
"""Words of a key that do not simply begin with a capital."""


def key_of(name: str) -> str:
    """The key of EXPLAIN's JSON that a field is: `rows_removed_by_filter`."""
    return " ".join(AS_WRITTEN.get(word, word.capitalize()) for word in name.split("_"))


class ExplainNode(Struct, frozen=True, rename=key_of):
    """What is read of a node; keys that only some versions write are none of these."""

    node_type: str
    plans: tuple[ExplainNode, ...] = ()
    partial_mode: str = "Simple"
    parallel_aware: bool = False
    strategy: str = ""
    join_type: str = ""
    operation: str = ""
    scan_direction: str = ""
    relation_name: str = ""
    function_name: str = ""
    cte_name: str = ""
    alias: str = ""
    index_name: str = ""
    plan_rows: float | None = None
    actual_rows: float | None = None
    actual_loops: float | None = None
    rows_removed_by_filter: float | None = None
    rows_removed_by_index_recheck: float | None = None
    total_cost: float | None = None
    startup_cost: float | None = None
    shared_hit_blocks: int | None = None
    shared_read_blocks: int | None = None
    sort_key: Texts = ()
    presorted_key: Texts = ()
    group_key: Texts = ()
    hash_key: Texts = ()
    cache_key: Texts = ()
    hash_cond: Texts = ()
    merge_cond: Texts = ()
    index_cond: Texts = ()
    recheck_cond: Texts = ()
    tid_cond: Texts = ()
    order_by: Texts = ()
    grouping_sets: tuple[Raw, ...] = ()

    @property
    def keys(self) -> Iterator[str]:
        """Columns and operators that belong to its form, without values; filters do not."""
        of_words = {
            "sort": self.sort_key,
            "presorted": self.presorted_key,
            "group": self.group_key or self.hash_key,
            "cache": self.cache_key,
            "hash": self.hash_cond,
            "merge": self.merge_cond,
            "index": self.index_cond,
            "recheck": self.recheck_cond,
            "tid": self.tid_cond,
            "order": self.order_by,
        }
        for word, texts in of_words.items():
            listed = (texts,) if isinstance(texts, str) else texts
            if listed:
                yield f"{word} {', '.join(map(without_values, listed))}"
        if self.grouping_sets:
            yield f"{len(self.grouping_sets)} grouping sets"


class ExplainOutput(Struct, frozen=True, rename=key_of):
    """What EXPLAIN (FORMAT JSON) tells of a statement."""

    plan: ExplainNode
    settings: Mapping[str, str] = {}


NAME = "name"
GATHER = ("Gather", "Gather Merge")
APPEND = ("Append", "Merge Append")
LITERAL = re.compile(
    r"""(?P<name>"(?:[^"]|"")*")
    |[eE]'(?:[^'\\]|\\.|'')*'
    |(?:[bBxXnN]|[uU]&)?'(?:[^']|'')*'
    |\((?:InitPlan|SubPlan)\s[^()]*\)(?:\.col\d+)?
    |\$\d+
    |(?<![\w$"])(?:\d[\w.]*|\.\d+)
    |(?<![\w$".])(?:true|false|TRUE|FALSE)(?![\w$"(.])""",
    re.VERBOSE | re.DOTALL,
)
"""A value of a query or of a subplan, in an expression as the server writes it; names stay."""
CAST = re.compile(
    r"""(?P<value>\?|\(\?\))::(?:"(?:[^"]|"")*"|[a-z_][\w$.]*)
    (?:\ (?:precision|varying))?(?:\([?,\s]*\))?(?:\ with(?:out)?\ time\ zone)?(?:\[\])*""",
    re.VERBOSE,
)
"""A cast of a value, which versions write differently."""


NAMELESS = re.compile(r'"?\*SELECT\*(?: \d+)?"?|\bunnamed_subquery(?:_\d+)?\b')
"""What servers call a subquery that has no name: to 18 "*SELECT* 2", then unnamed_subquery_1."""
SUBQUERY = "unnamed_subquery"
STRATEGIES = {"Sorted": "Group", "Hashed": "Hash", "Mixed": "Mixed"}
"""How a node groups, in the words of EXPLAIN's text; a plain one has none."""


def read(text: str) -> CallPlan:
    """The plan that EXPLAIN (FORMAT JSON) tells, in its normal form."""
    (whole,) = json.decode(text, type=tuple[ExplainOutput, ...])
    hit, missed = whole.plan.shared_hit_blocks, whole.plan.shared_read_blocks
    return CallPlan(
        root=_node(whole.plan, gathered=False),
        pages=None if hit is None or missed is None else hit + missed,
        settings=whole.settings,
    )


def _node(raw: ExplainNode, *, gathered: bool) -> PlanNode:
    """A node with those below it; one that only gathers marks them."""
    if raw.node_type in GATHER and len(raw.plans) == 1:
        return _node(raw.plans[0], gathered=True)
    inputs = tuple(_node(_as_grouped(raw, node), gathered=gathered) for node in raw.plans)
    if raw.node_type in APPEND:
        inputs = folded(tuple(map(without_number, inputs)))
    removed = (raw.rows_removed_by_filter, raw.rows_removed_by_index_recheck)
    return PlanNode(
        node=_name(raw),
        relation=_relation(raw),
        index=raw.index_name,
        keys=tuple(raw.keys),
        gathered=gathered,
        expected_rows=raw.plan_rows,
        rows=raw.actual_rows,
        removed=sum(filter(None, removed)) if removed != (None, None) else None,
        loops=raw.actual_loops,
        cost=raw.total_cost,
        start_cost=raw.startup_cost,
        inputs=inputs,
    )


def _as_grouped(raw: ExplainNode, below: ExplainNode) -> ExplainNode:
    """An input whose rows a node groups in order, sorted by what it groups by alone.

    From 16 on a sort also has the order of an aggregate, which before sorted each group itself.
    """
    if raw.strategy != "Sorted" or not raw.group_key or isinstance(raw.group_key, str):
        return below
    if below.node_type in GATHER and len(below.plans) == 1:
        return structs.replace(below, plans=(_as_grouped(raw, below.plans[0]),))
    if not below.node_type.endswith("Sort") or isinstance(below.sort_key, str):
        return below
    return structs.replace(below, sort_key=below.sort_key[: len(raw.group_key)])


def _name(raw: ExplainNode) -> str:
    """Node, strategy and join type, in the order in which EXPLAIN's text has them."""
    words = [
        raw.partial_mode if raw.partial_mode != "Simple" else "",
        "Parallel" if raw.parallel_aware else "",
        STRATEGIES.get(raw.strategy, ""),
    ]
    if raw.join_type not in ("", "Inner"):
        words += [raw.node_type.removesuffix(" Join"), raw.join_type, "Join"]
    else:
        words.append(raw.operation if raw.node_type == "ModifyTable" else raw.node_type)
    words.append("Backward" if raw.scan_direction == "Backward" else "")
    return " ".join(filter(None, words))


def _relation(raw: ExplainNode) -> str:
    """The relation that a node reads, with its name in the query where that is another."""
    name = raw.relation_name or raw.function_name or raw.cte_name
    alias = NAMELESS.sub(SUBQUERY, raw.alias)
    if not name:
        return f"({alias})" if alias and "Scan" in raw.node_type else ""
    return name if alias in ("", name) else f"{name} {alias}"


def without_values(expression: str) -> str:
    """An expression's columns and operators; `?` stands for each value."""
    named = NAMELESS.sub(SUBQUERY, expression)
    text = LITERAL.sub(lambda match: match.group(NAME) or "?", named)
    return as_calls(CAST.sub("?", text))


NUMBERED = re.compile(r" \S+_\d+$")
"""The name that versions from 13 on give to a partition in a query, behind its own."""


def without_number(node: PlanNode) -> PlanNode:
    """The tree of a partition by its own name alone."""
    return structs.replace(
        node,
        relation=NUMBERED.sub("", node.relation),
        keys=tuple(map(_unqualified, node.keys)),
        inputs=tuple(map(without_number, node.inputs)),
    )


def folded(inputs: Sequence[PlanNode]) -> tuple[PlanNode, ...]:
    """The inputs with neighbours of one form, such as partitions of a table, as one."""
    groups: list[list[PlanNode]] = []
    for node in inputs:
        if groups and nameless(groups[-1][0]) == nameless(node):
            groups[-1].append(node)
        else:
            groups.append([node])
    return tuple(_summed(group) if len(group) > 1 else group[0] for group in groups)


def nameless(node: PlanNode) -> PlanNode:
    """The form of a tree without the names that differ between partitions."""
    form = node.form
    return structs.replace(
        form,
        relation="?" if form.relation else "",
        index="?" if form.index else "",
        keys=tuple(_unqualified(key) for key in form.keys),
        inputs=tuple(nameless(below) for below in form.inputs),
    )


def _unqualified(key: str) -> str:
    return re.sub(r"""(?:"(?:[^"]|"")*"|[\w$]+)\.(?=["\w])""", "", key)


def _summed(group: Sequence[PlanNode]) -> PlanNode:
    """The first of several nodes of one form, with the rows and costs of all."""

    def total(name: str) -> float | None:
        values = [getattr(node, name) for node in group]
        return None if None in values else sum(values)

    first = group[0]
    return structs.replace(
        first,
        keys=tuple(_unqualified(key) for key in first.keys),
        partitions=len(group),
        expected_rows=total("expected_rows"),
        rows=total("rows"),
        removed=total("removed"),
        cost=total("cost"),
        inputs=tuple(map(_summed, zip(*(node.inputs for node in group), strict=True))),
    )
