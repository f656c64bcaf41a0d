"""What a transaction does: its statements, sleeps and repetitions, in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dbdyno.model.document import suggestion
from dbdyno.workload import schema
from dbdyno.workload.scope import Scope

Item = str | schema.Repetition | schema.SleepForm | schema.AssignForm | schema.RollbackForm
"""What a transaction or a repetition does."""
OUTCOMES = ("rolled_back",)
"""How a transaction may end itself; each is an instruction of this name."""
SLEEP_S_MAX = 86_400
SENDS_MAX = 1_000_000
"""A transaction is written out in its job, a few bytes for each statement."""


@dataclass(frozen=True, kw_only=True)
class TransactionPart:
    """Statements, sleeps (in microseconds), assignments and parts, done one or more times.

    A turn for which `when` is not true is left out.
    """

    does: Sequence[str | int | schema.AssignForm | schema.RollbackForm | TransactionPart]
    times: int = 1
    draw: Sequence[str] = ()
    when: str | None = None
    scope: Scope

    @property
    def sends(self) -> list[str | int]:
        """What it sends and sleeps, and what the parts within it do."""
        inner = [doe.sends if isinstance(doe, TransactionPart) else [doe] for doe in self.does]
        return [doe for does in inner for doe in does if isinstance(doe, (str, int))]

    @property
    def count(self) -> int:
        """How many statements it sends at most."""
        counts = (doe.count if isinstance(doe, TransactionPart) else 1 for doe in self.does)
        return self.times * sum(counts)

    @property
    def computes(self) -> bool:
        """Whether it assigns or ends, or something in it has a condition."""
        computing = (schema.AssignForm, schema.RollbackForm, TransactionPart)
        return self.when is not None or any(isinstance(doe, computing) for doe in self.does)


def kept(file: schema.WorkloadFile) -> frozenset[str]:
    """The variables of a file's transactions: kept columns, and what is assigned."""
    columns = (name for statement in file.statements.values() for name in statement.keep)
    items = (item for form in file.transactions.values() for item in _items(form.do))
    assigned = (item.set for item in items if isinstance(item, schema.AssignForm))
    return frozenset({*columns, *assigned})


def _items(does: Sequence[Item]) -> Iterator[Item]:
    """All items, those within repetitions too."""
    for item in does:
        yield item
        if isinstance(item, schema.Repetition):
            yield from _items(item.do)


def parts(transaction: schema.Transaction, scope: Scope) -> list[TransactionPart]:
    """The items of a transaction, in order; without those repeated 0 times."""
    if not transaction.do:
        raise scope.at("do").error("a transaction has a `do`, or a `script` and its `protocol`")
    for key in sorted(transaction.model_fields_set & {"protocol", "values"}):
        raise scope.at(key).error(f"a transaction has a `do`, or a `script` and its `{key}`")
    made: list[TransactionPart] = []
    for number, item in enumerate(transaction.do, start=1):
        place = scope.at("do", number)
        if isinstance(item, schema.Repetition):
            made.append(_part(item, place))
            if sum(part.count for part in made) > SENDS_MAX:
                sentence = f"at most {SENDS_MAX} statements in all, not {made[-1].times} times"
                raise place.at("repeat").error(sentence)
        else:
            made.append(TransactionPart(does=[_doe(item, place)], scope=place))
    made = [part for part in made if part.times]
    if not any(isinstance(send, str) for part in made for send in part.sends):
        raise scope.at("do").error("sends nothing")
    sends = [send for part in made for send in part.sends]
    if isinstance(sends[0], int) or isinstance(sends[-1], int):
        raise scope.at("do").error("a `sleep_s` belongs between two statements")
    return made


def _part(item: schema.Repetition, scope: Scope) -> TransactionPart:
    """A repetition, with those within it; these draw nothing anew."""
    does: list[str | int | schema.AssignForm | schema.RollbackForm | TransactionPart] = []
    for number, doe in enumerate(item.do, start=1):
        if not isinstance(doe, schema.Repetition):
            does.append(_doe(doe, scope))
            continue
        place = scope.at("do", number)
        if doe.draw:
            raise place.at("draw").error("a repetition within another draws nothing; remove it")
        does.append(_part(doe, place))
    times = scope.at("repeat").integer(item.repeat, low=0)
    return TransactionPart(does=does, times=times, draw=item.draw, when=item.when, scope=scope)


def _doe(
    item: str | schema.SleepForm | schema.AssignForm | schema.RollbackForm, scope: Scope
) -> str | int | schema.AssignForm | schema.RollbackForm:
    if isinstance(item, schema.RollbackForm) and item.end not in OUTCOMES:
        raise scope.at("end").error(f"no outcome `{item.end}`; {suggestion(item.end, OUTCOMES)}")
    if isinstance(item, schema.SleepForm):
        return _sleep_us(item, scope.at("sleep_s"))
    return scope.text(item) if isinstance(item, str) else item


def _sleep_us(sleep: schema.SleepForm, scope: Scope) -> int:
    seconds = scope.number(sleep.sleep_s, low=0, high=SLEEP_S_MAX)
    return round(seconds * 1_000_000)
