"""The Insert Benchmark's other forms on a real server: what its log says that it was sent."""

import json
import re
from collections.abc import Iterator

import pytest

from dbdyno.model import Json
from dbdyno.store import Results, StepFolder
from one_arm import results_of, statements
from server_place import ends

pytestmark = pytest.mark.live

PLAN = """
name = "forms"
[arms.new]
base_dir = "{base_dir}"
config = "x10a"
memory = "256MB"
settings = {{ log_statement = "all" }}
[server]
data_dir = "{data}"
[schedule.void]
foreign = 1
[[workloads]]
name = "insert-benchmark"
{workload}
"""
OF_2023 = """
set = "2023"
parameters = { clients = 2, rows = 4_000, rows_i1 = 2_000, rates = [100, 200], seconds = 3, \
rows_x = 200, vacuum_wait_s = 1 }
"""
MIXED = """
set = "prepared"
parameters = { clients = 2, rows = 5_000, rows_i1 = 2_000, rows_i2 = 300, rates = [100], \
seconds = 4, wait_s = 1, partitions = 3, rows_per_partition = 2_000, indexes = 2, htap_seconds = 1 }
steps = ["l.i0", "l.x", "l.i1p", "cleanup", "qr100e"]
"""


@pytest.fixture(scope="module")
def of_2023(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Results]:
    """A run of the form of 2023."""
    yield from results_of(
        PLAN, tmp_path_factory.mktemp("of_2023"), base_dir=ends()[-1], workload=OF_2023
    )


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Results]:
    """A run with partitions, two indexes, long transactions, an even pace and prepared writes."""
    yield from results_of(
        PLAN, tmp_path_factory.mktemp("mixed"), base_dir=ends()[-1], workload=MIXED
    )


def steps_of(results: Results) -> dict[str, StepFolder]:
    (block,) = results.blocks()
    (run,) = block.runs()
    return {step.name: step for step in run.steps()}


def events(step: StepFolder, name: str) -> list[Json]:
    lines = (step.path / "events.jsonl").read_text().splitlines()
    return [one for line in lines if (one := json.loads(line))["event"] == name]


def totals(step: StepFolder) -> dict[str, tuple[int, int]]:
    """Operations and rows of each role."""
    (done,) = events(step, "done")
    return {name: (one["count"], one["rows"]) for name, one in done["totals"].items()}


def test_the_steps_of_2023_are_run_in_their_order(of_2023: Results) -> None:
    assert list(steps_of(of_2023)) == ["l.i0", "l.x", "l.i1", "vacuum", "q100", "q200"]
    seen = statements(of_2023)
    # Once before the queries, and two rounds before the second rate.
    assert sorted(one for one in seen if one.startswith("VACUUM")) == [
        *["VACUUM (VERBOSE) pi1"] * 3,
        *["VACUUM (VERBOSE) pi2"] * 3,
    ]


def test_the_window_of_a_later_step_of_2023_opens_after_the_vacuums_have_begun(of_2023: Results):
    step = steps_of(of_2023)["q200"]
    (started,), (opened,) = events(step, "started"), events(step, "window_open")
    assert opened["mono_ns"] - started["mono_ns"] == 2_000_000_000
    early = [one for one in events(step, "tick") if not one["measured"]]
    done = {one["role"] for one in early if sum(client[0] for client in one["per_client"])}
    assert {"vacuum", "wait"} <= done <= {*("vacuum", "vacuum_again"), *("wait", "wait_again")}
    assert totals(step)["vacuum"][0] == totals(step)["vacuum_again"][0] == 2
    assert totals(step)["insert"] == (2 * 12, 2 * 600)


def test_partitions_are_made_filled_and_vacuumed(mixed: Results) -> None:
    seen = statements(mixed)
    created = [one for one in seen if "PARTITION OF pi2" in one]
    assert created == [
        "CREATE TABLE pi2_p0 PARTITION OF pi2 FOR VALUES FROM (0) TO (2000)",
        "CREATE TABLE pi2_p1 PARTITION OF pi2 FOR VALUES FROM (2000) TO (4000)",
        "CREATE TABLE pi2_p2 PARTITION OF pi2 FOR VALUES FROM (4000) TO (MAXVALUE)",
    ]
    assert sum(one.startswith("CREATE INDEX") for one in seen) == 4
    captured = events(steps_of(mixed)["cleanup"], "captured")
    notices = "\n".join(notice for one in captured for notice in one["notices"])
    live = dict(re.findall(r'"(pi\d_p\d)": scanned .* containing (\d+) live rows', notices))
    assert sorted(live) == [f"pi{table}_p{part}" for table in (1, 2) for part in range(3)]
    for table in (1, 2):
        parts = [int(live[f"pi{table}_p{part}"]) for part in range(3)]
        # 2,000 of 5,100 rows came and went; the first partition has lost what it had.
        assert (sum(parts), parts[0]) == (5_100, 0)


def test_an_even_pace_sends_two_statements_in_each_second(mixed: Results) -> None:
    step = steps_of(mixed)["qr100e"]
    assert totals(step)["insert"] == (2 * 8, 2 * 8 * 50)
    ticks = [one for one in events(step, "tick") if one["role"] == "insert"]
    assert [sum(client[0] for client in one["per_client"]) for one in ticks] == [4, 4, 4, 4, 0]
    shapes = {name for one in events(step, "tick") for name in one["operations"]}
    assert shapes == {"insert", "delete", "market", "register", "htap", "begin", "peek", "COMMIT"}
