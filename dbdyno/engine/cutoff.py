"""An end to waiting for a server that hangs: it never comes to its own time limit."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Protocol


class Wired(Protocol):
    """A connection with a socket under it, such as psycopg's."""

    def fileno(self) -> int:
        """The socket's descriptor."""


@contextmanager
def cut_off(connection: Wired, limit_s: float) -> Iterator[None]:
    """Shuts the connection's socket after `limit_s` seconds; what waits on it then fails."""
    with socket.socket(fileno=os.dup(connection.fileno())) as end:

        def shut() -> None:
            with suppress(OSError):  # it has ended by itself
                end.shutdown(socket.SHUT_RDWR)

        timer = threading.Timer(limit_s, shut)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()
