"""Compares a running PostgreSQL's settings with those written: finds the ones that differ."""

from collections.abc import Callable, Mapping
from typing import Any

Query = Callable[[str], list[tuple[Any, ...]]]

CURRENT = "SELECT name, reset_val, unit, vartype FROM pg_settings"
SIZES = {"B": 1, "kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
TIMES = {"us": 1, "ms": 1000, "s": 10**6, "min": 60 * 10**6, "h": 3600 * 10**6, "d": 86400 * 10**6}
PAGES = {"8kB": 8 << 10, "16kB": 16 << 10, "32kB": 32 << 10, "4kB": 4 << 10}
"""Units in which pg_settings counts blocks."""
UNITS = SIZES | PAGES | TIMES
ON = ("on", "true", "yes", "1")


def sentences(query: Query, wanted: Mapping[str, str]) -> list[str]:
    """A sentence for each setting that the server holds otherwise than it was written."""
    held = {str(name): (setting, unit, kind) for name, setting, unit, kind in query(CURRENT)}
    found = []
    for name, value in wanted.items():
        if name not in held:
            continue
        setting, unit, kind = held[name]
        if not alike(value, str(setting), unit, kind):
            shown = f"{setting} × {unit}" if unit else setting
            found.append(f"{name} is {shown}, not {value}: the server changed it")
    return found


def alike(written: str, held: str, unit: str | None, kind: str) -> bool:
    """Whether a value as written means what pg_settings holds, counted in its unit."""
    text = written.strip()
    if kind == "bool":
        return (text.lower() in ON) == (held == "on")
    if kind not in ("integer", "real"):
        return text.lower() == held.lower() or listed(text) == listed(held)
    one, other = amount(text, unit), amount(held, unit)
    if one is None or other is None:
        return text == held
    # A server rounds to its unit, which changes nothing that anybody meant.
    return abs(one - other) <= UNITS.get(unit or "", 0)


def listed(text: str) -> list[str]:
    """The parts of a list, without spaces around them."""
    return [part.strip().lower() for part in text.split(",")]


def amount(text: str, unit: str | None) -> float | None:
    """A number in the smallest unit of its kind (bytes, microseconds); None where it is none."""
    for name in sorted(UNITS, key=len, reverse=True):
        if text.endswith(name) and is_number(text.removesuffix(name).strip()):
            return float(text.removesuffix(name)) * UNITS[name]
    if not is_number(text):
        return None
    return float(text) * UNITS.get(unit or "", 1)


def is_number(text: str) -> bool:
    """Whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
