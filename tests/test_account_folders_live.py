"""A lab of root never writes in folders of the servers' account, nor reads through its links."""

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import mysql_place
from dbdyno.engine import LabServer, Place, golden
from dbdyno.engine.arm_server import provide
from dbdyno.engine.golden_copy import CopyOrigin
from dbdyno.host import account, data_folder
from dbdyno.model import Arm
from dbdyno.model.error import HostError, ServerError
from server_place import a_place, ends

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(
        os.geteuid() != 0,
        reason="only root can run servers as another account: `sudo make test-all`",
    ),
]
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
ORIGIN = CopyOrigin(workload="w", step="s", block_begun_unix_ns=5)
CHANGES = ("os.chown", "os.chmod", "os.mkdir", "os.link", "os.truncate")
"""Audit events whose first value names what is changed."""


class Watch:
    """What this process opened to write, or changed, in folders that an account owns."""

    def __init__(self) -> None:
        self.account: int | None = None
        self.seen: list[str] = []
        sys.addaudithook(self.hear)  # for good: nothing removes a hook

    def hear(self, event: str, values: tuple[Any, ...]) -> None:
        """Takes down what of an audit event is a write below a folder of the account."""
        if self.account is None:
            return
        path = values[0] if values else None
        if not isinstance(path, str | bytes | os.PathLike):
            return
        writes = event == "open" and isinstance(values[2], int) and values[2] & WRITING
        if not writes and event not in CHANGES:
            return
        above = Path(os.fsdecode(path)).absolute().parents
        owned = [folder for folder in above if owner(folder) == self.account]
        if owned:
            self.seen.append(f"{event} {os.fsdecode(path)}")


def owner(path: Path) -> int | None:
    try:
        return path.lstat().st_uid
    except OSError:
        return None


WATCH = Watch()


@contextmanager
def watched(place: Place) -> Iterator[None]:
    WATCH.account, WATCH.seen = place.account.uid, []
    try:
        yield
    finally:
        WATCH.account = None


def engines() -> list[str]:
    return ["postgres", "mysql", "mariadb"]


def an_arm(engine: str) -> Arm:
    if engine == "postgres":
        return Arm(name="a", engine=engine, base_dir=ends()[-1], standby=1)
    return mysql_place.an_arm(engine)


@pytest.mark.parametrize("engine", engines())
def test_root_writes_nothing_below_a_folder_of_the_account(engine: str) -> None:
    arm = an_arm(engine)
    with a_place(engine) as place, watched(place):
        place = replace(place, wal_root=place.data_root.parent / "wal")
        server = provide(arm, place=place)
        try:
            server.prepare()
            server.start()
            server.create_database("ib")
            if server.standbys is not None:
                server.standbys.join()
            kept = server.keep({"seed": 1}, ORIGIN)
            server.prepare_from(kept, shared_blocks=False)
            server.start()
            assert golden.find(place.data_root, kept.key) == kept
        finally:
            server.stop(crash=True)
            server.remove()
        assert WATCH.seen == []


def planted(server: LabServer, name: str, secret: Path, *, fifo: bool) -> Path:
    """A link to a file of root's, or a FIFO, where the lab is about to write or read."""
    path = server.data_dir / name
    path.unlink(missing_ok=True)
    if fifo:
        os.mkfifo(path)
    else:
        path.symlink_to(secret)
    return path


@pytest.mark.parametrize("fifo", [False, True])
def test_links_and_fifos_where_the_lab_writes_lead_nowhere(
    fifo: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(account, "WRITE_S_MAX", 3.0)
    secret = tmp_path / "secret"
    secret.write_text("root's alone\n")
    secret.chmod(0o600)
    with a_place() as place:
        server = provide(replace(an_arm("postgres"), standby=0), place=place)
        server.prepare()
        try:
            own, data = place.account, server.data_dir
            assert data is not None
            path = planted(server, "dyno.conf", secret, fifo=fifo)
            own.write(path, "port = 1\n")
            assert (path.lstat().st_uid, path.read_text()) == (own.uid, "port = 1\n")
            path = planted(server, "postgresql.conf", secret, fifo=fifo)
            with pytest.raises(ServerError, match=r"postgresql\.conf|did not end"):
                own.append(path, "x")
            planted(server, "postmaster.pid", secret, fifo=fifo)
            assert data_folder.user_of(data.parent) is None
            planted(server, "PG_VERSION", secret, fifo=fifo)
            with pytest.raises(OSError, match=r"PG_VERSION"):
                data_folder.read(data, "PG_VERSION")
            assert golden.census(data).special in {
                data / name for name in ("PG_VERSION", "postgresql.conf", "postmaster.pid")
            }
            status = secret.stat()
            assert (status.st_uid, stat.S_IMODE(status.st_mode)) == (0, 0o600)
            assert secret.read_text() == "root's alone\n"
        finally:
            server.remove()


def test_what_is_no_file_is_not_kept(place: Place) -> None:
    server = provide(Arm(name="a", engine="postgres", base_dir=ends()[-1]), place=place)
    try:
        server.prepare()
        server.start()
        (server.data_dir / "base" / "shadow").symlink_to("/etc/shadow")
        with pytest.raises(ServerError, match=r"shadow` is no file or folder"):
            server.keep({"seed": 1}, ORIGIN)
        assert golden.marked(place.data_root) == []
    finally:
        server.stop(crash=True)
        server.remove()


def test_a_data_folder_that_others_can_exchange_is_refused(place: Place) -> None:
    theirs = place.data_root / "theirs"
    theirs.mkdir()
    os.chown(theirs, place.account.uid, place.account.gid)
    elsewhere = replace(place, data_root=theirs / "data")
    server = provide(Arm(name="a", engine="postgres", base_dir=ends()[-1]), place=elsewhere)
    with pytest.raises(HostError, match=r"others than root can change `.*theirs`"):
        server.prepare()
    assert not (theirs / "data" / "a").exists()
