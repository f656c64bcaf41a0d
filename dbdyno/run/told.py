"""What the workload wants told of a step once its load has ended: the bytes of its work.

The server is asked after the counters and the state after the load have been read, so that nothing
of it is in what is measured. What cannot be told is a warning: the step was measured all the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal

from dbdyno.engine import Server
from dbdyno.model import Json, Step
from dbdyno.model.error import ServerError

ANSWER_S_MAX = 3600.0
"""How long an answer may take; a sum reads a whole table."""


class NotTold(Exception):
    """A value is not there; why, in words."""


def work(server: Server, step: Step) -> Json:
    """`work` of done.json, and what of `warnings` is about it; nothing where none is asked for."""
    sql = step.headline.work_query if step.headline is not None else None
    if sql is None:
        return {"warnings": []}
    if server.address() is None:
        return {"work": None, "warnings": []}
    try:
        return {"work": number(answer(server, sql)), "warnings": []}
    except NotTold as reason:
        return {"work": None, "warnings": [f"headline.work: `{sql}`: {reason}"]}


def answer(server: Server, sql: str) -> object:
    """The first column of the first row. Raises NotTold."""
    try:
        rows: Sequence[Sequence[object]] = server.execute(sql, limit_s=ANSWER_S_MAX)
    except ServerError as error:
        raise NotTold(str(error)) from error
    if not rows or not rows[0] or rows[0][0] is None:
        raise NotTold("the answer is empty")
    return rows[0][0]


def number(value: object) -> float:
    """A number of a server's answer, or of its text. Raises NotTold."""
    if isinstance(value, int | float | Decimal | str) and not isinstance(value, bool):
        try:
            found = float(value)
        except ValueError:
            found = math.nan
        if math.isfinite(found):
            return found
    raise NotTold(f"{value!r} is no number")
