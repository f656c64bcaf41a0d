"""The calls by which an application's queries are asked: each with some of its captured values.

Values stand in these calls and go to the server; nothing else takes them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec import Raw, json

from dbdyno.capture.mysql_mode import SQL_MODE, reading_of
from dbdyno.engine.inquiry import CALL_S_MAX, CALL_S_MIN, QueryCall
from dbdyno.model.engine import Traits
from dbdyno.model.literal import literal
from dbdyno.model.own_query import OwnQuery
from dbdyno.workload import samples
from dbdyno.workload.own_text import at_parameters
from dbdyno.workload.queries import time_limit_s


@dataclass(frozen=True)
class Number:
    """A number with the digits that it was written with."""

    text: str


Value = Number | str | bool | None
QUOTE = b'"'
NULL, TRUE, FALSE = b"null", b"true", b"false"


def calls(query: OwnQuery, traits: Traits, most: int) -> tuple[QueryCall, ...]:
    """The calls of a query with its heaviest tuples, at most so many.

    One where it has no parameters; none where it has some, and no values are known. Raises
    WorkloadError: the file of values cannot be read.
    """
    if len(at_parameters(query.text)) == 1:
        return (as_call(query, (), traits),)
    if query.values is None:
        return ()
    return tuple(as_call(query, values, traits) for values in heaviest(query.values, most))


def heaviest(path: Path, most: int) -> list[tuple[Value, ...]]:
    """The values of the heaviest tuples of a file, at most so many. Raises WorkloadError."""
    kept = sorted(samples.read(path).samples, key=lambda sample: -sample.weight)[:most]
    return [tuple(map(_value, sample.values)) for sample in kept]


def _value(raw: Raw) -> Value:
    text = bytes(raw)
    if text.startswith(QUOTE):
        return json.decode(text, type=str)
    if text in (TRUE, FALSE):
        return text == TRUE
    return None if text == NULL else Number(text.decode())


def as_call(query: OwnQuery, values: Sequence[Value], traits: Traits) -> QueryCall:
    """A call of a query with these values, by its protocol."""
    bound = query.protocol != "simple" and traits.placeholders
    return QueryCall(
        text=query.text if bound else with_literals(query, values, traits),
        own_text=query.text,
        values=tuple(map(_bound, values)) if bound and values else None,
        types=query.types if bound else (),
        writes=query.writes,
        settings=query.settings,
        role=query.role,
        limit_s=min(CALL_S_MAX, max(CALL_S_MIN, time_limit_s(query))),
    )


def with_literals(query: OwnQuery, values: Sequence[Value], traits: Traits) -> str:
    """A query's text with its values as literals, as the application wrote them."""
    escapes = traits.escapes(query.settings)
    return "".join(
        written(values[int(piece[1:]) - 1], escapes=escapes)
        if number % 2 and int(piece[1:]) <= len(values)
        else piece
        for number, piece in enumerate(at_parameters(query.text))
    )


def in_usual_mode(query: OwnQuery, traits: Traits) -> str:
    """A query's text as the usual mode of its engine reads it."""
    if not traits.backslash_escapes:
        return query.text
    return reading_of(query.settings.get(SQL_MODE, "")).usual(query.text)


def written(value: Value, *, escapes: bool) -> str:
    """A value as a literal; a negative number does not run into a minus before it."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case Number():
            return f" {value.text}" if value.text.startswith("-") else value.text
    return literal(value, backslash_escapes=escapes)


def _bound(value: Value) -> str | None:
    match value:
        case Number():
            return value.text
        case bool():
            return "true" if value else "false"
    return value
