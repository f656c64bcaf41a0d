"""`orders` when its load ends in the middle: a connection killed, or the generator with all of its.

Whatever was in flight has to be undone as a whole, so that the conditions hold afterwards.
"""

from collections.abc import Callable

import pytest

from dbdyno.engine import LabServer, Place
from dbdyno.model import Arm, Json
from dbdyno.run.driver import registry
from dbdyno.run.driver.interface import GeneratorDied, RunningLoad
from mysql_steps import DATABASE
from orders_steps import broken, filled, steps
from server_place import ends, started, within
from step_load import bench, heard

pytestmark = [pytest.mark.live, pytest.mark.soak]

ISOLATIONS = ("read committed", "repeatable read", "serializable")
TICKS = 3
"""So many seconds into the load it ends."""
SESSIONS = {
    "postgres": f"SELECT pid FROM pg_stat_activity WHERE datname = '{DATABASE}'"
    " AND pid <> pg_backend_pid()",
    "mysql": f"SELECT id FROM information_schema.processlist WHERE db = '{DATABASE}'"
    " AND id <> connection_id()",
}
SESSIONS["mariadb"] = SESSIONS["mysql"]
KILLS = {"postgres": "SELECT pg_terminate_backend({})", "mysql": "KILL {}", "mariadb": "KILL {}"}

End = Callable[[LabServer, RunningLoad], None]


def a_connection(server: LabServer, running: RunningLoad) -> None:
    """Has the server end a session of the load."""
    (victim,), *_ = server.execute(SESSIONS[server.engine])
    server.execute(KILLS[server.engine].format(victim))


def the_generator(server: LabServer, running: RunningLoad) -> None:
    """Ends the generator at once, with all of its connections."""
    running.kill()


def ended(server: LabServer, isolation: str, end: End) -> None:
    """Runs both forms with 8 clients until somebody ends the load; what is there is whole."""
    for used in ("client", "procedures"):
        step = steps(server, used, isolation=isolation, seconds=60)["orders"]
        if step.setup:
            server.execute(*step.setup, database=DATABASE)
        makes = registry.of(step)
        ticks = []

        def at(running: RunningLoad, event: Json, ticks: list[Json] = ticks) -> None:
            if event["event"] == "tick":
                ticks.append(event)
                if len(ticks) == TICKS:
                    end(server, running)

        load = makes.start(makes.prepare(step, bench(server)), lambda _: None, None)
        if end is the_generator:
            with pytest.raises(GeneratorDied):
                heard(load, at)
        else:
            *_, done = heard(load, at)
            assert done["status"] == "failed"
        assert len(ticks) < 30, "the load went on"
        assert within(30, lambda: not server.execute(SESSIONS[server.engine]))
        assert broken(server, step) == set(), (isolation, used)


def check(server: LabServer) -> None:
    """Ends the load of one warehouse in both ways at each isolation."""
    filled(server, steps(server))
    for isolation in ISOLATIONS:
        for end in (a_connection, the_generator):
            ended(server, isolation, end)


def test_conditions_hold_on_postgresql_after_a_load_that_was_ended(place: Place) -> None:
    arm = Arm(name="orders", engine="postgres", base_dir=ends()[-1], settings={"fsync": "off"})
    with started(arm, place) as server:
        check(server)


def test_conditions_hold_on_mysql_and_mariadb_after_a_load_that_was_ended(mysql_server: LabServer):
    check(mysql_server)
