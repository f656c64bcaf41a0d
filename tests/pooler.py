"""A PgBouncer in front of a server of the lab, for tests of connections through a pooler."""

import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from dbdyno.engine import LabServer
from dbdyno.host.account import choose
from server_place import reached, within

PROGRAM = shutil.which("pgbouncer", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
CONFIGURATION = """
[databases]
* = host=127.0.0.1 port={server} user={user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
logfile = {folder}/pgbouncer.log
pool_mode = {mode}
default_pool_size = 4
{more}
"""


@contextmanager
def pooled(server: LabServer, *, mode: str, user: str, more: str = "") -> Iterator[int]:
    """A pooler in front of a running server, and its port; it is gone afterwards."""
    if PROGRAM is None:
        pytest.skip("no PgBouncer here: `apt-get install pgbouncer`")
    account = choose("postgres")
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    folder = Path(tempfile.mkdtemp(prefix="dyno-pooler-", dir="/tmp"))
    file = folder / "pgbouncer.ini"
    values = {"server": reached(server).port, "port": port, "folder": folder, "mode": mode}
    file.write_text(CONFIGURATION.format(**values, user=user, more=more))
    folder.chmod(0o777)
    file.chmod(0o644)
    with subprocess.Popen(
        [PROGRAM, "--quiet", file], stderr=subprocess.DEVNULL, **account.options()
    ) as process:
        try:
            assert within(60, lambda: answers(port)), (folder / "pgbouncer.log").read_text()
            yield port
        finally:
            process.terminate()
    shutil.rmtree(folder)


def answers(port: int) -> bool:
    """Whether something listens at a port of this host."""
    with closing(socket.socket()) as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
