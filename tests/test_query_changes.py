"""What became of an application's queries: from the files of a result to report and exit status."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from comparison_builder import comparison
from dbdyno import store
from dbdyno.analysis import compare
from dbdyno.engine.answer_hash import ResultColumn, Rows
from dbdyno.findings.queries.plan import ArmNames, answer_changes, plan_changes
from dbdyno.model import Comparison
from dbdyno.model.answer import Answer, Answers, OpenQueryPart
from dbdyno.model.plan_tree import PlanNode, PlanTree, PlanTrees
from dbdyno.model.query_change import AnswerChange, PlanChange, QueryChanges
from dbdyno.report import fail_on, json_document
from doubted import doubted
from result_builder import WORKLOAD, build

ARMS = ArmNames(base="pg17", arm="pg18")
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
    return change.word, change.calls_so, change.calls


def test_the_gravest_of_a_querys_calls_is_its_word() -> None:
    base = [answer("q", b"a", place=place) for place in (1, 2, 3)]
    arm = [base[0], answer("q", b"b", place=2)]
    of_base, of_arm = (Answers(workload="w", answers=tuple(held)) for held in (base, arm))
    (change,) = answer_changes(of_base, of_arm, ARMS)
    assert word(change) == ("different", 1, 2)
    assert change.detail == "other values of `t`"


def test_an_answer_that_is_not_determined_is_not_called_different() -> None:
    base, arm = (Answers(workload="w", answers=(answer("q", text),)) for text in (b"a", b"b"))
    doubted = structs.replace(
        base, open_parts=(OpenQueryPart(query="q", reason="LIMIT without ORDER BY"),)
    )
    (change,) = answer_changes(doubted, arm, ARMS)
    assert (change.word, change.detail) == ("not determined", "LIMIT without ORDER BY")
    elsewhere = structs.replace(
        base, open_parts=(OpenQueryPart(query="q", place=2, reason="by itself"),)
    )
    (change,) = answer_changes(elsewhere, arm, ARMS)
    assert change.word == "different"
    failing = structs.replace(arm, answers=(structs.replace(FAILED, query="q"),))
    (change,) = answer_changes(doubted, failing, ARMS)
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
    (same,) = plan_changes(trees(SEQ), trees(structs.replace(SEQ, cost=7.0)), ARMS)
    assert same.word == "same"
    (changed,) = plan_changes(trees(SEQ, SEQ), trees(SEQ, INDEX), ARMS)
    assert word(changed) == ("changed", 1, 2)
    assert changed.detail == "f: Seq Scan → Index Scan f_x"
    assert (changed.base_cost, changed.arm_cost) == (100.0, 8.0)
    far = structs.replace(SEQ, expected_rows=5000.0)
    (estimate,) = plan_changes(trees(SEQ), trees(far), ARMS)
    assert estimate.word == "other estimate"
    none = PlanTrees(workload="w", trees=(PlanTree(query="q", unavailable="42601 syntax error"),))
    (unknown,) = plan_changes(trees(SEQ), none, ARMS)
    assert (unknown.word, unknown.detail) == ("not known", "42601 syntax error")


def test_plans_of_two_engines_are_not_compared() -> None:
    first, second = (structs.replace(trees(SEQ), engine=name) for name in ("mysql", "mariadb"))
    (change,) = plan_changes(first, second, ARMS)
    assert (change.word, change.detail) == ("not known", "plans of two engines are not compared")
    (change,) = plan_changes(first, structs.replace(trees(INDEX), engine="mysql"), ARMS)
    assert change.word == "changed"


def test_a_plan_that_changes_with_another_sample_is_no_change_of_the_version() -> None:
    (stable,) = plan_changes(trees(SEQ, again=SEQ), trees(INDEX, again=INDEX), ARMS)
    assert stable.word == "changed"
    (flips,) = plan_changes(trees(SEQ, again=SEQ), trees(INDEX, again=SEQ), ARMS)
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
    assert any("answers.json" in line for line in doubted(loaded))


def made() -> Comparison:
    """A comparison in which one query fails and two have other plans, one with an effect."""
    whole = comparison(blocks=3, troubles=False)
    slower = next(
        step.step
        for step in whole.steps
        if step.cells[1].verdict is not None and step.cells[1].verdict.word == "slower"
    )
    whose = {"workload": "insert-benchmark", "base": "pg17", "arm": "pg18"}
    alike = AnswerChange(**whose, step=slower, word="same", calls=1, calls_so=1)
    answers = (
        replace(alike, step="bad", word="fails", detail="42601 syntax error"),
        alike,
        replace(
            alike, step="other", word="other type", detail="`e`: float8 …", calls=5, calls_so=2
        ),
    )
    plans = tuple(
        PlanChange(
            **whose,
            step=name,
            word="changed",
            detail="f: Seq Scan → Index Scan f_x",
            calls=1,
            calls_so=1,
            base_plan="Seq Scan of f",
            arm_plan="Index Scan f_x of f",
            base_cost=100.0,
            arm_cost=8.0,
        )
        for name in (slower, "other")
    )
    changes = QueryChanges(answers=answers, plans=plans)
    return replace(whole, findings={**whole.findings, "QueryChanges": changes})


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
    tables = json.loads(json_document.render(made()))["tables"]
    rows, (plan, _) = tables["answers"], tables["plan_trees"]
    assert (rows[0]["step"], rows[0]["word"], rows[2]["calls"]) == ("bad", "fails", 5)
    assert plan["detail"] == "f: Seq Scan → Index Scan f_x"
    assert plan["arm_plan"] == "Index Scan f_x of f"
