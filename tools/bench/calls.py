"""What statements of `orders` and of sysbench-tpcc a server has executed, by pg_stat_statements.

Texts of both are told apart by what they begin with or contain. Each belongs to some of the five
transactions, so that the statements of a transaction can be counted although mixes are drawn.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from bench import server
from bench.process import ProgramFailed
from dbdyno.engine import LabServer
from dbdyno.model import Json

ORDER, PAYMENT, STATUS, DELIVERY, STOCK = KINDS = (
    "new_order",
    "payment",
    "order_status",
    "delivery",
    "stock_level",
)
MIX = dict(zip(KINDS, (10, 10, 1, 1, 1), strict=True))
"""Of 23 transactions, in both programs."""
DISTRICTS = 10
"""That a delivery looks at."""
BY_NAME = (PAYMENT, STATUS)
STATEMENTS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("buyer", (ORDER,), r"^SELECT c_discount"),
    ("next_order", (ORDER,), r"^SELECT d_next_o_id.* FOR UPDATE$"),
    ("count_order", (ORDER,), r"^UPDATE district1 SET d_next_o_id"),
    ("add_order", (ORDER,), r"^INSERT INTO orders1"),
    ("add_new_order", (ORDER,), r"^INSERT INTO new_orders1"),
    ("item", (ORDER,), r"FROM item1"),
    ("stock", (ORDER,), r"^SELECT s_quantity"),
    ("take_stock", (ORDER,), r"^UPDATE stock1"),
    ("add_line", (ORDER,), r"^INSERT INTO order_line1"),
    ("pay_warehouse", (PAYMENT,), r"^UPDATE warehouse1"),
    ("warehouse_address", (PAYMENT,), r"^SELECT w_"),
    ("pay_district", (PAYMENT,), r"^UPDATE district1 SET d_ytd"),
    ("district_address", (PAYMENT,), r"^SELECT d_(name|street)"),
    ("payer", (PAYMENT,), r"^SELECT c_first.* FOR UPDATE$"),
    ("payer_data", (PAYMENT,), r"^SELECT c_data"),
    ("charge", (DELIVERY,), r"^UPDATE customer1.*c_delivery_cnt"),
    ("pay", (PAYMENT,), r"^UPDATE customer1"),
    ("add_history", (PAYMENT,), r"^INSERT INTO history1"),
    ("named", BY_NAME, r"^SELECT count\(c_id\)"),
    ("by_name", BY_NAME, r"^SELECT .*FROM customer1 .*ORDER BY c_first"),
    ("asker", (STATUS,), r"^SELECT .*FROM customer1 "),
    ("last_order", (STATUS,), r"FROM orders1 .*ORDER BY o_id DESC"),
    ("lines_asked", (STATUS,), r"^SELECT ol_i_id"),
    ("oldest", (DELIVERY,), r"FROM new_orders1 .*FOR UPDATE"),
    ("drop_new_order", (DELIVERY,), r"^DELETE FROM new_orders1"),
    ("receiver", (DELIVERY,), r"^SELECT o_c_id"),
    ("carry", (DELIVERY,), r"^UPDATE orders1"),
    ("deliver_lines", (DELIVERY,), r"^UPDATE order_line1"),
    ("total", (DELIVERY,), r"^SELECT sum\(ol_amount\)"),
    ("newest_order", (STOCK,), r"^SELECT d_next_o_id"),
    ("low_stock", (STOCK,), r"^SELECT count\(DISTINCT"),
    ("begin", KINDS, r"^BEGIN"),
    ("commit", KINDS, r"^(COMMIT|ROLLBACK)"),
)
"""The names of the workload's statements, the transactions that have them, how texts are known:
the first that fits."""
MARKS = {
    ORDER: ("add_new_order", 1),
    PAYMENT: ("add_history", 1),
    STATUS: ("last_order", 1),
    DELIVERY: ("oldest", DISTRICTS),
    STOCK: ("low_stock", 1),
}
"""By transaction: a statement of its alone, and how often each sends it."""
EXTENSION = "pg_stat_statements"
ASK = f"""SELECT query, calls, total_plan_time, total_exec_time FROM {EXTENSION} s
 JOIN pg_database d ON d.oid = s.dbid WHERE d.datname = '{server.DATABASE}'"""
APART = ("SET", "SHOW")
"""How what a session sends before its first transaction begins."""


@dataclass(kw_only=True)
class Calls:
    """Of one statement: how often it ran, and how long it was planned and executed, in ms."""

    calls: int = 0
    plan_ms: float = 0.0
    exec_ms: float = 0.0

    @property
    def plan_us(self) -> float:
        """How long a call was planned, in µs."""
        return self.plan_ms * 1e3 / self.calls

    @property
    def exec_us(self) -> float:
        """How long a call was executed, in µs."""
        return self.exec_ms * 1e3 / self.calls


@dataclass(frozen=True, kw_only=True)
class Sent:
    """What one program had the server do, by statement."""

    by_name: Mapping[str, Calls] = field(default_factory=dict)

    def transactions(self, kinds: tuple[str, ...]) -> float:
        """How many transactions of these kinds there were."""
        marks = (MARKS[kind] for kind in kinds)
        return sum(self.by_name[name].calls / each for name, each in marks)

    def each(self, name: str, kinds: tuple[str, ...]) -> float:
        """How often a transaction of these kinds sent the statement."""
        return self.by_name[name].calls / self.transactions(kinds)

    def at_mix(self) -> float:
        """The statements of a transaction, with the mix as both programs mean it."""
        dealt = sum(MIX.values())
        return sum(
            self.each(name, kinds) * sum(MIX[kind] for kind in kinds) / dealt
            for name, kinds, _ in STATEMENTS
        )

    def json(self) -> Json:
        """By statement its calls for each of its transactions, and µs of each call."""
        return {
            name: {
                "each": round(self.each(name, kinds), 4),
                "plan_us": round(self.by_name[name].plan_us, 2),
                "exec_us": round(self.by_name[name].exec_us, 2),
            }
            for name, kinds, _ in STATEMENTS
        }


def during(running: LabServer, load: Callable[[], object]) -> Sent:
    """What the server executes in the database of the bench while a load runs.

    Raises ProgramFailed for a text that is none of theirs, or where one is missing.
    """
    running.execute(
        f"CREATE EXTENSION IF NOT EXISTS {EXTENSION}",
        f"SELECT {EXTENSION}_reset()",
        database=server.OWN_DATABASE,
    )
    load()
    return sorted_out(running.execute(ASK, database=server.OWN_DATABASE))


def sorted_out(rows: list[tuple[str, int, float, float]]) -> Sent:
    """The rows of pg_stat_statements by statement; raises as `during`."""
    by_name = {name: Calls() for name, _, _ in STATEMENTS}
    for text, calls, plan_ms, exec_ms in rows:
        squeezed = " ".join(text.split())
        if squeezed.startswith(APART):
            continue
        counted = by_name[name_of(squeezed)]
        counted.calls += calls
        counted.plan_ms += plan_ms
        counted.exec_ms += exec_ms
    if never := [name for name, each in by_name.items() if each.calls == 0]:
        raise ProgramFailed(f"never executed: {', '.join(never)}: take more seconds")
    return Sent(by_name=by_name)


def name_of(text: str) -> str:
    """Which statement a normalised text is. Raises ProgramFailed for none."""
    for name, _, pattern in STATEMENTS:
        if re.search(pattern, text, re.IGNORECASE):
            return name
    raise ProgramFailed(f"neither program's statement: `{text[:200]}`")


def table(sent: Mapping[str, Sent]) -> Iterator[str]:
    """Each statement's calls and µs, planned + executed, for the person who watches."""
    yield f"{'statement':<18}{'of':<22}" + "".join(f"{name:>24}" for name in sent)
    for name, kinds, _ in STATEMENTS:
        of = "all" if kinds == KINDS else ", ".join(kinds)
        cells = (
            f"{each.each(name, kinds):>9.3f}{calls.plan_us:>7.1f} +{calls.exec_us:>6.1f}"
            for each in sent.values()
            for calls in (each.by_name[name],)
        )
        yield f"{name:<18}{of:<22}" + "".join(f"{cell:>24}" for cell in cells)
    yield f"{'a transaction':<40}" + "".join(f"{each.at_mix():>24.3f}" for each in sent.values())
