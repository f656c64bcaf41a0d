"""The result folder: what is written survives, what belongs to another plan is refused."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import result_builder
from dbdyno import store
from dbdyno.evidence.evidence import NO_JOB
from dbdyno.model import Arm, Block, Json, Plan, Schedule, events
from dbdyno.model.error import ResultError
from dbdyno.model.host_facts import HostFacts
from dbdyno.store import Results


def a_plan(blocks: int = 3, arms: tuple[str, ...] = ("pg17", "pg18")) -> tuple[Plan, Json]:
    plan = result_builder.make_plan("example", arms, blocks)
    return plan, result_builder.plan_json(plan)


def a_block(number: int, order: tuple[str, ...] = ("pg17", "pg18")) -> Block:
    return Block(number=number, order=order, seed=number)


def measured(results: Results) -> Results:
    """The same with its first block complete."""
    results.begin_block(a_block(1))
    results.end_block(1)
    return results


def begun(tmp_path: Path, blocks: int = 3) -> Results:
    return Results.open_or_create(tmp_path, *a_plan(blocks))


# --- Files -----------------------------------------------------------------------------------


def test_an_object_is_replaced_whole_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    store.write_json(path, {"a": 1})
    store.write_json(path, {"a": "größer"})
    assert store.read_struct(path, Json) == {"a": "größer"}
    assert os.listdir(tmp_path) == ["a.json"]


def test_an_object_that_cannot_be_json_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    store.write_json(path, {"a": 1})
    with pytest.raises(ValueError):
        store.write_json(path, {"a": float("nan")})
    assert store.read_struct(path, Json) == {"a": 1}


def test_lines_come_back_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    with store.JsonLines(path) as lines:
        lines.write({"a": 1})
        lines.write_raw('{"b": "ä"}\n')
        lines.write_raw(b'{"c": 3}\r\n')
    assert list(store.read_structs(path, Json)) == [{"a": 1}, {"b": "ä"}, {"c": 3}]
    assert path.read_bytes().count(b"\n") == 3


def test_lines_are_appended_where_they_go_on_and_never_rewritten(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    for number in range(2):
        with store.JsonLines(path, goes_on=True) as lines:
            lines.write({"number": number})
    assert list(store.read_structs(path, Json)) == [{"number": 0}, {"number": 1}]
    with pytest.raises(FileExistsError):
        store.JsonLines(path)


@pytest.mark.parametrize(
    "torn", [b'{"mono_ns": 2, "ki', b'{"mono_ns"', b"{", b"\x00\x00\x00", b"\xc3"]
)
def test_a_last_line_that_was_cut_off_is_passed_over(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_bytes(b'{"mono_ns": 1}\n' + torn)
    assert list(store.read_structs(path, Json)) == [{"mono_ns": 1}]


def test_a_damaged_line_in_the_middle_is_an_error_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_bytes(b'{"a": 1}\n{"a": \n{"a": 3}\n')
    with pytest.raises(ResultError, match=r"lines\.jsonl:2: "):
        list(store.read_structs(path, Json))


def test_a_file_of_lines_that_is_missing_has_none(tmp_path: Path) -> None:
    assert list(store.read_structs(tmp_path / "no.jsonl", Json)) == []


def test_lines_survive_a_kill_of_the_process_that_wrote_them(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    code = (
        "import os, signal, sys; from pathlib import Path; from dbdyno.store import JsonLines\n"
        "lines = JsonLines(Path(sys.argv[1]))\n"
        "for number in range(100): lines.write({'number': number})\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    ended = subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert [line["number"] for line in store.read_structs(path, Json)] == list(range(100))


# --- Opening ---------------------------------------------------------------------------------


def test_a_new_folder_is_named_like_the_plan(tmp_path: Path) -> None:
    results = begun(tmp_path)
    assert results.folder == tmp_path / "example"
    assert Results.open(results.folder).plan == results.plan
    assert results.plan_json()["format"] == store.FORMAT


def test_what_is_no_result_folder_is_refused_in_one_line(tmp_path: Path) -> None:
    for folder in (tmp_path / "no", tmp_path):
        with pytest.raises(ResultError) as error:
            Results.open(folder)
        assert str(folder) in str(error.value)
        assert "\n" not in str(error.value)


def test_the_parent_of_a_result_folder_gets_a_hint(tmp_path: Path) -> None:
    begun(tmp_path)
    with pytest.raises(ResultError, match=r"did you mean .*example"):
        Results.open(tmp_path)


def test_a_folder_of_another_format_is_refused(tmp_path: Path) -> None:
    folder = begun(tmp_path).folder
    plan = store.read_struct(folder / "plan.json", Json)
    store.write_json(folder / "plan.json", {**plan, "format": 99})
    with pytest.raises(ResultError, match="`format` is 99"):
        Results.open(folder)


def test_a_folder_with_foreign_files_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "example").mkdir()
    (tmp_path / "example" / "thesis.tex").write_text("x")
    with pytest.raises(ResultError, match="not empty"):
        begun(tmp_path)


def test_facts_of_an_earlier_boot_are_kept(tmp_path: Path) -> None:
    results = begun(tmp_path)
    assert results.host() is None
    for boot, kernel in (("a", "6.1"), ("a", "6.1"), ("b", "6.2")):
        results.write_host(HostFacts(boot_id=boot, kernel=kernel))
    assert results.host() == HostFacts(boot_id="b", kernel="6.2")
    assert store.read_struct(results.folder / "host.001.json", Json)["kernel"] == "6.1"
    assert not (results.folder / "host.002.json").exists()


# --- Going on --------------------------------------------------------------------------------


def test_the_same_plan_goes_on_without_a_trace(tmp_path: Path) -> None:
    folder = begun(tmp_path).folder
    plan, plan_json = a_plan()
    Results.open_or_create(tmp_path, plan, {**plan_json, "created_unix_ns": 5, "dyno": "9.9"})
    assert sorted(os.listdir(folder)) == ["plan.json"]


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"seed": 7}, "`seed` is 7 now and was 1"),
        (
            {"schedule": {"blocks": 3, "interleave": "step", "checkpoint": None}},
            "schedule.interleave",
        ),
        ({"workloads": []}, "`workloads`"),
        ({"generator": {"threads": 2}}, r"`generator\.threads` is 2 now and was null"),
        ({"arms": []}, r"`arms\.pg17` is gone"),
    ],
)
def test_a_changed_plan_is_refused_with_the_key(tmp_path: Path, change: Json, key: str) -> None:
    measured(begun(tmp_path))
    plan, plan_json = a_plan()
    with pytest.raises(ResultError, match=key) as error:
        Results.open_or_create(tmp_path, plan, {**plan_json, **change})
    assert "another --out" in str(error.value)


def test_a_folder_whose_plan_lacks_a_newer_table_goes_on_with_its_defaults(tmp_path: Path) -> None:
    begun(tmp_path)
    plan, plan_json = a_plan()
    generator = {"generator": {"threads": None}}
    assert Results.open_or_create(tmp_path, plan, {**plan_json, **generator}).plan_json()[
        "generator"
    ]


def test_a_changed_arm_and_a_changed_parameter_are_refused(tmp_path: Path) -> None:
    measured(begun(tmp_path))
    plan, plan_json = a_plan()
    changed = json.loads(json.dumps(plan_json))
    changed["arms"][1]["settings"] = {"work_mem": "8MB"}
    with pytest.raises(
        ResultError, match=r"arms\.pg18\.settings\.work_mem` is \"8MB\" now and was null"
    ):
        Results.open_or_create(tmp_path, plan, changed)
    changed = json.loads(json.dumps(plan_json))
    changed["workloads"][0]["parameters"]["clients"] = 4
    with pytest.raises(
        ResultError, match=r"workloads\[0\]\.parameters\.clients` is 4 now and was 2"
    ):
        Results.open_or_create(tmp_path, plan, changed)


def test_where_nothing_was_measured_another_plan_goes_on_and_the_old_one_is_kept(tmp_path: Path):
    results = begun(tmp_path)
    results.begin_block(a_block(1))  # which was broken off
    plan, plan_json = a_plan()
    (use,) = plan_json["workloads"]
    programs = {"programs": {"restore": "of another client"}}
    other = {**plan_json, "seed": 7, "workloads": [{**use, **programs}]}
    assert Results.open_or_create(tmp_path, plan, other).plan_json()["seed"] == 7
    assert store.read_struct(results.folder / "plan.001.json", Json)["seed"] == 1
    results.end_block(1)
    with pytest.raises(ResultError, match="`seed` is 1 now and was 7"):
        Results.open_or_create(tmp_path, plan, plan_json)


def test_more_blocks_go_on_in_the_same_folder_and_the_old_plan_is_kept(tmp_path: Path) -> None:
    folder = begun(tmp_path, blocks=3).folder
    results = Results.open_or_create(tmp_path, *a_plan(blocks=6))
    assert results.plan.blocks == 6
    assert store.read_struct(folder / "plan.001.json", Json)["blocks"] == 3
    Results.open_or_create(tmp_path, *a_plan(blocks=8))
    assert store.read_struct(folder / "plan.002.json", Json)["blocks"] == 6


def test_fewer_blocks_are_refused_only_where_they_would_drop_one_that_was_begun(tmp_path: Path):
    results = measured(begun(tmp_path, blocks=5))
    results.begin_block(a_block(2))
    assert Results.open_or_create(tmp_path, *a_plan(blocks=2)).plan.blocks == 2
    with pytest.raises(ResultError, match="`blocks` is 1 now, but block 2 was begun"):
        Results.open_or_create(tmp_path, *a_plan(blocks=1))


def test_a_further_arm_makes_new_blocks(tmp_path: Path) -> None:
    results = begun(tmp_path, blocks=2)
    for number in (1, 2):
        results.begin_block(a_block(number))
        results.end_block(number)
    plan, plan_json = a_plan(blocks=2, arms=("pg17", "pg18", "pg16"))
    assert results.numbers(a_plan(blocks=2)[0]) == (1, 2)
    results = Results.open_or_create(tmp_path, plan, plan_json)
    assert results.numbers(plan) == (3, 4)
    results.begin_block(a_block(3, ("pg16", "pg17", "pg18")))
    results.end_block(3)
    assert results.numbers(plan) == (3, 4)
    more = replace(plan, schedule=Schedule(blocks=3))
    assert results.numbers(more) == (3, 4, 5)


def test_hidden_aa_arms_make_no_new_blocks(tmp_path: Path) -> None:
    results = begun(tmp_path, blocks=1)
    results.begin_block(a_block(1))
    results.end_block(1)
    plan, _ = a_plan(blocks=1, arms=("pg17", "pg18", "pg17.again2"))
    *arms, again = plan.arms
    again = replace(again, same_as="pg17", shown=False)
    assert results.numbers(replace(plan, arms=(*arms, again))) == (1,)


# --- Blocks ----------------------------------------------------------------------------------


def test_a_block_is_missing_then_broken_then_done(tmp_path: Path) -> None:
    results = begun(tmp_path)
    assert results.block_state(1) == "missing"
    results.begin_block(a_block(1, ("pg18", "pg17")))
    assert results.block_state(1) == "broken"
    results.end_block(1)
    assert results.block_state(1) == "done"
    (block,) = results.blocks()
    assert block.arms() == ("pg18", "pg17")
    assert block.order().seed == 1
    assert block.name == "block 1"


def test_a_block_whose_voiding_was_broken_off_is_not_done_and_keeps_its_reason(tmp_path: Path):
    results = begun(tmp_path)
    results.begin_block(a_block(1))
    results.end_block(1)
    store.write_json(
        results.folder / "blocks" / "001" / "void.json", {"reason": "swap", "cause": "swap"}
    )
    assert results.block_state(1) == "broken"
    results.void_block(1, "broken off")
    assert results.block_state(1) == "missing"
    assert [(block.reason, block.cause) for block in results.blocks()] == [("swap", "swap")]


def test_a_block_is_not_begun_twice(tmp_path: Path) -> None:
    results = begun(tmp_path)
    results.begin_block(a_block(1))
    with pytest.raises(FileExistsError):
        results.begin_block(a_block(1))


def test_blocks_beyond_a_hundred_sort_by_number(tmp_path: Path) -> None:
    results = begun(tmp_path)
    for number in (1000, 2, 999):
        results.begin_block(a_block(number))
    assert [block.number for block in results.blocks()] == [2, 999, 1000]


def test_steps_have_ordinals_and_safe_names(tmp_path: Path) -> None:
    results = begun(tmp_path)
    results.begin_block(a_block(1))
    planted = result_builder.plant("qr100")
    step = result_builder.make_step("qr100", planted)
    folder = results.step_folder(1, "pg17", step)
    assert folder == results.folder / "blocks/001/pg17/insert-benchmark/06-qr100"
    odd = replace(step, ordinal=12, name="point-query@clients=16,rate=0", workload="../own/w.toml")
    folder = results.step_folder(1, "pg17", odd)
    assert folder.name == "12-point-query@clients=16,rate=0"
    assert folder.is_relative_to(results.folder / "blocks/001/pg17")
    assert len(folder.relative_to(results.folder / "blocks/001/pg17").parts) == 2
    (run,) = results.blocks()[0].runs()
    assert {(found.ordinal, found.name) for found in run.steps()} == {
        (6, "qr100"),
        (12, "point-query@clients=16,rate=0"),
    }


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", ".hidden", "a b", "ä", "\x00"])
def test_a_name_is_made_safe_for_a_folder(name: str) -> None:
    safe = store.safe_name(name)
    assert safe not in ("", ".", "..")
    assert not safe.startswith(".")
    assert not set(safe) & set("/\x00 ")
    assert store.safe_name(name + "x") != safe


def test_a_whole_example_is_read_back(tmp_path: Path) -> None:
    folder = result_builder.build(tmp_path, blocks=1, steps=("l.i0", "qr100"))
    (block,) = Results.open(folder).blocks()
    steps = [step for run in block.runs() for step in run.steps()]
    assert [(step.arm, step.name) for step in steps] == [
        ("pg17", "l.i0"), ("pg17", "qr100"), ("pg18", "l.i0"), ("pg18", "qr100"),
    ]  # fmt: skip
    step = steps[1]
    assert step.step().arm == "pg17"
    assert (step.job() or NO_JOB).step == "qr100"
    assert isinstance(next(step.events()), events.HelloEvent)
    assert next(step.host()).moment == "start"
    assert step.before().sizes
    assert step.after().sizes
    assert step.done().window_ns > 0
    assert step.failed() is None
    server = block.runs()[0].server()
    assert server is not None and server.version == "17.6"


def test_an_arm_is_read_with_what_its_plan_says(tmp_path: Path) -> None:
    plan, _ = a_plan()
    arm = Arm(name="pg18", engine="postgres", version="18", settings={"jit": "off"})
    plan = replace(plan, arms=(plan.arms[0], arm))
    results = Results.open_or_create(tmp_path, plan, result_builder.plan_json(plan))
    assert results.plan.arms[1].settings == {"jit": "off"}


def test_facts_of_a_host_that_changed_are_kept(tmp_path: Path) -> None:
    results = begun(tmp_path)
    for swappiness in (60, 1, 60):
        host = HostFacts(boot_id="a", sysctl={"vm.swappiness": swappiness})
        results.write_host(host, changed=results.host() is not None)
    assert [host.sysctl["vm.swappiness"] for host in results.earlier_hosts()] == [60, 1]


def test_a_block_names_the_host_that_measured_it(tmp_path: Path) -> None:
    results = begun(tmp_path)
    for number, host in ((1, "n1"), (2, None)):
        results.begin_block(Block(number=number, seed=1, order=("pg17", "pg18")), host=host)
    assert [block.host for block in results.blocks()] == ["n1", None]


def test_facts_of_named_hosts_are_kept_by_their_names(tmp_path: Path) -> None:
    results = begun(tmp_path)
    assert results.hosts() == {}
    results.write_host_of("n2", HostFacts(boot_id="a", kernel="6.1"))
    results.write_host_of("n1", HostFacts(boot_id="b", kernel="6.2"))
    results.write_host_of("n1", HostFacts(boot_id="b", kernel="6.2"))
    assert list(results.hosts()) == ["n1", "n2"]
    assert results.hosts()["n1"].kernel == "6.2"
    assert results.host() is None, "host.json is another one's"


def test_earlier_facts_of_a_named_host_are_kept(tmp_path: Path) -> None:
    results = begun(tmp_path)
    for boot, swappiness in (("a", 60), ("b", 60), ("b", 1)):
        facts = HostFacts(boot_id=boot, sysctl={"vm.swappiness": swappiness})
        results.write_host_of("n1", facts, changed=swappiness == 1)
    assert results.hosts() == {"n1": HostFacts(boot_id="b", sysctl={"vm.swappiness": 1})}
    earlier = [
        (facts.boot_id, facts.sysctl["vm.swappiness"]) for facts in results.earlier_hosts_of("n1")
    ]
    assert earlier == [("a", 60), ("b", 60)]


def test_a_host_whose_name_ends_in_digits_is_no_earlier_state(tmp_path: Path) -> None:
    results = begun(tmp_path)
    results.write_host_of("10.0.0.101", HostFacts(boot_id="a"))
    assert list(results.hosts()) == ["10.0.0.101"]
    assert results.earlier_hosts_of("10.0.0") == []


def test_damaged_facts_of_a_named_host_are_refused_by_their_file(tmp_path: Path) -> None:
    results = begun(tmp_path)
    results.write_host_of("n1", HostFacts(boot_id="a"))
    (results.folder / "hosts" / "n1.json").write_text("{")
    with pytest.raises(ResultError, match=r"hosts/n1\.json: is not JSON"):
        results.hosts()
