"""Switches the parts of performance_schema on that samples of waits need, and back afterwards.

Waits that are counted anyway (files, tables) need no more than to be shown. Instruments of mutexes
and rw-locks stay as the server has them: each lock that is taken would pay (docs/results.md).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dbdyno.engine.mysql.flavour import Flavour, since
from dbdyno.model import version
from dbdyno.model.error import ServerError

Ask = Callable[[str], Sequence[tuple[Any, ...]]]

SETTING = "performance_schema"
CONSUMERS = (
    *("global_instrumentation", "thread_instrumentation"),
    *("events_waits_current", "events_transactions_current"),
)
INSTRUMENTS = ("wait/io/file/%", "wait/lock/metadata/%", "wait/synch/cond/%", "transaction")
"""Instruments whose events are rare beside a statement, or waits only, as for a condition."""
TABLES = ("setup_consumers", "setup_instruments")


@dataclass(frozen=True)
class DisabledRows:
    """The rows of a table of performance_schema that are off and have to be on."""

    table: str
    names: tuple[str, ...]

    def switched(self, how: str) -> str:
        """The statement that switches them."""
        names = ", ".join(f"'{name}'" for name in self.names)
        return (
            f"UPDATE performance_schema.{self.table} SET ENABLED = '{how}' WHERE NAME IN ({names})"
        )


def off(ask: Ask) -> list[DisabledRows]:
    """The parts that samples need and that are off."""
    consumers = ", ".join(f"'{name}'" for name in CONSUMERS)
    like = " OR ".join(f"NAME LIKE '{pattern}'" for pattern in INSTRUMENTS)
    found = []
    for table, which in zip(TABLES, (f"NAME IN ({consumers})", like), strict=True):
        rows = ask(
            f"SELECT NAME FROM performance_schema.{table} WHERE ENABLED = 'NO' AND ({which})"
        )
        if rows:
            found.append(DisabledRows(table, tuple(str(name) for (name,) in rows)))
    return found


def unfit(flavour: Flavour, engine: str, version_num: int) -> str | None:
    """Why servers of a version tell no waits; None where they do."""
    if since(flavour.waits_from, version_num):
        return None
    first, own = (
        version.text(version.of_number(engine, one)[:2])
        for one in (flavour.waits_from, version_num)
    )
    return f"its version, {own}, does not tell what sessions wait for: use {first} or newer"


def refused(ask: Ask, samples: Sequence[str]) -> str | None:
    """Why a running server cannot be sampled by these queries; None where it can.

    The server keeps the setting. Raises ServerError where it does not answer at all.
    """
    ((on,),) = ask(f"SELECT @@{SETTING}")
    if not on:
        return f"its {SETTING} is off, the only source of waits: start it with {SETTING} = ON"
    try:
        lacking = off(ask)
        for query in samples:
            ask(query)
    except ServerError as error:
        return (
            f"its user may not read what sessions do: grant SELECT on {SETTING}.*, and PROCESS "
            f"({reason(error)})"
        )
    for one in lacking:
        try:
            ask(one.switched("NO"))  # as they are: whether it may
        except ServerError as error:
            return (
                f"its user may not switch on `{one.names[0]}`: grant UPDATE on "
                f"{SETTING}.{one.table}, or switch it on yourself ({reason(error)})"
            )
    return None


def reason(error: ServerError) -> str:
    """The server's answer, without the statement."""
    return str(error).rpartition("`: ")[2]
