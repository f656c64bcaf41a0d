"""What an application's queries answer on each arm, asked before anything is timed.

An answer is counted and hashed as it comes; nothing else is kept. Where an arm's answer differs
from the base's, the base answers again by other plans: what contradicts itself is not determined.
"""

import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from msgspec import structs

from dbdyno.engine.answer_hash import Rows
from dbdyno.engine.inquiry import CallError, CallOutcome, QueryCall
from dbdyno.model.answer import Answer, Answers, OpenQueryPart
from dbdyno.model.answer_word import DIFFER, compared
from dbdyno.model.error import ServerError
from dbdyno.model.own_query import OwnQuery
from dbdyno.run.arm import Run
from dbdyno.run.inquiry_session import inquiry, traits_of, writable
from dbdyno.run.own_calls import calls, in_usual_mode

TUPLES = 5
"""So many tuples of a query's values are tried, the heaviest."""
QUERY_S_MAX, ARM_S_MAX = 20.0, 60.0
"""After so long a query is asked with no further tuple, and an arm no further query."""
READ_ONLY = "25006"
"""The error of a query that writes in a transaction that may only read."""


@dataclass(frozen=True, kw_only=True)
class AnswerInquiry:
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

    def _answer(self, run: Run, query: OwnQuery, place: int, call: QueryCall) -> Answer:
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

    def asked(self, run: Run, call: QueryCall, planner: Mapping[str, str]) -> CallOutcome:
        """How a call ends, on a connection of its own: one that is lost takes no other with it."""
        try:
            with inquiry(run) as inquirer:
                answered = inquirer.answer(call, Rows(key=self.key), planner)
                if answered.code == READ_ONLY and not call.writes and writable(run):
                    written = call.writing()
                    answered = inquirer.answer(written, Rows(key=self.key), planner)
        except ServerError:
            return CallOutcome(outcome="failed", reason="the connection was lost")
        if answered.code == READ_ONLY:
            return CallOutcome(outcome="not asked", reason="it writes, and its sessions only read")
        return answered


@dataclass(frozen=True, kw_only=True)
class AnswerCheck:
    """Whether what differs from the base's answers is determined at all."""

    asking: AnswerInquiry
    base: Run
    answers: Answers  # the base's

    def left_open(self, others: Sequence[Answers]) -> Iterator[OpenQueryPart]:
        """The reasons to doubt queries in which another arm differs."""
        for query in self.asking.queries:
            if self._differing(query, others, ()):
                left_open = tuple(self._open_parts(query))
                yield from left_open
                yield from self._contradictions(
                    query, self._differing(query, others, left_open), left_open
                )

    def _differing(
        self, query: OwnQuery, others: Sequence[Answers], left_open: Sequence[OpenQueryPart]
    ) -> list[int]:
        """The places of a query's tuples for which an arm differs, beyond these left_open."""
        pairs = [
            (self._own[other.query, other.place], other)
            for answers in others
            for other in answers.answers
            if other.query == query.name and (other.query, other.place) in self._own
        ]
        differing = {base.place for base, other in pairs if self._differs(base, other, left_open)}
        return sorted(differing)

    def _differs(self, base: Answer, other: Answer, left_open: Sequence[OpenQueryPart]) -> bool:
        ordered = self.ordered.get(base.query, ())
        return compared(base, other, ordered, left_open).word in DIFFER

    @cached_property
    def _own(self) -> Mapping[tuple[str, int], Answer]:
        return {(answer.query, answer.place): answer for answer in self.answers.answers}

    @cached_property
    def ordered(self) -> Mapping[str, tuple[int, ...]]:
        """By query the columns that its ORDER BY names."""
        from dbdyno.workload.determined import open_parts

        traits = traits_of(self.base)
        return {
            query.name: places
            for query in self.asking.queries
            if (
                places := open_parts.ordered(
                    in_usual_mode(query, traits),
                    self._names(query),
                    backticks=traits.backslash_escapes,
                )
            )
        }

    def _names(self, query: OwnQuery) -> list[str]:
        """The names of an answer's columns."""
        columns = (answer.columns for answer in self.answers.answers if answer.query == query.name)
        return [column.name for column in next(filter(None, columns), ())]

    def _open_parts(self, query: OwnQuery) -> Iterator[OpenQueryPart]:
        """What the query's tree and the base's catalog leave open; all, if the base tells none."""
        from dbdyno.workload.determined import open_parts

        traits = traits_of(self.base)
        call = calls(query, traits, 1)[0]
        try:
            with inquiry(self.base) as inquirer, inquirer.catalog(call) as catalog:
                parts = open_parts.of(in_usual_mode(query, traits), catalog, self._names(query))
        except (ServerError, CallError) as error:
            parts = [open_parts.OpenPart(f"the server does not tell what it reads: {error}")]
        for part in parts:
            yield OpenQueryPart(
                query=query.name, reason=part.reason, columns=part.columns, order=part.order
            )

    def _contradictions(
        self, query: OwnQuery, places: Sequence[int], left_open: Sequence[OpenQueryPart]
    ) -> Iterator[OpenQueryPart]:
        """The tuples to which the base answers otherwise by other plans."""
        to_ask = calls(query, traits_of(self.base), TUPLES) if places else ()
        try:
            with inquiry(self.base) as inquirer:
                sets = inquirer.other_settings
        except ServerError:
            return
        for place in places:
            own = self._own[query.name, place]
            for title, planner in sets:
                again = self.asking.asked(self.base, to_ask[place - 1], planner)
                if again.outcome == "rows" and self._differs(
                    own, _as_answer(own, again), left_open
                ):
                    reason = f"the base contradicts itself {title}"
                    yield OpenQueryPart(query=query.name, place=place, reason=reason)
                    break


def _as_answer(own: Answer, again: CallOutcome) -> Answer:
    """What the base answers again, as an answer to the same call."""
    return structs.replace(
        own, rows=again.rows, cut=again.cut, columns=again.columns, whole=again.whole
    )


def _unasked(query: OwnQuery, reason: str) -> Answer:
    return Answer(query=query.name, outcome="not asked", reason=reason)
