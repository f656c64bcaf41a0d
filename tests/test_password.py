"""Passfiles and keys, by libpq's rules, and the one of several places that is meant."""

import socket
from dataclasses import replace
from pathlib import Path

import pytest

from dbdyno.engine import connection
from dbdyno.model import Address, Password, Tls
from dbdyno.model.error import ServerError


def asked(path: Path, host: str = "db.example", user: str = "me") -> str | None:
    place = Password(passfile=path)
    address = Address(host=host, port=3306, user=user, database="shop", password=place)
    return connection.password(address)


@pytest.fixture
def passfile(tmp_path: Path) -> Path:
    path = tmp_path / "pass"
    path.write_text(
        "# those of the shop\n"
        "nonsense\n"
        "localhost:*:shop:me:by socket\n"
        "db.example:3306:shop:m\\:e:with\\:colon\\\\\n"
        "db.example:3306:*:me:first:of two\n"
        "*:*:*:me:second\n"
    )
    path.chmod(0o600)
    return path


def test_the_first_line_that_fits_has_the_password(passfile: Path):
    assert asked(passfile) == "first:of two"
    assert asked(passfile, host="other") == "second"


def test_colons_and_backslashes_are_escaped(passfile: Path):
    assert asked(passfile, user="m:e") == "with:colon\\"


def test_a_unix_socket_is_called_localhost(passfile: Path):
    assert asked(passfile, host="/run/my.sock") == "by socket"


def test_without_a_line_that_fits_one_is_asked_for(passfile: Path):
    with pytest.raises(ServerError, match=r"no line for you at db\.example:3306: add one"):
        asked(passfile, user="you")


def test_a_file_that_others_can_read_is_refused(passfile: Path):
    passfile.chmod(0o640)
    with pytest.raises(ServerError, match="is open to others: chmod 600"):
        asked(passfile)


def test_a_file_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(ServerError, match="none` cannot be read: No such file"):
        asked(tmp_path / "none")


def test_a_busy_server_of_this_host_has_minutes_and_others_seconds() -> None:
    """Under Valgrind a session begins within a minute on a host with a load of 30."""
    there = Address(host="db", port=5432, user="u", database="d")
    here = replace(there, host="/run/dyno/pg")
    assert connection.connect_s_max(there) == 10 and connection.connect_s_max(here) >= 60


def test_an_environment_without_the_password_is_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("DYNO_NONE", raising=False)
    place = Password(env="DYNO_NONE")
    address = Address(host="h", port=1, user="me", database="shop", password=place)
    with pytest.raises(ServerError, match="the environment has no `DYNO_NONE`: put"):
        connection.password(address)
    monkeypatch.setenv("DYNO_NONE", "x")
    assert connection.password(address) == "x"


@pytest.mark.parametrize(
    ("text", "mode", "said"),
    [
        ("KEY", 0o600, None),
        ("KEY", 0o644, "is open to others: chmod 600 "),
        ("Proc-Type: 4,ENCRYPTED", 0o400, "has a passphrase, which dyno does not ask for"),
        (None, 0, "cannot be read: No such file"),
    ],
)
def test_a_key_is_its_owner_s_alone_and_has_no_passphrase(
    text: str | None, mode: int, said: str | None, tmp_path: Path
):
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    certificate.write_text("CERTIFICATE")
    if text is not None:
        key.write_text(text)
        key.chmod(mode)
    tls = Tls(mode="require", certificate=str(certificate), key=str(key))
    address = Address(host="h", port=1, user="me", database="shop", tls=tls)
    if said is None:
        connection.refuse_key(address)
    else:
        with pytest.raises(ServerError, match=said):
            connection.refuse_key(address)


@pytest.mark.parametrize(
    ("session", "meant", "found"),
    [
        ("any", {("127.0.0.2", "any")}, "127.0.0.2"),
        ("prefer-standby", {("127.0.0.2", "standby"), ("127.0.0.1", "any")}, "127.0.0.2"),
        ("prefer-standby", {("127.0.0.1", "any"), ("127.0.0.2", "any")}, "127.0.0.1"),
        ("prefer-standby", set(), None),
    ],
)
def test_the_first_place_that_is_meant_is_taken_and_else_each_says_why(
    session: str, meant: set[tuple[str, str]], found: str | None
):
    with socket.create_server(("127.0.0.1", 0)) as first:
        port = first.getsockname()[1]
        hosts = ("127.0.0.3", "db..example", "127.0.0.1", "127.0.0.2")
        address = Address(
            host=hosts[0], port=port, user="me", database="shop", session=session,
            places=tuple((host, port) for host in hosts),
        )  # fmt: skip

        def unfit(place: Address) -> str | None:
            return None if (place.host, place.session) in meant else f"{place.ip} is another"

        with socket.create_server(("127.0.0.2", port)):
            if found is not None:
                place = connection.reached(address, unfit)
                assert (place.host, place.ip, place.places) == (found, found, ())
                return
            with pytest.raises(ServerError) as raised:
                connection.reached(address, unfit)
    assert str(raised.value).partition(": ")[0] == f"nothing answers at 127.0.0.3:{port}"
    assert str(raised.value).count("`db..example` is no name of a host: correct it") == 1
    assert str(raised.value).endswith("; 127.0.0.1 is another; 127.0.0.2 is another")
