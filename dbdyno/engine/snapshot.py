"""Parts of a snapshot: one that cannot be had is None, and named with its reason."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from math import isfinite
from typing import Any, TypeVar

Row = dict[str, Any]
Found = TypeVar("Found")


class Unavailable(Exception):
    """The server has no such thing; the text says why."""


def part(
    reasons: dict[str, str],
    name: str,
    read: Callable[[], Found],
    errors: tuple[type[Exception], ...],
) -> Found | None:
    """What `read` gives; None, with the reason kept under `name`, where it cannot be had.

    `errors`: what the driver raises of the server's refusals.
    """
    try:
        return read()
    except Unavailable as error:
        reasons[name] = str(error)
    except errors as error:
        reasons[name] = one_line(error)
    return None


def plain(value: Any) -> Any:
    """A value as JSON has it: numbers, text, truth, None, lists; times and intervals as text."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, Decimal):
        if not value.is_finite():
            return None
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return str(value)
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def one_line(error: Exception) -> str:
    """The first line of an error's text, or its kind where it has none."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
