"""A golden copy (golden.py): where its files lie, and what golden.json says of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dbdyno.model import Json


@dataclass(frozen=True, kw_only=True)
class Copy:
    """A golden copy as it lies on disk; `facts` is its golden.json."""

    folder: Path
    facts: Json

    @property
    def key(self) -> str:
        """Its key: a hash of all that determines its content."""
        return str(self.facts["key"])

    @property
    def data_dir(self) -> Path:
        """The data directory."""
        return self.folder / "data"

    @property
    def wal_dir(self) -> Path | None:
        """The write-ahead log; None where it lies in the data directory."""
        return None if self.facts["wal_dir"] is None else Path(self.facts["wal_dir"])
