"""The common part of all engines' connections: a password's place, and an end to waiting.

A password goes to the server and nowhere else, nor does it go there so that others on the way can
learn it, unless the plan says that it may. A server that hangs never comes to its own time limit.
"""

import os
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from dbdyno.model import Address
from dbdyno.model.error import ServerError

FIELD = re.compile(r"((?:[^:\\]|\\.)*):")
"""A field of a passfile's line with the colon behind it; `\\` takes the next character as it is."""
OTHERS = 0o077
"""The rights of everybody else on a passfile or key, of which there are to be none."""
GROUP_READS = 0o040


def password(address: Address) -> str | None:
    """The password for an address; None where it names no place for one.

    Raises ServerError where it is not there.
    """
    place = address.password
    if place is None:
        return None
    if place.env is not None:
        if place.env not in os.environ:
            raise ServerError(f"the environment has no `{place.env}`: put the password there")
        return os.environ[place.env]
    assert place.passfile is not None, "a password's place is one of the two"
    return in_passfile(place.passfile, address)


def may_be_exposed(address: Address) -> bool:
    """Whether the password may be sent without TLS in a way that others can learn it by."""
    return address.password is not None and address.password.insecure


def refuse_key(address: Address) -> None:
    """Raises ServerError where the client's certificate or its key cannot be used as it lies there.

    By libpq's rule a key is its owner's alone; of root's, a group may read it.
    """
    if address.tls is None or address.tls.key is None or address.tls.certificate is None:
        return
    for path in map(Path, (address.tls.certificate, address.tls.key)):
        try:
            text, status = path.read_bytes(), path.stat()
        except OSError as error:
            raise ServerError(f"`{path}` cannot be read: {error.strerror}") from error
    if status.st_mode & (OTHERS if status.st_uid else OTHERS & ~GROUP_READS):
        raise ServerError(f"the key `{path}` is open to others: chmod 600 {path}")
    if b"ENCRYPTED" in text:
        raise ServerError(
            f"the key `{path}` has a passphrase, which dyno does not ask for: write it without one "
            f"by `openssl pkey -in {path} -out FILE`, and chmod 600 FILE"
        )


def exposed(address: Address, asked: str, tls: str) -> str:
    """The line on a server that asks for the password so; `tls`: how TLS is asked for.

    As the load generator says it.
    """
    return (
        f"the server asks for the password of user `{address.user}` {asked}, which exposes it "
        f"without TLS: ask for TLS (`{tls}`), or allow it by `insecure = true` beside the "
        "password's place"
    )


def in_passfile(path: Path, address: Address) -> str:
    """The password of the first line that fits: host:port:database:user:password, `*` fits all.

    The rules are libpq's (PostgreSQL documentation, "The Password File"). Raises ServerError where
    the file cannot be read, is open to others, or has no line that fits.
    """
    try:
        if path.stat().st_mode & OTHERS:
            raise ServerError(f"`{path}` is open to others: chmod 600 {path}")
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8 text"
        raise ServerError(f"`{path}` cannot be read: {why}") from error
    host = "localhost" if address.host.startswith("/") else address.host
    wanted = (host, str(address.port), address.database, address.user)
    for fields in filter(None, map(fields_of, lines)):
        if all(field in ("*", other) for field, other in zip(fields, wanted, strict=False)):
            return fields[-1]
    raise ServerError(f"`{path}` has no line for {address.user} at {host}:{address.port}: add one")


def fields_of(line: str) -> list[str] | None:
    """The five fields of a passfile's line; None for a comment and what is no such line."""
    if line.startswith("#"):
        return None
    found = list(split(line))
    return found if len(found) == 5 else None


def split(line: str) -> Iterator[str]:
    """Four fields, and as the fifth all that is left."""
    place = 0
    for _ in range(4):
        match = FIELD.match(line, place)
        if match is None:
            return
        place = match.end()
        yield re.sub(r"\\(.)", r"\1", match[1])
    yield re.sub(r"\\(.)", r"\1", line[place:])


# --- One server -------------------------------------------------------------------------------

CONNECT_S_MAX = 10
"""How long a place may take until it lets somebody in."""
SOCKET_S_MAX = 300
"""The same of a server of this host: under Valgrind, on a busy host, some take more than 10 s; one
that is gone refuses at once."""


def connect_s_max(address: Address) -> int:
    """How long an address may take until it lets somebody in, in seconds."""
    return SOCKET_S_MAX if address.host.startswith("/") else CONNECT_S_MAX


def reached(address: Address, unfit: Callable[[Address], str | None]) -> Address:
    """The address of the one server that is meant, with the host's IP, for all who connect to it.

    A name may stand for several, and be looked up otherwise the next time. `unfit`: why a place
    that answers is not meant; None: it is. Raises ServerError where none is.
    """
    sessions = ("standby", "any") if address.session == "prefer-standby" else (address.session,)
    reasons = []
    for session in sessions:
        for host, port in address.places or ((address.host, address.port),):
            place = replace(address, host=host, port=port, session=session, places=())
            try:
                found = looked_up(place)
                reason = unfit(found)
            except ServerError as error:
                reason = str(error)
            if reason is None:
                return found
            reasons.append(reason)
    raise ServerError("; ".join(dict.fromkeys(reasons)))


def looked_up(address: Address) -> Address:
    """The address with the first IP of its host at which something answers. Raises ServerError."""
    if address.host.startswith("/") or address.ip is not None:
        return address
    reason: OSError | None = None
    try:
        for *_, place in socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM):
            try:
                socket.create_connection((str(place[0]), address.port), CONNECT_S_MAX).close()
            except OSError as error:
                reason = error
            else:
                return replace(address, ip=str(place[0]))
    except OSError as error:
        raise ServerError(f"cannot find the host `{address.host}`: {error.strerror}") from error
    except UnicodeError:  # an empty label, or one that is too long
        raise ServerError(f"`{address.host}` is no name of a host: correct it") from None
    raise ServerError(f"nothing answers at {address.host}:{address.port}: {reason}")


# --- An end to waiting ------------------------------------------------------------------------


class SocketConnection(Protocol):
    """A connection with a socket under it, such as psycopg's."""

    def fileno(self) -> int:
        """The socket's descriptor."""


@contextmanager
def cut_off(connection: SocketConnection, limit_s: float) -> Iterator[None]:
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
