"""Plans without data on PostgreSQL 13 to 19 (engine.planner_lab.PlannerLab)."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from dbdyno.engine.interface import LabServer
from dbdyno.engine.planner_lab import PREFIX, IndexChanges, LabLacks
from dbdyno.engine.postgres import statistics_export, statistics_import, statistics_index
from dbdyno.engine.postgres.server import PostgresServer
from dbdyno.engine.postgres.statistics_export import StatisticsSource
from dbdyno.model import Address
from dbdyno.model.error import ServerError
from dbdyno.model.planner_statistics import ServerStatistics

SETTINGS = {
    "autovacuum": "off",
    "fsync": "off",
    "full_page_writes": "off",
    "max_connections": "20",
    "max_wal_senders": "0",
    "max_wal_size": "8MB",
    "min_wal_size": "2MB",
    "shared_buffers": "32MB",
    "wal_level": "minimal",
    "wal_recycle": "off",
}
INITDB = {"data_checksums": False, "wal_segment_mb": 1}
"""Files change while the server is down, and its log is to take little room."""
COSTS = ("random_page_cost", "cpu_tuple_cost", "cpu_index_tuple_cost", "cpu_operator_cost")
"""Beside that of a page in sequence, which is their unit."""
UNUSED = (
    "UPDATE pg_database SET datistemplate = false WHERE datname LIKE 'template_'",
    "DROP DATABASE template0",
    "DROP DATABASE template1",
)
"""Every server has these, and each takes 8 MB."""
VERSION_MIN = 13


@dataclass(frozen=True)
class PostgresPlannerLab:
    """How servers of this family plan without data."""

    settings: Mapping[str, str]
    initdb: Mapping[str, str | bool | int]
    costs: Sequence[str] = COSTS

    def opened(self, address: Address, name: str) -> AbstractContextManager[StatisticsSource]:
        """A session on a server. Raises ServerError in a line that begins with `name`."""
        return statistics_export.opened(address, name)

    def limit(self, server: LabServer) -> None:
        """Says of a server, before it is made, that it plans, and does nothing else."""
        assert isinstance(server, PostgresServer), "the family's own"
        if server.build.major < VERSION_MIN:
            raise ServerError(
                f"arm {name_of(server)}: plans without data are made by PostgreSQL {VERSION_MIN} "
                "and later: name another version"
            )
        server.only_plan()

    def prepare(
        self, server: LabServer, statistics: ServerStatistics, indexes: IndexChanges
    ) -> LabLacks:
        """Gives a server that has the schema another's statistics; returns what it lacks."""
        assert isinstance(server, PostgresServer), "the family's own"
        address = server.address()
        statistics_import.take_locale(address, name_of(server), statistics.locale)
        differences = statistics_import.differences(address, statistics)
        made = [statistics_index.create(address, index) for index in indexes.made]
        for index in indexes.dropped:
            statistics_index.drop(address, index)
        outcome = statistics_import.take(address, statistics)
        server.execute(*UNUSED, database=server.own_database)
        server.lengthen(outcome.files)
        if made:
            server.lengthen([statistics_index.sized(address, index) for index in made])
        return LabLacks(
            sentences=(*differences.sentences, *outcome.lacks.sentences),
            unknown=(*differences.unknown, *outcome.lacks.unknown),
        )


def name_of(server: LabServer) -> str:
    """The name of a server's arm."""
    return server.name.removeprefix(PREFIX)


LAB = PostgresPlannerLab(SETTINGS, INITDB)
