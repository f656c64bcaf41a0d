"""The sampler reads real processes of this machine: who spent what is told apart."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbdyno.host import process
from dbdyno.host.observe import device, owned_processes, sampler
from dbdyno.host.observe.owners import Usage
from dbdyno.host.observe.sampler import Sampler
from dbdyno.host.observe.usage import ProcessReader, counts_nanoseconds
from dbdyno.model import Json
from dbdyno.model.error import LabDied
from dbdyno.model.events import ConnectedEvent, HelloEvent, PausedEvent
from dbdyno.model.host_facts import Storage
from dbdyno.model.host_reading import DeviceCounters
from dbdyno.store import JsonLines
from server_place import within
from stand_in import StandIn

PARENT = """
import os, signal, sys, time

def work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass

def child(seconds, leave):
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        work(seconds)
        if not leave:
            os.write(1, b"%d\\n" % os.getpid())
            signal.pause()
        os._exit(0)
    return pid

for line in sys.stdin:
    word, *numbers = line.split()
    if word == "child":
        child(float(numbers[0]), leave=False)
    elif word == "brief":
        print(os.waitpid(child(float(numbers[0]), leave=True), 0)[0], flush=True)
    elif word == "zombie":
        print(child(float(numbers[0]), leave=True), flush=True)
    elif word == "end":
        os.kill(int(numbers[0]), signal.SIGTERM)
        print(os.waitpid(int(numbers[0]), 0)[0], flush=True)
"""


class Forking(StandIn):
    """A process with children, in place of a postmaster."""

    def __init__(self) -> None:
        super().__init__(PARENT, threads=False)

    def child(self, seconds: float, kind: str) -> int:
        """A child that works for this long and then waits; it returns when the work is done."""
        pid = self.tell(f"child {seconds}")
        self.kinds[pid] = kind
        return pid


@pytest.fixture
def server() -> Iterator[Forking]:
    stand_in = Forking()
    yield stand_in
    stand_in.close()


def lines(path: Path) -> list[Json]:
    """The lines of a host.jsonl."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def owners(path: Path) -> list[Json]:
    """The owners of each line."""
    return [line["owners"] for line in lines(path)]


def test_cpu_goes_to_the_role_of_its_process(server: Forking, tmp_path: Path) -> None:
    path = tmp_path / "host.jsonl"
    role = server.child(0.3, "backend")
    server.child(0.1, "backend")
    server.child(0.2, "checkpointer")
    watch = Sampler(JsonLines(path), device=None, server=server)
    watch.add_role(role, "insert")
    watch.read("open", time.monotonic_ns())
    watch.stop()
    (found,) = owners(path)
    assert found["role:insert"]["cpu_ns"] == pytest.approx(0.3e9, abs=0.1e9)
    assert found["backend:other"]["cpu_ns"] == pytest.approx(0.1e9, abs=0.1e9)
    assert found["background:checkpointer"]["cpu_ns"] == pytest.approx(0.2e9, abs=0.1e9)
    assert found["background:postmaster"]["processes"] == 1
    assert found["lab"]["cpu_ns"] > 0


def on(name: str) -> Storage:
    """A device of this name."""
    return Storage(path="/", device=name, devices=(name,))


def test_a_log_s_own_device_is_read_beside_the_data_s(
    server: Forking, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampler, "disk_counters", lambda name: DeviceCounters(device=name))
    for wal, expected in ((on("sdb"), {"device": "sdb"}), (on("sda"), None), (None, None)):
        path = tmp_path / f"{wal and wal.device}.jsonl"
        watch = Sampler(JsonLines(path), device=on("sda"), wal_device=wal, server=server)
        watch.read("open", time.monotonic_ns())
        watch.stop()
        (line,) = lines(path)
        assert line["disk"] == {"device": "sda"}
        assert line.get("wal_disk") == expected


def test_parallel_workers_are_with_the_role_that_leads_them(server: Forking, tmp_path: Path):
    path = tmp_path / "host.jsonl"
    leader, other = server.child(0.05, "backend"), server.child(0.05, "backend")
    first, second = (server.child(0.2, "parallel worker") for _ in range(2))
    stray = server.child(0.1, "parallel worker")
    server.led = {first: leader, second: leader, stray: other}
    watch = Sampler(JsonLines(path), device=None, server=server)
    watch.add_role(leader, "query")
    watch.read("open", time.monotonic_ns())
    watch.stop()
    (line,) = lines(path)
    found = line["owners"]
    assert line["led"] is True
    assert found["parallel:query"]["cpu_ns"] == pytest.approx(0.4e9, abs=0.1e9)
    assert found["parallel:query"]["processes"] == 2
    assert found["role:query"]["processes"] == 1
    assert found["background:parallel worker"]["cpu_ns"] == pytest.approx(0.1e9, abs=0.08e9)


def test_what_ended_children_spent_is_kept(server: Forking, tmp_path: Path) -> None:
    path = tmp_path / "host.jsonl"
    server.tell("brief 0.1")
    worker = server.child(0.2, "autovacuum worker")
    watch = Sampler(JsonLines(path), device=None, server=server)
    watch.read("open", time.monotonic_ns())
    server.tell(f"end {worker}")
    del server.kinds[worker]
    server.tell("brief 0.3")
    watch.read("close", time.monotonic_ns())
    watch.stop()
    opened, closed = owners(path)
    kind = "background:autovacuum worker"
    assert opened["exited"]["cpu_ns"] == 0
    assert closed[kind]["cpu_ns"] == opened[kind]["cpu_ns"]
    assert closed[kind]["processes"] == 0
    assert closed["exited"]["cpu_ns"] == pytest.approx(0.3e9, abs=0.1e9)


def test_a_process_that_is_first_seen_at_its_end_is_no_background(server: Forking, tmp_path: Path):
    path = tmp_path / "host.jsonl"
    pid = server.tell("zombie 0.1")
    while ProcessReader(pid=pid, nanoseconds=False).text("cmdline"):
        time.sleep(0.01)
    server.kinds[pid] = "other"
    watch = Sampler(JsonLines(path), device=None, server=server)
    for _ in range(3):
        watch.read("second")
    watch.stop()
    for found in owners(path):
        assert found.keys() == {"background:postmaster", "exited", "lab"}
        assert found["exited"]["cpu_ns"] == pytest.approx(0.1e9, abs=0.05e9)


def test_the_server_is_asked_what_its_processes_are_only_when_there_are_new_ones(
    server: Forking, tmp_path: Path
) -> None:
    watch = Sampler(JsonLines(tmp_path / "host.jsonl"), device=None, server=server)
    for _ in range(5):
        watch.read("second")
    assert server.asked == 2
    server.child(0.01, "backend")
    for _ in range(5):
        watch.read("second")
    assert server.asked == 4
    watch.stop()


def test_a_process_that_had_its_parents_title_gets_its_own_at_the_next_reading(
    server: Forking, tmp_path: Path
) -> None:
    path = tmp_path / "host.jsonl"
    pid = server.child(0.01, "postmaster")
    watch = Sampler(JsonLines(path), device=None, server=server)
    watch.read("second")
    server.kinds[pid] = "autovacuum worker"
    watch.read("second")
    watch.stop()
    assert owners(path)[1]["background:autovacuum worker"]["processes"] == 1


def test_a_server_that_is_not_there_has_no_owners_and_no_memory(tmp_path: Path) -> None:
    class Nothing:
        threads = False
        postmaster_pid = None
        standby_pids = ()

        def processes(self) -> dict[int, str]:
            raise AssertionError("there is nothing to ask")

    watch = Sampler(JsonLines(tmp_path / "host.jsonl"), device=None, server=Nothing())
    watch.read("start")
    watch.stop()
    (line,) = lines(tmp_path / "host.jsonl")
    assert line["owners"].keys() == {"lab", "exited"}
    assert not {"rss_bytes", "pss_bytes", "disk"} & line.keys()


def test_a_server_that_dies_leaves_its_sums(server: Forking, tmp_path: Path) -> None:
    path = tmp_path / "host.jsonl"
    pid = server.child(0.1, "backend")
    watch = Sampler(JsonLines(path), device=None, server=server)
    watch.read("second")
    server.close()
    assert within(60, lambda: process.start_ticks(pid) is None), "somebody else waits for orphans"
    watch.read("second")
    watch.stop()
    before, after = owners(path)
    # Until init has waited for the orphan, what it did at its end is counted, too.
    assert after["backend:other"]["cpu_ns"] >= before["backend:other"]["cpu_ns"] > 0


def test_each_second_is_a_line_until_the_end(server: Forking, tmp_path: Path) -> None:
    path = tmp_path / "host.jsonl"
    watch = Sampler(JsonLines(path), device=None, server=server, interval_s=0.05)
    watch.start()
    watch.read("start")
    time.sleep(0.5)
    watch.read("end")
    watch.stop()
    found = lines(path)
    kinds = [line["kind"] for line in found]
    assert kinds[0] == "start"
    assert "end" in kinds[-2:], "a second may be due while the end is read"
    assert 1 <= kinds.count("second") <= 11
    stamps = [line["mono_ns"] for line in found]
    assert stamps == sorted(stamps)
    assert {line["kind"] for line in found if "pss_bytes" in line} == {"start", "end"}


def test_how_late_a_reading_was_is_in_its_line(server: Forking, tmp_path: Path) -> None:
    path = tmp_path / "host.jsonl"
    watch = Sampler(JsonLines(path), device=None, server=server)
    watch.read("open", time.monotonic_ns() - 5_000_000)
    watch.read("second")
    watch.stop()
    opened, second = lines(path)
    assert 5_000_000 <= opened["delay_ns"] < 1_000_000_000
    assert "delay_ns" not in second


def test_readings_from_several_threads_do_not_mix(server: Forking, tmp_path: Path) -> None:
    path = tmp_path / "host.jsonl"
    watch = Sampler(JsonLines(path), device=None, server=server, interval_s=0.002)
    watch.start()

    def read_often() -> None:
        for _ in range(50):
            watch.read("second")

    readers = [threading.Thread(target=read_often) for _ in range(3)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    watch.stop()
    assert len(lines(path)) >= 150


def test_its_own_cpu_is_counted(server: Forking, tmp_path: Path) -> None:
    watch = Sampler(JsonLines(tmp_path / "host.jsonl"), device=None, server=server)
    assert watch.cpu_us == 0
    start_ns = time.thread_time_ns()
    for _ in range(20):
        watch.read("second")
    spent_us = (time.thread_time_ns() - start_ns) / 1000
    watch.stop()
    assert 0.8 * spent_us < watch.cpu_us <= spent_us


def test_a_reading_that_cannot_be_made_is_the_labs_death_said_at_the_end(
    server: Forking, tmp_path: Path
) -> None:
    def broken() -> dict[int, str]:
        raise RuntimeError("no kinds today")

    server.processes = broken  # type: ignore[method-assign]
    watch = Sampler(JsonLines(tmp_path / "host.jsonl"), device=None, server=server, interval_s=0.01)
    watch.start()
    time.sleep(0.1)
    with pytest.raises(LabDied, match="no kinds today"):
        watch.stop()


def test_a_kernel_without_nanoseconds_is_said(
    server: Forking, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owned_processes, "counts_nanoseconds", lambda: False)
    path = tmp_path / "host.jsonl"
    server.child(0.2, "backend")
    watch = Sampler(JsonLines(path), device=None, server=server)
    watch.read("second")
    watch.stop()
    (line,) = lines(path)
    assert line["cpu_source"] == "stat"
    assert line["owners"]["backend:other"]["cpu_ns"] == pytest.approx(0.2e9, abs=0.1e9)
    assert line["owners"]["backend:other"]["cpu_ns"] % 10_000_000 == 0


def test_who_is_who_is_also_learnt_from_the_generators_events(server: Forking, tmp_path: Path):
    path = tmp_path / "host.jsonl"
    pid = server.child(0.01, "backend")
    watch = Sampler(JsonLines(path), device=None, server=server)
    watch.observe(HelloEvent(mono_ns=1, protocol=1, pid=os.getppid()))
    watch.observe(ConnectedEvent(mono_ns=1, role="query", client=0, connection=0, server_pid=pid))
    watch.observe(PausedEvent(mono_ns=1))
    watch.read("second")
    watch.stop()
    (found,) = owners(path)
    assert found["generator"]["processes"] == 1
    assert found["role:query"]["processes"] == 1


def test_the_device_under_the_data_is_read(server: Forking, tmp_path: Path) -> None:
    under = device.find(tmp_path)
    if under.device is None:
        pytest.skip(f"no block device here: {under.unsure}")
    watch = Sampler(JsonLines(tmp_path / "host.jsonl"), device=under, server=server)
    watch.read("start")
    with (tmp_path / "data").open("wb") as file:
        file.write(os.urandom(1 << 20))
        os.fsync(file.fileno())
    watch.read("end")
    watch.stop()
    before, after = (line["disk"] for line in lines(tmp_path / "host.jsonl"))
    assert before["device"] == under.device
    assert after["write_bytes"] - before["write_bytes"] >= 1 << 20
    assert after["writes"] > before["writes"]


def test_all_threads_of_a_process_count_and_ended_ones_stay() -> None:
    reader = ProcessReader(pid=os.getpid(), nanoseconds=counts_nanoseconds())

    def cpu_ns() -> int:
        found = reader.read()
        assert found is not None
        return found.usage.cpu_ns

    def work() -> None:
        end_ns = time.thread_time_ns() + 100_000_000
        while time.thread_time_ns() < end_ns:
            pass
        worked.set()
        leave.wait()

    worked, leave = threading.Event(), threading.Event()
    start_ns = cpu_ns()
    thread = threading.Thread(target=work)
    thread.start()
    worked.wait()
    with_thread_ns = cpu_ns()
    leave.set()
    thread.join()
    assert with_thread_ns - start_ns == pytest.approx(1e8, abs=0.5e8)
    assert cpu_ns() >= with_thread_ns


def test_a_process_that_has_not_run_keeps_its_reading(server: Forking) -> None:
    pid = server.child(0.02, "backend")
    time.sleep(0.05)
    reader = ProcessReader(pid=pid, nanoseconds=counts_nanoseconds())
    first = reader.read()
    assert first is not None
    assert reader.read() == first
    server.tell(f"end {pid}")
    assert reader.read() is None


BUSY = """
import os
os.sched_setaffinity(0, {%d}); print(flush=True)
parent = os.getppid()
while os.getppid() == parent: pass
"""
WAITED_NS = 50_000_000
WAITED_WITHIN_NS = 400 * WAITED_NS
"""Of two that share a core each waits half of the time, or more beside others."""


def test_what_waits_for_its_core_has_run_delay_as_long_as_it_waited() -> None:
    core = min(os.sched_getaffinity(0))
    command = [sys.executable, "-S", "-c", BUSY % core]
    rivals = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
    try:
        begun_ns = time.monotonic_ns()
        for rival in rivals:
            assert rival.stdout is not None and rival.stdout.readline() == b"\n"
        readers = [ProcessReader(pid=rival.pid, nanoseconds=True) for rival in rivals]
        first = last = [used(reader) for reader in readers]
        while min(map(waited_ns, first, last)) < WAITED_NS:
            time.sleep(0.05)
            assert time.monotonic_ns() - begun_ns < WAITED_WITHIN_NS
            last = [used(reader) for reader in readers]
        passed_ns = time.monotonic_ns() - begun_ns
    finally:
        for rival in rivals:
            rival.kill()
            rival.communicate()
    for before, after in zip(first, last, strict=True):
        assert after.cpu_ns > before.cpu_ns
        assert waited_ns(before, after) + after.cpu_ns - before.cpu_ns < 1.1 * passed_ns


def used(reader: ProcessReader) -> Usage:
    """What a process has used until now."""
    found = reader.read()
    assert found is not None
    return found.usage


def waited_ns(before: Usage, after: Usage) -> int:
    """How long it waited for its core between two readings."""
    return (after.run_delay_ns or 0) - (before.run_delay_ns or 0)


def test_the_process_that_is_asked_for_waits_is_the_labs_cost(server: Forking, tmp_path: Path):
    path = tmp_path / "host.jsonl"
    watch = Sampler(JsonLines(path), device=None, server=server)
    watch.set_lab_session(server.child(0.1, "backend"), "lab:waits")
    watch.read("open", time.monotonic_ns())
    watch.stop()
    (found,) = owners(path)
    assert found["lab:waits"]["cpu_ns"] == pytest.approx(0.1e9, abs=0.1e9)
    assert "backend:other" not in found
