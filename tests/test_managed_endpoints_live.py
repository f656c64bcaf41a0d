"""A standby elsewhere that a plan knows by an endpoint only: roles read it, its lag is shown."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from dbdyno import plan
from dbdyno.analysis import compare
from dbdyno.findings.over_time import show as over_time
from dbdyno.model import Arm, Plan
from dbdyno.model.error import ServerError
from dbdyno.model.job.endpoint import Endpoint
from dbdyno.run import blocks
from dbdyno.run.check import preflight
from dbdyno.store import BlockFolder, Results, StepFolder
from foreign_server import PASSWORD, SECRET, Service, a_service
from server_place import a_place, ends, started

pytestmark = pytest.mark.live

ROWS = 20_000
PLAN = """
[arms.service]
dsn = "{dsn}"
password = {{ env = "{password}" }}
endpoints = {{ standby = "{standby}" }}
[schedule.void]
foreign = 1
[[workloads]]
name = "ybio"
set = "replica"
parameters = {{ tab_rows = {rows}, batch_size_setup = 2_000, run_seconds = 3, pct_update = 50 }}
"""


@dataclass(frozen=True)
class Followed:
    """A service and the port of its standby."""

    service: Service
    standby: int

    def dsn(self, port: int) -> str:
        """The place of a server on a port, over TLS."""
        return self.service.dsn.replace(f":{self.service.port}/", f":{port}/")

    def plan(self, standby: int) -> Plan:
        """A plan whose endpoint is a port."""
        text = PLAN.format(
            dsn=self.service.dsn, password=PASSWORD, standby=self.dsn(standby), rows=ROWS
        )
        return plan.parse(text, None)


@contextmanager
def followed(base_dir: Path, wal_segment_mb: int = 16) -> Iterator[Followed]:
    """A service with a standby of the lab's making; servers made alike are one cluster's here."""
    arm = Arm(
        name="foreign", engine="postgres", base_dir=base_dir, standby=1, transport="tcp",
        initdb={"wal_segment_mb": wal_segment_mb},
    )  # fmt: skip
    with ExitStack() as stack:
        place = stack.enter_context(a_place())
        server = stack.enter_context(started(arm, place))
        service = stack.enter_context(a_service(server, place.account.uid))
        server.standbys.join()
        yield Followed(service, server.standbys.addresses()["standby"].port)


@pytest.fixture(scope="module", params=ends()[-1:], ids=lambda one: one.name)
def theirs(request: pytest.FixtureRequest) -> Iterator[Followed]:
    """A service with its standby."""
    with followed(request.param) as made:
        yield made


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PASSWORD, SECRET)


def steps_of(results: Results) -> dict[str, StepFolder]:
    (block,) = results.blocks()
    assert isinstance(block, BlockFolder)
    (run,) = block.runs()
    return {step.step().name: step for step in run.steps()}


@pytest.mark.capability("managed endpoints")
def test_roles_read_from_an_endpoint_and_its_lag_is_told_by_itself(
    theirs: Followed, tmp_path: Path
):
    outcome = blocks.run(theirs.plan(theirs.standby), tmp_path, wait=True)
    assert outcome.failed == 0
    results = Results.open(outcome.folder)
    steps = steps_of(results)
    assert list(steps) == ["call-setup", "call-run", "read-first", "read-again"]
    job, done = steps["read-first"].job(), steps["read-first"].done()
    assert done is not None
    assert isinstance(job.server, Endpoint)
    assert job.endpoints["standby"].port == theirs.standby != job.server.port
    assert done.totals["read"].rows == ROWS, "dyno waits until the standby has all rows"
    lag = list(steps["call-run"].lag())
    assert lag, "each second is read"
    assert {reading.standby for reading in lag} == {"standby"}
    assert all(reading.bytes is not None and reading.bytes >= 0 for reading in lag)
    by_name = {step.step: step for step in compare.load(results).steps}
    (run,) = by_name["call-run"].cells[0].runs
    for metric in ("replay_lag_s_mean", "replay_lag_mb_max", "catch_up_s"):
        assert run.metrics[metric] is not None, metric
    drawn = {chart.title for chart in over_time.charts(by_name["call-run"], "call-run")}
    assert "Replay lag of the standby, seconds" in drawn


def test_an_endpoint_that_is_no_standby_of_the_server_is_a_line(theirs: Followed):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        closed = free.getsockname()[1]
    own = theirs.service.port
    for port, says in (
        (own, "the server is no standby: name one that follows the server of the `dsn`, or "),
        (closed, "Connection refused"),
    ):
        with pytest.raises(ServerError) as raised:
            preflight.prepare(theirs.plan(port))
        line = str(raised.value)
        assert line.startswith("the plan: arms.service.endpoints.standby: ")
        assert says in line
        assert "\n" not in line


def test_a_standby_of_another_cluster_is_a_line(theirs: Followed):
    newest = ends()[-1]
    with followed(newest, wal_segment_mb=32) as other:
        # The other root has signed its certificate, so this plan only asks for TLS.
        text = PLAN.format(
            dsn=theirs.service.dsn,
            password=PASSWORD,
            standby=f"{other.service.place(other.standby)}?sslmode=require",
            rows=ROWS,
        )
        with pytest.raises(ServerError, match="the server is a standby of another cluster: name"):
            preflight.prepare(plan.parse(text, None))
