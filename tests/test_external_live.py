"""A server that dyno did not start: by DSN, with a password, in TLS or not, on tables that stay."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from dbdyno import engine, plan
from dbdyno.analysis import compare
from dbdyno.engine import LabServer
from dbdyno.engine.external import ExternalServer
from dbdyno.model import Arm, Plan, StepRun
from dbdyno.model.error import ServerError
from dbdyno.run import blocks
from dbdyno.run.check import preflight
from foreign_server import made_certificate, switch_tls_on
from mysql_place import build_of
from server_place import a_place, ends, over_tcp, reached, started, within

pytestmark = pytest.mark.live

SECRET = "pa55:wörd/@%"
PLAN = """
[arms.theirs]
dsn = "postgresql://visitor@127.0.0.1:{port}/{database}{query}"
password = {{ env = "VISITORS_PASSWORD"{password} }}
{arm}
[schedule.void]
foreign = 1
[[workloads]]
name = "sysbench"
steps = [{steps}"point-query"]
{fill}
parameters = {{ rows = {rows}, seconds = 1, warmup_s = 0.2 }}
"""


@dataclass(frozen=True)
class Foreign:
    """A server with a user of its own, who needs a password."""

    server: LabServer
    port: int
    certificate: Path

    def plan(self, **changes: object) -> Plan:
        values = {"port": self.port, "database": "shop", "query": "", "fill": "", "rows": 5000}
        values |= {"password": "", "arm": ""}
        values["steps"] = "" if "fill" in changes else '"fill", '
        return plan.parse(PLAN.format(**(values | changes)), None)


def elsewhere(arm: Arm) -> ExternalServer:
    """The server of an arm with a DSN."""
    return ExternalServer(arm, engine.of(arm.engine).client)


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Foreign]:
    """A running PostgreSQL which the plans below know by DSN only."""
    arm = Arm(name="foreign", engine="postgres", base_dir=ends()[0], transport="tcp")
    with a_place() as place, started(arm, place) as server:
        assert server.data_dir is not None
        certificate = made_certificate(server.data_dir, place.account.uid)
        over_tcp(server).write_text(
            "local all all trust\n"
            "host clear all 127.0.0.1/32 password\n"
            "host all all 127.0.0.1/32 scram-sha-256\n"
        )
        server.execute("ALTER SYSTEM SET password_encryption = 'scram-sha-256'")
        switch_tls_on(server)
        quoted = SECRET.replace("'", "''")
        server.execute(
            f"CREATE ROLE visitor LOGIN PASSWORD '{quoted}'", "CREATE DATABASE shop OWNER visitor"
        )
        server.execute("CREATE DATABASE clear OWNER visitor")
        yield Foreign(server, reached(server).port, certificate)


@pytest.fixture(autouse=True)
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISITORS_PASSWORD", SECRET)


def only_run(folder: Path, step: str) -> StepRun:
    (found,) = [one for one in compare.load(folder).steps if one.step == step]
    return found.cells[0].runs[0]


@pytest.mark.capability("external server")
def test_a_foreign_server_is_loaded_and_measured_and_what_cannot_be_seen_has_no_figure(
    foreign: Foreign, tmp_path: Path
):
    outcome = blocks.run(foreign.plan(), tmp_path, wait=True)
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
    blocks.run(foreign.plan(), tmp_path / "loaded", wait=True)
    foreign.server.execute(
        "COMMENT ON TABLE sbtest1 IS 'the same one, made by dbdyno'", database="shop"
    )
    outcome = blocks.run(foreign.plan(fill=keep), tmp_path / "kept", wait=True)
    assert outcome.failed == 0
    comment = "SELECT obj_description('sbtest1'::regclass)"
    assert foreign.server.execute(comment, database="shop") == [("the same one, made by dbdyno",)]
    with pytest.raises(ServerError, match=r"`sbtest1` has about 5,000 rows, .* make it 50,000"):
        preflight.prepare(foreign.plan(fill=keep, rows=50_000))
    with pytest.raises(ServerError, match="`sbtest1` is not as the workload fills it"):
        preflight.prepare(foreign.plan(fill=keep, database="postgres"))


def test_how_connections_are_encrypted_is_a_fact_of_the_server(foreign: Foreign):
    for query, words in (
        ("", "TLSv1.3 "),
        ("?sslmode=require", "TLSv1.3 "),
        ("?sslmode=disable", "not encrypted, as the DSN says"),
    ):
        (arm,) = foreign.plan(query=query).arms
        assert str(elsewhere(arm).facts().encryption).startswith(words), query
    foreign.server.execute("ALTER SYSTEM SET ssl = off", "SELECT pg_reload_conf()")
    try:
        (arm,) = foreign.plan().arms
        server = elsewhere(arm)
        assert within(60, lambda: server.encryption() == "not encrypted: the server has no TLS")
    finally:
        foreign.server.execute("ALTER SYSTEM SET ssl = on", "SELECT pg_reload_conf()")
        assert within(60, lambda: server.encryption().startswith("TLS"))


def test_a_password_in_clear_text_needs_tls_or_a_word_in_the_plan(foreign: Foreign, tmp_path: Path):
    there = {"database": "clear", "query": "?sslmode=disable", "rows": 1000}
    with pytest.raises(ServerError, match=r"in clear text, which exposes it without TLS: ask for"):
        preflight.prepare(foreign.plan(**there))
    outcome = blocks.run(
        foreign.plan(password=", insecure = true", **there), tmp_path / "insecure", wait=True
    )
    assert outcome.failed == 0
    outcome = blocks.run(foreign.plan(database="clear", rows=1000), tmp_path / "tls", wait=True)
    assert outcome.failed == 0


def test_a_table_that_dyno_did_not_make_is_dropped_only_by_an_arm_that_may(
    foreign: Foreign, tmp_path: Path
):
    foreign.server.execute("CREATE DATABASE orders OWNER visitor")
    owned = ("SET ROLE visitor", "CREATE TABLE sbtest1 AS SELECT 7 AS id")
    foreign.server.execute(*owned, database="orders")
    with pytest.raises(ServerError) as caught:
        preflight.prepare(foreign.plan(database="orders"))
    assert f"database `orders` of `127.0.0.1:{foreign.port}`" in str(caught.value)
    assert "`sbtest1`; name another database" in str(caught.value)
    assert foreign.server.execute("TABLE sbtest1", database="orders") == [(7,)]
    allowed = foreign.plan(database="orders", arm="allow_drop = true")
    assert blocks.run(allowed, tmp_path / "allowed", wait=True).failed == 0
    # Now they are dyno's own: whoever may not drop others' goes on with them.
    assert blocks.run(foreign.plan(database="orders"), tmp_path / "own", wait=True).failed == 0


@pytest.mark.capability("TLS")
def test_a_certificate_is_verified_or_the_line_says_that_it_is_not(foreign: Foreign):
    root = f"?sslmode=verify-full&sslrootcert={foreign.certificate}"
    preflight.prepare(foreign.plan(query=root))
    with pytest.raises(ServerError, match=r"arms\.theirs\.dsn: .*certificate verify failed"):
        preflight.prepare(foreign.plan(query="?sslmode=verify-full"))


def test_a_root_that_is_a_servers_own_certificate_is_a_line_before_anything_starts(
    foreign: Foreign,
):
    assert foreign.server.data_dir is not None
    served = [foreign.server.data_dir / name for name in ("server.crt", "server.key")]
    kept = [file.read_bytes() for file in served]
    for file, name in zip(served, ("root.crt", "root.key"), strict=True):
        file.write_bytes((foreign.server.data_dir / name).read_bytes())
    foreign.server.execute("SELECT pg_reload_conf()", "SELECT pg_sleep(0.5)")
    try:
        root = f"?sslmode=verify-ca&sslrootcert={foreign.certificate}"
        with pytest.raises(ServerError) as raised:
            preflight.prepare(foreign.plan(query=root))
    finally:
        for file, content in zip(served, kept, strict=True):
            file.write_bytes(content)
        foreign.server.execute("SELECT pg_reload_conf()", "SELECT pg_sleep(0.5)")
    line = str(raised.value)
    assert line.startswith("the plan: arms.theirs.dsn: the load generator: the certificate of ")
    assert "signed by the root, not the root itself" in line


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
dsn = "{engine}://visitor@127.0.0.1:{port}/shop{query}"
password = {{ passfile = "{passfile}"{password} }}
[schedule.void]
foreign = 1
[[workloads]]
name = "sysbench"
steps = ["fill", "point-query"]
parameters = {{ rows = 5000, seconds = 1, warmup_s = 0.2, administer = 0 }}
"""


@pytest.mark.capability("external server")
def test_a_foreign_mysql_is_loaded_and_measured_by_a_user_of_its_own(
    mysql_server: LabServer, tmp_path: Path
):
    caches = mysql_server.engine == "mysql" and build_of("mysql").version_num >= 80000
    known = "SELECT 1 FROM mysql.user WHERE user = 'visitor' AND host = '127.0.0.1'"
    if mysql_server.execute(known):
        mysql_server.execute("DROP USER visitor@'127.0.0.1'")
    mysql_server.execute(
        "DROP DATABASE IF EXISTS shop",
        "CREATE DATABASE shop",
        f"CREATE USER visitor@'127.0.0.1' IDENTIFIED BY '{SECRET}'",
        "GRANT ALL ON shop.* TO visitor@'127.0.0.1'",
    )
    port = reached(mysql_server).port
    passfile = tmp_path / "pass"
    passfile.write_text(f"127.0.0.1:*:shop:visitor:{SECRET.replace(':', chr(92) + ':')}\n")
    passfile.chmod(0o600)
    values = {"engine": mysql_server.engine, "port": port, "passfile": passfile}
    values |= {"query": "", "password": ""}
    # MySQL has cached no password yet, and wants the password itself.
    if caches:
        open_text = MYSQL_PLAN.format(**values | {"query": "?ssl-mode=DISABLED"})
        with pytest.raises(ServerError, match=r"public key .* `insecure = true`"):
            preflight.prepare(plan.parse(open_text, None))
    mysql_server.execute("CREATE TABLE shop.sbtest1 (id int)")
    text = MYSQL_PLAN.format(**values)
    with pytest.raises(ServerError, match=r"database `shop` .*: `sbtest1`; name another"):
        preflight.prepare(plan.parse(text, None))
    mysql_server.execute("DROP TABLE shop.sbtest1")
    outcome = blocks.run(plan.parse(text, None), tmp_path / "results", wait=True)
    assert outcome.failed == 0
    run = only_run(outcome.folder, "point-query")
    assert run.metrics["qps"] and run.metrics["qps"] > 0
    assert run.metrics["server_cpu_per_op"] is None
    assert mysql_server.execute("SELECT count(*) FROM shop.sbtest1") == [(5000,)]
    (arm,) = plan.parse(text, None).arms
    has = dict(mysql_server.execute("SHOW VARIABLES LIKE 'have_ssl'"))
    encrypts = has.get("have_ssl", "YES") == "YES"
    words = "TLSv1." if encrypts else "not encrypted: the server has no TLS"
    assert elsewhere(arm).encryption().startswith(words)
    if caches:
        mysql_server.execute("FLUSH PRIVILEGES")
        text = MYSQL_PLAN.format(
            **values | {"query": "?ssl-mode=DISABLED", "password": ", insecure = true"}
        )
        outcome = blocks.run(plan.parse(text, None), tmp_path / "insecure", wait=True)
        assert outcome.failed == 0
