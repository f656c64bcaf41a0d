"""By what a data directory of PostgreSQL is known again: whether a server was started in it since.

Any start of a server leaves its traces in a small file; a hash of it is kept beside a golden copy
and compared before the copy is used.
"""

import hashlib
import struct
from pathlib import Path

from dbdyno.engine.interface import Fingerprint
from dbdyno.host import data_folder
from dbdyno.model.error import ServerError

CONTROL = "global/pg_control"
CONTROL_HEAD = struct.Struct("=QIIi")
"""System identifier, version of the file, version of the catalogs, state (pg_control.h, 9.6-19)."""
SHUT_DOWN = 1
"""The state DB_SHUTDOWNED."""


def read(data_dir: Path) -> Fingerprint:
    """The fingerprint of a data directory. Raises OSError where its files are missing."""
    return Fingerprint(
        major=data_folder.read(data_dir, "PG_VERSION").decode().strip(),
        sha256=hashlib.sha256(data_folder.read(data_dir, CONTROL)).hexdigest(),
        of=f"`{CONTROL}`",
    )


def wal_folder(major: int) -> str:
    """The folder of the write-ahead log in a data directory of this major version."""
    return "pg_wal" if major >= 10 else "pg_xlog"


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
