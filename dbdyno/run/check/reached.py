"""Whether the load generator reaches a server elsewhere: its TLS is stricter than dyno's own.

dyno asks by the libraries of Python, which accept certificates that the generator does not, such as
a root that a server presents as its own. A plan is refused before anything starts.
"""

from msgspec.structs import replace

from dbdyno.engine import Server
from dbdyno.model.error import ServerError
from dbdyno.model.events import DoneEvent
from dbdyno.model.job import Job, StopRule
from dbdyno.model.job.endpoint import Endpoint
from dbdyno.model.job.programs import Instruction, Program
from dbdyno.model.job.role import Choice, ClosedPace, ErrorReaction, Role, RoleStop
from dbdyno.model.job.statements import Statement
from dbdyno.run.driver import loadgen
from dbdyno.run.driver.loadgen import addressed

ROLE = "check"


def refuse_unreached(server: Server) -> None:
    """Raises ServerError where the generator gets no answer from an address of the arm's `dsn`.

    Raises GeneratorError where there is no generator. Servers of the lab's own are not asked.
    """
    if not server.remote:
        return
    job = addressed(server, one_statement())
    places = {"dsn": job.server}
    if server.standbys is not None:
        for name, address in server.standbys.addresses().items():
            places[f"endpoints.{name}"] = Endpoint.of(address)
    for key, place in places.items():
        reason = refusal(replace(job, server=place))
        if reason is not None:
            raise ServerError(f"arms.{server.name}.{key}: the load generator: {reason}")


def refusal(job: Job) -> str | None:
    """Why a job of `one_statement` does not end well; None where it does."""
    *_, last = loadgen.run(job)
    assert isinstance(last, DoneEvent), "a load ends so"
    if last.status == "ok":
        return None
    return str(last.reason).removeprefix(f"role `{ROLE}`: ")


def one_statement() -> Job:
    """One statement over one connection, to no server yet."""
    return Job(
        autostart=False,
        seed=1,
        step=ROLE,
        clients=1,
        threads=1,
        statements=(Statement(name="one", protocol="simple", pieces=("SELECT 1",), rows=1),),
        programs=(Program("one", (Instruction("send", 0),)),),
        roles=(
            Role(
                name=ROLE,
                per="step",
                connections=1,
                choose=(Choice(0, 1),),
                pace=ClosedPace(),
                stop=RoleStop(1),
                on_error=ErrorReaction(),
                on_lost="fail_step",
            ),
        ),
        stop=StopRule(roles=(ROLE,)),
    )
