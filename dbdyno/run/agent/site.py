"""Another host as a site of a plan's blocks: what its agent measures comes into the result folder.

Where the connection breaks the block is void. The next thing that is asked connects anew.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dbdyno.model import Block, Host, Json, Plan, WorkloadUse
from dbdyno.model.ceiling import Ceiling
from dbdyno.model.error import PlanError
from dbdyno.model.host_facts import HostFacts
from dbdyno.plan import shipped_plans
from dbdyno.run.agent import wire
from dbdyno.run.agent.files import Receiver
from dbdyno.run.agent.session import AgentSession, UnreachableError
from dbdyno.run.check.host_checkup import Checkup
from dbdyno.run.lab import Lab
from dbdyno.run.progress import Watch
from dbdyno.run.ready_plan import ReadyPlan
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
    sessions: dict[str, AgentSession] = field(default_factory=dict)

    def connect(self) -> None:
        """Connects to all. Raises HostError."""
        for name in self.hosts:
            self.session(name)

    def session(self, name: str) -> AgentSession:
        """The session with a host, which may have to be made. Raises HostError."""
        known = self.sessions.get(name)
        if known is not None and known.lost is None:
            return known
        if known is not None:
            known.close()
        self.sessions[name] = session = AgentSession(self.hosts[name])
        session.others = self.sessions
        return session

    def session_again(self, name: str) -> AgentSession:
        """The same, tried for a while where the host was lost. Raises HostError."""
        begun_s = time.monotonic()
        while True:
            try:
                return self.session(name)
            except UnreachableError:
                if time.monotonic() - begun_s > AGAIN_S_MAX:
                    raise
                time.sleep(AGAIN_EVERY_S)

    def close(self) -> None:
        """Ends all agents."""
        for session in self.sessions.values():
            session.close()


@dataclass(kw_only=True)
class RemoteSite:
    """A host that measures arms of a plan, or makes load for other hosts."""

    hosts: Hosts
    name: str
    plan: Plan  # with the arms of this host alone; none where it only makes load
    wait: bool  # for another lab there to end
    pinned: Json | None = None  # plan.json where the plan goes on, or the sizes of another host
    measures: bool = True  # whether any arm of the plan is a real server
    generators: Sequence[RemoteSite] = ()  # the hosts that make the load of its servers
    _opened: AgentSession | None = None  # by which the host is held, and its plan open

    # --- Before the first block ---

    def check(self, pinned: Json | None) -> tuple[ReadyPlan, list[str]]:
        """What `dyno check` finds there, and in words what it takes. Raises DynoError."""
        session = self.hosts.session(self.name)
        checked = session.request(wire.CheckRequest(sent(self.plan), pinned), wire.CheckAnswer)
        return checked.prepared, [f"{self.name}: {line}" for line in checked.resources]

    def check_up(self, shared_buffers: str | None) -> Checkup:
        """What the doctor finds there. Raises DynoError."""
        request = wire.CheckupRequest(sent(self.plan) if self.plan.arms else None, shared_buffers)
        return self.hosts.session(self.name).request(request, wire.CheckupAnswer).checkup

    def open(self, pinned: Json | None, watch: Watch) -> tuple[ReadyPlan | None, HostFacts]:
        """Takes the host, and checks the plan's part there; also the host's facts.

        Raises DynoError.
        """
        self.pinned = pinned
        session = self.hosts.session_again(self.name)
        session.request(wire.HoldRequest(self.plan.name, self.wait), wire.EmptyAnswer)
        if not self.plan.arms:
            self._opened = session
            return None, session.request(wire.FactsRequest(self.measures), wire.FactsAnswer).facts
        hear = AgentListener(self.name, watch).take
        opened = session.request(wire.OpenRequest(sent(self.plan), pinned), wire.OpenAnswer, hear)
        self._opened = session
        return opened.prepared, opened.facts

    def ready(self, watch: Watch) -> AgentSession:
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
        request = wire.CeilingRequest(connections, lab.plan.threads, cpus)
        return self.ready(lab.watch).request(request, wire.CeilingAnswer).ceiling

    def measure(self, lab: Lab, block: Block, use: WorkloadUse, arms: Sequence[str]) -> RemoteRuns:
        """As Site.measure. Raises LabDied where the host is lost."""
        begun = [known for known in lab.results.blocks() if not known.void]
        request = wire.MeasureRequest(
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
        failed = heard(session, request, wire.MeasureAnswer, lab).failed
        return RemoteRuns(failed=failed, session=session, lab=lab, request=request)


@dataclass(frozen=True, kw_only=True)
class RemoteRuns:
    """Arms that went through a workload on another host."""

    failed: int
    session: AgentSession
    lab: Lab
    request: wire.MeasureRequest

    def repeat(self) -> None:
        """As Went.repeat; what the host no longer knows, as it was lost, is not profiled."""
        if self.session.lost is None and self.lab.plan.observe.profile is not None:
            measured = self.request
            request = wire.RepeatRequest(measured.block, measured.workload, measured.arms)
            heard(self.session, request, wire.EmptyAnswer, self.lab)


class AgentListener:
    """Shows what an agent tells on the way, and takes its files."""

    def __init__(self, host: str, watch: Watch, receiver: Receiver | None = None) -> None:
        self._host = host
        self._watch = watch
        self._receiver = receiver

    def take(self, answer: wire.Answer) -> None:
        """Takes an answer on the way to the last one."""
        match answer:
            case wire.FilePiece():
                assert self._receiver is not None
                self._receiver.take(answer)
            case wire.WatchLine():
                self._watch.say(f"{self._host}: {answer.text}")
            case wire.LegStart():
                self._watch.begin(answer.title, answer.leg)
            case wire.RateMessage():
                self._watch.rate(answer.pulse, answer.arm)
            case wire.LegEnd():
                self._watch.end(answer.text, alarm=answer.alarm)


def heard(
    session: AgentSession,
    request: wire.MeasureRequest | wire.RepeatRequest,
    form: type[wire.ResultOf],
    lab: Lab,
) -> wire.ResultOf:
    """Has an agent measure; its files are in the block's folder afterwards."""
    folder = next(
        block.path
        for block in lab.results.blocks()
        if block.number == request.block.number and not block.void
    )
    receiver = Receiver(folder, session.host.name)
    try:
        hearing = AgentListener(session.host.name, lab.watch, receiver)
        return session.request(request, form, hearing.take)
    finally:
        receiver.clear()


def sent(plan: Plan) -> wire.SentPlan:
    """A plan with the files that it names, by their paths here. Raises PlanError."""
    return wire.SentPlan(
        wire.placed(plan), {str(path.absolute()): file(path) for path in shipped_plans.files(plan)}
    )


def file(path: Path) -> wire.PlanFile:
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
    return wire.PlanFile(content, mode)
