"""How a lab comes to plan as another server does, without its data (docs/query-plans.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol

from dbdyno.engine.inquiry import Inquirer
from dbdyno.engine.interface import LabServer
from dbdyno.model import Address, engine
from dbdyno.model.error import PlanError
from dbdyno.model.planner_statistics import ServerStatistics, UnknownPart

PREFIX = "plan-"
"""Before an arm's name in that of its server's folder, which no race looks for."""
WHY_NOT = (
    "plans without data are PostgreSQL's: {}'s planner reads an index itself for each range, and "
    "finds none of its rows (MariaDB 12.3 can record what it has read: optimizer_record_context)"
)


def of(name: str) -> PlannerLab:
    """How servers of an engine plan without data. Raises PlanError in a line that says why not."""
    traits = engine.of(name)
    if "followed" not in traits.can:
        raise PlanError(WHY_NOT.format(traits.product))
    lab: PlannerLab = import_module(f"dbdyno.engine.{traits.family}").PLANNER
    return lab


@dataclass(frozen=True)
class IndexChanges:
    """Indexes that an arm has and the source has not, and the other way."""

    made: tuple[str, ...] = ()  # CREATE INDEX …
    dropped: tuple[str, ...] = ()  # names


@dataclass(frozen=True)
class LabLacks:
    """What a lab has otherwise than the server that it follows."""

    sentences: tuple[str, ...] = ()
    unknown: tuple[UnknownPart, ...] = ()


class PlannerSource(Protocol):
    """A session on the server whose planner is to be followed; it only reads."""

    @property
    def inquirer(self) -> Inquirer:
        """Asks queries within the same transaction."""

    def exported(self, *, texts: bool) -> ServerStatistics:
        """All that its planner knows; `texts`: also values of text-like columns.

        Raises ServerError.
        """


class PlannerLab(Protocol):
    """What a folder under engine/ does for plans without data."""

    @property
    def settings(self) -> Mapping[str, str]:
        """The settings of a server that only plans; no planner reads them."""

    @property
    def initdb(self) -> Mapping[str, str | bool | int]:
        """How such a server's data directory is made."""

    @property
    def costs(self) -> Sequence[str]:
        """The settings of costs whose small changes show which plans are near others."""

    def opened(self, address: Address, name: str) -> AbstractContextManager[PlannerSource]:
        """A session on a server. Raises ServerError in a line that begins with `name`."""

    def limit(self, server: LabServer) -> None:
        """Says of a server, before it is made, that it plans, and does nothing else."""

    def prepare(
        self, server: LabServer, statistics: ServerStatistics, indexes: IndexChanges
    ) -> LabLacks:
        """Gives a server of the lab, which has the schema and no rows, another's statistics.

        Returns what it lacks. Raises DynoError.
        """
