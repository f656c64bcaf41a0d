"""The lab of an agent: checks a plan's part on this host, and measures arms of its blocks."""

import shutil
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from rich.console import Console

from dbdyno.engine import golden
from dbdyno.host import leftovers, place
from dbdyno.host.lock import HostLock
from dbdyno.model import Block, Plan, WorkloadUse
from dbdyno.model.block_files import Order
from dbdyno.run import blocks, site, starting_state
from dbdyno.run.agent import wire
from dbdyno.run.agent.channels import AgentChannels
from dbdyno.run.agent.files import FileSender
from dbdyno.run.agent.seat import RelayedGenerators
from dbdyno.run.check import dry_run, host_checkup
from dbdyno.run.check.preflight import prepare
from dbdyno.run.driver import ceiling
from dbdyno.run.lab import Lab, Servers, SiteRuns
from dbdyno.run.progress import Leg, Pulse, Watch
from dbdyno.run.ready_plan import ReadyPlan
from dbdyno.store import Results, handover
from dbdyno.store.file import read_struct_if_there
from dbdyno.store.handover import BlockEnds

Value = TypeVar("Value")
FOLDER = "agent"
"""Below the lab's data: what dyno on another host sent, and what was measured for it."""


class ForwardingWatch(Watch):
    """A watch whose lines and figures go to whoever asked."""

    def __init__(self, send: Callable[[wire.Answer], None]) -> None:
        super().__init__([], Console(quiet=True), quiet=True)
        self._send = send
        self.ended: Callable[[], None] = lambda: None  # called at the end of each leg

    def say(self, text: str) -> None:
        """A line that stays."""
        self._send(wire.WatchLine(text))

    def begin(self, title: str, leg: Leg) -> None:
        """A leg begins."""
        self._send(wire.LegStart(title, leg))

    def rate(self, pulse: Pulse, arm: str = "") -> None:
        """How the step does."""
        self._send(wire.RateMessage(pulse, arm))

    def end(self, text: str, *, alarm: bool = False) -> None:
        """The leg is over, and nothing is measured now."""
        self._send(wire.LegEnd(text, alarm))
        self.ended()


class HostLab:
    """What an agent has been asked to hold: the host, a plan, servers that are up."""

    def __init__(
        self, send: Callable[[wire.Reply | wire.HostMessage], None], upward: AgentChannels
    ) -> None:
        self._send_any = send
        self._upward = upward
        self._number = 0  # of the request that is being done
        self._held = ExitStack()
        self._watch = ForwardingWatch(self._send)
        self._servers = self._held.enter_context(Servers())
        self._plan: Plan | None = None
        self._prepared: ReadyPlan | None = None
        self._went: dict[tuple[str, tuple[str, ...]], SiteRuns] = {}
        self._sender: FileSender | None = None

    @property
    def root(self) -> Path:
        """The folder of what it keeps."""
        return place.data_root() / FOLDER

    @property
    def files_root(self) -> Path:
        """The folder in which the plan's files lie as they do where they came from."""
        return self.root / "files"

    def do(self, number: int, request: wire.LabRequest) -> wire.Result:
        """Fulfils the request of this number. Raises DynoError."""
        self._number = number
        match request:
            case wire.HoldRequest():
                return self._hold(request)
            case wire.FactsRequest():
                return self._facts(request)
            case wire.CheckupRequest():
                # What the doctor needs to know of this host.
                plan = None if request.sent is None else self._received(request.sent)
                return wire.CheckupAnswer(host_checkup.check_up(plan, None, request.shared_buffers))
            case wire.CheckRequest():
                return self._check(request)
            case wire.OpenRequest():
                return self._open(request)
            case wire.CeilingRequest():
                return wire.CeilingAnswer(
                    ceiling.measure(request.connections, request.threads, request.cpus)
                )
            case wire.MeasureRequest():
                return self._measure(request)
            case wire.RepeatRequest():
                return self._repeat(request)

    def close(self) -> None:
        """Lets go of the host."""
        self._held.close()

    def _send(self, answer: wire.Answer) -> None:
        self._send_any(wire.Reply(self._number, answer))

    # --- What is asked ---

    def _hold(self, request: wire.HoldRequest) -> wire.EmptyAnswer:
        """Takes the host for a plan, and ends what a dead lab left."""
        self._held.enter_context(HostLock(plan=request.plan, wait=request.wait))
        leftovers.end_leftovers()
        shutil.rmtree(self.root / "results", ignore_errors=True)
        return wire.EmptyAnswer()

    def _facts(self, request: wire.FactsRequest) -> wire.FactsAnswer:
        """The facts of this host, for a generator."""
        from dbdyno.host.observe import facts

        return wire.FactsAnswer(facts.collect(place.data_root(), measure=request.measure))

    def _check(self, request: wire.CheckRequest) -> wire.CheckAnswer:
        """What `dyno check` says of the plan's part here, and of the resources that it takes."""
        plan = self._received(request.sent)
        prepared = prepare(plan, request.pinned)
        return wire.CheckAnswer(prepared, dry_run.of_resources(plan, prepared))

    def _open(self, request: wire.OpenRequest) -> wire.OpenAnswer:
        """Checks the plan's part on this host and makes the builds that it lacks."""
        plan = self._received(request.sent)
        golden.sweep(starting_state.data_root(plan), plan.wal_dir)
        self._plan, self._prepared = plan, blocks.ready(plan, request.pinned, self._watch.say)
        return wire.OpenAnswer(self._prepared, blocks.host_facts(plan, self._prepared))

    def _received(self, sent: wire.SentPlan) -> Plan:
        """The plan that was sent, with its files as if they lay where they came from."""
        shutil.rmtree(self.files_root, ignore_errors=True)
        for name, file in sent.files.items():
            path = self.files_root / name.lstrip("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.content)
            path.chmod(file.mode)
        if sent.plan.path is None:
            return sent.plan
        return replace(sent.plan, path=self.files_root / str(sent.plan.path).lstrip("/"))

    def _measure(self, request: wire.MeasureRequest) -> wire.MeasureAnswer:
        """Takes arms through a workload; files follow the end of each step."""
        plan = self._opened()
        lab, use = self._lab(plan, request), use_of(plan, request.workload)
        self._went[use.title, request.arms] = went = self._sending(
            request.block, lambda: site.LocalSite().measure(lab, request.block, use, request.arms)
        )
        return wire.MeasureAnswer(went.failed)

    def _repeat(self, request: wire.RepeatRequest) -> wire.EmptyAnswer:
        """Profiles what the judged runs could not."""
        went = self._went.pop((request.workload, request.arms))
        self._sending(request.block, went.repeat)
        return wire.EmptyAnswer()

    # --- How ---

    def _opened(self) -> Plan:
        assert self._plan is not None, "a plan is opened before its blocks"
        return self._plan

    def _lab(self, plan: Plan, request: wire.MeasureRequest) -> Lab:
        assert self._prepared is not None
        results = Results(self.root / "results" / plan.name, request.plan_record)
        mirror(results, request.blocks, request.block.number)
        return Lab(
            plan=plan,
            prepared=self._prepared,
            results=results,
            watch=self._watch,
            through=request.through,
            servers=self._servers,
            generators=RelayedGenerators(plan.generator_hosts, self._upward)
            if plan.generator_hosts
            else None,
        )

    def _sending(self, block: Block, work: Callable[[], Value]) -> Value:
        """Does the work and sends the files of the block: each step's when it has ended."""
        plan = self._opened()
        folder = self.root / "results" / plan.name / "blocks" / f"{block.number:03d}"
        if self._sender is None or self._sender.block != folder:
            self._sender = FileSender(folder, self._send)
        sender = self._sender
        self._watch.ended = lambda: sender.new(all_of_it=False)
        try:
            return work()
        finally:
            self._watch.ended = lambda: None
            sender.new(all_of_it=True)


def use_of(plan: Plan, title: str) -> WorkloadUse:
    """The use of a workload by its title."""
    return next(use for use in plan.workloads if use.title == title)


def mirror(results: Results, begun: Mapping[str, BlockEnds], number: int) -> None:
    """Makes the folders of the result's blocks as they are where they came from, without runs.

    `begun`: by folder what is known of the block. So golden copies are known to be of a block that
    counts, or not. The runs of the block `number` stay, if it is the same try.
    """
    root = results.folder / "blocks"
    for folder in root.iterdir() if root.is_dir() else ():
        known = begun.get(folder.name)
        order = read_struct_if_there(folder / "order.json", Order)
        if known is None or order is None or order != known.order:
            shutil.rmtree(folder)
    for name, known in begun.items():
        folder = root / name
        handover.write_ends(folder, known)
        if name != f"{number:03d}":
            for run in [path for path in folder.iterdir() if path.is_dir()]:
                shutil.rmtree(run)
