"""The messages between dyno and an agent, each declared once: a JSON object a line, both ways.

Both ends run the same code (docs/howto/hosts.md), so messages hold its own types.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Literal, TypeVar

from msgspec import Struct, ValidationError

from dbdyno import __version__
from dbdyno.engine.access import Secrets
from dbdyno.model import Block, Json, Plan, error
from dbdyno.model.ceiling import Ceiling
from dbdyno.model.error import DynoError, LabDied
from dbdyno.model.host_facts import HostFacts
from dbdyno.model.job import Job
from dbdyno.model.json import decoder, encoder, misfit_words
from dbdyno.model.plan_record import PlanRecord
from dbdyno.run.check.host_checkup import Checkup
from dbdyno.run.driver.interface import NetworkReading
from dbdyno.run.progress import Leg, Pulse
from dbdyno.run.ready_plan import ReadyPlan
from dbdyno.store.handover import BlockEnds

PROTOCOL = 2
"""The number of this protocol, which grows with each change of it."""
ALIVE_EVERY_S = 5.0
"""Between two signs of life that dyno sends an agent."""
SILENCE_S_MAX = 90.0
"""Without one for so long the connection is broken: the agent stops what it started."""


class AgentHello(Struct, frozen=True):
    """The first message of an agent: who it is, and what its clocks say."""

    agent: int  # its PROTOCOL
    version: str
    code: str
    unix_ns: int
    mono_ns: int

    @classmethod
    def now(cls) -> AgentHello:
        """This process's own."""
        return cls(PROTOCOL, __version__, code(), time.time_ns(), time.monotonic_ns())


@cache
def code() -> str:
    """A hash of the package's own code, by which builds of one version differ."""
    digest = hashlib.sha256()
    for name, content in sorted(_sources(resources.files("dbdyno"), "")):
        digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]


def _sources(folder: Traversable, prefix: str) -> Iterator[tuple[str, bytes]]:
    """The names and contents of the code below a folder."""
    for entry in folder.iterdir():
        if entry.is_dir() and entry.name != "__pycache__":
            yield from _sources(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith((".py", ".toml")):
            yield prefix + entry.name, entry.read_bytes()


# --- Requests --------------------------------------------------------------------------------


class PlanFile(Struct, frozen=True):
    """A file that goes along with a plan."""

    content: bytes
    mode: int


def placed(plan: Plan) -> Plan:
    """The plan with its file's path from the root, as what it names is found from there."""
    return plan if plan.path is None else replace(plan, path=plan.path.absolute())


class SentPlan(Struct, frozen=True):
    """A plan with the files that it names, by their absolute paths."""

    plan: Plan
    files: Mapping[str, PlanFile]


class HoldRequest(Struct, frozen=True, tag="Hold"):
    """Take the host for a plan. Answer: EmptyAnswer."""

    plan: str  # its name
    wait: bool  # for another lab there to end


class FactsRequest(Struct, frozen=True, tag="ReadFacts"):
    """Read the host's facts. Answer: FactsAnswer."""

    measure: bool


class CheckupRequest(Struct, frozen=True, tag="CheckUp"):
    """Do the work of `dyno doctor`. Answer: CheckupAnswer."""

    sent: SentPlan | None
    shared_buffers: str | None


class CheckRequest(Struct, frozen=True, tag="Check"):
    """Check a plan's part, and change nothing. Answer: CheckAnswer."""

    sent: SentPlan
    pinned: Json | None  # plan.json where the plan goes on, or the sizes of another host


class OpenRequest(Struct, frozen=True, tag="Open"):
    """Check a plan's part, and make the builds that it lacks. Answer: OpenAnswer."""

    sent: SentPlan
    pinned: Json | None


class CeilingRequest(Struct, frozen=True, tag="MeasureCeiling"):
    """Measure the load generator by itself. Answer: CeilingAnswer."""

    connections: Mapping[str, int]  # by protocol
    threads: int | None
    cpus: str | None


class MeasureRequest(Struct, frozen=True, tag="Measure"):
    """Take arms through a workload. Answer: MeasureAnswer."""

    block: Block
    workload: str  # its title
    arms: tuple[str, ...]
    through: int | None  # the last block before the next look
    plan_record: PlanRecord  # plan.json of the result
    blocks: Mapping[str, BlockEnds]  # that were begun, by their folders


class RepeatRequest(Struct, frozen=True, tag="Repeat"):
    """Profile what the judged runs could not. Answer: EmptyAnswer."""

    block: Block
    workload: str
    arms: tuple[str, ...]


class ClockRequest(Struct, frozen=True, tag="ReadClock"):
    """Read CLOCK_MONOTONIC. Answer: ClockReading."""


class NetworkRequest(Struct, frozen=True, tag="ReadNetwork"):
    """Read the interface towards a server. Answer: NetworkReading."""

    address: str
    port: int | None  # of the server whose round trip is measured; None: it is not


class GenerateRequest(Struct, frozen=True, tag="Generate"):
    """Make a share of a step's load. Answers: GeneratorLine for each event, then EmptyAnswer."""

    job: Job
    cpus: str | None
    secrets: Secrets | None
    samples: Mapping[str, bytes]  # the content of the job's files, by their SHA-256


LabRequest = (
    HoldRequest
    | FactsRequest
    | CheckupRequest
    | CheckRequest
    | OpenRequest
    | CeilingRequest
    | MeasureRequest
    | RepeatRequest
)
"""What the agent's main thread does, one after the other."""
Relayed = ClockRequest | NetworkRequest | GenerateRequest
"""What an agent may have another host of the plan do: what its load takes, and nothing else."""
Request = LabRequest | Relayed


# --- Results of requests ---------------------------------------------------------------------


class EmptyAnswer(Struct, frozen=True, tag="Nothing"):
    """The request was fulfilled, and nothing is to be said of it."""


class FactsAnswer(Struct, frozen=True, tag="Facts"):
    """The host's facts."""

    facts: HostFacts


class CheckupAnswer(Struct, frozen=True, tag="CheckedUp"):
    """The doctor's findings."""

    checkup: Checkup


class CheckAnswer(Struct, frozen=True, tag="Checked"):
    """A plan's part that the host can carry out, and in words what it takes."""

    prepared: ReadyPlan
    resources: list[str]


class OpenAnswer(Struct, frozen=True, tag="Opened"):
    """A plan's part that the host is ready for, and the host's facts."""

    prepared: ReadyPlan
    facts: HostFacts


class CeilingAnswer(Struct, frozen=True, tag="CeilingMeasured"):
    """The load generator's highest rates there: a line of generator.jsonl."""

    ceiling: Ceiling


class MeasureAnswer(Struct, frozen=True, tag="Measured"):
    """The arms went through the workload."""

    failed: int  # steps that failed or were skipped


class ClockReading(Struct, frozen=True, tag=True):
    """CLOCK_MONOTONIC."""

    mono_ns: int


Result = (
    EmptyAnswer
    | FactsAnswer
    | CheckupAnswer
    | CheckAnswer
    | OpenAnswer
    | CeilingAnswer
    | MeasureAnswer
    | ClockReading
    | NetworkReading
)
ResultOf = TypeVar("ResultOf", bound=Result)
Value = TypeVar("Value")


# --- Answers ---------------------------------------------------------------------------------


class WatchLine(Struct, frozen=True, tag="Say"):
    """A line for who watches."""

    text: str


class LegStart(Struct, frozen=True, tag="Begin"):
    """A leg begins."""

    title: str
    leg: Leg


class RateMessage(Struct, frozen=True, tag="Rate"):
    """The figures of the step so far."""

    pulse: Pulse
    arm: str


class LegEnd(Struct, frozen=True, tag="End"):
    """The leg is over."""

    text: str
    alarm: bool


class FilePiece(Struct, frozen=True, tag="Piece"):
    """A piece of a file of a block."""

    file: str  # its path from the block's folder
    content: bytes  # compressed
    changed_ns: int | None  # the file's time of change, with its last piece


class GeneratorLine(Struct, frozen=True, tag="Line"):
    """A line that a generator wrote."""

    text: str


class DoneAnswer(Struct, frozen=True, tag="Done"):
    """The last answer: the request was fulfilled."""

    result: Result


class FailureAnswer(Struct, frozen=True, tag="Failed"):
    """The last answer: an error that a user can mend."""

    error: str  # the name of its class in model.error
    text: str


class LossAnswer(Struct, frozen=True, tag="Lost"):
    """The last answer where a connection broke."""

    reason: str


Answer = (
    WatchLine
    | LegStart
    | RateMessage
    | LegEnd
    | FilePiece
    | GeneratorLine
    | DoneAnswer
    | FailureAnswer
    | LossAnswer
)
LAST = (DoneAnswer, FailureAnswer, LossAnswer)
"""The last answer to a request is one of these."""
Hear = Callable[[Answer], None]


# --- Envelopes -------------------------------------------------------------------------------


class RequestMessage(Struct, frozen=True, tag="Ask"):
    """A request; all answers to it have its number."""

    number: int
    request: Request


Order = Literal["go", "pause", "resume", "stop", "hang_up", "kill"]


class Command(Struct, frozen=True, tag=True):
    """An order for a generator that runs."""

    number: int  # of the request that started it
    order: Order
    at_ns: int | None = None  # for `go`: by the generator's CLOCK_MONOTONIC; None: at once


class Reply(Struct, frozen=True, tag=True):
    """An answer to the request of this number."""

    number: int
    answer: Answer


class AliveMessage(Struct, frozen=True, tag="Alive"):
    """A sign of life."""


class StopMessage(Struct, frozen=True, tag="Stop"):
    """Break off what is being done."""


class HostMessage(Struct, frozen=True, tag="ForHost"):
    """What dyno is to pass on to another host of the plan."""

    host: str
    message: RequestMessage | Command


ToAgent = RequestMessage | Command | Reply | AliveMessage | StopMessage
FromAgent = Reply | HostMessage

_encode = encoder().encode
_hello: Callable[[str | bytes], AgentHello] = decoder(AgentHello).decode
_to_agent: Callable[[str | bytes], ToAgent] = decoder(ToAgent).decode
_from_agent: Callable[[str | bytes], FromAgent] = decoder(FromAgent).decode


class MessageError(Exception):
    """A line is no message; the text says why."""


def line(message: AgentHello | ToAgent | FromAgent) -> str:
    """A message as it is sent, without the end of the line."""
    return _encode(message).decode()


def read_hello(text: str | bytes) -> AgentHello:
    """An agent's first line. Raises MessageError."""
    return _read(_hello, text)


def read_to_agent(text: str | bytes) -> ToAgent:
    """A line for an agent. Raises MessageError."""
    return _read(_to_agent, text)


def read_from_agent(text: str | bytes) -> FromAgent:
    """A line of an agent after its first. Raises MessageError."""
    return _read(_from_agent, text)


def _read(decode: Callable[[str | bytes], Value], text: str | bytes) -> Value:
    try:
        return decode(text)
    except ValidationError as misfit:
        raise MessageError(misfit_words(misfit)) from misfit
    except ValueError as misfit:
        raise MessageError(f"it is not JSON ({misfit})") from misfit


def failed(reason: Exception, hidden: str = "") -> FailureAnswer:
    """An error that a user can mend, without the folder `hidden` before its paths."""
    name = "LabDied" if isinstance(reason, LabDied) else type(reason).__name__
    return FailureAnswer(name, str(reason).replace(hidden, "") if hidden else str(reason))


def result(answer: Answer, form: type[ResultOf], host: str) -> ResultOf:
    """The result in a last answer of a host.

    Raises its DynoError; LabDied where it was lost, or answers something else.
    """
    match answer:
        case DoneAnswer(value) if isinstance(value, form):
            return value
        case DoneAnswer(value):
            raise LabDied(f"host {host}: it answered {type(value).__name__}, not {form.__name__}")
        case FailureAnswer(name, text):
            form_of_error = getattr(error, name, DynoError)
            if not (isinstance(form_of_error, type) and issubclass(form_of_error, DynoError)):
                form_of_error = DynoError
            raise form_of_error(f"host {host}: {text}")
        case LossAnswer(reason):
            raise LabDied(f"host {host}: {reason}")
    raise AssertionError(f"{answer} is no last answer")
