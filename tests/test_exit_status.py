"""The status of commands that show a comparison: what fails, and what is never green."""

from dataclasses import replace
from itertools import product

import pytest

from comparison_builder import comparison
from dbdyno.cli import exit_status
from dbdyno.model import Comparison, Ending
from dbdyno.model.answer_word import WORDS, AnswerWord
from dbdyno.model.query_change import AnswerChange, QueryChanges
from dbdyno.report import fail_on, race

NOTHING = 2
ASKED = (None, "slower", "fails,differs,slower", "failed,open")
UNANSWERED = ("fails on both", "not compared")


def asked(shown: Comparison, *words: AnswerWord) -> Comparison:
    """The same, with a query of each word and no step."""
    changes = tuple(
        AnswerChange(workload="app", step=word, base="pg17", arm="pg18", word=word, detail="42501")
        for word in words
    )
    findings = {**shown.findings, "QueryChanges": QueryChanges(answers=changes)}
    return replace(shown, steps=(), findings=findings)


def failing(shown: Comparison, *arms: str) -> Comparison:
    """The same, with all runs of these arms failed, as their server ended."""
    ended = Ending(status="failed", reason="the server ended")
    return replace(
        shown,
        steps=tuple(
            replace(
                step,
                cells=tuple(
                    replace(cell, runs=tuple(replace(run, ending=ended) for run in cell.runs))
                    if cell.arm in arms
                    else cell
                    for cell in step.cells
                ),
            )
            for step in shown.steps
        ),
    )


@pytest.mark.parametrize(("troubles", "status"), [(False, 0), (True, 1)])
def test_a_step_that_failed_is_status_1(troubles: bool, status: int) -> None:
    assert exit_status.of(comparison(troubles=troubles)) == status


@pytest.mark.parametrize("fail", ASKED)
def test_nothing_compared_is_status_2_and_said_last(
    fail: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = comparison(troubles=False)
    bare = replace(shown, steps=(), blocks=0, incomplete="0 of 3 blocks done")
    nothing = {
        "of 2 queries none is answered on both: 42501": asked(shown, *UNANSWERED),
        "the server ended": failing(shown, "pg17", "pg18"),
        "0 of 3 blocks done": bare,
    }
    for why, made in nothing.items():
        assert exit_status.of(made, fail=fail) == NOTHING
        last = capsys.readouterr().err.splitlines()[-1]
        assert last == f"dyno: nothing was compared: {why}"


def test_one_answer_or_one_arm_that_ran_is_a_comparison() -> None:
    shown = comparison(troubles=False)
    for word, beside in product(WORDS, UNANSWERED):
        compared = fail_on.uncompared(asked(shown, word, beside)) is None
        assert compared == (word not in UNANSWERED), word
    assert exit_status.of(failing(shown, "pg18")) == exit_status.of(failing(shown, "pg17")) == 1


def test_answers_alone_say_nothing_of_verdicts_on_time() -> None:
    shown = asked(comparison(troubles=False), "same", "fails")
    statuses = {None: 0, "fails": 1, "differs": 0, "slower,differs": 0, "slower": NOTHING}
    assert {fail: exit_status.of(shown, fail=fail) for fail in statuses} == statuses


def test_a_single_arm_is_compared_with_nothing_only_where_a_verdict_is_asked_for() -> None:
    alone = comparison(arms=("pg17",), troubles=False)
    assert exit_status.of(alone) == 0
    assert exit_status.of(alone, fail="slower") == NOTHING


def test_a_race_that_compared_nothing_does_not_say_that_all_is_decided() -> None:
    assert race.ending(asked(comparison(), "fails on both")) == "nothing compared"
