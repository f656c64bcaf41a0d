"""The normal form of PostgreSQL's plans: EXPLAIN's JSON without values, and without what only some
versions write. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import structs

from dbdyno.engine.inquiry import Explained
from dbdyno.model.plan_tree import PlanNode

Raw = Mapping[str, Any]
"""A node as EXPLAIN writes it."""
KEYS = {
    "Sort Key": "sort",
    "Presorted Key": "presorted",
    "Group Key": "group",
    "Hash Key": "group",
    "Cache Key": "cache",
    "Hash Cond": "hash",
    "Merge Cond": "merge",
    "Index Cond": "index",
    "Recheck Cond": "recheck",
    "TID Cond": "tid",
    "Order By": "order",
}
"""The keys of a node whose columns and operators belong to its form; filters do not."""
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


def read(text: str) -> Explained:
    """The plan that EXPLAIN (FORMAT JSON) tells, in its normal form."""
    (whole,) = json.loads(text)
    plan = whole["Plan"]
    pages = [plan.get("Shared Hit Blocks"), plan.get("Shared Read Blocks")]
    settings = whole.get("Settings", {})
    return Explained(
        root=_node(plan, gathered=False),
        pages=None if None in pages else sum(pages),
        settings={name: str(value) for name, value in settings.items()},
    )


def _node(raw: Raw, *, gathered: bool) -> PlanNode:
    """A node with those below it; one that only gathers marks them."""
    below: Sequence[Raw] = raw.get("Plans", ())
    if raw["Node Type"] in GATHER and len(below) == 1:
        return _node(below[0], gathered=True)
    inputs = tuple(_node(node, gathered=gathered) for node in below)
    if raw["Node Type"] in APPEND:
        inputs = folded(inputs)
    return PlanNode(
        node=_name(raw),
        relation=_relation(raw),
        index=str(raw.get("Index Name", "")),
        keys=tuple(_keys(raw)),
        gathered=gathered,
        expected_rows=_number(raw, "Plan Rows"),
        rows=_number(raw, "Actual Rows"),
        removed=_removed(raw),
        loops=_number(raw, "Actual Loops"),
        cost=_number(raw, "Total Cost"),
        start_cost=_number(raw, "Startup Cost"),
        inputs=inputs,
    )


def _name(raw: Raw) -> str:
    """Node, strategy and join type, in the order in which EXPLAIN's text has them."""
    node = raw["Node Type"]
    words = []
    if raw.get("Partial Mode", "Simple") != "Simple":
        words.append(raw["Partial Mode"])
    if raw.get("Parallel Aware"):
        words.append("Parallel")
    if node in ("Aggregate", "SetOp"):
        words += {"Sorted": ["Group"], "Hashed": ["Hash"], "Mixed": ["Mixed"]}.get(
            raw.get("Strategy", ""), []
        )
    if "Join Type" in raw:
        joined = raw["Join Type"]
        base = node.removesuffix(" Join")
        words += [node] if joined == "Inner" else [base, joined, "Join"]
    elif node == "ModifyTable":
        words.append(raw.get("Operation", node))
    else:
        words.append(node)
    if raw.get("Scan Direction") == "Backward":
        words.append("Backward")
    return " ".join(words)


def _relation(raw: Raw) -> str:
    """The relation that a node reads, with its name in the query where that is another."""
    name = next(
        (raw[key] for key in ("Relation Name", "Function Name", "CTE Name") if key in raw), None
    )
    alias = raw.get("Alias")
    if name is None:
        return f"({alias})" if alias and "Scan" in raw["Node Type"] else ""
    return name if alias in (None, name) else f"{name} {alias}"


def _keys(raw: Raw) -> Iterator[str]:
    for key, word in KEYS.items():
        if key in raw:
            texts = raw[key] if isinstance(raw[key], list) else [raw[key]]
            yield f"{word} {', '.join(without_values(str(text)) for text in texts)}"
    for number, of_set in enumerate(raw.get("Grouping Sets", ()), start=1):
        yield from (f"set {number} {text}" for text in _keys(of_set))


def without_values(expression: str) -> str:
    """An expression's columns and operators; `?` stands for each value."""
    text = LITERAL.sub(lambda match: match["name"] or "?", expression)
    return CAST.sub("?", text)


def _number(raw: Raw, key: str) -> float | None:
    value = raw.get(key)
    return None if value is None else float(value)


def _removed(raw: Raw) -> float | None:
    keys = ("Rows Removed by Filter", "Rows Removed by Index Recheck")
    found = [float(raw[key]) for key in keys if key in raw]
    return sum(found) if found else None


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
