"""What an application's result stands on: the shares of its source's time that were captured,
restored, answered, timed and counted, and why the rest was not.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from dbdyno.model.application import ApplicationResult, Stage, StageGap, StageReach
from dbdyno.model.golden import RestoreSummary
from dbdyno.model.grouping import grouped
from dbdyno.model.plan_record import ApplicationRecord, QueryRecord
from dbdyno.model.query_change import AnswerChange

UNDEFINED = frozenset({"42P01", "42703", "42704", "42883", "3F000", "1049", "1054", "1146", "1305"})
"""Codes of errors by which a server knows no table, column, type, function or schema of a name."""
NO_VALUES = "no values for their parameters"
NOT_ASKED = "not asked"
NOT_COUNTED = "not among the costliest"


Reasons = Mapping[str, str]
"""By query why it is not in a part; empty: it is in it."""


class Lacking(NamedTuple):
    """Why queries were not timed, and not counted."""

    timed: Reasons
    counted: Reasons


StagePart = tuple[StageReach, Sequence[StageGap]]
"""What reached a stage, and what did not."""


def of_arm(
    result: ApplicationResult,
    application: ApplicationRecord,
    *,
    answers: Mapping[str, AnswerChange],
    lacking: Lacking,
    restored: RestoreSummary | None,
) -> ApplicationResult:
    """The result of one arm beside the base, with what it stands on."""
    every, without = application.every, {each.name for each in application.without_values}

    def part(stage: Stage, own: Reasons, absent: str) -> StagePart:
        said = {
            query.name: NO_VALUES if query.name in without else own.get(query.name, absent)
            for query in every
        }
        return _part(stage, application, said)

    captured, _ = _part("captured", application, {query.name: "" for query in every})
    left_out = [
        StageGap(
            stage="captured", reason=left.reason, share=application.share(left), calls=left.calls
        )
        for left in application.left_out
    ]
    parts: list[StagePart] = [
        (captured, left_out),
        part("answered", {name: _unanswered(each) for name, each in answers.items()}, NOT_ASKED),
        part("timed", lacking.timed, "not timed"),
        part("counted", lacking.counted, NOT_COUNTED if lacking.counted else "not counted"),
    ]
    if restored is not None:
        unknown = {name: _unknown(each) for name, each in answers.items()}
        there = {query.name: unknown.get(query.name, "") for query in every}
        parts.insert(1, _part("restored", application, there))
    return replace(
        result,
        by="time" if application.whole_s else "calls",
        stages=tuple(reach for reach, _ in parts),
        gaps=tuple(gap for _, gaps in parts for gap in gaps),
        lacks=() if restored is None else restored.lacks,
        dumped=None if restored is None else restored.dumped,
        first=application.first,
        last=application.last,
        cut=tuple(query.name for query in every if query.cut),
    )


def _part(stage: Stage, application: ApplicationRecord, reasons: Reasons) -> StagePart:
    """The queries without a reason, and by reason the others."""
    by_reason = grouped((reasons[query.name], query) for query in application.every)
    there = by_reason.pop("", [])
    gaps = (
        StageGap(stage=stage, reason=reason, share=_sum(application, left), queries=len(left))
        for reason, left in by_reason.items()
    )
    reach = StageReach(stage=stage, share=_sum(application, there), queries=len(there))
    return reach, sorted(gaps, key=lambda gap: -gap.share)


def _sum(application: ApplicationRecord, queries: Iterable[QueryRecord]) -> float:
    return min(1.0, sum(map(application.share, queries)))


def _unanswered(answer: AnswerChange) -> str:
    """Why nothing is known of a query's answers; empty: they were compared."""
    if answer.word == "fails on both":
        return "fail on both"
    return f"not compared: {answer.detail}" if answer.word == "not compared" else ""


def _unknown(answer: AnswerChange) -> str:
    """What the copy does not have that the query names; empty: nothing is known to be missing."""
    code, _, words = answer.detail.partition(";")[0].partition(" ")
    lacks = answer.word == "fails on both" and code in UNDEFINED
    return f"name what the copy lacks ({words or code})" if lacks else ""
