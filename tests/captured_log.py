"""Writes a server's log in its three formats, for tests of capture that need no server."""

import csv
import json
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import HealthCheck, Phase, settings

STDERR_PREFIX = "%m [%c] %e %q%u@%d/%a "
LOGGING = {
    "logging_collector": "on",
    "log_destination": "stderr,csvlog",
    "log_directory": "captured",
    "log_filename": "%H%M%S",
    "log_line_prefix": STDERR_PREFIX,
    "log_min_duration_statement": "0",
    "log_rotation_size": "0",
}
"""Settings by which a real server writes what tests capture."""
DRAWN = settings(
    max_examples=15,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
"""How values are drawn that a real server is sent: none is tried again in a smaller form."""
JSON = {
    "timestamp": 0,
    "user": 1,
    "dbname": 2,
    "session_id": 5,
    "error_severity": 11,
    "state_code": 12,
    "message": 13,
    "detail": 14,
    "context": 18,
    "statement": 19,
    "application_name": 22,
}
"""Keys of jsonlog, and the columns of csvlog that hold the same."""
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
        context: str = "",
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
                *("0", severity, state, message, detail, "", "", "", context, statement, "", ""),
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

    def write_json(self) -> Path:
        """Writes the same records as jsonlog; returns the path."""
        path = self.path.with_suffix(".json")
        with path.open("w") as file:
            for row in self.rows:
                record = {key: row[place] for key, place in JSON.items() if row[place] != ""}
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
        return path

    def write_stderr(self) -> Path:
        """Writes the same records as stderr has them, after STDERR_PREFIX; returns the path."""
        path = self.path.with_suffix(".log")
        with path.open("w", newline="") as file:
            for row in self.rows:
                prefix = f"{row[0]} [{row[5]}] {row[12]} {row[1]}@{row[2]}/{row[22]} "
                parts = [(row[11], row[13]), ("DETAIL", row[14])]
                parts += [("CONTEXT", row[18]), ("STATEMENT", row[19])]
                for severity, text in parts:
                    if text:
                        lines = str(text).replace("\n", "\n\t")
                        file.write(f"{prefix}{severity}:  {lines}\n")
        return path
