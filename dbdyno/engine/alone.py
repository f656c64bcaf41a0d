"""The common part of servers that no standby follows: what others tell of theirs is empty here."""

from __future__ import annotations

from dbdyno.engine.access import Secrets
from dbdyno.model import Address, Json
from dbdyno.model.standby_lag import StandbyLag


class Alone:
    """A server without standbys, and without an address beside its own."""

    @property
    def standby_pids(self) -> tuple[int, ...]:
        """None without standbys."""
        return ()

    def join_standbys(self) -> list[Json]:
        """None: there are none to join."""
        return []

    def log_end(self) -> str | None:
        """None: no standby would ask for it."""
        return None

    def lag(self, end: str | None = None) -> list[StandbyLag]:
        """None without standbys."""
        return []

    def access_secrets(self) -> Secrets | None:
        """None: no load comes from other hosts."""
        return None

    def endpoints(self) -> dict[str, Address]:
        """None beside its address."""
        return {}
