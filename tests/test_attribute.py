"""Two arms become a plan whose arms mix what they differ in; what cannot be taken apart."""

import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

from dbdyno import plan as plans
from dbdyno.model import Plan
from dbdyno.model.attribution import Design, DesignKind
from dbdyno.model.error import DynoError, PlanError
from dbdyno.model.size import Capacity
from dbdyno.plan import attribute as attributes
from dbdyno.plan.attribute import Sides

HOST = Capacity(cores=8, memory_bytes=32 << 30, free_disk_bytes=500 << 30)
NUMBERS = {"16": 160010, "17": 170006, "18": 180001}
WORKLOAD = '[workload]\nname = "sysbench"\nsteps = ["point-query"]\nparameters = { clients = 1 }\n'
FILE = Path("/plans/mine.toml")


def source(base: str, arm: str, rest: str = WORKLOAD) -> Plan:
    return plans.parse(f"[arms.old]\n{base}\n[arms.new]\n{arm}\n{rest}", FILE)


def sides(base: str, arm: str) -> Sides:
    old, new = source(base, arm).arms
    known = {one.name: NUMBERS.get(one.version or "", 170006) for one in (old, new)}
    return Sides(base=old, arm=new, version_nums=known, host={"old": HOST, "new": HOST})


def factors(base: str, arm: str, *together: list[str]) -> dict[str, tuple[str, str]]:
    """The values of each factor by its name."""
    return {one.name: one.values for one in attributes.exchanges(sides(base, arm), together)}


def made(base: str, arm: str, *, rest: str = WORKLOAD, kind: DesignKind | None = None) -> Plan:
    """The plan of the design, read back from its text."""
    its = sides(base, arm)
    design, arms = attributes.designed(its, attributes.exchanges(its), kind)
    of = attributes.AttributedPlan(plan=source(base, arm, rest), command="dyno attribute mine.toml")
    return plans.parse(attributes.text_of(of, design, arms), FILE.with_name("made.toml"))


def design_of(plan: Plan) -> Design:
    assert plan.attribution is not None
    return plan.attribution


def settings(plan: Plan, name: str) -> Mapping[str, str]:
    return next(arm.settings for arm in plan.arms if arm.name == name)


# --- Factors ---------------------------------------------------------------------------------


def test_settings_and_the_version_are_factors_the_version_last() -> None:
    found = factors(
        'version = "17"\nsettings = { jit = true, work_mem = "4MB" }',
        'version = "18"\nsettings = { work_mem = "64MB", jit = "on", fsync = false }',
    )
    assert found == {
        "work_mem": ("4MB", "64MB"),
        "fsync": ("unset", "off"),
        "version": ("17", "18"),
    }


def test_presets_are_compared_as_the_settings_of_each_version() -> None:
    found = factors(
        'version = "17"\nconfig = "x10a_c8r32"', 'version = "18"\nconfig = "x10b_c8r32"'
    )
    assert found == {
        "vacuum_buffer_usage_limit": ("256MB", "unset"),
        "io_method": ("unset", "sync"),
        "version": ("17", "18"),
    }


def test_one_preset_differs_between_versions_where_it_leaves_a_setting_out() -> None:
    found = factors(
        'version = "16"\nconfig = "x10a_c8r32"', 'version = "17"\nconfig = "x10a_c8r32"'
    )
    assert list(found) == ["vacuum_buffer_usage_limit", "version"]


def test_version_and_recipe_are_exchanged_apart_and_a_folder_as_a_whole() -> None:
    found = factors('version = "17"', 'version = "18"\nbuild = "o2nofp"')
    assert found == {"build": ("prebuilt", "o2nofp"), "version": ("17", "18")}
    assert list(factors('base_dir = "/opt/a"', 'base_dir = "/opt/b"')) == ["server"]


def test_environment_limits_and_sizes_of_presets_are_factors() -> None:
    found = factors(
        'version = "17"\nconfig = "x10a"\nmemory = "8GB"\nenvironment = { A = "1" }',
        'version = "17"\nconfig = "x10a"\nmemory = "16GB"\nmemory_max = "20GB"',
    )
    assert {"shared_buffers", "max_wal_size", "A", "memory_max"} <= set(found)
    assert found["A"] == ("1", "unset")


def test_factors_are_joined_by_their_names() -> None:
    texts = ('version = "17"', 'version = "18"\nsettings = { a = 1, b = 2, c = 3 }')
    assert list(factors(*texts, ["a", "c"])) == ["b", "c+a", "version"]
    with pytest.raises(PlanError, match=r"^--together: no factor `d`"):
        factors(*texts, ["a", "d"])


def test_factors_that_are_joined_are_exchanged_at_once() -> None:
    its = sides('version = "17"', 'version = "17"\nsettings = { a = 1, b = 2, c = 3 }')
    design, arms = attributes.designed(its, attributes.exchanges(its, [["a", "c"]]))
    assert [dict(arm.settings) for arm in arms] == [
        {},
        {"b": "2"},
        {"c": "3", "a": "1"},
        {"a": "1", "b": "2", "c": "3"},
    ]
    assert [one.name for one in design.factors] == ["b", "c+a"]


# --- Designs ---------------------------------------------------------------------------------


def many(count: int) -> tuple[str, str]:
    """Two arms that differ in so many settings."""
    named = ", ".join(f"s{number} = {number}" for number in range(count))
    return 'version = "17"', f'version = "17"\nsettings = {{ {named} }}'


@pytest.mark.parametrize(
    ("count", "kind", "arms"),
    [
        (2, "factorial", 4),
        (3, "factorial", 8),
        (4, "one at a time", 5),
        (6, "one at a time", 7),
        (11, "one at a time", 12),
    ],
)
def test_the_design_follows_from_the_number_of_factors(count: int, kind: str, arms: int) -> None:
    plan = made(*many(count))
    shown = [arm for arm in plan.arms if arm.shown]
    assert (design_of(plan).kind, len(shown)) == (kind, arms)
    assert len({frozenset(arm.settings.items()) for arm in shown}) == arms
    for arm in shown:
        values = design_of(plan).values[arm.name]
        assert set(arm.settings) == {f"s{place}" for place, one in enumerate(values) if one}


def test_another_design_is_asked_for() -> None:
    assert design_of(made(*many(3), kind="one at a time")).kind == "one at a time"
    with pytest.raises(PlanError, match="differ in 4 factors, and this design takes 3 at most"):
        made(*many(4), kind="factorial")


def test_a_setting_that_only_one_version_knows_is_exchanged_with_the_version() -> None:
    plan = made('version = "17"\nconfig = "x10a_c8r32"', 'version = "18"\nconfig = "x10b_c8r32"')
    design = design_of(plan)
    assert [one.name for one in design.factors] == [
        "vacuum_buffer_usage_limit",
        "version+io_method",
    ]
    assert design.factors[1].arm == "18 (with io_method)"
    late = next(arm for arm in plan.arms if design.values[arm.name] == (0, 1))
    assert (late.version, late.config) == ("18", "x10b_c8r32")
    assert dict(late.settings) == {"vacuum_buffer_usage_limit": "256MB"}
    early = next(arm for arm in plan.arms if design.values[arm.name] == (1, 0))
    assert (early.version, early.config) == ("17", None), "no preset of 17 is without the setting"
    assert early.settings["autovacuum_work_mem"] == "256MB"
    assert "vacuum_buffer_usage_limit" not in early.settings


def test_one_at_a_time_such_a_setting_comes_after_the_version() -> None:
    texts = 'version = "17"\nconfig = "x10a_c8r32"', 'version = "18"\nconfig = "x10b_c8r32"'
    design = design_of(made(*texts, kind="one at a time"))
    names = [one.name for one in design.factors]
    assert names == ["vacuum_buffer_usage_limit", "version", "io_method"]
    back = design_of(made(*reversed(texts), kind="one at a time"))
    assert back.factors[0].name == "io_method"


def test_the_two_arms_stay_as_they_are_and_a_preset_stays_where_it_can() -> None:
    plan = made(
        'version = "17"\nconfig = "x10a"\nmemory = "8GB"',
        'version = "17"\nconfig = "x10a"\nmemory = "8GB"\nsettings = { jit = true, fsync = false }',
    )
    assert [arm.config for arm in plan.arms] == ["x10a"] * 4
    assert [dict(arm.settings) for arm in plan.arms] == [
        {},
        {"jit": "on"},
        {"fsync": "off"},
        {"jit": "on", "fsync": "off"},
    ]
    assert [arm.name for arm in plan.arms] == ["old", "old+jit", "old+fsync", "new"]


def test_arms_are_named_by_what_is_changed_in_them() -> None:
    names = [arm.name for arm in made(*many(3)).arms]
    assert names[:4] == ["old", "old+s0", "old+s1", "old+s0+s1"]
    long = ", ".join(f"a_setting_with_a_long_name{number} = 1" for number in range(4))
    texts = 'version = "17"', f'version = "17"\nsettings = {{ {long} }}'
    named = [arm.name for arm in made(*texts).arms]
    assert named[1:3] == ["old+a_setting_with_a_long_name0", "old..a_setting_with_a_long_name1"]


# --- The plan --------------------------------------------------------------------------------


def test_all_else_is_as_in_the_plan() -> None:
    rest = f"""
[schedule]
blocks = "until decided"
minutes_max = 10
[schedule.void]
foreign = 0.5
[[hooks]]
when = "before-run"
command = ["true"]
arms = ["old", "new"]
{WORKLOAD}
"""
    plan = made(*many(2), rest=rest)
    assert plan.schedule.until_decided and plan.schedule.minutes_max == 20, "twice as many arms"
    assert plan.schedule.void.foreign == 0.5
    assert [hook.arms for hook in plan.hooks] == [None]
    assert plan.workloads[0].steps == ("point-query",)


@pytest.mark.parametrize(
    ("base", "arm", "rest", "said"),
    [
        ('version = "17"', 'version = "17"', WORKLOAD, "differ in nothing"),
        ('version = "17"', 'version = "18"', WORKLOAD, "differ in `version` alone"),
        ('version = "17"', 'engine = "mysql"\nversion = "9.7"', WORKLOAD, "engines postgres and"),
        (
            'version = "17"',
            'dsn = "postgresql://u@h/d"',
            WORKLOAD,
            r"arms\.new\.dsn: a server that",
        ),
        (
            *many(2),
            f'[[hooks]]\nwhen = "before-run"\ncommand = ["true"]\narms = ["new"]\n{WORKLOAD}',
            r"key `hooks\[1\]\.arms`: a hook of one of the two arms cannot be exchanged",
        ),
    ],
)
def test_what_cannot_be_taken_apart_is_one_line(base: str, arm: str, rest: str, said: str) -> None:
    with pytest.raises(PlanError, match=said) as caught:
        made(base, arm, rest=rest)
    assert "\n" not in str(caught.value)


# --- `[attribute]` by hand -------------------------------------------------------------------

TABLE = """
[attribute]
base = "old"
arm = "new"
design = "one at a time"
factors = [{ name = "a", base = "1", arm = "2" }, { name = "b", base = "1", arm = "2" }]
values = { old = [0, 0], mid = [1, 0], new = [1, 1] }
"""


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        ("mid = [1, 0]", "mix = [1, 0]", "key `attribute.values`: no arm `mix`; did you mean"),
        ("mid = [1, 0]", "mid = [1]", "key `attribute.values.mid`: must be 0 or 1 for each of the"),
        ("old = [0, 0]", "old = [0, 1]", "key `attribute.values.old`: must be 0 for each factor"),
        ("mid = [1, 0], ", "", "cannot tell the factors apart"),
        ('base = "old"', 'base = "odd"', "key `attribute.base`: `odd` has no line"),
        ('name = "b"', 'name = "a"', "`a` is listed twice"),
        ('"one at a time"', '"all"', "attribute.design"),
    ],
)
def test_a_design_that_tells_nothing_is_refused(was: str, now: str, said: str) -> None:
    arms = "".join(
        f'[arms.{name}]\nengine = "fake"\nfake = {{ default_us = 100 }}\n'
        for name in ("old", "mid", "new")
    )
    assert plans.parse(arms + WORKLOAD + TABLE, FILE).attribution is not None
    assert was in TABLE
    with pytest.raises(DynoError) as caught:
        plans.parse(arms + WORKLOAD + TABLE.replace(was, now), FILE)
    assert said in str(caught.value) and str(caught.value).startswith(str(FILE))


def test_the_text_is_toml_that_says_by_what_it_was_made() -> None:
    its = sides(*many(2))
    design, arms = attributes.designed(its, attributes.exchanges(its))
    of = attributes.AttributedPlan(plan=source(*many(2)), command="dyno attribute x.toml", blocks=4)
    text = attributes.text_of(of, design, arms)
    assert text.startswith("# Made by: dyno attribute x.toml\n")
    assert tomllib.loads(text)["schedule"] == {"blocks": 4}
