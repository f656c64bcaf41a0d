"""The rows of an application's queries: what they answer, and how they are planned, on each arm."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.model import Comparison, Json
from dbdyno.model.query_change import QueryPlace


def answers(comparison: Comparison) -> Iterator[Json]:
    """A row for each query on each arm beside the base."""
    for change in comparison.queries.answers:
        yield place(comparison, change.place) | {
            "word": change.word,
            "detail": change.detail or None,
            "calls": change.of,
            "calls_so": change.tuples,
        }


def plan_trees(comparison: Comparison) -> Iterator[Json]:
    """A row for each query on each arm beside the base."""
    for change in comparison.queries.plans:
        yield place(comparison, change.place) | {
            "word": change.word,
            "detail": change.where or None,
            "calls": change.of,
            "calls_so": change.tuples,
            "base_cost": change.base_cost,
            "arm_cost": change.cost,
            "base_plan": "\n".join(change.base) or None,
            "arm_plan": "\n".join(change.plan) or None,
        }


def place(comparison: Comparison, query: QueryPlace) -> Json:
    """The columns that both tables begin with."""
    return {
        "workload": query.workload,
        "step": query.query,
        "base": comparison.base,
        "arm": query.arm,
    }
