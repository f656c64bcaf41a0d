"""The results that `make bench` reads: made longer and more, they are still whole results."""

import json
import sys
from pathlib import Path

import pytest

from bench import analysis, results
from bench.process import ProgramFailed
from dbdyno.analysis import compare
from doubted import doubted
from result_builder import build
from run_builder import owners


def test_a_lengthened_and_multiplied_result_is_a_whole_one(tmp_path: Path) -> None:
    folder = build(tmp_path, blocks=1, steps=("qr100",))
    for path in folder.rglob("host.jsonl"):
        results.rewrite(path, results.with_background)
    plan = json.loads((folder / "plan.json").read_text())
    plan["arms"] = [arm | {"engine": "fake"} for arm in plan["arms"]]  # whose runs may agree
    (folder / "plan.json").write_text(json.dumps(plan))
    results.lengthened(folder, 3)
    results.multiplied(folder, 4)
    comparison = compare.load(folder)
    assert (comparison.blocks, comparison.incomplete, doubted(comparison)) == (4, None, ())
    (step,) = comparison.steps
    for cell in step.cells:
        assert cell.value == pytest.approx(5_000.0)
        for run in cell.runs:
            assert run.window.seconds == 60.0
            assert run.series["query.rate"].x_s[-1] == 60.0
            assert "background:walwriter" in owners(run)


def test_a_command_is_measured_with_all_its_processes() -> None:
    code = (
        "import subprocess, sys; "
        "subprocess.run([sys.executable, '-c', 'x = bytearray(90_000_000); import time; "
        "time.sleep(0.5)'])"
    )
    cost = analysis.run([sys.executable, "-c", code])
    assert cost.seconds > 0.5
    assert cost.memory_mib > 85
    with pytest.raises(ProgramFailed, match="no such thing"):
        analysis.run([sys.executable, "-c", "raise SystemExit('no such thing')"])
