"""Endpoints: standbys, places of a service, the roles that name them; hooks at a time."""

from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from dbdyno import plan
from dbdyno.engine.external import ExternalServer
from dbdyno.engine.postgres.client import PostgresClient
from dbdyno.engine.postgres.settings import for_standby
from dbdyno.model import Arm, Plan
from dbdyno.model.error import PlanError, ServerError
from dbdyno.model.job import Job
from dbdyno.model.job.endpoint import Endpoint
from dbdyno.model.job.role import ClosedPace, Role
from dbdyno.run.check import preflight
from dbdyno.run.driver.loadgen import addressed

REPLICA = """
[[workloads]]
name = "ybio"
set = "replica"
"""
FOLLOWED = '[arms.a]\nversion = "18"\nstandby = 1\n'
ALONE = '[arms.b]\nversion = "18"\n'
DSN = 'dsn = "postgresql://u@db/d"\n'
HOOK = '[[hooks]]\nwhen = "during-step"\nat_s = 60\nsteps = ["call-run"]\n'


def parse(text: str) -> Plan:
    return plan.parse(text, Path("/plans/p.toml"))


def complaint(text: str) -> str:
    with pytest.raises(PlanError) as raised:
        parse(text)
    assert "\n" not in str(raised.value)
    return str(raised.value).removeprefix("/plans/p.toml: ")


def test_a_standby_and_a_hook_that_makes_it_arrive() -> None:
    made = parse(FOLLOWED + HOOK + 'standby = "join"\n' + REPLICA)
    (arm,), (hook,) = made.arms, made.hooks
    assert (arm.standby, arm.endpoint_names) == (1, ("standby",))
    assert (hook.joins, hook.at_s, hook.when) == (True, 60.0, "during-step")
    assert replace(arm, standby=3).endpoint_names == ("standby", "standby2", "standby3")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            '[arms.a]\nengine = "mysql"\nversion = "9.7"\nstandby = 1\n' + REPLICA,
            "key `arms.a.standby`: no standby of mysql can be made here; remove it",
        ),
        (
            f"[arms.a]\n{DSN}standby = 1\n" + REPLICA,
            "key `arms.a.standby`: a server that runs elsewhere cannot be set up by dyno",
        ),
        (
            FOLLOWED + 'endpoints = { reader = "postgresql://u@db/d" }\n' + REPLICA,
            "key `arms.a.endpoints`: is for a `dsn`, but there is none",
        ),
        (
            f'[arms.a]\n{DSN}endpoints = {{ r = "mysql://u@db/d" }}\n' + REPLICA,
            "key `arms.a.endpoints.r`: is not for engine `postgres`",
        ),
        (
            '[arms.a]\nversion = "18"\n' + REPLICA,
            "step `read-first`: role `read` connects to `standby`, which no arm has",
        ),
        (
            FOLLOWED + '[[hooks]]\nwhen = "during-step"\nsql = "SELECT 1"\n' + REPLICA,
            "key `hooks[1].at_s`: say how long after the opening of a window",
        ),
        (
            FOLLOWED + '[[hooks]]\nwhen = "after-step"\nat_s = 1\nsql = "SELECT 1"\n' + REPLICA,
            'key `hooks[1].at_s`: is for when = "during-step"',
        ),
        (
            FOLLOWED + HOOK + REPLICA,
            "key `hooks[1]`: needs one of `command`, `sql` and `standby`",
        ),
        (
            FOLLOWED + ALONE + HOOK + 'standby = "join"\narms = ["b"]\n' + REPLICA,
            "key `hooks[1].standby`: b has no standby that could join",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line_with_its_key(text: str, says: str) -> None:
    assert says in complaint(text)


def test_an_arm_leaves_out_the_steps_whose_endpoint_it_lacks() -> None:
    made = parse(FOLLOWED + ALONE + REPLICA)
    releases: dict[str, tuple[int, ...] | None] = {"a": (18,), "b": (18,)}
    steps = preflight.expanded(made, releases, preflight.size(made, None))
    names = {arm: [step.name for step in steps["ybio"][arm]] for arm in "ab"}
    assert names["a"] == ["call-setup", "call-run", "read-first", "read-again"]
    assert names["b"] == ["call-setup", "call-run"]


def test_a_role_goes_to_the_endpoint_beside_a_dsn_and_nowhere_else() -> None:
    arm = Arm(
        name="a",
        engine="postgres",
        dsn="postgresql://u@primary/d",
        endpoints={"reader": "postgresql://u@reader:6000/d"},
    )
    server = ExternalServer(arm, PostgresClient("postgres"))
    writes = Role(name="w", per="step", connections=1, pace=ClosedPace())
    reads = structs.replace(writes, name="r", endpoint="reader")
    job = addressed(server, Job(clients=1, roles=(writes, reads)))
    assert isinstance(job.server, Endpoint)
    assert job.server.host == "primary"
    assert (job.endpoints["reader"].host, job.endpoints["reader"].port) == ("reader", 6000)
    assert addressed(server, Job(clients=1, roles=(writes,))).endpoints == {}
    missing = Job(clients=1, roles=(structs.replace(reads, endpoint="standby"),))
    with pytest.raises(ServerError, match="role `r` connects to `standby`, which has not joined"):
        addressed(server, missing)


def test_a_preset_that_rules_standbys_out_is_departed_from_and_says_so() -> None:
    values = {"wal_level": "minimal", "max_wal_senders": "5"}
    said = for_standby(Arm(name="a", engine="postgres", standby=1), values)
    assert values == {
        "wal_level": "replica", "max_wal_senders": "5", "max_replication_slots": "10",
    }  # fmt: skip
    assert said == ("wal_level = replica, where the preset has minimal: a standby needs it",)
