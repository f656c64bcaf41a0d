"""What no repetition changes ends a plan after the first try: no server, no data, no step."""

from collections import Counter
from collections.abc import Collection
from pathlib import Path

import pytest

import keeping_fake
from dbdyno import plan as plans
from dbdyno.analysis import compare
from dbdyno.cli import exit_status
from dbdyno.engine.fake import FakeServer
from dbdyno.model import Plan
from dbdyno.model.error import ServerError
from dbdyno.run import looks
from dbdyno.run.runner import LocalRunner
from dbdyno.store import Results

BLOCKS = 2
PLAN = """
name = "refused"
[server]
data_dir = "DATA"
[[workloads]]
name = "sysbench"
steps = ["fill", "point-query"]
save = "post-fill"
parameters = { rows = 1000, seconds = 1, warmup_s = 0, pause_s = 0 }
[schedule]
blocks = 2
"""
FAILING = ', errors = [{ statement = "point-query", every = 1, code = "42501" }]'


class Starts:
    """How often each arm's server was asked to start; those of some arms do not."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """All start, until `refused` names some."""
        self.count: Counter[str] = Counter()
        self.refused: Collection[str] = ()
        start = FakeServer.start

        def counted(server: FakeServer) -> None:
            self.count[server.name] += 1
            if server.name in self.refused:
                raise ServerError(f"arm {server.name}: the server does not start: no such library")
            start(server)

        monkeypatch.setattr(FakeServer, "start", counted)


@pytest.fixture(name="starts")
def _starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Starts:
    keeping_fake.install(monkeypatch, tmp_path / "data", 0.0)
    return Starts(monkeypatch)


def planned(tmp_path: Path, arms: str = "ab", *, failing: str = "", more: str = "") -> Plan:
    """The plan; `failing`: arms on which the step fails; `more`: of its schedule."""
    text = PLAN.replace("DATA", str(tmp_path / "data")) + more
    for arm in arms:
        errors = FAILING if arm in failing else ""
        text += f'\n[arms.{arm}]\nengine = "fake"\nfake = {{ default_us = 200{errors} }}\n'
    return plans.parse(text, None)


def complete(plan: Plan, tmp_path: Path) -> int:
    """Runs the plan, or goes on with it; how many blocks are complete then."""
    outcome = looks.run(plan, tmp_path, compare.load, runner=LocalRunner(wait=True), quiet=True)
    return Results.open(outcome.folder).complete()


def test_an_arm_without_a_server_ends_a_race_before_the_first_block(starts: Starts, tmp_path: Path):
    starts.refused = "b"
    with pytest.raises(ServerError, match=r"^arm b: the server does not start: no such library$"):
        complete(planned(tmp_path, more="trial = true"), tmp_path)
    assert starts.count["b"] == 1
    assert not (tmp_path / "refused").exists()


@pytest.mark.parametrize(
    ("refused", "failing", "status"), [("b", "", 1), ("a", "", 1), ("ab", "", 2), ("", "ab", 2)]
)
def test_a_plan_that_can_compare_nothing_ends_after_its_first_block(
    starts: Starts, tmp_path: Path, refused: str, failing: str, status: int
) -> None:
    starts.refused = refused
    plan = planned(tmp_path, failing=failing)
    assert complete(plan, tmp_path) == 1
    assert all(starts.count[arm] == 1 for arm in refused)
    assert exit_status.of(compare.load(tmp_path / "refused"), tmp_path / "refused") == status


@pytest.mark.parametrize(("arms", "refused", "failing"), [("abc", "c", ""), ("ab", "", "b")])
def test_a_plan_goes_on_where_arms_are_left(
    starts: Starts, tmp_path: Path, arms: str, refused: str, failing: str
) -> None:
    starts.refused = refused
    assert complete(planned(tmp_path, arms, failing=failing), tmp_path) == BLOCKS


def test_a_plan_goes_on_once_what_failed_is_mended(starts: Starts, tmp_path: Path) -> None:
    starts.refused = "b"
    plan = planned(tmp_path)
    assert complete(plan, tmp_path) == 1
    starts.refused = ""
    assert complete(plan, tmp_path) == BLOCKS
