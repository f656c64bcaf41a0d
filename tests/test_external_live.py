"""A server that dyno did not start: by DSN, with a password, in TLS or not, on tables that stay."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from dbdyno import plan, preflight, runner
from dbdyno.analysis import compare
from dbdyno.error import ServerError
from dbdyno.model import Arm, Plan, StepRun
from dbdyno.server import Server
from server_place import a_place, builds, started

pytestmark = pytest.mark.live

SECRET = "pa55:wörd/@%"
PLAN = """
[arms.theirs]
dsn = "postgresql://visitor@127.0.0.1:{port}/{database}{query}"
password = {{ env = "VISITORS_PASSWORD" }}
[[workloads]]
name = "sysbench"
steps = [{steps}"point-query"]
{fill}
parameters = {{ rows = {rows}, seconds = 1, warmup_s = 0.2 }}
"""


@dataclass(frozen=True)
class Foreign:
    """A server with a user of its own, who needs a password."""

    server: Server
    port: int
    certificate: Path

    def plan(self, **changes: object) -> Plan:
        values = {"port": self.port, "database": "shop", "query": "", "fill": "", "rows": 5000}
        values["steps"] = "" if "fill" in changes else '"fill", '
        return plan.parse(PLAN.format(**(values | changes)), None)


def made_certificate(folder: Path, owner: int) -> Path:
    """A certificate for 127.0.0.1 that signs itself, with its key, both the server's."""
    certificate, key = folder / "server.crt", folder / "server.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
         "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out",
         certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    key.chmod(0o600)
    for file in (certificate, key):
        os.chown(file, owner, -1)
    return certificate


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Foreign]:
    """A running PostgreSQL which the plans below know by DSN only."""
    if not builds():
        pytest.skip("no PostgreSQL is here")
    arm = Arm(name="foreign", engine="postgres", base_dir=builds()[0])
    with a_place() as place, started(arm, place) as server:
        assert server.data_dir is not None
        certificate = made_certificate(server.data_dir, place.account.uid)
        hba = server.data_dir / "pg_hba.conf"
        hba.write_text("local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n")
        server.execute(
            "ALTER SYSTEM SET password_encryption = 'scram-sha-256'",
            "ALTER SYSTEM SET ssl = on",
            "SELECT pg_reload_conf()",
            "SELECT pg_sleep(0.5)",
        )
        quoted = SECRET.replace("'", "''")
        server.execute(
            f"CREATE ROLE visitor LOGIN PASSWORD '{quoted}'", "CREATE DATABASE shop OWNER visitor"
        )
        address = server.address(tcp=True)
        assert address is not None
        yield Foreign(server, address.port, certificate)


@pytest.fixture(autouse=True)
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISITORS_PASSWORD", SECRET)


def only_run(folder: Path, step: str) -> StepRun:
    (found,) = [one for one in compare.load(folder).steps if one.step == step]
    return found.cells[0].runs[0]


def test_a_foreign_server_is_loaded_and_measured_and_what_cannot_be_seen_has_no_figure(
    foreign: Foreign, tmp_path: Path
):
    outcome = runner.run(foreign.plan(), tmp_path, wait=True)
    assert outcome.failed == 0
    run = only_run(outcome.folder, "point-query")
    assert run.metrics["qps"] and run.metrics["qps"] > 0
    unseen = ("server_cpu_per_op", "cpupq", "cspq", "rps", "rss", "background_cpu_per_op")
    assert {name: run.metrics[name] for name in unseen} == dict.fromkeys(unseen)
    assert run.metrics["generator_cpu_per_op"]
    assert run.metrics["wal_bytes_per_op"] is not None
    assert foreign.server.execute("SELECT count(*) FROM sbtest1", database="shop") == [(5000,)]
    for file in outcome.folder.rglob("*"):
        assert not file.is_file() or SECRET.encode() not in file.read_bytes(), file


def test_tables_that_are_there_are_kept_after_a_check(foreign: Foreign, tmp_path: Path):
    keep = 'fill = "keep"'
    runner.run(foreign.plan(), tmp_path / "loaded", wait=True)
    foreign.server.execute("COMMENT ON TABLE sbtest1 IS 'the same one'", database="shop")
    outcome = runner.run(foreign.plan(fill=keep), tmp_path / "kept", wait=True)
    assert outcome.failed == 0
    comment = "SELECT obj_description('sbtest1'::regclass)"
    assert foreign.server.execute(comment, database="shop") == [("the same one",)]
    with pytest.raises(ServerError, match=r"`sbtest1` has about 5,000 rows, .* make it 50,000"):
        preflight.prepare(foreign.plan(fill=keep, rows=50_000))
    with pytest.raises(ServerError, match="`sbtest1` is not as the workload fills it"):
        preflight.prepare(foreign.plan(fill=keep, database="postgres"))


def test_a_certificate_is_verified_or_the_line_says_that_it_is_not(foreign: Foreign):
    root = f"?sslmode=verify-full&sslrootcert={foreign.certificate}"
    preflight.prepare(foreign.plan(query=root))
    with pytest.raises(ServerError, match=r"arms\.theirs\.dsn: .*certificate verify failed"):
        preflight.prepare(foreign.plan(query="?sslmode=verify-full"))


def test_a_wrong_password_or_none_is_one_line_without_it(
    foreign: Foreign, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("VISITORS_PASSWORD", "wrong-one")
    with pytest.raises(ServerError) as caught:
        preflight.prepare(foreign.plan())
    assert "password authentication failed" in str(caught.value)
    assert "wrong-one" not in str(caught.value)
    monkeypatch.delenv("VISITORS_PASSWORD")
    with pytest.raises(ServerError, match="the environment has no `VISITORS_PASSWORD`"):
        preflight.prepare(foreign.plan())


MYSQL_PLAN = """
[arms.theirs]
engine = "{engine}"
dsn = "{engine}://visitor@127.0.0.1:{port}/shop"
password = {{ passfile = "{passfile}" }}
[[workloads]]
name = "sysbench"
steps = ["fill", "point-query"]
parameters = {{ rows = 5000, seconds = 1, warmup_s = 0.2, administer = 0 }}
"""


def test_a_foreign_mysql_is_loaded_and_measured_by_a_user_of_its_own(
    mysql_server: Server, tmp_path: Path
):
    mysql_server.execute(
        "DROP DATABASE IF EXISTS shop",
        "CREATE DATABASE shop",
        "DROP USER IF EXISTS visitor@'127.0.0.1'",
        f"CREATE USER visitor@'127.0.0.1' IDENTIFIED BY '{SECRET}'",
        "GRANT ALL ON shop.* TO visitor@'127.0.0.1'",
    )
    address = mysql_server.address(tcp=True)
    assert address is not None
    passfile = tmp_path / "pass"
    passfile.write_text(f"127.0.0.1:*:shop:visitor:{SECRET.replace(':', chr(92) + ':')}\n")
    passfile.chmod(0o600)
    text = MYSQL_PLAN.format(engine=mysql_server.engine, port=address.port, passfile=passfile)
    outcome = runner.run(plan.parse(text, None), tmp_path / "results", wait=True)
    assert outcome.failed == 0
    run = only_run(outcome.folder, "point-query")
    assert run.metrics["qps"] and run.metrics["qps"] > 0
    assert run.metrics["server_cpu_per_op"] is None
    assert mysql_server.execute("SELECT count(*) FROM shop.sbtest1") == [(5000,)]
