"""By what a data directory of InnoDB is known again: whether a server was started in it since.

Any start of a server leaves its traces in the heads of files; a hash of these is kept beside a
golden copy and compared before the copy is used.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from dbdyno.engine.interface import Fingerprint
from dbdyno.host import data_folder

HEAD_BYTES = 64 << 10
"""Of InnoDB's redo log: its header and both of its checkpoints lie there, in all versions."""
REDO = ("#innodb_redo/#ib_redo*", "ib_logfile*")
"""Since MySQL 8.0.30 (spare files are named otherwise while they are empty), and before it."""


def read(data_dir: Path, wal_dir: Path | None) -> Fingerprint:
    """The fingerprint of a data directory. Raises OSError where its files are missing."""
    found = hashlib.sha256()
    for path in [data_dir / "ibdata1", *redo_files(wal_dir or data_dir)]:
        head = data_folder.read(path.parent, path.name, HEAD_BYTES)
        found.update(path.name.encode() + b"\0" + head)
    return Fingerprint(major=None, sha256=found.hexdigest(), of="redo log")


def redo_files(folder: Path) -> list[Path]:
    """InnoDB's redo log files in a folder, by name."""
    return sorted(path for pattern in REDO for path in folder.glob(pattern))
