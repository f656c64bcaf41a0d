"""A lab of a test process: the host lock, the register and the data of no other process.

One lab measures on a host at a time, and waits until the machine rests. Tests hold no figures of
two labs against each other, so that those of several processes need not wait for one another. The
fixture of conftest.py takes a folder for each process; what a test starts by `command` shares it.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from dbdyno.host import lock, place, quiesce
from dbdyno.run.agent import session
from dbdyno.store import file

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
    file.sync = lambda descriptor: None
    session.HERE = tuple(command("agent"))
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a job in a shell's background
        signal.signal(signal.SIGINT, signal.default_int_handler)


def command(*arguments: str | Path) -> list[str]:
    """The command line of a `dyno` whose lab is that of this process."""
    tests, folder = str(Path(__file__).parent), str(lock.FOLDERS[0])
    code = COMMAND.format(tests=tests, folder=folder)
    return [sys.executable, "-c", code, *map(str, arguments)]
