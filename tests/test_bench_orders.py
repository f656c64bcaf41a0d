"""`orders` beside sysbench-tpcc without measuring: what is read, told apart and made anew."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bench import arms, calls, jobs, orders, server, tpcc
from bench.compare import Bench
from bench.process import Ended, ProgramFailed
from dbdyno import workload
from dbdyno.host import program
from dbdyno.model import Address
from server_place import a_place

ADDRESS = Address(host="/run/nowhere", port=5432, user="dyno", database="bench")
FAKE = {"default_us": 100, "jitter": 0.0}
SUMMARY = """\
    transactions:                        2000 (200.00 per sec.)
    queries:                             57000 (5700.00 per sec.)
    ignored errors:                      {errors}      (1.00 per sec.)
"""
SHARED = {"payers_named": "named", "askers_named": "named", "payer_named": "by_name",
          "asker_named": "by_name", "pay_bad": "pay", "missing_item": "item",
          "BEGIN": "begin", "COMMIT": "commit", "ROLLBACK": "commit"}  # fmt: skip
"""What the count has by another name than the workload."""
THEIRS = {
    "begin": "BEGIN",
    "next_order": "SELECT d_next_o_id, d_tax FROM district1 WHERE d_w_id = $1 FOR UPDATE",
    "newest_order": "SELECT d_next_o_id FROM district1 WHERE d_id = $1 AND d_w_id= $2",
    "low_stock": "SELECT COUNT(DISTINCT (s_i_id)) FROM order_line1, stock1 WHERE ol_w_id = $1",
    "stock": "SELECT s_quantity, s_data, s_dist_01 s_dist FROM stock1 WHERE s_i_id = $1 FOR UPDATE",
    "pay": "UPDATE customer1 SET c_balance=$1, c_ytd_payment=$2 WHERE c_w_id = $3",
    "charge": "UPDATE customer1 SET c_balance = c_balance + $1, c_delivery_cnt = $2",
    "by_name": "SELECT c_balance, c_first FROM customer1 WHERE c_last=$3 ORDER BY c_first",
    "asker": "SELECT c_balance, c_first, c_middle, c_last FROM customer1 WHERE c_w_id = $1",
    "oldest": "SELECT no_o_id FROM new_orders1 WHERE no_d_id = $1 LIMIT $3 FOR UPDATE",
}  # fmt: skip
"""Some of sysbench-tpcc's statements as pg_stat_statements has them."""


def a_bench() -> Bench:
    return Bench(generator=Path("dyno-loadgen"), pairs=1, seconds=1, rows=1)


def ended(errors: int) -> Ended:
    return Ended(output=SUMMARY.format(errors=errors), user_s=1.0, system_s=2.0, switches=3)


def test_what_the_script_rolls_back_is_no_transaction_of_its_rate() -> None:
    found = tpcc.sample(ended(errors=10))
    assert (found.operations, found.per_s) == (1990, pytest.approx(199.0))
    with pytest.raises(ProgramFailed, match="41 of 2000 transactions failed"):
        tpcc.sample(ended(errors=41))


def test_a_script_that_is_not_here_is_said_with_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(arms, "sysbench_program", lambda: Path("/usr/bin/sysbench"))
    monkeypatch.setenv(tpcc.VARIABLE, str(tmp_path))
    (only,) = orders.measure(a_bench())
    assert only.result == "not here"
    assert only.missing is not None
    assert "git clone https://github.com/Percona-Lab/sysbench-tpcc" in only.missing
    (tmp_path / tpcc.SCRIPT).touch()
    assert tpcc.missing() is None
    monkeypatch.setattr(arms, "sysbench_program", lambda: None)
    assert tpcc.missing() == arms.NO_SYSBENCH


def test_the_generator_takes_the_job() -> None:
    """On its fake server, which answers a statement in 100 µs of a clock of its own."""
    own = {**orders.PARAMETERS, "clients": 8}
    job = jobs.orders(ADDRESS, own, threads=1, seconds=1)
    faked = job | {"engine": "fake", "server": None, "fake": FAKE}
    found = arms.dyno(program.find("dyno-loadgen"), lambda _: faked).run(1)
    assert found.operations > 0


def test_what_prepare_sleeps_is_none_of_its_load() -> None:
    assert orders.speed(2.0, tpcc.SLEEP_S + 10.0) == pytest.approx(5.0)


def test_each_statement_of_the_workload_is_counted_by_its_name() -> None:
    *_, step = workload.expand(workload.load("orders"), orders.PARAMETERS, "postgres")
    for each in step.job.statements:
        text = " ".join("".join(p if isinstance(p, str) else "$1" for p in each.pieces).split())
        assert calls.name_of(text) == SHARED.get(each.name, each.name), text


@pytest.mark.parametrize("name", THEIRS)
def test_a_statement_of_the_script_is_counted_by_the_same_name(name: str) -> None:
    assert calls.name_of(THEIRS[name]) == name


def test_a_statement_of_neither_is_refused() -> None:
    with pytest.raises(ProgramFailed, match="neither program's statement: `SELECT 1`"):
        calls.name_of("SELECT 1")


def some_calls(**more: int) -> list[tuple[str, int, float, float]]:
    """23 transactions of the mix, each statement once for a transaction of its kinds, or `more`."""
    dealt = {name: sum(calls.MIX[kind] for kind in kinds) for name, kinds, _ in calls.STATEMENTS}
    dealt |= {"oldest": calls.DISTRICTS} | more
    return [(text_of(name), count, 1.0, 2.0) for name, count in dealt.items()]


def text_of(name: str) -> str:
    """A text that is counted by this name."""
    if name in THEIRS:
        return THEIRS[name]
    pattern = next(pattern for each, _, pattern in calls.STATEMENTS if each == name)
    plain = re.sub(r"\((\w+)\|\w+\)", r"\1", pattern).replace(".*", " ")
    return re.sub(r"[\^$\\]", "", plain)


def test_statements_of_a_transaction_do_not_depend_on_the_drawn_mix() -> None:
    even = calls.sorted_out(some_calls())
    more_orders = {name: 20 for name, kinds, _ in calls.STATEMENTS if kinds == (calls.ORDER,)}
    drawn = calls.sorted_out(some_calls(**more_orders, begin=33, commit=33))
    assert drawn.at_mix() == pytest.approx(even.at_mix())
    lines = calls.sorted_out(some_calls(item=100))
    assert lines.at_mix() - even.at_mix() == pytest.approx(90 / 23)
    assert lines.json()["item"] == {"each": 10.0, "plan_us": 10.0, "exec_us": 20.0}
    head, *rows = calls.table({"ours": even, "theirs": lines})
    assert head.split() == ["statement", "of", "ours", "theirs"]
    assert len(rows) == len(calls.STATEMENTS) + 1


def test_a_statement_that_never_ran_is_named() -> None:
    with pytest.raises(ProgramFailed, match="never executed: low_stock: take more seconds"):
        calls.sorted_out(some_calls(low_stock=0))


def test_conditions_after_both_are_those_that_transactions_keep() -> None:
    assert {each.name for each in orders.conditions().conditions} == {
        *(f"c{number}" for number in range(1, 13) if number != 11)
    }


@pytest.mark.live
def test_each_run_begins_on_what_was_loaded() -> None:
    with a_place() as place, server.running_at(place, orders.ARM) as running:
        running.execute("CREATE TABLE counted AS SELECT 1 AS number")
        orders.keep(running)
        for _ in range(2):
            orders.renew(running)
            assert running.execute("SELECT number FROM counted") == [(1,)]
            running.execute("UPDATE counted SET number = number + 1")
