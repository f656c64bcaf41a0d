"""Another host as a site of a plan's blocks: what its agent measures comes into the result folder.

Where the connection breaks the block is void. The next thing that is asked connects anew.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dbdyno import workload
from dbdyno.model import Block, Host, Json, Plan, WorkloadUse
from dbdyno.model.ceiling import Ceiling
from dbdyno.model.error import PlanError
from dbdyno.model.host_facts import HostFacts
from dbdyno.run.agent.files import Receiver
from dbdyno.run.agent.session import Session, Unreachable
from dbdyno.run.agent.wire import (
    Answer,
    Begin,
    CeilingMeasured,
    Check,
    Checked,
    CheckedUp,
    CheckUp,
    End,
    Facts,
    File,
    Hold,
    Measure,
    MeasureCeiling,
    Measured,
    Nothing,
    Open,
    Opened,
    Piece,
    PlanSent,
    Rate,
    ReadFacts,
    Repeat,
    ResultOf,
    Say,
    placed,
)
from dbdyno.run.check.host_checkup import Checkup
from dbdyno.run.lab import Lab
from dbdyno.run.prepared import Prepared
from dbdyno.run.progress import Watch
from dbdyno.store import handover

AGAIN_S_MAX = 120.0
"""How long a host that was lost is tried again before the plan is given up for now."""
AGAIN_EVERY_S = 3.0
FILE_BYTES_MAX = 16 << 20
"""Of a file that goes along with a plan."""


@dataclass(kw_only=True)
class Hosts:
    """The plan's hosts, with a session each that is made anew where it broke."""

    hosts: Mapping[str, Host]
    sessions: dict[str, Session] = field(default_factory=dict)

    def connect(self) -> None:
        """Connects to all. Raises HostError."""
        for name in self.hosts:
            self.session(name)

    def session(self, name: str) -> Session:
        """The session with a host, which may have to be made. Raises HostError."""
        known = self.sessions.get(name)
        if known is not None and known.lost is None:
            return known
        if known is not None:
            known.close()
        self.sessions[name] = session = Session(self.hosts[name])
        session.others = self.sessions
        return session

    def session_again(self, name: str) -> Session:
        """The same, tried for a while where the host was lost. Raises HostError."""
        begun_s = time.monotonic()
        while True:
            try:
                return self.session(name)
            except Unreachable:
                if time.monotonic() - begun_s > AGAIN_S_MAX:
                    raise
                time.sleep(AGAIN_EVERY_S)

    def close(self) -> None:
        """Ends all agents."""
        for session in self.sessions.values():
            session.close()


@dataclass(kw_only=True)
class There:
    """A host that measures arms of a plan, or makes load for other hosts."""

    hosts: Hosts
    name: str
    plan: Plan  # with the arms of this host alone; none where it only makes load
    wait: bool  # for another lab there to end
    pinned: Json | None = None  # plan.json where the plan goes on, or the sizes of another host
    measures: bool = True  # whether any arm of the plan is a real server
    generators: Sequence[There] = ()  # the hosts that make the load of its servers
    _opened: Session | None = None  # by which the host is held, and its plan open

    # --- Before the first block ---

    def check(self, pinned: Json | None) -> tuple[Prepared, list[str]]:
        """What `dyno check` finds there, and in words what it takes. Raises DynoError."""
        session = self.hosts.session(self.name)
        checked = session.request(Check(sent(self.plan), pinned), Checked)
        return checked.prepared, [f"{self.name}: {line}" for line in checked.resources]

    def check_up(self, shared_buffers: str | None) -> Checkup:
        """What the doctor finds there. Raises DynoError."""
        request = CheckUp(sent(self.plan) if self.plan.arms else None, shared_buffers)
        return self.hosts.session(self.name).request(request, CheckedUp).checkup

    def open(self, pinned: Json | None, watch: Watch) -> tuple[Prepared | None, HostFacts]:
        """Takes the host, and checks the plan's part there; also the host's facts.

        Raises DynoError.
        """
        self.pinned = pinned
        session = self.hosts.session_again(self.name)
        session.request(Hold(self.plan.name, self.wait), Nothing)
        if not self.plan.arms:
            self._opened = session
            return None, session.request(ReadFacts(self.measures), Facts).facts
        hear = Hearing(self.name, watch).take
        opened = session.request(Open(sent(self.plan), pinned), Opened, hear)
        self._opened = session
        return opened.prepared, opened.facts

    def ready(self, watch: Watch) -> Session:
        """The session in which the plan is open; opened again where the host was lost.

        Raises HostError where it does not come back.
        """
        if self._opened is None or self._opened.lost is not None:
            self.wait = True  # until the agent that was lost has let go of the host
            self.open(self.pinned, watch)
        assert self._opened is not None
        return self._opened

    # --- As run.lab.Site ---

    def ceiling(self, lab: Lab, connections: Mapping[str, int]) -> Ceiling:
        """As Site.ceiling."""
        cpus = lab.plan.placement.generator_cpus
        request = MeasureCeiling(connections, lab.plan.threads, cpus)
        return self.ready(lab.watch).request(request, CeilingMeasured).ceiling

    def measure(self, lab: Lab, block: Block, use: WorkloadUse, arms: Sequence[str]) -> WentThere:
        """As Site.measure. Raises LabDied where the host is lost."""
        begun = [known for known in lab.results.blocks() if not known.void]
        request = Measure(
            block=block,
            workload=use.title,
            arms=tuple(arms),
            through=lab.through,
            plan_record=lab.results.plan,
            blocks={known.path.name: handover.ends(known) for known in begun},
        )
        session = self.ready(lab.watch)
        for host in self.generators:
            host.ready(lab.watch)
        failed = heard(session, request, Measured, lab).failed
        return WentThere(failed=failed, session=session, lab=lab, request=request)


@dataclass(frozen=True, kw_only=True)
class WentThere:
    """Arms that went through a workload on another host."""

    failed: int
    session: Session
    lab: Lab
    request: Measure

    def repeat(self) -> None:
        """As Went.repeat; what the host no longer knows, as it was lost, is not profiled."""
        if self.session.lost is None and self.lab.plan.observe.profile is not None:
            measured = self.request
            request = Repeat(measured.block, measured.workload, measured.arms)
            heard(self.session, request, Nothing, self.lab)


class Hearing:
    """Shows what an agent tells on the way, and takes its files."""

    def __init__(self, host: str, watch: Watch, receiver: Receiver | None = None) -> None:
        self._host = host
        self._watch = watch
        self._receiver = receiver

    def take(self, answer: Answer) -> None:
        """Takes an answer on the way to the last one."""
        match answer:
            case Piece():
                assert self._receiver is not None
                self._receiver.take(answer)
            case Say():
                self._watch.say(f"{self._host}: {answer.text}")
            case Begin():
                self._watch.begin(answer.title, answer.leg)
            case Rate():
                self._watch.rate(answer.pulse, answer.arm)
            case End():
                self._watch.end(answer.text, alarm=answer.alarm)


def heard(session: Session, request: Measure | Repeat, form: type[ResultOf], lab: Lab) -> ResultOf:
    """Has an agent measure; its files are in the block's folder afterwards."""
    folder = next(
        block.path
        for block in lab.results.blocks()
        if block.number == request.block.number and not block.void
    )
    receiver = Receiver(folder, session.host.name)
    try:
        hearing = Hearing(session.host.name, lab.watch, receiver)
        return session.request(request, form, hearing.take)
    finally:
        receiver.clear()


def sent(plan: Plan) -> PlanSent:
    """A plan with the files that it names, by their paths here. Raises PlanError."""
    return PlanSent(placed(plan), {str(path.absolute()): file(path) for path in files(plan)})


def file(path: Path) -> File:
    """A file with its mode. Raises PlanError where it cannot be read, or is too large to send."""
    try:
        content, mode = path.read_bytes(), path.stat().st_mode & 0o777
    except OSError as reason:
        raise PlanError(f"{path}: cannot be read: {reason.strerror}") from None
    if len(content) > FILE_BYTES_MAX:
        raise PlanError(
            f"{path}: has {len(content):,} bytes, which is too much to send with a plan: put it "
            "on the host, and name it by its path there"
        )
    return File(content, mode)


def files(plan: Plan) -> Iterator[Path]:
    """The files that a plan names by paths: workload files, scripts, and its hooks' own.

    Raises PlanError.
    """
    if plan.path is not None:
        yield plan.path
        words = (word for hook in plan.hooks for word in hook.command or ())
        own = (plan.path.parent / word for word in words if not word.startswith("/"))
        yield from (path for path in own if path.is_file())
    for use in plan.workloads:
        for name in (use.name, *(name for names in (use.scripts or {}).values() for name in names)):
            if Path(name).is_absolute():
                raise PlanError(
                    f"`{name}` is not there on another host: name it by a path from the plan's "
                    "folder, and dyno brings it along"
                )
        yield from workload.own_files(use, plan.path)
