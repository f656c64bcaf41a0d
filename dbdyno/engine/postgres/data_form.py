"""Whether a server of PostgreSQL can go on with the data of another one.

Servers refuse data of another major version, of other catalogs, with a log of another form, and of
other sizes that were compiled in (`ReadControlFile` in xlog.c, `ValidatePgVersion` in miscinit.c,
`XLogReaderValidatePageHeader` in xlogreader.c). A fresh cluster of a build tells all of it, whoever
made the build.
"""

import contextlib
import hashlib
import os
import re
import struct
import tempfile
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from dbdyno.builds import Build, cache
from dbdyno.engine.postgres import fingerprint, initdb
from dbdyno.host import data_folder, place
from dbdyno.host.account import Account
from dbdyno.model import Initdb, Json
from dbdyno.model.error import DiskError
from dbdyno.store.file import write_atomically

FOLDER = "data-forms"
"""The folder of the cache with what clusters tell, by the hash of the program that made them."""
SIZES = struct.Struct("=8I2B")
"""What follows the number of known form (pg_control.h, 9.6 to 19): eight sizes, and how long values
are passed."""
LOG_HEAD = struct.Struct("=H")
"""How a page of the log begins: XLOG_PAGE_MAGIC (xlog_internal.h)."""
OWN_FORM = struct.pack("=d", 1234567.0)
"""The number by which pg_control shows how this machine writes floating point."""
SEGMENT = 3
"""Which of the sizes initdb is told; the plan says it."""
SHAPING = re.compile(
    r"autovacuum|default_.*|gin_.*|maintenance_work_mem|max_parallel_maintenance_workers"
    r"|shared_preload_libraries|track_commit_timestamp|vacuum_.*"
)
"""Settings that determine what data a fill leaves, or how they lie."""


class ClusterForm(Struct, frozen=True):
    """What data have to be for a server to start on them, beside what initdb is told."""

    major: str  # as PG_VERSION says it: "19"
    control: int  # the version of pg_control
    catalog: int
    log: int  # the number that its pages begin with
    sizes: tuple[int, ...]  # of blocks, files, names, index keys …: what is compiled in


def shapes(setting: str) -> bool:
    """Whether a setting determines what data a fill leaves, or how they lie."""
    return SHAPING.fullmatch(setting.lower()) is not None


def of_build(build: Build, account: Account) -> Json:
    """What a data directory has to be for a build; of one not made yet a guess by its release.

    A cluster is made and thrown away, once for each program. Raises ServerError: initdb fails.
    """
    if not build.made:
        return {"release": list(build.release)}
    kept = place.cache_root() / FOLDER / f"{build.sha256}.json"
    try:
        form = msgspec.json.decode(kept.read_bytes(), type=ClusterForm)
    except (OSError, msgspec.DecodeError):
        form = fresh(build, account)
        with contextlib.suppress(OSError, DiskError):
            kept.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(kept, msgspec.json.encode(form), synced=False)
    return structs.asdict(form) | scripts(build)


def scripts(build: Build) -> Json:
    """What extensions that a build was asked for make in a database; nothing of other builds.

    Data of one that was made by other scripts are no data of this build's extension.
    """
    record = cache.kept(build.base_dir)
    if record is None or not record.parts.keys() & {"beside", "modules"}:
        return {}
    digest = hashlib.sha256()
    for path in sorted(build.base_dir.glob("share/**/extension/*")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return {"extensions": digest.hexdigest()}


def fresh(build: Build, account: Account) -> ClusterForm:
    """The form of a cluster that the build makes. Raises ServerError where initdb fails."""
    with tempfile.TemporaryDirectory(prefix="dyno-initdb-") as folder:
        Path(folder).chmod(0o755)  # the account enters it
        data = Path(folder) / "data"
        account.make_folder(data)
        initdb.make(build, account, data, initdb.arguments(Initdb(), build.version_num))
        return of_cluster(data)


def of_cluster(data_dir: Path) -> ClusterForm:
    """The form of a cluster's data. Raises OSError where its files are missing."""
    control = data_folder.read(data_dir, fingerprint.CONTROL)
    _, version, catalog, _ = fingerprint.CONTROL_HEAD.unpack_from(control)
    *sizes, first, second = SIZES.unpack_from(control, control.index(OWN_FORM) + len(OWN_FORM))
    del sizes[SEGMENT]
    return ClusterForm(
        major=data_folder.read(data_dir, "PG_VERSION").decode().strip(),
        control=version,
        catalog=catalog,
        log=log_form(data_dir),
        sizes=(*sizes, first, second),
    )


def log_form(data_dir: Path) -> int:
    """The number that pages of a cluster's log begin with."""
    log = fingerprint.wal_folder(data_dir)
    assert log is not None, "initdb makes one"
    segment = min(name for name in os.listdir(log) if fingerprint.WAL_FILE.fullmatch(name))
    (number,) = LOG_HEAD.unpack(data_folder.read(log, segment, LOG_HEAD.size))
    return int(number)
