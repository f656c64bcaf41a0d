"""Golden copies: data directories as a step left them, kept so that later runs begin there.

data_root/golden/<key>/made-by-dyno     the mark, as in every folder of data (datadir.py)
data_root/golden/<key>/golden.json      what it is (docs/servers.md)
data_root/golden/<key>/data/            the data directory
wal_root/golden/<key>/wal/              its write-ahead log, where the plan names a folder for it

The directory is not copied into its place but moved there, and then every run, that which made it
too, goes on from a copy: so the files of all runs were written by the same program in one go.
"""

import hashlib
import json
import os
import re
import shutil
import stat
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import msgspec

from dbdyno import engine
from dbdyno.engine.golden_copy import Copy, CopyFacts, CopyOrigin
from dbdyno.host import account as accounts
from dbdyno.host import data_folder, leftovers
from dbdyno.host.account import Account
from dbdyno.host.place import Place
from dbdyno.model import Json
from dbdyno.model.error import HostError, ServerError

FOLDER = "golden"
"""Beside the arms' folders: no arm may have this name."""
FACTS = "golden.json"
FORMAT = 1
KEY_DIGITS = 12
UNFINISHED = ".new-"
GONE = ".gone-"
"""How names begin of folders that are being made, or removed; what a break leaves is swept up."""
WAL_LINKS = ("pg_wal", "pg_xlog")
"""Links that the lab lets a data directory have."""
STATISTICS = ".statistics-"
"""How names of files begin that hold the planner's statistics of restored data."""
RESTORED_PER_S = 10e6
"""Bytes of data that a restore makes in a second, where this host has kept none: 8 to 14 MB on two
busy cores."""
REFUSED = re.compile(
    r"database files are incompatible with server"
    r"|invalid magic number [0-9A-F]{4} in (?:WAL|log) segment"
    r"|Invalid MySQL server (?:up|down)grade|Cannot boot server version"
    r"|uses page size \d+, but the innodb_page_size|nsupported redo log format"
)
"""What PostgreSQL, MySQL and MariaDB say of data of other versions, forms and sizes than theirs."""
COPY_S_MAX = 6 * 3600.0
"""For a terabyte on a disk that does 50 MB/s."""


@dataclass(frozen=True, kw_only=True)
class Census:
    """How much a folder holds; compared to see whether a copy is still whole."""

    files: int
    bytes: int
    special: Path | None = None  # the first link, FIFO, socket or device: none of a server's data


def key_of(parts: Json) -> str:
    """The key of a copy whose content is determined by `parts`."""
    text = json.dumps([FORMAT, parts], sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:KEY_DIGITS]


def census(*folders: Path) -> Census:
    """What lies below folders; links count as files, wherever they lead, and lead nowhere.

    The link to a write-ahead log beside the data, which the lab makes, is no special file.
    """
    files = size = 0
    special = None
    for folder in folders:
        for inside, below, names in os.walk(folder):
            links = [name for name in below if os.path.islink(os.path.join(inside, name))]
            for path in (Path(inside, name) for name in (*names, *links)):
                status = path.lstat()
                files += 1
                size += status.st_size
                of_wal = path.parent == folder and path.name in WAL_LINKS
                if special is None and not (stat.S_ISREG(status.st_mode) or of_wal):
                    special = path
    return Census(files=files, bytes=size, special=special)


# --- Finding one -----------------------------------------------------------------------------


def find(data_root: Path, key: str) -> Copy | None:
    """The copy of this key, looked through; None where there is none.

    Raises ServerError for one that is damaged or not ours.
    """
    folder = data_root / FOLDER / key
    if not folder.exists():
        return None
    if not (folder / data_folder.MARK).is_file():
        raise ServerError(f"`{folder}` was not made by dyno: move it away")
    copy = read(folder)
    why = damage(copy)
    if why is not None:
        raise ServerError(f"golden copy `{folder}`: {why}: {removal(data_root, key)}")
    return copy


def read(folder: Path) -> Copy:
    """The copy in `folder`, as its golden.json says. Raises ServerError where that is damaged."""
    try:
        facts = msgspec.json.decode((folder / FACTS).read_bytes(), type=CopyFacts)
        well = facts.format == FORMAT and facts.key == folder.name == key_of(facts.parts)
    except (OSError, ValueError) as error:
        raise ServerError(
            f"golden copy `{folder}`: {FACTS} cannot be read ({error}): "
            f"{removal(folder.parent.parent, folder.name)}"
        ) from error
    if not well:
        raise ServerError(
            f"golden copy `{folder}`: {FACTS} is of another copy or version of dyno: "
            f"{removal(folder.parent.parent, folder.name)}"
        )
    return Copy(folder=folder, facts=facts)


def damage(copy: Copy) -> str | None:
    """In what the folder is not what its golden.json says, in words; None: it is whole."""
    family = engine.of(copy.facts.engine)
    try:
        now = family.fingerprint(copy.data_dir, copy.wal_dir)
    except OSError as error:
        return f"`{error.filename}` cannot be read ({error.strerror})"
    if now.major != copy.facts.major:
        return f"its data are of {family.traits.product} {now.major}, not {copy.facts.major}"
    if now.sha256 != copy.facts.control_sha256:
        return f"its {now.of} was changed since: a server was started in it"
    there = census(*folders_of(copy))
    if there.special is not None:
        return f"`{there.special}` is no file or folder"
    kept = Census(files=copy.facts.files, bytes=copy.facts.bytes)
    if there != kept:
        return (
            f"{kept.files} files with {kept.bytes} bytes were kept, {there.files} with "
            f"{there.bytes} are there"
        )
    return None


def folders_of(copy: Copy) -> list[Path]:
    """The data directory, and the write-ahead log's folder where it has its own."""
    return [copy.data_dir, *([copy.wal_dir] if copy.wal_dir else [])]


def removal(data_root: Path, key: str) -> str:
    """The remedy for a copy that is of no use."""
    return f"remove it with `dyno golden remove {key} --data-dir {data_root}`"


# --- Keeping one -----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class DataDirectory:
    """A data directory of a server that was shut down, and the roots beside which it is kept."""

    engine: str
    arm: str
    version: str
    data_dir: Path
    wal_dir: Path | None  # None: in the data directory
    data_root: Path
    wal_root: Path | None
    account: Account


def keep(source: DataDirectory, parts: Json, origin: CopyOrigin) -> Copy:
    """Moves a data directory into its place among the golden copies, and says what it is.

    `parts`: all that determines the content. Everything is on the disk before the copy has its
    name.
    Raises HostError where the disk refuses, ServerError where what lies there is no file or folder.
    """
    amount = census(*filter(None, (source.data_dir, source.wal_dir)))
    if amount.special is not None:
        raise ServerError(
            f"`{source.data_dir}` is not kept: `{amount.special}` is no file or folder"
        )
    now = engine.of(source.engine).fingerprint(source.data_dir, source.wal_dir)
    key = key_of(parts)
    discard(source.data_root, key)
    wal = None
    if source.wal_root is not None:
        discard(source.wal_root, key)
        assert source.wal_dir is not None
        wal = move(source.wal_dir, source.wal_root / FOLDER, key, "wal", source.account)
    new = move(source.data_dir, source.data_root / FOLDER, key, "data", source.account)
    facts = CopyFacts(
        workload=origin.workload,
        step=origin.step,
        block_begun_unix_ns=origin.block_begun_unix_ns,
        restored_per_s=origin.restored_per_s,
        report=origin.report,
        arm=source.arm,
        version=source.version,
        made_unix_ns=time.time_ns(),
        format=FORMAT,
        key=key,
        engine=source.engine,
        parts=parts,
        files=amount.files,
        bytes=amount.bytes,
        major=now.major,
        control_sha256=now.sha256,
        wal_dir=str(wal.with_name(key) / "wal") if wal else None,
    )
    text = json.dumps(msgspec.to_builtins(facts), indent=1, allow_nan=False)
    (new / FACTS).write_text(text + "\n")
    for unfinished in filter(None, (wal, new)):
        sync(unfinished, source.account)
        unfinished.rename(unfinished.with_name(key))
    sync(source.data_root / FOLDER, source.account)
    return Copy(folder=new.with_name(key), facts=facts)


def move(folder: Path, root: Path, key: str, name: str, account: Account) -> Path:
    """Moves `folder` to `root`/.new-KEY/`name`; returns the folder that it is in now."""
    new = root / (UNFINISHED + key)
    place = data_folder.make(new, name, account)
    root.chmod(0o755)
    try:
        folder.rename(place)
    except OSError as error:
        raise HostError(
            f"`{folder}` cannot be kept as `{place}`: {error.strerror}: both must lie on one file "
            "system"
        ) from error
    return new


def sync(folder: Path, account: Account) -> None:
    """Waits until all of the folder's file system is on the disk. Raises HostError."""
    done = accounts.run(["sync", "--file-system", folder], account, limit_s=COPY_S_MAX)
    if done.returncode != 0:
        raise HostError(f"`{folder}` cannot be synced: {done.stderr.strip()}: check the disk")


# --- Beginning from one ----------------------------------------------------------------------


def fill(folder: Path, copied: Path, place: Place, *, shared_blocks: bool, what: str) -> None:
    """Copies the content of `copied` into the empty folder `folder`; it is on the disk then.

    `shared_blocks`: where the file system can, both share their blocks until one is written to;
    the first write to each block then costs more, so this is for steps that do not write.
    Raises HostError where the disk refuses.
    """
    account = place.account
    program = shutil.which("cp", path=account.options()["env"]["PATH"])
    if program is None:
        raise HostError("there is no program `cp`: install coreutils")
    entry = leftovers.register(what, folder=folder.parent, run_root=place.run_root)
    reflink = "--reflink=auto" if shared_blocks else "--reflink=never"
    command: list[str | Path] = [program, "--archive", reflink, f"{copied}/.", folder]
    try:
        with leftovers.noted(entry) as note:
            done = accounts.run(
                command, account, limit_s=COPY_S_MAX, cwd=folder.parent, preexec_fn=note
            )
    finally:
        leftovers.unregister(entry)
    if done.returncode != 0:
        said = " ".join(done.stderr.split())[-300:]
        raise HostError(f"golden copy `{copied}` cannot be copied: {said}: check the disk")
    sync(folder, account)


def point_to_wal(data_dir: Path, wal_dir: Path, name: str) -> None:
    """Lets a copied data directory use its own write-ahead log, not that of the run before."""
    link = data_dir / name
    link.unlink()
    link.symlink_to(wal_dir)


# --- Housekeeping ----------------------------------------------------------------------------


def marked(root: Path) -> list[Path]:
    """The folders of copies under `root` that are ours and finished."""
    folders = sorted((root / FOLDER).glob("*"))
    return [
        folder
        for folder in folders
        if folder.name[0] != "." and (folder / data_folder.MARK).is_file()
    ]


def remove(data_root: Path, keys: Sequence[str]) -> list[str]:
    """Removes copies, also damaged ones; returns their keys.

    Raises ServerError, before anything is removed, for a key that there is not.
    """
    here = [folder.name for folder in marked(data_root)]
    for key in keys:
        if key not in here:
            raise ServerError(
                f"there is no golden copy `{key}` in `{data_root / FOLDER}`; "
                + (f"there are {', '.join(here)}" if here else "there are none")
            )
    for key in keys:
        for root in {data_root, wal_root_of(data_root / FOLDER / key) or data_root}:
            discard(root, key)
    if not marked(data_root):
        for file in (data_root / FOLDER).glob(f"{STATISTICS}*"):
            file.unlink()
    return list(keys)


def wal_root_of(folder: Path) -> Path | None:
    """The root of a copy's write-ahead log; None where it has none, or nobody knows."""
    try:
        wal_dir = read(folder).wal_dir
    except ServerError:
        return None
    return None if wal_dir is None else wal_dir.parents[2]


def statistics_file(data_root: Path, name: str) -> Path:
    """Where statistics lie that the copies of one dump share; gone with the last copy of all."""
    return data_root / FOLDER / f"{STATISTICS}{name}.json"


def discard(root: Path, key: str) -> None:
    """Removes what `root` has of this key; a break in between leaves nothing that looks whole."""
    folder = root / FOLDER / key
    if (folder / data_folder.MARK).is_file():
        gone = folder.with_name(GONE + key)
        data_folder.remove(gone)
        folder.rename(gone)
        data_folder.remove(gone)


def sweep(*roots: Path | None) -> None:
    """Removes what breaks left of copies, and servers of labs that were killed as they planned.

    Only for who holds the host's lock: nobody else makes or removes any then.
    """
    for root in filter(None, roots):
        data_folder.sweep_long(root)
        for begun in (UNFINISHED, GONE):
            for folder in (root / FOLDER).glob(begun + "*"):
                data_folder.remove(folder)


def listing(data_root: Path) -> list[str]:
    """The copies that are here, a line each: key, size, when, what of what."""
    return [line(folder) for folder in marked(data_root)]


def rows(data_root: Path) -> list[Json]:
    """The same for programs: the key, then golden.json, or the error where it cannot be read."""
    documents: list[Json] = []
    for folder in marked(data_root):
        try:
            facts = msgspec.to_builtins(read(folder).facts)
        except ServerError as error:
            facts = {"error": str(error)}
        documents.append({"key": folder.name} | facts)
    return documents


def restored_per_s(data_root: Path) -> float:
    """The bytes of a dump's guessed size that a restore does in a second on this host."""
    known: list[float] = []
    for folder in marked(data_root):
        with suppress(ServerError):
            known += [read(folder).facts.restored_per_s or RESTORED_PER_S]
    return median(known or [RESTORED_PER_S])


def line(folder: Path) -> str:
    """A copy in a line; of one that cannot be read, why."""
    try:
        facts = read(folder).facts
    except ServerError as error:
        return f"{folder.name}  {error}"
    return (
        f"{folder.name}  {facts.bytes / (1 << 30):6.1f} GB  {made(facts)}  "
        f"{facts.arm} {facts.version} after {facts.step} of {facts.workload}"
        + (f", fill {fill}" if (fill := facts.parts.get("fill")) else "")
    )


def made(facts: CopyFacts) -> str:
    """When a copy was made, to the minute, in the host's time."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(facts.made_unix_ns / 1e9))
