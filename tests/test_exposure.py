"""Servers that ask the lab's own connections for a password which others on the way could learn."""

import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from dbdyno.engine.mysql import connection
from dbdyno.engine.postgres import connection as postgres
from dbdyno.model import Address, Password, Tls
from dbdyno.model.error import ServerError

SECRET = "pa55word-of-the-test"
USER = "dyno"
SALT = b"aaaaaaaabbbbbbbbbbbb"
Script = Callable[[socket.socket], None]


class Hostile:
    """A server that plays its script on every connection, and keeps what it was sent."""

    def __init__(self, script: Script) -> None:
        self.heard = b""
        self._script = script
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                stream, _ = self._listener.accept()
            except OSError:
                return
            with stream:
                stream.settimeout(2)
                try:
                    self._script(stream)
                    while more := stream.recv(65536):
                        self.heard += more
                except OSError:
                    pass

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def hostile(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Script], Hostile]]:
    monkeypatch.setenv("PASSWORD_OF_TEST", SECRET)
    started: list[Hostile] = []

    def start(script: Script) -> Hostile:
        started.append(Hostile(script))
        return started[-1]

    yield start
    for one in started:
        one.close()


def address(server: Hostile, tls: str | None, *, insecure: bool = False) -> Address:
    place = Password(env="PASSWORD_OF_TEST", insecure=insecure)
    return Address(
        host="127.0.0.1",
        port=server.port,
        user=USER,
        database="d",
        password=place,
        tls=None if tls is None else Tls(tls),
    )


# --- PostgreSQL ---


def asks_in_clear_text(stream: socket.socket) -> None:
    """Has no TLS, and wants the password as it is."""
    if stream.recv(8) == postgres.SSL_REQUEST:
        stream.sendall(b"N")
        if not stream.recv(8):
            return
    stream.recv(65536)
    stream.sendall(b"R\0\0\0\x08\0\0\0\x03")


@pytest.mark.parametrize("tls", [None, "prefer"])
def test_a_postgresql_that_asks_in_clear_text_without_tls_does_not_get_the_password(
    hostile: Callable[[Script], Hostile], tls: str | None
):
    server = hostile(asks_in_clear_text)
    with pytest.raises(ServerError) as caught:
        postgres.connect(address(server, tls), "test", "")
    assert "in clear text" in str(caught.value)
    assert "`sslmode=require`" in str(caught.value)
    assert "`insecure = true`" in str(caught.value)
    assert "\n" not in str(caught.value) and SECRET not in str(caught.value)
    assert SECRET.encode() not in server.heard


@pytest.mark.parametrize("method", [7, 9])
def test_a_postgresql_that_asks_for_kerberos_is_a_line_that_says_what_to_do(
    hostile: Callable[[Script], Hostile], method: int
):
    def asks(stream: socket.socket) -> None:
        stream.recv(65536)
        stream.sendall(b"R\0\0\0\x08\0\0\0" + bytes([method]))

    with pytest.raises(ServerError) as caught:
        postgres.connect(address(hostile(asks), None), "test", {})
    assert "asks user `dyno` for GSSAPI or SSPI" in str(caught.value)
    assert "scram-sha-256" in str(caught.value) and "\n" not in str(caught.value)


def test_a_postgresql_gets_the_password_in_clear_text_where_the_plan_says_so(
    hostile: Callable[[Script], Hostile],
):
    import psycopg

    server = hostile(asks_in_clear_text)
    with pytest.raises(psycopg.OperationalError):
        postgres.connect(address(server, None, insecure=True), "test", "-c x=1")
    assert SECRET.encode() in server.heard


def test_a_postgresql_without_tls_is_refused_where_tls_is_required(
    hostile: Callable[[Script], Hostile],
):
    import psycopg

    server = hostile(asks_in_clear_text)
    with pytest.raises(psycopg.OperationalError, match="does not support SSL"):
        postgres.connect(address(server, "require", insecure=True), "test", "")
    assert server.heard == b""


# --- MySQL ---


def packet(number: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "little") + bytes([number]) + payload


def greeting(method: str) -> bytes:
    """Version 8.4, without TLS."""
    flags = (0x01FF_FFFF & ~(1 << 11)).to_bytes(4, "little")
    start = b"\x0a8.4.0\0\x07\0\0\0" + SALT[:8] + b"\0"
    rest = flags[:2] + b"\x08\x02\0" + flags[2:] + b"\x15" + bytes(10) + SALT[8:] + b"\0"
    return packet(0, start + rest + method.encode() + b"\0")


def asks_by(method: str, *, greets: str = "mysql_native_password") -> Script:
    """Greets, and then wants the password by a method."""

    def script(stream: socket.socket) -> None:
        stream.sendall(greeting(greets))
        stream.recv(65536)
        number = 2
        if method != greets:
            switch = b"\xfe" + method.encode() + b"\0" + SALT + b"\0"
            if method == "dialog":
                switch = b"\xfedialog\0\x04Password: "
            stream.sendall(packet(number, switch))
            number += 2
            if method != connection.CACHING:
                return
            stream.recv(65536)
        wants = (
            connection.WANTS_PASSWORD
            if method == connection.CACHING
            else b"\x01-----BEGIN PUBLIC KEY"
        )
        stream.sendall(packet(number, wants))

    return script


METHODS = [
    (connection.CACHING, connection.CACHING),
    (connection.CACHING, "mysql_native_password"),
    ("sha256_password", "sha256_password"),
    ("sha256_password", "mysql_native_password"),
    ("mysql_clear_password", connection.CACHING),
    ("dialog", connection.CACHING),
    ("mysql_old_password", "mysql_native_password"),
]


@pytest.mark.parametrize("tls", [None, "prefer"])
@pytest.mark.parametrize(("method", "greets"), METHODS)
def test_a_mysql_that_asks_for_the_password_itself_without_tls_does_not_get_it(
    hostile: Callable[[Script], Hostile], method: str, greets: str, tls: str | None
):
    server = hostile(asks_by(method, greets=greets))
    with pytest.raises(ServerError) as caught:
        connection.connect(address(server, tls), "test")
    assert "exposes it without TLS" in str(caught.value)
    assert "`ssl-mode=REQUIRED`" in str(caught.value)
    assert "`insecure = true`" in str(caught.value)
    assert "\n" not in str(caught.value) and SECRET not in str(caught.value)
    assert SECRET.encode() not in server.heard
    # Nor was a key asked for under which to send it.
    assert packet(3, b"\x02") not in server.heard and packet(5, b"\x02") not in server.heard


def test_a_mysql_is_asked_for_its_key_where_the_plan_says_so(hostile: Callable[[Script], Hostile]):
    import pymysql

    server = hostile(asks_by(connection.CACHING, greets=connection.CACHING))
    with pytest.raises((pymysql.MySQLError, ValueError)):
        connection.connect(address(server, None, insecure=True), "test", read_timeout=1)
    assert packet(3, b"\x02") in server.heard


@pytest.mark.parametrize("tls", ["require", "verify-ca", "verify-full"])
def test_a_mysql_without_tls_is_refused_where_tls_is_required(
    hostile: Callable[[Script], Hostile], tls: str
):
    import pymysql

    server = hostile(asks_by(connection.CACHING, greets=connection.CACHING))
    with pytest.raises(pymysql.MySQLError, match="SSL is required"):
        connection.connect(address(server, tls, insecure=True), "test")
    assert server.heard == b""
