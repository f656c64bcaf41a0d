"""The mix of an application: its transactions as a log shows them, how often, on how many sessions.

A transaction is the queries between BEGIN and COMMIT or ROLLBACK of one session; a query outside of
one is a transaction of its own.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dbdyno.capture.call import Call

BEGIN = re.compile(r"\s*(?:BEGIN|START\s+TRANSACTION)\b", re.IGNORECASE)
UNDONE = re.compile(r"\s*(?:ROLLBACK|ABORT)\b(?!\s+(?:WORK\s+|TRANSACTION\s+)?TO\b)", re.IGNORECASE)
SHAPES_MAX = 10_000
"""So many different transactions are told apart; programs that build them have no end of them."""
KEPT_MAX = 100
"""So many of them are kept, those that came most often."""
STATEMENTS_MAX = 200

Shape = tuple[str, ...]
"""A transaction: the forms of its queries in their order, in BEGIN and its end if it has them."""


@dataclass
class Transactions:
    """The transactions of one database, counted as their calls come."""

    shapes: Counter[Shape] = field(default_factory=Counter)
    lost: int = 0  # that are too long, or of too many shapes
    busy: dict[int, set[str]] = field(default_factory=dict)  # by second: sessions with a query
    first_s: float | None = None  # when the first began, in seconds since 1970
    last_s: float = 0.0
    _open: dict[str, list[str]] = field(default_factory=dict)  # by session

    def query(self, call: Call, form: str) -> None:
        """Adds a query to the transaction of its session."""
        self._saw(call)
        if call.session:
            self.busy.setdefault(int(call.end_s), set()).add(call.session)
        current = self._open.get(call.session)
        if current is None:
            self._ended((form,))
        else:
            current.append(form)

    def control(self, call: Call, *, ends: bool) -> None:
        """Follows a BEGIN, or what ends a transaction."""
        self._saw(call)
        if BEGIN.match(call.text):
            self._open[call.session] = []
        elif ends and (forms := self._open.pop(call.session, None)):
            self._ended(("BEGIN", *forms, "ROLLBACK" if UNDONE.match(call.text) else "COMMIT"))

    def _saw(self, call: Call) -> None:
        start_s = call.start_s
        self.first_s = start_s if self.first_s is None else min(self.first_s, start_s)
        self.last_s = max(self.last_s, call.end_s)

    def _ended(self, shape: Shape) -> None:
        known = shape in self.shapes or len(self.shapes) < SHAPES_MAX
        if known and len(shape) <= STATEMENTS_MAX:
            self.shapes[shape] += 1
        else:
            self.lost += 1

    @property
    def seconds(self) -> float:
        """How long they went on; 0 where there is none."""
        return 0.0 if self.first_s is None else self.last_s - self.first_s

    @property
    def sessions(self) -> int:
        """The sessions of the busiest second."""
        return max(map(len, self.busy.values()), default=0)


@dataclass(frozen=True, kw_only=True)
class TransactionMix:
    """The transactions that the folder has, by name, and how often each of them came."""

    transactions: Mapping[str, Sequence[str]]  # the names of their statements, BEGIN … COMMIT
    weights: Mapping[str, int]  # of transactions, and of single queries by their names
    per_s: float
    sessions: int
    covered: float  # the share of all transactions that it stands for


def of(transactions: Transactions, names: Mapping[str, str]) -> TransactionMix | None:
    """The mix of transactions whose queries all have a name; None where the log tells none.

    `names`: of queries by their forms.
    """
    total = transactions.shapes.total() + transactions.lost
    named = [
        (statements, count)
        for shape, count in transactions.shapes.most_common()
        if (statements := tuple(_named(shape, names))) and len(statements) == len(shape)
    ][:KEPT_MAX]
    if not named or not transactions.seconds:
        return None
    kept: dict[str, Sequence[str]] = {}
    weights: dict[str, int] = {}
    for statements, count in named:
        name = statements[0]
        if len(statements) > 1:
            name = f"transaction-{len(kept) + 1}"
            kept[name] = statements
        weights[name] = weights.get(name, 0) + count
    covered = sum(weights.values())
    return TransactionMix(
        transactions=kept,
        weights=weights,
        per_s=covered / transactions.seconds,
        sessions=max(1, transactions.sessions),
        covered=covered / total,
    )


def _named(shape: Shape, names: Mapping[str, str]) -> Iterator[str]:
    """The names of its statements, as far as they have one."""
    for number, form in enumerate(shape):
        at_end = len(shape) > 1 and number in (0, len(shape) - 1)
        name = form if at_end else names.get(form)
        if name is not None:
            yield name
