"""A lab of a test process: the host lock, the register and the data of no other process.

One lab measures on a host at a time, and waits until the machine rests. Tests hold no figures of
two labs against each other, so that those of several processes need not wait for one another. The
fixture of conftest.py takes a folder for each process; what a test starts by `command` shares it.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from dbdyno.host import account, lock, place, quiesce
from dbdyno.host.account import Account
from dbdyno.run.agent import session
from dbdyno.store import disk

HOST_FOLDERS = lock.FOLDERS
"""Where the lock of this host lies, outside tests."""
REST_S_MAX = 0.6
"""How long a lab waits for a machine at rest at most: two looks. Beside other tests it never is."""
COMMAND = """
import sys
sys.path.append({tests!r})
import own_lab
from pathlib import Path
own_lab.take(Path({folder!r}))
from dbdyno.cli import main
sys.exit(main())
"""


def take(folder: Path) -> None:
    """From now on this process's labs lock `folder` in place of the host, and keep things there.

    And they and what else is started can be interrupted. They wait for no disk: a sync is for a
    power failure, which no test outlives.
    """
    folders = {name: folder / name for name in ("run", "data")}
    for path in folders.values():
        path.mkdir(exist_ok=True)
    lock.FOLDERS = (folder,)
    place.run_root = lambda: folders["run"]
    place.data_root = lambda: folders["data"]
    quiesce.quiet.__defaults__ = (REST_S_MAX,)
    disk.sync = disk.sync_path = lambda of: None
    session.HERE = tuple(command("agent"))
    account.run = Clusters(folder / "clusters").run
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a job in a shell's background
        signal.signal(signal.SIGINT, signal.default_int_handler)


class Clusters:
    """Empty clusters that initdb made here: the next by the same words is a copy of the first."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._run = account.run

    def run(
        self, words: Sequence[str | Path], own: Account, *, limit_s: float, **options: Any
    ) -> subprocess.CompletedProcess[str]:
        """As account.run; an initdb whose cluster is whole in its folder may copy one."""
        text = [str(word) for word in words]
        if not text[0].endswith("/initdb") or text[1] != "-D" or "-X" in text:
            return self._run(words, own, limit_s=limit_s, **options)
        parts = repr([own.name, text[0], text[3:], sorted(options["env"].items())])
        first = self.folder / sha256(parts.encode()).hexdigest()[:16]
        if first.exists():
            copied(first, Path(text[2]))
            return subprocess.CompletedProcess(text, 0, "", "")
        done = self._run(words, own, limit_s=limit_s, **options)
        if done.returncode == 0:
            self.folder.mkdir(exist_ok=True)
            part = Path(tempfile.mkdtemp(dir=self.folder))
            copied(Path(text[2]), part)
            with suppress(OSError):  # another thread was faster
                part.rename(first)
        return done


def copied(source: Path, to: Path) -> None:
    """Makes a folder that is there the same as another, owners and rights included."""
    subprocess.run(["cp", "--archive", "--reflink=auto", "-T", source, to], check=True)


def command(*arguments: str | Path) -> list[str]:
    """The command line of a `dyno` whose lab is that of this process."""
    tests, folder = str(Path(__file__).parent), str(lock.FOLDERS[0])
    code = COMMAND.format(tests=tests, folder=folder)
    return [sys.executable, "-c", code, *map(str, arguments)]
