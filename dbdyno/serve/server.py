"""Listens, and serves the application until it is interrupted."""

import secrets
import socket
from contextlib import suppress

from starlette.applications import Starlette

from dbdyno.model.error import DynoError
from dbdyno.serve.access import is_loopback

TOKEN_BYTES = 24
END_S_MAX = 1
"""So long pages that are being sent may take when the server ends."""


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens. Raises DynoError where the address cannot be had."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM
        )[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen()
    except OSError as error:
        raise DynoError(
            f"--host {host} --port {port}: {error.strerror}; name another, as `--port 0` for one "
            "that is free"
        ) from error
    except UnicodeError:  # an empty label, or one that is too long
        raise DynoError(f"--host {host}: is no name of a host; name another") from None
    return listener


def token(host: str, *, open_to_all: bool = False) -> str | None:
    """A new token; None where the server is to be open to all accounts of this machine.

    Raises DynoError for an address that others reach, too.
    """
    if not open_to_all:
        return secrets.token_urlsafe(TOKEN_BYTES)
    if not is_loopback(host):
        raise DynoError(f"--open: other machines reach {host}: leave out one of the two options")
    return None


def link(listener: socket.socket, its_token: str | None) -> str:
    """The address to open."""
    host, port = listener.getsockname()[:2]
    if host in ("0.0.0.0", "::"):
        host = socket.gethostname()
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/" + (f"?token={its_token}" if its_token else "")


def run(app: Starlette, listener: socket.socket) -> None:
    """Serves an application until SIGINT or SIGTERM."""
    import uvicorn

    settings = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=END_S_MAX,
    )
    with suppress(KeyboardInterrupt):  # which it raises once more when it has ended in order
        uvicorn.Server(settings).run(sockets=[listener])
