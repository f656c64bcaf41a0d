"""What a plan says before its fill where the tables are larger than the memory for them."""

from types import SimpleNamespace
from typing import Any

import pytest

from dbdyno import engine
from dbdyno.model import Arm
from dbdyno.plan import parse
from dbdyno.run.check import notices

GB = 1 << 30
PLAN = """
arms.old = { version = "12" }
arms.new = { version = "18" }
arms.none = { engine = "fake", fake = { default_us = 9 } }
[[workloads]]
name = "insert-benchmark"
"""


def said(monkeypatch: pytest.MonkeyPatch, tables: dict[str, int], buffers: dict[str, int]) -> str:
    """The lines for arms with these tables and buffers, in GB, on a host of 16 GB."""
    monkeypatch.setattr(notices, "tables_bytes", lambda plan, use, arm, prepared: tables[arm] * GB)
    monkeypatch.setattr(notices, "shared_bytes", lambda plan, arm, prepared: buffers[arm] * GB)
    prepared: Any = SimpleNamespace(sizing=SimpleNamespace(memory_bytes=16 * GB))
    return "\n".join(notices.larger_than_memory(parse(PLAN, None), prepared))


def test_tables_that_fit_into_the_servers_buffers_are_nothing_to_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert said(monkeypatch, {"old": 4, "new": 4}, {"old": 4, "new": 8}) == ""


def test_tables_that_are_larger_than_the_buffers_name_the_arms(monkeypatch: pytest.MonkeyPatch):
    assert said(monkeypatch, {"old": 4, "new": 5}, {"old": 3, "new": 8}) == (
        "tables of insert-benchmark: 5.0 GB, more than shared_buffers (old 3.0 GB): "
        "reads come from the page cache, too"
    )


def test_tables_that_are_larger_than_the_host_are_read_from_the_device(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert said(monkeypatch, {"old": 17, "new": 5}, {"old": 3, "new": 8}) == (
        "tables of insert-benchmark: 17.0 GB, more than the host's 16.0 GB of memory: "
        "reads come from the device, too"
    )


@pytest.mark.parametrize(
    ("setting", "wanted"), [(None, 128 << 20), ("2GB", 2 * GB), ("16384", 128 << 20)]
)
def test_buffers_are_read_as_the_server_reads_them(setting: str | None, wanted: int) -> None:
    assert engine.of("postgres").footprint(lambda name: setting).cache_bytes == wanted


def test_the_arms_own_buffers_count(monkeypatch: pytest.MonkeyPatch) -> None:
    def server(plan: object, arm: Arm, prepared: object, log: object) -> Any:
        return SimpleNamespace(
            engine="postgres", setting=lambda name: {"old": "1GB", "new": "2GB"}[arm.name]
        )

    monkeypatch.setattr(notices, "provide_server", server)
    plan: Any = parse(PLAN, None)
    prepared: Any = None
    assert notices.shared_bytes(plan, "new", prepared) == 2 * GB
