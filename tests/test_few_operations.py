"""No word where operations are too few for what their rate would say."""

from __future__ import annotations

import example_figures
from dbdyno.analysis.compare import load
from dbdyno.model import StepRun
from dbdyno.model.verdict import Verdict
from run_builder import concluded, plan_of, run


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
    assert (told.word, told.withheld) == ("cannot tell", True)
    assert "too few operations: of 8 in a window" in told.outcome
    assert "`seconds = " in told.outcome


def test_a_difference_beyond_the_edges_has_its_word() -> None:
    assert verdict(8.0, 4.0, edge_share=1 / 60, counted=60.0).word == "slower"


def test_many_operations_or_operations_that_count_where_they_begin_lack_none() -> None:
    many = verdict(8e4, 8.0004e4, edge_share=64 / 8e5, counted=8e5)
    assert (many.word, many.withheld) == ("faster, within the margin", False)
    assert verdict(0.806, 0.794, edge_share=None, counted=8.0).word.startswith("slower")


def test_older_results_count_an_edge_for_each_connection_and_turn() -> None:
    turns = next(path for path in example_figures.examples() if path.name == "turns")
    with example_figures.unpacked(turns) as folder:
        runs = [run for step in load(folder).steps for cell in step.cells for run in cell.runs]
    shares = [run_before.window.edge_share for run_before in runs]
    assert any(share is not None and 0 < share < 0.5 for share in shares)
