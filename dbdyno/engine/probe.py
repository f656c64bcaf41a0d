"""Observes the database: statistics views, sizes, plans. `of` picks by engine who does."""

from __future__ import annotations

from typing import Protocol

from dbdyno.engine.subject import Subject
from dbdyno.model import Json

__all__ = ["Probe", "Subject", "of"]


class Probe(Protocol):
    """What takes the snapshots of one family of servers; a module is one."""

    SETTLE_S: float  # how long after a connection has closed what it did stands in the counters

    def before(self, subject: Subject) -> Json:
        """before.json of docs/results.md. Raises ServerError only where it cannot connect."""

    def after(self, subject: Subject) -> Json:
        """after.json, likewise."""


def of(engine: str) -> Probe:
    """The probe of servers of this engine. Raises KeyError of one that has no database."""
    from dbdyno.engine.mysql import probe
    from dbdyno.engine.postgres import probe as postgres

    return {"postgres": postgres, "mysql": probe, "mariadb": probe}[engine]
