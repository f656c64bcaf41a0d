"""How the operations of a step ended, by name, and which of them its headline counts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from dbdyno.model import ResponseFacts, StepComparison
from dbdyno.model.facts import Facts, says
from dbdyno.model.headlines import HeadlineKind, kind_of


@dataclass(frozen=True, kw_only=True)
class Outcomes:
    """How a role's operations of one name ended in the window of a step."""

    role: Annotated[str, says("the role's name")]
    name: Annotated[str, says("the operation's name")]
    counted: Annotated[bool, says("whether the headline counts those that completed")]
    completed: Annotated[int, says("without error")]
    rolled_back: Annotated[int, says("by rolling back what they did, as their workload has it")]
    failed: Annotated[int, says("without success")]
    retried: Annotated[int, says("tried again at least once, with any outcome")]


@dataclass(frozen=True, kw_only=True)
class OutcomeFacts(Facts):
    """How a step's operations ended, where some may roll back, or count alone."""

    outcomes: Annotated[
        tuple[Outcomes, ...],
        says("how operations ended, where some can roll back or the headline names some"),
    ] = ()


def outcomes_of(step: StepComparison) -> list[Outcomes]:
    """Those of all arms and blocks."""
    return [ended for facts in step.each(OutcomeFacts) for ended in facts.outcomes]


def named(every: Sequence[Outcomes]) -> list[str]:
    """The operations that a headline counts, where it does not count all."""
    counted = dict.fromkeys(ended.name for ended in every if ended.counted)
    return list(counted) if len(counted) < len({ended.name for ended in every}) else []


def headline_of(step: StepComparison) -> HeadlineKind:
    """What its headline counts: the operations that it names, where it does."""
    return kind_of(step.headline, named(outcomes_of(step)))


def throughput(step: StepComparison) -> str:
    """What a step's headline is, in words: rows inserted per second."""
    return replace(headline_of(step), counted=counted(step)).rate_in_words


def counted(step: StepComparison) -> str:
    """The unit of a step's throughput, in words."""
    if step.headline != "ips":
        return headline_of(step).counted or "not measured"
    inserts = any("insert" in facts.by_kind for facts in step.each(ResponseFacts))
    others = any(facts.response for facts in step.each(ResponseFacts))
    return "rows indexed" if others and not inserts else "rows inserted"
