"""What a snapshot is taken of: a database, its tables and statements, where its files lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dbdyno.model import Address


@dataclass(frozen=True)
class Subject:
    """The database at `address`, as a step of a workload sees it."""

    address: Address
    tables: Sequence[str] = ()
    explain: Mapping[str, str] = field(default_factory=dict)  # SQL by statement (Step.explain)
    data_dir: Path | None = None  # None: not to be seen from here
    wal_dir: Path | None = None  # where the write-ahead log is, if not in `data_dir`
