"""The query plans of a step's statements, without what changes from one planning to the next."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dbdyno.model import StepRun
from dbdyno.model.snapshot import Snapshot, StatementPlan

GENERIC = "as a generic plan:"
"""The line above the plan for any values, where it is not that for sample values."""
NODES_NAMED_MAX = 2

_COSTS = re.compile(r"\s+\((?:cost|rows)=[^()]*\)\s*$")
_ARROW = re.compile(r"^\s*->\s+")


@dataclass(frozen=True, kw_only=True)
class StatementPlanChange:
    """A statement that the arm's server plans otherwise than the base's."""

    statement: str
    before: str  # the base's plan, in the first block in which they differ
    after: str
    blocks: int  # in which they differ
    of: int  # that have both


def plans(before: Snapshot | None) -> dict[str, str]:
    """The plan of each statement as before.json has it, as the lines of its nodes.

    Costs, rows, widths and conditions are left out: they change with the statistics, the sample
    values and the version's way of writing. A generic plan stands beside where it is another.
    """
    explained = {} if before is None else before.explain or {}
    made = {name: _both(plan) for name, plan in explained.items()}
    return {name: text for name, text in made.items() if text}


def _both(plan: StatementPlan) -> str:
    custom, generic = _nodes(plan.custom or ""), _nodes(plan.generic or "")
    if not custom or not generic or custom == generic:
        return custom or generic
    return f"{custom}\n{GENERIC}\n{generic}"


def _nodes(text: str) -> str:
    """The lines of a plan that are nodes, which are those with costs, of MySQL with rows."""
    lines = text.splitlines()
    return "\n".join(_COSTS.sub("", line) for line in lines if _COSTS.search(line))


def changes(base: Sequence[StepRun], other: Sequence[StepRun]) -> Iterable[StatementPlanChange]:
    """The statements that are planned otherwise in more than half of the blocks that have both.

    Plans of other servers are in other words, so that nothing follows from a difference.
    """
    known = {(run.block, run.server.statistics): run.server.plans for run in base}
    where = [((run.block, run.server.statistics), run.server.plans) for run in other]
    pairs = [(known[place], server_plans) for place, server_plans in where if place in known]
    for statement in dict.fromkeys(name for _, plans_of in pairs for name in plans_of):
        both = [
            (first[statement], second[statement])
            for first, second in pairs
            if statement in first and statement in second
        ]
        differ = [pair for pair in both if pair[0] != pair[1]]
        if 2 * len(differ) > len(both):
            before, after = differ[0]
            yield StatementPlanChange(
                statement=statement, before=before, after=after, blocks=len(differ), of=len(both)
            )


def words(change: StatementPlanChange) -> str:
    """A change in a few words: the nodes that only one of the plans has."""
    gone, new = _only(change.before, change.after), _only(change.after, change.before)
    often = "" if change.blocks == change.of else f", in {change.blocks} of {change.of} blocks"
    if gone and new:
        how = f"{_named(gone)} became {_named(new)}"
    elif gone or new:
        how = f"without {_named(gone)}" if gone else f"with {_named(new)}"
    else:
        how = "the same nodes in another order"
    return f"another plan of `{change.statement}`: {how}{often}"


def _only(text: str, other: str) -> list[str]:
    """The nodes of a plan that the other has not, each once."""
    theirs = set(_names(other))
    return list(dict.fromkeys(node for node in _names(text) if node not in theirs))


def _names(text: str) -> list[str]:
    return [_ARROW.sub("", line) for line in text.splitlines() if line != GENERIC]


def _named(nodes: Sequence[str]) -> str:
    more = len(nodes) - NODES_NAMED_MAX
    text = " and ".join(nodes[:NODES_NAMED_MAX])
    return f"{text} and {more} more" if more > 0 else text
