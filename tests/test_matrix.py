"""An arm with a matrix: the arms that it stands for, their names and order, and what is refused."""

from pathlib import Path

import pytest

from dbdyno import plan
from dbdyno.model import Plan
from dbdyno.model.error import PlanError
from dbdyno.plan import matrix
from dbdyno.plan.schema import ArmForm

WORKLOAD = """
[[workloads]]
name = "sysbench"
"""
STUDY = """
[arms.postgres]
version = "17"
config = "x10a"
matrix = { wal_compression = ["off", "pglz", "lz4"], full_page_writes = [true, false], \
synchronous_commit = [true, false] }
"""
MYSQL = ArmForm(
    engine="mysql",
    base_dir="/opt/mysql",
    config="z12a",
    matrix={
        "tags": [["bl0", "bl1"], ["sync0", "sync1"]],
        "innodb_doublewrite": ["DETECT_ONLY", "OFF", "ON"],
    },
)


def parse(text: str) -> Plan:
    return plan.parse(text, Path("/plans/p.toml"))


def complaint(text: str) -> str:
    with pytest.raises(PlanError) as raised:
        parse(text)
    assert "\n" not in str(raised.value)
    return str(raised.value)


def written(plan: Plan) -> list[str]:
    return [arm.name for arm in plan.arms if arm.same_as is None]


def test_the_matrix_of_postgresql_has_the_published_names_in_the_published_order():
    made = parse(STUDY + WORKLOAD)
    assert written(made) == [
        "sync0_comp0_fpi0", "sync0_comp0_fpi1", "sync0_comp1_fpi0", "sync0_comp1_fpi1",
        "sync0_compLZ4_fpi0", "sync0_compLZ4_fpi1",
        "sync1_comp0_fpi0", "sync1_comp0_fpi1", "sync1_comp1_fpi0", "sync1_comp1_fpi1",
        "sync1_compLZ4_fpi0", "sync1_compLZ4_fpi1",
    ]  # fmt: skip
    assert made.base == "sync0_comp0_fpi0"
    arm = next(arm for arm in made.arms if arm.name == "sync1_comp1_fpi0")
    assert (arm.config, arm.version) == ("x10a", "17")
    assert dict(arm.settings) == {
        "wal_compression": "pglz",
        "full_page_writes": "off",
        "synchronous_commit": "on",
    }


def test_the_matrix_of_mysql_has_the_published_names_in_the_published_order():
    made = matrix.expanded({"mysql": MYSQL}, "p.toml")
    assert list(made) == [
        "bl0_sync0_dw0", "bl0_sync0_dw1", "bl0_sync0_dwDO",
        "bl0_sync1_dw0", "bl0_sync1_dw1", "bl0_sync1_dwDO",
        "bl1_sync0_dw0", "bl1_sync0_dw1", "bl1_sync0_dwDO",
        "bl1_sync1_dw0", "bl1_sync1_dw1", "bl1_sync1_dwDO",
    ]  # fmt: skip
    last = made["bl1_sync1_dwDO"]
    assert last.config == "z12a_bl1_sync1"
    assert dict(last.settings) == {"innodb_doublewrite": "DETECT_ONLY"}


def test_a_base_may_be_a_combination_and_has_hidden_aa_arms_among_many_arms():
    made = parse('base = "sync0_comp0_fpi1"\n' + STUDY + WORKLOAD)
    assert made.base == "sync0_comp0_fpi1"
    assert [arm.name for arm in made.arms if arm.same_as is not None] == [
        "sync0_comp0_fpi1.again2",
        "sync0_comp0_fpi1.again3",
    ]


def test_beside_other_arms_the_combinations_have_the_arm_before_their_names():
    made = parse(
        '[arms.old]\nversion = "12"\n'
        '[arms.new]\nversion = "17"\nmatrix = { jit = [true, false], work_mem = ["4MB", "1GB"] }\n'
        + WORKLOAD
    )
    assert written(made) == [
        "old",
        "new_jit-on_work_mem-4MB",
        "new_jit-on_work_mem-1GB",
        "new_jit-off_work_mem-4MB",
        "new_jit-off_work_mem-1GB",
    ]
    assert dict(made.arms[1].settings) == {"jit": "on", "work_mem": "4MB"}


def test_settings_of_the_arm_hold_for_all_combinations():
    made = parse(
        '[arms.a]\nversion = "17"\nsettings = { work_mem = "8MB" }\nmatrix = { jit = [true] }\n'
        + WORKLOAD
    )
    assert dict(made.arms[0].settings) == {"work_mem": "8MB", "jit": "on"}


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ("{}", "key `arms.a.matrix`: is empty"),
        ("{ jit = [] }", "key `arms.a.matrix.jit`: must be a list of values"),
        ("{ jit = [[true]] }", "key `arms.a.matrix.jit`: must be a list of values"),
        ("{ jit = true }", "key `arms.a.matrix.jit`: must be a list, not true"),
        ('{ jit = [true, "on"] }', "True and 'on' are the same; keep one"),
        ('{ wal_compression = [true, "pglz"] }', "True and 'pglz' are the same; keep one"),
        ("{ work_mem = [1] }", "`work_mem` is among the arm's `settings`, too; keep one"),
        ('{ "a b" = [1] }', "'a b' cannot be a setting's name"),
        ('{ tags = [["wm4", "wm4"]] }', "must be lists of different tags"),
        ('{ tags = [["wn4"]] }', "no tag `_wn4`; did you mean `wm4`?"),
        ('{ tags = [["bl0"]] }', "`_bl0` is a tag of mysql and mariadb, not of postgres"),
        ('{ cost = ["1/2", "1-2"] }', "two arms would have the name `cost-1-2`"),
    ],
)
def test_a_matrix_that_cannot_be_is_one_line(grid: str, message: str):
    head = '[arms.a]\nversion = "17"\nconfig = "x10a"\nsettings = { work_mem = "8MB" }\n'
    said = complaint(f"{head}matrix = {grid}\n{WORKLOAD}")
    assert said.startswith("/plans/p.toml: key `")
    assert message in said


def test_tags_need_a_preset():
    said = complaint(
        '[arms.a]\nversion = "17"\nmatrix = { tags = [["sync0", "sync1"]] }\n' + WORKLOAD
    )
    assert said.endswith(
        "key `arms.a.matrix.tags`: tags belong to a preset; name one under `config`"
    )


def test_the_fake_engine_has_no_matrix():
    said = complaint('[arms.a]\nengine = "fake"\nfake = {}\nmatrix = { jit = [true] }\n' + WORKLOAD)
    assert 'key `arms.a.matrix`: engine "fake" has no settings; remove it' in said


def test_more_than_200_arms_are_asked_about():
    values = ", ".join(map(str, range(201)))
    text = f'[arms.a]\nversion = "17"\nmatrix = {{ work_mem = [{values}] }}\n{WORKLOAD}'
    assert complaint(text) == (
        "/plans/p.toml: key `arms`: the plan has 201 arms; pass --yes to allow more than 200"
    )
    assert len(written(plan.parse(text, None, arms_max=None))) == 201


def test_a_matrix_too_large_to_be_made_is_counted_not_made():
    axes = ", ".join(f"s{number} = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]" for number in range(12))
    said = complaint(f'[arms.a]\nversion = "17"\nmatrix = {{ {axes} }}\n{WORKLOAD}')
    assert "the plan has 1000000000000 arms" in said
