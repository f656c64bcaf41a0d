"""Servers newer than the versions that dyno knows run, and a sentence says that nobody tried."""

from dataclasses import replace
from pathlib import Path

import pytest

from dbdyno.engine import of, settings
from dbdyno.engine.postgres import build
from dbdyno.model import Arm
from dbdyno.model.size import Capacity
from test_server_fetch import SELF, a_tree
from test_server_mysql_parts import a_build

HOST = Capacity(cores=8, memory_bytes=32 << 30, free_disk_bytes=1 << 40)
PRESETS = {"postgres": "x10b", "mysql": "z12a", "mariadb": "z12b"}


@pytest.mark.parametrize(
    ("engine", "version_num", "sentence"),
    [
        ("postgres", 180006, None),
        ("postgres", 190000, None),
        (
            "postgres",
            200000,
            "not tried with PostgreSQL x: presets and statistics are those for 19",
        ),
        ("mysql", 90704, None),
        ("mysql", 90800, "not tried with MySQL x: presets and statistics are those for 9.7"),
        ("mysql", 100000, "not tried with MySQL x: presets and statistics are those for 9.7"),
        ("mariadb", 120302, None),
        ("mariadb", 130001, "not tried with MariaDB x: presets and statistics are those for 12.3"),
    ],
)
def test_a_version_beyond_those_that_are_known_runs_with_the_newest_settings_and_says_so(
    engine: str, version_num: int, sentence: str | None
) -> None:
    made = a_build(engine, version_num)
    assert settings.untried(made) == (() if sentence is None else (sentence,))
    arm = Arm(name="a", engine=engine, base_dir=made.base_dir, config=PRESETS[engine])
    known = {"postgres": 180000, "mysql": 90704, "mariadb": 120302}[engine]
    newest = of(engine).settle(arm, replace(made, version_num=known), HOST, settings.Demand())
    settled = of(engine).settle(arm, made, HOST, settings.Demand())
    assert settled.values == newest.values


def test_a_development_version_is_known_by_its_number(tmp_path: Path) -> None:
    tree = a_tree(tmp_path, "postgres (PostgreSQL) 20devel")
    (sentence,) = settings.untried(build.inspect(tree, "x", SELF))
    assert sentence.startswith("not tried with PostgreSQL 20devel: ")
