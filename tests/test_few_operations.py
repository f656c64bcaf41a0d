"""No word where operations are too few for what their rate would say."""

from pathlib import Path

import pytest

import example_figures
import wire_form
from dbdyno import plan
from dbdyno.analysis.compare import load
from dbdyno.model import Headline, Step, StepRun
from dbdyno.model.job import Job, StopRule
from dbdyno.model.job.role import ClosedPace, Role
from dbdyno.model.verdict import Verdict
from dbdyno.run import blocks
from dbdyno.run.progress import figures
from dbdyno.run.step_progress import StepMeter
from dbdyno.stats.few_operations import Claim
from run_builder import concluded, plan_of, run

pytestmark = pytest.mark.usefixtures("independent_blocks")


def verdict(base: float, arm: float, edge_share: float | None, counted: float | None) -> Verdict:
    """Of windows of 10 s that say the same in each of four blocks."""
    window = {"seconds": 10.0, "counted": counted, "edge_share": edge_share}
    runs: list[StepRun] = [
        run(name, block, rate, **window)
        for block in range(1, 5)
        for name, rate in (("base", base * (1 + block * 1e-6)), ("arm", arm))
    ]
    (step,) = concluded(runs, plan_of(["base", "arm"])).steps
    found = step.cells[1].verdict
    assert found is not None
    return found


def test_eight_operations_against_seven_are_no_difference() -> None:
    """1.24 s and 1.26 s in windows of 10 s: 14 % in all blocks alike, of which 1.6 % are true."""
    told = verdict(0.8, 0.7, edge_share=1 / 7.5, counted=7.5)
    assert (told.word, told.withheld) == ("open", True)
    assert "too few operations: of 8 in a window" in told.outcome
    assert "`seconds = " in told.outcome


def test_a_difference_beyond_the_edges_has_its_word() -> None:
    assert verdict(8.0, 4.0, edge_share=1 / 60, counted=60.0).word == "slower"


def test_many_operations_or_operations_that_count_where_they_begin_lack_none() -> None:
    many = verdict(8e4, 8.0004e4, edge_share=64 / 8e5, counted=8e5)
    assert (many.word, many.within_margin, many.withheld) == ("faster", True, False)
    assert verdict(0.806, 0.794, edge_share=None, counted=8.0).word == "slower"


def test_older_results_count_an_edge_for_each_connection_and_turn() -> None:
    turns = next(path for path in example_figures.examples() if path.name == "turns")
    with example_figures.unpacked(turns) as folder:
        runs = [run for step in load(folder).steps for cell in step.cells for run in cell.runs]
    shares = [run_before.window.edge_share for run_before in runs]
    assert any(share is not None and 0 < share < 0.5 for share in shares)


# --- While a step runs ---------------------------------------------------------------------------

PLAN = """
name = "slow"
base = "old"
[arms]
old = {{ engine = "fake", fake = {{ default_us = {us}, jitter = {jitter} }} }}
new = {{ engine = "fake", fake = {{ default_us = {us}, jitter = {jitter} }} }}
[[workloads]]
name = "sysbench"
steps = ["fill", "point-query"]
parameters = {{ rows = 100, tables = 1, seconds = 10 }}
[schedule]
blocks = 2
"""


def lines(folder: Path, us: float, jitter: float, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What the run says of operations that are too few."""
    blocks.run(plan.parse(PLAN.format(us=us, jitter=jitter), None), folder, wait=True)
    return [line for line in capsys.readouterr().err.splitlines() if "too few" in line]


def test_a_step_whose_few_operations_scatter_says_which_seconds_would_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = lines(tmp_path, 400_000, 0.9, capsys)
    assert len(said) == 4, "each arm once in each block"
    assert all(" point-query: too few operations for the plan's margin: " in line for line in said)
    # 25 operations in 10 s that scatter by 0.9 / √3, two arms, two blocks: 3 % takes 461 s.
    named = [int(line.split("`seconds = ")[1].split("`")[0].replace(",", "")) for line in said]
    assert all(100 <= seconds <= 1_500 for seconds in named)


@pytest.mark.parametrize(("us", "jitter"), [(400_000, 0.0), (400_000, 0.1), (1_000, 0.9)])
def test_as_many_as_do_or_such_as_do_not_scatter_are_no_news(
    us: float, jitter: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lines(tmp_path, us, jitter, capsys) == []


@pytest.mark.parametrize(
    ("ended", "enough_s"),
    [(0, 2 * 10 * (2 * 2 / 20) / 0.03), (8, 2 * 10 * (2 * 2 / 80) / 0.03), (400, None)],
)
def test_the_first_second_of_another_program_tells_it_by_the_edges(
    ended: int, enough_s: float | None
) -> None:
    role = Role(name="query", per="client", connections=2, pace=ClosedPace())
    job = Job(clients=1, roles=(role,), stop=StopRule(seconds=10), driver="command")
    headline = Headline(metric="qps", role="query", count="operations")
    step = Step(
        ordinal=1, name="s", workload="w", measured=True, writes=False, warm="none", setup=(),
        job=job, headline=headline, sla=None, pad_to_s=None, roles={}, tables=(), explain={},
        expected_s=None, nominal_s=None,
    )  # fmt: skip
    second = {
        "role": "query", "active_ns": 10**9, "measured": True, "operations": {},
        "per_client": [[ended, 0, 0, None]],
    }  # fmt: skip
    pulse = StepMeter(step, Claim(margin=0.03, blocks=8)).take(wire_form.tick(second))
    assert pulse is not None
    assert pulse.enough_s == (None if enough_s is None else pytest.approx(enough_s))
    assert any("too few" in figure for figure in figures(pulse)) == (enough_s is not None)
