"""Fills of a real server: copies that differ, and a aa_arm that has its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dbdyno import plan
from dbdyno.analysis import compare
from dbdyno.engine import golden
from dbdyno.engine.arm_server import provide
from dbdyno.engine.golden_copy import Copy
from dbdyno.host.place import Place
from dbdyno.model import Arm
from dbdyno.run import blocks
from dbdyno.store import Results
from doubted import doubted
from server_place import a_place, ends

pytestmark = pytest.mark.live
PLAN = """
name = "filled"
[arms.pg]
base_dir = "BUILD"
settings = { shared_buffers = "32MB" }
[server]
data_dir = "DATA"
[[workloads]]
name = "sysbench"
steps = ["fill", "point-query"]
parameters = { rows = 2000, seconds = 1, warmup_s = 0 }
save = "post-fill"
[schedule]
blocks = 3
fills = 2
aa_arm = true
[schedule.void]
foreign = 1
"""
ROWS = "SELECT count(*), sum(k), min(c), max(pad) FROM sbtest1"


@pytest.fixture
def here() -> Iterator[Place]:
    with a_place() as place:
        yield place


def rows_of(copy: Copy, here: Place) -> list[tuple]:
    """What a server finds that begins from the copy."""
    arm = Arm(name="reader", engine="postgres", base_dir=ends()[-1])
    server = provide(arm, place=here)
    try:
        server.prepare_from(copy, shared_blocks=False)
        server.start()
        server.use_database("ib")
        return server.execute(ROWS)
    finally:
        server.stop(crash=True)
        server.remove()


def test_two_fills_have_copies_with_other_rows_and_the_aa_arm_has_its_own(
    tmp_path: Path, here: Place
) -> None:
    written = PLAN.replace("BUILD", str(ends()[-1])).replace("DATA", str(here.data_root))
    outcome = blocks.run(plan.parse(written, None), tmp_path, wait=True)
    assert outcome.failed == 0
    results = Results.open(outcome.folder)
    by_run = {
        (run.arm, block.number): run.golden()["sysbench"]
        for block in results.blocks()
        for run in block.runs()
    }
    assert {place: (use.fill, use.began) for place, use in by_run.items()} == {
        (arm, number): (fill, began)
        for arm in ("pg", "ghost")
        for number, fill, began in ((1, 1, False), (2, 2, False), (3, 1, True))
    }
    keys = {place: use.key for place, use in by_run.items()}
    assert keys["pg", 1] == keys["pg", 3] and keys["ghost", 1] == keys["ghost", 3]
    assert len(set(keys.values())) == 4
    copies = {folder.name: golden.read(folder) for folder in golden.marked(here.data_root)}
    first, second, aa_arm = (
        rows_of(copies[keys[place]], here) for place in (("pg", 1), ("pg", 2), ("ghost", 1))
    )
    assert first[0][0] == second[0][0] == 2000
    assert first != second, "another seed"
    assert first == aa_arm, "the same rows, filled once more"
    found = compare.load(results)
    assert any(
        line.startswith("few fills: 2 fills of sysbench are too few") for line in doubted(found)
    )
