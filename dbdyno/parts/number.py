"""Numbers as words: thousands separators, digits by size, units that fit, NA if missing."""

import math
from collections.abc import Iterable, Sequence
from typing import Literal

from dbdyno.model.verdict import TIMES_MIN, TOO_FEW, is_wide

MISSING = "NA"
MINUS = "\u2212"
NO_BREAK = "\u00a0"
TIMES = "\u00d7"
EN_DASH = "\u2013"

ARMS_NAMED_MAX = 4
"""Of more arms than these a sentence gives their number, or the ends of what they have."""
NAMES_MAX = 4
"""So many names are told, the others counted."""

_TIMES = ((1e6, "s"), (1e3, "ms"), (1.0, "µs"))
_END_MAX = 10_000  # of an interval of ratios: what is beyond is written with an exponent
_SIZES = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def number(value: float | None, digits: int | None = None) -> str:
    """A number with `digits` after the point; without them, about three significant ones.

    Whole from 100 on, since throughputs are never known better than that.
    """
    if value is None or math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "inf" if value > 0 else f"{MINUS}inf"
    if digits is None:
        digits = digits_for(abs(value))
    text = f"{abs(value):,.{digits}f}"
    negative = value < 0 and any(digit in text for digit in "123456789")
    return MINUS + text if negative else text


def digits_for(size: float) -> int:
    """Digits after the point for a number of this size: about three significant ones."""
    if size == 0 or size >= 100:
        return 0
    if size >= 0.1:
        return 1 if size >= 10 else 2 if size >= 1 else 3
    return min(9, 2 - math.floor(math.log10(size)))


def digits_alike(values: Iterable[float | None], digits: int) -> int:
    """Digits after the point for numbers that are read side by side.

    At most `digits`, no more than three significant ones, and at least two where all are small.
    """
    sizes = [abs(value) for value in values if value is not None and math.isfinite(value)]
    largest = max(sizes, default=0.0)
    if largest == 0 or largest >= 1:
        return min(digits, digits_for(largest))
    return max(min(digits, 3), digits_for(largest) - 1)


def ratio(value: float | None, digits: int = 2) -> str:
    """A ratio with two digits, as in the published tables."""
    return number(value, digits)


def interval(low: float | None, high: float | None, digits: int = 2) -> str:
    """An interval of ratios; nothing where there is none, and words for one that says nothing."""
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return ""
    if is_wide(low, high):
        return TOO_FEW
    return EN_DASH.join(_end(end, digits) for end in (low, high))


def _end(value: float, digits: int) -> str:
    """An end of an interval: 1.03, 137, 3e10."""
    if math.isfinite(value) and value >= _END_MAX:
        return f"{value:.0e}".replace("e+0", "e").replace("e+", "e")
    return number(value, 0 if value >= 100 else digits)


def short(value: float) -> str:
    """A number of which only the size matters where it is large: 0.400, 12.3, 870, 3e10."""
    return _end(value, digits_for(value))


def change(value: float, digits: int | None = None) -> str:
    """A ratio as a change: +5.0 %, with two digits, as many as counts have, +3.27 %."""
    percent = (value - 1) * 100
    return f"{signed(percent, (0 if abs(percent) >= 99.95 else 1) if digits is None else digits)} %"


def counted(value: float, *ends: float | None) -> str:
    """A ratio as a change with the digits of counts, and its interval: +0.70 % [+0.68, +0.72]."""
    around = ", ".join(change(end or 1.0, 2).removesuffix(" %") for end in ends)
    return f"{change(value, 2)} [{around}]" if around else change(value, 2)


def signed(value: float, digits: int = 0) -> str:
    """A difference with its sign: +1,395, −0.3."""
    text = number(value, digits)
    return text if text.startswith(MINUS) else f"+{text}"


Of = Literal["rate", "time", "amount"]
"""What a ratio is of: operations in a time, the time of an operation, or another cost of it."""


def changes(value: float, low: float | None, high: float | None, of: Of = "amount") -> str:
    """A ratio as a change with its interval: −7.5 % [−7.9, −7.1]; without one the change alone.

    A factor of 2 and more in times: 3.40 times as long [3.21, 3.60], 2.10 times as fast.
    """
    if of == "amount" and value >= TIMES_MIN:
        return f"{short(value)} times{_times(low, high)}"
    if of != "amount" and is_factor(value):
        longer = (value > 1) is (of == "time")
        if (longer and of == "rate") or (not longer and of == "time"):
            value, low, high = 1 / value, high and 1 / high, low and 1 / low
        return f"{short(value)} times as {'long' if longer else 'fast'}{_times(low, high)}"
    ends = change_interval(low, high)
    return f"{change(value)} [{ends}]" if ends else change(value)


def named(what: str, ratio: float, words: str) -> str:
    """A change after its metric: throughput −7.5 %; operations ran 3.40 times as long."""
    times = what == "throughput" and is_factor(ratio)
    return f"operations ran {words}" if times else f"{what} {words}"


def speed(value: float, low: float | None, high: float | None) -> str:
    """A ratio of throughputs: 9.1 % slower [7.8, 10.4], 3.40 times as long [3.21, 3.60]."""
    if is_factor(value):
        return changes(value, low, high, "rate")
    word = "slower" if value < 1 else "faster"
    return f"{size_of_change(value)} {word}{ends(value, low, high)}"


def haste(value: float, low: float | None, high: float | None) -> str:
    """A ratio of times: slower, in 9.1 % more time [7.8, 10.4]."""
    word = "faster" if value < 1 else "slower"
    return f"{word}, in {amount(value)} time{ends(value, low, high)}"


def amount(value: float, *, counted: bool = False) -> str:
    """A ratio of amounts, to stand before what it is of: 9.6 % more, 3.20 times the."""
    if value >= TIMES_MIN:
        return f"{short(value)} times the"
    word = "more" if value >= 1 else "fewer" if counted else "less"
    return f"{size_of_change(value)} {word}"


def ends(value: float, low: float | None, high: float | None) -> str:
    """The interval that belongs to `amount` or `speed`, in its unit: [8.1, 11.2], or nothing."""
    if value >= TIMES_MIN or low is None or high is None or is_wide(low, high):
        return _times(low, high)
    sides = (low, high) if value >= 1 else (2 - high, 2 - low)
    return f" [{', '.join(change(side).strip('+').removesuffix(' %') for side in sides)}]"


def brief(value: float) -> str:
    """A ratio where there is little room: −2.0 %, +5.0 %, ×4, ×1/2.61."""
    return factor(value) if is_factor(value) else change(value)


def factor(value: float) -> str:
    """A ratio in times: ×4, ×1/2.61."""
    text = short(max(value, 1 / value))
    size = text.rstrip("0").rstrip(".") if "." in text else text
    return f"{TIMES}{'' if value >= 1 else '1/'}{size}"


def is_factor(value: float) -> bool:
    """Whether a ratio is said in times, and no longer in percent."""
    return value > 0 and not 1 / TIMES_MIN < value < TIMES_MIN


def _times(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return ""
    return f" [{TOO_FEW}]" if is_wide(low, high) else f" [{short(low)}, {short(high)}]"


def change_interval(low: float | None, high: float | None) -> str:
    """An interval of ratios as changes in percent: −7.9, −7.1; words for one that says nothing.

    Nothing where there is none.
    """
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return ""
    if is_wide(low, high):
        return TOO_FEW
    return ", ".join(change(end).removesuffix(" %") for end in (low, high))


def percent(share: float) -> str:
    """A share that somebody asks for, as a percentage without an empty digit: 3 %, 2.5 %."""
    return f"{number(100 * share, 1).removesuffix('.0')} %"


LARGE = 0.995
"""Of shares from here on a digit after the point says nothing."""


def measured(share: float, digits: int = 1) -> str:
    """A share that was measured, as a percentage: 3.0 %, and 31 % of large ones."""
    return f"{number(100 * share, digits if abs(share) < LARGE else 0)} %"


VISIBLE_MAX = 10.0
"""A share, 1,000 %: a larger one says no more than that so few blocks see nothing."""


def visible(share: float | None) -> str:
    """The smallest change that is seen, in percent: 3.1, 130; > 1,000 beyond, or of no number."""
    if share is None or share > VISIBLE_MAX:
        return "> 1,000"
    return measured(share).removesuffix(" %")


def probability(value: float) -> str:
    """A p or q; a small one by its bound."""
    return "under 0.0001" if value < 0.0001 else number(value, 4 if value < 0.01 else 2)


def size_of_change(value: float) -> str:
    """A change without its sign: 7.5 %."""
    return change(value).lstrip(f"+{MINUS}")


def difference(value: float, base: float, digits: int) -> str:
    """How much more than `base`, with its sign: +1.5, −0.3."""
    text = number(value - base, digits)
    return f"+{text}" if value > base else text


def listed(words: Iterable[object]) -> str:
    """Reads; reads and writes; reads, writes and waits; of none nothing."""
    texts = [str(word) for word in words]
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def of_blocks(blocks: Iterable[int]) -> str:
    """`block 3`, `blocks 1 to 3, 5`; of none nothing."""
    runs: list[list[int]] = []
    for block in sorted(set(blocks)):
        if runs and block == runs[-1][-1] + 1:
            runs[-1].append(block)
        else:
            runs.append([block])
    words = ", ".join(
        f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs
    )
    return f"block{'s' * (words.isdigit() is False)} {words}" if runs else ""


def few(names: Sequence[str], most: int = NAMES_MAX, between: str = ", ") -> str:
    """The first of the names, and how many more there are: a, b and 3 more; a; b; and 3 more."""
    before = " " if between == ", " else between
    more = f"{before}and {len(names) - most} more" if len(names) > most else ""
    return f"{between.join(names[:most])}{more}"


def few_signs(text: str, most: int) -> str:
    """A name, or its beginning where it is longer than `most`."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def blocks(count: int) -> str:
    """A number of blocks: 1 block, 6 blocks."""
    return f"{count} block{'s' if count != 1 else ''}"


def queries(count: int) -> str:
    """1 query, 4 queries."""
    return "1 query" if count == 1 else f"{count} queries"


def times(count: int) -> str:
    """How often something happened: once, 3 times."""
    return "once" if count == 1 else f"{count} times"


def minutes(value: float) -> str:
    """A length of time in minutes, in words that fit: 40 min, 3 h 20 min, 2.1 days."""
    whole = max(1, round(value))
    if whole < 60:
        return f"{whole} min"
    if whole < 48 * 60:
        return f"{whole // 60} h {whole % 60} min" if whole % 60 else f"{whole // 60} h"
    return f"{number(value / (24 * 60), 1)} days"


def time_us(value: float | None) -> str:
    """A time given in microseconds, in the unit that fits: 812 µs, 3.42 ms, 1.20 s."""
    if value is None or math.isnan(value):
        return MISSING
    for size, unit in _TIMES:
        if abs(value) >= size * 0.9995:
            return f"{_three(value / size)} {unit}"
    return f"{_three(value)} µs"


def size_bytes(value: float | None) -> str:
    """A number of bytes, in the unit that fits: 16.0 GiB."""
    if value is None or math.isnan(value):
        return MISSING
    for size, unit in _SIZES:
        if abs(value) >= size:
            return f"{_three(value / size)} {unit}"
    return f"{number(value, 0)} B"


def _three(value: float) -> str:
    """Three significant digits, no exponent."""
    if value == 0 or abs(value) >= 99.95:
        return number(value, 0)
    return number(value, 1 if abs(value) >= 9.995 else 2 if abs(value) >= 0.9995 else None)


def seconds(low: float, high: float) -> str:
    """A length of time in seconds, as a range where the ends differ when rounded."""
    digits = 0 if high >= 20 else 1
    first, last = number(low, digits), number(high, digits)
    return f"{first} s" if first == last else f"{first} to {last} s"


def share(value: float | None) -> str:
    """A share as a percentage with three digits; `nonzero` where it would read 0.000.

    Published form of the response-time table; nothing at all for none.
    """
    if value is None:
        return MISSING
    if value == 0:
        return ""
    text = f"{value * 100:.3f}"
    return "nonzero" if text == "0.000" else text


def unbroken(text: str) -> str:
    """Words in which no line ends between a number and what belongs to it: `≥`, `≤` and `%`."""
    for before, after in ((" %", f"{NO_BREAK}%"), ("≥ ", f"≥{NO_BREAK}"), ("≤ ", f"≤{NO_BREAK}")):
        text = text.replace(before, after)
    return text
