"""`dyno watch` with real servers: builds by a command are counted, or raced; a change is named."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import command
from dbdyno.farm import journal, state
from dbdyno.host import place
from server_place import an_open_folder, builds, ends

pytestmark = pytest.mark.live
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
TIMED = """
folder = "farm"
minutes = 3

[[branches]]
name = "releases"
command = 'sh {script} "$1"'
pinned = "plain"
every = "commit"
steps = ["point-query"]
count = false
"""
LOOP = ("send", "? of [vdso]")
"""Where tools/plant spins: in the reply, and in the clock by which it does."""
PLANT = Path(__file__).parent.parent / "tools" / "plant"
MAKE = """
set -e
version=$(cat {folder}/next)
cp -a "{folder}/$version/." "$1"
echo "$version"
"""


@pytest.fixture(name="folder")
def _folder() -> Iterator[Path]:
    """A folder that the servers' account may enter, as it may not enter pytest's own."""
    with an_open_folder() as folder:
        yield folder


def follow(folder: Path, *versions: str) -> None:
    """Lets the farm of a folder measure these heads, one a night."""
    for version in versions:
        (folder / "next").write_text(version)
        ended = command.dyno("watch", "farm.toml", "--once")
        assert ended.returncode == 0, ended.stderr


@pytest.mark.capability("watch")
@pytest.mark.skipif(
    shutil.which("valgrind") is None, reason="no valgrind here: `apt-get install valgrind`"
)
def test_a_newer_server_is_counted_beside_the_pinned_one_and_its_functions_are_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched = [build for build in builds() if build.is_relative_to(place.cache_root())]
    if len(fetched) < 2:
        pytest.skip("one fetched PostgreSQL alone: `dyno server fetch postgres 12` brings another")
    monkeypatch.chdir(folder)
    for name, build in (("oldest", fetched[0]), ("newest", fetched[-1])):
        shutil.copytree(build, folder / name, symlinks=True)
    (folder / "make").write_text(MAKE.format(folder=folder))
    (folder / "farm.toml").write_text(FARM.format(script=folder / "make"))
    follow(folder, "oldest", "newest")
    farm = folder / "farm"
    assert len(state.fold(journal.read(farm)).branch("releases").measured) == 2
    report = json.loads((farm / "reports" / "releases-newest.json").read_text())
    assert report["commit"] == "newest" and report["functions"], report["why"]
    assert [change["step"] for change in report["changes"]] == ["point-query"]
    assert (farm / "received").read_text().count("\n") == 1


@pytest.mark.soak
@pytest.mark.skipif(
    shutil.which("perf") is None, reason="no perf here: `apt-get install linux-perf`"
)
def test_a_server_that_takes_longer_is_found_by_time_and_what_takes_longer_is_sampled(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    shutil.copytree(ends()[-1], folder / "plain", symlinks=True)
    subprocess.run([PLANT, folder / "plain", "0.2", folder / "slower"], check=True)
    (folder / "make").write_text(MAKE.format(folder=folder))
    (folder / "farm.toml").write_text(TIMED.format(script=folder / "make"))
    follow(folder, "plain", "slower")
    report = json.loads((folder / "farm" / "reports" / "releases-slower.json").read_text())
    assert report["commit"] == "slower" and all(each["worse"] for each in report["changes"])
    assert {each["instrument"] for each in report["changes"]} == {"time"}
    planted = [each for each in report["functions"] if each["function"] in LOOP]
    assert planted and all(each["after"] > each["before"] for each in planted)
    assert {each["unit"] for each in report["functions"]} == {"µs"}
