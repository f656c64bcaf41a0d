"""Workloads on a MySQL or MariaDB elsewhere, as a user with rights on a database and no others.

Over TCP with TLS, whose certificate is verified; performance_schema is off, as some services have
it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from dbdyno import plan
from dbdyno.analysis import compare
from dbdyno.engine import Server
from dbdyno.model import Plan
from dbdyno.model.error import ServerError
from dbdyno.report import page
from dbdyno.report.render import markdown
from dbdyno.run import blocks
from dbdyno.run.check import preflight
from foreign_server import DATABASE, PASSWORD, SECRET, UNADMINISTERED, USER, made_certificate
from mysql_place import an_arm
from server_place import a_place, reached, started
from test_managed_live import at_once, check_figures, refused, runs

__all__ = ["at_once"]  # a fixture
pytestmark = pytest.mark.live

HEAD = """
[arms.service]
engine = "{engine}"
dsn = "{engine}://tenant@127.0.0.1:{port}/shop?ssl-mode=VERIFY_IDENTITY&ssl-ca={root}"
password = {{ env = "{password}" }}
[schedule.void]
foreign = 1
"""
SOME = (
    UNADMINISTERED
    + """
[[workloads]]
name = "pgbench"
steps = ["tpcb-like"]
parameters = { seconds = 1 }
"""
)
OTHERS = """
[[workloads]]
name = "sysbench-oltp"
parameters = { table_size = 1000, time = 1 }
[[workloads]]
name = "cbc"
parameters = { size_gb = 0.004 }
[[workloads]]
name = "ybio"
set = "outside"
parameters = { tab_rows = 2000, batch_size = 100, run_seconds = 1, pct_update = 50 }
"""
ADMINISTERED = """
[[workloads]]
name = "insert-benchmark"
fill = "fast"
parameters = { rows = 2000, rows_i1 = 500, rates = [100], seconds = 1, wait_s = 0 }
"""
ROLE = f"'{USER}'@'127.0.0.1'"


@dataclass(frozen=True)
class Service:
    """A server that plans know by DSN, and the root that has signed its certificate."""

    server: Server
    root: Path

    def plan(self, workloads: str) -> Plan:
        """A plan of these workloads."""
        port = reached(self.server).port
        head = HEAD.format(engine=self.server.engine, port=port, root=self.root, password=PASSWORD)
        return plan.parse(head + workloads, None)


@pytest.fixture(scope="module")
def service(mysql_engine: str) -> Iterator[Service]:
    """A server of each engine as a managed service is."""
    with a_place(mysql_engine) as place:
        folder = place.data_root.parent / "tls"
        folder.mkdir()
        root = made_certificate(folder, place.account.uid)
        settings = {
            "performance_schema": "OFF",
            "log_bin": "ON",
            "ssl_cert": str(folder / "server.crt"),
            "ssl_key": str(folder / "server.key"),
        }
        with started(an_arm(mysql_engine, settings=settings, transport="tcp"), place) as server:
            server.execute(
                f"CREATE DATABASE {DATABASE}",
                f"""CREATE USER {ROLE} IDENTIFIED BY "{SECRET}" REQUIRE SSL""",
                f"GRANT ALL ON {DATABASE}.* TO {ROLE}",
            )
            yield Service(server, root)


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PASSWORD, SECRET)


def check(service: Service, workloads: str, folder: Path) -> str:
    """Runs a plan whose steps all end well, with the figures of such a user; its report."""
    outcome = blocks.run(service.plan(workloads), folder, wait=True)
    found = compare.load(outcome.folder)
    endings = {(one.workload, one.step): run.ending for one in found.steps for run in runs(one)}
    assert {name: end.reason for name, end in endings.items() if end.status != "ok"} == {}
    check_figures(found)
    return markdown.render(page.make(found))


def test_workloads_run_for_a_user_of_one_database_and_the_report_says_what_is_missing(
    service: Service, tmp_path: Path, at_once: None
):
    said = check(service, SOME, tmp_path).partition("## Not seen")[2].partition("\n## ")[0]
    for word in ("CPU", "context switches", "memory", "device", "log", "PROCESS"):
        assert word in said, word


@pytest.mark.soak
def test_the_others_run_for_a_user_of_one_database(service: Service, tmp_path: Path, at_once: None):
    check(service, OTHERS, tmp_path)


def test_a_right_that_is_lacking_is_a_line_and_the_grant_mends_it(service: Service):
    found = refused(service.plan(ADMINISTERED))
    logs, settings = sorted(found)[::-1] if "`fill`" in max(found) else sorted(found)
    begins = "user `tenant` of arm service may not"
    without = "write `administer = 0` among the workload's parameters, or run `GRANT"
    assert f"step `fill`: {begins} purge binary logs, which the server writes: {without}" in logs
    assert f"step `cleanup`: {begins} run `SET GLOBAL`: {without}" in settings
    for line in found:
        service.server.execute(line.rpartition(" run `")[2].partition("`")[0])
    try:
        preflight.prepare(service.plan(ADMINISTERED))
    finally:
        service.server.execute(
            f"REVOKE ALL PRIVILEGES, GRANT OPTION FROM {ROLE}",
            f"GRANT ALL ON {DATABASE}.* TO {ROLE}",
        )


def test_what_a_role_of_the_user_may_counts(service: Service):
    is_mysql = service.server.engine == "mysql"
    right = "SYSTEM_VARIABLES_ADMIN" if is_mysql else "SUPER"
    service.server.execute(
        "CREATE ROLE keeper",
        f"GRANT {right}, RELOAD ON *.* TO keeper",
        f"GRANT keeper TO {ROLE}",
        f"SET DEFAULT ROLE keeper {'TO' if is_mysql else 'FOR'} {ROLE}",
    )
    try:
        preflight.prepare(service.plan(ADMINISTERED))
    finally:
        service.server.execute("DROP ROLE keeper")


def test_a_load_that_the_server_refuses_and_rights_on_tables_are_lines(service: Service):
    service.server.execute(
        f"REVOKE CREATE, INDEX ON {DATABASE}.* FROM {ROLE}", "SET GLOBAL local_infile = OFF"
    )
    only = SOME[SOME.index('[[workloads]]\nname = "sysbench"') :].partition('"pgbench"')[0]
    try:
        with pytest.raises(ServerError) as raised:
            preflight.prepare(service.plan(only.rpartition("[[workloads]]")[0]))
    finally:
        service.server.execute(
            f"GRANT ALL ON {DATABASE}.* TO {ROLE}", "SET GLOBAL local_infile = ON"
        )
    tables, load = str(raised.value).splitlines()
    assert "lacks CREATE, INDEX on database `shop`: run `GRANT CREATE, INDEX ON shop.* TO" in tables
    assert 'local_infile` is off: write `fill = "published"` in the workload, or set' in load
