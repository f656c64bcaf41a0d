"""Limits that a step meets when its tables are loaded: asked before anything starts."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from dbdyno.model import Address

OWN_CONNECTIONS = 3
"""The lab's own beside a step's load: its questions, its samples of waits and of standbys."""
Rows = Callable[[str], list[tuple[Any, ...]]]
"""Runs a statement; its rows."""


@dataclass(frozen=True, kw_only=True)
class Room:
    """The connections that a server lets its user have now."""

    connections: int
    why: str  # `max_connections` is 60, of which 3 are reserved
    mend: str


class ServerLimits(Protocol):
    """The limits of one family's servers. Methods raise ServerError."""

    def room(self, address: Address) -> Room | None:
        """The connections that are to be had there; None where a pooler shares them out."""

    def keyless(self, setting: Callable[[str], str | None]) -> str | None:
        """The setting by which a server refuses a table without a primary key; None: it takes one.

        `setting`: the value of a setting; None where the server has its default or no such one.
        """

    def value(self, name: str, execute: Rows) -> str | None:
        """A setting of a server elsewhere; None where it has none."""
