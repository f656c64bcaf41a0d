"""Samples of waits on a real MySQL and a real MariaDB: planted waits, what is put back, ends."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import msgspec
import pytest
from msgspec import convert

from dbdyno import engine, plan
from dbdyno.engine import LabServer
from dbdyno.engine.arm_server import settled
from dbdyno.engine.mysql import activity, instruments
from dbdyno.engine.mysql.connection import connect
from dbdyno.engine.settings import Demand
from dbdyno.engine.wait_sampler import SessionSampler
from dbdyno.host import capacity
from dbdyno.model import Json, Observation
from dbdyno.model.error import PlanError
from dbdyno.model.events import ConnectedEvent
from dbdyno.model.job import Job
from dbdyno.run.check import preflight
from mysql_place import an_arm, needs
from server_place import a_place, address, reached, within

pytestmark = pytest.mark.live

DEMAND = Demand(waits=True)
LIMIT_S = 20.0
OBSERVE = Observation(waits_s=0.02, waits_sessions=True)
JOB = convert(
    {
        "clients": 1,
        "statements": [
            {"name": "raise", "pieces": ["UPDATE t SET n = n + 1 WHERE id = ", {"value": 0}]},
            {"name": "nap", "pieces": ["SELECT sleep(", {"value": 0}, ")"]},
        ],
    },
    Job,
)


@pytest.fixture(scope="module", name="server")
def _server(mysql_engine: str, request: pytest.FixtureRequest) -> Iterator[LabServer]:
    """A server with one row, set up as a plan that asks for waits has it."""
    needs(mysql_engine, "waits by thread", mysql=80000, mariadb=100600)
    if mysql_engine == "mysql":  # which needs no more than it has by default
        made = request.getfixturevalue("mysql_server")
        with_a_row(made)
        yield made
        return
    arm = an_arm(mysql_engine)
    with a_place(mysql_engine) as place:
        build, _ = settled(arm, place=place)
        wanted = engine.of(mysql_engine).settle(arm, build, capacity.here(place.data_root), DEMAND)
        made = engine.of(mysql_engine).server(arm, build, place, wanted)
        made.prepare()
        try:
            made.start()
            with_a_row(made)
            yield made
        finally:
            made.stop(crash=True)
            made.remove()


def with_a_row(server: LabServer) -> None:
    """Makes the table of these tests in a database of its own."""
    server.create_database("waited")
    server.execute(
        "CREATE TABLE t (id int PRIMARY KEY, n int) ENGINE=innodb", "INSERT INTO t VALUES (1, 0)"
    )


class Client:
    """A connection as a load has them; what it is told to do takes its time on a thread."""

    def __init__(self, server: LabServer) -> None:
        self.connection = connect(address(server), "test")
        self.pid = self.connection.thread_id()  # type: ignore[no-untyped-call]

    def run(self, *statements: str) -> None:
        """Runs them one after the other."""
        with self.connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    @contextmanager
    def at_work(self, statement: str) -> Iterator[None]:
        """While the statement goes on."""
        going = threading.Thread(target=self.run, args=(statement,))
        going.start()
        yield
        going.join(LIMIT_S)
        assert not going.is_alive()


@contextmanager
def clients(server: LabServer, *roles: str) -> Iterator[tuple[list[Client], Samples]]:
    """Clients of these roles, and what samples see of them."""
    found = [Client(server) for _ in roles]
    try:
        yield (
            found,
            Samples(server, {one.pid: role for one, role in zip(found, roles, strict=True)}),
        )
    finally:
        for one in found:
            one.connection.close()


class Samples:
    """A sampler at work, and the lines that it wrote."""

    def __init__(self, server: LabServer, roles: dict[int, str]) -> None:
        self.lines: list[Json] = []  # as the file has them
        made = server.client.waits(
            server.address(),
            JOB,
            OBSERVE,
            lambda line: self.lines.append(json.loads(msgspec.json.encode(line))),
        )
        assert isinstance(made, SessionSampler)
        self.sampler = made
        for pid, role in roles.items():
            made.observe(
                ConnectedEvent(mono_ns=1, role=role, client=0, connection=0, server_pid=pid)
            )

    def see(self, what: Callable[[], bool]) -> bool:
        """Samples until something is so."""
        with self.sampler as sampler:
            sampler.begin()
            return within(LIMIT_S, what)

    def saw(self, *what: str) -> bool:
        """Whether a session was seen to do this: owner, class, event, statement."""
        return any(
            tuple(one[:4]) == what for line in self.lines for one in line.get("sessions", ())
        )

    def idle(self, owner: str) -> bool:
        """Whether a session of the owner was seen idle."""
        return any(line.get("idle", {}).get(owner) for line in self.lines)


@pytest.mark.capability("waits")
def test_a_wait_for_a_planted_row_lock_is_a_lock_of_the_role_that_wants_it(server: LabServer):
    with clients(server, "hold", "write") as ((holder, writer), samples):
        holder.run("BEGIN", "SELECT n FROM t WHERE id = 1 FOR UPDATE")
        with samples.sampler as sampler:
            sampler.begin()
            # MariaDB says the same again to who asks it too often: the wait is to be the later one.
            assert within(LIMIT_S, lambda: sampler.samples >= 3)
            with writer.at_work("UPDATE t SET n = n + 1 WHERE id = 1"):
                waited = within(
                    LIMIT_S, lambda: samples.saw("role:write", "Lock", activity.ROW_LOCK, "raise")
                )
                paused = samples.saw("role:hold", "idle in transaction", "", "")
                holder.run("ROLLBACK")
    assert waited
    assert paused
    assert not samples.saw("role:hold", "Lock", activity.ROW_LOCK, "raise")
    locked = {
        tuple(one[1:7])
        for line in samples.lines
        for one in line.get("by_session", ())
        if one[0] == writer.pid and one[3] == "Lock" and one[4] == activity.ROW_LOCK
    }
    query = "UPDATE t SET n = n + 1 WHERE id = 1"
    # A sample may meet the statement just before or behind this state.
    told = {(owner, state.lower(), *rest) for owner, state, *rest in locked}
    assert ("role:write", "query: updating", "Lock", activity.ROW_LOCK, "raise", query) in told
    assert {owner for owner, *_ in told} == {"role:write"}


def test_a_wait_for_a_table_is_a_lock_and_sleep_a_timeout(server: LabServer) -> None:
    with clients(server, "hold", "alter", "nap") as ((holder, other, sleeper), samples):
        holder.run("BEGIN", "SELECT n FROM t WHERE id = 1")
        with other.at_work("ALTER TABLE t COMMENT = 'x'"), sleeper.at_work("SELECT sleep(1.5)"):
            text = "ALTER TABLE t COMMENT = 'x'"
            seen = samples.see(
                lambda: (
                    samples.saw("role:alter", "Lock", "lock/metadata/sql/mdl", text)
                    and samples.saw(
                        "role:nap", "Timeout", "synch/cond/sql/Item_func_sleep::cond", "nap"
                    )
                )
            )
            holder.run("ROLLBACK")
    assert seen, {tuple(one[:4]) for line in samples.lines for one in line.get("sessions", ())}


def test_work_is_on_the_cpu_and_who_is_asked_nothing_is_idle(server: LabServer) -> None:
    with clients(server, "work", "rest") as ((worker, _), samples):
        work = "SELECT benchmark(300000000, 1 + 1)"
        with worker.at_work(work):
            on_cpu = samples.see(lambda: samples.saw("role:work", "CPU", "", work))
            with closing(connect(address(server), "test")) as other, other.cursor() as cursor:
                cursor.execute(f"KILL QUERY {worker.pid}")
    assert on_cpu
    assert samples.idle("role:rest")
    assert not any(
        str(one[0]) == "role:rest" for line in samples.lines for one in line.get("sessions", ())
    )


def test_who_only_waits_for_work_in_the_background_is_no_load(server: LabServer) -> None:
    samples = Samples(server, {})
    assert samples.see(lambda: samples.sampler.samples >= 30)
    seen = [one for line in samples.lines for one in line.get("sessions", ())]
    kinds = {one[1] for one in seen if str(one[0]).startswith("background:")}
    assert kinds <= {"IO", "LWLock"}
    each = [one for line in samples.lines if "took_us" in line for one in line["by_session"]]
    assert not [one for one in each if "Daemon" in str(one[2])]


def test_what_is_switched_on_is_off_again_afterwards(server: LabServer) -> None:
    def ask(statement: str) -> list[tuple[Any, ...]]:
        return server.execute(statement)

    before = instruments.off(ask)
    assert before, "by default what samples need is off"
    samples = Samples(server, {})
    with samples.sampler:
        assert instruments.off(ask) == []
    assert instruments.off(ask) == before


PLAN = """
[arms.theirs]
engine = "mariadb"
dsn = "mariadb://dyno@127.0.0.1:{place.port}/theirs"
password = {{ passfile = "{place.password.passfile}" }}
[observe]
waits = "1s"
[[workloads]]
name = "sysbench"
steps = ["fill"]
parameters = {{ rows = 1000 }}
"""


def test_a_server_elsewhere_without_performance_schema_is_refused_before_anything_starts(
    mysql_server: LabServer, mysql_engine: str
) -> None:
    if mysql_engine == "mysql":  # where it is on by default
        return
    mysql_server.create_database("theirs")
    asked = plan.parse(PLAN.format(place=reached(mysql_server)), None)
    with pytest.raises(PlanError) as refused:
        preflight.prepare(asked)
    assert str(refused.value) == (
        "the plan: observe.waits: the server of arm theirs: its performance_schema is off, the "
        "only source of waits: start it with performance_schema = ON, or remove the key"
    )


def test_pages_are_counted_at_most_once_a_second(server: LabServer) -> None:
    samples = Samples(server, {})
    assert samples.see(lambda: sum("blocks" in line for line in samples.lines) >= 2)
    told = [line for line in samples.lines if "blocks" in line]
    assert told[1]["mono_ns"] - told[0]["mono_ns"] >= 0.9e9
    assert all(now >= then for then, now in zip(told[0]["blocks"], told[1]["blocks"], strict=True))


def test_a_server_that_ends_the_connection_ends_the_samples_and_nothing_else(server: LabServer):
    samples = Samples(server, {})
    with samples.sampler as sampler, closing(connect(address(server), "test")) as other:
        sampler.begin()
        assert within(LIMIT_S, lambda: sampler.samples > 0)
        with other.cursor() as cursor:
            cursor.execute(
                "SELECT PROCESSLIST_ID FROM performance_schema.threads WHERE THREAD_OS_ID = %s",
                [sampler.pid],
            )
            ((asked,),) = cursor.fetchall()
            cursor.execute(f"KILL {asked}")
        assert within(LIMIT_S, lambda: sampler.failure is not None)
    assert samples.lines[-1]["failed"] == sampler.failure
    assert "\n" not in str(sampler.failure)
