"""The trials of placements."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from dbdyno import plan
from trials import placement


def test_a_placement_says_cost_loop_and_scatter_by_clients() -> None:
    metrics = {"cpu_per_op": {"base": 9.0, "estimate": 1.07, "low": 1.05, "high": 1.09, "sd": 0.02}}
    arm = {"outcome": "", "verdict": "slower", "metrics": metrics}
    loads = {"step": "fill", "arms": [{"outcome": "", "verdict": None, "metrics": {}}]}
    of = placement.figures({"steps": [loads, {"step": "1", "arms": [arm]}]})
    assert of == {"1": "9.0 µs; +0.63 [+0.45, +0.81] µs; 2.0 %", "word": "slower"}


def test_every_row_of_the_trial_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(placement.mysql, "newest", lambda engine: SimpleNamespace(base_dir="/m"))
    with placement.TRIAL.opened() as measures:
        assert set(measures) == set(placement.TRIAL.rows)
        plans = [measure.args[-1] for measure in measures.values()]  # type: ignore[attr-defined]
    steps = "".join(placement.STEP.format(clients=count) for count in placement.CLIENTS)
    (tmp_path / "points.toml").write_text(placement.WORKLOAD + steps)
    for text in plans:
        assert plan.parse(text, tmp_path / "placement.toml").base == "plain"
