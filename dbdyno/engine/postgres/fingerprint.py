"""By what a data directory of PostgreSQL is known again: whether a server was started in it since.

Any start of a server leaves its traces in a small file; a hash of it is kept beside a golden copy
and compared before the copy is used.
"""

import hashlib
import re
import struct
from pathlib import Path

from dbdyno.engine.interface import Fingerprint
from dbdyno.host import data_folder
from dbdyno.model.error import ServerError

CONTROL = "global/pg_control"
CONTROL_HEAD = struct.Struct("=QIIi")
"""System identifier, version of the file, version of the catalogs, state (pg_control.h, 9.6-19)."""
WAL_FOLDERS = ("pg_wal", "pg_xlog")
"""Names of the folder of the write-ahead log: from version 10 on, and before."""
WAL_FILE = re.compile(r"[0-9A-F]{24}")
"""The name of a segment of it."""
SHUT_DOWN = 1
"""The state DB_SHUTDOWNED."""


def read(data_dir: Path) -> Fingerprint:
    """The fingerprint of a data directory. Raises OSError where its files are missing."""
    return Fingerprint(
        major=data_folder.read(data_dir, "PG_VERSION").decode().strip(),
        sha256=hashlib.sha256(data_folder.read(data_dir, CONTROL)).hexdigest(),
        of=f"`{CONTROL}`",
    )


def wal_name(major: int) -> str:
    """What the folder of the write-ahead log is called in data of this major version."""
    return WAL_FOLDERS[0] if major >= 10 else WAL_FOLDERS[1]


def wal_folder(data_dir: Path) -> Path | None:
    """The folder of the write-ahead log in a data directory; None where there is none."""
    return next((data_dir / name for name in WAL_FOLDERS if (data_dir / name).is_dir()), None)


def refuse_unclean(data_dir: Path) -> None:
    """Raises ServerError for data that cannot be copied and started again as they are."""
    *_, state = CONTROL_HEAD.unpack_from(data_folder.read(data_dir, CONTROL))
    if state != SHUT_DOWN:
        raise ServerError(
            f"`{data_dir}` is not kept: its server was not shut down in order "
            f"(state {state} in {CONTROL}): see the server's log"
        )
    if any((data_dir / "pg_tblspc").iterdir()):
        raise ServerError(
            f"`{data_dir}` is not kept: it has tablespaces elsewhere: remove `save` from the plan"
        )
