"""The trials of placements and of the generator's CPU as a covariate."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from dbdyno import plan
from trials import covariate, placement
from trials.trial import Trial


def test_a_covariate_that_explains_all_leaves_the_planted_size() -> None:
    """Its slope is the other blocks', and a block's own size is not centred away."""
    x = [0.1, -0.2, 0.05, 0.3, -0.1, 0.0]
    y = [0.07 + 0.5 * value for value in x]
    of = covariate.adjusted(y, x)
    assert of["adjusted"] == pytest.approx(0, abs=1e-9) and of["scatter"] > 5
    assert of["adjusted mean"] == pytest.approx(7)


def test_a_constant_covariate_takes_nothing_out() -> None:
    of = covariate.adjusted([0.1, 0.2, 0.4], [0.0, 0.0, 0.0])
    assert of["adjusted"] == pytest.approx(of["scatter"])


def test_a_placement_says_cost_loop_and_scatter_by_clients() -> None:
    metrics = {"cpu_per_op": {"base": 9.0, "ratio": 1.07, "low": 1.05, "high": 1.09, "sd": 0.02}}
    arm = {"outcome": "", "verdict": "slower", "metrics": metrics}
    loads = {"step": "fill", "arms": [{"outcome": "", "verdict": None, "metrics": {}}]}
    of = placement.figures({"steps": [loads, {"step": "1", "arms": [arm]}]})
    assert of == {"1": "9.0 µs; +0.63 [+0.45, +0.81] µs; 2.0 %", "word": "slower"}


@pytest.mark.parametrize("trial", [placement.TRIAL, covariate.TRIAL])
def test_every_row_of_a_trial_is_measured(
    trial: Trial, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(placement.mysql, "newest", lambda engine: SimpleNamespace(base_dir="/m"))
    with trial.opened() as measures:
        assert set(measures) == set(trial.rows)
        plans = [measure.args[-1] for measure in measures.values()]  # type: ignore[attr-defined]
    steps = "".join(placement.STEP.format(clients=count) for count in placement.CLIENTS)
    (tmp_path / "points.toml").write_text(placement.WORKLOAD + steps)
    for text in plans:
        assert plan.parse(text, tmp_path / "placement.toml").base == "plain"
