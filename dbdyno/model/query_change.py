"""What became of an application's queries on an arm beside the base: answers and plans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from dbdyno.model.answer_word import AnswerWord

PlanWord = Literal["changed", "generic changed", "unstable", "other estimate", "not known", "same"]
"""`unstable`: it changes within one arm; `other estimate`: one shape for other numbers of rows."""
PLAN_WORDS: Mapping[PlanWord, str] = {
    "changed": "another plan",
    "generic changed": "another generic plan",
    "unstable": "another plan, which changes with another sample of the rows",
    "other estimate": "the same plan by other estimates",
    "not known": "no plan",
    "same": "the same plan",
}
Effect = Literal[
    "failed", "slower", "faster", "more work", "less work", "open", "none", "not timed"
]
"""What became of the query beside its plan: its verdict, its counted work, or `none`."""


@dataclass(frozen=True, kw_only=True)
class QueryPlace:
    """A query on an arm."""

    workload: str
    query: str
    arm: str


@dataclass(frozen=True, kw_only=True)
class AnswerChange:
    """How an arm's answers to a query stand to the base's: the gravest word of all tuples."""

    place: QueryPlace
    word: AnswerWord
    detail: str = ""
    tuples: int = 0  # that have this word
    of: int = 0  # that both arms were asked


@dataclass(frozen=True, kw_only=True)
class PlanChange:
    """How an arm's plans of a query stand to the base's."""

    place: QueryPlace
    word: PlanWord
    where: str = ""  # they part: "f: Sort over Seq Scan → Incremental Sort over Index Scan f_grp"
    tuples: int = 0  # whose plans changed
    of: int = 0  # that both arms planned for
    base: tuple[str, ...] = ()  # the lines of a plan that changed
    plan: tuple[str, ...] = ()
    base_cost: float | None = None  # in the planner's unit
    cost: float | None = None
    effect: Effect = "not timed"

    @property
    def differs(self) -> bool:
        """Whether the arms plan it otherwise, which can be why its time or work changed."""
        return self.word in ("changed", "generic changed", "unstable")

    @property
    def words(self) -> str:
        """Where the plans part, with how often, or why nothing is said."""
        some = self.word == "changed" and self.tuples < self.of
        often = f" (for {self.tuples} of {self.of} values)" if some else ""
        where = self.where.replace("; ", ", ")  # between reasons stands a semicolon
        return f"{': '.join(filter(None, (PLAN_WORDS[self.word], where)))}{often}"


@dataclass(frozen=True, kw_only=True)
class QueryChanges:
    """What became of all queries, on all arms beside the base."""

    answers: tuple[AnswerChange, ...] = ()
    plans: tuple[PlanChange, ...] = ()
