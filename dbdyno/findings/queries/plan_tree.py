"""Where two plans of a query part: the first difference from the leaves up, in a line. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from msgspec import structs

from dbdyno.model.plan_tree import PlanNode
from dbdyno.parts.number import listed

BLOCKING = ("Sort", "Hash", "Aggregate", "Materialize", "Memoize")
"""What reads all of its input before it passes on a row; what a LIMIT spares ends there."""
MISJUDGED_MIN = 2.0
"""Rows that came, by those that were expected, or the other way, from which on it is said."""
ESTIMATE_MIN = 10.0
"""The same for expectations of two arms."""
HASH = "Hash"
DEPTH_MAX = 4
PARALLEL = "Parallel"
INDENT = "  "


@dataclass(frozen=True)
class RowEstimate:
    """A node's rows in a run: as many as were expected in all, and as many as it has read."""

    node: PlanNode
    expected: float
    read: float

    @property
    def misjudged(self) -> float:
        """How many times more, or less, than expected it has read; 1: as expected."""
        low, high = sorted((max(self.expected, 1.0), max(self.read, 1.0)))
        return high / low


def parting(base: PlanNode, other: PlanNode) -> str:
    """Where two trees part, in a line; with what the other expected there and has read.

    `f: Sort over Seq Scan → Incremental Sort over Index Scan f_grp; expected 10 rows, read 285,000`
    """
    base, other = _bare(base), _bare(other)
    first, second = _inward(*_smallest(base, other))
    relations = first.relations or second.relations
    place = f"{listed(relations)}: " if relations else ""
    before, after = _described(first, second), _described(second, first)
    if before == after:
        before, after = _keys(first, second), _keys(second, first)
    return f"{place}{before} → {after}{_misjudged(other, second)}"


def _bare(node: PlanNode) -> PlanNode:
    """The tree without the nodes that only belong to a hash join above them."""
    while node.node == HASH and len(node.inputs) == 1:
        node = node.inputs[0]
    return structs.replace(node, inputs=tuple(map(_bare, node.inputs)))


def _smallest(base: PlanNode, other: PlanNode) -> tuple[PlanNode, PlanNode]:
    """The smallest subtrees over the same relations that differ; the whole trees where none do."""
    of_base, of_other = _by_relations(base), _by_relations(other)
    for relations in sorted(
        of_base.keys() & of_other.keys(), key=lambda names: (len(names), names)
    ):
        first, second = of_base[relations], of_other[relations]
        if relations and first.form != second.form:
            return first, second
    return base, other


def _by_relations(root: PlanNode) -> dict[tuple[str, ...], PlanNode]:
    """By what they read, the topmost subtrees."""
    topmost: dict[tuple[str, ...], PlanNode] = {}
    for node in root.walk():
        topmost.setdefault(node.relations, node)
    return topmost


def _inward(first: PlanNode, second: PlanNode) -> tuple[PlanNode, PlanNode]:
    """The same without nodes at the top that are alike, down to where one input alone differs."""
    while _head(first) == _head(second) and len(first.inputs) == len(second.inputs):
        differing = [
            (below, beside)
            for below, beside in zip(first.inputs, second.inputs, strict=True)
            if below.form != beside.form
        ]
        if len(differing) != 1:
            break
        first, second = differing[0]
    return first, second


def _head(node: PlanNode) -> PlanNode:
    return structs.replace(node.form, inputs=())


def _described(node: PlanNode, other: PlanNode) -> str:
    """The nodes from the top down to what both trees have: `Sort over Seq Scan`."""
    alike = {below.form for below in other.walk()}
    many = len(set(node.relations)) > 1

    def words(at: PlanNode, depth: int) -> str:
        below = [] if depth == DEPTH_MAX else [node for node in at.inputs if node.form not in alike]
        named = name(at, relation=many)
        inner = " and ".join(words(node, depth + 1) for node in below)
        return f"{named} over {inner}" if inner else named

    return words(node, 1)


def name(node: PlanNode, *, relation: bool) -> str:
    """A node in words: `Index Scan f_grp`, `Parallel Sort` where several processes do it."""
    of = f"of {node.relation}" if relation and node.relation else ""
    times = f"({node.partitions} partitions)" if node.partitions else ""
    parallel = PARALLEL if node.gathered and PARALLEL not in node.node else ""
    return " ".join(filter(None, (parallel, node.node, node.index, of, times)))


def _keys(node: PlanNode, other: PlanNode) -> str:
    """The first node whose keys the other tree lacks, with these keys."""
    theirs = {key for below in other.walk() for key in below.keys}
    for below in node.walk():
        own = [key for key in below.keys if key not in theirs]
        if own:
            return f"{name(below, relation=False)} by {'; '.join(own)}"
    return f"{name(node, relation=False)} in another order"


def _misjudged(root: PlanNode, within: PlanNode) -> str:
    """What was expected where the tree was mistaken most; nothing where it did not run."""
    inside = {id(node) for node in within.walk()}
    misjudged = [estimate for estimate in estimates(root) if id(estimate.node) in inside]
    worst = max(misjudged, key=lambda estimate: estimate.misjudged, default=None)
    if worst is None or worst.misjudged < MISJUDGED_MIN:
        return ""
    return f"; expected {_count(worst.expected)} rows, read {_count(worst.read)}"


def _count(rows: float) -> str:
    return f"{max(rows, 0):,.0f}"


def estimates(root: PlanNode, share: float = 1.0) -> Iterator[RowEstimate]:
    """Each scan of a tree that ran; `share`: of its rows that are asked for, by a LIMIT above."""
    loops = root.loops or 0.0
    if root.relation and root.rows is not None and root.expected_rows is not None and loops:
        # Below a LIMIT the planner hopes to find enough rows soon, so that those it skips count.
        skipped = root.removed or 0.0 if share < 1.0 else 0.0
        yield RowEstimate(root, root.expected_rows * loops * share, (root.rows + skipped) * loops)
    for place, below in enumerate(root.inputs):
        yield from estimates(below, _asked(root, below, share) if not place else 1.0)


def _asked(node: PlanNode, below: PlanNode, share: float) -> float:
    """The share of an input's rows that a node is expected to ask for."""
    if node.node == "Limit" and node.expected_rows and below.expected_rows:
        return min(1.0, share * node.expected_rows / below.expected_rows)
    blocks = any(node.node.split(" ")[-1] == word for word in BLOCKING)
    return 1.0 if blocks and node.node != "Incremental Sort" else share


def other_estimate(base: PlanNode, other: PlanNode) -> str:
    """The node of two trees of one form whose expected rows differ most, if much; else nothing."""
    misjudged = [
        RowEstimate(first, first.expected_rows, second.expected_rows)
        for first, second in zip(base.walk(), other.walk(), strict=True)
        if first.expected_rows is not None and second.expected_rows is not None
    ]
    worst = max(misjudged, key=lambda estimate: estimate.misjudged, default=None)
    if worst is None or worst.misjudged < ESTIMATE_MIN:
        return ""
    before, after = _count(worst.expected), _count(worst.read)
    return f"{name(worst.node, relation=True)}: {before} rows expected, {after} on the arm"


def lines(root: PlanNode, depth: int = 0) -> Iterator[str]:
    """A tree as lines, each input further in."""
    keys = f": {'; '.join(root.keys)}" if root.keys else ""
    rows = "" if root.expected_rows is None else f"{_count(root.expected_rows)} rows expected"
    if root.rows is not None:
        rows += f", {_count(root.rows * (root.loops or 0.0))} came"
    said = f"  ({rows})" if rows else ""
    yield f"{INDENT * depth}{name(root, relation=True)}{keys}{said}"
    for below in root.inputs:
        yield from lines(below, depth + 1)
