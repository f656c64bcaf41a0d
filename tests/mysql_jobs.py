"""Jobs for dyno-loadgen on MySQL and MariaDB, run by hand: one connection that does its program."""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dbdyno.host import program
from dbdyno.model import Address, Json

RUN_S_MAX = 60
TABLES = 2


@dataclass(frozen=True)
class Ran:
    """What a run of the generator said."""

    events: tuple[Json, ...]
    stderr: str

    def of(self, kind: str) -> list[Json]:
        """Its events of a kind, in their order."""
        return [event for event in self.events if event["event"] == kind]

    @property
    def done(self) -> Json:
        """How it ended."""
        return self.of("done")[0]

    def rows(self, statement: str) -> list[list[str | None]]:
        """The rows that a statement returned, the last time."""
        return list(self.captured(statement)["rows"])

    def captured(self, statement: str) -> Json:
        """What was kept of a statement, the last time."""
        return [one for one in self.of("captured") if one["statement"] == statement][-1]


def value(name: str, form: str, **maker: object) -> Json:
    """A value of a job, drawn anew for each item."""
    return {"name": name, "per": "item", "format": form, **maker}


def statement(name: str, *pieces: object, protocol: str = "simple") -> Json:
    """A statement of a job; a piece that is a number is the value of that index."""
    made = [{"value": one} if isinstance(one, int) else one for one in pieces]
    return {"name": name, "protocol": protocol, "pieces": made}


def job(
    engine: str,
    server: Json,
    statements: Sequence[Json],
    values: Sequence[Json] = (),
    **changes: object,
) -> Json:
    """A job whose one connection sends each of the statements once, in their order."""
    code = [["send", index] for index in range(len(statements))]
    role = {
        "name": "main",
        "per": "client",
        "connections": 1,
        "choose": [{"program": 0, "weight": 1}],
        "table": {"of": "t", "by": "own"},
        "pace": {"kind": "closed"},
        "stop": {"operations": 1},
    }
    made = {
        "protocol": 1,
        "autostart": True,
        "seed": 1,
        "step": "s",
        "engine": engine,
        "server": server,
        "clients": 1,
        "tables": {"t": TABLES},
        "values": list(values),
        "statements": list(statements),
        "programs": [{"name": "all", "code": code}],
        "roles": [role],
        "stop": {"roles": ["main"]},
        "capture": ["rows", "notices"],
    }
    return made | changes


def with_role(made: Json, **changes: object) -> Json:
    """The job with changes of its role."""
    return made | {"roles": [made["roles"][0] | changes]}


def at(address: Address, **changes: object) -> Json:
    """An address as a job's `server`, its database `ib`."""
    made = {"host": address.host, "port": address.port, "user": address.user, "database": "ib"}
    return made | changes


def run(made: Json, environment: Mapping[str, str] | None = None) -> Ran:
    """Runs a job to its end, however that is."""
    done = subprocess.run(
        [program.find("dyno-loadgen")],
        input=json.dumps(made),
        capture_output=True,
        text=True,
        timeout=RUN_S_MAX,
        env=os.environ | (environment or {}),
        check=False,
    )
    return Ran(tuple(json.loads(line) for line in done.stdout.splitlines()), done.stderr)
