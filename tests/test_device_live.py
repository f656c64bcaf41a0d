"""What a device can is measured before a step that asks, and set beside all later ones of the run.

The steps' rows are those that statements say while they run.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbdyno import plan
from dbdyno.analysis.step import assemble
from dbdyno.model.error import HostError
from dbdyno.run import blocks
from dbdyno.store import Results
from server_place import ends

pytestmark = pytest.mark.live
MIB = 1 << 20
FILE = """
[tables.t]
digits = 3
create = "CREATE TABLE {t} (a int)"

[statements.put]
progress = "rows: "
any = '''DO $$BEGIN
FOR n IN 1..4 LOOP
  INSERT INTO t001 SELECT generate_series(1, 250); RAISE NOTICE 'rows: %', 250 * n;
END LOOP; END$$'''

[statements]
read = "SELECT count(*) FROM {t}"

[[steps]]
name = "before"
creates = ["t"]
roles.query = { run = "read", stop = { operations = 1 } }

[[steps]]
name = "asks"
device_gb = 0.03125
headline = { metric = "ips", role = "insert", count = "rows" }
roles.insert = { run = "put", stop = { operations = 3 } }
stop = "insert"

[[steps]]
name = "after"
roles.query = { run = "read", stop = { operations = 1 } }
"""
PLAN = """
name = "device"
[arms.gen-device]
base_dir = "{build}"
[server]
data_dir = "{data}"
[schedule.void]
foreign = 1
[[workloads]]
name = "./w.toml"
"""


@pytest.fixture
def data() -> Iterator[Path]:
    """A folder for data that the servers' account can enter."""
    folder = Path("/var/tmp") / f"dyno-device-{os.getpid()}"
    yield folder
    subprocess.run(["rm", "-rf", str(folder)], check=True)


def read(tmp_path: Path, data: Path, text: str = FILE) -> plan.Plan:
    (tmp_path / "w.toml").write_text(text)
    return plan.parse(PLAN.format(build=ends()[-1], data=data), tmp_path / "plan.toml")


def test_the_device_is_read_once_and_counts_for_all_later_steps(data: Path, tmp_path: Path) -> None:
    outcome = blocks.run(read(tmp_path, data), tmp_path, wait=True)
    assert outcome.failed == 0
    (run,) = Results.open(outcome.folder).blocks()[0].runs()
    steps = {step.name: step for step in run.steps()}
    found = {name: step.done().canary for name, step in steps.items()}
    assert found["before"].device is None
    device = found["asks"].device
    assert device.bytes == 32 * MIB
    assert min(device.write_mbps, device.read_mbps) > 0
    assert found["after"].device == device
    assert found["asks"].before.device is None
    asks = assemble.step_run(steps["asks"])
    assert asks.ending.status == "ok"
    assert asks.metrics["write_share_of_device"] == pytest.approx(
        100 * (asks.metrics["wmbps_max"] or 0) / device.write_mbps
    )
    assert steps["asks"].done().counted.rows == 3_000
    assert assemble.step_run(steps["before"]).metrics["read_share_of_device"] is None


def test_a_file_without_room_is_refused_before_anything_starts(data: Path, tmp_path: Path) -> None:
    text = FILE.replace("0.03125", "1000")
    with pytest.raises(HostError, match=r"1000\.0 GB of the canary's file") as raised:
        blocks.run(read(tmp_path, data, text), tmp_path, wait=True)
    assert "\n" not in str(raised.value)
