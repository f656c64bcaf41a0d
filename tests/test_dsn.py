"""A server's place as one text."""

from __future__ import annotations

import pytest

from dbdyno import plan
from dbdyno.engine import dsn
from dbdyno.model import Address, Arm
from dbdyno.model.error import PlanError
from dbdyno.model.job.endpoint import Endpoint, PasswordPlace

PLAN = """
[arms.a]
{arm}
[[workloads]]
name = "insert-benchmark"
steps = ["l.i0"]
{use}
"""


def of(text: str, engine: str = "postgres") -> Address:
    return dsn.address(Arm(name="a", engine=engine, dsn=text))


def test_a_uri_says_where_and_who():
    found = of("postgresql://me%40x@db.example:6543/sh%2Fop?sslmode=require")
    assert (found.host, found.port, found.user, found.database, found.tls) == (
        "db.example", 6543, "me@x", "sh/op", "require",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "engine", "host", "port"),
    [
        ("postgres://u@[::1]/d?sslmode=disable", "postgres", "::1", 5432),
        ("postgresql://u@/d?host=/run/pg", "postgres", "/run/pg", 5432),
        ("mysql://u@h/d?ssl-mode=DISABLED", "mysql", "h", 3306),
        ("mariadb://u@/d?socket=/run/my.sock", "mariadb", "/run/my.sock", 3306),
    ],
)
def test_ports_and_sockets_are_each_engines_own(text: str, engine: str, host: str, port: int):
    found = of(text, engine)
    assert (found.host, found.port, found.tls) == (host, port, None)


@pytest.mark.parametrize(
    ("text", "engine"),
    [
        ("postgresql://u@h/d", "postgres"),
        ("postgresql://u@127.0.0.1/d?sslmode=prefer", "postgres"),
        ("mysql://u@h/d", "mysql"),
        ("mariadb://u@h/d?ssl-mode=PREFERRED", "mariadb"),
    ],
)
def test_what_is_no_unix_socket_is_encrypted_where_the_server_can(text: str, engine: str):
    assert of(text, engine).tls == "prefer"


def test_a_password_may_be_exposed_only_where_the_plan_says_so():
    for more, insecure in (("", False), (", insecure = true", True)):
        arm = f'dsn = "postgresql://u@h/d"\npassword = {{ env = "X"{more} }}'
        place = plan.parse(PLAN.format(arm=arm, use=""), None).arms[0].password
        assert place is not None and place.insecure is insecure
        told = Endpoint.of(Address(host="h", port=1, user="u", database="d", password=place))
        assert told.password == PasswordPlace(env="X", insecure=insecure)
        assert told.address.password == place


def test_mysqls_names_of_tls_mean_what_libpqs_do():
    found = of("mysql://u@h/d?ssl-mode=VERIFY_IDENTITY&ssl-ca=/ca.pem", "mysql")
    assert (found.tls, str(found.tls_root)) == ("verify-full", "/ca.pem")


@pytest.mark.parametrize(
    ("arm", "sentence"),
    [
        ('dsn = "postgresql://u:geheim@h/d"', "contains a password, which results would keep"),
        ('dsn = "postgresql://u@h/d?password=geheim"', "contains a password"),
        ('dsn = "mysql://u@h/d"', 'is not for engine `postgres`; write engine = "mysql"'),
        ('dsn = "h/d"', 'write it as "postgresql://user@host:5432/database"'),
        ('dsn = "postgresql://h/d"', "names no user, host or database"),
        ('dsn = "postgresql://u@h:x/d"', "is not a URI"),
        ('dsn = "postgresql://u@h/d?sslmode=allow"', "unknown TLS mode `allow`; use one of"),
        ('dsn = "postgresql://u@h/d?sslrootcert=/x"', "which this mode ignores: ask by `sslmode`"),
        ('dsn = "postgresql://u@h/d?sslmode=verify-ca"', "add `sslrootcert`"),
        ('dsn = "postgresql://u@h/d?target=x"', "has a parameter `target` that is unknown"),
        ('dsn = "postgresql://u@h/d"\nconfig = "x10a"', "cannot be set up by dyno; remove it"),
        ('version = "17"\npassword = { env = "X" }', "is for a `dsn`, but there is none"),
        ('version = "17"\nallow_drop = true', "is for a `dsn`, but there is none"),
    ],
)
def test_a_wrong_dsn_gets_one_line_without_its_password(arm: str, sentence: str):
    with pytest.raises(PlanError) as caught:
        plan.parse(PLAN.format(arm=arm, use=""), None)
    assert sentence in str(caught.value)
    assert "key `arms.a." in str(caught.value)
    assert "geheim" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arm", "use", "sentence"),
    [
        ('dsn = "postgres://u@h/d"', 'save = "post-l.i0"', "cannot be copied by dyno; remove it"),
        ('version = "17"', 'fill = "keep"', "begins empty; only a `dsn` keeps tables"),
    ],
)
def test_what_only_one_kind_of_server_can_do_is_refused(arm: str, use: str, sentence: str):
    text = PLAN.format(arm=arm, use=use).replace('steps = ["l.i0"]\nfill', "fill")
    with pytest.raises(PlanError, match=sentence):
        plan.parse(text, None)
