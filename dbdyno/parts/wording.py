"""Changes in words: `9.6 % more`, `2.41 times as fast`, `[8.1, 11.2]`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dbdyno.model.verdict import TIMES_MIN, TOO_FEW, is_wide

MINUS = "\u2212"
ARMS_NAMED_MAX = 4
"""Of more arms than these a sentence gives their number, or the ends of what they have."""
NAMES_MAX = 4
"""So many names are told, the others counted."""

_TIMES = ((1e6, "s"), (1e3, "ms"))


def speed(ratio: float, low: float | None, high: float | None) -> str:
    """A ratio of throughputs: `9.1 % slower [7.8, 10.4]`, `3.4 times as long`."""
    if ratio >= TIMES_MIN:
        return f"{three(ratio)} times as fast{_interval(low, high)}"
    if ratio <= 1 / TIMES_MIN:
        ends_of = (high and 1 / high, low and 1 / low)
        return f"{three(1 / ratio)} times as long{_interval(*ends_of)}"
    return f"{_percent(ratio)} {'slower' if ratio < 1 else 'faster'}{_ends(ratio, low, high)}"


def haste(ratio: float, low: float | None, high: float | None) -> str:
    """A ratio of times: `slower, in 9.1 % more time [7.8, 10.4]`."""
    word = "faster" if ratio < 1 else "slower"
    return f"{word}, in {amount(ratio)} time{ends(ratio, low, high)}"


def amount(ratio: float, *, counted: bool = False) -> str:
    """A ratio of amounts, to stand before what it is of: `9.6 % more`, `3.20 times the`."""
    if ratio >= TIMES_MIN:
        return f"{three(ratio)} times the"
    return f"{_percent(ratio)} {'more' if ratio >= 1 else 'fewer' if counted else 'less'}"


def ends(ratio: float, low: float | None, high: float | None) -> str:
    """The interval that belongs to `amount` or `speed`, in its unit: ` [8.1, 11.2]`, or nothing."""
    return _interval(low, high) if ratio >= TIMES_MIN else _ends(ratio, low, high)


def change(ratio: float) -> str:
    """A ratio as a change with its sign: `+2.0 %`, `−4.1 %`."""
    return f"{100 * (ratio - 1):+.1f} %".replace("-", MINUS)


def time(microseconds: float) -> str:
    """A time in three digits, in the unit that fits: `8.02 µs`, `1.31 ms`."""
    for size, unit in _TIMES:
        if abs(microseconds) >= size:
            return f"{three(microseconds / size)} {unit}"
    return f"{three(microseconds)} µs"


def three(value: float) -> str:
    """Three digits that count, without an exponent where that is readable."""
    size = abs(value)
    digits = 0 if size >= 99.95 else 1 if size >= 9.995 else 2
    text = f"{size:,.{digits}f}" if size >= 0.9995 else f"{size:.3g}"
    return f"{MINUS}{text}" if value < 0 else text


def listed(words: Iterable[object]) -> str:
    """`reads`, `reads and writes`, `reads, writes and waits`; of none nothing."""
    texts = [str(word) for word in words]
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def few(names: Sequence[str]) -> str:
    """The first of the names, and how many more there are: `n1, n2, n3, n4 and 3 more`."""
    more = f" and {len(names) - NAMES_MAX} more" if len(names) > NAMES_MAX else ""
    return f"{', '.join(names[:NAMES_MAX])}{more}"


def _percent(ratio: float) -> str:
    return f"{abs(ratio - 1) * 100:.1f} %"


def _ends(ratio: float, low: float | None, high: float | None) -> str:
    """The ends in percent of the direction that `ratio` has."""
    if low is None or high is None:
        return ""
    if is_wide(low, high):
        return f" [{TOO_FEW}]"
    sign = -1 if ratio < 1 else 1
    first, second = sorted(sign * (end - 1) * 100 for end in (low, high))
    return f" [{_signed(first)}, {_signed(second)}]"


def _signed(value: float) -> str:
    text = f"{abs(value):.1f}"
    return f"{MINUS}{text}" if value < 0 and text != "0.0" else text


def _interval(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return ""
    return f" [{TOO_FEW}]" if is_wide(low, high) else f" [{three(low)}, {three(high)}]"
