"""Two steps of one arm: the throughput of the second by that of the first, paired by block."""

from collections.abc import Container
from dataclasses import dataclass
from typing import Annotated, Literal

from dbdyno.model.facts import Facts, says
from dbdyno.model.ratio import Ratio

Kind = Literal["post by pre", "scale-up"]


@dataclass(frozen=True, kw_only=True)
class StepPair:
    """Two steps of an arm; clients of both in a scale-up, where their quotient is ideal."""

    kind: Annotated[Kind, says("post by pre (after writes relative to before) or scale-up")]
    workload: Annotated[str, says("the workload's name")]
    arm: Annotated[str, says("the arm's name")]
    first_step: Annotated[str, says("before the writes, or with the fewest clients")]
    second_step: Annotated[str, says("after the writes, or with more clients")]
    first_clients: Annotated[int | None, says("of scale-up: clients of the first")] = None
    second_clients: Annotated[int | None, says("of scale-up: clients of the second")] = None
    ratio: Annotated[
        Ratio | None, says("geometric mean of the blocks' ratios of the headline metric")
    ]
    blocks: Annotated[int, says("blocks in which both steps have the metric")]


@dataclass(frozen=True, kw_only=True)
class StepPairFacts(Facts):
    """All such pairs of measured steps."""

    across: Annotated[
        tuple[StepPair, ...],
        says("two steps of one arm, over all judged blocks: the second relative to the first"),
    ] = ()

    def of(self, kind: Kind, workloads: Container[str]) -> list[StepPair]:
        """Those of a kind in some workloads."""
        return [pair for pair in self.across if pair.kind == kind and pair.workload in workloads]
