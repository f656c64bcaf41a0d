"""All of sysbench's scripts on real servers, by a plan as a user would write it."""

import json
import re
from collections.abc import Iterator

import pytest

from dbdyno.model import Json
from dbdyno.store import Results
from one_arm import results_of, statements
from server_place import ends

pytestmark = pytest.mark.live

PLAN = """
name = "oltp"
[arms.one]
base_dir = "{base_dir}"
config = "x10a"
memory = "256MB"
settings = {{ log_statement = "{log}" }}
[server]
data_dir = "{data}"
[schedule.void]
foreign = 1
[[workloads]]
name = "sysbench-oltp"
parameters = {{ {parameters} }}
{steps}
"""
PLAIN = "clients = 2, table_size = 5_000, time = 1"
ODD = """clients = 3, tables = 2, table_size = 5_000, events = 60, rate = 300, skip_trx = 1, \
rand_type = "special", auto_inc = 0, secondary = 1, create_secondary = 0, rows_per_insert = 20, \
delete_inserts = 2"""
READS = ["oltp_point_select", "oltp_read_only"]
OF_ONE_TABLE = ["select_random_points", "select_random_ranges"]
WRITES = [
    *("oltp_update_index", "oltp_update_non_index", "oltp_write_only", "oltp_read_write"),
    *("oltp_delete", "oltp_insert", "bulk_insert"),
]
SOME = ["oltp_read_only", "select_random_points", "oltp_read_write", "bulk_insert"]
"""One of each kind; test_sysbench_beside_live.py has the others as they are, but for the lab."""


@pytest.fixture(
    scope="module",
    params=[SOME, pytest.param([*READS, *OF_ONE_TABLE, *WRITES], marks=pytest.mark.soak)],
    ids=["some", "all"],
)
def plain(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Results]:
    """Scripts for a second as they are, on the newest server."""
    steps = f"steps = {json.dumps(['fill', *request.param])}"
    parts = {"base_dir": ends()[-1], "log": "none", "parameters": PLAIN, "steps": steps}
    yield from results_of(PLAN, tmp_path_factory.mktemp("plain"), **parts)


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Results]:
    """So many events of every script with options of all kinds, on the oldest server."""
    parts = {"base_dir": ends()[0], "log": "all", "parameters": ODD, "steps": ""}
    yield from results_of(PLAN, tmp_path_factory.mktemp("odd"), **parts)


def totals(results: Results) -> dict[str, Json]:
    """What each step's one role did, by step."""
    (block,) = results.blocks()
    (run,) = block.runs()
    found = {}
    for step in run.steps():
        *_, done = (step.path / "events.jsonl").read_text().splitlines()
        (found[step.name],) = json.loads(done)["totals"].values()
    return found


@pytest.mark.capability("sysbench-oltp")
def test_scripts_run_as_they_are(plain: Results) -> None:
    found = totals(plain)
    named = [*(plain.plan.workloads[0].steps or ())]
    assert list(found) == named and named[1:]
    assert all(one["count"] > 0 for one in found.values())
    # A row that two transactions put back at the same time is an error that is tried again.
    assert all(one["errors"] == one["retries"] for one in found.values())
    assert found["fill"]["rows"] == 5_000
    assert found["bulk_insert"]["rows"] == 32_768 * found["bulk_insert"]["count"]


def test_every_script_ends_after_its_events(odd: Results) -> None:
    found = totals(odd)
    assert list(found) == ["fill", *READS, *WRITES]
    assert {name: one["count"] for name, one in found.items() if name != "fill"} == {
        **dict.fromkeys([*READS, *WRITES], 60),
        "bulk_insert": 3,
    }


def test_keys_of_the_client_are_never_the_same(odd: Results) -> None:
    texts = [one for one in statements(odd) if one.startswith("INSERT INTO")]
    form = r"INSERT INTO sbtest[12] \(id, k, c, pad\) VALUES \((-?\d+), \d+, '[-\d]+', '[-\d]+'\)"
    ids = [int(match[1]) for one in texts if (match := re.fullmatch(form, one))]
    assert len(set(ids)) == len(ids) == 60
    assert min(ids) < -(2**30) < 2**30 < max(ids) < 2**31


def test_each_connection_of_bulk_insert_fills_its_own_table_from_one_on(odd: Results) -> None:
    bulk = [one for one in statements(odd) if one.startswith("INSERT") and "VALUES(" in one]
    rows = ",".join(f"({number},{number})" for number in range(1, 21))
    assert sorted(bulk) == [f"INSERT INTO sbtest{table} VALUES{rows}" for table in (1, 2, 3)]


def test_a_transaction_without_begin_has_none(odd: Results) -> None:
    seen = statements(odd)
    assert not {"BEGIN", "COMMIT"} & set(seen)
    put_back = [one for one in seen if re.match(r"INSERT INTO sbtest[12] \(.*\$4\)", one)]
    assert len(put_back) >= 2 * (60 + 60), "delete_inserts is 2, in two scripts"


def test_the_tables_have_the_indexes_that_were_asked_for(odd: Results) -> None:
    seen = statements(odd)
    assert sorted(one for one in seen if one.startswith("CREATE INDEX")) == [
        f"CREATE INDEX xid{table} ON sbtest{table}(id)" for table in (1, 2)
    ]
    assert not any("PRIMARY KEY" in one for one in seen if "CHAR(120)" in one or "ALTER" in one)
