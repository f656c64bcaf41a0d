"""`dyno race` and `dyno init` as commands: names of races, going on, questions from a pipe."""

import io
import os
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer

import fake_source
import own_lab
from dbdyno import plan as plans
from dbdyno.cli import measuring, race
from dbdyno.cli.ask import Questions
from dbdyno.cli.source_arm import SourceBuilds
from dbdyno.host import lock, place
from dbdyno.model import configuration
from dbdyno.model.error import DynoError, PlanError
from dbdyno.model.size import Capacity
from dbdyno.plan import race as races
from dbdyno.plan.race.arm import HostServers
from dbdyno.run.runner import BlockRunner, LocalRunner
from server_place import ends

HOST = Capacity(cores=2, memory_bytes=24 << 30, free_disk_bytes=50 << 30)


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host whose noise is not measured, and on which no server is looked for."""
    monkeypatch.setattr(race, "text_of", lambda wanted, path: races.text_of(wanted, path, HOST))
    monkeypatch.setattr(race, "checked", lambda text, path, *_: plans.parse(text, path))


def asked(*arms: str, minutes: float = 5.0) -> race.RaceOptions:
    return race.RaceOptions(
        arms=list(arms), workload=None, steps=[], config=[], settings=[],
        minutes=minutes, pgbench=[],
    )  # fmt: skip


def wanted(*arms: str, minutes: float = 5.0) -> races.Race:
    return race.race_of(asked(*arms, minutes=minutes), race.look_around(SourceBuilds()))


def begun(out: Path, *arms: str, minutes: float = 5.0) -> Path:
    """A race that was begun: its plan lies there, and its folder."""
    path, text = race.settled(wanted(*arms, minutes=minutes), out)
    race.keep(path, text)
    (out / path.stem).mkdir()
    return path


# --- Going on --------------------------------------------------------------------------------


def test_the_same_command_goes_on_with_an_interrupted_race(tmp_path: Path) -> None:
    path = begun(tmp_path, "17", "18")
    edited = path.read_text() + "# by hand\n"
    path.write_text(edited)
    assert race.settled(wanted("17", "18"), tmp_path) == (path, edited)


def test_a_race_that_is_over_is_followed_by_another(tmp_path: Path) -> None:
    path = begun(tmp_path, "17", "18")
    (tmp_path / path.stem / race.REPORT).touch()
    assert race.settled(wanted("17", "18"), tmp_path)[0].name == "race-pg17-pg18-2.toml"


def test_another_command_takes_another_name(tmp_path: Path) -> None:
    begun(tmp_path, "17", "18")
    path, _ = race.settled(wanted("17", "18", minutes=9), tmp_path)
    assert path.name == "race-pg17-pg18-2.toml"


def test_the_command_of_a_race_has_what_differs_from_the_usual() -> None:
    assert asked("17", "18;jit=off").command == "dyno race 17 '18;jit=off'"
    assert asked("17", "18", minutes=20).command == "dyno race 17 18 --minutes 20"


def test_no_other_lab_measures_between_a_races_checks_and_its_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "default_path", lambda: tmp_path / "lock")
    monkeypatch.setattr(race, "planned", lambda wanted, out, *, quiet: None)

    def measure(plan: None, out: Path, wait: bool, *, quiet: bool, runner: BlockRunner) -> None:
        assert lock.holder(tmp_path / "lock") is not None
        raise typer.Exit(7 if isinstance(runner, LocalRunner) else 1)

    monkeypatch.setattr(measuring, "measure", measure)
    with pytest.raises(typer.Exit) as ended:
        race.race(["17", "18"], out=tmp_path)
    assert ended.value.exit_code == 7


@pytest.mark.parametrize(
    ("arms", "words", "placement"),
    [
        (["17", "18"], {}, "together"),
        (["17", "18"], {"minutes": 2.0}, "together"),
        (["17", "postgresql://u@h:5432/d"], {}, "free"),
        (["17", "18"], {"count": True}, "free"),
    ],
)
def test_a_race_runs_each_client_beside_its_session_where_that_can_be(
    arms: list[str],
    words: dict[str, Any],
    placement: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    of = replace(asked(*arms), **words)
    made = race.planned(race.race_of(of, race.look_around(SourceBuilds())), tmp_path, quiet=False)
    assert made.schedule.placement == placement
    assert plans.load(tmp_path / f"{made.name}.toml") == made, "the file has it"
    said = "each client and the session that serves it run on one processor"
    assert (said in capsys.readouterr().err) == (placement == "together")


def test_a_race_that_goes_on_keeps_its_placement(tmp_path: Path) -> None:
    begun(tmp_path, "17", "18")
    assert race.planned(wanted("17", "18"), tmp_path, quiet=True).schedule.placement == "free"


# --- Messages --------------------------------------------------------------------------------


def test_a_plan_that_is_not_there_yet_is_not_named(tmp_path: Path) -> None:
    path = tmp_path / "race.toml"
    said = f"{path}: arms.pg18.settings.work_men: PostgreSQL 18.6 has no such setting"
    assert race.of_arm(said, path) == ("arm `pg18`: work_men: PostgreSQL 18.6 has no such setting")
    said = f"{path}: key `arms.host.dsn`: names no user"
    assert race.of_arm(said, path) == "arm `host`: names no user"


@pytest.mark.parametrize("minutes", [0, 0.5, 50_000])
def test_minutes_are_at_least_one(minutes: float) -> None:
    with pytest.raises(DynoError, match="--minutes: must be from 1 to 43,200"):
        wanted("17", "18", minutes=minutes)


def test_scripts_are_a_whole_load() -> None:
    of = race.RaceOptions(
        **{**vars(asked("17", "18")), "pgbench": ["a.sql"], "workload": "sysbench"}
    )
    with pytest.raises(DynoError, match="remove --workload and --steps"):
        race.race_of(of, race.look_around(SourceBuilds()))


@pytest.mark.parametrize(
    ("workload", "scripts", "configs"),
    [
        (None, ["tpcb-like@3"], ["x10a", "x10b"]),
        ("sysbench-oltp", [], ["x10a", "x10b"]),
        (None, ["tpcb-like", "mine.sql@2"], [None, None]),
        ("./mine.toml", [], [None, None]),
    ],
)
def test_queries_of_ones_own_meet_servers_with_their_own_settings(
    workload: str | None, scripts: list[str], configs: list[str | None]
) -> None:
    of = replace(asked("17", "18"), workload=workload, pgbench=scripts)
    made = race.race_of(of, race.look_around(SourceBuilds()))
    assert [arm.config for arm in made.arms] == configs
    named = race.race_of(replace(of, config=["my.conf"]), race.look_around(SourceBuilds()))
    assert {arm.config for arm in named.arms} == {str(Path("my.conf").absolute())}


def test_the_configuration_is_said_of_all_arms_or_of_each() -> None:
    assert configuration.described({"a": None, "b": None}) == "the server's own defaults"
    assert configuration.described({"pg17": "x10a", "pg18": "x10b", "c": "x10b"}) == (
        "x10a (pg17), x10b (pg18, c)"
    )


# --- Questions -------------------------------------------------------------------------------


def answered(text: str, file: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    race.init(file)
    return file.read_text()


def test_answers_from_a_pipe_become_a_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "18\njit=off\n\nsysbench\nhot-points,point-query\n\n20\n"
    text = answered(lines, tmp_path / "mine.toml", monkeypatch)
    found = tomllib.loads(text)
    assert found["arms"]["pg18-jit-off"]["settings"] == {"jit": "off"}
    assert found["workloads"][0]["steps"] == ["hot-points", "point-query"]
    assert found["schedule"]["minutes_max"] == 19.83
    assert text.startswith("# Asked by `dyno init`.")


def test_what_is_not_answered_is_as_proposed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    found = tomllib.loads(answered("", tmp_path / "mine.toml", monkeypatch))
    assert list(found["arms"]) == ["pg17", "pg18"]


def test_a_file_that_is_there_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.toml").write_text("precious")
    with pytest.raises(DynoError, match="is there already"):
        answered("", tmp_path / "mine.toml", monkeypatch)
    assert (tmp_path / "mine.toml").read_text() == "precious"


def test_a_source_that_is_not_built_makes_no_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    tree = fake_source.make(tmp_path / "pg")
    monkeypatch.setattr(place, "cache_root", lambda: tmp_path / "cache")
    with pytest.raises(DynoError, match=rf"arm `{tree}`: is not built yet: `dyno race` builds it"):
        answered(f"18 {tree}\n", tmp_path / "mine.toml", monkeypatch)
    assert not (tmp_path / "mine.toml").exists()


def test_a_number_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("soon\n"))
    with pytest.raises(DynoError, match="minutes: `soon` is no number"):
        Questions().number("minutes", 5)


# --- A source --------------------------------------------------------------------------------


def test_a_source_of_a_version_that_nobody_knows_yet_is_raced_and_built_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = fake_source.make(tmp_path / "pgsrc" / "master", version="20devel")
    monkeypatch.setattr(place, "cache_root", lambda: tmp_path / "cache")
    sources = SourceBuilds()
    _, arm = race.race_of(asked("18", f"{tree};build=o3"), race.look_around(sources)).arms
    assert (arm.name, arm.engine, arm.config) == ("master", "postgres", "x10b")
    assert arm.origin["build"].startswith("master-")
    (line,) = sources.lines()
    assert line == f"arm `{tree}`: the source as it stands, 20devel, is to be built"
    assert not (tmp_path / "cache" / "builds").exists(), "nothing is built to know that"
    sources.make()
    (folder,) = (tmp_path / "cache" / "builds").glob("[!.]*")
    assert folder.name == arm.origin["build"]
    assert all(build.made for build in sources)


def test_a_ref_of_a_checkout_is_raced_as_its_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(place, "cache_root", lambda: tmp_path / "cache")
    tree = fake_source.checkout(fake_source.make(tmp_path / "me@home" / "pg", version="18.6"))
    words = asked(f"{tree}@REL_18_6", f"{tree}@main")
    sources = SourceBuilds()
    first, second = race.race_of(words, race.look_around(sources)).arms
    (line,) = sources.lines()
    assert "@REL_18_6`: commit " in line and line.endswith(", 18.6, is to be built")
    assert (first.name, second.name) == ("pg_REL_18_6", "pg_main")
    assert first.origin == second.origin, "one commit is one build"
    assert first.config == "x10b" and first.origin["build"].startswith("bisect-")
    with pytest.raises(DynoError, match=r"@nope`: `.*` has no such commit; git fetch --tags"):
        race.race_of(asked(f"{tree}@nope", "18"), race.look_around(SourceBuilds()))


# --- Real servers ----------------------------------------------------------------------------


@pytest.mark.live
def test_a_folder_is_the_server_that_lies_in_it(tmp_path: Path) -> None:
    (build,) = ends()[:1]
    found: HostServers = race.look_around(SourceBuilds())
    assert found.folder(build, None).engine == "postgres"
    with pytest.raises(DynoError, match="name the folder above bin/"):
        found.folder(tmp_path, None)
    with pytest.raises(DynoError, match="is no source: `build` names a recipe for"):
        found.folder(build, "o3")


@pytest.mark.live
def test_a_dry_run_prints_the_plan_and_writes_nothing(tmp_path: Path) -> None:
    (build,) = ends()[:1]
    done = subprocess.run(
        own_lab.command("race", str(build), f"{build};jit=off", "--dry-run", "--out", tmp_path),
        capture_output=True, text=True, check=True, env=dict(os.environ),
    )  # fmt: skip
    assert "[schedule]" in done.stdout and "plan race-" in done.stdout
    assert not list(tmp_path.iterdir())


def test_the_password_of_a_server_elsewhere_is_in_no_file(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="remove the password"):
        wanted("17", "postgresql://me:secret@host/db")
    assert not list(tmp_path.iterdir())
