"""What nodes found of the arms of a result."""

from dataclasses import dataclass
from typing import Annotated

from dbdyno.model.facts import Facts, says
from dbdyno.model.nodes import NodeComparison


@dataclass(frozen=True, kw_only=True)
class NodeFacts(Facts):
    """By arm, step and primary metric, where two nodes or more measured it."""

    nodes: Annotated[
        tuple[NodeComparison, ...],
        says(
            "a node's ratio of an arm to the base in a step by a primary metric, over its judged "
            "blocks, and what all nodes of the step say together; only if two nodes or more "
            "measured the step (docs/method.md)"
        ),
    ] = ()
