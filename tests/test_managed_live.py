"""Each workload on a server elsewhere, as a user who has a database there and no further right.

Over TCP with TLS, whose certificate is verified; somebody else is at work meanwhile, and the server
shows this user nothing of that.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dbdyno import plan
from dbdyno.analysis import compare
from dbdyno.findings.waits.facts import WaitFacts
from dbdyno.model import Arm, Comparison, Plan, StepComparison, StepRun
from dbdyno.model.error import ServerError
from dbdyno.report import page
from dbdyno.report.render import markdown
from dbdyno.run import blocks, step
from dbdyno.run.check import preflight
from foreign_server import DATABASE, PASSWORD, SECRET, UNADMINISTERED, Service, a_service
from server_place import a_place, newest, started

pytestmark = pytest.mark.live

HEAD = """
[arms.service]
dsn = "{dsn}"
password = {{ env = "{password}" }}
[schedule.void]
foreign = 1
[observe]
waits = "50ms"
"""
SOME = (
    UNADMINISTERED
    + """
[[workloads]]
name = "sysbench-oltp"
set = "oltp_read_write"
parameters = { table_size = 1000, time = 1 }
[[workloads]]
name = "pgbench"
steps = ["tpcb-like"]
parameters = { seconds = 1 }
[[workloads]]
name = "cbc"
steps = ["create-table", "vacuum", "create-index", "cluster"]
parameters = { size_gb = 0.004 }
[[workloads]]
name = "ybio"
set = "procedures"
parameters = { tab_rows = 2000, batch_size = 100, run_seconds = 1 }
"""
)
"""Each workload by the steps whose statements are unlike the others'."""
ALL = """
[[workloads]]
name = "insert-benchmark"
parameters = { rows = 2000, rows_i1 = 500, rates = [100], seconds = 1, wait_s = 0, administer = 0 }
[[workloads]]
name = "sysbench"
[workloads.parameters]
rows = 1000
seconds = 1
scan_warm_s = 1
warmup_s = 0
pause_s = 0
administer = 0
[[workloads]]
name = "sysbench-oltp"
parameters = { table_size = 1000, time = 1 }
[[workloads]]
name = "pgbench"
fill = "published"
parameters = { seconds = 1, foreign_keys = 1, vacuum_all = 1 }
[[workloads]]
name = "cbc"
parameters = { size_gb = 0.004 }
[[workloads]]
name = "ybio"
set = "outside"
[workloads.parameters]
tab_rows = 2000
batch_size = 100
run_seconds = 1
pct_update = 50
initial_count = 1
"""
HOST_ONLY = (
    *("server_cpu_per_op", "background_cpu_per_op", "cpupq", "cspq", "rss"),
    *("rpq", "rkbpq", "wkbpq", "wps", "checkpoint_overlap_s"),
)
"""Metrics that only the server's host or its log could tell."""


@pytest.fixture(scope="module", params=newest(), ids=lambda one: one.name)
def service(request: pytest.FixtureRequest) -> Iterator[Service]:
    """A PostgreSQL as a managed service is."""
    arm = Arm(name="foreign", engine="postgres", base_dir=request.param, transport="tcp")
    with (
        a_place() as place,
        started(arm, place) as server,
        a_service(server, place.account.uid) as made,
    ):
        yield made


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PASSWORD, SECRET)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps end without waiting for the server's statistics, of which these tests say nothing."""
    monkeypatch.setattr(step, "wait_for_statistics", lambda servers: None)


def planned(service: Service, workloads: str, more: str = "") -> Plan:
    head = HEAD.format(dsn=service.dsn, password=PASSWORD)
    return plan.parse(f"{head}{more}{workloads}", None)


def measured(of: Plan, folder: Path) -> Comparison:
    """What came of a plan, of which every step ended well."""
    outcome = blocks.run(of, folder, wait=True)
    found = compare.load(outcome.folder)
    endings = {(one.workload, one.step): run.ending for one in found.steps for run in runs(one)}
    assert {name: end.reason for name, end in endings.items() if end.status != "ok"} == {}
    assert outcome.failed == 0
    return found


def runs(one: StepComparison) -> tuple[StepRun, ...]:
    (cell,) = one.cells
    return tuple(cell.runs)


def refused(of: Plan) -> list[str]:
    """The lines by which a plan is refused before anything starts."""
    with pytest.raises(ServerError) as raised:
        preflight.prepare(of)
    return [line.removeprefix("the plan: ") for line in str(raised.value).splitlines()]


def check_figures(found: Comparison) -> None:
    """Each step has its throughput, and no figure that such a user cannot have."""
    for one in found.steps:
        for run in runs(one):
            name = f"{one.workload} {one.step}"
            if one.headline is not None:
                value = run.metrics[one.headline]
                assert value is not None and value > 0, name
            assert {metric: run.metrics.get(metric) for metric in HOST_ONLY} == dict.fromkeys(
                HOST_ONLY
            ), name
            assert one.headline is None or run.metrics["generator_cpu_per_op"] is not None, name


def test_every_workload_runs_for_an_ordinary_user_and_the_report_says_what_is_missing(
    service: Service, tmp_path: Path, at_once: None
):
    found = measured(planned(service, SOME), tmp_path)
    assert {one.workload for one in found.steps} == {
        "insert-benchmark", "sysbench", "sysbench-oltp", "pgbench", "cbc", "ybio",
    }  # fmt: skip
    check_figures(found)
    by_name = {(one.workload, one.step): one for one in found.steps}
    (run,) = runs(by_name["sysbench", "point-query"])
    (sampling,) = run.of(WaitFacts).waits
    seen = {load.owner for load in sampling.loads}
    assert "role:query" in seen
    assert not any(owner.startswith("background:") for owner in seen), "the server hides them"
    assert sampling.hidden >= 2, "its own processes, and the neighbour's session"
    said = markdown.render(page.make(found)).replace("\\", "")
    for word in ("CPU", "context switches", "memory", "device", "log", "buffers", "pg_monitor"):
        assert word in said.partition("## Not seen")[2].partition("\n## ")[0], word
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or SECRET.encode() not in file.read_bytes(), file


@pytest.mark.soak
def test_all_their_steps_run_for_an_ordinary_user(service: Service, tmp_path: Path, at_once: None):
    check_figures(measured(planned(service, ALL), tmp_path))


# --- What such a user may not ---------------------------------------------------------------------

ADMINISTERED = """
[[workloads]]
name = "insert-benchmark"
parameters = { rows = 2000, rows_i1 = 500, rates = [100], seconds = 1, wait_s = 0 }
[[workloads]]
name = "sysbench"
steps = ["fill", "postwrite"]
parameters = { rows = 1000, pause_s = 0 }
[[workloads]]
name = "pgbench"
steps = ["select-only"]
parameters = { seconds = 1, prewarm = 1 }
"""
MAY_NOT = "user `tenant` of arm service may not run `CHECKPOINT`"
GRANT = "run `GRANT pg_checkpoint TO tenant` as an administrator"


def test_a_right_that_is_lacking_is_a_line_that_says_what_mends_it(service: Service):
    found = refused(planned(service, ADMINISTERED, '[schedule]\ncheckpoint = "before-step"\n'))
    without = "write `administer = 0` among the workload's parameters"
    assert found[0] == f"insert-benchmark: step `cleanup`: {MAY_NOT}: {without}, or {GRANT}"
    assert found[1] == f"sysbench: step `postwrite`: {MAY_NOT}: {without}, or {GRANT}"
    assert found[2].startswith(
        "pgbench: step `select-only`: user `tenant` of arm service may not read tables into the "
        "server's cache (permission denied to create extension "
    )
    assert "write `prewarm = 0` among the workload's parameters, or run `CREATE EX" in found[2]
    assert found[3] == f"schedule.checkpoint: {MAY_NOT}: remove the key, or {GRANT}"
    assert len(found) == 4


def test_the_grants_that_messages_name_mend_it(service: Service):
    granted = (
        "GRANT pg_checkpoint, pg_monitor TO tenant",
        "CREATE EXTENSION pg_prewarm",
        "CREATE EXTENSION pg_buffercache",
    )
    service.server.execute(*granted, database=DATABASE)
    try:
        preflight.prepare(planned(service, ADMINISTERED))
    finally:
        service.server.execute(
            "REVOKE pg_checkpoint, pg_monitor FROM tenant",
            "DROP EXTENSION pg_prewarm, pg_buffercache",
            database=DATABASE,
        )


def test_an_extension_that_a_service_lets_its_user_make_is_asked_for_and_not_left(service: Service):
    extensions = "SELECT count(*) FROM pg_extension WHERE extname LIKE 'pg_%'"
    before = service.server.execute(extensions, database=DATABASE)
    service.server.execute("ALTER ROLE tenant SUPERUSER")
    try:
        preflight.prepare(planned(service, ADMINISTERED))
        assert service.server.execute(extensions, database=DATABASE) == before
    finally:
        service.server.execute("ALTER ROLE tenant NOSUPERUSER")


def test_a_schema_that_takes_no_table_of_the_user_is_a_line(service: Service):
    service.server.execute("ALTER DATABASE shop OWNER TO neighbour")
    try:
        (line, _) = refused(planned(service, SOME.split('[[workloads]]\nname = "sysbench-oltp')[0]))
        assert line == (
            "insert-benchmark: step `l.i0`: user `tenant` of arm service may not make tables in "
            "schema `public`: run `GRANT CREATE ON SCHEMA public TO tenant` as whoever owns it"
        )
        service.server.execute("ALTER ROLE tenant SET search_path = nowhere")
        assert "none of its `search_path` is there" in refused(planned(service, SOME))[0]
    finally:
        service.server.execute(
            "ALTER DATABASE shop OWNER TO tenant", "ALTER ROLE tenant RESET search_path"
        )
