"""What rows of performance_schema mean, in PostgreSQL's classes of waits."""

from dataclasses import replace

import pytest
from msgspec import structs

from dbdyno.builds import Build
from dbdyno.engine.activity import Names, look
from dbdyno.engine.mysql import activity, instruments, settings
from dbdyno.engine.mysql.activity import Row, sessions
from dbdyno.engine.settings import Demand
from dbdyno.model.error import PlanError, ServerError
from dbdyno.model.job.statements import Statement
from dbdyno.model.size import Capacity
from dbdyno.model.wait_samples import SessionCount
from mysql_place import an_arm, build_of, needs

FILE = "wait/io/file/innodb/innodb_data_file"
MUTEX = "wait/synch/mutex/innodb/trx_sys_mutex"
TABLE = "wait/io/table/sql/handler"
SOCKET = "wait/io/socket/sql/client_connection"
NAP = "wait/synch/cond/sql/Item_func_sleep::cond"
TABLE_LOCK = "Waiting for table metadata lock"
BLOCKED = 45
"""The thread that waits for a row lock."""
DONE = "wait/synch/cond/sql/MYSQL_BIN_LOG::COND_done"


def row(
    wait: str | None = None,
    *,
    command: str | None = "Query",
    state: str | None = "updating",
    connection: int | None = 7,
    name: str = "thread/sql/one_connection",
    number: int = 5,
    blocked: bool = False,
    in_transaction: bool = False,
) -> Row:
    """A row of a sample of one thread."""
    place = None if wait is None else number
    thread = BLOCKED if blocked else 44
    transaction = 3 if in_transaction else None
    return (thread, connection, name, command, state, "UPDATE t", transaction, place, wait)


def seen(*rows: Row) -> tuple[str, str] | None:
    """The class and the event of the thread of these rows; None: it is left out."""
    found = [(one.activity, one.event) for one in sessions(rows, {BLOCKED})]
    assert len(found) <= 1
    return found[0] if found else None


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        ([row()], ("CPU", "")),
        ([row(TABLE)], ("CPU", "")),
        ([row("wait/lock/table/sql/handler")], ("CPU", "")),
        ([row(FILE)], ("IO", "io/file/innodb/innodb_data_file")),
        ([row(FILE, number=9), row(TABLE, number=5)], ("IO", "io/file/innodb/innodb_data_file")),
        ([row(MUTEX, number=9), row(FILE, number=5)], ("LWLock", MUTEX[5:])),
        ([row("wait/synch/sxlock/innodb/x")], ("LWLock", "synch/sxlock/innodb/x")),
        ([row(SOCKET)], ("Client", SOCKET[5:])),
        ([row(DONE, state="waiting for handler commit")], ("IPC", DONE[5:])),
        ([row(state="waiting for handler commit")], ("IPC", "waiting for handler commit")),
        ([row(state="Commit")], ("IPC", "Commit")),
        ([row(state=TABLE_LOCK)], ("Lock", TABLE_LOCK)),
        ([row(NAP)], ("Timeout", NAP[5:])),
        ([row(state="User sleep")], ("Timeout", "User sleep")),
        ([row(TABLE, blocked=True)], ("Lock", activity.ROW_LOCK)),
        (
            [
                row("wait/synch/cond/sql/MDL_context::COND_wait_status", number=9),
                row("wait/lock/metadata/sql/mdl", number=5),
            ],
            ("Lock", "lock/metadata/sql/mdl"),
        ),
        ([row("wait/something/new")], ("Other", "something/new")),
        ([row(command="Sleep", state=None)], ("idle", "")),
        ([row(command="Sleep", state=None, blocked=True)], ("idle", "")),
        ([row(command="Sleep", state=None, in_transaction=True)], ("idle in transaction", "")),
        ([row(command="Daemon", state="Waiting on empty queue")], None),
        ([row(command="Binlog Dump GTID")], None),
    ],
)  # fmt: skip
def test_a_thread_does_what_the_innermost_of_its_waits_says(
    rows: list[Row], what: tuple[str, str] | None
) -> None:
    assert seen(*rows) == what


@pytest.mark.parametrize(
    ("wait", "what"),
    [
        (FILE, ("IO", FILE[5:])),
        (MUTEX, ("LWLock", MUTEX[5:])),
        ("wait/synch/cond/mysys/COND_timer", None),
        ("wait/io/socket/sql/server_tcpip_socket", None),
        (TABLE, None),
    ],
)
def test_a_thread_of_the_background_that_waits_for_work_is_left_out(
    wait: str, what: tuple[str, str] | None
) -> None:
    name = "thread/innodb/page_flush_coordinator_thread"
    assert seen(row(wait, connection=None, command=None, state=None, name=name)) == what


def test_owners_are_roles_others_and_kinds_of_the_background() -> None:
    session = "thread/sql/one_connection"
    rows: list[Row] = [
        (1, None, "thread/innodb/io_write_thread", None, None, None, None, 3, FILE),
        (2, 20, session, "Execute", "updating", "UPDATE t SET n", None, None, None),
        (3, 30, "thread/sql/one_connection", "Query", None, "OPTIMIZE TABLE t", None, None, None),
        (4, 40, "thread/sql/one_connection", "Sleep", None, None, None, None, None),
    ]  # fmt: skip
    names = Names([Statement(name="raise", pieces=("UPDATE t SET n",))])
    found = look(sessions(rows, ()), {20: "write", 40: "write"}, names, each=True)
    assert set(found.sessions) == {
        SessionCount("background:io write", "IO", "io/file/innodb/innodb_data_file", "", 1),
        SessionCount("role:write", "CPU", "", "raise", 1),
        SessionCount("backend:other", "CPU", "", "OPTIMIZE TABLE t", 1),
    }
    assert found.idle == {"role:write": 1}
    assert found.by_session is not None
    assert structs.astuple(found.by_session[1])[:7] == (
        *(20, "role:write", "Execute: updating", "CPU", ""),
        *("raise", "UPDATE t SET n"),
    )
    assert look([], {}, names).by_session is None


def test_pages_that_were_there_are_those_asked_for_less_those_that_were_not() -> None:
    rows = [
        ("Innodb_buffer_pool_read_requests", "1000"),
        ("Innodb_buffer_pool_reads", "10"),
        ("Innodb_pages_read", "74"),
    ]
    assert activity.blocks(rows) == (74, 990)


# --- What has to be on -------------------------------------------------------------------------


def test_what_is_off_is_switched_on_and_off_again_by_name() -> None:
    asked = []

    def ask(statement: str) -> list[tuple[str]]:
        asked.append(statement)
        return [("events_waits_current",)] if "setup_consumers" in statement else []

    (one,) = instruments.off(ask)
    assert one.switched("YES") == (
        "UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' "
        "WHERE NAME IN ('events_waits_current')"
    )


def test_a_server_that_cannot_be_sampled_says_why() -> None:
    def off(_: str) -> list[tuple[int]]:
        return [(0,)]

    assert instruments.refused(off, ()) == (
        "its performance_schema is off, the only source of waits: start it with "
        "performance_schema = ON"
    )

    def forbids(statement: str) -> list[tuple[object]]:
        if statement.startswith("UPDATE"):
            raise ServerError(f"`{statement}`: UPDATE command denied")
        return [(1,)] if "@@" in statement else [("events_waits_current",)]

    assert instruments.refused(forbids, ()) == (
        "its user may not switch on `events_waits_current`: grant UPDATE on "
        "performance_schema.setup_consumers, or switch it on yourself (UPDATE command denied)"
    )

    def hides(statement: str) -> list[tuple[object]]:
        if "INNODB_TRX" in statement:
            raise ServerError("`SELECT 1 FROM INNODB_TRX`: Access denied")
        return [(1,)] if "@@" in statement else []

    assert instruments.refused(hides, ["SELECT 1"]) is None
    assert instruments.refused(hides, ["SELECT 1 FROM INNODB_TRX"]) == (
        "its user may not read what sessions do: grant SELECT on performance_schema.*, and PROCESS "
        "(Access denied)"
    )


HOST = Capacity(cores=8, memory_bytes=32 << 30, free_disk_bytes=1 << 40)
WAITS = Demand(waits=True)


@pytest.fixture(name="build")
def _build(mysql_engine: str) -> Build:
    """A build of each engine that is here."""
    needs(mysql_engine, "waits by thread", mysql=80000, mariadb=100600)
    return build_of(mysql_engine)


def test_performance_schema_is_switched_on_where_waits_are_asked_for_and_it_is_said(
    mysql_engine: str, build: Build
) -> None:
    arm = an_arm(mysql_engine)
    plain, asked = settings.settle(arm, build, HOST), settings.settle(arm, build, HOST, WAITS)
    assert "performance_schema" not in plain.values
    told = "performance_schema is ON, not the default: `[observe] waits`"
    by_default = mysql_engine == "mysql"
    assert (told in asked.departures) == (not by_default)
    assert asked.values.get("performance_schema", "by default") == (
        "by default" if by_default else "ON"
    )


def test_an_arm_that_switches_it_off_itself_is_refused(mysql_engine: str, build: Build) -> None:
    arm = an_arm(mysql_engine, settings={"performance-schema": "0"})
    assert settings.settle(arm, build, HOST).values["performance_schema"] == "0"
    with pytest.raises(
        PlanError, match=r"settings\.performance_schema: `observe\.waits` needs it on"
    ):
        settings.settle(arm, build, HOST, WAITS)


def test_a_version_that_does_not_tell_waits_is_refused(mysql_engine: str, build: Build) -> None:
    arm = an_arm(mysql_engine)
    old = replace(build, version_num={"mysql": 50744, "mariadb": 100525}[mysql_engine])
    with pytest.raises(
        PlanError, match=r"observe\.waits: the server of arm a: its version, .* use"
    ):
        settings.settle(arm, old, HOST, WAITS)
