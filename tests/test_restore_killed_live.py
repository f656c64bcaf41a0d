"""A race that is killed while it restores goes on by the same command, and uses nothing half-done.

The moments are drawn by a seed over the whole of the first block: the server's start, pg_restore,
statistics, the golden copy. The query of the race fails where a row, a view or an index lacks.
"""

import random
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import own_lab
from dbdyno.engine import LabServer, golden
from dbdyno.model import Arm
from dbdyno.store import Results
from server_place import a_place, address, distribution, newer_than, started

pytestmark = pytest.mark.live
SOURCE = distribution()
CLIENTS = SOURCE / "bin"
NEWER = newer_than(SOURCE)
ROWS = 40_000
SHOP = (
    "CREATE TABLE orders (id int PRIMARY KEY, who int, note text)",
    f"INSERT INTO orders SELECT i, i % 7, md5(i::text) FROM generate_series(1, {ROWS}) i",
    "CREATE INDEX orders_who ON orders (who)",
    "CREATE INDEX orders_note ON orders (note)",
    "CREATE MATERIALIZED VIEW every AS SELECT count(*) AS rows FROM orders",
)
PLAN = """
name = "killed"
[arms.old]
base_dir = "{old}"
[arms.new]
base_dir = "{new}"
[[workloads]]
name = "{workload}"
restore = "{dump}"
[schedule]
blocks = 2
trial = false
[server]
data_dir = "{data}"
"""
WORKLOAD = f"""
[statements]
whole = '''
SELECT 1 / (
    (SELECT (count(*) = {ROWS})::int FROM orders)
    * (SELECT (rows = {ROWS})::int FROM every)
    * (SELECT (count(*) = 3)::int FROM pg_indexes WHERE tablename = 'orders')
    * (SELECT (count(*) > 0)::int FROM pg_stats WHERE tablename = 'orders')
)'''
[[steps]]
name = "whole"
writes = false
stop = "query"
headline = {{ metric = "qps", role = "query" }}
roles.query = {{ run = "whole", stop = {{ operations = 5 }} }}
"""
FIRST_BLOCK_S = 14.0
"""About as long as a lab takes to its second block, where other tests run beside it."""
END_S_MAX = 300.0


@pytest.fixture(scope="module")
def dump() -> Iterator[Path]:
    """A dump of the shop, in a folder that the servers' account can enter."""
    if not (CLIENTS / "pg_dump").exists():
        pytest.skip("no PostgreSQL with its clients here: `apt-get install postgresql`")
    source = Arm(name="s", engine="postgres", base_dir=CLIENTS.parent)
    with a_place() as place, started(source, place) as server:
        yield dumped(server, place.data_root)


def dumped(server: LabServer, folder: Path) -> Path:
    server.create_database("shop")
    server.execute(*SHOP)
    at, path = address(server), folder / "shop.dump"
    options = ["-h", at.host, "-p", str(at.port), "-U", at.user, "-d", at.database, "-Fc"]
    subprocess.run([CLIENTS / "pg_dump", *options, "-f", path], check=True)
    return path


@pytest.mark.parametrize(("seed", "kills"), [(5, 1), pytest.param(2, 20, marks=pytest.mark.soak)])
def test_a_race_killed_while_it_restores_uses_nothing_half_done(
    seed: int, kills: int, dump: Path, tmp_path: Path
) -> None:
    workload, plan, out = (tmp_path / name for name in ("shop.toml", "plan.toml", "out"))
    workload.write_text(WORKLOAD)
    data = dump.parent / f"arms{seed}"
    ends = {"old": NEWER[0], "new": NEWER[-1]}
    plan.write_text(PLAN.format(**ends, workload=workload, dump=dump, data=data))
    command = own_lab.command("run", plan, "--out", out, "--wait")
    draw = random.Random(seed)
    killed = 0
    for _ in range(kills):
        lab = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        time.sleep(draw.uniform(2.0, FIRST_BLOCK_S))
        lab.kill()
        killed += lab.wait() != 0
        for copy in golden.marked(data):
            assert golden.damage(golden.read(copy)) is None, "half a copy has its name"
    assert killed
    ended = subprocess.run(command, capture_output=True, text=True, timeout=END_S_MAX, check=False)
    assert ended.returncode == 0, ended.stderr
    results = Results.open(out / "killed")
    assert not results.failed_steps()
    done = [block for block in results.blocks() if block.state == "done"]
    assert len(done) == 2
    for run in done[-1].runs():
        assert [use.began for use in run.golden().values()] == [True]
    assert not list(data.glob("golden/.new-*")), "what a break left is swept up"
