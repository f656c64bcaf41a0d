"""Passfiles, by libpq's rules."""

from dataclasses import replace
from pathlib import Path

import pytest

from dbdyno.engine import connection
from dbdyno.model import Address, Password
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
