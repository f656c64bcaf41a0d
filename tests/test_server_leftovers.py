"""What a killed lab left behind is found and ended, and nothing else is."""

import ctypes
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from dbdyno.engine import Place
from dbdyno.engine.arm_server import provide
from dbdyno.host import leftovers, process, shared_memory
from dbdyno.model import Arm
from dbdyno.model.error import ServerError
from server_place import a_place, ends, within

ROOT = Path(__file__).parents[1]
WAIT_S = 20.0
until = partial(within, WAIT_S)
LAB = """
import os, signal, sys
from pathlib import Path
from dbdyno.model import Arm
from dbdyno.engine import Place
from dbdyno.engine.arm_server import provide
from dbdyno.host import shared_memory
from dbdyno.host.account import choose
base, base_dir, how = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
place = Place(data_root=base / "data", run_root=base / "run", cache_root=base / "cache",
              log_dir=base / "log", account=choose("postgres"))
server = provide(Arm(name="a", engine="postgres", base_dir=base_dir, config="x10a", memory="256MB"),
                 place=place)
server.prepare()
server.start()
print(server.postmaster_pid, *shared_memory.mapped_by(server.postmaster_pid), flush=True)
if how == "postmaster first":
    os.kill(server.postmaster_pid, signal.SIGKILL)
if how != "lives":
    os.kill(os.getpid(), signal.SIGKILL)
sys.stdin.readline()
server.stop(crash=True)
server.remove()
"""


def a_killed_lab(place: Place, how: str) -> tuple[int, list[Path]]:
    """Runs a lab that starts a server and is killed.

    Returns the postmaster's process id and the files of its shared memory.
    """
    done = subprocess.run(
        lab(place, how), capture_output=True, text=True, timeout=120, check=False, cwd=ROOT
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    pid, *mapped = done.stdout.split()
    assert mapped
    return int(pid), [Path(path) for path in mapped]


def lab(place: Place, how: str) -> list[str]:
    return [sys.executable, "-c", LAB, str(place.data_root.parent), str(ends()[-1]), how]


def working(place: Place) -> list[int]:
    return process.working_in(place.data_root)


@pytest.mark.live
def test_a_killed_labs_server_is_ended_at_the_next_start(place: Place):
    pid, mapped = a_killed_lab(place, "running")
    assert process.start_ticks(pid) is not None, "a server outlives its lab"
    ended = leftovers.end_leftovers(place.run_root)
    assert f"server a (process {pid})" in ended
    assert working(place) == []
    assert not any(path.exists() for path in mapped)
    assert leftovers.end_leftovers(place.run_root) == []


@pytest.mark.live
def test_its_data_folder_is_free_again(place: Place):
    a_killed_lab(place, "running")
    leftovers.end_leftovers(place.run_root)
    arm = Arm(name="a", engine="postgres", base_dir=ends()[-1])
    server = provide(arm, place=place)
    server.prepare()
    server.remove()
    assert not list(place.data_root.iterdir())


@pytest.mark.live
def test_what_a_killed_postmaster_left_is_freed(place: Place):
    pid, mapped = a_killed_lab(place, "postmaster first")
    assert all(path.exists() for path in mapped)
    assert str(pid) in creators_of_segments()
    leftovers.end_leftovers(place.run_root)
    assert until(lambda: working(place) == [])
    assert not any(path.exists() for path in mapped)
    assert str(pid) not in creators_of_segments()


@contextmanager
def a_living_lab(place: Place) -> Iterator[int]:
    """A lab with a server of the arm `a`, which it ends itself; the postmaster's process id."""
    with subprocess.Popen(
        lab(place, "lives"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as running:
        assert running.stdout is not None
        yield int(running.stdout.readline().split()[0])
        _, _ = running.communicate("\n", timeout=120)
        assert running.returncode == 0


@pytest.fixture(name="elsewhere")
def _elsewhere() -> Iterator[Place]:
    """Another lab's folders, in which its lock and its register lie, too."""
    with a_place() as other:
        yield other


@pytest.mark.live
def test_two_labs_of_one_machine_end_their_own_servers_alone(place: Place, elsewhere: Place):
    """Arms of one name, one program, one account; locks and registers lie elsewhere."""
    with a_living_lab(place) as first, a_living_lab(elsewhere) as second:
        assert leftovers.end_leftovers(place.run_root) == []
        assert leftovers.end_leftovers(elsewhere.run_root) == []
        assert all(process.start_ticks(pid) is not None for pid in (first, second))
    assert all(process.start_ticks(pid) is None for pid in (first, second))


@pytest.mark.live
def test_labs_that_share_a_register_end_their_own_servers_alone(place: Place, elsewhere: Place):
    """Locks elsewhere, one folder of the register: entries of two labs do not replace another."""
    shared = replace(elsewhere, run_root=place.run_root)
    with a_living_lab(place) as first:
        server = provide(Arm(name="b", engine="postgres", base_dir=ends()[-1]), place=shared)
        server.prepare()
        server.start()
        own = leftovers.register("server a", run_root=place.run_root)
        names = sorted(path.name.split(".")[0] for path in own.parent.iterdir())
        assert names == ["server-a", "server-a", "server-b"]
        assert leftovers.end_rest(own) == []
        leftovers.unregister(own)
        assert leftovers.end_leftovers(place.run_root) == []
        server.stop(crash=True)
        server.remove()
        assert process.start_ticks(first) is not None
        again = provide(Arm(name="a", engine="postgres", base_dir=ends()[-1]), place=shared)
        with pytest.raises(ServerError, match=r"arms\.a: another lab \(process \d+\) has a server"):
            again.prepare()
        assert process.start_ticks(first) is not None


def creators_of_segments() -> list[str]:
    lines = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
    return [line.split()[4] for line in lines]


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    child = subprocess.Popen(["sleep", "300"])
    yield child
    child.kill()
    child.wait()


def claim(path: Path, **changes: object) -> None:
    """Changes an entry of the register, as if another lab had written it."""
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_a_generator_of_a_dead_lab_is_ended(tmp_path: Path, sleeper: subprocess.Popen[bytes]):
    path = leftovers.register("dyno-loadgen", pid=sleeper.pid, run_root=tmp_path)
    claim(path, lab_ticks=1)
    assert leftovers.end_leftovers(tmp_path) == [f"dyno-loadgen (process {sleeper.pid})"]
    assert sleeper.wait(60) == -signal.SIGTERM
    assert not path.exists()


def test_what_a_living_lab_started_is_left_alone(tmp_path: Path, sleeper: subprocess.Popen[bytes]):
    path = leftovers.register("dyno-loadgen", pid=sleeper.pid, run_root=tmp_path)
    assert leftovers.end_leftovers(tmp_path) == []
    assert sleeper.poll() is None
    assert path.exists()
    leftovers.unregister(path)
    assert not path.exists()


def test_another_process_with_the_same_id_is_left_alone(
    tmp_path: Path, sleeper: subprocess.Popen[bytes]
):
    path = leftovers.register("dyno-loadgen", pid=sleeper.pid, run_root=tmp_path)
    claim(path, lab_ticks=1, ticks=7)
    assert leftovers.end_leftovers(tmp_path) == []
    assert sleeper.poll() is None


def test_ids_of_an_earlier_boot_say_nothing(tmp_path: Path, sleeper: subprocess.Popen[bytes]):
    path = leftovers.register("dyno-loadgen", pid=sleeper.pid, run_root=tmp_path)
    claim(path, lab_ticks=1, boot_id="another")
    assert leftovers.end_leftovers(tmp_path) == []
    assert sleeper.poll() is None
    assert not path.exists()


def test_ids_of_another_container_say_nothing(tmp_path: Path, sleeper: subprocess.Popen[bytes]):
    path = leftovers.register("dyno-loadgen", pid=sleeper.pid, run_root=tmp_path)
    claim(path, lab_ticks=1, namespace="pid:[1]")
    assert leftovers.end_leftovers(tmp_path) == []
    assert sleeper.poll() is None
    assert path.exists(), "its lab may live there"


def test_whoever_works_in_a_servers_folder_with_its_program_is_left_alone(tmp_path: Path):
    """The record is of a dead lab, and its process id is another's now."""
    (tmp_path / "data").mkdir()
    with subprocess.Popen(["sleep", "300"], cwd=tmp_path / "data") as stranger:
        try:
            path = leftovers.register(
                "server a", pid=stranger.pid, folder=tmp_path / "data", run_root=tmp_path
            )
            claim(path, lab_ticks=1, ticks=7)
            assert leftovers.end_leftovers(tmp_path) == []
            assert stranger.poll() is None
            assert not path.exists()
        finally:
            stranger.kill()


def test_a_program_stands_in_the_register_before_it_begins(tmp_path: Path):
    path = leftovers.register("copy a", folder=tmp_path, run_root=tmp_path)
    assert leftovers.read(path).started == ()
    with leftovers.noted(path) as note:
        done = subprocess.run(["cat", path], capture_output=True, check=True, preexec_fn=note)
    seen = json.loads(done.stdout)
    assert (seen["what"], seen["lab_pid"]) == ("copy a", os.getpid())
    assert seen["pid"] > 0
    assert seen["ticks"] >= process.start_ticks(os.getpid())
    assert leftovers.read(path).started == ((seen["pid"], seen["ticks"]),)


MAPPING = """
import mmap, os, sys, time
with open(sys.argv[1], "r+b") as file:
    memory = mmap.mmap(file.fileno(), 4096)
print("mapped", flush=True)
time.sleep(300)
"""


def test_an_orphan_is_known_by_the_memory_that_its_server_made(tmp_path: Path):
    """And not what began before that server, though it should map the same file."""
    control = shared_memory.FOLDER / f"{shared_memory.PREFIX}dyno-test-{os.getpid()}"
    control.write_bytes(bytes(4096))
    command = [sys.executable, "-c", MAPPING, control]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as orphan:
        try:
            assert orphan.stdout is not None and orphan.stdout.readline() == "mapped\n"
            ticks = process.start_ticks(orphan.pid)
            assert ticks is not None
            assert leftovers.holders([str(control)], ticks) == [(orphan.pid, ticks)]
            assert leftovers.holders([str(control)], ticks + 1) == []
            assert leftovers.holders([str(control) + "0"], 0) == []
        finally:
            orphan.kill()
            control.unlink()


def test_what_is_no_entry_is_cleared_away(tmp_path: Path):
    (tmp_path / "started").mkdir()
    (tmp_path / "started" / "server-a.json").write_text('{"what": ')
    assert leftovers.end_leftovers(tmp_path) == []
    assert list((tmp_path / "started").iterdir()) == []


def test_a_process_that_heeds_no_signal_is_killed(tmp_path: Path):
    script = "import signal, time; signal.signal(15, signal.SIG_IGN); print(1, flush=True)"
    command = [sys.executable, "-c", script + "; time.sleep(300)"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as stubborn:
        assert stubborn.stdout is not None
        stubborn.stdout.readline()
        ticks = process.start_ticks(stubborn.pid)
        assert ticks is not None
        assert process.end(stubborn.pid, ticks, [(signal.SIGTERM, 0.1), (signal.SIGKILL, 60.0)])
        assert stubborn.wait(60) == -signal.SIGKILL


def test_a_process_name_may_hold_anything(tmp_path: Path):
    program = tmp_path / "a) S 1 (b c"
    program.symlink_to("/bin/sleep")
    with subprocess.Popen([program, "300"]) as child:
        try:
            assert process.stat(child.pid)[process.PARENT] == str(os.getpid())
            assert child.pid in process.children_by_scan(os.getpid())
        finally:
            child.kill()


ATTACHED = """
import ctypes, sys, time
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
libc.shmat(int(sys.argv[1]), None, 0)
print("attached", flush=True)
time.sleep(0.3)
"""


def test_a_segment_goes_once_a_child_that_is_ending_has_let_go(tmp_path: Path) -> None:
    segment = ctypes.CDLL(None).shmget(0, 4096, 0o1600)  # IPC_PRIVATE; IPC_CREAT with mode 600
    command = [sys.executable, "-c", ATTACHED, str(segment)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdout.readline() == "attached\n"
    pid_file = tmp_path / "postmaster.pid"
    pid_file.write_text("\n" * shared_memory.SEGMENT_LINE + f"0 {segment}\n")
    assert shared_memory.attached_to(["0", str(segment)]) == 1
    shared_memory.free_system_v(pid_file)
    assert shared_memory.attached_to(["0", str(segment)]) is None
    child.communicate()
