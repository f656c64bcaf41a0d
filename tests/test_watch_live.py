"""`dyno watch` with real servers: builds by a command are counted, and a change is named."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import command
from dbdyno.farm import journal, state
from dbdyno.host import place
from server_place import builds

pytestmark = [pytest.mark.live, pytest.mark.soak]
FARM = """
folder = "farm"
report_command = "cat >>received"

[[branches]]
name = "releases"
command = 'sh {script} "$1"'
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


@pytest.fixture(name="folder")
def _folder() -> Iterator[Path]:
    """A folder that the servers' account may enter, as it may not enter pytest's own."""
    folder = Path(tempfile.mkdtemp(prefix="dyno-test-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="no valgrind here")
def test_a_newer_server_is_counted_beside_the_pinned_one_and_its_functions_are_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched = [build for build in builds() if build.is_relative_to(place.cache_root())]
    if len(fetched) < 2:
        pytest.skip("two fetched versions of PostgreSQL are needed: make servers")
    monkeypatch.chdir(folder)
    for name, build in (("oldest", fetched[0]), ("newest", fetched[-1])):
        shutil.copytree(build, folder / name, symlinks=True)
    (folder / "make").write_text(MAKE.format(folder=folder))
    (folder / "farm.toml").write_text(FARM.format(script=folder / "make"))
    for name in ("oldest", "newest"):
        (folder / "next").write_text(name)
        ended = command.dyno("watch", "farm.toml", "--once")
        assert ended.returncode == 0, ended.stderr
    farm = folder / "farm"
    assert len(state.fold(journal.read(farm)).branch("releases").measured) == 2, ended.stderr
    report = json.loads((farm / "reports" / "releases-newest.json").read_text())
    assert report["commit"] == "newest" and report["functions"], report["why"]
    assert [change["step"] for change in report["changes"]] == ["point-query"]
    assert (farm / "received").read_text().count("\n") == 1
