"""A golden copy (golden.py): where its files lie, and what golden.json says of it."""

from dataclasses import dataclass
from pathlib import Path

from msgspec import Struct

from dbdyno.model import Json
from dbdyno.model.golden import RestoreSummary


@dataclass(frozen=True, kw_only=True)
class CopyOrigin:
    """The step after which a copy is made, and the block that makes it."""

    workload: str
    step: str
    block_begun_unix_ns: int | None
    restored_per_s: float | None = None  # bytes of a dump's guessed size; None: none was restored
    report: RestoreSummary | None = None  # of a restore; None: data of no dump


class CopyFacts(Struct, frozen=True, kw_only=True):
    """golden.json of a copy (docs/servers.md)."""

    workload: str
    step: str
    block_begun_unix_ns: int | None
    arm: str
    version: str
    made_unix_ns: int
    format: int
    key: str
    engine: str = "postgres"  # older copies name none
    parts: Json  # all that determines the content; `key` is a hash of them
    files: int
    bytes: int
    major: str | None
    control_sha256: str
    wal_dir: str | None
    restored_per_s: float | None = None  # as Origin has it, and so the report; older copies: none
    report: RestoreSummary | None = None


@dataclass(frozen=True, kw_only=True)
class Copy:
    """A golden copy as it lies on disk."""

    folder: Path
    facts: CopyFacts

    @property
    def key(self) -> str:
        """Its key: a hash of all that determines its content."""
        return self.facts.key

    @property
    def data_dir(self) -> Path:
        """The data directory."""
        return self.folder / "data"

    @property
    def wal_dir(self) -> Path | None:
        """The write-ahead log; None where it lies in the data directory."""
        return None if self.facts.wal_dir is None else Path(self.facts.wal_dir)
