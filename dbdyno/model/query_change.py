"""What became of an application's queries on an arm beside the base: answers and plans."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from dbdyno.model.answer_word import AnswerWord
from dbdyno.model.facts import Facts, says

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
    """How an arm's answers to a query stand to the base's: the gravest word of all calls."""

    workload: Annotated[str, says("the workload's name")]
    step: Annotated[str, says("the query's name, which is that of its step")]
    base: Annotated[str, says("the arm to compare with")]
    arm: Annotated[str, says("the arm's name")]
    word: Annotated[
        AnswerWord, says("the gravest of its calls: fails, fails on the base, different, …")
    ]
    detail: Annotated[
        str, says("the error's class, or what differs; empty: nothing more is known")
    ] = ""
    calls: Annotated[int, says("calls, each with other values, that were made on both")] = 0
    calls_so: Annotated[int, says("of these, with this word")] = 0

    @property
    def place(self) -> QueryPlace:
        """The query on the arm."""
        return QueryPlace(workload=self.workload, query=self.step, arm=self.arm)


@dataclass(frozen=True, kw_only=True)
class PlanChange:
    """How an arm's plans of a query stand to the base's."""

    workload: Annotated[str, says("the workload's name")]
    step: Annotated[str, says("the query's name, which is that of its step")]
    base: Annotated[str, says("the arm to compare with")]
    arm: Annotated[str, says("the arm's name")]
    word: Annotated[
        PlanWord, says("changed, generic changed, unstable, other estimate, same, not known")
    ]
    detail: Annotated[str, says("where the plans part; empty: nowhere")] = ""
    calls: Annotated[int, says("calls, each with other values, that were planned for on both")] = 0
    calls_so: Annotated[int, says("of these, with another plan")] = 0
    base_cost: Annotated[
        float | None, says("the base's plan's cost in the planner's unit, where it changed")
    ] = None
    arm_cost: Annotated[float | None, says("the same of the arm's")] = None
    base_plan: Annotated[str, says("the base's plan where it changed, a node a line")] = ""
    arm_plan: Annotated[str, says("the same of the arm's")] = ""
    effect: Annotated[
        Effect, says("the query's verdict, its counted work, `none`, `open`, or `not timed`")
    ] = "not timed"

    @property
    def place(self) -> QueryPlace:
        """The query on the arm."""
        return QueryPlace(workload=self.workload, query=self.step, arm=self.arm)

    @property
    def differs(self) -> bool:
        """Whether the arms plan it otherwise, which can be why its time or work changed."""
        return self.word in ("changed", "generic changed", "unstable")

    @property
    def words(self) -> str:
        """Where the plans part, with how often, or why nothing is said."""
        some = self.word == "changed" and self.calls_so < self.calls
        often = f" (for {self.calls_so} of {self.calls} values)" if some else ""
        where = self.detail.replace("; ", ", ")  # between reasons stands a semicolon
        return f"{': '.join(filter(None, (PLAN_WORDS[self.word], where)))}{often}"


@dataclass(frozen=True, kw_only=True)
class QueryChanges(Facts):
    """What became of all queries, on all arms beside the base."""

    answers: Annotated[
        tuple[AnswerChange, ...],
        says(
            "what an application's query answers on an arm beside the base, asked before anything "
            "was timed; no value of an answer is kept"
        ),
    ] = ()
    plans: Annotated[
        tuple[PlanChange, ...],
        says(
            "how an application's query is planned on an arm beside the base, in a normal form "
            "without values",
            table="plan_trees",
        ),
    ] = ()
