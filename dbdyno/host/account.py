"""The unprivileged account that servers run as, and running programs as it.

PostgreSQL refuses to run as root, and a server has no business with root's rights. A lab that an
ordinary user started runs its servers as that user.
"""

import os
import pwd
import stat
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any

from dbdyno.host.program import once, unended
from dbdyno.model import Json, engine
from dbdyno.model.error import HostError, ServerError

LAST_RESORT = "nobody"
WRITE = 'rm -f -- "$0" && cat >"$0"'
APPEND = 'cat >>"$0"'
MAKE_FOLDER = 'mkdir -p -m 0700 -- "$0"'
WRITE_S_MAX = 20.0
"""Longer than any small file takes; a FIFO with nobody at its other end takes for ever."""


@dataclass(frozen=True, kw_only=True)
class Account:
    """A user of the machine; `other` where it is another than the one dyno runs as."""

    name: str
    uid: int
    gid: int
    other: bool
    environment: Mapping[str, str] = field(default_factory=dict, hash=False)  # beside the usual one

    def options(self) -> Json:
        """The arguments of `subprocess` that make a program run as this account.

        The environment is the same on every host: no `PG*` variable, locale or time zone of ours
        gets in.
        """
        usual = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC", "HOME": "/"}
        options: Json = {"env": {**usual, **self.environment}, "stdin": subprocess.DEVNULL}
        if self.other:
            options |= {"user": self.uid, "group": self.gid, "extra_groups": []}
        return options

    @contextmanager
    def acting(self) -> Iterator[None]:
        """What dyno itself does within, it does by the account's rights alone."""
        if not self.other:
            yield
            return
        groups, uid, gid = os.getgroups(), os.geteuid(), os.getegid()
        os.setgroups([])
        os.setegid(self.gid)
        os.seteuid(self.uid)
        try:
            yield
        finally:
            os.seteuid(uid)
            os.setegid(gid)
            os.setgroups(groups)

    def own(self, file: int) -> None:
        """Gives an open file or folder to the account."""
        if self.other:
            os.fchown(file, self.uid, self.gid)

    def make_folder(self, path: Path) -> None:
        """Makes the folder `path` for the account alone (mode 0700) where it is not there yet.

        The folder above has to be one that the account cannot change: `make_folder_within` makes
        one in its own. Raises OSError, also where a link or a file lies there.
        """
        path.mkdir(mode=0o700, exist_ok=True)
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            os.fchmod(folder, 0o700)
            self.own(folder)
        finally:
            os.close(folder)

    def give(self, path: Path, text: str, *, mode: int = 0o644) -> None:
        """Writes a file of the account, which never has another mode.

        The folder has to be one that the account cannot change: `write` writes into its own.
        """
        with created(path, mode) as file:
            self.own(file.fileno())
            file.write(text)

    def make_folder_within(self, path: Path) -> None:
        """Makes the folder `path` in a folder of the account, by the account's rights alone.

        Raises ServerError.
        """
        self._do(MAKE_FOLDER, path)

    def write(self, path: Path, text: str) -> None:
        """Writes a file in a folder of the account, by the account's rights alone.

        What lies there is removed before, so that nothing is written through a link. Raises
        ServerError.
        """
        self._do(WRITE, path, text)

    def append(self, path: Path, text: str) -> None:
        """Adds to a file in a folder of the account, by the account's rights alone.

        Raises ServerError.
        """
        self._do(APPEND, path, text)

    def _do(self, script: str, path: Path, text: str = "") -> None:
        """Has a shell do what `script` says with `path`, and with `text` as its input."""
        done = run(["sh", "-c", script, path], self, limit_s=WRITE_S_MAX, input=text)
        if done.returncode != 0:
            raise ServerError(f"`{path}` cannot be written: {' '.join(done.stderr.split())}")


def created(path: Path, mode: int) -> IO[str]:
    """A new file to write, in place of what lies there, which never has another mode.

    Raises OSError.
    """
    path.unlink(missing_ok=True)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    os.fchmod(file, mode)
    return open(file, "w")


def choose(name: str, requested: str | None = None) -> Account:
    """The account for a server of an engine: the requested one, else the engine's own, else nobody.

    Raises HostError where the requested one does not exist, is root, or cannot be taken because
    dyno does not run as root.
    """
    uid = os.geteuid()
    if uid != 0:
        return own_account(uid, requested)
    if requested is not None:
        entry = entry_of(requested)
        if entry is None:
            raise HostError(
                f"server.user: there is no account `{requested}`: make it, or remove the key"
            )
        if entry.pw_uid == 0:
            raise HostError("server.user: servers do not run as root: name another account")
        return account_of(entry)
    # A distribution's package of an engine makes an account that is called as its family.
    for user in (engine.of(name).family, LAST_RESORT):
        entry = entry_of(user)
        if entry is not None and entry.pw_uid != 0:
            return account_of(entry)
    raise HostError("server.user: no account to run servers as: make one and name it")


def own_account(uid: int, requested: str | None) -> Account:
    """The account dyno runs as. Raises HostError where another one is requested."""
    try:
        entry = pwd.getpwuid(uid)
        name, gid = entry.pw_name, entry.pw_gid
    except KeyError:  # in containers a user may have no entry
        name, gid = str(uid), os.getegid()
    if requested not in (None, name):
        raise HostError(f"server.user: only root can run servers as `{requested}`: remove the key")
    return Account(name=name, uid=uid, gid=gid, other=False)


def entry_of(name: str) -> pwd.struct_passwd | None:
    """The machine's entry for the account, None where there is none."""
    try:
        return pwd.getpwnam(name)
    except KeyError:
        return None


def account_of(entry: pwd.struct_passwd) -> Account:
    """An account of the machine, for a dyno that runs as root."""
    return Account(name=entry.pw_name, uid=entry.pw_uid, gid=entry.pw_gid, other=True)


def run(
    command: Sequence[str | Path], account: Account, *, limit_s: float, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Runs a program as `account` to its end and returns what it said.

    Raises ServerError where it cannot be started or takes longer than `limit_s` seconds; a status
    other than 0 is the caller's to judge.
    """
    options = {"cwd": "/"} | account.options() | options
    if "input" in options:
        del options["stdin"]
    try:
        return subprocess.run(
            [str(part) for part in command],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=limit_s,
            check=False,
            **options,
        )
    except subprocess.TimeoutExpired as error:
        raise ServerError(f"`{command[0]}` {unended(error)}") from error
    except OSError as error:
        raise ServerError(
            f"`{command[0]}` cannot be run as account `{account.name}`: {error.strerror}; "
            "the program and the folders above it must be open to that account"
        ) from error


def answer(
    command: Sequence[str | Path], account: Account, *, limit_s: float, env: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """As `run`, of a program that only tells of itself: asked once, until its file changes."""
    question = (tuple(map(str, command)), account, tuple(sorted(env.items())))
    return once(
        Path(command[0]), question, partial(run, command, account, limit_s=limit_s, env=env)
    )


def blocked_at(path: Path, account: Account) -> Path | None:
    """The first folder on the way to `path` that the account may not enter; None if it may."""
    return _first_on_the_way(path, account, lambda status: not may_enter(status, account))


def changeable_at(path: Path, account: Account) -> Path | None:
    """The first folder on the way to `path` that somebody beside root can change; None: none is.

    Of a lab that runs as its servers' own account nothing is asked: it has no rights to lose. In a
    sticky folder as /tmp others cannot exchange what is not theirs.
    """

    def is_changeable(status: os.stat_result) -> bool:
        open_to_others = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        return status.st_uid != 0 or bool(open_to_others and not status.st_mode & stat.S_ISVTX)

    return _first_on_the_way(path, account, is_changeable)


def _first_on_the_way(
    path: Path, account: Account, is_bad: Callable[[os.stat_result], bool]
) -> Path | None:
    """The first folder from the root down to `path` that is bad, as far as they are there.

    None for a lab that runs as its servers' own account.
    """
    if not account.other:
        return None
    for folder in [*reversed(path.absolute().parents), path.absolute()]:
        try:
            status = folder.stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        if is_bad(status):
            return folder
    return None


def may_enter(found: os.stat_result, account: Account) -> bool:
    """Whether the account has the right of execution on what was found; files count as entered."""
    if not stat.S_ISDIR(found.st_mode):
        return True
    if found.st_uid == account.uid:
        return bool(found.st_mode & stat.S_IXUSR)
    if found.st_gid == account.gid:
        return bool(found.st_mode & stat.S_IXGRP)
    return bool(found.st_mode & stat.S_IXOTH)
