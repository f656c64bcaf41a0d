"""Passwords in texts that leave this machine."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.model import secret
from dbdyno.report.render import html

SECRET = "hunter2"


@pytest.mark.parametrize(
    "text",
    [
        f"postgres://me:{SECRET}@h:5432/d",
        f"mysql://me:p@{SECRET}@h/d",
        f"postgres://me:{SECRET}&amp;{SECRET}@h",
        f"host=h password={SECRET} user=me",
        f"'host=h password={SECRET}'",
        f"password=&#39;{SECRET}&amp;{SECRET}&#39; x",
        f'"password":"{SECRET}"',
        f'PGPASSWORD = \\"{SECRET}\\"',
        f"MYSQL_PWD={SECRET} mysql",
        f"postgres://h/d?password={SECRET}&x=1",
        f"mysql --password={SECRET}",
    ],
)
def test_a_password_is_three_points(text: str) -> None:
    masked = secret.masked(text.encode())
    assert SECRET not in masked.decode() and b"..." in masked
    assert secret.has_password(text.encode()) and not secret.has_password(masked)


@pytest.mark.parametrize(
    "text",
    [
        "postgres://me@h:5432/d",
        "https://h:8080/a and b@c",
        'password = { env = "NAME" }',
        '"password": null, "x": 1',
        '"password": {"env": "NAME"}',
        "WHERE password = $1 OR password = ?",
        "password_encryption = scram-sha-256",
        "validate_password=ON",
        "SELECT users.password = 'x'",
    ],
)
def test_what_is_no_password_stays(text: str) -> None:
    assert secret.masked(text.encode()) == text.encode()
    assert not secret.has_password(text.encode())


WORDS = st.sampled_from(
    ["password", "PGPASSWORD", "=", ":", "://", "@", "/", "'", '"', "&#39;", " ", "...", "me", "{"]
)


@given(st.lists(WORDS, max_size=12).map("".join))
def test_masking_is_done_once_for_all(text: str) -> None:
    masked = secret.masked(text.encode())
    assert secret.masked(masked) == masked
    assert secret.has_password(text.encode()) == (masked != text.encode())


def test_the_scripts_of_reports_stay_as_they_are() -> None:
    scripts = "".join(html.drawing().values()).encode()
    assert secret.masked(scripts) == scripts
