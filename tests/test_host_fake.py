"""The fake sampler's lines have the real form and exactly the planted costs."""

import json
import time
from pathlib import Path
from typing import Any

import wire_form
from dbdyno.engine.fake.sampler import KEYS, FakeSampler
from dbdyno.host.observe.sampler import Sampler
from dbdyno.model import Json
from dbdyno.model.events import Tick, WindowClose, WindowOpen
from dbdyno.store import JsonLines

S = 1_000_000_000
BASE_NS = 10**15  # later than any machine has been up


def tick(number: int, role: str, operations: dict[str, int], cpu_us: int = 5) -> Tick:
    """A tick of the generator, as far as a sampler looks at it."""
    return wire_form.tick(
        {
            "tick": number,
            "mono_ns": BASE_NS + number * S,
            "active_ns": S,
            "measured": True,
            "role": role,
            "per_client": [],
            "cpu_us": cpu_us,
            "operations": {name: {"count": count} for name, count in operations.items()},
        }
    )


def lines(path: Path) -> list[Json]:
    """The lines of a host.jsonl."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def sample(path: Path, fake: dict[str, Any]) -> list[Json]:
    """Two seconds with two roles, read as the runner does."""
    sampler = FakeSampler(JsonLines(path), fake)
    sampler.start()
    sampler.read("start")
    sampler.add_role(1, "insert")
    sampler.add_role(2, "query")
    opened = WindowOpen(mono_ns=BASE_NS)
    sampler.observe(opened)
    sampler.read("open", opened.mono_ns)
    for number in (1, 2):
        sampler.observe(tick(number, "insert", {"insert": 10}))
        sampler.observe(tick(number, "query", {"market": 100, "pdc": 50}))
    closed = WindowClose(mono_ns=BASE_NS + 2 * S, active_ns=2 * S, clients_end_ns=None)
    sampler.observe(closed)
    sampler.read("close", closed.mono_ns)
    sampler.observe(tick(3, "query", {"market": 1}))
    sampler.read("end")
    sampler.stop()
    return lines(path)


FAKE = {
    "server_cpu_us": {"market": 40.0, "insert": 1000.5},
    "server_switches": {"pdc": 2},
    "server_write_bytes": {"insert": 8192},
}


def test_cpu_per_operation_has_the_planted_answer(tmp_path: Path) -> None:
    found = {line["kind"]: line for line in sample(tmp_path / "host.jsonl", FAKE)}
    opened, closed = found["open"]["owners"], found["close"]["owners"]

    def spent(owner: str, column: str) -> int:
        return closed[owner][column] - opened[owner][column]

    assert spent("role:query", "cpu_ns") == 200 * 40_000
    assert spent("role:insert", "cpu_ns") == 20 * 1_000_500
    assert spent("role:query", "voluntary") == 100 * 2
    assert spent("role:insert", "write_bytes") == 20 * 8192
    assert spent("generator", "cpu_ns") == 2 * 5_000


def test_the_generators_cpu_is_not_added_over_roles(tmp_path: Path) -> None:
    last = sample(tmp_path / "host.jsonl", FAKE)[-1]
    assert last["owners"]["generator"]["cpu_ns"] == 3 * 5_000


def test_lines_come_in_order_with_the_events_own_times(tmp_path: Path) -> None:
    found = sample(tmp_path / "host.jsonl", FAKE)
    kinds = ["start", "open", "second", "second", "close", "second", "end"]
    assert [line["kind"] for line in found] == kinds
    stamps = [line["mono_ns"] - BASE_NS for line in found[1:]]
    assert stamps == [0, S, 2 * S, 2 * S, 3 * S, 3 * S]
    assert [found[1]["delay_ns"], found[4]["delay_ns"]] == [0, 0]


def test_the_hosts_busy_time_is_the_owners_sum(tmp_path: Path) -> None:
    found = sample(tmp_path / "host.jsonl", FAKE)
    opened, closed = found[1], found[4]
    owned_us = sum(
        closed["owners"][owner]["cpu_ns"] - opened["owners"][owner]["cpu_ns"]
        for owner in closed["owners"]
    )
    host = {
        state: closed["host"]["cpu_us"][state] - opened["host"]["cpu_us"][state]
        for state in closed["host"]["cpu_us"]
    }
    assert host["user"] * 1000 == owned_us
    assert sum(host.values()) == 2 * 2_000_000


def test_without_planted_costs_the_server_costs_nothing(tmp_path: Path) -> None:
    last = sample(tmp_path / "host.jsonl", {"service_us": {"market": 100}})[-1]
    assert last["owners"]["role:query"]["cpu_ns"] == 0


def test_the_samplers_keys_are_known_so_that_the_generator_need_not_see_them() -> None:
    assert set(FAKE) <= KEYS
    assert "service_us" not in KEYS


def test_its_lines_have_the_keys_of_the_real_ones(tmp_path: Path) -> None:
    class Nothing:
        threads = False
        postmaster_pid = None
        standby_pids = ()

        def processes(self) -> dict[int, str]:
            return {}

    real = Sampler(JsonLines(tmp_path / "real.jsonl"), device=None, server=Nothing())
    real.read("start")
    real.read("open", time.monotonic_ns())
    real.stop()
    fake = {line["kind"]: line for line in sample(tmp_path / "fake.jsonl", FAKE)}
    for line in lines(tmp_path / "real.jsonl"):
        other = fake[line["kind"]]
        assert other.keys() >= line.keys(), "there is no server whose memory, no device"
        assert other["host"].keys() == line["host"].keys()
        assert other["host"]["cpu_us"].keys() == line["host"]["cpu_us"].keys()
        assert other["host"]["memory_bytes"].keys() == line["host"]["memory_bytes"].keys()
        assert other["owners"]["lab"].keys() == line["owners"]["lab"].keys()
