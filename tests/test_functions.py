"""CPU per operation by function: sums, changes by block, what is told from chance."""

import math
import random
from dataclasses import replace

import numpy as np
import pytest

from dbdyno.findings.profiles.facts import FunctionCost, ProfileComparison
from dbdyno.model import StepRun
from profile_builder import COMPARE, PARSE, SEND, compared, pair, profile, profiled, profiles, stack
from run_builder import failed


def cost(found: ProfileComparison, name: str) -> FunctionCost:
    return next(one for one in found.functions if one.name == name)


def subsystem(found: ProfileComparison, name: str) -> FunctionCost:
    return next(one for one in found.subsystems if one.name == name)


def test_functions_add_up_to_the_cpu_of_an_operation() -> None:
    found = compared(*pair(1), *pair(2, more=50), *pair(3, more=100))
    for parts in (found.functions, found.subsystems):
        assert sum(one.base_us for one in parts) == pytest.approx(found.base_us)
        assert sum(one.arm_us for one in parts) == pytest.approx(found.arm_us)
    assert found.base_us == pytest.approx(100.0)
    assert found.arm_us == pytest.approx((100 + 105 + 110) / 3)
    assert found.samples == 6_150
    for stacks, us in ((found.base_stacks, found.base_us), (found.arm_stacks, found.arm_us)):
        assert sum(stacks.values()) == pytest.approx(us)


def test_a_function_costs_its_share_of_the_judged_cpu_and_not_of_the_profiled() -> None:
    found = cost(compared(*pair(1), *pair(2)), "_bt_compare")
    assert found.base_us == pytest.approx(40.0)
    assert found.base_whole_us == pytest.approx(40.0)
    caller = cost(compared(*pair(1), *pair(2)), "_bt_search")
    assert caller.base_us == pytest.approx(10.0)
    assert caller.base_whole_us == pytest.approx(50.0)


def test_recursion_counts_a_function_once() -> None:
    nested = {stack("ExecProcNode", "ExecAgg", "ExecProcNode", "ExecAgg"): 50, PARSE: 50}
    found = compared(profiled("old", 1, 10.0, nested), profiled("new", 1, 10.0, nested))
    assert cost(found, "ExecAgg").base_whole_us == pytest.approx(5.0)


def test_a_change_is_the_mean_difference_of_the_blocks() -> None:
    found = cost(compared(*pair(1, 30), *pair(2, 50), *pair(3, 70)), "_bt_compare")
    assert found.more_us == pytest.approx(5.0)
    low, high = found.low_us, found.high_us
    assert low is not None and high is not None and low < 5.0 < high
    assert high - 5.0 == pytest.approx(5.0 - low)


def test_one_block_has_no_interval_and_nothing_is_found() -> None:
    found = cost(compared(*pair(1, 300)), "_bt_compare")
    assert found.more_us == pytest.approx(30.0)
    assert (found.low_us, found.high_us, found.q, found.changed) == (None, None, None, False)


def test_equal_counts_of_few_samples_are_no_certainty() -> None:
    """Five samples against four in every block scatter nowhere, and yet say nothing."""
    rare = stack("heap_prune_chain")

    def block(number: int) -> tuple[StepRun, StepRun]:
        return (
            profiled("old", number, 100.0, {COMPARE: 996, rare: 4}),
            profiled("new", number, 100.0, {COMPARE: 995, rare: 5}),
        )

    found = cost(compared(*block(1), *block(2), *block(3)), "heap_prune_chain")
    assert found.q is not None and found.q > 0.5
    assert found.low_us is not None and found.low_us < 0.0


def test_too_few_samples_are_not_tested() -> None:
    rare = stack("heap_prune_chain")
    runs = [
        profiled(arm, block, 100.0, {COMPARE: 998, rare: 2})
        for arm in ("old", "new")
        for block in (1, 2)
    ]
    found = cost(compared(*runs), "heap_prune_chain")
    assert found.q is None and not found.changed


def test_functions_that_cost_less_than_a_thousandth_are_not_tested() -> None:
    def rare(samples: int) -> FunctionCost:
        counts = {COMPARE: 20_000 - samples, stack("heap_prune_chain"): samples}
        runs = [
            profiled(arm, block, 100.0, counts) for arm in ("old", "new") for block in (1, 2, 3)
        ]
        return cost(compared(*runs), "heap_prune_chain")

    assert rare(19).q is None
    assert rare(21).q is not None


def drawn(planted: float, seed: int, blocks: int = 6) -> ProfileComparison:
    """Some 80 functions, one of which costs so much more in the new arm: samples are drawn."""
    draw, chance = random.Random(seed), np.random.default_rng(seed)
    weights = [1 / (place + 2) for place in range(80)]
    names = [stack(f"function_{place}") for place in range(80)]
    runs = []
    for block in range(1, blocks + 1):
        for arm in ("old", "new"):
            us = [50 * w / sum(weights) * math.exp(draw.gauss(0, 0.02)) for w in weights]
            us[40] += 50 * planted if arm == "new" else 0.0
            counts = chance.multinomial(900, [one / sum(us) for one in us]).tolist()
            runs.append(profiled(arm, block, sum(us), dict(zip(names, counts, strict=True))))
    return compared(*runs)


@pytest.mark.parametrize("seed", range(3))
def test_three_percent_more_in_one_function_stand_first(seed: int) -> None:
    first = drawn(0.03, seed).functions[0]
    assert first.name == "function_40" and first.changed
    assert first.low_us is not None and first.high_us is not None
    assert first.low_us < 1.5 < first.high_us


def test_where_nothing_changed_next_to_nothing_is_found() -> None:
    false = [one.name for seed in range(20) for one in drawn(0.0, seed).functions if one.changed]
    assert len(false) <= 1


# --- What is compared ------------------------------------------------------------------------


def test_a_function_is_one_whatever_compilers_add_to_its_name() -> None:
    old = {stack("heap_fetch.isra.0"): 60, stack("row_sel(char*, long) const"): 40}
    new = {stack("heap_fetch.part.1"): 50, stack("row_sel(char*)"): 50}
    found = compared(profiled("old", 1, 10.0, old), profiled("new", 1, 10.0, new))
    assert cost(found, "heap_fetch").more_us == pytest.approx(-1.0)
    assert cost(found, "row_sel").more_us == pytest.approx(1.0)


def test_what_has_no_symbol_is_a_row_of_its_binary() -> None:
    stacks = {stack("?"): 30, stack("?@libz.so.1"): 20, PARSE: 50}
    found = compared(profiled("old", 1, 10.0, stacks), profiled("new", 1, 10.0, stacks))
    unknown = {one.binary: one.base_us for one in found.functions if one.name == "?"}
    assert unknown == {"postgres": pytest.approx(3.0), "libz.so.1": pytest.approx(2.0)}


def test_runs_without_a_profile_or_that_failed_are_in_no_block() -> None:
    old, new = pair(1)
    lost, bare = pair(2), pair(3)
    found = profiles(old, new, lost[0], failed(lost[1]), bare[0], replace(bare[1], profile=None))
    assert [one.blocks for one in found] == [1]
    assert profiles(old, replace(new, profile=profile({}))) == ()


def test_an_arm_alone_has_its_costs_without_changes() -> None:
    (found,) = profiles(pair(1)[0], pair(2)[0], arms=("old",))
    assert (found.arm, found.base, found.blocks, found.samples) == ("old", "old", 2, 2_000)
    assert found.functions[0].name == "_bt_compare"
    assert found.functions[0].q is None and found.functions[0].low_us is None


# --- Subsystems ------------------------------------------------------------------------------


def test_a_sample_belongs_to_the_innermost_function_that_the_table_knows() -> None:
    stacks = {stack("_bt_compare", "memcmp@libc.so.6"): 30, stack("?"): 20, SEND: 50}
    found = compared(profiled("old", 1, 10.0, stacks), profiled("new", 1, 10.0, stacks))
    assert {one.name: one.base_us for one in found.subsystems} == {
        "session": pytest.approx(2.0),
        "network": 0.0,
        "indexes": pytest.approx(3.0),
        "kernel": pytest.approx(5.0),
    }
    assert subsystem(found, "network").base_whole_us == pytest.approx(5.0)
    assert cost(found, "memcmp").subsystem is None
    assert cost(found, "sock_sendmsg").subsystem == "kernel"


def test_what_no_table_knows_is_other() -> None:
    stacks = {("background:writer", "start@extension.so"): 10}
    found = compared(profiled("old", 1, 10.0, stacks), profiled("new", 1, 10.0, stacks))
    assert [one.name for one in found.subsystems] == ["other"]


def test_a_plan_adds_subsystems_that_go_before_the_shipped_ones() -> None:
    stacks = {COMPARE: 50, stack("run@my_extension.so"): 50}
    own = {"comparisons": ["_bt_compare"], "mine": ["@my_extension"]}
    found = compared(profiled("old", 1, 10.0, stacks), profiled("new", 1, 10.0, stacks), **own)
    assert subsystem(found, "comparisons").base_us == pytest.approx(5.0)
    assert subsystem(found, "mine").base_us == pytest.approx(5.0)
