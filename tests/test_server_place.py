"""The servers that tests use: what `make test` and `make test-all` bring, and what is here."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import mysql_place
import server_place
from dbdyno.engine import Build
from dbdyno.engine.mysql import build
from dbdyno.host import place
from dbdyno.model.error import ServerError

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", ["TEST_SERVERS", "ALL_SERVERS"])
def test_the_versions_are_those_that_make_brings(name: str) -> None:
    (named,) = re.findall(rf"(?m)^{name} := (.*)$", (ROOT / "Makefile").read_text())
    assert tuple(named.split()) == getattr(server_place, name)


def test_tests_of_one_group_come_to_one_process(tmp_path: Path) -> None:
    """As xdist promises; where it does not fit pytest, each process starts its own server."""
    (tmp_path / "test_group.py").write_text(
        "import pytest\n"
        "@pytest.mark.xdist_group('one server')\n"
        "@pytest.mark.parametrize('number', range(6))\n"
        "def test_group(number): pass\n"
    )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "xdist",
        "-v",
        "-n",
        "2",
        "--dist",
        "loadgroup",
    ]
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # others take seconds to load
    said = subprocess.run(
        [*command, tmp_path], capture_output=True, text=True, check=True, cwd=tmp_path, env=alone
    ).stdout
    assert len(set(re.findall(r"\[(gw\d)\]", said))) == 1


def test_any_postgresql_that_is_here_is_tested_and_12_and_18_stand_for_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version in ("9.6.24", "11.22", "12.22", "17.2", "17.11", "18.6", "19.1", "REL_18_6"):
        (tmp_path / "postgres" / version / "bin").mkdir(parents=True)
        for program in ("postgres", "initdb"):
            (tmp_path / "postgres" / version / "bin" / program).touch(0o755)
    monkeypatch.setattr(place, "cache_root", lambda: tmp_path)
    cached = [path.name for path in server_place.builds() if path.is_relative_to(tmp_path)]
    assert cached == ["11.22", "12.22", "17.11", "18.6", "19.1"]
    assert [path.name for path in server_place.ends()] == ["12.22", "18.6"]
    for version in ("12.22", "18.6"):
        shutil.rmtree(tmp_path / "postgres" / version)
    assert [path.name for path in server_place.ends()] == ["11.22", "19.1"]


@pytest.mark.parametrize("engine", mysql_place.ENGINES)
def test_the_newest_mysql_that_is_here_is_tested(engine: str, monkeypatch: pytest.MonkeyPatch):
    numbers = {"5.5.9": 50509, "unstable": 90700, "8.0.36": 80036}

    def inspected(folder: Path, of: str, *_: object) -> Build:
        if folder.name not in numbers:
            raise ServerError("it is of the other engine")
        return Build(
            engine=of, base_dir=folder, program=folder, version=folder.name,
            version_num=numbers[folder.name],
        )  # fmt: skip

    monkeypatch.delenv(mysql_place.VARIABLES[engine], raising=False)
    monkeypatch.setattr(build, "folders", lambda _: map(Path, ["/usr", *numbers]))
    monkeypatch.setattr(build, "inspect", inspected)
    newest = mysql_place.found.__wrapped__(engine)
    assert isinstance(newest, Build) and newest.version_num == 90700
    monkeypatch.setattr(mysql_place, "build_of", lambda _: replace(newest, version_num=50509))
    with pytest.raises(pytest.skip.Exception, match="no windows: `dyno server fetch") as skipped:
        mysql_place.needs(engine, "windows", mysql=80000, mariadb=100200)
    mysql_place.needs(engine, "words", mysql=50505, mariadb=50505)
    assert str(skipped.value).endswith("brings one that has")
    numbers.clear()
    none = mysql_place.found.__wrapped__(engine)
    assert isinstance(none, str) and f"`{mysql_place.FETCH[engine]}`" in none
