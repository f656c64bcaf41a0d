"""Checks facts that a step's load must not change, such as that balances agree, by SQL.

The server is asked after the step's set-up and again after its load, outside of all that is
measured. Conditions are asked after the load alone: each counts what breaks it.
"""

from collections.abc import Sequence

from dbdyno.engine import Server
from dbdyno.model import Step
from dbdyno.model.step_files import StepCheck

ANSWER_S_MAX = 3600.0
"""How long all answers may take; a sum reads a whole table."""


def answers(server: Server, step: Step) -> list[str]:
    """The server's answers to the step's invariants; none without a database.

    Raises ServerError.
    """
    if server.address() is None:
        return []
    return [_text(server.execute(sql, limit_s=ANSWER_S_MAX)) for sql in step.invariants]


def compared(step: Step, before: Sequence[str], after: Sequence[str]) -> list[StepCheck]:
    """The invariants as `checks` of done.json."""
    return [
        StepCheck(what=f"invariant `{sql}`", expected=answer, actual=later, ok=answer == later)
        for sql, answer, later in zip(step.invariants, before, after, strict=False)
    ]


def held(server: Server, step: Step) -> list[StepCheck]:
    """The step's conditions as `checks` of done.json; none without a database.

    Raises ServerError.
    """
    if server.address() is None:
        return []
    answers = (
        (condition, _text(server.execute(condition.query, limit_s=ANSWER_S_MAX)))
        for condition in step.conditions
    )
    return [
        StepCheck(what=f"condition `{each.name}`", expected="0", actual=answer, ok=answer == "0")
        for each, answer in answers
    ]


def unmet(checks: Sequence[StepCheck]) -> str | None:
    """The conditions that do not hold, each with its answer; None where all do."""
    wrong = [f"{check.what} by {check.actual}" for check in checks if not check.ok]
    return f"after the load not 0: {', '.join(wrong)}" if wrong else None


def broken(checks: Sequence[StepCheck]) -> str | None:
    """The first invariant that does not hold, in a sentence; None where all do."""
    for check in checks:
        if not check.ok:
            return (
                f"{check.what} is broken: the answer was {check.expected} before the load "
                f"and {check.actual} after it"
            )
    return None


def _text(rows: Sequence[Sequence[object]]) -> str:
    """An answer in words: its values with commas, its rows with semicolons."""
    return "; ".join(
        ", ".join("null" if value is None else str(value) for value in row) for row in rows
    )
