"""Web servers on this machine that are laid out as the archives of MySQL and MariaDB are."""

import fcntl
import functools
import hashlib
import io
import os
import tarfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO

from dbdyno.engine.mysql import archive
from dbdyno.engine.mysql.archive import TargetMachine

HERE = TargetMachine(name="x86_64", glibc=(2, 36))
SAYS = {
    "mysql": "/x/mysqld  Ver {version} for Linux on x86_64 (MySQL Community Server - GPL)",
    "mariadb": "/x/mariadbd  Ver {version}-MariaDB for linux-systemd on x86_64 (MariaDB Server)",
}
PROGRAMS = {"mysql": "bin/mysqld", "mariadb": "bin/mariadbd"}


class Site:
    """An archive, and what it was asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.address = ""
        self.asked: list[str] = []  # with GET
        self.broken = False  # each answer breaks off in the middle

    def put(self, engine: str, version: str, *, old: bool = False, **how: str) -> Path:
        """Puts a release there, as its maker does; `old`: one that is not the newest.

        `how`: `script`, what its server does; `name`, how the tarball is called.
        """
        series = version.rpartition(".")[0]
        name = how.get("name", archive.mysql_names(version, HERE)[0])
        here = archive.FOLDERS[old].format(series=series)
        if engine == "mariadb":
            name = f"mariadb-{version}-linux-systemd-x86_64.tar.gz"
            here = f"mariadb-{version}/bintar-linux-systemd-x86_64"
        folder = self.folder / here
        folder.mkdir(parents=True, exist_ok=True)
        script = how.get("script", f"echo '{SAYS[engine].format(version=version)}'")
        files = {
            PROGRAMS[engine]: f"#!/bin/sh\n{script}\n",
            "mysql-test/t.test": "x",
            "share/errmsg": "",
        }
        write(folder / name, name.partition(".tar")[0], files)
        self.publish(folder / name)
        return folder / name

    def publish(self, tarball: Path) -> None:
        """Writes the checksum of a tarball beside it."""
        content = tarball.read_bytes()
        if tarball.name.startswith("mariadb"):
            line = f"{hashlib.sha256(content).hexdigest()}  ./{tarball.name}\n"
            (tarball.parent / "sha256sums.txt").write_text(f"{'0' * 64}  ./other.tar.gz\n{line}")
        else:
            line = f"{hashlib.md5(content, usedforsecurity=False).hexdigest()}  {tarball.name}\n"
            Path(f"{tarball}.md5").write_text(line)


def write(tarball: Path, top: str, files: dict[str, str]) -> None:
    """Writes a tarball with a folder of programs, compressed as its name says."""
    kind = "xz" if tarball.suffix == ".xz" else "gz"
    with tarfile.open(tarball, f"w:{kind}") as made:  # type: ignore[call-overload]
        for name, text in files.items():
            member = tarfile.TarInfo(f"{top}/{name}")
            member.size, member.mode = len(text), 0o700 if "bin/" in name else 0o600
            made.addfile(member, io.BytesIO(text.encode()))


@contextmanager
def served(folder: Path) -> Iterator[Site]:
    """A web server of a folder, which it makes."""
    folder.mkdir(parents=True)
    site = Site(folder)

    class Handler(SimpleHTTPRequestHandler):
        def copyfile(self, source: IO[bytes], outputfile: IO[bytes]) -> None:  # type: ignore[override]
            content = source.read()
            outputfile.write(content[: len(content) // 2] if site.broken else content)

        def log_message(self, *_: object) -> None:
            if self.command == "GET":
                site.asked.append(os.path.basename(self.path))

    class Server(ThreadingHTTPServer):
        request_queue_size = 64  # as many are asked at once

    server = Server(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    site.address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield site
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def twice_at_once(fetch: Callable[[Callable[[str], None]], object], folder: Path) -> None:
    """Fetches by two threads that both wait for the lock of a folder; raises what either raises."""
    said: list[str] = []
    with ThreadPoolExecutor(2) as pool, (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        both = [pool.submit(fetch, said.append) for _ in range(2)]
        while sum("waiting for another dyno" in line for line in said) < 2:
            time.sleep(0.01)
    for each in both:
        each.result()
