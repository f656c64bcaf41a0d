"""The servers that tests use are those that they name, whatever else lies in a lab's cache."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import mysql_place
import server_place
from dbdyno.engine.mysql import build
from dbdyno.host import place
from dbdyno.model.error import ServerError

ROOT = Path(__file__).parents[1]


def test_the_versions_are_those_that_make_servers_brings() -> None:
    (named,) = re.findall(r"(?m)^TEST_SERVERS := (.*)$", (ROOT / "Makefile").read_text())
    assert tuple(named.split()) == server_place.FETCHED
    (named,) = re.findall(r"(?m)^TEST_RELEASES := (.*)$", (ROOT / "Makefile").read_text())
    assert tuple(named.split()) == mysql_place.RELEASES


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


def test_what_else_a_lab_left_in_the_cache_is_not_tested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version in ("9.6.24", "12.22", "17.2", "17.11", "18.6", "175.1"):
        (tmp_path / "postgres" / version / "bin").mkdir(parents=True)
        for program in ("postgres", "initdb"):
            (tmp_path / "postgres" / version / "bin" / program).touch(0o755)
    monkeypatch.setattr(place, "cache_root", lambda: tmp_path)
    cached = [path.name for path in server_place.builds() if path.is_relative_to(tmp_path)]
    assert cached == ["17.11", "18.6"]


def test_a_mysql_that_a_lab_left_in_the_cache_is_not_tested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mysql" / "8.0.36").mkdir(parents=True)
    looked_at = list[Path]()

    def none(folder: Path, *_: object) -> None:
        looked_at.append(folder)
        raise ServerError("there is none")

    monkeypatch.setattr(place, "cache_root", lambda: tmp_path)
    monkeypatch.setattr(build, "inspect", none)
    monkeypatch.delenv("DYNO_MYSQL", raising=False)
    for engine in mysql_place.ENGINES:
        mysql_place.found.__wrapped__(engine)
    assert Path("/usr") in looked_at
    assert not [path for path in looked_at if path.is_relative_to(tmp_path)]
