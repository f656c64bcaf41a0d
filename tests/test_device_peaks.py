"""The greatest second of the device, from planted readings of the host."""

from pathlib import Path

import pytest

from dbdyno.analysis.step import assemble
from dbdyno.model import Json
from test_analysis import change, change_lines, step_folder


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
