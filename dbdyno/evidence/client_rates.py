"""The work of each client of a role by second: the basis of fairness and clients' series."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dbdyno.evidence.evidence import Evidence
from dbdyno.evidence.raw_files import WindowTick
from dbdyno.model.error import ResultError
from dbdyno.model.grouping import grouped

ROWS_KINDS = ("insert", "delete")
"""The kinds of roles whose work is counted in rows; that of others in operations."""


def unit(work: str) -> Literal["rows", "operations"]:
    """The unit counted for a role of this work: "rows" or "operations"."""
    return "rows" if work in ROWS_KINDS else "operations"


def several(evidence: Evidence) -> dict[str, list[WindowTick]]:
    """The ticks of each role that has at least two clients and tells of each, by role."""
    return grouped(
        (tick.role, tick)
        for tick in evidence.load.ticks
        if len(tick.clients) > 1
        if tick.rows is not None or unit(evidence.kind(tick.role)) == "operations"
    )


def amounts(ticks: Sequence[WindowTick], work: str) -> NDArray[np.float64]:
    """The work of each client in each tick of a role: rows are ticks, columns are clients.

    Raises ResultError where the ticks do not have as many clients each.
    """
    in_rows = unit(work) == "rows"
    counted = [
        [(client.rows if in_rows else client.count) or 0 for client in tick.clients]
        for tick in ticks
    ]
    if len({len(row) for row in counted}) > 1:
        raise ResultError(f"the number of clients of role `{ticks[0].role}` changes between ticks")
    return np.array(counted, dtype=np.float64)
