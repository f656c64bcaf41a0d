"""The rest between two arms, and the room on a disk."""

import os
import time
from pathlib import Path

import pytest

from dbdyno.host import quiesce

MEMINFO = "MemTotal: 24684092 kB\nDirty:      1024 kB\nWriteback:    512 kB\nWritebackTmp: 9 kB\n"


def test_room_is_that_of_the_file_system_even_where_the_folder_is_still_missing(tmp_path: Path):
    free = os.statvfs(tmp_path)
    room = quiesce.room(tmp_path / "not" / "yet")
    assert room == pytest.approx(free.f_bavail * free.f_frsize, rel=0.2)


def test_unwritten_is_dirty_and_under_way():
    assert quiesce.unwritten_bytes(MEMINFO) == 1536 * 1024


def test_the_wait_is_bounded_and_says_why_it_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(quiesce, "UNWRITTEN_BYTES_MAX", -1)
    begun = time.monotonic()
    found = quiesce.quiet([tmp_path], limit_s=1.0)
    assert time.monotonic() - begun < 60
    assert "still unwritten" in found.reason or "sync took" in found.reason
    assert found.sync_s >= 0


def test_a_machine_at_rest_is_seen_twice_before_it_counts(monkeypatch: pytest.MonkeyPatch):
    said = iter(["busy", None, "busy", None, None, "never asked"])
    monkeypatch.setattr(quiesce, "disturbance", lambda *_: next(said))
    monkeypatch.setattr(quiesce, "LOOK_EVERY_S", 0.0)
    assert quiesce.wait_for_rest(frozenset(), time.monotonic() + 60) is None
    assert next(said) == "never asked"


def test_a_sync_that_hangs_does_not_hang_the_lab(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(quiesce.os, "sync", lambda: time.sleep(3))
    found = quiesce.quiet([tmp_path], limit_s=0.2)
    assert found.reason == "sync took over 0 s"
    assert found.sync_s < 2


@pytest.mark.parametrize(
    ("now", "amiss"),
    [
        ({"vda": (0, 1010)}, None),
        ({"vda": (3, 1010)}, "vda"),
        ({"vda": (0, 1500)}, "vda"),
        ({}, None),
    ],
)
def test_a_device_is_at_rest_without_requests_and_almost_without_time(
    now: dict[str, tuple[int, int]], amiss: str | None, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(quiesce, "UNWRITTEN_BYTES_MAX", 1 << 60)
    found = quiesce.disturbance({"vda": (0, 1000)}, now, 1000.0)
    assert (found is None) == (amiss is None)
    assert amiss is None or amiss in found


def test_counters_are_those_of_the_file_systems_own_device():
    numbers = [line.split()[:3] for line in Path("/proc/diskstats").read_text().splitlines()]
    if not numbers:
        pytest.skip("this host shows no block device")
    major, minor, name = numbers[-1]
    assert list(quiesce.io_ms(frozenset([f"{major}:{minor}"]))) == [name]
    assert quiesce.io_ms(frozenset(["0:999"])) == {}
