"""`dyno watch` with real servers: builds by a command are counted, and a change is named."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import command
from dbdyno.farm import journal, state
from server_place import ends

pytestmark = [pytest.mark.live, pytest.mark.soak]
FARM = """
folder = "farm"
report_command = "cat >>received"

[[branches]]
name = "releases"
command = "sh {script}"
pinned = "oldest"
every = "commit"
steps = ["point-query"]
time = false
"""
MAKE = """
set -e
version=$(cat {folder}/next)
cp -a "{folder}/$version/." "$1"
echo "$version"
"""


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="no valgrind here")
def test_a_newer_server_is_counted_beside_the_pinned_one_and_its_functions_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    oldest, newest = ends()[0], ends()[-1]
    if oldest == newest:
        pytest.skip("one version of PostgreSQL is no change")
    tmp_path.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    for name, build in (("oldest", oldest), ("newest", newest)):
        shutil.copytree(build, tmp_path / name, symlinks=True)
    (tmp_path / "make").write_text(MAKE.format(folder=tmp_path))
    (tmp_path / "farm.toml").write_text(FARM.format(script=tmp_path / "make"))
    for name in ("oldest", "newest"):
        (tmp_path / "next").write_text(name)
        ended = command.dyno("watch", "farm.toml", "--once")
        assert ended.returncode == 0, ended.stderr
    farm = tmp_path / "farm"
    assert len(state.fold(journal.read(farm)).branch("releases").measured) == 2, ended.stderr
    report = json.loads((farm / "reports" / "releases-newest.json").read_text())
    assert report["commit"] == "newest" and report["functions"], report["why"]
    assert [change["step"] for change in report["changes"]] == ["point-query"]
    assert (farm / "received").read_text().count("\n") == 1
