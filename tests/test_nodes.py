"""Nodes as a factor of a comparison: what each found, and whether they disagree."""

import math
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from msgspec import structs

import dbdyno
from dbdyno import store
from dbdyno.analysis import compare
from dbdyno.analysis.across import work
from dbdyno.judge import host_changes, nodes
from dbdyno.judge.conclusions import Conclusions
from dbdyno.judge.fills import is_of_machine
from dbdyno.model import Comparison, Json, StepRun
from dbdyno.model.nodes import UNNAMED
from dbdyno.store import Results
from doubted import doubted
from result_builder import HOST, build, plant
from run_builder import cell, changed, concluded, plan_of, series

ARMS = ("base", "other")
CALM = (0.004, -0.004, 0.002, -0.002)
"""Log ratios of four blocks about no change."""


def alternating(count: int, *names: str) -> dict[int, str]:
    """The nodes of so many blocks, in turns."""
    return {block: names[(block - 1) % len(names)] for block in range(1, count + 1)}


def found(*by_node: Sequence[float], names: Sequence[str] = ("n1", "n2", "n3")) -> Conclusions:
    """What is concluded of one step, in which these are the log ratios of each node's blocks."""
    logs = [log for its in by_node for log in its]
    where = [name for its, name in zip(by_node, names, strict=False) for _ in its]
    runs = [
        *series("base", [1_000.0] * len(logs)),
        *series("other", [1_000.0 * math.exp(log) for log in logs]),
    ]
    return concluded(runs, plan_of(ARMS), nodes=dict(enumerate(where, start=1)))


def lifted(by: float, logs: Sequence[float] = CALM) -> list[float]:
    return [log + by for log in logs]


# --- What nodes found of an arm --------------------------------------------------------------


def test_nodes_that_disagree_are_told_with_what_each_found() -> None:
    its = found(lifted(0.10), lifted(0.0))
    (one,) = cell(its, "other").nodes
    assert [(its.node, its.blocks) for its in one.nodes] == [("n1", 4), ("n2", 4)]
    assert one.highest.ratio == pytest.approx(math.exp(0.10))
    assert one.lowest.low is not None and one.lowest.low < 1 < (one.lowest.high or 0)
    assert (one.agreement, one.freedom) == ("disagree", 1)
    assert one.spread == pytest.approx(math.expm1(math.sqrt(0.005)), rel=0.01)
    assert one.reach == pytest.approx(12.706, abs=1e-3)
    assert one.machines_low < 0.7 and one.machines_high > 1.5, (
        "two nodes tell next to nothing of others"
    )
    (said,) = nodes.doubts(its.steps[0].cells)
    assert said.arm == "other"
    assert str(said).startswith("nodes disagree: +0.0 % on n2 to +10.5 % on n1; ")


def test_a_verdict_is_the_same_whether_blocks_name_nodes_or_not() -> None:
    logs = [*lifted(0.10), *lifted(0.0)]
    runs = [
        *series("base", [1_000.0] * 8),
        *series("other", [1_000.0 * math.exp(log) for log in logs]),
    ]
    plain = concluded(runs, plan_of(ARMS))
    named = concluded(runs, plan_of(ARMS), nodes=alternating(8, "n1", "n2"))
    assert cell(plain, "other").verdict == cell(named, "other").verdict
    assert cell(plain, "other").nodes == ()


def test_nodes_that_agree_are_no_doubt() -> None:
    its = found(lifted(0.05), lifted(0.0505), lifted(0.05))
    (one,) = cell(its, "other").nodes
    assert one.agreement == "no difference seen" and one.spread == 0.0
    assert list(nodes.doubts(its.steps[0].cells)) == []


def test_a_disagreement_within_the_margin_is_no_doubt() -> None:
    calm = [log / 10 for log in CALM]
    its = found(lifted(0.05, calm), lifted(0.06, calm))
    (one,) = cell(its, "other").nodes
    assert one.agreement == "disagree, within the margin"
    assert list(nodes.doubts(its.steps[0].cells)) == []


def test_with_one_block_each_whether_nodes_disagree_cannot_be_told() -> None:
    (one,) = cell(found([0.05], [0.0], [0.01]), "other").nodes
    assert (one.agreement, one.p, one.q, one.spread) == ("open", None, None, None)
    assert one.nodes[0].low is None


def test_one_node_says_nothing_beyond_itself() -> None:
    assert cell(found(lifted(0.05)), "other").nodes == ()


def test_a_step_that_missed_its_target_has_no_nodes_to_compare() -> None:
    runs = [
        *series("base", [1_000.0] * 4, sla_target=100.0, sla_met=True),
        *series("other", [1_000.0] * 4, sla_target=100.0, sla_met=False),
    ]
    its = concluded(runs, plan_of(ARMS), nodes=alternating(4, "n1", "n2"))
    assert cell(its, "other").nodes == ()


def test_tests_of_many_steps_share_their_level() -> None:
    """Twenty steps without a difference, and one p under 5 % among them by luck."""
    draw = Random(3)
    runs: list[StepRun] = []
    for ordinal in range(1, 21):
        rates = [1_000.0 * math.exp(draw.gauss(0, 0.01)) for _ in range(12)]
        for arm, its in (("base", [1_000.0] * 12), ("other", rates)):
            runs += [changed(run, step=f"s{ordinal}", ordinal=ordinal) for run in series(arm, its)]
    all_steps = concluded(runs, plan_of(ARMS), nodes=alternating(12, "n1", "n2", "n3")).steps
    ones = [one for step in all_steps for one in step.cells[1].nodes]
    assert min(one.p or 1 for one in ones) < 0.05 < min(one.q or 1 for one in ones)
    assert {one.agreement for one in ones} == {"no difference seen"}


def test_nodes_are_in_the_order_in_which_people_count() -> None:
    assert nodes.in_order(["n10", "n2", "db", "n2-a", "n1"]) == ["db", "n1", "n2", "n2-a", "n10"]


# --- Of a result folder ----------------------------------------------------------------------


def on_nodes(folder: Path, *names: str | None) -> Results:
    """A result whose blocks were measured on these hosts, each of which has facts."""
    made = Results.open(
        build(
            folder,
            blocks=len(names),
            steps=("l.i0", "qr100"),
            planted=lambda arm, step, block: plant(
                step, faster=(1.1 if names[block - 1] == "n2" else 1.0) if arm == "pg18" else 1.0
            ),
        )
    )
    for block, name in zip(made.blocks(), names, strict=True):
        path = block.path / "order.json"
        store.write_json(
            path, store.read_struct(path, Json) | {"host": name, "boot_id": f"boot of {name}"}
        )
    for name in dict.fromkeys(filter(None, names)):
        made.write_host_of(name, structs.replace(HOST, boot_id=f"boot of {name}"))
    return made


@pytest.fixture(scope="module")
def two_nodes(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    return compare.load(on_nodes(tmp_path_factory.mktemp("nodes"), "n1", "n2", "n1", "n2"))


def test_a_result_knows_which_node_measured_each_block(two_nodes: Comparison) -> None:
    assert two_nodes.nodes == {1: "n1", 2: "n2", 3: "n1", 4: "n2"}
    assert list(two_nodes.hosts) == ["n1", "n2"]
    (disagree,) = [line for line in doubted(two_nodes) if line.startswith("nodes disagree")]
    assert "nodes disagree: +0.0 % on n1 to +10.0 % on n2" in disagree


def test_boots_of_several_nodes_are_no_reboots(two_nodes: Comparison) -> None:
    assert not [line for line in doubted(two_nodes) if line.startswith("rebooted")]


def test_blocks_without_a_name_are_a_node_beside_others(tmp_path: Path) -> None:
    found = compare.load(on_nodes(tmp_path, "n1", None))
    assert found.nodes == {1: "n1", 2: UNNAMED}


def test_a_fact_of_a_named_host_that_changed_is_said_with_its_name(tmp_path: Path) -> None:
    results = on_nodes(tmp_path, "n1", "n2", "n1", "n2")
    for number, block in enumerate(results.blocks(), start=1):
        path = block.path / "order.json"
        store.write_json(path, store.read_struct(path, Json) | {"started_unix_ns": number * 10})
    before = structs.replace(HOST, boot_id="boot of n1", since_unix_ns=1)
    results.write_host_of("n1", before)
    after = structs.replace(before, swap_bytes=1, since_unix_ns=25)
    results.write_host_of("n1", after, changed=True)
    (said,) = [line for line in doubted(compare.load(results)) if line.startswith("changed host")]
    assert said == "changed host: n1 between blocks bytes of swap was 0 in block 1 and 1 in block 3"


def test_an_export_has_the_node_of_each_step_and_what_each_found(tmp_path: Path) -> None:
    frames = dbdyno.read(on_nodes(tmp_path, "n1", "n2", None).folder)
    steps = frames.steps[frames.steps["step"] == "qr100"]
    assert {(row.block, row.node) for row in steps.itertuples() if row.block < 3} == {
        (1, "n1"),
        (2, "n2"),
    }
    assert steps[steps["block"] == 3]["node"].isna().all()
    found = frames.nodes
    its = found[(found["step"] == "qr100") & (found["metric"] == "qps")]
    assert [(row.node, row.blocks, round(row.ratio, 3)) for row in its.itertuples()] == [
        ("n1", 1, 1.0),
        ("n2", 1, 1.1),
        (UNNAMED, 1, 1.0),
    ]
    assert set(its["agreement"]) == {"open"} and its["p"].isna().all()
    assert set(its["freedom"]) == {2}


def test_a_history_sets_nodes_beside_the_same_nodes_alone(tmp_path: Path) -> None:
    def key(place: str, *names: str | None) -> str:
        found = work.index("a", on_nodes(tmp_path / place, *names))
        (its,) = {trace.work.host_key for trace in found.traces}
        return its

    def facts(place: str) -> Results:
        made = on_nodes(tmp_path / place, "n1", "n2")
        made.write_host_of("n2", structs.replace(HOST, hostname_hash="another"))
        return made

    assert key("a", "n1") == key("b", None), "hosts of one name's hash and kind are one"
    both = work.index("both", facts("c"))
    assert {trace.work.host_key for trace in both.traces} != {key("d", "n1")}
    assert {trace.work.host for trace in both.traces} == {
        f"2 nodes of Example CPU, ? CPUs, host {(both.host.hostname_hash or '')[:6]}"
    }


def test_a_result_of_unlike_nodes_is_no_earlier_one_of_this_machine(tmp_path: Path) -> None:
    made = on_nodes(tmp_path, "n1", "n2")
    assert is_of_machine(made, HOST)
    made.write_host_of("n2", structs.replace(HOST, kernel="6.13.0"))
    assert not is_of_machine(made, HOST)


def test_nodes_of_another_kind_are_a_doubt() -> None:
    other = structs.replace(HOST, kernel="6.13.0", memory_bytes=4 << 30)
    plain = {"n1": HOST, "n2": HOST, "n10": other}
    found = host_changes.unlike(plain, ["n10", "n1", "n2", "unnamed"])
    assert [str(doubt) for doubt in found] == [
        "unlike nodes: memory is 8.0 GiB on n1, n2 and 4.0 GiB on n10; "
        "kernel is 6.12.0 on n1, n2 and 6.13.0 on n10"
    ]
    assert list(host_changes.unlike(plain, ["n1", "n2"])) == []


def test_damaged_facts_of_a_host_are_named_and_the_rest_is_shown(tmp_path: Path) -> None:
    results = on_nodes(tmp_path, "n1", "n2")
    (results.folder / "hosts" / "n1.json").write_text("{")
    found = compare.load(results)
    assert found.hosts == {}
    assert any("hosts/n1.json: is not JSON" in line for line in doubted(found))
