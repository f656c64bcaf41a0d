"""A race of answers alone, and the time that dumps take of a race: plans, without a server."""

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dbdyno import plan as plans
from dbdyno.cli import race
from dbdyno.model.error import DynoError
from dbdyno.model.size import Capacity
from dbdyno.plan import race as races
from dbdyno.plan.race.arm import HostServers
from dbdyno.workload.queries import ANSWERS

HOST = Capacity(cores=2, memory_bytes=24 << 30, free_disk_bytes=50 << 30)
HERE = HostServers(builds={}, folder=lambda path, recipe: None, newest=lambda name: "18")  # type: ignore[arg-type,return-value]
QUERIES = 40
ASKED = race.RaceOptions(
    arms=["17", "18"],
    workload="app/",
    steps=[ANSWERS],
    config=[],
    settings=[],
    minutes=5.0,
    pgbench=[],
)


@pytest.fixture(name="app")
def _app(tmp_path: Path) -> Path:
    """A captured application of some queries."""
    app = tmp_path / "app"
    app.mkdir()
    (app / "one.sql").write_text("SELECT 1")
    entry = '[queries.select-{}]\ntext = "one.sql"\ncalls = 10\ntime_s = 0.1\n'
    (app / "workload.toml").write_text("".join(map(entry.format, range(QUERIES))))
    return app


def plan(app: Path, **wishes: Any) -> dict[str, Any]:
    """The plan of a race of two versions, once it is known to be one."""
    wishes = {"minutes": 5.0, "command": "dyno race", "workload": str(app), **wishes}
    arms = races.arms(("17", "18"), (), (races.NO_CONFIG,), HERE)
    text = races.text_of(races.Race(arms=arms, **wishes), app / "race.toml", HOST)
    plans.parse(text, app / "race.toml")
    return tomllib.loads(text)


def test_answers_alone_are_one_block_of_one_step_that_times_nothing(app: Path) -> None:
    made = plan(app, steps=(ANSWERS,), restore=str(app / "app.dump"), counter=True)
    (use,) = made["workloads"]
    assert (use["steps"], use["save"], "parameters" in use) == ([ANSWERS], "post-restore", False)
    assert made["schedule"] == {"blocks": 1, "interleave": "step"}
    assert "count" not in made


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"workload": "sysbench"}, "name their folder by --workload"),
        ({"workload": None}, "name their folder by --workload"),
        ({"count": True}, "remove --count"),
        ({"tolerate": "5%"}, "remove --tolerate"),
        ({"steps": ["select-1", ANSWERS]}, "remove --steps"),
    ],
)
def test_answers_alone_go_with_no_other_wish(change: dict[str, Any], said: str) -> None:
    with pytest.raises(DynoError, match=f"^--answers: .*{said}$"):
        race.race_of(replace(ASKED, **change), HERE)


def test_the_time_of_dumps_and_answers_is_not_given_to_steps(app: Path) -> None:
    dump = str(app / "app.dump")
    for minutes in (5.0, 15.0, 60.0):
        spent = []
        for restore_s in (0.0, 30.0, 600.0):
            (use,) = plan(app, minutes=minutes, restore=dump, restore_s=restore_s)["workloads"]
            of_steps_s = use["parameters"]["top"] * use["parameters"]["seconds"]
            spent.append(of_steps_s)
            left_s = 60 * minutes - 2 * (restore_s + 0.5 * QUERIES)
            assert 3 * 2 * of_steps_s < max(left_s, 60), "three blocks of both arms fit"
        assert spent == sorted(spent, reverse=True)
