"""What a transaction does: its statements, sleeps and repetitions, in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dbdyno.workload.schema import Sleep, Transaction
from dbdyno.workload.scope import Scope

SLEEP_S_MAX = 86_400
SENDS_MAX = 1_000_000
"""A transaction is written out in its job, a few bytes for each statement."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """Statements and sleeps (in microseconds) that a transaction does one or more times."""

    does: Sequence[str | int]
    times: int = 1
    draw: Sequence[str] = ()
    scope: Scope


def parts(transaction: Transaction, scope: Scope) -> list[Part]:
    """The items of a transaction, in order; without those repeated 0 times."""
    if not transaction.do or transaction.protocol is not None:
        wrong = "protocol" if transaction.do else "do"
        raise scope.at(wrong).error("a transaction has a `do`, or a `script` and its `protocol`")
    made: list[Part] = []
    for number, item in enumerate(transaction.do, start=1):
        place = scope.at("do", number)
        if isinstance(item, str):
            made.append(Part(does=[place.text(item)], scope=place))
        elif isinstance(item, Sleep):
            made.append(Part(does=[_sleep_us(item, place.at("sleep_s"))], scope=place))
        else:
            times = place.at("repeat").integer(item.repeat, low=0)
            does = [place.text(name) for name in item.do]
            made.append(Part(does=does, times=times, draw=item.draw, scope=place))
            sends = sum(part.times * len(part.does) for part in made)
            if sends > SENDS_MAX:
                sentence = f"at most {SENDS_MAX} statements in all, not {times} times"
                raise place.at("repeat").error(sentence)
    made = [part for part in made if part.times]
    if not made:
        raise scope.at("do").error("sends nothing")
    if isinstance(made[0].does[0], int) or isinstance(made[-1].does[-1], int):
        raise scope.at("do").error("a `sleep_s` belongs between two statements")
    return made


def _sleep_us(sleep: Sleep, scope: Scope) -> int:
    seconds = scope.number(sleep.sleep_s, low=0, high=SLEEP_S_MAX)
    return round(seconds * 1_000_000)
