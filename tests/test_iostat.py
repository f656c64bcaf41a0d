"""A device's figures are those of iostat, from planted readings and beside iostat itself."""

from pathlib import Path

import msgspec
import pytest

import dbdyno
from dbdyno.analysis import compare
from dbdyno.analysis.step import assemble
from dbdyno.evidence import iostat, raw_files
from dbdyno.findings.device import show as device
from dbdyno.model import Json
from dbdyno.model.host_reading import DeviceCounters, HostReading
from dbdyno.model.metric.device import COLUMNS, NAMES
from result_builder import build
from test_analysis import change, change_lines, step_folder

S = 1_000_000_000
MIB = 1 << 20
NEW = ("merges", "discard", "flush_ms")
"""What the keys have in them that older results lack."""


def reading(moment: str, at_s: float, counts: int) -> HostReading:
    """A reading in whose counters everything happened so many times."""
    counters = msgspec.convert(disk(counts), DeviceCounters)
    return HostReading(moment=moment, mono_ns=round(at_s * S), disk=counters)


def disk(counts: int) -> Json:
    """A device in whose counters everything happened so many times."""
    counters: Json = {"device": "sdb", "in_flight": counts % 7}
    for way, each in (("read", 4), ("write", 8), ("discard", 16)):
        counters |= {
            f"{way}s": each * counts,
            f"{way}_merges": counts,
            f"{way}_bytes": each * counts * 8192,
            f"{way}_ms": 3 * each * counts,
        }
    moved = {"flushes": 2 * counts, "flush_ms": counts}
    busy = {"io_ms": 5 * counts, "weighted_ms": 20 * counts}
    return counters | moved | busy


def test_every_column_is_computed_from_its_own_counters() -> None:
    found = iostat.figures(reading("open", 1, 100), reading("close", 5, 300), "disk")
    assert set(found) | {"in_flight_max"} == {one.name for one in COLUMNS}
    assert found == {
        "rps": 200.0, "rmbps": 800 * 8192 / MIB / 4, "rrqmps": 50.0, "rrqm_pct": 20.0,
        "r_await": 3.0, "rareq_sz": 8.0,
        "wps": 400.0, "wmbps": 1_600 * 8192 / MIB / 4, "wrqmps": 50.0,
        "wrqm_pct": pytest.approx(100 / 9), "w_await": 3.0, "wareq_sz": 8.0,
        "dps": 800.0, "dmbps": 6.25, "drqmps": 50.0, "drqm_pct": pytest.approx(100 / 17),
        "d_await": 3.0, "dareq_sz": 8.0,
        "fps": 100.0, "f_await": 0.5, "aqu_sz": 1.0, "util_pct": 25.0,
    }  # fmt: skip


def test_without_requests_there_is_no_time_and_no_size_of_one() -> None:
    found = iostat.figures(reading("open", 1, 100), reading("close", 5, 100), "disk")
    unknown = {name for name, value in found.items() if value is None}
    assert unknown == {f"{way}_await" for way in "rwdf"} | {
        f"{way}{end}" for way in "rwd" for end in ("rqm_pct", "areq_sz")
    }
    assert {value for name, value in found.items() if name not in unknown} == {0.0}


def test_an_arm_that_takes_turns_has_its_own_share_of_the_device() -> None:
    lines = [
        reading("open", 0, 100),
        reading("pause", 2, 200),
        reading("settled", 10, 9_000),
        reading("close", 12, 9_100),
    ]
    found = iostat.of_window(raw_files.host(lines), "disk")
    assert found["wps"] == 8 * 200 / 4
    assert found["util_pct"] == 5 * 200 / 4_000 * 100
    assert found["in_flight_max"] == 4, "a gauge: 200 and 9,100 have less, 9,000 is settling"


def test_the_log_s_device_is_told_apart_from_the_data_s(tmp_path: Path) -> None:
    folder = step_folder(tmp_path, "qr100")

    def with_device(lines: list[Json]) -> list[Json]:
        """Nothing happened until the window's last second."""
        counts = {"close": 200}
        return [line | {"wal_disk": disk(100 + counts.get(line["kind"], 0))} for line in lines]

    change_lines(folder.path / "host.jsonl", with_device)
    run = assemble.step_run(folder)
    assert run.metrics["wal_disk_wps"] == pytest.approx(8 * 200 / 20.0)
    assert run.metrics["wal_disk_wareq_sz"] == 8.0
    assert run.metrics["wal_disk_w_await"] == 3.0
    assert run.metrics["wal_disk_fps"] == pytest.approx(20.0)
    assert (run.metrics["wps"], run.metrics["disk_w_await"]) == (100.0, pytest.approx(0.5))
    assert run.series["wal_disk.write_mbps"].y[:3] == (0.0, 0.0, 0.0)
    assert run.series["wal_disk.w_await"].y == (3.0,), "no request, no time of one"
    assert run.series["disk.w_await"].y == pytest.approx([0.5] * 20)


def test_results_of_older_versions_lack_what_was_not_counted_and_nothing_else(tmp_path: Path):
    folder = step_folder(tmp_path, "qr100")
    whole = assemble.step_run(folder).metrics

    def older(lines: list[Json]) -> list[Json]:
        return [
            line
            | {
                "disk": {
                    key: value
                    for key, value in line["disk"].items()
                    if not any(part in key for part in NEW)
                }
            }
            for line in lines
        ]

    change_lines(folder.path / "host.jsonl", older)
    found = assemble.step_run(folder).metrics
    lost = {name for name in NAMES if found[name] is None and whole[name] is not None}
    assert lost == {
        *("disk_rrqmps", "disk_rrqm_pct", "disk_wrqmps", "disk_wrqm_pct", "disk_f_await"),
        *("disk_dps", "disk_dmbps", "disk_drqmps"),
    }
    assert {name: found[name] for name in NAMES - lost} == {
        name: whole[name] for name in NAMES - lost
    }


def test_an_export_has_the_columns_of_iostat_by_second(tmp_path: Path) -> None:
    """As published: w/s, wMB/s, wrqm/s, w_await, wareq-sz, aqu-sz, %util."""
    planted = {
        "wps": 100.0, "wmbps": 3.125, "wrqmps": 60.0, "w_await": 0.5, "wareq_sz": 32.0,
        "aqu_sz": 0.06, "util_pct": 4.0,
    }  # fmt: skip
    result = dbdyno.read(build(tmp_path, blocks=1, steps=("qr100",)))
    samples = result.table("device_samples")
    rows = samples[samples["arm"] == "pg17"].to_dict("records")
    assert (len(rows), rows[-1]["second"], rows[-1]["in_flight"]) == (21, 20.0, 0)
    for row in rows:
        assert (row["holds"], row["device"], row["step"]) == ("data", "vda", "qr100")
        assert {name: row[name] for name in planted} == pytest.approx(planted)


def test_a_report_shows_the_device_of_each_step_in_the_columns_of_iostat(tmp_path: Path) -> None:
    found = compare.load(build(tmp_path, blocks=1, steps=("qr100",)))
    (step,) = found.steps
    (shown,) = device.tables(step, found, "s")
    headings = [one.text for one in shown.columns]
    row = next(one for one in shown.rows if one.arm == "pg17")
    values = dict(zip(headings, [cell.text for cell in row.cells], strict=True))
    assert {name: float(values[name]) for name in ("w/s", "w_await", "wareq-sz", "%util")} == {
        "w/s": 100.0, "w_await": 0.5, "wareq-sz": 32.0, "%util": 4.0,
    }  # fmt: skip
    assert "iostat -x" in str(shown.note)


# The greatest second of the device, from planted readings of the host.


def test_the_greatest_second_of_the_device_is_set_beside_its_ceiling(tmp_path: Path) -> None:
    folder = step_folder(tmp_path, "qr100")

    def busy(lines: list[Json]) -> list[Json]:
        """100 MiB read in the window's fourth second, and as much written in its sixth."""
        seconds = [line for line in lines if line["kind"] == "second"]
        for counter, from_then_on in (("read_bytes", seconds[3:]), ("write_bytes", seconds[5:])):
            for line in (*from_then_on, *(one for one in lines if one["kind"] == "close")):
                line["disk"] = line["disk"] | {counter: line["disk"][counter] + (100 << 20)}
        return lines

    change_lines(folder.path / "host.jsonl", busy)
    device = {"bytes": 1 << 30, "write_mbps": 412.5, "read_mbps": 201.25, "direct": True}
    change(folder.path / "done.json", lambda done: done["canary"].update(device=device))
    metrics = assemble.step_run(folder).metrics
    read, write = 40 / 64, 100 / 32
    assert metrics["rmbps_max"] == pytest.approx(100 + read)
    assert metrics["wmbps_max"] == pytest.approx(100 + write)
    assert metrics["rwmbps_max"] == pytest.approx(100 + read + write), "not in the same second"
    assert metrics["read_share_of_device"] == pytest.approx(100 * (100 + read) / 201.25)
    assert metrics["write_share_of_device"] == pytest.approx(100 * (100 + write) / 412.5)


def test_a_window_without_a_whole_second_has_its_own_rate(tmp_path: Path) -> None:
    folder = step_folder(tmp_path, "qr100")
    ends = ("open", "close")
    change_lines(
        folder.path / "host.jsonl", lambda lines: [line for line in lines if line["kind"] in ends]
    )
    assert assemble.step_run(folder).metrics["rmbps_max"] == pytest.approx(40 / 64)
