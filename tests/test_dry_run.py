"""What a plan would do, in lines: A/A arms, looks, comparisons, what is sampled."""

from pathlib import Path

import pytest

from dbdyno import plan
from dbdyno.model import Plan
from dbdyno.plan import calibration
from dbdyno.run.check import dry_run, preflight
from server_place import ends

ARM = """
arms.ARM = { engine = "fake", fake = { default_us = 100 } }
"""
WORKLOAD = """
[[workloads]]
name = "insert-benchmark"
parameters = { rows = 1000, seconds = 1 }
steps = ["l.i0"]
"""


def parse(arms: str, more: str) -> Plan:
    text = "".join(ARM.replace("ARM", name) for name in arms)
    return plan.parse(text + WORKLOAD + more, Path("/plans/p.toml"))


def said(made: Plan) -> list[str]:
    lines = dry_run.describe(made, preflight.prepare(made))
    assert all(len(line) <= dry_run.COLUMNS for line in lines)
    return lines


LOADED = [
    ("sysbench", {}, ["hot-points"], ("fill",)),
    ("sysbench", {"fill": "published"}, ["hot-points", "delete"], ("prepare", "vacuum")),
    ("sysbench", {"fill": "published"}, ["prepare", "hot-points"], ()),
    ("insert-benchmark", {}, ["qr100"], ("l.i0", "l.x")),
    ("insert-benchmark", {}, ["l.x", "qr100"], ("l.i0",)),
    ("insert-benchmark", {}, ["l.i0", "qr100"], ()),
]


@pytest.mark.parametrize(("name", "more", "named", "load"), LOADED)
def test_the_load_that_steps_need_comes_by_itself_and_is_said(
    name: str, more: dict[str, str], named: list[str], load: tuple[str, ...]
) -> None:
    use = "".join(f"{key} = {value!r}\n" for key, value in [("name", name), *more.items()])
    text = "".join(ARM.replace("ARM", arm) for arm in "ab")
    made = plan.parse(f"{text}\n[[workloads]]\n{use}steps = {named}\n", Path("/plans/p.toml"))
    lines = list(dry_run.of_workload(made, made.workloads[0], preflight.prepare(made)))
    brought = [line for line in lines if line.endswith("(the load, which `steps` needs)")]
    assert [line.split()[1] for line in brought] == list(load)
    assert {line.split()[1] for line in lines[1:]} == {*load, *named}


def test_steps_that_other_arms_alone_have_are_listed_with_those_arms() -> None:
    made = plan.load(Path(__file__).parent.parent / "dbdyno/plan/shipped/studies/ybio-replica.toml")
    lines = list(dry_run.of_workload(made, made.workloads[0], preflight.prepare(made)))
    steps = [line.split()[1] for line in lines[1:]]
    assert steps == [
        *("call-setup", "call-run", "read-first", "empty-buffers", "read-cold", "read-again")
    ]
    assert [line.endswith(" (followed, joined alone)") for line in lines[1:]] == [
        *(False, False, True, True, True, True)
    ]


def test_aa_arms_are_named_as_what_they_are_and_have_their_place_in_the_order() -> None:
    lines = said(parse("abcde", "[schedule]\naa_arm = true"))
    assert "arm ghost: a once more (A/A), compared with it like any other arm" in lines
    assert "arm a.again2: a once more, so that at most 4 others lie between" in lines
    (block,) = [line for line in lines if line.startswith("block 1: ")]
    assert sorted(block.split()[2:]) == ["a", "a.again2", "b", "c", "d", "e", "ghost"]


def test_a_plan_says_its_looks() -> None:
    lines = said(parse("ab", '[schedule]\nblocks = "until decided"'))
    at = lines.index(
        "looks: after 3, 4, 6, 8, 12, 20 and 30 blocks, until every step is decided, or 2"
    )
    assert lines[at + 1] == "  h 00 min are over"
    assert [line.split(":")[0] for line in lines if line.startswith("block ")] == [
        "block 1", "block 2", "block 3",
    ]  # fmt: skip
    assert any(line.startswith("time: about ") and "up to the first look" in line for line in lines)
    assert not any("minutes_max" in line for line in lines)
    lines = said(parse("ab", "[schedule]\nblocks = 4"))
    assert "looks: after 4 blocks; another after 8, if you raise `blocks`" in lines
    lines = said(parse("ab", ""))
    assert "looks: none, because one block decides nothing; the first is after 2" in lines
    assert not any(line.startswith("looks") for line in said(parse("a", "")))


def test_a_limit_that_is_over_before_the_first_look_is_said() -> None:
    lines = said(parse("abcd", '[schedule]\nblocks = "until decided"\nminutes_max = 1'))
    assert "  minutes_max ends before the first look: raise it" in lines


def test_a_plan_of_calibration_says_its_comparisons() -> None:
    lines = said(calibration.of(parse("ab", "[schedule]\nblocks = 4"), 3, None))
    assert "plan p.calibration" in lines
    assert "comparisons: 3 of 4 blocks" in lines
    assert "block 12: " in "".join(lines)


def test_arms_whose_sessions_cannot_be_sampled_are_named() -> None:
    lines = said(parse("ab", '[observe]\nwaits = "50ms"'))
    assert "waits: sessions are sampled every 50 ms, but not of a, b (engine fake)" in lines
    assert not any("sampled" in line for line in said(parse("ab", "")))
    lines = said(parse("ab", '[observe]\nstatus = "5s"\nindexes = true'))
    assert "status: servers tell their own state every 5 s, but not of a, b (engine fake)" in lines
    assert "indexes: all are read at the end of each run, but not of a, b (engine fake)" in lines


@pytest.mark.live
def test_arms_that_differ_in_settings_alone_are_listed_together() -> None:
    base_dir = ends()[0]
    made = plan.parse(
        f"""
[arms.a]
base_dir = "{base_dir}"
config = "x10a"
memory = "1GB"
matrix = {{ full_page_writes = [true, false], jit = [true, false], work_mem = ["4MB", "8MB"] }}

[[workloads]]
name = "sysbench"
steps = ["fill", "insert"]
""",
        None,
    )
    lines = dry_run.describe(made, preflight.prepare(made))
    assert sum(line.startswith("8 arms: PostgreSQL ") for line in lines) == 1
    assert sum(line.startswith("  config x10a: shared_buffers 737MB") for line in lines) == 1
    assert sum(line.startswith("  shared_buffers is 737MB, not the 23GB") for line in lines) == 1
    assert "  arm fpi0_jit-on_work_mem-4MB (base): full_page_writes = off, jit = on," in lines
    assert not any("the plan's settings" in line for line in lines)
