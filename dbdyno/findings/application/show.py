"""The first screen of an application's own queries: may I upgrade, what speaks against it, and on
what the answer stands.

A sentence of at most 25 words with one figure; then a line for each query that fails, answers
otherwise or is slower; then the others as counts.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from dbdyno.findings.application import basis as basis
from dbdyno.findings.application import own_query as own_query
from dbdyno.model import Cell, Comparison, Ratio
from dbdyno.model.answer_word import AnswerWord
from dbdyno.model.application import ApplicationResult
from dbdyno.model.metric.primary import is_cpu, is_second
from dbdyno.model.plan_record import ApplicationRecord
from dbdyno.model.query_change import AnswerChange, PlanChange, QueryPlace
from dbdyno.parts import cells, colors, known, number, reasons
from dbdyno.parts.part import AnyPart, Finding, Section, Text

DIFFER: Mapping[AnswerWord, str] = {
    "different": "",
    "other order": "in another order, ",
    "other type": "by another type, ",
}
"""Words on answers that differ, whatever the query says of their order or type."""
WHOLE_MIN = 0.9
"""With a smaller share of the source's time answered and timed, no yes is said."""
UNASKED = "answers were not compared"
COUNTED = ("open", "faster", "same")
"""Verdicts that are counted on the first screen, as no query of theirs speaks against the arm."""


def parts(comparison: Comparison) -> Iterable[AnyPart]:
    """The answer for each arm; nothing where no workload is an application."""
    for place, result in enumerate(comparison.applications):
        answer = ApplicationAnswer(comparison, result)
        yield Text(
            name=f"application-{place}",
            items=(
                Finding(text=answer.sentence, items=(*answer.lists(), *answer.sums())),
                *basis.findings(result),
            ),
            depth="answer",
            form="sayings",
            look="answer application",
            entry="" if place else "Your application",
        )


@dataclass(frozen=True)
class ApplicationAnswer:
    """What is said of an application on an arm."""

    comparison: Comparison
    result: ApplicationResult

    # --- The sentence ---

    @property
    def sentence(self) -> str:
        """No: 2 queries fail on pg18; some answer differently, some are slower."""
        arm = self.result.arm
        if not self.compared:
            return f"Nothing was compared on {arm}: {basis.nothing(self.result)}."
        slower = f"some are {self._perhaps}slower" if self.slower else ""
        differ = "some answer differently" if self.differing else ""
        if self.failing:
            count = len(self.failing)
            fail = f"{number.queries(count)} {_plural(count, 'fails', 'fail')} on {arm} alone"
            others = [each for each in (differ, slower) if each]
            return f"No: {'; '.join([fail, ', '.join(others)] if others else [fail])}."
        if self.differing:
            count = len(self.differing)
            other = f"{_plural(count, 'answers', 'answer')} differently on {arm}"
            quick = "none is slower" if self.cells else "nothing was timed"
            rest = f"none fails, {slower or quick}"
            return f"Look first: {number.queries(count)} {other}; {rest}."
        if self.slower:
            worst = max(self.slower.values(), key=_loss)
            some = _plural(len(self.slower), "a query is", "some queries are")
            fails = "none fails or answers differently" if self._answered else UNASKED
            return f"With a loss: on {arm} {some} {self._perhaps}slower, {_worst(worst)}; {fails}."
        return self._nothing_against

    @property
    def _nothing_against(self) -> str:
        """Of an arm of whose queries none is worse: yes, or how far that is known."""
        arm, time = self.result.arm, self.result.time
        if not self.cells:
            return self._untimed
        fails = "fails, answers differently or is slower" if self._answered else "is slower"
        unasked = "" if self._answered else f"; {UNASKED}"
        begin = "Yes" if self._whole else "Nothing speaks against it so far"
        exact = self.result.time_bound == "exact"
        if time is None or time.low is None or time.high is None or not exact:
            timed = number.queries(self.result.queries)
            return f"{begin}: of {timed} timed, none {fails} on {arm}{unasked}."
        together = f"take {number.amount(time.value)} time"
        if time.low > 1 + self.comparison.aims.margin:
            return f"With a loss: all queries together {together} on {arm}; none {fails}{unasked}."
        if time.high >= 1:
            together = f"take at most {number.amount(time.high)} time"
        return f"{begin}: no query {fails} on {arm}; all together {together}{unasked}."

    @property
    def _untimed(self) -> str:
        """Of an arm of which answers, plans or counts alone are known."""
        arm, of = self.result.arm, number.queries(self.result.queries)
        if not self._answered:
            return f"Counted alone: the work of {of} on {arm} stands below."
        asked = self.result.asked("answered")
        plans = "some are planned otherwise, " if self.planned else ""
        return (
            f"As far as asked: of {number.queries(asked)} none fails or answers differently on "
            f"{arm}; {plans}nothing was timed."
        )

    @property
    def _whole(self) -> bool:
        """Whether nothing is open, and nearly all of the source's calls were answered and timed."""
        low = [reach.stage for reach in self.result.stages if reach.share < WHOLE_MIN]
        return not self.open and "timed" not in low and "answered" not in low

    @property
    def _perhaps(self) -> str:
        comparison = self.comparison
        return "" if colors.trusted(comparison.calibration, comparison.aims) else "perhaps "

    # --- What it is made from ---

    @property
    def compared(self) -> bool:
        """Whether any answer, time or count of both arms stands side by side."""
        return bool(self._answered or self.cells or self.failing or self.result.queries)

    @cached_property
    def cells(self) -> dict[str, Cell]:
        """By query the arm's cell, of those that are judged."""
        steps = own_query.cells(self.comparison, self.result)
        return {name: cell for name, (_, cell) in steps.items() if cell.verdict is not None}

    @cached_property
    def answers(self) -> list[AnswerChange]:
        """The queries' answers, the costliest first."""
        return [each for each in self.comparison.queries.answers if self._own(each.place)]

    @cached_property
    def failing(self) -> dict[str, str]:
        """By query the error on this arm alone."""
        steps = own_query.cells(self.comparison, self.result)
        late = {
            each.place.query: f"ended by its limit{often(each)}"
            for each in self.answers
            if each.word == "times out"
        }
        fails = {each.place.query: each.detail for each in self.answers if each.word == "fails"}
        timed = {
            name: failure(steps[name][1]) if name in steps else ""
            for name in self.result.failed
            if name not in late
        }
        return timed | late | fails

    @cached_property
    def differing(self) -> dict[str, str]:
        """By query how its answer differs."""
        return {
            each.place.query: f"{DIFFER[each.word]}{each.detail}{often(each)}"
            for each in self.answers
            if each.word in DIFFER
        }

    @cached_property
    def slower(self) -> dict[str, Cell]:
        """The queries that are slower by more than what matters to nobody."""
        return self._judged("slower")

    @cached_property
    def open(self) -> dict[str, Cell]:
        """The queries of which it is not known."""
        return self._judged("open")

    @cached_property
    def planned(self) -> list[PlanChange]:
        """The plans that differ, where nothing was timed."""
        return [
            each
            for each in (() if self.cells else self.comparison.queries.plans)
            if each.differs and each.word != "unstable" and self._own(each.place)
        ]

    def _judged(self, word: str) -> dict[str, Cell]:
        """The queries of a word; what is faster or slower within the margin is the same."""
        said = {
            name: "same" if cell.verdict.within_margin else cell.verdict.word
            for name, cell in self.cells.items()
            if cell.verdict is not None
        }
        return {name: cell for name, cell in self.cells.items() if said[name] == word}

    @property
    def _answered(self) -> bool:
        return any(each.word not in ("not compared", "fails on both") for each in self.answers)

    def _own(self, place: QueryPlace) -> bool:
        return (place.workload, place.arm) == (self.result.workload, self.result.arm)

    # --- What stands below it ---

    def lists(self) -> Iterator[Finding]:
        """The queries that fail, answer otherwise, are slower, or are planned otherwise."""
        arm = self.result.arm
        explanations = [cell.explanation for cell in self.slower.values()]
        common, why = reasons.once([each.why if each is not None else "" for each in explanations])
        slower = {
            name: "; ".join(filter(None, (own_query.change(cell), cause)))
            for (name, cell), cause in zip(self.slower.items(), why, strict=True)
        }
        planned = {each.place.query: _costs(each) for each in self.planned}
        yield from self._listed(f"Fails on {arm} alone", self.failing)
        yield from self._listed(f"Answers differently on {arm}", self.differing)
        yield from self._listed(f"{self._perhaps}slower on {arm}".capitalize(), slower, common)
        yield from self._listed(f"Planned otherwise on {arm}", planned)

    def _listed(self, title: str, said: Mapping[str, str], common: str = "") -> Iterator[Finding]:
        """A title, and a line for each query, the costliest first."""
        names = list(said)
        order = [query.name for query in self._record.every]
        names.sort(key=lambda name: order.index(name) if name in order else len(order))
        own = {"workload": self.result.workload, "arm": self.result.arm}
        places = [QueryPlace(query=name, **own) for name in names]
        lines = [own_query.finding(self.comparison, each, said[each.query]) for each in places]
        if lines:
            text = f"all: {common}" if common else ""
            yield Finding(label=title, text=text, tone="notice", items=own_query.few(lines))

    @property
    def _record(self) -> ApplicationRecord:
        return own_query.record(self.comparison, self.result.workload)

    def sums(self) -> Iterator[Finding]:
        """20 open (35.1 % of the time; no loss beyond 4.2 %), 2 faster; together time −3.6 %."""
        asked = (each.place.query for each in self.answers if each.word.endswith("on the base"))
        base_alone = {*asked, *self.result.base_failed}
        counts = [self._count(word) for word in COUNTED]
        if base_alone:
            fail = _plural(len(base_alone), "fails", "fail")
            counts.append(f"{len(base_alone)} {fail} on {self.comparison.base} alone")
        if said := ", ".join(filter(None, counts)):
            yield Finding(label="Other queries", text=said)
        if said := ", ".join(self._together()):
            yield Finding(label="All together, weighed by their calls", text=said)

    def _count(self, word: str) -> str:
        alike = self._judged(word)
        if not alike:
            return ""
        names, application = set(alike), self._record
        of_time = sum(application.share(each) for each in application.queries if each.name in names)
        losses = [
            judgement
            for cell in alike.values()
            if cell.verdict is not None and cell.ratio_bound == "exact"
            for judgement in known.telling(known.undecided(cell.verdict))
        ]
        why, _ = reasons.once([cell.verdict.reason for cell in alike.values() if cell.verdict])
        beside = (own_query.share(of_time), known.excluded(losses) or why if word == "open" else "")
        return f"{len(alike)} {word} ({'; '.join(filter(None, beside))})"

    def _together(self) -> Iterator[str]:
        """CPU +3.1 % [2.0, 4.2] without 2 queries, time −3.6 % [−4.7, −2.5], instructions …"""
        result = self.result
        if result.time is not None and result.time_bound != "unknown":
            yield cells.signed(_changes(result.time, "time"), result.time_bound)
        if result.cpu is not None:
            lacks = f" without {number.queries(result.cpu_lacks)}" if result.cpu_lacks else ""
            yield f"CPU {_changes(result.cpu, 'amount')}{lacks}"
        if result.work is not None:
            ratio = result.work.instructions
            of = f" of {number.queries(result.work.queries)}"
            yield f"instructions{of} {number.counted(ratio.value, ratio.low, ratio.high)}"
            for names, what in ((result.work.more, "more"), (result.work.less, "less")):
                if names:
                    yield f"{len(names)} {_plural(len(names), 'does', 'do')} {what} work"


def _changes(ratio: Ratio, of: number.Of) -> str:
    words = number.changes(ratio.value, ratio.low, ratio.high, of)
    return words if of != "time" or number.is_factor(ratio.value) else f"time {words}"


def _plural(count: int, singular: str, plural: str) -> str:
    return singular if count == 1 else plural


def failure(cell: Cell) -> str:
    """Why an arm failed in some block of a step."""
    return next((run.ending.reason for run in cell.runs if run.ending.reason), "")


def _worst(cell: Cell) -> str:
    """`one takes 2.61 times as long`, of a cell that is slower."""
    ratio, of_cpu = _loss(cell)
    if of_cpu:
        return f"one takes {number.amount(ratio)} CPU"
    least = "at least " if cell.ratio_bound == "at most" else ""
    if number.is_factor(ratio):
        return f"one takes {least}{number.short(ratio)} times as long"
    return f"one takes {least}{number.size_of_change(ratio)} longer"


def _loss(cell: Cell) -> tuple[float, bool]:
    """How many times as long a call takes, or where CPU alone decides, how much CPU; if it does."""
    judgement = None if cell.verdict is None else own_query.deciding(cell.verdict)
    if judgement is None:
        return 1.0, False
    of_cpu = is_cpu(judgement.metric)
    ratio = judgement.told[0]
    return (ratio if is_second(judgement.metric) else 1 / ratio), of_cpu


def often(change: AnswerChange) -> str:
    """In how many of a query's calls, where not in all."""
    some = change.calls_so < change.calls or change.word.startswith("times out")
    return f" (in {change.calls_so} of {change.calls} calls)" if some else ""


def _costs(change: PlanChange) -> str:
    """Where two plans part, and what the planner expects of each."""
    costs = (change.base_cost, change.arm_cost)
    cost = " → ".join(f"{cost:,.0f}" for cost in costs if cost is not None)
    return "; ".join(filter(None, (change.words, f"cost {cost}" if cost else "")))


SECTION = Section("page", lambda subject: parts(subject.comparison))
