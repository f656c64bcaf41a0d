"""Log and pages of a counted operation, from the server's counters at each mark."""

import pytest

from dbdyno import engine
from dbdyno.engine.postgres import counting as of_postgres
from dbdyno.model.count import Count, FunctionWork
from dbdyno.model.events import CapturedEvent
from dbdyno.run import storage

MARIADB = engine.of("mariadb").counting
POSTGRES = engine.of("postgres").counting


def answers(**counters: tuple[int, int, int, int]) -> list[CapturedEvent]:
    """What a server said at its four marks, by counter."""
    return [
        CapturedEvent(
            mono_ns=0, role="query", client=0, connection=0, statement="counters",
            columns=["name", "value"], notices=[],
            rows=[[name, str(values[place])] for name, values in counters.items()],
        )
        for place in range(4)
    ]  # fmt: skip


def count(operations: int = 10, **calls: float) -> Count:
    """The counts of a window, with the calls of functions."""
    return Count(
        tool="valgrind 3.19.0", role="query", warmup=0, operations=operations, left_out=(),
        instructions=1.0, atomics=0.0, system_calls=0.0, mark=1.0,
        functions=tuple(
            FunctionWork(function=name, binary="postgres", instructions=9.0, with_callees=9.0,
                         calls=often)
            for name, often in calls.items()
        ),
    )  # fmt: skip


def test_what_a_mark_itself_does_is_taken_off() -> None:
    """Of four answers the last two are the window, the two before them an empty one."""
    said = answers(
        Innodb_lsn_current=(0, 100, 100, 4100),
        Innodb_buffer_pool_read_requests=(0, 50, 54, 98),
        Innodb_buffer_pool_reads=(0, 7, 7, 17),
        Innodb_buffer_pool_write_requests=(0, 0, 0, 30),
    )
    told = storage.read(said, count(), MARIADB)
    assert (told.log_bytes, told.pages_hit) == (400.0, 3.0)
    assert (told.pages_read, told.pages_dirtied) == (1.0, 3.0)


def test_a_counter_that_a_server_lacks_is_not_told() -> None:
    """PostgreSQL before 15 has no pages at once; pages that it marks are counted by function."""
    told = storage.read(
        answers(log_bytes=(0, 0, 0, 640)), count(MarkBufferDirty=5.5, MarkBufferDirtyHint=0.25),
        POSTGRES,
    )  # fmt: skip
    assert (told.log_bytes, told.pages_hit, told.pages_read) == (64.0, None, None)
    assert told.pages_dirtied == 5.75
    late = answers(
        Innodb_lsn_current=(0, 0, 0, 50), Innodb_buffer_pool_read_requests=(9, 9, 9, 9),
        Innodb_buffer_pool_reads=(3, 3, 3, 3), Innodb_buffer_pool_write_requests=(0, 0, 0, 20),
    )  # fmt: skip
    told = storage.read(late, count(), MARIADB)
    assert (told.log_bytes, told.pages_hit, told.pages_read) == (5.0, None, None)


@pytest.mark.parametrize(
    ("version_num", "words", "statements"),
    [(90600, "pg_current_xlog_insert", 1), (140010, "pg_current_wal", 1), (150000, "fetched", 2)],
)
def test_each_version_is_asked_for_what_it_knows(version_num: int, words: str, statements: int):
    """From 15 on a session's pages can be had at once."""
    asked = of_postgres.counters(version_num)
    assert len(asked) == statements
    assert words in asked[-1]
