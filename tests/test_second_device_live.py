"""A log with a device of its own: its writes are seen there, and not on the data's device."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import dbdyno
import loop_device
from dbdyno import plan
from dbdyno.analysis import compare
from dbdyno.analysis.step import assemble
from dbdyno.engine import golden
from dbdyno.parts.part import flat
from dbdyno.parts.table import Table
from dbdyno.report import page
from dbdyno.run import blocks
from dbdyno.store import Results
from server_place import a_place, ends

pytestmark = pytest.mark.live
MIB = 1 << 20
WORKLOAD = """
[tables.t]
digits = 3
create = "CREATE TABLE {t} (a int, b text)"

[statements]
put = "INSERT INTO t001 VALUES (1, repeat('x', 500))"

[[steps]]
name = "writes"
creates = ["t"]
headline = { metric = "ips", role = "insert", count = "rows" }
roles.insert = { run = "put", connections = 2 }
seconds = 4
"""
PLAN = """
name = "second-device"
[arms.gen-device]
base_dir = "{build}"
[arms.gen-device.settings]
shared_buffers = "64MB"
bgwriter_lru_maxpages = 0
synchronous_commit = "on"
[server]
data_dir = "{data}"
wal_dir = "{log}"
[require]
wal_device = true
[schedule.void]
foreign = 1
[[workloads]]
name = "./w.toml"
"""


def ran(tmp_path: Path, data: Path, log: Path) -> Path:
    """The result folder of the plan with these folders."""
    (tmp_path / "w.toml").write_text(WORKLOAD)
    text = PLAN.format(build=ends()[-1], data=data, log=log)
    outcome = blocks.run(plan.parse(text, tmp_path / "plan.toml"), tmp_path, wait=True)
    assert outcome.failed == 0
    return outcome.folder


@pytest.mark.parametrize("file_system", ["xfs", pytest.param("btrfs", marks=pytest.mark.soak)])
def test_the_log_s_writes_are_on_the_log_s_device(file_system: str, tmp_path: Path) -> None:
    with (
        loop_device.mounted(file_system) as (data_name, data),
        loop_device.mounted(file_system) as (log_name, log),
    ):
        folder = ran(tmp_path, data / "data", log / "log")
    (run,) = Results.open(folder).blocks()[0].runs()
    (step,) = run.steps()
    found = assemble.step_run(step)
    assert found.ending.status == "ok"
    seconds, operations = found.window.seconds or 0.0, (found.metrics["ips"] or 0.0)
    logged = (found.metrics["wal_bytes_per_op"] or 0.0) * operations
    on_log = (found.metrics["wal_disk_wmbps"] or 0.0) * MIB
    on_data = (found.metrics["wmbps"] or 0.0) * MIB
    assert seconds > 3
    assert logged > 0
    assert on_log > 0.9 * logged, "pages of the log that commits share are written again and again"
    assert on_data < 0.2 * on_log
    assert (found.metrics["wal_disk_fps"] or 0.0) > 1, "each commit is synced"
    assert (found.metrics["wal_disk_w_await"] or 0.0) > 0
    assert 0 < (found.metrics["wal_disk_util_pct"] or 0.0) <= 101
    assert max(found.series["wal_disk.write_mbps"].y) > 0
    exported = dbdyno.read(folder).table("device_samples").to_dict("records")
    names = {row["holds"]: row["device"] for row in exported}
    assert names == {"data": data_name, "log": log_name}
    (table,) = [
        part
        for part in flat(page.make(compare.load(Results.open(folder))).parts)
        if isinstance(part, Table) and part.title == "The devices"
    ]
    assert [row.group for row in table.rows] == [
        f"the data's device, {data_name}",
        f"the log's device, {log_name}",
    ]


def free_bytes(folder: Path) -> int:
    subprocess.run(["sync", "--file-system", folder], check=True)
    space = os.statvfs(folder)
    return space.f_bavail * space.f_frsize


@pytest.mark.parametrize("file_system", ["xfs", "btrfs"])
def test_a_golden_copy_shares_its_blocks_where_the_file_system_can(file_system: str) -> None:
    size = 64 * MIB
    with a_place() as place, loop_device.mounted(file_system) as (_, root):
        place = replace(place, data_root=root)
        kept, shared, whole = (root / name for name in ("kept", "shared", "whole"))
        for folder in (kept, shared, whole):
            place.account.make_folder(folder)
        (kept / "base").write_bytes(os.urandom(size))
        before = free_bytes(root)
        golden.fill(shared, kept, place, shared_blocks=True, what="test")
        after_shared = free_bytes(root)
        golden.fill(whole, kept, place, shared_blocks=False, what="test")
        after_whole = free_bytes(root)
        assert (shared / "base").read_bytes() == (whole / "base").read_bytes()
    assert before - after_shared < size // 8
    assert after_shared - after_whole > size // 2
