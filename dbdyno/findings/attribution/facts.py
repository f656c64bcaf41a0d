"""What each factor of a design does to the metrics of a step."""

from dataclasses import dataclass
from typing import Annotated, Literal

from dbdyno.model import Ratio, StepComparison
from dbdyno.model.facts import Facts, says
from dbdyno.model.grouping import grouped


@dataclass(frozen=True, kw_only=True)
class FactorEffect:
    """What a factor does to a metric of a step, what two do together, or what all do."""

    workload: Annotated[str, says("the workload's name")]
    ordinal: Annotated[int, says("the step's place in its workload, from 1")]
    step: Annotated[str, says("the step's name")]
    metric: Annotated[str, says("the step's headline, or the server's CPU per operation")]
    kind: Annotated[
        Literal["whole", "effect", "interaction", "remainder"],
        says("effect, interaction, whole (arm by base) or remainder (of the whole)"),
    ]
    factor: Annotated[str | None, says("the factor; null: of them all")] = None
    other: Annotated[str | None, says("the other factor of an interaction")] = None
    ratio: Annotated[
        Ratio | None, says("what the metric is multiplied by; null: no block has all its arms")
    ]
    blocks: Annotated[int, says("blocks that have all arms that tell it")]
    q: Annotated[
        float | None, says("p of no effect, adjusted over the metric's effects; null: not tested")
    ] = None
    significant: Annotated[bool, says("whether it is told from none after that adjustment")] = False


@dataclass(frozen=True, kw_only=True)
class AttributionFacts(Facts):
    """The effects of a result; none without a design."""

    effects: Annotated[
        tuple[FactorEffect, ...],
        says(
            "what a factor of `dyno attribute` does to a metric of a step, over all judged blocks: "
            "a ratio of the arm that is taken apart to the base (docs/attribute.md)"
        ),
    ] = ()

    def of(self, step: StepComparison) -> dict[str, list[FactorEffect]]:
        """The effects of a step by metric, the headline's first."""
        place = (step.workload, step.ordinal)
        return grouped(
            (effect.metric, effect)
            for effect in self.effects
            if (effect.workload, effect.ordinal) == place
        )
