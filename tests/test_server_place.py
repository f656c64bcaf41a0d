"""The servers that tests use: what `make test` and `make test-all` bring, and what is here."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

import mysql_place
import own_lab
import server_place
from dbdyno.engine import Build
from dbdyno.engine.mysql import build
from dbdyno.host import lock, place
from dbdyno.host.lock import HostLock, default_path
from dbdyno.model.error import HostError, ServerError

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


# One lab at a time, whoever starts it, and no lock that outlives its holder.


HOLD = """
import sys, time
from pathlib import Path
from dbdyno.host.lock import HostLock
with HostLock(path=Path(sys.argv[1]), plan="theirs"):
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
"""


def another_lab(path: Path, for_s: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", HOLD, str(path), str(for_s)]
    lab = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert lab.stdout is not None
    assert lab.stdout.readline() == "held\n"
    return lab


def test_a_second_lab_is_told_who_measures(tmp_path: Path):
    path = tmp_path / "lock"
    with another_lab(path, 60) as lab:
        try:
            assert lock.is_held_by_another(path)
            with (
                pytest.raises(HostError, match=rf"process {lab.pid}, plan theirs, since \d"),
                HostLock(path=path),
            ):
                pass
        finally:
            lab.kill()


def test_a_killed_lab_holds_nothing(tmp_path: Path):
    path = tmp_path / "lock"
    with another_lab(path, 60) as lab:
        lab.send_signal(signal.SIGKILL)
        lab.wait()
        with HostLock(path=path, plan="ours"):
            assert path.read_text().startswith(f"process {os.getpid()}, plan ours, since ")
            assert not lock.is_held_by_another(path)


def test_a_second_lab_can_wait(tmp_path: Path):
    path = tmp_path / "lock"
    begun = time.monotonic()
    with another_lab(path, 0.5), HostLock(path=path, wait=True):
        assert time.monotonic() - begun > 0.4


def test_a_lock_is_free_again_when_its_lab_is_done(tmp_path: Path):
    for _ in range(2):
        with HostLock(path=tmp_path / "lock"):
            pass
    assert (tmp_path / "lock").read_text() == ""


def test_a_server_that_is_started_under_the_lock_does_not_keep_it(tmp_path: Path):
    path = tmp_path / "lock"
    with HostLock(path=path):
        child = subprocess.Popen(["sleep", "60"], close_fds=False)
    try:
        with HostLock(path=path):
            pass
    finally:
        child.kill()
        child.wait()


def test_a_link_in_the_locks_place_is_not_followed(tmp_path: Path):
    (tmp_path / "precious").write_text("kept")
    (tmp_path / "lock").symlink_to(tmp_path / "precious")
    with pytest.raises(HostError, match="cannot be locked"), HostLock(path=tmp_path / "lock"):
        pass
    assert (tmp_path / "precious").read_text() == "kept"


def test_every_user_of_the_host_takes_the_same_lock(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lock, "FOLDERS", own_lab.HOST_FOLDERS)
    assert default_path().parent.stat().st_mode & 0o777 == 0o777


def test_another_users_file_is_locked_all_the_same(tmp_path: Path):
    if os.geteuid() != 0:
        pytest.skip("only root can leave a file of another user: `sudo make test`")
    path = tmp_path / "lock"
    path.touch()
    os.chown(path, 65534, 65534)
    with HostLock(path=path), pytest.raises(HostError), HostLock(path=path):
        pass
