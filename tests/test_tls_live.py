"""TLS of both clients, Python's and the load generator's: each says and does the same.

Direct TLS, certificates of users, and passwords that are bound to the server's certificate.
"""

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from msgspec.structs import replace as changed

import mysql_place
from certificates import ECDSA, ED25519, PSS, RSA, Root
from dbdyno import engine as engines
from dbdyno.engine import LabServer
from dbdyno.model import Address, Arm, Password, Tls
from dbdyno.model.error import ServerError
from dbdyno.model.job.endpoint import Endpoint
from dbdyno.run.check import reached as check
from foreign_server import switch_tls_on
from server_place import a_place, outermost, over_tcp, reached, started, within

pytestmark = pytest.mark.live

HBA = """
local all all trust
hostssl all certified 127.0.0.1/32 cert
host all hashed 127.0.0.1/32 md5
host all trusted 127.0.0.1/32 trust
host all all 127.0.0.1/32 scram-sha-256
"""
LET_IN = "let in"
SECRET = "a word"
PYTHON, GENERATOR = "python", "generator"
DIRECT = Tls("require", direct=True)
BOUND = Tls("require", channel_binding="require")


@dataclass(frozen=True)
class Encrypting:
    """A PostgreSQL with TLS, and its users."""

    server: LabServer
    root: Root
    owner: int

    def address(self, tls: Tls | None, user: str = "proving") -> Address:
        """How a user comes in."""
        password = Password(env="SECRET_OF_TEST")
        at = replace(reached(self.server), host="127.0.0.1", user=user, database="postgres")
        return replace(at, password=password, tls=tls)

    def shows(self, certificate: Path, key: Path) -> None:
        """Has the server show another certificate."""
        self.server.execute(
            f"ALTER SYSTEM SET ssl_cert_file = '{certificate}'",
            f"ALTER SYSTEM SET ssl_key_file = '{key}'",
            "SELECT pg_reload_conf()",
        )
        said = [(str(certificate),)]
        assert within(60, lambda: self.server.execute("SHOW ssl_cert_file") == said)


def said(address: Address, engine: str) -> dict[str, str]:
    """What each of the two clients hears from an address: why it is not let in, or LET_IN."""
    try:
        engines.of(engine).client.execute(address, ["SELECT 1"], 10)
        python = LET_IN
    except ServerError as error:
        python = str(error)
    job = changed(check.one_statement(), server=Endpoint.of(address))
    generator = check.refusal(changed(job, engine=engines.of(engine).traits.job))
    heard = {PYTHON: python, GENERATOR: generator or LET_IN}
    assert all("\n" not in line for line in heard.values())
    return heard


def both(words: str) -> dict[str, str]:
    return {PYTHON: words, GENERATOR: words}


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_TEST", SECRET)


@pytest.fixture(name="here", scope="module", params=outermost(), ids=lambda path: path.name)
def _here(request: pytest.FixtureRequest) -> Iterator[Encrypting]:
    arm = Arm(name="a", engine="postgres", base_dir=request.param, transport="tcp")
    with a_place() as place, started(arm, place) as server:
        assert server.data_dir is not None
        owner = place.account.uid
        root = Root(server.data_dir, owner).make()
        root.sign("server", "127.0.0.1")
        over_tcp(server).write_text(HBA)
        server.execute(
            f"ALTER SYSTEM SET ssl_ca_file = '{root.certificate}'",
            "SET password_encryption = 'scram-sha-256'",
            f"CREATE ROLE proving LOGIN PASSWORD '{SECRET}'",
            "CREATE ROLE certified LOGIN",
            "CREATE ROLE trusted LOGIN",
        )
        server.execute(
            "SET password_encryption = 'md5'", f"CREATE ROLE hashed LOGIN PASSWORD '{SECRET}'"
        )
        switch_tls_on(server)
        yield Encrypting(server, root, owner)


def major(here: Encrypting) -> int:
    return int(here.server.execute("SHOW server_version_num")[0][0]) // 10000


def test_direct_tls_is_for_servers_from_17_on(here: Encrypting) -> None:
    verified = changed(DIRECT, mode="verify-full", root_certificate=str(here.root.certificate))
    for tls in (DIRECT, verified):
        heard = said(here.address(tls), "postgres")
        if major(here) >= 17:
            assert heard == both(LET_IN)
        else:
            assert "PostgreSQL does from 17 on" in heard[GENERATOR]
            assert "PostgreSQL does from 17 on" in heard[PYTHON]


def test_direct_tls_of_a_server_without_tls_is_a_line(here: Encrypting) -> None:
    here.server.execute("ALTER SYSTEM SET ssl = off", "SELECT pg_reload_conf()")
    try:
        assert within(60, lambda: here.server.execute("SHOW ssl") == [("off",)])
        for line in said(here.address(DIRECT), "postgres").values():
            assert "takes no TLS from the first byte on" in line
        for line in said(here.address(changed(BOUND, mode="prefer")), "postgres").values():
            assert "SSL" in line or "has no TLS" in line
    finally:
        switch_tls_on(here.server)


@pytest.mark.parametrize(
    ("key", "signing", "bound"),
    [(RSA, (), True), (RSA, PSS, True), (ECDSA, (), True), (ED25519, (), False)],
    ids=["rsa", "rsa-pss", "ecdsa", "ed25519"],
)
def test_a_password_is_bound_to_a_certificate_that_has_a_hash_for_it(
    here: Encrypting, key: tuple[str, ...], signing: tuple[str, ...], bound: bool, tmp_path: Path
) -> None:
    assert here.server.data_dir is not None
    folder = here.server.data_dir / f"signed_{'_'.join((*key, *signing))[:12]}"
    folder.mkdir()
    os.chown(folder, here.owner, -1)
    shown = Root(folder, here.owner, key, signing).make().sign("server", "127.0.0.1")
    here.shows(*shown)
    try:
        for binding in ("prefer", "disable"):
            tls = Tls("require", channel_binding=binding)
            assert said(here.address(tls), "postgres") == both(LET_IN), binding
        heard = said(here.address(BOUND), "postgres")
        if bound:
            assert heard == both(LET_IN)
        else:
            assert all("has no hash to bind a password to" in line for line in heard.values())
    finally:
        here.shows(Path("server.crt"), Path("server.key"))


def test_who_has_to_bind_is_let_in_by_nothing_else(here: Encrypting) -> None:
    for user in ("hashed", "trusted"):
        for line in said(here.address(BOUND, user), "postgres").values():
            assert "channel binding" in line or "channel_binding=require" in line


def test_a_user_comes_by_a_certificate(here: Encrypting, tmp_path: Path) -> None:
    signed, key = here.root.sign("certified", "certified")
    for file in (signed, key):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    own = tmp_path / key.name
    own.chmod(0o600)
    tls = Tls("require", certificate=str(signed), key=str(own))
    assert said(here.address(tls, "certified"), "postgres") == both(LET_IN)
    preferred = changed(tls, mode="prefer")
    assert said(here.address(preferred, "certified"), "postgres") == both(LET_IN)
    for line in said(here.address(Tls("require"), "certified"), "postgres").values():
        assert "connection requires a valid client certificate" in line
    for line in said(here.address(tls, "proving"), "postgres").values():
        assert line == LET_IN
    _refused_keys(here, tls, tmp_path)


def _refused_keys(here: Encrypting, tls: Tls, folder: Path) -> None:
    """Keys and certificates that cannot be used are a line that says why."""
    other, own = folder / "other.key", Path(str(tls.key))
    subprocess.run(
        ["openssl", "genpkey", "-algorithm", "ed25519", "-out", other],
        check=True,
        capture_output=True,
    )
    locked = folder / "locked.key"
    subprocess.run(
        ["openssl", "pkey", "-in", own, "-aes256", "-passout", "pass:x", "-out", locked], check=True
    )
    shared = folder / "shared.key"
    shared.write_bytes(own.read_bytes())
    for file in (other, locked):
        file.chmod(0o600)
    shared.chmod(0o644)
    for changes, words in (
        ({"key": str(shared)}, "is open to others"),
        ({"key": str(locked)}, "has a passphrase"),
        ({"key": str(folder / "none.key")}, "cannot be read"),
        ({"certificate": str(folder / "none.crt")}, "cannot be read"),
    ):
        for line in said(here.address(changed(tls, **changes), "certified"), "postgres").values():
            assert words in line, changes
    for line in said(here.address(changed(tls, key=str(other)), "certified"), "postgres").values():
        assert "certificate" in line and line != LET_IN


def test_a_certificate_that_the_server_does_not_trust_is_a_line(here: Encrypting, tmp_path: Path):
    signed, key = Root(tmp_path, os.geteuid()).make().sign("certified", "certified")
    tls = Tls("require", certificate=str(signed), key=str(key))
    for line in said(here.address(tls, "certified"), "postgres").values():
        assert "the server does not accept the client's certificate" in line


def test_a_user_of_mysql_comes_by_a_certificate(mysql_engine: str) -> None:
    mysql_place.needs(mysql_engine, "TLS in every build", mysql=50700)
    with a_place(mysql_engine) as place:
        folder = place.run_root / "certificates"
        place.account.make_folder(folder)
        root = Root(folder, place.account.uid).make()
        shown, of_server = root.sign("server", "127.0.0.1")
        files = {"ssl_cert": shown, "ssl_key": of_server, "ssl_ca": root.certificate}
        settings = {name: str(path) for name, path in files.items()}
        arm = mysql_place.an_arm(mysql_engine, settings=settings, transport="tcp")
        with started(arm, place) as server:
            server.execute(
                "CREATE DATABASE shop",
                f"CREATE USER certified@'127.0.0.1' IDENTIFIED BY '{SECRET}' REQUIRE X509",
                "GRANT ALL ON shop.* TO certified@'127.0.0.1'",
            )
            signed, key = root.sign("certified", "certified")
            _comes_by_certificate(server, str(signed), str(key))


def _comes_by_certificate(server: LabServer, certificate: str, key: str) -> None:
    at = replace(reached(server), user="certified", database="shop")
    at = replace(at, password=Password(env="SECRET_OF_TEST"))
    for mode in ("prefer", "require"):
        with_it = replace(at, tls=Tls(mode, certificate=certificate, key=key))
        assert said(with_it, server.engine) == both(LET_IN), mode
        for line in said(replace(at, tls=Tls(mode)), server.engine).values():
            assert "Access denied" in line, mode
    other = Tls("require", certificate=certificate, key=str(Path(key).parent / "server.key"))
    for line in said(replace(at, tls=other), server.engine).values():
        assert "certificate" in line and certificate in line
    direct = Tls("require", direct=True)
    assert "only PostgreSQL has `direct`" in said(replace(at, tls=direct), server.engine)[GENERATOR]
