"""Whether the load generator reaches a server elsewhere: its TLS is stricter than dyno's own.

dyno asks by the libraries of Python, which accept certificates that the generator does not, such as
a root that a server presents as its own. A plan is refused before anything starts.
"""

from __future__ import annotations

from dbdyno.engine import Server
from dbdyno.engine.interface import job_part
from dbdyno.model import Json
from dbdyno.model.error import ServerError
from dbdyno.model.events import Done
from dbdyno.model.job import server_json
from dbdyno.run.driver import loadgen

ROLE = "check"


def refuse_unreached(server: Server) -> None:
    """Raises ServerError where the generator gets no answer from an address of the arm's `dsn`.

    Raises GeneratorError where there is no generator. Servers of the lab's own are not asked.
    """
    if not server.remote:
        return
    part = job_part(server, {"roles": []})
    keys = {"dsn": part["server"]}
    if server.standbys is not None:
        for name, address in server.standbys.addresses().items():
            keys[f"endpoints.{name}"] = server_json(address)
    for key, place in keys.items():
        reason = refusal(part | {"server": place})
        if reason is not None:
            raise ServerError(f"arms.{server.name}.{key}: the load generator: {reason}")


def refusal(part: Json) -> str | None:
    """Why a job with this `engine` and `server` does not end well; None where it does."""
    *_, last = loadgen.run(job(part))
    assert isinstance(last, Done), "a load ends so"
    if last.status == "ok":
        return None
    return str(last.reason).removeprefix(f"role `{ROLE}`: ")


def job(part: Json) -> Json:
    """One statement over one connection."""
    statement = {
        "name": "one",
        "protocol": "simple",
        "pieces": ["SELECT 1"],
        "types": [],
        "rows": 1,
    }
    role = {
        "name": ROLE,
        "per": "step",
        "connections": 1,
        "choose": [{"program": 0, "weight": 1}],
        "table": None,
        "pace": {"kind": "closed"},
        "stop": {"operations": 1},
        "on_error": {"retry": [], "tries": 1, "otherwise": "fail_step"},
        "on_lost": "fail_step",
    }
    return {
        "protocol": 1,
        "autostart": False,
        "seed": 1,
        "step": ROLE,
        **part,
        "clients": 1,
        "threads": 1,
        "values": [],
        "statements": [statement],
        "programs": [{"name": "one", "code": [["send", 0]]}],
        "roles": [role],
        "stop": {"roles": [ROLE], "seconds": None, "warmup_s": 0, "seconds_max": None},
    }
