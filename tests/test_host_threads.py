"""The sampler tells apart who spent what among the threads of one process, as MySQL has them."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbdyno.host.observe.sampler import Sampler
from dbdyno.model import Json
from dbdyno.model.events import ConnectedEvent
from dbdyno.store import JsonLines
from stand_in import StandIn

PROCESS = """
import sys, threading, time

def work(seconds, leave):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
    print(threading.get_native_id(), flush=True)
    if not leave:
        threading.Event().wait()

for line in sys.stdin:
    word, seconds = line.split()
    if word == "main":
        end = time.thread_time() + float(seconds)
        while time.thread_time() < end:
            pass
        print(threading.get_native_id(), flush=True)
        continue
    made = threading.Thread(target=work, args=(float(seconds), word == "brief"), daemon=True)
    made.start()
    if word == "brief":
        made.join()
"""
CLOSE_NS = 0.15e9
"""Of CPU time that a thread spends beside what it was told to."""


@pytest.fixture
def server() -> Iterator[StandIn]:
    stand_in = StandIn(PROCESS, threads=True)
    yield stand_in
    stand_in.close()


def owners(path: Path) -> list[Json]:
    """The owners of each line."""
    return [json.loads(line)["owners"] for line in path.read_text().splitlines()]


def of_server(found: Json) -> float:
    """CPU of all owners but the lab."""
    return float(sum(its["cpu_ns"] for owner, its in found.items() if owner != "lab"))


def test_cpu_goes_to_the_role_of_its_thread(server: StandIn, tmp_path: Path) -> None:
    path = tmp_path / "host.jsonl"
    role, purge, unknown = (server.tell(f"stay {seconds}") for seconds in (0.3, 0.2, 0.1))
    server.kinds[purge] = "purge"
    watch = Sampler(JsonLines(path), device=None, server=server)
    watch.observe(
        ConnectedEvent(
            mono_ns=1, role="query", client=0, connection=0, server_pid=8, server_tid=role
        )
    )
    watch.read("open", time.monotonic_ns())
    watch.stop()
    (found,) = owners(path)
    assert unknown not in server.kinds
    assert found["role:query"]["cpu_ns"] == pytest.approx(0.3e9, abs=CLOSE_NS)
    assert found["role:query"]["processes"] == 1
    assert found["background:purge"]["cpu_ns"] == pytest.approx(0.2e9, abs=CLOSE_NS)
    assert found["background:other"]["cpu_ns"] == pytest.approx(0.1e9, abs=CLOSE_NS)
    assert found["background:main"]["cpu_ns"] > 0


def test_a_connection_number_is_taken_for_no_thread(server: StandIn, tmp_path: Path) -> None:
    path = tmp_path / "host.jsonl"
    thread = server.tell("stay 0.05")
    watch = Sampler(JsonLines(path), device=None, server=server)
    watch.observe(
        ConnectedEvent(mono_ns=1, role="query", client=0, connection=0, server_pid=thread)
    )
    watch.read("open")
    watch.stop()
    (found,) = owners(path)
    assert "role:query" not in found


def test_all_owners_together_are_the_whole_process(server: StandIn, tmp_path: Path) -> None:
    path = tmp_path / "host.jsonl"
    server.tell("stay 0.1")
    watch = Sampler(JsonLines(path), device=None, server=server)
    watch.read("open")
    before_ns = process_ns(server)
    server.tell("brief 0.3")
    seen = server.tell("stay 0.2")
    watch.read("second")
    server.tell("main 0.1")
    server.tell("brief 0.1")
    watch.add_role(seen, "query")
    watch.read("close")
    spent_ns = process_ns(server) - before_ns
    watch.stop()
    opened, _, closed = owners(path)
    assert of_server(closed) - of_server(opened) == pytest.approx(spent_ns, abs=CLOSE_NS)
    assert spent_ns > 0.6e9
    assert closed["exited"]["cpu_ns"] == pytest.approx(0.4e9, abs=CLOSE_NS)
    # What it spent before it became a role's stays where it was.
    assert closed["background:other"]["cpu_ns"] == pytest.approx(0.3e9, abs=CLOSE_NS)
    main = "background:main"
    assert closed[main]["cpu_ns"] - opened[main]["cpu_ns"] == pytest.approx(0.1e9, abs=CLOSE_NS)


def process_ns(server: StandIn) -> int:
    """CPU of the whole process by the kernel's own account, to a clock tick."""
    assert server.postmaster_pid is not None
    text = Path(f"/proc/{server.postmaster_pid}/stat").read_text()
    user, system = text.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) * 10_000_000


def test_memory_is_that_of_the_one_process(server: StandIn, tmp_path: Path) -> None:
    path = tmp_path / "host.jsonl"
    for _ in range(3):
        server.tell("stay 0.01")
    watch = Sampler(JsonLines(path), device=None, server=server)
    watch.read("start")
    watch.stop()
    (line,) = [json.loads(text) for text in path.read_text().splitlines()]
    status = Path(f"/proc/{server.postmaster_pid}/status").read_text()
    resident = int(status.partition("VmRSS:")[2].split()[0]) * 1024
    assert line["rss_bytes"] == pytest.approx(resident, rel=0.05)
    assert 0 < line["pss_bytes"] <= line["rss_bytes"] * 1.05


def test_a_process_that_ends_leaves_its_sums(server: StandIn, tmp_path: Path) -> None:
    path = tmp_path / "host.jsonl"
    watch = Sampler(JsonLines(path), device=None, server=server)
    watch.add_role(server.tell("stay 0.1"), "query")
    watch.read("second")
    server.close()
    server.postmaster_pid = None
    watch.read("second")
    watch.stop()
    before, after = owners(path)
    assert after["role:query"]["cpu_ns"] == before["role:query"]["cpu_ns"] > 0
    assert after["role:query"]["processes"] == 0
