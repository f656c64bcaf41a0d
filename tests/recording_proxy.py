"""A unix socket that hands bytes on to another one, and keeps what clients sent."""

import shutil
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

PIECE = 65_536


@dataclass(frozen=True)
class Proxy:
    """Where it listens, and by connection what its clients sent so far."""

    path: Path
    sent: list[bytearray] = field(default_factory=list)


@contextmanager
def recording(name: str, to: Path) -> Iterator[Proxy]:
    """A proxy of a server's unix socket, under this name in a folder of its own."""
    folder = Path(tempfile.mkdtemp(prefix="dyno-proxy-", dir="/tmp"))
    proxy = Proxy(folder / name)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(proxy.path))
        listening.listen()
        threading.Thread(target=accept, args=(listening, to, proxy), daemon=True).start()
        try:
            yield proxy
        finally:
            # A close alone does not wake the thread that accepts.
            listening.shutdown(socket.SHUT_RDWR)
            shutil.rmtree(folder)


def accept(listening: socket.socket, to: Path, proxy: Proxy) -> None:
    """Takes connections until the socket is shut down, each with two threads of its own."""
    while True:
        try:
            client, _ = listening.accept()
        except OSError:
            return
        server = socket.socket(socket.AF_UNIX)
        server.connect(str(to))
        kept = bytearray()
        proxy.sent.append(kept)
        for one, other, record in ((client, server, kept), (server, client, None)):
            threading.Thread(target=hand_on, args=(one, other, record), daemon=True).start()


def hand_on(one: socket.socket, other: socket.socket, record: bytearray | None) -> None:
    """Hands on what comes from one side until it ends, and records it first."""
    try:
        while piece := one.recv(PIECE):
            if record is not None:
                record += piece
            other.sendall(piece)
        other.shutdown(socket.SHUT_WR)
    except OSError:
        return  # the other side has gone
