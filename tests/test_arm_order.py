"""What the order of the arms does to whole results: it is tested, widens, and is said."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dbdyno.analysis import compare
from dbdyno.findings.headline import show as headline
from dbdyno.judge import arm_order, arms_and_blocks
from dbdyno.model import Comparison, Json
from dbdyno.model.verdict import Dependence, Judgement, OrderEffect
from dbdyno.parts import dependence
from dbdyno.report import json_document
from dbdyno.store import Results
from result_builder import build, plant
from result_planted import Planted

DRAWN = ["ab", "ba", "ab", "ab", "ba", "ba", "ab", "ba", "ba", "ab", "ab", "ba", "ab", "ab"]
"""Orders of pg17 and pg18, of which 5 are those of the block before."""
ARMS = {"a": "pg17", "b": "pg18"}
NOISE = np.random.default_rng(4).normal(0, 0.004, (len(DRAWN) + 1, 2))


def change(path: Path, how: Callable[[Json], object]) -> None:
    value = json.loads(path.read_text())
    how(value)
    path.write_text(json.dumps(value))


def result(
    folder: Path, *, orders: Sequence[str] = DRAWN, carried: float = 0.0, faster: float = 1.0
) -> Path:
    """Blocks in these orders; pg18 slows whatever runs after it."""
    sequence = "".join(orders)

    def planted(arm: str, step: str, block: int) -> Planted:
        letter = next(letter for letter, name in ARMS.items() if name == arm)
        at = sequence.index(letter, 2 * (block - 1))
        slow = 1 - carried * (at > 0 and sequence[at - 1] == "b")
        noise = float(np.exp(NOISE[block, "ab".index(letter)]))
        return plant(step, seconds=3.0, faster=slow * noise * (faster if letter == "b" else 1.0))

    made = build(folder, blocks=len(orders), steps=("qr100",), planted=planted)
    for number, order in enumerate(orders, start=1):
        names = [ARMS[letter] for letter in order]
        change(made / f"blocks/{number:03d}/order.json", lambda its, n=names: its.update(order=n))
    return made


def throughput(comparison: Comparison) -> Judgement:
    (step,) = comparison.steps
    verdict = step.cells[1].verdict
    assert verdict is not None
    return verdict.judgements[0]


def followed(comparison: Comparison) -> dict[str, float]:
    found = throughput(comparison).dependence
    assert found is not None
    return {one.pattern: one.by for one in found.followed}


@pytest.mark.long
def test_what_an_arm_leaves_behind_is_found_by_the_predecessor_and_widens(tmp_path: Path) -> None:
    found = compare.load(result(tmp_path, carried=0.06))
    assert followed(found)["predecessor"] == pytest.approx(0.062, abs=0.008)
    told = throughput(found)
    assert told.dependence is not None and told.dependence.widened > 1.1
    # Five repeated orders of fourteen: pg18 seems faster by 0.062 · 5 / 14, and is not.
    assert told.so_far.value == pytest.approx(1.022, abs=0.004)
    assert told.word == "open"


@pytest.mark.long
def test_orders_that_change_places_let_nothing_of_it_through(tmp_path: Path) -> None:
    found = compare.load(result(tmp_path, orders=("ab", "ba") * 7, carried=0.06))
    assert throughput(found).so_far.value == pytest.approx(1.0, abs=0.006)
    assert "predecessor" not in followed(found)


@pytest.mark.long
def test_an_arm_that_is_faster_stays_so_and_follows_no_order(tmp_path: Path) -> None:
    found = compare.load(result(tmp_path, faster=1.1))
    assert throughput(found).word == "faster"
    assert followed(found) == {}


@pytest.mark.long
def test_turns_within_a_step_have_no_such_test(tmp_path: Path) -> None:
    folder = result(tmp_path, carried=0.06)
    change(folder / "plan.json", lambda plan: plan["schedule"].update(interleave="slice"))
    assert followed(compare.load(folder)) == {}


def test_predecessors_are_those_of_a_host_and_an_aa_arm_is_the_base(tmp_path: Path) -> None:
    results = Results.open(result(tmp_path, orders=("ab", "ba", "ab", "ba")))
    for number, host in enumerate(("one", "two", "one", "one"), start=1):
        path = results.folder / f"blocks/{number:03d}/order.json"
        change(path, lambda its, host=host: its.update(host=host))
    arms = arms_and_blocks.arms(results.plan, None)
    blocks = arms_and_blocks.blocks(results)
    found = arm_order.predecessors(blocks, arms, results.plan)
    assert found == {
        (1, "insert-benchmark", "pg18"): "pg17",
        (2, "insert-benchmark", "pg17"): "pg18",
        (3, "insert-benchmark", "pg17"): "pg18",
        (3, "insert-benchmark", "pg18"): "pg17",
        (4, "insert-benchmark", "pg18"): "pg18",
        (4, "insert-benchmark", "pg17"): "pg18",
    }
    hidden = arm_order.predecessors(blocks, replace(arms, hidden_aa_arms=("pg18",)), results.plan)
    assert set(hidden.values()) == {"pg17"}


# --- What is said ----------------------------------------------------------------------------


def told(comparison: Comparison) -> str:
    return " ".join(one.text for one in headline.findings(comparison))


def test_under_eight_blocks_a_report_says_what_is_assumed(tmp_path: Path) -> None:
    found = compare.load(result(tmp_path, orders=DRAWN[:6]))
    about = f"next look after 12 blocks (6 more). {dependence.ASSUMED}, so that some is assumed"
    assert f"{about}: intervals are up to " in told(found)


@pytest.mark.long
def test_from_twelve_on_it_says_how_far_blocks_depend_on_each_other(tmp_path: Path) -> None:
    found = compare.load(result(tmp_path, carried=0.06))
    assert "% with the arm that ran before: intervals are up to 3." in told(found)
    arm = json.loads(json_document.render(found))["steps"][0]["arms"][0]
    dependent = arm["metrics"]["qps"]["dependence"]
    assert set(dependent) == {"drift", "widened", "followed"}
    assert dependent["followed"][0]["pattern"] == "predecessor"


@pytest.mark.long
def test_blocks_that_do_not_depend_are_told_so_and_others_by_the_most(tmp_path: Path) -> None:
    found = compare.load(result(tmp_path))
    (step,) = found.steps
    base, cell = step.cells
    assert cell.verdict is not None

    def with_dependence(*its: Dependence) -> Comparison:
        first, second = throughput(found), throughput(found)
        judgements = [
            replace(one, dependence=its[place % len(its)])
            for place, one in enumerate((first, second))
        ]
        verdict = replace(cell.verdict, judgements=tuple(judgements))  # type: ignore[type-var]
        cells = (base, replace(cell, verdict=verdict))
        return replace(found, steps=(replace(step, cells=cells),), overall=())

    none = Dependence(drift=0.04, widened=1.02)
    some = Dependence(drift=0.42, widened=1.55)
    place = OrderEffect(pattern="place", by=-0.031, left=0.0)
    placed = Dependence(drift=0.1, widened=1.1, followed=(place,))
    drifting = Dependence(drift=0.9, widened=4.0)
    assert dependence.sentence(with_dependence(placed)) == (
        "Blocks depend on each other with up to 10 %; ratios change by up to 3.1 % with the arm's "
        "place in the order: intervals are up to 1.1 times as wide as those of independent ones."
    )
    assert dependence.sentence(with_dependence(none)) == (
        "Blocks depend on each other with up to 4 %: intervals are about as wide as those of "
        "independent ones."
    )
    assert dependence.sentence(with_dependence(some, drifting)) == (
        "Blocks depend on each other with up to 90 %: intervals are up to 4.0 times as wide as "
        "those of independent ones; no word rests on those that drift."
    )
