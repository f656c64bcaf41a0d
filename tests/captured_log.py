"""Writes a server's log as csvlog has it, for tests of capture that need no server."""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from pathlib import Path

COLUMNS = {12: 23, 13: 24, 14: 26}


@dataclass
class WrittenLog:
    """A csvlog that grows by a record each millisecond."""

    path: Path
    major: int = 14
    rows: list[list[object]] = field(default_factory=list)

    def add(
        self,
        message: str,
        *,
        session: str = "1.1",
        detail: str = "",
        severity: str = "LOG",
        state: str = "00000",
        statement: str = "",
        database: str = "shop",
        user: str = "app",
        application: str = "web",
        query_id: int = 0,
    ) -> None:
        """One more record."""
        count = len(self.rows)
        stamp = (
            f"2026-11-26 10:{count // 60000:02d}:{count // 1000 % 60:02d}.{count % 1000:03d} UTC"
        )
        self.rows.append(
            [
                *(stamp, user, database, "7", "[local]", session, count, "SELECT", stamp, "1/1"),
                *("0", severity, state, message, detail, "", "", "", "", statement, "", ""),
                *(application, "client backend", "", query_id),
            ]
        )

    def call(self, text: str, milliseconds: float = 1.0, **more: str) -> None:
        """A statement as text, with its time."""
        self.add(f"duration: {milliseconds:.3f} ms  statement: {text}", **more)  # type: ignore[arg-type]

    def bound(self, text: str, values: str, name: str = "<unnamed>", **more: str) -> None:
        """A statement with bound values: three records of 0.1, 0.2 and 0.7 ms."""
        for what, time in (("parse", 0.1), ("bind", 0.2), ("execute", 0.7)):
            detail = "" if what == "parse" else f"parameters: {values}"
            message = f"duration: {time:.3f} ms  {what} {name}: {text}"
            self.add(message, detail=detail, **more)  # type: ignore[arg-type]

    def write(self) -> Path:
        """Writes the file and returns its path."""
        with self.path.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerows(row[: COLUMNS[self.major]] for row in self.rows)
        return self.path
