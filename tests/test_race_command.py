"""`dyno race` and `dyno init` as commands: names of races, going on, questions from a pipe."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import own_lab
from dbdyno import plan as plans
from dbdyno.cli import race
from dbdyno.cli.ask import Questions
from dbdyno.model.error import DynoError, PlanError
from dbdyno.model.size import Capacity
from dbdyno.plan import race as races
from dbdyno.plan.race.arm import Here
from server_place import builds

HOST = Capacity(cores=2, memory_bytes=24 << 30, free_disk_bytes=50 << 30)


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host whose noise is not measured, and on which no server is looked for."""
    monkeypatch.setattr(
        race, "text_of", lambda wanted, path: races.text_of(wanted, path, HOST, 0.05)
    )
    monkeypatch.setattr(race, "checked", lambda text, path, out: plans.parse(text, path))


def asked(*arms: str, minutes: float = 5.0) -> race.Asked:
    return race.Asked(
        arms=list(arms), workload=None, steps=[], config=[], settings=[],
        minutes=minutes, pgbench=[],
    )  # fmt: skip


def wanted(*arms: str, minutes: float = 5.0) -> races.Race:
    return race.race_of(asked(*arms, minutes=minutes), race.look_around())


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
    of = race.Asked(**{**vars(asked("17", "18")), "pgbench": ["a.sql"], "workload": "sysbench"})
    with pytest.raises(DynoError, match="remove --workload and --steps"):
        race.race_of(of, race.look_around())


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
    assert found["schedule"]["minutes_max"] == 18
    assert text.startswith("# Asked by `dyno init`.")


def test_what_is_not_answered_is_as_proposed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = tomllib.loads(answered("", tmp_path / "mine.toml", monkeypatch))
    assert list(found["arms"]) == ["pg17", "pg18"]


def test_a_file_that_is_there_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.toml").write_text("precious")
    with pytest.raises(DynoError, match="is there already"):
        answered("", tmp_path / "mine.toml", monkeypatch)
    assert (tmp_path / "mine.toml").read_text() == "precious"


def test_a_number_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("soon\n"))
    with pytest.raises(DynoError, match="minutes: `soon` is no number"):
        Questions().number("minutes", 5)


# --- Real servers ----------------------------------------------------------------------------


@pytest.mark.live
def test_a_folder_is_the_server_that_lies_in_it(tmp_path: Path) -> None:
    (build,) = builds()[:1]
    found: Here = race.look_around()
    assert found.folder(build).engine == "postgres"
    with pytest.raises(DynoError, match="name the folder above bin/"):
        found.folder(tmp_path)


@pytest.mark.live
def test_a_dry_run_prints_the_plan_and_writes_nothing(tmp_path: Path) -> None:
    (build,) = builds()[:1]
    done = subprocess.run(
        own_lab.command("race", str(build), f"{build};jit=off", "--dry-run", "--out", tmp_path),
        capture_output=True, text=True, check=True, env=dict(os.environ),
    )  # fmt: skip
    assert "[schedule]" in done.stdout and "plan race-" in done.stdout
    assert not list(tmp_path.iterdir())


@pytest.mark.live
@pytest.mark.soak
def test_a_race_of_two_sides_ends_with_five_lines(tmp_path: Path) -> None:
    (build,) = builds()[:1]
    done = subprocess.run(
        own_lab.command(
            "race", str(build), "--set", "jit=off", "--steps", "point-query",
            "--minutes", "1", "--out", tmp_path,
        ),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert len(done.stdout.splitlines()) == 5
    assert "so far, 1 block" in done.stderr
    assert list(tmp_path.glob("race-*/report.html"))


def test_the_password_of_a_server_elsewhere_is_in_no_file(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="remove the password"):
        wanted("17", "postgresql://me:secret@host/db")
    assert not list(tmp_path.iterdir())
