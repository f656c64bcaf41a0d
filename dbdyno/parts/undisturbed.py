"""How changes of undisturbed time are written: microseconds first, then percent."""

from collections.abc import Iterable

from dbdyno.model.metric.primary import CPU, called, is_second
from dbdyno.model.verdict import Judgement
from dbdyno.parts import number

SHORT_US = 10.0
"""Changes under this have two digits after the point, and no more."""
BOTH = " or "


def head(judgements: Iterable[Judgement]) -> str:
    """What judges beside the headlines of steps: undisturbed time; CPU; undisturbed time or CPU."""
    names = {called(each.metric) for each in judgements if is_second(each.metric)}
    return BOTH.join(sorted(names, reverse=True)) or called(CPU)


def labelled(text: str, judgement: Judgement, column: str) -> str:
    """The text of a judgement, with its metric where its column has both: CPU +3.1."""
    return f"{called(judgement.metric)} {text}" if BOTH in column else text


def change(judgement: Judgement) -> str:
    """A change with its interval: +0.70 µs, +2.1 % [1.5, 2.7]."""
    return ", ".join(filter(None, (added(judgement), number.changes(*judgement.told))))


def words(judgement: Judgement, unit: str) -> str:
    """The same of an operation: +0.70 µs an undisturbed query, +2.1 % [1.5, 2.7]."""
    changes = number.changes(*judgement.told)
    return f"{added(judgement)} an undisturbed {unit}, {changes}".lstrip()


def added(judgement: Judgement) -> str:
    """How much longer an operation takes: +0.70 µs, −1.20 ms; nothing where it is not known."""
    if judgement.base_us is None:
        return ""
    added_us = judgement.base_us * (judgement.told[0] - 1)
    if abs(added_us) < SHORT_US:
        return f"{number.signed(added_us, 2)} µs"
    return f"{'−' if added_us < 0 else '+'}{number.time_us(abs(added_us))}"
