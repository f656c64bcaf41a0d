"""Reads the plans of auto_explain: of a log that has no other times, they are the calls."""

import re
from collections.abc import Iterable, Sequence
from itertools import islice

import msgspec
from msgspec import Struct

from dbdyno.capture.log.record import Record

TRIED_MAX = 2000
"""Records by which a log is told to have times of statements, or of plans alone."""
PLAN = re.compile(r"duration: \d+\.\d+ ms  plan:\s*")
CALL = re.compile(r"(?:duration: \d+\.\d+ ms  )?(?:statement|execute [^:]*): ")
TEXT_FORM = re.compile(
    r"Query Text: (?P<text>.*?)\n(?:Query Parameters: (?P<values>.*?)\n)?[^\n]*\(cost=", re.DOTALL
)
NESTED = re.compile(r"^(?:SQL (?:statement|expression|function) |PL/)", re.MULTILINE)
"""The context of a statement that a function runs; that of a call names its parameters."""
LITERAL = re.compile(r"'((?:[^']|'')*)'::([a-z]+(?: [a-z]+)*)")
"""A constant in a plan's condition, whose cast names the type of the value that was bound."""
TYPES = frozenset({"smallint", "integer", "bigint", "numeric", "real", "double precision"})
"""Types whose choice by a driver decides on an index; others are inferred alike."""


class LoggedPlan(Struct, rename={"text": "Query Text", "values": "Query Parameters"}):
    """What a plan says of its statement."""

    text: str = ""
    values: str = ""  # as a log's line of parameters has them, from 16 on


def only_plans(records: Iterable[Record]) -> bool:
    """Whether a log's first records have plans, and no statements with them."""
    plans = False
    for record in islice(records, TRIED_MAX):
        if CALL.match(record.message):
            return False
        plans = plans or PLAN.match(record.message) is not None
    return plans


def plan_of(message: str) -> LoggedPlan | None:
    """The statement of a plan, from JSON or from text; None: it has none that can be read."""
    head = PLAN.match(message)
    rest = message[head.end() :] if head is not None else message.removeprefix("plan:").lstrip()
    if rest.startswith("{"):
        try:
            plan = msgspec.json.decode(rest.encode("utf-8", "surrogateescape"), type=LoggedPlan)
        except msgspec.DecodeError:
            return None
        return plan if plan.text else None
    match = TEXT_FORM.match(rest)
    return None if match is None else LoggedPlan(match.group("text"), match.group("values") or "")


def types_of(message: str, values: Sequence[str | None]) -> tuple[str, ...]:
    """The types of bound values by the casts in a plan's conditions; "" where it tells none.

    A value that stands more than once in the call, or under several types, is not told apart.
    """
    types: dict[str, set[str]] = {}
    for match in LITERAL.finditer(message):
        types.setdefault(match[1], set()).add(match[2])
    named = []
    for value in values:
        of_value = types.get(value or "", set()) if values.count(value) == 1 else set()
        named.append(next(iter(of_value)) if len(of_value) == 1 and of_value <= TYPES else "")
    return tuple(named) if any(named) else ()
