"""How load from other hosts is let in, as far as that needs no server: rules, accounts, keys."""

import ipaddress
import ssl
import stat
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from dbdyno.engine import Build, access
from dbdyno.engine.access import Entrance, RemoteAccess, Secrets
from dbdyno.engine.local_server import free_port
from dbdyno.engine.mysql import access as of_mysql
from dbdyno.engine.postgres import access as of_postgres
from dbdyno.host.account import Account, choose
from dbdyno.host.place import Place
from dbdyno.model import Address, Arm, Tls
from dbdyno.model.error import HostError, PlanError, ServerError

ADDRESS, CLIENTS = "10.0.0.1", ("10.0.0.2", "fd00::2")
OWN = Address(host="/run/a", port=5433, user="dyno", database="ib")


def made(*, tls: bool = True) -> RemoteAccess:
    return access.make(ADDRESS, CLIENTS, tls=tls)


def entrance(folder: Path, *, tls: bool = True) -> Entrance:
    return Entrance(made(tls=tls), folder, choose("postgres"))


# --- The access of a run -------------------------------------------------------------------------


def test_each_run_has_a_password_of_its_own_that_is_not_shown():
    one, other = made(), made()
    assert len({one.password, other.password}) == 2
    assert len(one.password) >= 40
    assert one.password not in repr(one)


def test_clients_are_addresses_each_once_and_names_are_refused():
    twice = access.make(ADDRESS, ["fd00:0::2", "10.0.0.2", "fd00::2"], tls=True)
    assert twice.clients == ("fd00::2", "10.0.0.2")
    with pytest.raises(ValueError, match="c1"):
        access.make(ADDRESS, ["c1"], tls=True)


@pytest.mark.parametrize("address", [ADDRESS, "fd00::1"])
def test_a_certificate_is_for_its_address_alone_and_no_authority(address: str):
    found = x509.load_pem_x509_certificate(access.made_certificate(address).text.encode())
    names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert list(names) == [x509.IPAddress(ipaddress.ip_address(address))]
    assert not found.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    found.verify_directly_issued_by(found)
    now = datetime.now(UTC)
    assert found.not_valid_before_utc < now - timedelta(hours=23)
    assert found.not_valid_after_utc > now + timedelta(days=31), "longer than any step"


def test_the_key_is_written_for_the_account_alone_whatever_lay_there(tmp_path: Path):
    (tmp_path / "load.key").write_text("what another run left")
    (tmp_path / "load.key").chmod(0o666)
    its = entrance(tmp_path)
    its.write()
    assert stat.S_IMODE(its.key_file.stat().st_mode) == 0o600
    ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(
        its.certificate_file, its.key_file
    )
    secrets = its.secrets()
    assert secrets.certificate == its.certificate_file.read_text()
    assert "PRIVATE" not in secrets.certificate


def test_without_tls_there_is_no_certificate(tmp_path: Path):
    its = entrance(tmp_path, tls=False)
    its.write()
    assert list(tmp_path.iterdir()) == []
    assert its.secrets() == Secrets(its.access.password, None)


def test_load_comes_to_the_address_and_the_lab_stays_at_its_socket(tmp_path: Path):
    its = entrance(tmp_path).load_address(OWN, exposed=True)
    assert (its.host, its.port, its.user, its.database) == (ADDRESS, 5433, "dyno", "ib")
    assert its.tls == Tls("verify-full", str(tmp_path / "load.crt"))
    assert its.password is not None
    assert (its.password.env, its.password.insecure) == (access.PASSWORD, False)
    plain = entrance(tmp_path, tls=False)
    assert [
        at.password and (at.password.insecure, at.tls)
        for at in (plain.load_address(OWN, exposed=exposed) for exposed in (False, True))
    ] == [(False, None), (True, None)]


def test_a_configuration_that_says_otherwise_is_told_and_settings_of_the_plan_are_refused():
    needed = {"ssl": "on", "ssl_key_file": "/a/load.key"}
    (said,) = access.departures({"ssl": "off", "jit": "off"}, needed)
    assert said == "ssl is on, not off: load from other hosts needs it"
    assert access.departures({"ssl": "on"}, needed) == ()
    arm = Arm(name="a", engine="mysql", settings={"ssl-key": "/mine"})
    with pytest.raises(PlanError, match=r"arms\.a\.settings\.ssl-key: dyno sets this itself"):
        access.refuse_own(arm, ["ssl_key"])


def test_an_address_that_the_host_does_not_have_is_a_line_and_a_port_in_use_too(tmp_path: Path):
    place = Place(
        data_root=tmp_path, run_root=tmp_path, cache_root=tmp_path, log_dir=tmp_path,
        account=choose("postgres"),
        access=access.make("192.0.2.1", CLIENTS, tls=True),
    )  # fmt: skip
    with pytest.raises(HostError, match=r"arms\.a\.host: this host has no address 192\.0\.2\.1"):
        free_port("a", 0, place)
    there = replace(place, access=access.make("127.0.0.9", CLIENTS, tls=True))
    assert free_port("a", 0, there) > 0


# --- PostgreSQL ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tls", "major", "kind", "method"),
    [(True, 18, "hostssl", "scram-sha-256"), (False, 10, "host", "scram-sha-256"),
     (True, 9, "hostssl", "md5")],
)  # fmt: skip
def test_over_tcp_the_rules_name_the_clients_and_no_other(
    tls: bool, major: int, kind: str, method: str
):
    lines = of_postgres.rules(made(tls=tls), major).splitlines()
    assert [line for line in lines if not line.startswith("local ")] == [
        f'{kind} all "dyno" 10.0.0.2/32 {method}',
        f'{kind} all "dyno" fd00::2/128 {method}',
    ]


def test_a_build_without_tls_is_refused_with_the_key_that_does_without(tmp_path: Path):
    program = tmp_path / "postgres"
    program.write_text(
        "#!/bin/sh\necho 'LOG:  SSL is not supported by this build' >&2\n"
        "echo 'FATAL:  configuration file contains errors' >&2\nexit 1\n"
    )
    program.chmod(0o755)
    build = Build(
        engine="postgres", base_dir=tmp_path, program=program, version="18", version_num=180000
    )
    own = Account(name="me", uid=0, gid=0, other=False)
    with pytest.raises(PlanError, match=r"compiled without TLS.*`tls = false` in \[generator\]"):
        of_postgres.refuse_without_tls(Arm(name="a", engine="postgres"), build, own, tmp_path)
    assert [one.name for one in tmp_path.iterdir()] == ["postgres"]


# --- MySQL and MariaDB ---------------------------------------------------------------------------


def a_build(engine: str, version_num: int) -> Build:
    base = Path("/opt/it")
    return Build(
        engine=engine, base_dir=base, program=base / "bin/mysqld", version="x",
        version_num=version_num,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("engine", "version_num", "with_tls", "without"),
    [
        ("mysql", 50651, "mysql_native_password", "mysql_native_password"),
        ("mysql", 50744, "mysql_native_password", "mysql_native_password"),
        ("mysql", 80045, "caching_sha2_password", "mysql_native_password"),
        ("mysql", 80408, "caching_sha2_password", "caching_sha2_password"),
        ("mysql", 90704, "caching_sha2_password", "caching_sha2_password"),
        ("mariadb", 101118, "mysql_native_password", "mysql_native_password"),
    ],
)
def test_a_password_goes_as_a_proof_where_the_version_has_a_way(
    engine: str, version_num: int, with_tls: str, without: str
):
    build = a_build(engine, version_num)
    assert of_mysql.method(build, tls=True) == with_tls
    assert of_mysql.method(build, tls=False) == without


def test_accounts_are_made_as_each_version_understands_it():
    its = replace(made(), password="secret")
    hashed = "*14E65567ABDB5135D0CFD9A70B3032C179A49EE7"
    assert of_mysql.native("secret") == hashed
    made_of = {
        number: list(of_mysql.account("dyno", "10.0.0.2", its, a_build("mysql", number)))
        for number in (50744, 80408)
    }
    ((grant, values),) = made_of[50744]
    assert grant.endswith("IDENTIFIED BY PASSWORD %s REQUIRE SSL WITH GRANT OPTION")
    assert values == ("dyno", "10.0.0.2", hashed)
    (create, values), (grant, _) = made_of[80408]
    assert create.endswith("IDENTIFIED WITH caching_sha2_password BY %s REQUIRE SSL")
    assert values == ("dyno", "10.0.0.2", "secret")
    assert grant == "GRANT ALL PRIVILEGES ON *.* TO %s@%s WITH GRANT OPTION"
    plain = replace(its, tls=False)
    (create, values), _ = of_mysql.account("dyno", "::1", plain, a_build("mysql", 80045))
    assert create.endswith("IDENTIFIED WITH mysql_native_password AS %s REQUIRE NONE")
    assert values[-1] == hashed


def test_what_mysql_says_of_an_error_is_not_repeated(monkeypatch: pytest.MonkeyPatch):
    import pymysql

    def fails(*_: object, **__: object) -> None:
        raise pymysql.err.ProgrammingError(1064, "near 'BY 'secret''")

    monkeypatch.setattr(of_mysql.connection, "connect", fails)
    with pytest.raises(ServerError, match="error 1064: see the server's log") as raised:
        of_mysql.run(OWN, [("SELECT 1", ())])
    assert "secret" not in str(raised.value)
