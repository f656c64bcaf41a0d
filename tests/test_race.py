"""A few words become a plan: arms, their errors, sizes, interleaving."""

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dbdyno import plan as plans
from dbdyno.model.error import DynoError, PlanError
from dbdyno.model.size import Capacity
from dbdyno.plan import race as races
from dbdyno.plan.race import sizes
from dbdyno.plan.race.arm import HostServers, RaceServer
from dbdyno.plan.race.sizes import fills

HOST = Capacity(cores=2, memory_bytes=24 << 30, free_disk_bytes=50 << 30)


def folder(path: Path, recipe: str | None) -> RaceServer:
    if path.name == "master":
        return RaceServer(engine="postgres", version="20devel", build=f"master-{recipe}")
    if path.name != "pg-patched":
        raise DynoError(f"arm `{path}`: there is no folder `{path}`")
    return RaceServer(engine="postgres", version="17.6")


HERE = HostServers(
    builds={"mine": RaceServer(engine="mysql", version="8.4.6")},
    folder=folder,
    newest=lambda name: {"postgres": "18", "mysql": "9.7.4", "mariadb": "10.11.19"}[name],
)


def arms(*written: str, settings: tuple[str, ...] = ()) -> tuple[races.RaceArm, ...]:
    return races.arms(written, settings, races.CONFIGS, HERE)


def text(*written: str, host: Capacity = HOST, **wishes: Any) -> str:
    wishes = {"minutes": 5.0, "command": "dyno race", **wishes}
    of = races.Race(arms=arms(*written), **wishes)
    return races.text_of(of, Path("out/race.toml"), host)


def plan(*written: str, **wishes: Any) -> dict[str, Any]:
    """What the text says, once it is known to be a plan."""
    made = text(*written, **wishes)
    plans.parse(made, Path("out/race.toml"))
    return tomllib.loads(made)


# --- Arms ------------------------------------------------------------------------------


URI = "postgresql://bench@db.example.com/bench"


@pytest.mark.parametrize(
    ("written", "name", "engine", "origin", "config"),
    [
        ("17", "pg17", "postgres", {"version": "17"}, "x10a"),
        ("18.1", "pg18.1", "postgres", {"version": "18.1"}, "x10b"),
        ("postgres:18", "pg18", "postgres", {"version": "18"}, "x10b"),
        ("mysql:9.7", "mysql9.7", "mysql", {"version": "9.7"}, "z12a"),
        ("mariadb", "mariadb", "mariadb", {"version": "10.11.19"}, "z12a"),
        ("/opt/pg-patched", "pg-patched", "postgres", {"base_dir": "/opt/pg-patched"}, "x10a"),
        ("mine", "mine", "mysql", {"build": "mine"}, "z12a"),
        ("~/pgsrc/master;build=o3", "master", "postgres", {"build": "master-o3"}, "x10b"),
        ("18;build=o2nofp", "pg18-o2nofp", "postgres",
         {"version": "18", "build": "o2nofp"}, "x10b"),
        (f"{URI};env=SECRET;allow_drop=true", "db.example.com", "postgres", {"dsn": URI}, None),
    ],
)  # fmt: skip
def test_an_arm_is_a_version_a_folder_a_build_a_source_or_a_server_elsewhere(
    written: str, name: str, engine: str, origin: dict[str, str], config: str | None
) -> None:
    """With the published configuration of its version, of a newer one the newest."""
    arm, _ = arms(written, "16")
    assert (arm.name, arm.engine, arm.origin, arm.config) == (name, engine, origin, config)
    secret = {"password": {"env": "SECRET"}, "allow_drop": True}
    assert arm.access == (secret if "env=" in written else {})


@pytest.mark.parametrize(
    ("written", "settings", "last", "name"),
    [
        (("18", "18;jit=off;work_mem=64MB"), (), {"jit": "off", "work_mem": "64MB"},
         "pg18-jit-off-work_mem-64MB"),
        (("18",), ("jit=off",), {"jit": "off"}, "pg18-jit-off"),
        (("17", "18"), ("jit=off",), {"jit": "off"}, "pg18-jit-off"),
    ],
)  # fmt: skip
def test_settings_are_of_the_last_side_alone(
    written: tuple[str, ...], settings: tuple[str, ...], last: dict[str, str], name: str
) -> None:
    first, second = arms(*written, settings=settings)
    assert (first.settings, second.settings, second.name) == ({}, last, name)


@pytest.mark.parametrize(
    ("written", "names", "folders"),
    [
        ("/opt/pg/bin/postgres /opt/pg-new/bin/", "pg pg-new", "/opt/pg /opt/pg-new"),
        ("/opt/a/pg /opt/b/pg", "a-pg b-pg", "/opt/a/pg /opt/b/pg"),
        ("/src/a/install /src/b/install/bin", "a b", "/src/a/install /src/b/install"),
        ("/x/a/inst/pg /x/b/inst/pg", "a-pg b-pg", "/x/a/inst/pg /x/b/inst/pg"),
        ("/usr/lib/pg/15/bin/pg_ctl /opt/bin/pg", "pg15 pg", "/usr/lib/pg/15 /opt/bin/pg"),
        ("/usr /opt/pg", "pg18.1 pg", "/usr /opt/pg"),
        ("/opt/pg /opt/pg;jit=off", "pg pg-jit-off", "/opt/pg /opt/pg"),
        ("/opt/pg /opt/pg", "pg pg-2", "/opt/pg /opt/pg"),
    ],
)
def test_arms_of_folders_have_names_that_tell_them_apart(written: str, names: str, folders: str):
    here = replace(HERE, folder=lambda path, recipe: RaceServer(engine="postgres", version="18.1"))
    made = races.arms(written.split(), (), races.CONFIGS, here)
    assert " ".join(arm.name for arm in made) == names
    assert " ".join(arm.origin["base_dir"] for arm in made) == folders


def test_alike_sides_have_names_of_their_own() -> None:
    assert [one.name for one in arms("18", "18", "18")] == ["pg18", "pg18-2", "pg18-3"]


def test_servers_on_one_host_are_told_apart_by_their_ports() -> None:
    found = arms("postgresql://a@host:5417/b", "postgresql://a@host:5418/b")
    assert [one.name for one in found] == ["host-5417", "host-5418"]


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ((), "no arm"),
        (("18",), "one arm: name a second"),
        (("17", "postgers:18"), "did you mean `postgres`"),
        (("17", "mysql:new"), "no version `new`; write it as mysql:9.7"),
        (("17", "18;jit"), "`jit` is no setting; write it as jit=off"),
        (("17", "18;9x=1"), "cannot be a setting's name"),
        (("17", "18;env=X"), "`env` is for a server that runs elsewhere"),
        (("17", "18;config=z12a"), "a preset of mysql and mariadb"),
        (("17", "mine;build=o2nofp"), "names a recipe for a version"),
        (("17", "/opt/nothing"), "there is no folder"),
        (("17", "oracle://a@b/c"), "no engine has `oracle://`"),
        (("17", "postgresql://a@b/c;jit=off"), "a server elsewhere takes no `jit`"),
        (("17", "postgresql://a@b/c;allow_drop=1"), "has to be true or false, not `1`"),
    ],
)
def test_bad_arms_are_refused_in_one_line(written: tuple[str, ...], said: str) -> None:
    with pytest.raises(DynoError) as refused:
        arms(*written)
    assert said in str(refused.value) and "\n" not in str(refused.value)


def test_a_password_is_not_repeated_in_the_message() -> None:
    with pytest.raises(PlanError) as refused:
        arms("postgresql://me:secret@host/db;jit=off", "18")
    assert "secret" not in str(refused.value)


# --- The plan --------------------------------------------------------------------------------


def test_sides_take_turns_shorter_ones_on_few_cores() -> None:
    turns = plan("17", "18")["schedule"]
    assert (turns["interleave"], turns["turn_s"]) == ("turn", 0.5)
    wide = replace(HOST, cores=16)
    assert "turn_s" not in plan("17", "18", host=wide)["schedule"]


def test_a_race_goes_on_until_decided_within_its_minutes() -> None:
    schedule = plan("17", "18", minutes=20.0)["schedule"]
    assert (schedule["blocks"], schedule["minutes_max"]) == ("until decided", 19.83)


def test_a_race_that_asks_for_a_tolerance_writes_it_into_its_plan() -> None:
    asking = text("17", "18", tolerate=0.05)
    assert plans.parse(asking, Path("out/race.toml")).aims.tolerate == 0.05
    assert "verdict" not in plan("17", "18")


def test_longer_races_have_more_steps_and_rows_and_one_that_writes() -> None:
    short, long = (plan("17", "18", minutes=m)["workloads"][0] for m in (5.0, 30.0))
    assert set(short["steps"]) < set(long["steps"])
    assert "update-index" in long["steps"]
    assert short["parameters"]["rows"] < long["parameters"]["rows"]


def test_a_race_makes_two_fills_where_they_take_under_a_tenth_of_its_minutes() -> None:
    """Two fills are not restarted on: blocks begin from the copies by turns."""
    short, long = (plan("17", "18", minutes=minutes) for minutes in (5.0, 40.0))
    steps = ("hot-points",)
    reads = plan("17", "18", minutes=40.0, workload="sysbench", steps=steps)
    assert "fills" not in short["schedule"] and short["workloads"][0]["restart"] is True
    for made in (long, reads):
        assert made["schedule"]["fills"] == 2 and "restart" not in made["workloads"][0]
    assert "fills" not in plan("18", "mysql", workload="insert-benchmark", minutes=40.0)["schedule"]


def test_what_a_second_fill_takes_is_its_rows_and_copies_in_place_of_restarts() -> None:
    assert fills(10.0, 2, filling_s=18.0, restarts=False) == 2  # 2 * (18 + 12) s of 60
    assert fills(10.0, 2, filling_s=19.0, restarts=False) == 1
    assert fills(20.0, 2, filling_s=18.0, restarts=True) == 2  # and 6 blocks of 2 copies: 60 s
    assert fills(10.0, 2, filling_s=18.0, restarts=True) == 1


def test_more_arms_leave_time_for_fewer_steps() -> None:
    two, three = (
        plan(*arms, minutes=12, workload="ycsb") for arms in (("17", "18"), ("16", "17", "18"))
    )
    assert len(two["workloads"][0]["steps"]) == 6
    assert set(three["workloads"][0]["steps"]) == {f"workload-{name}" for name in "abcf"}


def test_steps_that_write_take_turns_from_a_copy() -> None:
    of = plan("17", "18", workload="sysbench", steps=("update-index",))
    assert of["workloads"][0]["save"] == "post-fill"
    assert of["schedule"]["writes_in_turn"] is True


def test_a_program_s_load_cannot_pause_and_takes_no_turns(tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text("""
[[steps]]
name = "build"
measured = false
driver = "command"
command = ["true"]
pattern.failed = "Error"
roles.build = {}
[[steps]]
name = "run"
driver = "command"
command = ["true"]
seconds = 60
headline = { metric = "qps", role = "users", count = "operations" }
roles.users = {}
""")
    of = plan("17", "18", workload=str(mine))
    assert of["schedule"]["interleave"] == "run"
    assert of["workloads"][0]["save"] == "post-build"


def test_a_workload_that_begins_with_what_it_measures_is_run_side_by_side() -> None:
    of = plan("18", "mysql", "mariadb", workload="insert-benchmark")
    assert of["schedule"]["interleave"] == "run"
    assert "save" not in of["workloads"][0]
    assert of["workloads"][0]["parameters"]["rates"] == [100]


def test_engines_without_prewarming_are_warmed_by_scans() -> None:
    assert plan("18", "mysql")["workloads"][0]["warm"] == "scan"
    assert plan("17", "18")["workloads"][0]["warm"] == "prewarm"


@pytest.mark.parametrize("workload", ["sysbench-oltp", "pgbench", "ybio", "cbc"])
def test_every_shipped_workload_is_raced_at_sizes_of_its_own(workload: str) -> None:
    of = plan("17", "18", workload=workload)["workloads"][0]["parameters"]
    assert set(of) & set(sizes.SCALES)


def test_scripts_of_pgbench_are_the_whole_load(tmp_path: Path) -> None:
    script = tmp_path / "mix.sql"
    script.write_text("SELECT abalance FROM pgbench_accounts WHERE aid = 1;\n")
    of = plan("17", "18", pgbench=(str(script), "select-only@2"))
    assert of["workloads"][0]["pgbench"] == [str(script), "select-only@2"]


def test_a_server_elsewhere_begins_from_no_copy() -> None:
    of = plan("postgresql://a@one/b", "postgresql://a@two/b")
    assert "save" not in of["workloads"][0]


def test_data_fit_the_memory_and_the_disk() -> None:
    small = Capacity(cores=2, memory_bytes=1 << 30, free_disk_bytes=50 << 30)
    full = Capacity(cores=2, memory_bytes=24 << 30, free_disk_bytes=200 << 20)
    usual, of_small, of_full = (
        plan("17", "18", minutes=240.0, host=host)["workloads"][0]["parameters"]["rows"]
        for host in (HOST, small, full)
    )
    assert of_small < usual and of_full < usual


def test_the_plan_begins_with_the_command_that_made_it() -> None:
    assert text("17", "18", command="dyno race 17 18").startswith("# Made by: dyno race 17 18\n")


def test_names_of_races_are_those_of_their_sides() -> None:
    assert races.name_of(arms("17", "18")) == "race-pg17-pg18"
    assert len(races.name_of(arms(*["postgres:18"] * 20))) <= 60


def test_amounts_are_cut_to_a_digit() -> None:
    assert [sizes.whole(one) for one in (9, 87_654, 100_000.7)] == [9, 80_000, 100_000]
    assert sizes.whole(0.57) == 0.5
