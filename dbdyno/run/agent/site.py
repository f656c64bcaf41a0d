"""Another host as a site of a plan's blocks: what its agent measures comes into the result folder.

Where the connection breaks the block is void. The next thing that is asked connects anew.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from dbdyno import workload
from dbdyno.doctor import Finding
from dbdyno.model import Block, Host, Json, Plan, WorkloadUse, typed_json
from dbdyno.model.error import PlanError
from dbdyno.model.host_facts import HostFacts
from dbdyno.run.agent import wire
from dbdyno.run.agent.files import Receiver
from dbdyno.run.agent.session import Session, Unreachable
from dbdyno.run.check import prepared_json
from dbdyno.run.check.host_checkup import Checkup
from dbdyno.run.lab import Lab
from dbdyno.run.prepared import Prepared
from dbdyno.run.progress import Leg, Pulse, Watch
from dbdyno.store import handover

AGAIN_S_MAX = 120.0
"""How long a host that was lost is tried again before the plan is given up for now."""
AGAIN_EVERY_S = 3.0


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
        found = Session(self.hosts[name])
        self.sessions[name] = found
        found.others = self.sessions
        return found

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
        found = session.request("check", sent(self.plan) | {"pinned": pinned})
        lines = [f"{self.name}: {line}" for line in found["resources"]]
        return prepared_json.load(found["prepared"]), lines

    def check_up(self, shared_buffers: str | None) -> Checkup:
        """What the doctor finds there. Raises DynoError."""
        asked = (sent(self.plan) if self.plan.arms else {}) | {"shared_buffers": shared_buffers}
        found = self.hosts.session(self.name).request("checkup", asked)
        findings = tuple(typed_json.unpacked(Finding, finding) for finding in found["findings"])
        facts = msgspec.convert(found["facts"], HostFacts)
        return Checkup(facts=facts, findings=findings)

    def open(self, pinned: Json | None, watch: Watch) -> tuple[Prepared | None, HostFacts]:
        """Takes the host, and checks the plan's part there; also the host's facts.

        Raises DynoError.
        """
        self.pinned = pinned
        session = self.hosts.session_again(self.name)
        session.request("hold", {"plan": self.plan.name, "wait": self.wait})
        if not self.plan.arms:
            self._opened = session
            facts = session.request("facts", {"measure": self.measures})
            return None, msgspec.convert(facts, HostFacts)
        found = session.request(
            "open", sent(self.plan) | {"pinned": pinned}, hear=Hearing(self.name, watch).take
        )
        self._opened = session
        return prepared_json.load(found["prepared"]), msgspec.convert(found["facts"], HostFacts)

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

    def ceiling(self, lab: Lab, connections: Mapping[str, int]) -> Json:
        """As Site.ceiling."""
        asked = {
            "connections": dict(connections),
            "threads": lab.plan.threads,
            "cpus": lab.plan.placement.generator_cpus,
        }
        return self.ready(lab.watch).request("ceiling", asked)

    def measure(self, lab: Lab, block: Block, use: WorkloadUse, arms: Sequence[str]) -> WentThere:
        """As Site.measure. Raises LabDied where the host is lost."""
        asked = {
            "block": typed_json.packed(block),
            "workload": use.title,
            "arms": list(arms),
            "through": lab.through,
            "plan_json": lab.results.plan,
            "blocks": {
                one.path.name: handover.ends(one) for one in lab.results.blocks() if not one.void
            },
        }
        session = self.ready(lab.watch)
        for host in self.generators:
            host.ready(lab.watch)
        found = heard(session, "measure", asked, lab, block)
        return WentThere(failed=found["failed"], session=session, lab=lab, block=block, asked=asked)


@dataclass(frozen=True, kw_only=True)
class WentThere:
    """Arms that went through a workload on another host."""

    failed: int
    session: Session
    lab: Lab
    block: Block
    asked: Json

    def repeat(self) -> None:
        """As Went.repeat; what the host no longer knows, as it was lost, is not profiled."""
        if self.session.lost is None and self.lab.plan.observe.profile is not None:
            asked = {key: self.asked[key] for key in ("block", "workload", "arms")}
            heard(self.session, "repeat", asked, self.lab, self.block)


class Hearing:
    """Shows what an agent tells on the way, and takes its files."""

    def __init__(self, host: str, watch: Watch, receiver: Receiver | None = None) -> None:
        self._host = host
        self._watch = watch
        self._receiver = receiver

    def take(self, message: Json) -> None:
        """Takes a message of a request."""
        if "file" in message:
            assert self._receiver is not None
            self._receiver.take(message)
            return
        match message["watch"]:
            case "say":
                self._watch.say(f"{self._host}: {message['text']}")
            case "begin":
                self._watch.begin(message["title"], typed_json.unpacked(Leg, message["leg"]))
            case "rate":
                self._watch.rate(typed_json.unpacked(Pulse, message["pulse"]), message["arm"])
            case "end":
                self._watch.end(message["text"], alarm=message["alarm"])


def heard(session: Session, do: str, asked: Json, lab: Lab, block: Block) -> Json:
    """Has an agent measure; its files are in the block's folder afterwards."""
    folder = next(
        one.path for one in lab.results.blocks() if one.number == block.number and not one.void
    )
    receiver = Receiver(folder, session.host.name)
    try:
        return session.request(do, asked, Hearing(session.host.name, lab.watch, receiver).take)
    finally:
        receiver.clear()


def sent(plan: Plan) -> Json:
    """A plan with the files that it names, by their paths here. Raises PlanError."""
    return {
        "plan": wire.plan_json(plan),
        "files": {str(path.absolute()): wire.file_json(path) for path in files(plan)},
    }


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
        for name in (use.name, *(one for script in (use.scripts or {}).values() for one in script)):
            if Path(name).is_absolute():
                raise PlanError(
                    f"`{name}` is not there on another host: name it by a path from the plan's "
                    "folder, and dyno brings it along"
                )
        yield from workload.own_files(use, plan.path)
