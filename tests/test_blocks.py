"""The whole path with the fake server: what is planted comes out, down to a sentence."""

import json
import shlex
import shutil
from pathlib import Path

import pytest

from command import dyno
from dbdyno import plan
from dbdyno.analysis import compare
from dbdyno.host import program
from dbdyno.model import Comparison, Plan, ResponseFacts
from dbdyno.model.error import PlanError, ResultError
from dbdyno.run import blocks as runner
from dbdyno.store import Results
from doubted import void_blocks

PLAN = """
name = "planted"
base = "old"

[arms.old]
engine = "fake"
[arms.old.fake]
service_us = { insert = 1000, delete = 800, market = 100, register = 100, pdc = 100 }
server_cpu_us = { insert = 500, delete = 400, market = 40, register = 40, pdc = 40 }
{old}

[arms.new]
engine = "fake"
[arms.new.fake]
service_us = { insert = 1050, delete = 840, market = 105, register = 105, pdc = 105 }
server_cpu_us = { insert = 525, delete = 420, market = 42, register = 42, pdc = 42 }
{new}

[[workloads]]
name = "insert-benchmark"
parameters = { rows = 20_000, rows_i1 = 10_000, rows_i2 = 1_000, rates = [1000], seconds = 5 }
steps = ["l.i0", "l.i1", "qr1000"]

[schedule]
blocks = {blocks}
"""


def planted(*, old: str = "", new: str = "", blocks: int = 2) -> Plan:
    text = PLAN.replace("{old}", old).replace("{new}", new).replace("{blocks}", str(blocks))
    return plan.parse(text, None)


def measured(of: Plan, folder: Path) -> Comparison:
    return compare.load(runner.run(of, folder, wait=True).folder)


@pytest.fixture(scope="module", name="two")
def _two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The result folder of two blocks, for tests that read it."""
    return runner.run(planted(), tmp_path_factory.mktemp("two"), wait=True).folder


@pytest.fixture(scope="module", name="planted_twice")
def _planted_twice(two: Path) -> Comparison:
    return compare.load(two)


@pytest.fixture(scope="module", name="measured_once")
def _measured_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The result folder of one block, for tests that read it."""
    of = with_threads(planted(blocks=1))
    return runner.run(of, tmp_path_factory.mktemp("once"), wait=True).folder


@pytest.fixture(name="once")
def _once(measured_once: Path, tmp_path: Path) -> Path:
    """A copy of it, to go on with."""
    return Path(shutil.copytree(measured_once, tmp_path / measured_once.name, symlinks=True))


def with_threads(of: Plan, line: str = "[generator]\nthreads = 3") -> Plan:
    """The plan with these threads of the generator; `once` has three."""
    return plan.parse(f"{of.text}\n{line}", None)


def cell(comparison: Comparison, step: str, arm: str):  # type: ignore[no-untyped-def]
    (found,) = [one for one in comparison.steps if one.step == step]
    return next(cell for cell in found.cells if cell.arm == arm)


def test_planted_five_percent_are_reported_as_five_percent(planted_twice: Comparison) -> None:
    for step in ("l.i0", "l.i1", "qr1000"):
        ratio = cell(planted_twice, step, "new").ratio
        assert ratio.value == pytest.approx(1 / 1.05, rel=2e-3), step
        assert ratio.low <= ratio.value <= ratio.high
        assert ratio.blocks == 2
    assert cell(planted_twice, "l.i0", "old").value == pytest.approx(100_000, rel=1e-3)


def test_planted_cost_of_the_server_is_what_an_operation_costs(planted_twice: Comparison) -> None:
    for arm, cpu_us in (("old", 40.0), ("new", 42.0)):
        metrics = cell(planted_twice, "qr1000", arm).metrics
        assert metrics["server_cpu_per_op"] == pytest.approx(cpu_us, rel=5e-3), arm


def test_the_report_says_it_in_a_sentence(two: Path) -> None:
    ended = dyno("compare", two, "--full")
    assert ended.returncode == 0, ended.stderr
    words = " ".join(ended.stdout.split())
    assert "new against old: 3 slower in 2 blocks" in words
    assert "4.8 % slower by throughput over 3 steps" in words
    assert max(map(len, ended.stdout.splitlines())) <= 80


def test_one_block_decides_nothing_and_the_report_says_so(measured_once: Path) -> None:
    words = " ".join(dyno("compare", measured_once).stdout.split())
    assert "3 open in 1 block" in words
    assert words.count("one block") == 1, "a reason that all steps share stands once"


def test_a_server_too_fast_for_the_generator_has_at_least_its_rate(tmp_path: Path) -> None:
    """A reply costs the generator 5 µs of the fake's clock: 6 µs of service keep it 83 % busy."""
    slow, fast = (f"market = {us}, register = {us}, pdc = {us}" for us in (105, 6))
    text = planted(blocks=1).text.replace("seconds = 5", "seconds = 1")
    comparison = measured(plan.parse(text.replace(slow, fast), None), tmp_path)
    found = cell(comparison, "qr1000", "new")
    assert (found.value_bound, found.ratio_bound) == ("at least", "at least")
    (reason,) = found.runs[0].window.limited
    assert reason.startswith("its busiest thread was busy 8")
    words = dyno("compare", tmp_path / "planted", "--full").stdout
    assert f"≥ {found.value:,.0f}" in words
    assert cell(comparison, "qr1000", "old").value_bound == "exact"
    assert cell(comparison, "l.i1", "new").value_bound == "exact"


def test_a_stall_shows_in_the_response_time_of_paced_roles(tmp_path: Path) -> None:
    stalled = planted(new="stalls = [{ at_s = 1.0, for_s = 3.0 }]", blocks=1)
    comparison = measured(stalled, tmp_path)
    insert = {
        arm: cell(comparison, "qr1000", arm).runs[0].of(ResponseFacts).by_kind["insert"]
        for arm in ("old", "new")
    }
    assert insert["old"].p99_us < 100_000
    assert insert["new"].p99_us > 1_000_000
    assert insert["new"].max_us == pytest.approx(3_000_000, rel=0.02)


def test_a_failed_step_is_a_result_and_the_other_arm_goes_on(tmp_path: Path) -> None:
    broken = 'errors = [{ statement = "delete", every = 50, code = "XX000" }]'
    of = planted(new=broken, blocks=1)
    outcome = runner.run(of, tmp_path, wait=True)
    assert outcome.failed == 2, "l.i1 failed, qr1000 skipped"
    comparison = compare.load(outcome.folder)
    assert cell(comparison, "l.i1", "new").runs[0].ending.status == "failed"
    assert "XX000" in cell(comparison, "l.i1", "new").runs[0].ending.reason
    assert cell(comparison, "qr1000", "new").runs[0].ending.status == "skipped"
    assert cell(comparison, "qr1000", "old").runs[0].ending.status == "ok"


def test_errors_that_are_to_be_tried_again_do_not_fail_the_step(tmp_path: Path) -> None:
    now_and_then = 'errors = [{ statement = "insert", every = 50, code = "40001" }]'
    comparison = measured(planted(new=now_and_then, blocks=1), tmp_path)
    run = cell(comparison, "l.i1", "new").runs[0]
    assert run.ending.status == "ok"
    assert run.metrics["retries"] == pytest.approx(4, abs=1)


def test_a_broken_block_is_kept_as_void_and_done_again(once: Path) -> None:
    (once / "blocks/001/done.json").unlink()
    runner.run(with_threads(planted(blocks=1)), once.parent, wait=True)
    names = sorted(path.name for path in (once / "blocks").iterdir())
    assert names == ["001", "001.void1"]
    comparison = compare.load(once)
    assert comparison.blocks == 1
    assert "interrupted" in void_blocks(comparison)[0].words


def test_a_killed_generator_spoils_the_block_which_is_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = shlex.quote(str(program.find("dyno-loadgen")))
    once = tmp_path / "once"
    script = tmp_path / "dyno-loadgen"
    script.write_text(
        f'#!/bin/sh\nif [ ! -e {once} ]; then touch {once}; kill -9 $$; fi\nexec {generator} "$@"\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("DYNO_LOADGEN", str(script))
    outcome = runner.run(planted(blocks=1), tmp_path / "out", wait=True)
    assert (outcome.voids, outcome.failed) == (1, 0)
    assert "killed by signal 9" in void_blocks(compare.load(outcome.folder))[0].words


def test_more_blocks_go_on_in_the_same_folder(once: Path) -> None:
    before = (once / "blocks/001/order.json").stat().st_mtime_ns
    assert measured(with_threads(planted(blocks=2)), once.parent).blocks == 2
    assert (once / "blocks/001/order.json").stat().st_mtime_ns == before


def test_the_generators_threads_reach_every_job_and_are_not_changed_later(once: Path) -> None:
    jobs = [json.loads(path.read_text()) for path in once.glob("blocks/001/*/*/*/job.json")]
    assert len(jobs) == 6
    assert {job["threads"] for job in jobs} == {3}
    for line in ("", "[generator]\nthreads = 2"):
        with pytest.raises(ResultError, match=r"`generator\.threads` is .* now and was 3"):
            runner.run(with_threads(planted(blocks=1), line), once.parent, wait=True)


def test_another_machine_is_refused(once: Path) -> None:
    host = json.loads((once / "host.json").read_text())
    (once / "host.json").write_text(json.dumps(host | {"kernel": "6.6.6"}))
    with pytest.raises(ResultError, match="`kernel`"):
        runner.run(with_threads(planted(blocks=1)), once.parent, wait=True)


def test_a_statement_that_no_step_has_cannot_be_planted(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="markt"):
        runner.run(planted(new="rows = { markt = 3 }"), tmp_path, wait=True)
    assert not list(tmp_path.iterdir()), "nothing half-done stays behind"


def test_every_file_of_the_result_folder_is_there(measured_once: Path) -> None:
    assert not (measured_once / "generator.jsonl").exists(), (
        "a fake's clock says nothing of the host"
    )
    run = Results.open(measured_once).blocks()[0].runs()[0]
    assert run.server().engine == "fake"
    step = run.steps()[0]
    assert {path.name for path in step.path.iterdir()} == {
        *("step.json", "job.json", "events.jsonl", "host.jsonl", "done.json")
    }
    kinds = [reading.moment for reading in step.host()]
    assert kinds[0] == "start" and kinds[-1] == "end"
    assert kinds.count("open") == kinds.count("close") == 1
    assert step.done().checks[0].ok


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("engine = ", "engin = "), ["arms.old.engin", "engine"]),
        (('"insert-benchmark"', '"insert-bench"'), ["insert-bench"]),
        (("rows = 20_000", "rwos = 20_000"), ["rwos", "rows"]),
        (('"l.i1"', '"l.i9"'), ["l.i9"]),
        (("blocks = 1", "blocks = 0"), ["schedule.blocks"]),
    ],
)
def test_bad_input_gets_one_line_and_status_2(
    tmp_path: Path, change: tuple[str, str], words: list[str]
) -> None:
    text = PLAN.replace("{old}", "").replace("{new}", "").replace("{blocks}", "1")
    file = tmp_path / "bad.toml"
    file.write_text(text.replace(*change))
    ended = dyno("run", file, "--out", tmp_path / "out")
    assert ended.returncode == 2
    assert len(ended.stderr.splitlines()) == 1
    for word in [*words, "bad.toml"]:
        assert word in ended.stderr
    assert not (tmp_path / "out").exists()
