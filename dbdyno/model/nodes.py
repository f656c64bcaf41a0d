"""What nodes, the hosts on which whole blocks were measured, found and how they differ. Types only.

A block is measured on one node, so every ratio is within one; nodes then differ in their ratios
beyond the scatter of their blocks, or not.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

from dbdyno.model.facts import says

UNNAMED = "unnamed"
"""The node of blocks that name no host, in a result in which others do."""

Agreement = Literal["disagree", "disagree, within the margin", "no difference seen", "open"]
"""Whether nodes find the same ratio. `open`: no node has a second block of it."""


@dataclass(frozen=True, kw_only=True)
class NodeRatio:
    """The mean ratio of one node's blocks."""

    node: Annotated[str, says("the node's name")]
    blocks: Annotated[int, says("its blocks in which both arms have the metric")]
    ratio: Annotated[float, says("geometric mean of these blocks' ratios, arm by base")]
    low: Annotated[
        float | None, says("lower end of its 95 % interval; null: no node has two blocks")
    ]  # by the scatter within all nodes
    high: Annotated[float | None, says("upper end of its 95 % interval")]


@dataclass(frozen=True, kw_only=True)
class NodeComparison:
    """A metric of an arm in a step, on two nodes or more (docs/method.md)."""

    workload: Annotated[str, says("the workload's name")]
    ordinal: Annotated[int, says("the step's place in its workload, from 1")]
    step: Annotated[str, says("the step's name")]
    base: Annotated[str, says("the arm to compare with")]
    arm: Annotated[str, says("the arm's name")]
    metric: Annotated[str, says("the metric's name")]
    nodes: tuple[NodeRatio, ...]
    agreement: Annotated[Agreement, says("of all nodes: whether they disagree")]
    p: Annotated[
        float | None, says("p that all have one ratio (F test); null: no node has two blocks")
    ]
    q: Annotated[
        float | None, says("the same, adjusted over the arm's steps and primary metrics")
    ]  # Benjamini-Hochberg
    spread: Annotated[
        float | None, says("standard deviation between nodes, as a share; null: not estimated")
    ]
    spread_low: Annotated[float | None, says("lower end of its 95 % interval")]
    spread_high: Annotated[float | None, says("upper end of its 95 % interval")]
    machines_ratio: Annotated[float, says("ratio on machines of which the nodes are a sample")]
    machines_low: Annotated[float, says("lower end of its 95 % interval, by how nodes differ")]
    machines_high: Annotated[float, says("upper end of its 95 % interval")]
    freedom: Annotated[int, says("its degrees of freedom: nodes less one")]
    reach: Annotated[
        float, says("standard errors that the interval reaches to each side, for so few nodes")
    ]

    @property
    def lowest(self) -> NodeRatio:
        """The node with the least ratio."""
        return min(self.nodes, key=lambda node: node.ratio)

    @property
    def highest(self) -> NodeRatio:
        """The node with the greatest ratio."""
        return max(self.nodes, key=lambda node: node.ratio)
