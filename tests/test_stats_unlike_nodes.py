"""Which nodes are unlike the others: false alarms as many as claimed, and what is found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from scipy import stats as scipy_stats

from dbdyno.stats import unlike_nodes
from dbdyno.stats.interval import share_interval
from dbdyno.stats.significance import adjusted

DRAWN = 120
FEW = 499
"""Permutations, where many nodes are drawn."""


def named(ps: Mapping[str, float]) -> set[str]:
    """The nodes that are called unlike at 5 %."""
    return {node for node, q in zip(ps, adjusted([*ps.values()]), strict=True) if q <= 0.05}


def drawn(counts: Sequence[int], figures: int, heavy: bool, seed: int) -> dict[str, np.ndarray]:
    """Nodes that are alike, with so many blocks each; `heavy`: by t with 4 degrees of freedom."""
    rng = np.random.default_rng([22, seed])
    return {
        f"n{place}": rng.standard_t(4, (count, figures))
        if heavy
        else rng.normal(size=(count, figures))
        for place, count in enumerate(counts)
    }


# --- Means -----------------------------------------------------------------------------------


def test_two_nodes_are_told_apart_by_students_test() -> None:
    first, second = [0.01, 0.03, 0.02], [0.04, 0.07, 0.05, 0.06]
    expected = scipy_stats.ttest_ind(first, second).pvalue
    its = unlike_nodes.by_mean({"n1": first, "n2": second})
    smaller = max(np.var(first, ddof=1), np.var(second, ddof=1))
    assert its["n1"] == its["n2"] or smaller > 0
    assert min(its.values()) == pytest.approx(expected, rel=0.1)
    assert max(its.values()) >= expected * 0.999, "the larger scatter counts"


@pytest.mark.parametrize("others", [2, 3, 4, 9])
def test_a_node_out_of_line_makes_no_other_look_so(others: int) -> None:
    values = {f"n{at}": [0.001, -0.001, 0.0005 * at] for at in range(others)}
    assert named(unlike_nodes.by_mean(values | {"odd": [0.2, 0.201, 0.199]})) == {"odd"}


def test_a_node_that_is_noisy_is_not_out_of_line_for_that() -> None:
    rng = np.random.default_rng(3)
    calls = 0
    for _ in range(DRAWN):
        values = {f"n{at}": rng.normal(0, 8 if at == 0 else 1, 4) for at in range(6)}
        calls += bool(named(unlike_nodes.by_mean(values)))
    assert share_interval(calls, DRAWN, 0.99)[0] <= 0.05


@pytest.mark.parametrize(
    ("counts", "heavy"),
    [
        ((3, 3, 3), True),
        *(
            pytest.param(*some, marks=pytest.mark.long)
            for some in (((6, 6), False), ((3,) * 12, True), ((2, 3, 4, 12), False))
        ),
    ],
)
def test_of_equal_nodes_a_mean_is_named_in_at_most_five_percent(
    counts: tuple[int, ...], heavy: bool
) -> None:
    calls = 0
    for seed in range(2 * DRAWN):
        its = {node: one[:, 0] for node, one in drawn(counts, 1, heavy, seed).items()}
        calls += bool(named(unlike_nodes.by_mean(its)))
    assert share_interval(calls, 2 * DRAWN, 0.99)[0] <= 0.05, calls


def test_nothing_is_said_of_too_few_blocks_and_nodes_that_are_equal_are_alike() -> None:
    assert unlike_nodes.by_mean({"n1": [0.1], "n2": [0.2]}) == {}
    assert unlike_nodes.by_mean({"n1": [0.1, 0.2]}) == {}
    assert unlike_nodes.by_mean({"n1": [0.1, 0.1], "n2": [0.1]}) == {"n1": 1.0, "n2": 1.0}
    assert unlike_nodes.by_mean({"n1": [0.1, 0.1], "n2": [0.2]}) == {"n1": 0.0, "n2": 0.0}


# --- Scatter ---------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("heavy", [False, True])
@pytest.mark.parametrize(("counts", "figures"), [((6, 6), 1), ((3,) * 8, 6), ((2, 3, 4, 12), 4)])
def test_of_equal_nodes_one_is_called_noisy_in_about_five_percent(
    counts: tuple[int, ...], figures: int, heavy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unlike_nodes, "DRAWN", FEW)
    calls = sum(
        bool(named(unlike_nodes.by_scatter(drawn(counts, figures, heavy, seed))))
        for seed in range(DRAWN)
    )
    assert share_interval(calls, DRAWN, 0.99)[0] <= 0.05, calls


def test_a_noisy_node_is_found_and_no_other() -> None:
    rng = np.random.default_rng(1)
    its = {f"n{at}": rng.normal(0, 3 if at == 2 else 1, (8, 6)) for at in range(5)}
    assert named(unlike_nodes.by_scatter(its)) == {"n2"}


def test_figures_of_any_size_count_alike() -> None:
    rng = np.random.default_rng(1)
    its = {f"n{at}": rng.normal(0, 1 + at, (5, 2)) for at in range(3)}
    scaled = {node: one * np.array([1.0, 1_000.0]) for node, one in its.items()}
    assert unlike_nodes.by_scatter(its) == unlike_nodes.by_scatter(scaled)


def test_nodes_without_scatter_or_a_second_block_are_not_noisy() -> None:
    assert unlike_nodes.by_scatter({"n1": [[0.1], [0.1]], "n2": [[0.2], [0.2]]}) == {
        "n1": 1.0,
        "n2": 1.0,
    }
    found = unlike_nodes.by_scatter({"n1": [[0.1], [0.3]], "n2": [[0.2], [0.1]], "n3": [[0.9]]})
    assert set(found) == {"n1", "n2"}
    assert unlike_nodes.by_scatter({"n1": [[0.1], [0.3]], "n2": [[0.2]]}) == {}
    assert unlike_nodes.by_scatter({}) == {}
