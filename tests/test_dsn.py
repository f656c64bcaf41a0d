"""A server's place as one text."""

import pytest

from dbdyno import engine, plan
from dbdyno.engine import dsn
from dbdyno.model import Address, Arm, Tls, json
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
        "db.example", 6543, "me@x", "sh/op", Tls("require"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "engine", "host", "port"),
    [
        ("postgres://u@[::1]/d?sslmode=disable", "postgres", "::1", 5432),
        ("postgresql://u@/d?host=/run/pg", "postgres", "/run/pg", 5432),
        ("postgresql://u@localhost:63000/d?host=/run/pg", "postgres", "/run/pg", 63000),
        ("mysql://u@h/d?ssl-mode=DISABLED", "mysql", "h", 3306),
        ("mariadb://u@/d?socket=/run/my.sock", "mariadb", "/run/my.sock", 3306),
    ],
)
def test_ports_and_sockets_are_each_engines_own(text: str, engine: str, host: str, port: int):
    found = of(text, engine)
    assert (found.host, found.port, found.tls) == (host, port, None)


# Strings as services hand them out, but for the password and the names.
@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("postgresql://u@ep-x.neon.tech/d?sslmode=require&channel_binding=require", None),
        ("postgresql://u@neon.tech/d?sslmode=require&options=endpoint%3Dep-x", "endpoint=ep-x"),
        ("postgresql://u@h:5432/d?sslmode=require&application_name=app&connect_timeout=5", None),
        ("postgres://u@h:5432/d?keepalives=1&keepalives_idle=30&tcp_user_timeout=9", None),
        ("postgresql://u@h/d?client_encoding=utf8&fallback_application_name=x", None),
        ("postgresql://u@h/d?options=-c%20geqo%3Doff%20-c%20jit%3Doff", "-c geqo=off -c jit=off"),
        ("postgresql://h/?user=u&dbname=d&port=5432&target_session_attrs=read-write", None),
        ("postgresql://u@h/d?gssencmode=disable&krbsrvname=postgres&sslsni=1", None),
    ],
)
def test_a_services_own_string_is_taken_as_it_is(text: str, options: str | None):
    found = of(text)
    assert (found.user, found.database, found.port) == ("u", "d", 5432)
    assert found.options == options
    assert found.tls is not None
    assert (found.tls.channel_binding == "require") == ("channel_binding=require" in text)
    told = Endpoint.of(found)
    assert (told.options, told.address.options) == (options, options)


def test_every_parameter_of_libpq_is_taken_passed_over_or_refused():
    from psycopg import pq

    form = engine.of("postgres").dsn
    known = {*form.keys, *form.ignored, *form.refused}
    assert {option.keyword.decode() for option in pq.Conninfo.get_defaults()} <= known


def test_what_a_parameter_does_not_do_is_said():
    arm = Arm(
        name="a", engine="postgres", dsn="postgresql://u@h/d?application_name=x&sslmode=require"
    )
    assert list(dsn.passed_over(arm)) == [
        "arms.a.dsn: `application_name` does nothing here: dyno names its connections itself"
    ]


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("postgresql://u@h1:1,h2:2/d", (("h1", 1), ("h2", 2))),
        ("postgresql://u@h1,h2:2/d", (("h1", 5432), ("h2", 2))),
        ("postgresql://u@/d?host=h1,h2&port=7", (("h1", 7), ("h2", 7))),
        ("postgresql://u@/d?host=h1,::1&port=7,8", (("h1", 7), ("::1", 8))),
        ("postgresql://u@[::1]:7,h2/d", (("::1", 7), ("h2", 5432))),
        ("postgresql://u@h1:1/d", ()),
    ],
)
def test_several_hosts_are_several_places(text: str, places: tuple[tuple[str, int], ...]):
    assert of(text).places == places


def test_an_address_can_stand_beside_the_name():
    found = of("postgresql://u@db/d?hostaddr=192.0.2.7")
    assert (found.host, found.ip, Endpoint.of(found).ip) == ("db", "192.0.2.7", "192.0.2.7")
    assert of("postgresql://u@/d?hostaddr=::1").host == "::1"


def test_a_passfile_is_the_passwords_place():
    found = of("postgresql://u@h/d?passfile=/p").password
    assert found is not None and str(found.passfile) == "/p"


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
    assert of(text, engine).tls == Tls("prefer")


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
    assert found.tls == Tls("verify-full", "/ca.pem")


@pytest.mark.parametrize(
    ("text", "engine", "tls"),
    [
        (
            "postgresql://u@h/d?sslcert=/c&sslkey=/k&channel_binding=require",
            "postgres",
            Tls("prefer", certificate="/c", key="/k", channel_binding="require"),
        ),
        (
            "postgresql://u@h/d?sslmode=verify-full&sslnegotiation=direct&gssencmode=prefer",
            "postgres",
            Tls("verify-full", direct=True),
        ),
        (
            "mariadb://u@h/d?ssl-mode=REQUIRED&ssl-cert=/c&ssl-key=/k",
            "mariadb",
            Tls("require", certificate="/c", key="/k"),
        ),
        ("postgresql://u@/d?host=/run&channel_binding=disable", "postgres", None),
    ],
)
def test_a_certificate_a_binding_and_direct_tls_reach_the_job_as_they_are_written(
    text: str, engine: str, tls: Tls | None
):
    found = of(text, engine)
    assert found.tls == tls
    job = json.encoder().encode(Endpoint.of(found))
    assert json.decoder(Endpoint).decode(job).address.tls == tls


def test_an_older_jobs_tls_is_as_it_was():
    older = b'{"mode": "verify-full", "root_certificate": "/ca.pem"}'
    assert json.decoder(Tls).decode(older) == Tls("verify-full", "/ca.pem")


@pytest.mark.parametrize(
    ("arm", "sentence"),
    [
        ('dsn = "postgresql://u:geheim@h/d"', "contains a password, which results would keep"),
        ('dsn = "postgresql://u@h/d?password=geheim"', "contains a password"),
        ('dsn = "mysql://u@h/d"', 'is not for engine `postgres`; write engine = "mysql"'),
        ('dsn = "h/d"', 'write it as "postgresql://user@host:5432/database"'),
        ('dsn = "postgresql://h/d"', "names no user, host or database"),
        ('dsn = "postgresql://u@h:x/d"', "is not a URI"),
        ('dsn = "postgresql://u@h/d?service=prod"', "names a service, whose file says"),
        ('dsn = "postgresql://u@h/d?scram_client_key=x"', "contains a secret, which results"),
        ('dsn = "postgresql://u@h:70000/d"', "is not a URI (port `70000`)"),
        ('dsn = "postgresql://u@h/d?hostaddr=h"', "has `hostaddr`, but it is no IP address"),
        ('dsn = "postgresql://u@h/d?target_session_attrs=x"', "use one of `any`, `read-write`"),
        ('dsn = "postgresql://u@h/d?sslmode=allow"', "unknown TLS mode `allow`; use one of"),
        ('dsn = "postgresql://u@h/d?sslrootcert=/x"', "which this mode ignores: ask by `sslmode`"),
        ('dsn = "postgresql://u@h/d?sslmode=verify-ca"', "add `sslrootcert`"),
        ('dsn = "postgresql://u@h/d?sslcert=/x"', "names a `sslcert` but no `sslkey`: add it"),
        ('dsn = "postgresql://u@h/d?sslpassword=geheim"', "contains a key's passphrase, which"),
        (
            'dsn = "postgresql://u@h/d?sslmode=disable&sslcert=/x&sslkey=/y"',
            "has `sslcert`, but the connection has no TLS: remove it, or ask by `sslmode` for one",
        ),
        (
            'dsn = "postgresql://u@/d?host=/run&channel_binding=require"',
            "has `channel_binding`, but the connection has no TLS: remove it",
        ),
        (
            'dsn = "postgresql://u@h/d?sslmode=prefer&sslnegotiation=direct"',
            "ask by `sslmode` for one of `require`, `verify-ca`, `verify-full`",
        ),
        ('dsn = "postgresql://u@h/d?sslnegotiation=tls"', "use one of `postgres`, `direct`"),
        ('dsn = "postgresql://u@h/d?gssencmode=require"', "GSSAPI, which dyno does not speak"),
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
