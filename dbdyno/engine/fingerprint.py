"""By what a data directory is known again: whether a server was started in it since.

Any start of a server leaves its traces in a small file or in the heads of files; a hash of these is
kept beside a golden copy and compared before the copy is used.
"""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path

from dbdyno.model.error import ServerError

CONTROL = "global/pg_control"
CONTROL_HEAD = struct.Struct("=QIIi")
"""System identifier, version of the file, version of the catalogs, state (pg_control.h, 9.6-18)."""
SHUT_DOWN = 1
"""The state DB_SHUTDOWNED."""
HEAD_BYTES = 64 << 10
"""Of InnoDB's redo log: its header and both of its checkpoints lie there, in all versions."""
REDO = ("#innodb_redo/#ib_redo*", "ib_logfile*")
"""Since MySQL 8.0.30 (spare files are named otherwise while they are empty), and before it."""


def version(engine: str, data_dir: Path) -> str | None:
    """The major version that PostgreSQL's data name; None for the other engines' data."""
    return (data_dir / "PG_VERSION").read_text().strip() if engine == "postgres" else None


def control(engine: str, data_dir: Path, wal_dir: Path | None) -> str:
    """The SHA-256 of what each start of a server changes. Raises OSError where it is missing."""
    if engine == "postgres":
        return hashlib.sha256((data_dir / CONTROL).read_bytes()).hexdigest()
    found = hashlib.sha256()
    for path in [data_dir / "ibdata1", *redo_files(wal_dir or data_dir)]:
        with path.open("rb") as file:
            found.update(path.name.encode() + b"\0" + file.read(HEAD_BYTES))
    return found.hexdigest()


def redo_files(folder: Path) -> list[Path]:
    """InnoDB's redo log files in a folder, by name."""
    return sorted(path for pattern in REDO for path in folder.glob(pattern))


def refuse_unclean(data_dir: Path) -> None:
    """Raises ServerError for PostgreSQL's data that cannot be copied and started again as they are.

    Of MySQL's the log says it: see MysqlServer.keep.
    """
    *_, state = CONTROL_HEAD.unpack_from((data_dir / CONTROL).read_bytes())
    if state != SHUT_DOWN:
        raise ServerError(
            f"`{data_dir}` is not kept: its server was not shut down in order "
            f"(state {state} in {CONTROL}): see the server's log"
        )
    if any((data_dir / "pg_tblspc").iterdir()):
        raise ServerError(
            f"`{data_dir}` is not kept: it has tablespaces elsewhere: drop `save` from the plan"
        )
