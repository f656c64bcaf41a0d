"""The normal form of plans of MySQL and MariaDB: FORMAT=JSON without values. Pure.

Both write a tree of blocks and operations, each under a key of its name, whose leaves are tables.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from dbdyno.engine.inquiry import Explained
from dbdyno.model.plan_tree import PlanNode

Raw = Mapping[str, Any]
TABLE, LOOP = "table", "nested_loop"
FILESORT = "using_filesort"
EXPECTED = ("rows_examined_per_scan", "rows")
SORT_KEY = "sort_key"
LITERAL = re.compile(
    r"""(?P<name>`(?:[^`]|``)*`)
    |[bBxXnN]?'(?:[^'\\]|\\.|'')*'
    |"(?:[^"\\]|\\.|"")*"
    |(?<![\w$.])\d[\w.]*""",
    re.VERBOSE | re.DOTALL,
)


def read(text: str) -> Explained:
    """The plan that FORMAT=JSON tells, in its normal form."""
    whole = json.loads(text)
    inputs = tuple(_nodes(whole))
    root = inputs[0] if len(inputs) == 1 else PlanNode(node="plan", inputs=inputs)
    return Explained(root=root if inputs else None, unavailable="" if inputs else "it reads none")


def _nodes(raw: Raw) -> Iterator[PlanNode]:
    """The nodes under the keys of an object, in its order."""
    for key, value in raw.items():
        if key == TABLE and isinstance(value, dict):
            yield _table(value)
        elif key == LOOP and isinstance(value, list):
            yield PlanNode(node="nested loop", inputs=tuple(_of_list(value)))
        elif isinstance(value, dict) and _reads(value):
            yield _operation(key, value)
        elif isinstance(value, list) and any(map(_reads, value)):
            yield PlanNode(node=_words(key), inputs=tuple(_of_list(value)))


def _of_list(values: list[Any]) -> Iterator[PlanNode]:
    for value in values:
        if isinstance(value, dict):
            yield from _nodes(value)


def _reads(value: object) -> bool:
    """Whether a table is anywhere in it."""
    if isinstance(value, dict):
        return TABLE in value or any(map(_reads, value.values()))
    return isinstance(value, list) and any(map(_reads, value))


def _operation(key: str, raw: Raw) -> PlanNode:
    """A block, a sort, a temporary table …; one that does nothing is what is below it."""
    inputs = tuple(_nodes(raw))
    words = _words(key)
    if FILESORT in raw:
        words += " by a sort" if raw[FILESORT] else " by an index"
    if words == "query block" and len(inputs) == 1:
        return inputs[0]
    sort = raw.get(SORT_KEY)
    return PlanNode(
        node=words,
        keys=(f"sort {without_values(sort)}",) if isinstance(sort, str) else (),
        inputs=inputs,
    )


def _table(raw: Raw) -> PlanNode:
    parts = raw.get("used_key_parts", ())
    access = str(raw.get("access_type", "no access"))
    expected = next((raw[key] for key in EXPECTED if raw.get(key) is not None), None)
    rows = raw.get("r_rows")
    return PlanNode(
        node="covering " * bool(raw.get("using_index")) + access,
        relation=str(raw.get("table_name", "")),
        index=str(raw.get("key", "")),
        keys=(f"index {', '.join(map(str, parts))}",) if parts else (),
        expected_rows=None if expected is None else float(expected),
        rows=None if rows is None else float(rows),
        loops=None if rows is None else float(raw.get("r_loops", 1)),
        inputs=tuple(_nodes(raw)),
    )


def without_values(expression: str) -> str:
    """An expression's columns and operators; `?` stands for each value."""
    return LITERAL.sub(lambda match: match["name"] or "?", expression)


def _words(key: str) -> str:
    return key.replace("_", " ").replace("-", " ")
