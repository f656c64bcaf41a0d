"""What an application's queries answer on each arm, asked before anything is timed.

An answer is counted and hashed as it comes; nothing else is kept. Where an arm's answer differs
from the base's, the base answers again by other plans: what contradicts itself is not determined.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from dbdyno.engine.answer_hash import Rows
from dbdyno.engine.inquiry import Answered, Call
from dbdyno.model.answer import Answer, Answers, Doubt
from dbdyno.model.answer_word import DIFFER, compared
from dbdyno.model.error import ServerError
from dbdyno.model.own_query import OwnQuery
from dbdyno.run.arm import Run
from dbdyno.run.inquiry_session import inquiry, traits_of, writable
from dbdyno.run.own_calls import calls
from dbdyno.workload import determined

TUPLES = 5
"""So many tuples of a query's values are tried, the heaviest."""
QUERY_S_MAX, ARM_S_MAX = 20.0, 60.0
"""After so long a query is asked with no further tuple, and an arm no further query."""
READ_ONLY = "25006"
"""The error of a query that writes in a transaction that may only read."""


@dataclass(frozen=True, kw_only=True)
class Asking:
    """The queries of a workload that are asked, under one key."""

    workload: str
    queries: Sequence[OwnQuery]
    key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    def answers(self, run: Run) -> Answers:
        """The answers of an arm's server to each query."""
        begun_s = time.monotonic()
        answers: list[Answer] = []
        for query in self.queries:
            if time.monotonic() - begun_s < ARM_S_MAX:
                answers += self._query(run, query)
            else:
                answers.append(_unasked(query, "no time was left"))
        return Answers(workload=self.workload, answers=tuple(answers))

    def _query(self, run: Run, query: OwnQuery) -> Iterator[Answer]:
        if query.writes and not writable(run):
            yield _unasked(query, "it writes, and the arm has no `allow_writes`")
            return
        to_ask = calls(query, traits_of(run), TUPLES)
        if not to_ask:
            yield _unasked(query, "no values of its parameters are known")
        begun_s = time.monotonic()
        for place, call in enumerate(to_ask, start=1):
            if time.monotonic() - begun_s < QUERY_S_MAX:
                yield self._answer(run, query, place, call)

    def _answer(self, run: Run, query: OwnQuery, place: int, call: Call) -> Answer:
        begun_s = time.monotonic()
        answered = self.asked(run, call, {})
        return Answer(
            query=query.name,
            place=place,
            outcome=answered.outcome,
            code=answered.code,
            reason=answered.reason,
            rows=answered.rows,
            cut=answered.cut,
            columns=answered.columns,
            whole=answered.whole,
            seconds=round(time.monotonic() - begun_s, 6),
        )

    def asked(self, run: Run, call: Call, planner: Mapping[str, str]) -> Answered:
        """How a call ends, on a connection of its own: one that is lost takes no other with it."""
        try:
            with inquiry(run) as inquirer:
                answered = inquirer.answer(call, Rows(key=self.key), planner)
                if answered.code == READ_ONLY and not call.writes and writable(run):
                    written = call.writing()
                    answered = inquirer.answer(written, Rows(key=self.key), planner)
        except ServerError:
            return Answered(outcome="failed", reason="the connection was lost")
        if answered.code == READ_ONLY:
            return Answered(outcome="not asked", reason="it writes, and its sessions only read")
        return answered


@dataclass(frozen=True, kw_only=True)
class Checking:
    """Whether what differs from the base's answers is determined at all."""

    asking: Asking
    base: Run
    answers: Answers  # the base's

    def doubts(self, others: Sequence[Answers]) -> Iterator[Doubt]:
        """The reasons to doubt queries in which another arm differs."""
        ordered = self.ordered
        differing: dict[str, set[int]] = {}
        own = {(answer.query, answer.place): answer for answer in self.answers.answers}
        for other in (answer for answers in others for answer in answers.answers):
            base = own.get((other.query, other.place))
            if base is None:
                continue
            if compared(base, other, ordered.get(other.query, ())).word in DIFFER:
                differing.setdefault(other.query, set()).add(other.place)
        for query in self.asking.queries:
            if query.name in differing:
                yield from self._doubts(query, sorted(differing[query.name]), own)

    @cached_property
    def ordered(self) -> Mapping[str, tuple[int, ...]]:
        """By query the columns that its ORDER BY names."""
        columns = {answer.query: answer.columns for answer in self.answers.answers}
        return {
            query.name: places
            for query in self.asking.queries
            if (
                places := determined.order_columns(
                    determined.read(query.text),
                    [column.name for column in columns.get(query.name, ())],
                )
            )
        }

    def _doubts(
        self, query: OwnQuery, places: Sequence[int], own: Mapping[tuple[str, int], Answer]
    ) -> Iterator[Doubt]:
        whole = determined.read(query.text)
        try:
            with inquiry(self.base) as inquirer:
                volatile = inquirer.volatile(determined.functions(whole))
                unique = inquirer.unique(determined.names(whole)) if whole.limited else ()
                sets = inquirer.other_settings
        except ServerError:
            return
        reasons = determined.doubts(whole, volatile, unique)
        yield from (Doubt(query=query.name, reason=reason) for reason in reasons)
        if reasons:
            return
        to_ask = calls(query, traits_of(self.base), TUPLES)
        for place in places:
            for title, planner in sets:
                again = self.asking.asked(self.base, to_ask[place - 1], planner)
                if self._contradicts(own[query.name, place], again):
                    reason = f"the base contradicts itself {title}"
                    yield Doubt(query=query.name, place=place, reason=reason)
                    break

    def _contradicts(self, answer: Answer, again: Answered) -> bool:
        other = Answer(
            query=answer.query,
            rows=again.rows,
            cut=again.cut,
            columns=again.columns,
            whole=again.whole,
        )
        ordered = self.ordered.get(answer.query, ())
        return again.outcome == "rows" and compared(answer, other, ordered).word in DIFFER


def _unasked(query: OwnQuery, reason: str) -> Answer:
    return Answer(query=query.name, outcome="not asked", reason=reason)
