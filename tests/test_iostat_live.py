"""What dyno computes of a device is what iostat itself prints of it, over the same time."""

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

import loop_device
from dbdyno.evidence import iostat
from dbdyno.host.observe import sampler
from dbdyno.model import Json
from dbdyno.model.host_reading import HostReading
from dbdyno.model.metric.device import COLUMNS, IN_FLIGHT

pytestmark = pytest.mark.live
INTERVAL_S = 4
BEGIN_S = 1.0
"""iostat has made its first reading by then, and the load is over long before its second."""
END_S = 3.5
TRIES_MAX = 3
ROUNDED = 0.0051
"""iostat prints two digits."""
BY_TIME = {"r/s", "rMB/s", "rrqm/s", "w/s", "wMB/s", "wrqm/s", "d/s", "dMB/s", "drqm/s", "f/s"}
BY_TIME |= {"aqu-sz", "%util"}
LATE_SHARE_MAX = 0.02
"""By how much iostat's interval may differ from what it was asked for."""
PIECE_BYTES = 64 << 10
PIECES = 256


def test_every_column_is_what_iostat_prints() -> None:
    lacking = loop_device.without("iostat") or loop_device.without("blkdiscard")
    if lacking:
        pytest.skip(lacking)
    with loop_device.device() as path:
        told, printed = beside_iostat(path)
    for way in ("r", "w", "d", "f"):
        assert printed[f"{way}/s"] > 0, "the load did all that there is"
    for heading, value in printed.items():
        own = told[heading]
        if own is None:
            assert value == 0.0, heading
            continue
        off = LATE_SHARE_MAX * value if heading in BY_TIME else 0.0
        assert own == pytest.approx(value, abs=ROUNDED + off), heading


def beside_iostat(path: str) -> tuple[Json, Json]:
    """Columns by heading: ours and iostat's, of a load that lies within one interval of iostat."""
    name = Path(path).name
    command = ["iostat", "-d", "-x", "-m", "-y", "-o", "JSON", name, str(INTERVAL_S), "1"]
    for _ in range(TRIES_MAX):
        before = sampler.disk_counters(name)
        begun_s = time.monotonic()
        environment = os.environ | {"LC_ALL": "C"}
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as one:
            time.sleep(BEGIN_S)
            load(path)
            in_time = time.monotonic() - begun_s < END_S
            text, _ = one.communicate(timeout=60)
        after = sampler.disk_counters(name)
        if in_time:
            (host,) = json.loads(text)["sysstat"]["hosts"]
            (disk,) = host["statistics"][0]["disk"]
            break
    else:
        pytest.fail(f"this machine did not end the load within {END_S} s")
    # Nothing but the load moves the counters, so these are iostat's two readings.
    first, last = (
        HostReading(moment="second", mono_ns=at_s * 1_000_000_000, disk=read)
        for at_s, read in ((0, before), (INTERVAL_S, after))
    )
    found = iostat.figures(first, last, "disk")
    told = {one.heading: found[one.name] for one in COLUMNS if one.heading != IN_FLIGHT}
    return told, {heading: disk[heading.removeprefix("%")] for heading in told}


def load(path: str) -> None:
    """Synced writes, reads past the page cache, and a discard."""
    number = os.open(path, os.O_RDWR)
    try:
        for place in range(PIECES):
            os.pwrite(number, os.urandom(PIECE_BYTES), 2 * place * PIECE_BYTES)
            if place % 16 == 0:
                os.fsync(number)
        os.fsync(number)
        os.posix_fadvise(number, 0, 0, os.POSIX_FADV_DONTNEED)
        for place in range(PIECES):
            os.pread(number, PIECE_BYTES, place * PIECE_BYTES)
    finally:
        os.close(number)
    done = loop_device.ran("blkdiscard", "--length", str(64 << 20), path)
    assert done.returncode == 0, done.stderr
