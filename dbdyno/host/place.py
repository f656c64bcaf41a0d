"""Where things of the lab lie: binaries, data, sockets; by the kind of user that started it."""

import hashlib
import os
import stat
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from dbdyno.host import account
from dbdyno.host.account import Account
from dbdyno.model import Placement
from dbdyno.model.error import HostError

SOCKET_PATH_LENGTH_MAX = 100
"""Longest path of a unix socket, in bytes (the kernel's own limit is 107)."""
SOCKET_FILE = "/.s.PGSQL.65535"
COUNTED_NAME_LENGTH = 16


@dataclass(frozen=True, kw_only=True)
class RemoteAccess:
    """How load from other hosts reaches a server (made by `engine.access.make`)."""

    address: str  # the IP address that the server listens on, beside its socket
    clients: tuple[str, ...]  # the addresses that may come in, and no other
    tls: bool  # whether they come by TLS
    password: str = field(repr=False)  # made for one run of the server
    here: bool = False  # whether the load comes from this host alone, where a file tells it


@dataclass(frozen=True, kw_only=True)
class Place:
    """The folders and the account of a lab's servers."""

    data_root: Path  # a server's data lies in a folder of it, of its arm's name (`name_of`)
    run_root: Path  # sockets, and the register of what was started
    cache_root: Path  # fetched servers
    log_dir: Path  # the server's log is written here, by a file that dyno opens
    account: Account
    wal_root: Path | None = None  # the write-ahead log lies in wal_root/<arm>; None: with the data
    placement: Placement = field(default_factory=Placement)
    access: RemoteAccess | None = None  # None: load comes from this host alone

    def make(self) -> None:
        """Makes the folders that are missing. Raises HostError where that is not possible."""
        roots = [self.data_root, self.run_root, self.cache_root, self.log_dir]
        for path in [*roots, *([self.wal_root] if self.wal_root else [])]:
            try:
                path.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise HostError(
                    f"`{path}` cannot be made: {error.strerror}: choose another folder"
                ) from error

    def name_of(self, arm: str) -> str:
        """The name of an arm's folders: its own; under a counter of one length for all arms.

        A server keeps its paths in memory, so their lengths decide where later memory lies, and
        what finding it costs (docs/counts.md, "Names").
        """
        if not self.placement.counter:
            return arm
        return hashlib.sha256(arm.encode()).hexdigest()[:COUNTED_NAME_LENGTH]

    def socket_dir(self, arm: str) -> Path:
        """The folder of an arm's unix socket. Raises HostError where its path would be too long."""
        folder = self.run_root / self.name_of(arm)
        if len(os.fsencode(str(folder) + SOCKET_FILE)) > SOCKET_PATH_LENGTH_MAX:
            raise HostError(
                f"`{folder}` is too long for a socket: shorten the arm's name or XDG_RUNTIME_DIR"
            )
        return folder


def default(
    *,
    log_dir: Path,
    engine: str = "postgres",
    data_dir: Path | None = None,
    wal_dir: Path | None = None,
    server_user: str | None = None,
) -> Place:
    """The places of a plan: those it names, else those of root or of the user."""
    return Place(
        data_root=data_dir or data_root(),
        wal_root=wal_dir,
        run_root=run_root(),
        cache_root=cache_root(),
        log_dir=log_dir,
        account=account.choose(engine, server_user),
    )  # fmt: skip


def cache_root() -> Path:
    """Where fetched servers lie: /var/cache/dyno for root, else the user's cache folder."""
    if os.geteuid() == 0:
        return Path("/var/cache/dyno")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dyno"


def data_root() -> Path:
    """Where data directories lie: /var/lib/dyno for root, else the user's data folder."""
    if os.geteuid() == 0:
        return Path("/var/lib/dyno")
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share") / "dyno"


def run_root() -> Path:
    """Where sockets and the register of started processes lie, made where it is missing.

    /run/dyno for root; else in the user's runtime folder, or one of the user's own under /tmp.
    Raises HostError where that one belongs to somebody else.
    """
    if os.geteuid() == 0:
        folder = Path("/run/dyno")
    elif runtime := os.environ.get("XDG_RUNTIME_DIR"):
        folder = Path(runtime) / "dyno"
    else:
        return private_folder(Path(tempfile.gettempdir()) / f"dyno-{os.geteuid()}")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def private_folder(folder: Path) -> Path:
    """A folder in a place open to all that is ours alone. Raises HostError where it is not."""
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise HostError(
            f"`{folder}` is not a folder of ours alone: remove it or set XDG_RUNTIME_DIR"
        )
    return folder


def nearest(folder: Path) -> Path:
    """The folder, or the one above it that is there."""
    return next(each for each in (folder, *folder.absolute().parents) if each.is_dir())
