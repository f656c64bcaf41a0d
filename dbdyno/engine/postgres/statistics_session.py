"""A session on a server whose planner is to be followed: one transaction that only reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dbdyno.model.literal import literal

if TYPE_CHECKING:
    import psycopg

MARK = "/* dyno capture */"
OURS = "nspname !~ '^(pg_|information_schema$)'"
"""The schemas that are no server's own."""


@dataclass(frozen=True)
class StatisticsSession:
    """The statements of such a session."""

    connection: psycopg.Connection[Any]

    def ask(self, text: str) -> list[tuple[Any, ...]]:
        """The rows of a statement. Raises psycopg.Error."""
        import psycopg
        from psycopg.rows import tuple_row

        # Not the connection's own cursor: behind a pooler that one begins a transaction each.
        cursor = psycopg.Cursor(self.connection, row_factory=tuple_row).execute(text.encode())
        return cursor.fetchall() if cursor.description else []

    def set(self, settings: Mapping[str, str]) -> None:
        """Settings up to the end of the transaction."""
        for name, value in settings.items():
            self.ask(f"SELECT {MARK} set_config({literal(name)}, {literal(value)}, true)")

    @contextmanager
    def undone(self) -> Iterator[None]:
        """What is set within is undone."""
        self.ask("SAVEPOINT dyno_try")
        yield
        self.ask("ROLLBACK TO SAVEPOINT dyno_try; RELEASE SAVEPOINT dyno_try")

    @contextmanager
    def tried(self) -> Iterator[None]:
        """The same, and what fails within is passed over."""
        import psycopg

        with self.undone(), suppress(psycopg.DatabaseError):
            yield
