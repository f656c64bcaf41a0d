"""The tables of subsystems that are shipped: which functions belong where."""

import pytest

from dbdyno.evidence.subsystems import Subsystems, of_arm, part_of
from dbdyno.model.plan_record import ArmRecord, PlanRecord


def table(engine: str) -> Subsystems:
    plan = PlanRecord(name="p", base="it", blocks=1, arms=(ArmRecord(name="it", engine=engine),))
    return of_arm(plan, "it")


@pytest.mark.parametrize(
    ("frame", "part"),
    [
        ("_bt_compare@postgres", ("_bt_compare", "postgres")),
        ("heap_fetch.isra.0@postgres", ("heap_fetch", "postgres")),
        ("tas.part.0.constprop.1@postgres", ("tas", "postgres")),
        ("main.cold@postgres", ("main", "postgres")),
        ("memcpy@@GLIBC_2.14@libc.so.6", ("memcpy", "libc.so.6")),
        ("THD::awake(THD::killed_state)@mysqld", ("THD::awake", "mysqld")),
        ("ut::f(void (*)(int), long) [clone .part.3]@mysqld", ("ut::f", "mysqld")),
        ("Item::operator()(int) const@mysqld", ("Item::operator()", "mysqld")),
        ("?@[kernel]", ("?", "[kernel]")),
    ],
)
def test_a_frame_is_a_function_and_its_binary(frame: str, part: tuple[str, str]) -> None:
    assert part_of(frame) == part


@pytest.mark.parametrize(
    ("function", "subsystem"),
    [
        ("PostgresMain", "session"),
        ("pq_recvbuf", "network"),
        ("base_yyparse", "parser"),
        ("standard_planner", "planner"),
        ("ExecInterpExpr", "executor"),
        ("tuplesort_performsort", "executor"),
        ("numeric_add", "functions and types"),
        ("SearchCatCache1", "catalog caches"),
        ("heap_hot_search_buffer", "tables"),
        ("_bt_compare", "indexes"),
        ("BufferAlloc", "buffer manager"),
        ("mdreadv", "buffer manager"),
        ("XLogInsertRecord", "WAL"),
        ("GetSnapshotData", "transactions"),
        ("LWLockAcquire", "locks"),
        ("BufferLockAcquire", "locks"),  # from 19 on, in place of an LWLock
        ("UnlockBuffer", "buffer manager"),
        ("AllocSetAlloc", "memory"),
        ("pgstat_report_activity", "statistics"),
        ("list_nth", None),
        ("hash_search_with_hash_value", None),
    ],
)
def test_functions_of_postgresql(function: str, subsystem: str | None) -> None:
    assert table("postgres").of((function, "postgres")) == subsystem


@pytest.mark.parametrize(
    ("function", "subsystem"),
    [
        ("dispatch_command", "session"),
        ("vio_read", "network"),
        ("MYSQLparse", "parser"),
        ("JOIN::optimize", "planner"),
        ("Item_func::fix_fields", "executor"),
        ("handler::ha_index_read_map", "storage engine interface"),
        ("row_search_mvcc", "rows and records"),
        ("btr_cur_search_to_nth_level", "indexes"),
        ("buf_page_get_gen", "buffer pool"),
        ("log_write_up_to", "redo log"),
        ("mtr_t::commit", "redo log"),
        ("MYSQL_BIN_LOG::commit", "binary log"),
        ("trx_commit_low", "transactions"),
        ("lock_rec_lock", "locks"),
    ],
)
@pytest.mark.parametrize("engine", ["mysql", "mariadb"])
def test_functions_of_mysql_and_mariadb(engine: str, function: str, subsystem: str) -> None:
    assert table(engine).of((function, "mysqld")) == subsystem


@pytest.mark.parametrize("engine", ["postgres", "mysql"])
def test_a_binary_decides_before_the_name_of_a_function(engine: str) -> None:
    assert table(engine).of(("lock_sock_nested", "[kernel]")) == "kernel"
    assert table(engine).of(("SSL_read", "libssl.so.3")) == "network"


def test_an_engine_without_a_table_has_only_what_the_plan_adds() -> None:
    assert table("fake").names == ()
    assert table("fake").of_stack([("main", "fake")]) == "other"
