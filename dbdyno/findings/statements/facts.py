"""What each statement of a step did in its window, all connections of a role together."""

from dataclasses import dataclass
from typing import Annotated

from dbdyno.model.facts import Facts, says


@dataclass(frozen=True, kw_only=True)
class StatementUse:
    """One kind of statement in the window of a step, all connections of a role together."""

    role: Annotated[str, says("the role's name")]
    name: Annotated[str, says("the statement's name")]
    kind: Annotated[str, says("statement, or control: BEGIN, COMMIT, ROLLBACK")]
    per_s: Annotated[float, says("executions without error, all connections", "1/s")]
    rows_per_s: Annotated[float, says("rows that they returned or changed", "rows/s")]
    found: Annotated[float | None, says("share that found a row; null: none should")]


@dataclass(frozen=True, kw_only=True)
class StatementFacts(Facts):
    """The statements of a step; none without a window."""

    statements: Annotated[
        tuple[StatementUse, ...], says("a kind of statement of a role, in a step's window")
    ] = ()
