"""One lab at a time, whoever starts it, and no lock that outlives its holder."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import own_lab
from dbdyno.host import lock
from dbdyno.host.lock import HostLock, default_path
from dbdyno.model.error import HostError

ROOT = Path(__file__).parents[1]
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
