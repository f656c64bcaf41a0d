"""The normal form of plans of MySQL and MariaDB: FORMAT=JSON without values. Pure.

Both write a tree of blocks and operations, each under a key of its name, whose leaves are tables.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct, convert

from dbdyno.engine.inquiry import Explained
from dbdyno.model.plan_tree import PlanNode

Raw = Mapping[str, Any]
TABLE, LOOP = "table", "nested_loop"
FILESORT = "using_filesort"
NAME = "name"
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


class Table(Struct, frozen=True):
    """What is read of a table's access."""

    table_name: str = ""
    access_type: str = "no access"
    key: str = ""
    used_key_parts: tuple[str, ...] = ()
    using_index: bool = False
    rows: float | None = None
    rows_examined_per_scan: float | None = None
    r_rows: float | None = None
    r_loops: float = 1.0


def _table(raw: Raw) -> PlanNode:
    table = convert(raw, Table, strict=False)
    expected = table.rows if table.rows_examined_per_scan is None else table.rows_examined_per_scan
    return PlanNode(
        node="covering " * table.using_index + table.access_type,
        relation=table.table_name,
        index=table.key,
        keys=(f"index {', '.join(table.used_key_parts)}",) if table.used_key_parts else (),
        expected_rows=expected,
        rows=table.r_rows,
        loops=None if table.r_rows is None else table.r_loops,
        inputs=tuple(_nodes(raw)),
    )


def without_values(expression: str) -> str:
    """An expression's columns and operators; `?` stands for each value."""
    return LITERAL.sub(lambda match: match.group(NAME) or "?", expression)


def _words(key: str) -> str:
    return key.replace("_", " ").replace("-", " ")
