"""What the arms differ in, and what calls a whole comparison into question."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from dbdyno import store
from dbdyno.analysis import compare
from dbdyno.findings.measured_on import show as measured_on
from dbdyno.judge import differences
from dbdyno.model import Difference, Json
from dbdyno.model.plan_record import ArmRecord
from doubted import doubted
from result_builder import build, make_plan, plan_json, plant, server
from result_planted import Planted

ARMS = ("pg17", "pg18")


def arms_of(plan: Json) -> tuple[ArmRecord, ...]:
    """The arms of a plan.json."""
    return msgspec.convert(plan["arms"], tuple[ArmRecord, ...])


def found(changes: Json, plan_changes: Json | None = None) -> dict[str, Difference]:
    """Differences between a 17 and an 18, where pg18's server.json has `changes`."""
    plan = plan_json(make_plan("example", ARMS, 3))
    plan["arms"][1].update(plan_changes or {})
    servers = {"pg17": server("pg17"), "pg18": server("pg18", **changes)}
    return {its.what: its for its in differences.differences(ARMS, servers, arms_of(plan))}


def same_build(changes: Json, plan_changes: Json | None = None) -> dict[str, Difference]:
    """Differences between two arms of one build, where the second's server.json has `changes`."""
    plan = plan_json(make_plan("example", ARMS, 3))
    plan["arms"][1] = {**plan["arms"][0], "name": "pg18", **(plan_changes or {})}
    servers = {"pg17": server("pg17"), "pg18": server("pg17", **changes)}
    return {its.what: its for its in differences.differences(ARMS, servers, arms_of(plan))}


def with_setting(name: str, value: str) -> Json:
    """pg17's settings with one changed, and said to be no default."""
    facts = server("pg17")
    return {
        "settings": {**(facts.settings or {}), name: value},
        "nondefault": {**(facts.nondefault or {}), name: value},
    }


def test_two_versions_differ_in_what_the_plan_names() -> None:
    its = found({})
    assert set(its) == {
        "version",
        "preset",
        "setting effective_io_concurrency (default)",
        "settings that not all have",
    }
    assert all(difference.planned for difference in its.values())
    assert its["version"].values == {"pg17": "17.6", "pg18": "18.0"}
    assert its["settings that not all have"].values == {"pg17": "none", "pg18": "io_method"}


def test_what_must_differ_is_no_difference() -> None:
    assert same_build({"settings": {**(server("pg17").settings or {}), "port": "6000"}}) == {}


def a_build(name: str, flags: str) -> Json:
    """What server.json says of a build that dyno made."""
    return {"name": name, "key": name, "flags": flags, "features": ["lz4", "icu"]}


def test_two_builds_of_one_version_differ_in_what_the_plan_names() -> None:
    plan = plan_json(make_plan("example", ARMS, 3))
    one, two = plan["arms"]
    one["build_name"], two["build_name"] = "pg17_o2", "pg17_o3"
    servers = {
        "pg17": server("pg17", build=a_build("pg17_o2", "-O2")),
        "pg18": server(
            "pg17",
            build=a_build("pg17_o3", "-O3"),
            compiler="clang 14",
            version_text="PostgreSQL 17.6, compiled by clang",
        ),
    }
    its = {one.what: one for one in differences.differences(ARMS, servers, arms_of(plan))}
    assert its["flags"].values == {"pg17": "-O2", "pg18": "-O3"}
    assert its["build"].values == {"pg17": "pg17_o2", "pg18": "pg17_o3"}
    assert "features" not in its
    assert its["compiler"].planned
    assert its["flags"].planned
    # With another version, flags are one more explanation, which the plan does not name.
    servers["pg18"] = structs.replace(servers["pg18"], version="18.0")
    its = {one.what: one for one in differences.differences(ARMS, servers, arms_of(plan))}
    assert not its["flags"].planned
    assert not its["compiler"].planned


def test_a_setting_that_the_plan_does_not_name_is_not_planned() -> None:
    its = same_build(with_setting("max_connections", "200"))
    assert not its["setting max_connections"].planned
    assert its["setting max_connections"].values == {"pg17": "100", "pg18": "200"}


def test_a_setting_that_the_plan_names_is_planned() -> None:
    its = same_build(
        with_setting("max_connections", "200"), {"settings": {"max_connections": "200"}}
    )
    assert its["setting max_connections"].planned


def test_a_setting_of_the_preset_is_planned_where_the_presets_differ() -> None:
    changes = with_setting("shared_buffers", "2GB")
    assert not same_build(changes)["setting shared_buffers"].planned
    its = same_build({**changes, "config": "x10c"}, {"config": "x10c"})
    assert its["setting shared_buffers"].planned
    its = same_build(changes, {"memory": "8GB"})
    assert its["setting shared_buffers"].planned
    assert its["memory"].values == {"pg17": "none", "pg18": "8GB"}


@pytest.mark.parametrize(
    ("key", "value", "what"),
    [("compiler", "clang 17", "compiler"), ("data_checksums", "off", "data checksums")],
)
def test_the_build_and_its_setup_are_never_planned(key: str, value: str, what: str) -> None:
    assert not same_build({key: value})[what].planned
    assert not found({key: value})[what].planned


def test_how_connections_are_encrypted_is_a_difference_where_a_server_is_elsewhere() -> None:
    there: Json = {"external": "db:5432", "encryption": "TLSv1.3 X"}
    assert not same_build(there)["connections"].planned
    assert same_build(there)["connections"].values["pg18"] == "TLSv1.3 X"
    assert "connections" not in same_build({"encryption": "not encrypted: a unix socket"})


def test_how_connections_are_encrypted_stands_among_the_facts_of_an_arm(tmp_path: Path) -> None:
    comparison = compare.load(build(tmp_path, blocks=2))

    def shown(**changes: str) -> tuple[str, ...] | None:
        here, there = comparison.arms
        servers = {here: server(here), there: server(there, **changes)}
        rows = measured_on.servers(replace(comparison, servers=servers)).rows
        texts = [tuple(cell.text for cell in row.cells) for row in rows]
        return next((row for row in texts if row[0] == "connections"), None)

    elsewhere = "db:5432"
    assert shown(encryption="not encrypted: a unix socket") is None
    assert shown(external=elsewhere) is None, "an older result does not know"
    for told, words in (
        ("TLSv1.3 X", "encrypted: TLSv1.3 X"),
        ("not encrypted: the server has no TLS", "not encrypted: the server has no TLS"),
    ):
        found = shown(external=elsewhere, encryption=told)
        assert found == ("connections", "", words)


def test_two_builds_of_one_version_in_folders_of_their_own_are_planned() -> None:
    its = same_build({}, {"version": None, "base_dir": "/opt/patched"})
    assert its["folder"].planned
    assert its["folder"].values == {"pg17": "none", "pg18": "/opt/patched"}


def test_what_the_plan_does_not_name_comes_first() -> None:
    plan = plan_json(make_plan("example", ARMS, 3))
    servers = {"pg17": server("pg17"), "pg18": server("pg18", compiler="clang 17")}
    assert not differences.differences(ARMS, servers, arms_of(plan))[0].planned


def test_an_arm_alone_differs_from_nothing() -> None:
    assert differences.differences(("pg17",), {"pg17": server("pg17")}, []) == ()


# --- Doubts ----------------------------------------------------------------------------------


def test_two_majors_of_two_toolchains_are_build_and_version(tmp_path: Path) -> None:
    folder = build(tmp_path, blocks=1, servers={"pg18": {"compiler": "gcc 13.2.0"}})
    (line,) = doubted(compare.load(folder))
    assert line.startswith("build and version: pg17 was compiled by gcc 12.2.0, pg18 by gcc 13.2.0")


PREBUILT = "-Os -DMAP_HUGETLB=0x40000"


@pytest.mark.parametrize(
    ("other", "by"),
    [
        ({"build": a_build("pg18_o2", "-O2 -g"), "flags": "-O2 -g"}, "`-O2 -g`"),
        ({"build": a_build("pg18_o2", "-Os -O2")}, "`-Os -O2`"),
        ({"flags": "the source's own"}, "`the source's own`"),
        ({"flags": None}, "unknown flags"),
    ],
)
def test_a_server_compiled_for_size_beside_another_is_said(tmp_path: Path, other: Json, by: str):
    folder = build(tmp_path, blocks=1, servers={"pg17": {"flags": PREBUILT}, "pg18": other})
    (line,) = doubted(compare.load(folder))
    assert line == (
        f"compiled for size: pg17 by `{PREBUILT}`, pg18 by {by}; differences come from "
        "the build, too: build all by one recipe"
    )


def test_servers_that_are_all_compiled_for_size_raise_no_warning(tmp_path: Path) -> None:
    servers = {"pg17": {"flags": PREBUILT}, "pg18": {"flags": PREBUILT}}
    assert doubted(compare.load(build(tmp_path, blocks=1, servers=servers))) == ()


def test_flags_of_servers_that_dyno_did_not_build_are_a_difference_too() -> None:
    its = same_build({"flags": "-O2"})
    assert its["flags"].values == {"pg17": "none", "pg18": "-O2"}
    assert not its["flags"].planned


def test_one_toolchain_raises_no_warning(tmp_path: Path) -> None:
    assert doubted(compare.load(build(tmp_path, blocks=1))) == ()


@pytest.mark.long
def test_a_machine_that_was_slower_beside_one_arm_is_said(tmp_path: Path) -> None:
    def planted(arm: str, step: str, block: int) -> Planted:
        return plant(step, canary=(20_000 if arm == "pg17" else 22_500, 90.0, 400))

    (line,) = doubted(compare.load(build(tmp_path, planted=planted)))
    assert "arithmetic took 22,500 µs beside pg18, 20,000 µs beside pg17" in line


@pytest.mark.long
def test_ten_percent_of_a_canary_are_let_pass(tmp_path: Path) -> None:
    def planted(arm: str, step: str, block: int) -> Planted:
        return plant(step, canary=(20_000, 90.0 if arm == "pg17" else 98.9, 400))

    assert doubted(compare.load(build(tmp_path, planted=planted))) == ()


@pytest.mark.long
def test_an_arm_that_became_another_version_is_said(tmp_path: Path) -> None:
    folder = build(tmp_path)
    path = folder / "blocks" / "003" / "pg17" / "server.json"
    store.write_json(path, {**store.read_struct(path, Json), "version": "17.7"})
    (line,) = doubted(compare.load(folder))
    assert line == "changed server: between blocks: 17.6, 17.7"


@pytest.mark.long
def test_blocks_of_several_boots_are_said(tmp_path: Path) -> None:
    folder = build(tmp_path)
    path = folder / "blocks" / "003" / "order.json"
    store.write_json(path, {**store.read_struct(path, Json), "boot_id": "another"})
    assert doubted(compare.load(folder)) == (
        "rebooted: the machine booted between blocks, 2 boots in all",
    )
