"""What a role chooses from: weights, the order in which they are taken, times before and after."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from dbdyno.model.document import suggestion
from dbdyno.model.job.role import (
    Choice,
    ChoiceRule,
    ConstantThinkTime,
    ExponentialThinkTime,
    ThinkTime,
)
from dbdyno.workload import maker_schema, schema
from dbdyno.workload.choice_schema import ChoiceForm, ThinkTimeForm, Weights
from dbdyno.workload.expression import names_of
from dbdyno.workload.job_content import Content
from dbdyno.workload.scope import Scope

THINK_S_MAX = 86_400
"""A day, as dyno-loadgen has it."""
DECK_MAX = 10_000
"""So many cards, as dyno-loadgen has it: each connection keeps its own in order."""
RULES: Mapping[str, ChoiceRule] = {rule: rule for rule in get_args(ChoiceRule)}
DECKS = ("deck", "in_order")


@dataclass(frozen=True, kw_only=True)
class DeckEntry:
    """A statement or transaction that a role may choose; `scope` is where it is named."""

    program: str
    weight: int
    before: ThinkTime | None
    after: ThinkTime | None
    scope: Scope

    def choice(self, content: Content) -> Choice:
        """The entry as a job has it."""
        program = content.program(self.program, self.scope)
        return Choice(program, self.weight, self.before, self.after)


def entries(role: schema.RoleForm, content: Content, scope: Scope) -> list[DeckEntry]:
    """The entries of a role, without those never chosen. Raises WorkloadError."""
    if (role.run is None) == (role.choose is None):
        raise scope.error("needs either `run` or `choose`")
    if role.run is not None:
        place = scope.at("run")
        return [_entry(place.text(role.run), 1, place, place)]
    place = scope.at("choose")
    weights = role.choose
    if isinstance(weights, str):
        name, choices = place.text(weights), content.file.choices
        if name not in choices:
            raise place.error(f"no choice `{name}`; {suggestion(name, choices)}")
        place, weights = scope.root("choices", name), choices[name]
    if not weights:
        raise place.error("names no statement")
    made = [_entry(name, written, place, place.at(name)) for name, written in weights.items()]
    if not any(entry.weight for entry in made):
        raise place.error(_nothing(weights, scope))
    return [entry for entry in made if entry.weight]


def rule(role: schema.RoleForm, choose: Sequence[Choice], scope: Scope) -> ChoiceRule:
    """The order in which a role takes its entries. Raises WorkloadError."""
    name = scope.at("choice").text(role.choice)
    if name not in RULES:
        raise scope.at("choice").error(f"no rule `{name}`; {suggestion(name, RULES)}")
    cards = sum(choice.weight for choice in choose)
    if name in DECKS and cards > DECK_MAX:
        raise scope.at("choose").error(
            f"a deck has a card for each weight, {cards} in all; at most {DECK_MAX}: divide them"
        )
    return RULES[name]


def _entry(
    name: str, written: maker_schema.Number | ChoiceForm, there: Scope, scope: Scope
) -> DeckEntry:
    """An entry by its weight, or with what its users take; `scope` is its own place."""
    if not isinstance(written, ChoiceForm):
        weight = scope.integer(written, low=0)
        return DeckEntry(program=name, weight=weight, before=None, after=None, scope=there)
    return DeckEntry(
        program=name,
        weight=scope.at("weight").integer(written.weight, low=0),
        before=_time(written.before_s, scope.at("before_s")),
        after=_time(written.after_s, scope.at("after_s")),
        scope=there,
    )


def _time(written: maker_schema.Number | ThinkTimeForm, scope: Scope) -> ThinkTime | None:
    """A think time; None where it is 0."""
    if not isinstance(written, ThinkTimeForm):
        us = _us(written, scope)
        return ConstantThinkTime(us) if us else None
    mean_us, max_us = _us(written.mean, scope.at("mean")), _us(written.cap, scope.at("cap"))
    if mean_us > max_us:
        raise scope.at("cap").error(
            f"is below the mean of {mean_us / 1e6:g} s; give at least that, such as ten times it"
        )
    return ExponentialThinkTime(mean_us=mean_us, max_us=max_us) if mean_us else None


def _us(written: maker_schema.Number, scope: Scope) -> int:
    return round(1_000_000 * scope.number(written, low=0, high=THINK_S_MAX))


def _nothing(weights: Weights, scope: Scope) -> str:
    """Why a role has nothing to choose from, and the parameters to look at."""
    plain = [w.weight if isinstance(w, ChoiceForm) else w for w in weights.values()]
    names = sorted({n for weight in plain if isinstance(weight, str) for n in names_of(weight)})
    values = " or ".join(f"`{name}`, which is {scope.names[name]!r}" for name in names)
    remedy = f"change {values}, or leave the step out" if values else "raise one of them"
    return f"nothing to choose from: all weights are 0; {remedy}"
