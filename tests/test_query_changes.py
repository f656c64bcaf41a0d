"""What became of an application's queries: from the files of a result to report and exit status."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from comparison_builder import comparison
from dbdyno import store
from dbdyno.analysis import compare
from dbdyno.analysis.compare.query_changes import answer_changes, plan_changes
from dbdyno.engine.answer_hash import ResultColumn, Rows
from dbdyno.model import Comparison
from dbdyno.model.answer import Answer, Answers, Doubt
from dbdyno.model.plan_tree import PlanNode, PlanTree, PlanTrees
from dbdyno.model.query_change import AnswerChange, PlanChange, QueryChanges, QueryPlace
from dbdyno.report import fail_on, json_document
from dbdyno.report.export import query_rows
from result_builder import WORKLOAD, build

FAILED = Answer(query="bad", outcome="failed", code="42601", reason="syntax error")
SEQ = PlanNode(node="Seq Scan", relation="f", cost=100.0, expected_rows=5)
INDEX = PlanNode(node="Index Scan", relation="f", index="f_x", cost=8.0, expected_rows=5)


def answer(query: str, *values: bytes, place: int = 1) -> Answer:
    """An answer of one column."""
    held = Rows(key=b"key")
    held.begin([False])
    for value in values:
        held.add([value])
    columns = held.columns([ResultColumn(name="t", type="text")])
    return Answer(query=query, place=place, rows=held.count, columns=columns, whole=held.whole)


def word(change: AnswerChange | PlanChange) -> tuple[str, int, int]:
    """The word of a change, how many calls have it, and of how many."""
    return change.word, change.tuples, change.of


def test_the_gravest_of_a_querys_calls_is_its_word() -> None:
    base = [answer("q", b"a", place=place) for place in (1, 2, 3)]
    arm = [base[0], answer("q", b"b", place=2)]
    of_base, of_arm = (Answers(workload="w", answers=tuple(held)) for held in (base, arm))
    (change,) = answer_changes(of_base, of_arm, "pg18")
    assert word(change) == ("different", 1, 2)
    assert change.detail == "other values of `t`"


def test_an_answer_that_is_not_determined_is_not_called_different() -> None:
    base, arm = (Answers(workload="w", answers=(answer("q", text),)) for text in (b"a", b"b"))
    doubted = structs.replace(base, doubts=(Doubt(query="q", reason="LIMIT without ORDER BY"),))
    (change,) = answer_changes(doubted, arm, "pg18")
    assert (change.word, change.detail) == ("not determined", "LIMIT without ORDER BY")
    elsewhere = structs.replace(base, doubts=(Doubt(query="q", place=2, reason="by itself"),))
    (change,) = answer_changes(elsewhere, arm, "pg18")
    assert change.word == "different"
    failing = structs.replace(arm, answers=(structs.replace(FAILED, query="q"),))
    (change,) = answer_changes(doubted, failing, "pg18")
    assert change.word == "fails"


def trees(*roots: PlanNode, again: PlanNode | None = None, generic: bool = False) -> PlanTrees:
    """The plans of a query, one for each tuple."""
    held = [
        PlanTree(query="q", place=place, root=root, generic=generic)
        for place, root in enumerate(roots, start=1)
    ]
    if again is not None:
        held.append(PlanTree(query="q", place=1, root=again, moment="again"))
    return PlanTrees(workload="w", trees=tuple(held))


def test_plans_are_compared_by_their_form() -> None:
    (same,) = plan_changes(trees(SEQ), trees(structs.replace(SEQ, cost=7.0)), "pg18")
    assert same.word == "same"
    (changed,) = plan_changes(trees(SEQ, SEQ), trees(SEQ, INDEX), "pg18")
    assert word(changed) == ("changed", 1, 2)
    assert changed.where == "f: Seq Scan → Index Scan f_x"
    assert (changed.base_cost, changed.cost) == (100.0, 8.0)
    far = structs.replace(SEQ, expected_rows=5000.0)
    (estimate,) = plan_changes(trees(SEQ), trees(far), "pg18")
    assert estimate.word == "other estimate"
    none = PlanTrees(workload="w", trees=(PlanTree(query="q", unavailable="42601 syntax error"),))
    (unknown,) = plan_changes(trees(SEQ), none, "pg18")
    assert (unknown.word, unknown.where) == ("not known", "42601 syntax error")


def test_plans_of_two_engines_are_not_compared() -> None:
    first, second = (structs.replace(trees(SEQ), engine=name) for name in ("mysql", "mariadb"))
    (change,) = plan_changes(first, second, "b")
    assert (change.word, change.where) == ("not known", "plans of two engines are not compared")
    (change,) = plan_changes(first, structs.replace(trees(INDEX), engine="mysql"), "b")
    assert change.word == "changed"


def test_a_plan_that_changes_with_another_sample_is_no_change_of_the_version() -> None:
    (stable,) = plan_changes(trees(SEQ, again=SEQ), trees(INDEX, again=INDEX), "pg18")
    assert stable.word == "changed"
    (flips,) = plan_changes(trees(SEQ, again=SEQ), trees(INDEX, again=SEQ), "pg18")
    assert flips.word == "unstable"


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    """A result whose first block has answers and plans."""
    folder = build(tmp_path, blocks=1)
    results = store.Results.open(folder)
    for arm in ("pg17", "pg18"):
        other = arm == "pg18"
        held = (answer("good", b"a"), FAILED if other else answer("bad", b"a"))
        results.write_answers(1, arm, Answers(workload=WORKLOAD, answers=held))
        tree = PlanTree(query="good", root=INDEX if other else SEQ)
        results.write_plan_trees(1, arm, PlanTrees(workload=WORKLOAD, trees=(tree,)))
    return folder


def test_a_result_tells_what_its_files_say(folder: Path) -> None:
    loaded = compare.load(folder)
    assert [(change.place.query, change.word) for change in loaded.queries.answers] == [
        ("good", "same"),
        ("bad", "fails"),
    ]
    assert [change.word for change in loaded.queries.plans] == ["changed"]
    assert compare.load(folder, base="pg18").queries.answers[1].word == "fails on the base"


def test_a_damaged_file_is_named_and_all_else_is_shown(folder: Path) -> None:
    path = next(folder.rglob("pg18/*/answers.json"))
    path.write_text("{", encoding="utf-8")
    loaded = compare.load(folder)
    assert loaded.queries.answers == ()
    assert [change.word for change in loaded.queries.plans] == ["changed"]
    assert any("answers.json" in line for line in loaded.warnings)


def made() -> Comparison:
    """A comparison in which one query fails and two have other plans, one with an effect."""
    whole = comparison(blocks=3, troubles=False)
    slower = next(
        step.step
        for step in whole.steps
        if step.cells[1].verdict is not None and step.cells[1].verdict.word == "slower"
    )
    places = [
        QueryPlace(workload="insert-benchmark", query=name, arm="pg18")
        for name in ("bad", slower, "other")
    ]
    answers = (
        AnswerChange(place=places[0], word="fails", detail="42601 syntax error", tuples=1, of=1),
        AnswerChange(place=places[1], word="same", tuples=1, of=1),
        AnswerChange(place=places[2], word="other type", detail="`e`: float8 …", tuples=2, of=5),
    )
    plans = tuple(
        PlanChange(
            place=place,
            word="changed",
            where="f: Seq Scan → Index Scan f_x",
            tuples=1,
            of=1,
            base=("Seq Scan of f",),
            plan=("Index Scan f_x of f",),
            base_cost=100.0,
            cost=8.0,
        )
        for place in places[1:]
    )
    return replace(whole, queries=QueryChanges(answers=answers, plans=plans))


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("fails", "pg18: fails in bad"),
        ("differs", "pg18: differs in other"),
        ("fewer atomics", None),
    ],
)
def test_ci_is_told_by_the_exit_status(words: str, line: str | None) -> None:
    assert fail_on.parse(words) == (words,)
    assert fail_on.found(made(), [words]) == line


def test_programs_and_tables_have_the_same() -> None:
    queries = json.loads(json_document.render(made()))["queries"]
    assert queries["answers"][0]["word"] == "fails"
    assert queries["plans"][0]["where"] == "f: Seq Scan → Index Scan f_x"
    rows = list(query_rows.answers(made()))
    assert (rows[0]["step"], rows[0]["word"], rows[2]["calls"]) == ("bad", "fails", 5)
    assert next(query_rows.plan_trees(made()))["arm_plan"] == "Index Scan f_x of f"
