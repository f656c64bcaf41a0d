"""plan_trees.json of a run (docs/results.md): how one arm would run an application's queries.

Trees are kept in a normal form: no value of a query, no text of a condition, no cost that only some
versions tell.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct, structs

Moment = Literal["first", "again"]
"""`again`: by other statistics, of another sample of the rows."""


class PlanNode(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A node of a plan, with those that feed it."""

    node: str  # "Parallel Seq Scan", "Hash Left Join"
    relation: str = ""  # that it reads, as the query calls it: "orders o"
    index: str = ""
    keys: tuple[str, ...] = ()  # "sort f.grp", "index (f.x = ?)": columns and operators, no values
    gathered: bool = False  # whether several processes do it, and those below
    partitions: int = 0  # so many nodes of one form it stands for; 0: itself
    expected_rows: float | None = None  # each time that it runs
    rows: float | None = None  # that came each time; None: the query did not run
    removed: float | None = None  # read each time, and not passed on
    loops: float | None = None
    cost: float | None = None  # of it and those below, in the planner's unit
    start_cost: float | None = None  # up to its first row
    inputs: tuple[PlanNode, ...] = ()

    def walk(self) -> Iterator[PlanNode]:
        """The node, then those below, each before its own inputs."""
        yield self
        for below in self.inputs:
            yield from below.walk()

    @property
    def ran(self) -> bool:
        """Whether it has the rows of a run: of some statements no server tells them."""
        return any(node.loops is not None for node in self.walk())

    @property
    def form(self) -> PlanNode:
        """The tree without what statistics and a run say of it; equal where plans are."""
        return structs.replace(
            self,
            expected_rows=None,
            rows=None,
            removed=None,
            loops=None,
            cost=None,
            start_cost=None,
            inputs=tuple(node.form for node in self.inputs),
        )

    @property
    def relations(self) -> tuple[str, ...]:
        """The relations that it and those below read, in the order of their names."""
        return tuple(sorted(node.relation for node in self.walk() if node.relation))


class PlanTree(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The plan of a query for one tuple of values."""

    query: str
    place: int = 1  # of the tuple among the tuples that were tried, the heaviest first
    moment: Moment = "first"
    generic: bool = False  # for any values
    root: PlanNode | None = None
    unavailable: str = ""  # why there is none
    ran: bool = False  # whether rows are those of a run
    pages: int | None = None  # that the run has asked for
    settings: Mapping[str, str] = {}  # of the planner that are not the default


class PlanTrees(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """plan_trees.json of a run."""

    workload: str
    engine: str = ""  # whose plans they are; older results lack it
    trees: tuple[PlanTree, ...] = ()


def by_query(trees: Iterable[PlanTree]) -> Mapping[str, Sequence[PlanTree]]:
    """The trees of each query, in their order; none of a query that has none."""
    grouped: dict[str, list[PlanTree]] = defaultdict(list)
    for tree in trees:
        grouped[tree.query].append(tree)
    return grouped
