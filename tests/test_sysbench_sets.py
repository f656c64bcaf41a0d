"""The older sets of the sysbench microbenchmarks, as mytools' history has them, and their page."""

import re
from pathlib import Path

import pytest

from test_sysbench import AFTER_POSTWRITE, LOADED, POINTS, READ_ONLY, REPORT, WRITES, sysbench
from workload_reader import job_of, sql

ROOT = Path(__file__).parent.parent
GROUPS = dict(zip(("point", "range", "aggregation", "write"), REPORT, strict=True))
PRE = (
    *("point-query.pre", "random-points.pre_range=10", "random-points.pre_range=100"),
    *("random-points.pre_range=1000", "read-only.pre_range=10", "read-only.pre_range=100"),
    *("read-only.pre_range=10000", "points-covered-pk.pre", "points-notcovered-pk.pre"),
    *("points-covered-si.pre", "points-notcovered-si.pre", "range-covered-pk.pre"),
    *("range-notcovered-pk.pre", "range-covered-si.pre", "range-notcovered-si.pre"),
)
OLD = (
    *(*WRITES, "postwrite", *READ_ONLY, *POINTS),
    *("points-covered-pk", "points-notcovered-pk", "points-covered-si", "points-notcovered-si"),
    *("range-covered-pk", "range-notcovered-pk", "range-covered-si", "range-notcovered-si"),
    *("scan", "delete", "insert"),
)
OF_MARCH_2025 = (
    *(*WRITES, "postwrite", *READ_ONLY, *POINTS),
    *("points-covered-pk", "points-notcovered-pk", "points-covered-si", "points-notcovered-si"),
    *("range-notcovered-pk", "range-covered-si", "range-covered-pk", "range-notcovered-si"),
    *("scan", "delete", "insert"),
)
"""In the order of time of mytools' bench/arc/mar25.sb.in.c48/dop1/o.met."""


def test_the_page_has_each_group_once_with_its_steps() -> None:
    page = (ROOT / "docs" / "workload.md").read_text().split("### `sysbench`\n")[1]
    table = page.split("| group | steps |")[1].split("\n\n")[0]
    told = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", table, re.MULTILINE))
    assert len(told) == table.count("\n| `") == 4
    made: dict[str, set[str]] = {group: set() for group in told}
    for step in (*sysbench().values(), *sysbench(set="corrected").values()):
        if step.measured and ".pre" not in step.name:
            (group,) = (key for key, title in GROUPS.items() if title == step.group)
            made[group].add(step.name)
    for group, names in told.items():
        full: list[str] = []
        for name in names.split(", "):
            before = full[-1].rsplit(name[0], 1)[0] if name[0] in "=-" else ""
            full.append(before + name)
        assert sorted(full) == sorted(made[group])


@pytest.mark.long
def test_other_sets_have_the_published_members_in_their_order() -> None:
    assert list(sysbench(set="nopre")) == [*LOADED, *WRITES, "postwrite", *AFTER_POSTWRITE]
    of_42 = sysbench(set="42")
    assert list(of_42) == [*LOADED, *PRE, *OLD]
    assert sum(step.measured for step in of_42.values()) == 42
    of_27 = sysbench(set="27")
    assert list(of_27) == [*LOADED, "point-query.pre", "range-notcovered-si.pre", *OF_MARCH_2025]
    assert sum(step.measured and ".pre" not in name for name, step in of_27.items()) == 27
    other = {"update-inlist": "update-inlist-100", "delete": "delete-bounded"}
    assert list(sysbench(set="corrected")) == [other.get(name, name) for name in sysbench()]


def test_the_scan_of_the_42_is_50_times_each_table_by_a_connection_of_its_own() -> None:
    """`--events=TABLES --time=0 --warmup-time=0 --threads=TABLES`; oltp_scan.lua scans 50 times.

    mytools' run.sh and lua/oltp_scan.lua from 2024-07-24 (d505db4b) to 2025-03-13 (7a57109c).
    """
    of_42 = sysbench(set="42", clients=40, tables=8, rows=7_000)["scan"]
    job = job_of(of_42)
    (role,) = job["roles"]
    assert (job["clients"], role["connections"], role["stop"]) == (8, 1, {"operations": 50})
    assert (job["stop"]["seconds"], job["stop"]["warmup_s"]) == (None, 0)
    assert role["table"]["by"] == "own"
    for other in ("27", "32"):
        as_today = job_of(sysbench(set=other, clients=40, tables=8, seconds=9)["scan"])
        assert (as_today["clients"], as_today["stop"]["seconds"]) == (40, 9)
    assert sql(of_42, "scan") == "SELECT * FROM <sbtest> WHERE LENGTH(c) < 0"
