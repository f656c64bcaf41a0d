"""The lab of an agent: checks a plan's part on this host, and measures arms of its blocks."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from dbdyno import store
from dbdyno.engine import golden
from dbdyno.host import leftovers, place
from dbdyno.host.lock import HostLock
from dbdyno.model import Block, Json, Plan, WorkloadUse, typed_json
from dbdyno.run import blocks, site, starting_state
from dbdyno.run.agent import wire
from dbdyno.run.agent.files import Sender
from dbdyno.run.agent.seat import Relayed
from dbdyno.run.agent.upward import Upward
from dbdyno.run.check import dry_run, host_checkup, prepared_json
from dbdyno.run.check.preflight import prepare
from dbdyno.run.driver import ceiling
from dbdyno.run.lab import Lab, Servers, Went
from dbdyno.run.prepared import Prepared
from dbdyno.run.progress import Leg, Pulse, Watch
from dbdyno.store import Results, handover

FOLDER = "agent"
"""Below the lab's data: what dyno on another host sent, and what was measured for it."""


class Told(Watch):
    """A watch whose lines and figures go to whoever asked."""

    def __init__(self, send: Callable[[Json], None]) -> None:
        super().__init__([], Console(quiet=True), quiet=True)
        self._send = send
        self.ended: Callable[[], None] = lambda: None  # called at the end of each leg

    def say(self, text: str) -> None:
        """A line that stays."""
        self._send({"watch": "say", "text": text})

    def begin(self, title: str, leg: Leg) -> None:
        """A leg begins."""
        self._send({"watch": "begin", "title": title, "leg": typed_json.packed(leg)})

    def rate(self, pulse: Pulse, arm: str = "") -> None:
        """How the step does."""
        self._send({"watch": "rate", "pulse": typed_json.packed(pulse), "arm": arm})

    def end(self, text: str, *, alarm: bool = False) -> None:
        """The leg is over, and nothing is measured now."""
        self._send({"watch": "end", "text": text, "alarm": alarm})
        self.ended()


class HostLab:
    """What an agent has been asked to hold: the host, a plan, servers that are up."""

    def __init__(self, send: Callable[[Json], None], upward: Upward) -> None:
        self._send_any = send
        self._upward = upward
        self._number = 0  # of the request that is being done
        self._held = ExitStack()
        self._watch = Told(self._send)
        self._servers = Servers()
        self._plan: Plan | None = None
        self._prepared: Prepared | None = None
        self._went: dict[tuple[str, tuple[str, ...]], Went] = {}
        self._sender: Sender | None = None

    @property
    def root(self) -> Path:
        """The folder of what it keeps."""
        return place.data_root() / FOLDER

    @property
    def files_root(self) -> Path:
        """The folder in which the plan's files lie as they do where they came from."""
        return self.root / "files"

    def do(self, message: Json) -> Json:
        """Does what a request asks; returns what was found. Raises DynoError."""
        self._number = message["id"]
        does: dict[str, Callable[[Json], Json]] = {
            "hold": self._hold,
            "facts": self._facts,
            "checkup": self._checkup,
            "check": self._check,
            "open": self._open,
            "ceiling": self._ceiling,
            "measure": self._measure,
            "repeat": self._repeat,
        }
        return does[message["do"]](message)

    def close(self) -> None:
        """Lets go of the host."""
        self._held.close()

    def _send(self, message: Json) -> None:
        self._send_any({"id": self._number, **message})

    # --- What is asked ---

    def _hold(self, message: Json) -> Json:
        """Takes the host for a plan, and ends what a dead lab left."""
        self._held.enter_context(HostLock(plan=message["plan"], wait=message["wait"]))
        leftovers.end_leftovers()
        shutil.rmtree(self.root / "results", ignore_errors=True)
        return {}

    def _facts(self, message: Json) -> Json:
        """The facts of this host, for a generator."""
        from dbdyno.host.observe import facts

        host = facts.collect(place.data_root(), measure=message["measure"])
        written: Json = msgspec.to_builtins(host)
        return written

    def _checkup(self, message: Json) -> Json:
        """What the doctor needs to know of this host."""
        plan = self._received(message) if message.get("plan") else None
        found = host_checkup.check_up(plan, None, message.get("shared_buffers"))
        return {
            "facts": msgspec.to_builtins(found.facts),
            "findings": [typed_json.packed(finding) for finding in found.findings],
        }

    def _check(self, message: Json) -> Json:
        """What `dyno check` says of the plan's part here, and of the resources that it takes."""
        plan = self._received(message)
        prepared = prepare(plan, message["pinned"])
        return {
            "prepared": prepared_json.dump(prepared),
            "resources": dry_run.of_resources(plan, prepared),
        }

    def _open(self, message: Json) -> Json:
        """Checks the plan's part on this host and makes the builds that it lacks."""
        plan = self._received(message)
        golden.sweep(starting_state.data_root(plan), plan.wal_dir)
        self._plan, self._prepared = plan, blocks.ready(plan, message["pinned"], self._watch.say)
        return {
            "prepared": prepared_json.dump(self._prepared),
            "facts": msgspec.to_builtins(blocks.host_facts(plan, self._prepared)),
        }

    def _received(self, message: Json) -> Plan:
        """The plan that was sent, with its files as if they lay where they came from."""
        shutil.rmtree(self.files_root, ignore_errors=True)
        for name, content in message["files"].items():
            wire.write_file(self.files_root / name.lstrip("/"), content)
        plan: Plan = typed_json.unpacked(Plan, message["plan"])
        if plan.path is not None:
            plan = replace(plan, path=self.files_root / str(plan.path).lstrip("/"))
        return plan

    def _ceiling(self, message: Json) -> Json:
        """What the load generator can do here."""
        return ceiling.measure(message["connections"], message["threads"], message["cpus"])

    def _measure(self, message: Json) -> Json:
        """Takes arms through a workload; files follow the end of each step."""
        plan, block = self._opened(), typed_json.unpacked(Block, message["block"])
        lab = self._lab(plan, block, message)
        use, arms = use_of(plan, message["workload"]), tuple(message["arms"])
        self._went[use.title, arms] = went = self._sending(
            block, lambda: site.Here().measure(lab, block, use, arms)
        )
        return {"failed": went.failed}

    def _repeat(self, message: Json) -> Json:
        """Profiles what the judged runs could not."""
        went = self._went.pop((message["workload"], tuple(message["arms"])))
        self._sending(typed_json.unpacked(Block, message["block"]), went.repeat)
        return {}

    # --- How ---

    def _opened(self) -> Plan:
        assert self._plan is not None, "a plan is opened before its blocks"
        return self._plan

    def _lab(self, plan: Plan, block: Block, message: Json) -> Lab:
        assert self._prepared is not None
        results = Results(self.root / "results" / plan.name, message["plan_json"])
        mirror(results, message["blocks"], block.number)
        return Lab(
            plan=plan,
            prepared=self._prepared,
            results=results,
            watch=self._watch,
            through=message["through"],
            servers=self._servers,
            generators=Relayed(plan.generator_hosts, self._upward)
            if plan.generator_hosts
            else None,
        )

    def _sending(self, block: Block, work: Callable[[], Any]) -> Any:
        """Does the work and sends the files of the block: each step's when it has ended."""
        plan = self._opened()
        folder = self.root / "results" / plan.name / "blocks" / f"{block.number:03d}"
        if self._sender is None or self._sender.block != folder:
            self._sender = Sender(folder, self._send)
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


def mirror(results: Results, begun: Json, number: int) -> None:
    """Makes the folders of the result's blocks as they are where they came from, without runs.

    `begun`: by folder what is known of the block (store.handover). So golden copies are known to be
    of a block that counts, or not. The runs of the block `number` stay, if it is the same try.
    """
    root = results.folder / "blocks"
    for folder in root.iterdir() if root.is_dir() else ():
        order = begun.get(folder.name, {}).get("order.json")
        if store.read_json_if_there(folder / "order.json") != order:
            shutil.rmtree(folder)
    for name, known in begun.items():
        folder = root / name
        handover.write_ends(folder, known)
        if name != f"{number:03d}":
            for run in [one for one in folder.iterdir() if one.is_dir()]:
                shutil.rmtree(run)
