"""plans.json into words: which queries get another plan on an arm, and of which nothing is told.

The base's plans, made without data as all are, stand beside those that the server itself told at
its capture: where they differ, the lab does not know enough, and nothing is told of the query.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dbdyno.findings.queries import plan_tree
from dbdyno.findings.queries.plan import ArmNames, plan_changes
from dbdyno.model.error import ResultError
from dbdyno.model.plan_tree import PlanTree, by_query
from dbdyno.model.planner_statistics import BEYOND_WORDS, HIDDEN_WORDS
from dbdyno.model.plans_only import (
    FILE,
    FORMAT,
    FlippedQuery,
    FlipWord,
    JitChange,
    PlannedQuery,
    PlanningArm,
    PlansRecord,
)
from dbdyno.model.query_change import PlanChange, PlanWord
from dbdyno.store.file import read_format

WORDS: Mapping[PlanWord, FlipWord] = {
    "changed": "another plan",
    "generic changed": "another plan",
    "unstable": "near",
    "other estimate": "same",
    "same": "same",
    "not known": "not told",
}
REFUSED = "42"
"""How the codes of errors begin by which a server refuses a text."""
IN_WORDS = {
    "42P01": "the dump lacks a table that it reads",
    "57014": "planning it takes longer than its limit",
}
"""What an error's code means for a query that the lab does not plan."""
OTHERWISE = "its server plans it otherwise"
NO_VALUES = "no values of its parameters are known"
FOREIGN = "Foreign"
"""How the nodes begin that read what is elsewhere."""
CATALOG = "pg_"
"""How the server's own tables begin, which the lab has otherwise."""


def load(folder: Path) -> PlansRecord:
    """The record in a folder of `dyno plans`. Raises ResultError."""
    path = folder / FILE
    if not path.is_file():
        raise ResultError(f"{path}: is not there: name the folder that `dyno plans` wrote")
    return read_format(path, PlansRecord, FORMAT)


def flipped(record: PlansRecord) -> tuple[FlippedQuery, ...]:
    """What became of each query on each arm beside the base, the largest share first."""
    base, *others = (ArmPlans(arm, _first(arm.trees.trees)) for arm in record.arms)
    queries, source = {each.name: each for each in record.queries}, _first(record.source)
    rows = [
        _row(record, queries[change.step], (base, other), source[change.step], change)
        for other in others
        for change in plan_changes(
            base.arm.trees, other.arm.trees, ArmNames(base.arm.name, other.arm.name)
        )
    ]
    return tuple(sorted(rows, key=lambda row: -row.share))


@dataclass(frozen=True)
class ArmPlans:
    """An arm, and by query its plans under its own costs."""

    arm: PlanningArm
    of: Mapping[str, Sequence[PlanTree]]


def _first(trees: Sequence[PlanTree]) -> Mapping[str, Sequence[PlanTree]]:
    return by_query(tree for tree in trees if tree.moment == "first")


def _row(
    record: PlansRecord,
    query: PlannedQuery,
    arms: tuple[ArmPlans, ArmPlans],
    source: Sequence[PlanTree],
    change: PlanChange,
) -> FlippedQuery:
    base, arm = (plans.arm for plans in arms)
    own, other = (plans.of[query.name] for plans in arms)
    word, where, proven = WORDS[change.word], change.detail, False
    reason = next(_unknown(record, query, own, source), "")
    planned = bool(own) and all(tree.root is not None for tree in own)
    if planned and (refused := _refused(other)):
        word, where, reason = "fails", refused, ""
    elif reason or word == "not told":
        detail = IN_WORDS.get(change.detail.partition(" ")[0], change.detail)
        word, where = "not told", reason or detail
        reason = reason or detail or NO_VALUES
    else:
        proven, otherwise = _proof(source, own)
        if otherwise:
            word, where, reason = "not told", f"{OTHERWISE}: {otherwise}", OTHERWISE
    return FlippedQuery(
        query=query.name,
        arm=arm.name,
        word=word,
        share=query.time_s / record.time_s if record.time_s else 0.0,
        where="" if word == "same" else where,
        reason=reason,
        proven=proven,
        generic=change.word == "generic changed" or all(tree.generic for tree in own),
        tuples=change.calls_so,
        of=change.calls,
        jit=_jit(base, own, arm, other),
        base=tuple(change.base_plan.splitlines()),
        plan=tuple(change.arm_plan.splitlines()),
    )


def _refused(trees: Sequence[PlanTree]) -> str:
    """Why an arm refuses a text; empty where it does not."""
    reasons = (tree.unavailable for tree in trees if tree.unavailable.startswith(REFUSED))
    return next(reasons, "")


def _unknown(
    record: PlansRecord, query: PlannedQuery, own: Sequence[PlanTree], source: Sequence[PlanTree]
) -> Iterator[str]:
    """Reasons for which the lab cannot know a query's plan."""
    nodes = [node for tree in (*own, *source) if tree.root is not None for node in tree.root.walk()]
    words = {*query.words, *(word.lower() for word in query.words)}
    read = {node.relation.partition(" ")[0] for node in nodes if node.relation}
    named = read if nodes else words
    for part in record.hidden.parts:
        if part.concerns(named, words):
            yield f"{HIDDEN_WORDS[part.subject]} are hidden: {record.hidden.grant}"
    subjects = [part.subject for part in record.beyond if part.concerns(named, words)]
    if any(node.node.startswith(FOREIGN) for node in nodes):  # of a join no relation is named
        subjects.append("foreign")
    for subject in subjects:
        yield BEYOND_WORDS[subject]
    if any(name.startswith(CATALOG) for name in read):
        yield "it reads the server's catalogs"
    if reading := sorted(words & {*record.reading}):
        yield f"`{reading[0]}` reads tables while it is planned"


def _proof(source: Sequence[PlanTree], own: Sequence[PlanTree]) -> tuple[bool, str]:
    """Whether the base's plans are the server's own; where they part."""
    of_source = {(tree.place, tree.generic): tree.root for tree in source}
    pairs = [
        (root, tree.root)
        for tree in own
        if tree.root is not None and (root := of_source.get((tree.place, tree.generic))) is not None
    ]
    parted = (plan_tree.parting(*pair) for pair in pairs if pair[0].form != pair[1].form)
    otherwise = next(parted, "")
    return bool(pairs) and not otherwise, otherwise


def _jit(
    base: PlanningArm, own: Sequence[PlanTree], arm: PlanningArm, other: Sequence[PlanTree]
) -> JitChange:
    """Whether the plan for the first values is compiled on one of the two alone."""
    before, after = _compiled(base, own), _compiled(arm, other)
    return "" if before == after else "begins" if after else "ends"


def _compiled(arm: PlanningArm, trees: Sequence[PlanTree]) -> bool:
    """Whether an arm would compile the first plan, by its cost; builds of the lab may not."""
    root = next((tree.root for tree in trees if tree.root is not None), None)
    if root is None or root.cost is None or arm.jit_above is None:
        return False
    return root.cost > arm.jit_above
