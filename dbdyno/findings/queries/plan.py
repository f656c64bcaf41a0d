"""An application's queries on each arm beside the base: whether answers and plans are the same.

Both were asked in the first block, before anything was timed.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple, TypeVar, cast

from dbdyno.evidence.damaged_files import Damage
from dbdyno.findings.plan_finding import JudgedResult, PlanFinding
from dbdyno.findings.queries import plan_tree
from dbdyno.model import StepComparison
from dbdyno.model.answer import Answers
from dbdyno.model.answer_word import WORDS, AnswerMatch, compared
from dbdyno.model.plan_tree import PlanNode, PlanTree, PlanTrees, by_query
from dbdyno.model.query_change import (
    AnswerChange,
    Effect,
    PlanChange,
    PlanWord,
    QueryChanges,
    QueryPlace,
)
from dbdyno.model.verdict import CHANGED, Verdict
from dbdyno.model.work import WorkComparison, WorkWord
from dbdyno.store.folder import RunFolder

File = TypeVar("File", Answers, PlanTrees)


class ArmNames(NamedTuple):
    """An arm and the base, by their names."""

    base: str
    arm: str


def of_plan(compared: JudgedResult) -> QueryChanges:
    """The changes by the files of the first block that has them; none where no plan asks."""
    arms, lost = compared.arms, compared.lost
    runs = next(({run.arm: run for run in block.runs()} for block in compared.blocks), {})
    if arms.base not in runs:
        return QueryChanges()
    others = [
        ArmNames(base=arms.base, arm=arm) for arm in arms.shown if arm != arms.base and arm in runs
    ]
    answers = _read(runs, lost, RunFolder.answers)
    trees = _read(runs, lost, RunFolder.plan_trees)
    return QueryChanges(
        answers=tuple(
            change
            for pair in others
            for base, other in _paired(answers[pair.base], answers[pair.arm])
            for change in answer_changes(base, other, pair)
        ),
        plans=tuple(
            change
            for pair in others
            for base, other in _paired(trees[pair.base], trees[pair.arm])
            for change in plan_changes(base, other, pair)
        ),
    )


def _read(
    runs: Mapping[str, RunFolder], lost: Damage, read: Callable[[RunFolder], list[File]]
) -> dict[str, list[File]]:
    return {arm: lost.usable(partial(read, run)) or [] for arm, run in runs.items()}


def _paired(base: Sequence[File], other: Sequence[File]) -> Iterator[tuple[File, File]]:
    """The files of both arms, of the same workload."""
    by_workload = {file.workload: file for file in other}
    for file in base:
        if file.workload in by_workload:
            yield file, by_workload[file.workload]


# --- Answers ----------------------------------------------------------------------------------


def answer_changes(base: Answers, other: Answers, arms: ArmNames) -> Iterator[AnswerChange]:
    """The word of each query, in the base's order."""
    own = {(answer.query, answer.place): answer for answer in other.answers}
    by_query: dict[str, list[AnswerMatch]] = {}
    for answer in base.answers:
        if (answer.query, answer.place) in own:
            ordered = base.ordered.get(answer.query, ())
            word = compared(answer, own[answer.query, answer.place], ordered, base.open_parts)
            by_query.setdefault(answer.query, []).append(word)
    for query, words in by_query.items():
        worst = min(words, key=lambda each: (WORDS.index(each.word), not each.detail))
        yield AnswerChange(
            workload=base.workload,
            step=query,
            base=arms.base,
            arm=arms.arm,
            word=worst.word,
            detail=worst.detail,
            calls=len(words),
            calls_so=sum(each.word == worst.word for each in words),
        )


# --- Plans ------------------------------------------------------------------------------------


OTHER_ENGINE = "plans of two engines are not compared"


def plan_changes(base: PlanTrees, other: PlanTrees, arms: ArmNames) -> Iterator[PlanChange]:
    """The word of each query's plans, in the base's order; engines have plans of their own."""
    alike = not base.engine or not other.engine or base.engine == other.engine
    others = by_query(other.trees)
    for query, own in by_query(base.trees).items():
        same = PlanChange(
            workload=base.workload, step=query, base=arms.base, arm=arms.arm, word="same"
        )
        if alike:
            yield _plan_change(same, own, others[query])
        else:
            yield replace(same, word="not known", detail=OTHER_ENGINE)


def with_effects(
    changes: QueryChanges, steps: Sequence[StepComparison], work: WorkComparison
) -> QueryChanges:
    """The plans with what became of their queries: by time, else by counted work."""
    verdicts = {
        QueryPlace(workload=step.workload, query=step.step, arm=cell.arm): cell.verdict
        for step in steps
        for cell in step.cells
    }
    counted = {
        QueryPlace(workload=change.workload, query=change.step, arm=change.arm): change.word
        for change in work.changes
    }
    plans = (
        replace(plan, effect=_effect(verdicts.get(plan.place), counted.get(plan.place)))
        for plan in changes.plans
    )
    return replace(changes, plans=tuple(plans))


def _effect(verdict: Verdict | None, counted: WorkWord | None) -> Effect:
    word = None if verdict is None else verdict.word
    if word is not None and word in ("failed", *CHANGED):
        return cast(Effect, word)
    if counted in ("more", "less"):
        return "more work" if counted == "more" else "less work"
    if word == "open" or (word is None and counted == "open"):
        return "open"
    return "not timed" if word is None and counted is None else "none"


FINDING = PlanFinding(
    facts=QueryChanges,
    of_plan=of_plan,
    before_verdicts=True,
    with_verdicts=lambda compared, changes: with_effects(
        changes, compared.steps, compared.of(WorkComparison)
    ),
)

Trees = Sequence[PlanTree]


def _plan_change(same: PlanChange, base: Trees, other: Trees) -> PlanChange:
    pairs = _pairs(base, other, generic=False)
    changed = [pair for pair in pairs if pair[0].form != pair[1].form]
    of_any = _pairs(base, other, generic=True)
    generic = [pair for pair in of_any if pair[0].form != pair[1].form]
    if not pairs and not of_any:
        reasons = [tree.unavailable for tree in (*base, *other) if tree.unavailable]
        return replace(same, word="not known", detail=next(iter(reasons), ""))
    if changed or generic:
        first, second = (changed or generic)[0]
        word: PlanWord = "changed" if changed else "generic changed"
        return replace(
            same,
            word="unstable" if _unstable(base) or _unstable(other) else word,
            detail=plan_tree.parting(first, second),
            calls=len(pairs),
            calls_so=len(changed),
            base_cost=first.cost,
            arm_cost=second.cost,
            base_plan="\n".join(plan_tree.lines(first)),
            arm_plan="\n".join(plan_tree.lines(second)),
        )
    estimates = [plan_tree.other_estimate(*pair) for pair in pairs]
    where = next(filter(None, estimates), "")
    word = "other estimate" if where else "same"
    return replace(same, word=word, detail=where, calls=len(pairs))


def _pairs(base: Trees, other: Trees, *, generic: bool) -> list[tuple[PlanNode, PlanNode]]:
    """The trees of both arms for the same tuple."""
    own = {tree.place: tree.root for tree in other if _first(tree, generic=generic)}
    return [
        (tree.root, root)
        for tree in base
        if _first(tree, generic=generic) and tree.root is not None
        if (root := own.get(tree.place)) is not None
    ]


def _first(tree: PlanTree, *, generic: bool) -> bool:
    return tree.moment == "first" and tree.generic == generic


def _unstable(trees: Trees) -> bool:
    """Whether a plan of one arm changes with another sample of the rows."""
    again = {tree.place: tree.root for tree in trees if tree.moment == "again"}
    return any(
        tree.root is not None and other is not None and tree.root.form != other.form
        for tree in trees
        if _first(tree, generic=False)
        for other in [again.get(tree.place)]
    )
