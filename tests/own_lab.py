"""A lab of a test process: the host lock, the register and the data of no other process.

One lab measures on a host at a time, and waits until the machine rests. Tests hold no figures of
two labs against each other, so that those of several processes need not wait for one another. The
fixture of conftest.py takes a folder for each process; what a test starts by `command` shares it.

What tells of the host and not of a server is short or done once, as no test reads a verdict from
it: the rest before an arm, the look at the host, canaries, the load generator's ceiling. Each has
tests of its own, which call what is behind it.
"""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from dbdyno.host import account, lock, place, quiesce
from dbdyno.host.account import Account
from dbdyno.host.observe import canary, facts
from dbdyno.model.step_files import CanaryReading
from dbdyno.run.agent import session
from dbdyno.run.driver import ceiling
from dbdyno.store import disk

HOST_FOLDERS = lock.FOLDERS
"""Where the lock of this host lies, outside tests."""
CLUSTERS = "DYNO_TEST_CLUSTERS"
"""The variable that names the folder of empty databases which all processes of tests share."""
REST_S_MAX = 0.1
"""How long a lab waits for a machine at rest at most: two looks. Beside other tests it never is."""
REST_LOOK_S = 0.04
HOST_LOOK_S = 0.1
"""How long a lab looks at the host before its first block, and at what a sync takes."""
CEILING_S, CEILING_WARMUP_S = 0.1, 0.02
"""The window of each load that shows what the load generator can, and the time before."""
OF_RUNNING = ("innodb_buffer_pool_size", "max_connections", "port", "socket")
"""How options of MySQL begin that leave the data of an empty database as they are."""
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
    os.sync = disk.sync = disk.sync_path = lambda *_: None
    quiesce.quiet.__defaults__, quiesce.LOOK_EVERY_S = (REST_S_MAX,), REST_LOOK_S
    facts.collect.__kwdefaults__["look_s"] = facts.SYNCS_S_MAX = HOST_LOOK_S
    ceiling.SECONDS, ceiling.WARMUP_S = CEILING_S, CEILING_WARMUP_S
    canary.run = Canaries().run
    session.HERE = tuple(command("agent"))
    account.run = Clusters(Path(os.environ.get(CLUSTERS, folder / "clusters"))).run
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a job in a shell's background
        signal.signal(signal.SIGINT, signal.default_int_handler)


class Canaries:
    """Canaries of the same program on the same disk: the second reading is the first."""

    def __init__(self) -> None:
        self._run = canary.run
        self._first: dict[tuple[Path, int], CanaryReading] = {}

    def run(self, directory: Path, loadgen: Path, device_bytes: int = 0) -> CanaryReading:
        """As canary.run; of a device, and where there is no folder, it always runs."""
        if device_bytes or not directory.is_dir():
            return self._run(directory, loadgen, device_bytes)
        key = loadgen, directory.stat().st_dev
        if key not in self._first:
            self._first[key] = self._run(directory, loadgen)
        return self._first[key]


@dataclass(frozen=True)
class Recipe:
    """An empty database that a program is to make: where, and all that determines its content."""

    folder: Path
    parts: tuple[object, ...]


class Clusters:
    """Empty databases that were made here: the next by the same recipe is a copy of the first."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._run = account.run

    def run(
        self, words: Sequence[str | Path], own: Account, *, limit_s: float, **options: Any
    ) -> subprocess.CompletedProcess[str]:
        """As account.run; a program whose database is whole in the folder may copy one."""
        text = [str(word) for word in words]
        recipe = of_initdb(text) or of_mysql(text)
        if recipe is None:
            return self._run(words, own, limit_s=limit_s, **options)
        whose = own.name, program(text[0]), sorted(options["env"].items())
        first = self.folder / sha256(repr((whose, recipe.parts)).encode()).hexdigest()[:16]
        if first.exists():
            copied(first, recipe.folder)
            return subprocess.CompletedProcess(text, 0, "", "")
        done = self._run(words, own, limit_s=limit_s, **options)
        if done.returncode == 0:
            self.folder.mkdir(exist_ok=True)
            part = Path(tempfile.mkdtemp(dir=self.folder))
            copied(recipe.folder, part)
            with suppress(OSError):  # another process was faster
                part.rename(first)
        return done


def of_initdb(words: Sequence[str]) -> Recipe | None:
    """The recipe of a PostgreSQL that these words make; None: they make none, or with its WAL
    elsewhere."""
    if not words[0].endswith("/initdb") or words[1] != "-D" or "-X" in words:
        return None
    return Recipe(Path(words[2]), tuple(words[3:]))


def of_mysql(words: Sequence[str]) -> Recipe | None:
    """The same of a MySQL or MariaDB, whose options stand in a file beside the data."""
    makes = "--initialize-insecure" in words or words[0].endswith(("-install-db", "_install_db"))
    if not makes or not words[1].startswith("--defaults-file="):
        return None
    file = Path(words[1].partition("=")[2])
    here = str(file.parent)
    options = [line.replace(here, "HERE") for line in file.read_text().splitlines()]
    if any(line.startswith("innodb_log_group_home_dir") for line in options):
        return None
    shapes = [line for line in options if not line.startswith(OF_RUNNING)]
    return Recipe(file.parent / "data", (shapes, [word.replace(here, "HERE") for word in words]))


def program(path: str) -> tuple[object, ...]:
    """What tells a program from another that lay there before."""
    of = Path(path).stat()
    return path, of.st_size, of.st_mtime_ns


def copied(source: Path, to: Path) -> None:
    """Makes a folder that is there the same as another, owners and rights included.

    An index of binary logs names them where they lie now.
    """
    subprocess.run(["cp", "--archive", "--reflink=auto", "-T", source, to], check=True)
    for index in to.glob("*.index"):
        names = [Path(line).name for line in index.read_text().splitlines()]
        index.write_text("".join(f"{to / name}\n" for name in names))


def command(*arguments: str | Path) -> list[str]:
    """The command line of a `dyno` whose lab is that of this process."""
    tests, folder = str(Path(__file__).parent), str(lock.FOLDERS[0])
    code = COMMAND.format(tests=tests, folder=folder)
    return [sys.executable, "-c", code, *map(str, arguments)]
