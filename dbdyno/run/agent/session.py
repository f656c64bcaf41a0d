"""Starts `dyno agent` on a host by OpenSSH, and sends it requests.

One connection carries everything. One thread reads the answers, another sends signs of life.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
import threading
import time
from collections.abc import Mapping
from queue import Empty, SimpleQueue
from typing import IO, Self

from dbdyno import __version__
from dbdyno.host.child import Child
from dbdyno.model import Host
from dbdyno.model.error import HostError
from dbdyno.run.agent import wire

SSH = "DYNO_SSH"
"""An environment variable: the words that stand for `ssh`, such as `ssh -F my_config`."""
OPTIONS = (
    *("-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=15"),
    *("-o", "ServerAliveInterval=10", "-o", "ServerAliveCountMax=9"),
)
REMOTE = "exec sh -c 'PATH=\"$HOME/.local/bin:$PATH\" exec dyno agent'"
"""What the login shell there runs; `dyno host prepare` puts dyno into ~/.local/bin."""
HERE = (sys.executable, "-X", "utf8", "-P", "-m", "dbdyno", "agent")
"""An agent on this machine; `-P`: no module of the folder around stands in for one of ours."""
SRUN = ("srun", "--quiet", "--nodes=1", "--ntasks=1", "--overlap", "--unbuffered")
"""A step within the job, beside what runs on the node already."""
NO_COMMAND = 127
"""The status by which a shell says that it knows no such command."""
HELLO_S_MAX = 60.0
STOP_S_MAX = 120.0
"""How long an agent has to stop its servers, before the connection is closed."""
CLOCKS_APART_S_MAX = 2.0
"""Between wall clocks: labels of times and passwords' certificates would no longer agree."""
ROUND_TRIPS = 20


class UnreachableError(HostError):
    """No agent comes up on a host, which may be for now alone."""


class AgentSession:
    """An agent at work. A context manager: it has stopped what it started afterwards."""

    def __init__(self, host: Host) -> None:
        """Starts it. Raises UnreachableError; HostError where the host has another dyno or time."""
        self.host = host
        self.others: Mapping[str, AgentSession] = {}
        """The plan's other hosts, to which its agent has messages passed on."""
        self.lost: str | None = None  # why the connection is broken
        self._sinks: dict[int, wire.Hear] = {}
        self._relayed: dict[
            int, tuple[AgentSession, int]
        ] = {}  # what it asks of others, by its number
        self._last = 0
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._hello: SimpleQueue[wire.AgentHello | wire.LossAnswer] = SimpleQueue()
        self._begun_unix_ns = time.time_ns()
        self._child = Child(words_of(host), name=words_of(host)[0])
        self._threads = [
            threading.Thread(target=work, name=f"host {host.name}", daemon=True)
            for work in (self._read, self._live)
        ]
        for thread in self._threads:
            thread.start()
        try:
            self._check(self._first())
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- What is asked ---

    def request(
        self,
        request: wire.Request,
        form: type[wire.ResultOf],
        hear: wire.Hear = lambda answer: None,
    ) -> wire.ResultOf:
        """Has the agent do something and waits for its end; `hear` gets what comes on the way.

        Returns the result, which is of type `form`. Raises the agent's DynoError, and LabDied where
        the host is lost. An interruption has the agent stop, waits until it has, and passes
        through.
        """
        inbox: SimpleQueue[wire.Answer] = SimpleQueue()
        number = self.ask(request, inbox.put)
        try:
            return wire.result(self._last_of(inbox, hear), form, self.host.name)
        except KeyboardInterrupt:
            self.send(wire.StopMessage())
            with contextlib.suppress(Empty):
                self._last_of(inbox, lambda answer: None, STOP_S_MAX)
            raise
        finally:
            self._sinks.pop(number, None)

    def _last_of(
        self, inbox: SimpleQueue[wire.Answer], hear: wire.Hear, limit_s: float | None = None
    ) -> wire.Answer:
        while not isinstance(answer := inbox.get(timeout=limit_s), wire.LAST):
            hear(answer)
        return answer

    def ask(self, request: wire.Request, hear: wire.Hear) -> int:
        """Sends a request and returns its number at once; `hear` gets all answers.

        The thread that reads calls it; the last answer is one of LAST.
        """
        with self._lock:
            self._last += 1
            number = self._last
        self._sinks[number] = hear
        if self.lost is not None:
            hear(wire.LossAnswer(self.lost))
        else:
            self.send(wire.RequestMessage(number, request))
        return number

    def send(self, message: wire.ToAgent) -> None:
        """Sends a message, unless the connection is broken: whoever waits hears of that."""
        self._child.say(wire.line(message))

    def close(self) -> None:
        """Ends the agent: by the end of its input, and ssh by force where that takes too long."""
        self._ended.set()
        self._child.end(STOP_S_MAX)
        for thread in self._threads:
            thread.join()

    # --- Its beginning ---

    def _first(self) -> wire.AgentHello:
        """The agent's first message. Raises HostError where none comes, with ssh's reason."""
        try:
            hello = self._hello.get(timeout=HELLO_S_MAX)
        except Empty:
            raise HostError(
                f"hosts.{self.host.name}: no answer from {named(self.host)} within "
                f"{HELLO_S_MAX:g} s: look whether its login shell prints or waits for something"
            ) from None
        if isinstance(hello, wire.LossAnswer):
            raise UnreachableError(f"hosts.{self.host.name}: {self._unreached()}")
        return hello

    def _unreached(self) -> str:
        """Why no agent came up, and what to do, from how ssh ended."""
        said = self._child.last_line
        where = named(self.host)
        if self._child.status == NO_COMMAND or "dyno: not found" in said:
            return f"{where} has no `dyno`: {remedy(self.host)}"
        why = said or f"its program ended with {self._child.status}"
        if self.host.ssh is None:
            return f"no agent comes up on {where}: {why}"
        return (
            f"{where} cannot be reached: {why}: make `ssh {self.host.ssh}` work without a "
            "password, then run the same command"
        )

    def _check(self, hello: wire.AgentHello) -> None:
        """Raises HostError where the agent is of another version, or its wall clock differs."""
        name, where = self.host.name, named(self.host)
        if hello.agent != wire.PROTOCOL or hello.version != __version__:
            raise HostError(
                f"hosts.{name}: {where} has dyno {hello.version}, this is {__version__}: "
                f"{remedy(self.host)}"
            )
        if hello.code != wire.code():
            raise HostError(
                f"hosts.{name}: {where} has another build of dyno {__version__}: "
                f"{remedy(self.host)}"
            )
        # The agent read its clock between its start and now: on a busy host, seconds apart.
        ahead_s = (hello.unix_ns - time.time_ns()) / 1e9
        behind_s = (self._begun_unix_ns - hello.unix_ns) / 1e9
        apart_s = max(ahead_s, behind_s)
        if apart_s > CLOCKS_APART_S_MAX:
            raise HostError(
                f"hosts.{name}: the clock of {where} is {apart_s:,.1f} s "
                f"{'ahead' if ahead_s > 0 else 'behind'}: set both by NTP"
            )

    # --- Its threads ---

    def _live(self) -> None:
        """Says that we are there, as long as we are."""
        while not self._ended.wait(wire.ALIVE_EVERY_S):
            self.send(wire.AliveMessage())

    def _read(self) -> None:
        """Takes what the agent sends, until it ends; then everybody who waits hears of it."""
        with self._child.output as stream:
            broken = self._take_all(stream)
        if broken is not None:
            self._child.kill()
        self._child.wait()
        self.lost = broken or self._why_lost()
        self._hello.put(wire.LossAnswer(self.lost))
        for hear in list(self._sinks.values()):
            hear(wire.LossAnswer(self.lost))

    def _take_all(self, stream: IO[str]) -> str | None:
        """Takes messages to the end of the stream; else why what came is none."""
        for line in stream:
            try:
                self._hello.put(wire.read_hello(line))
                break
            except wire.MessageError:  # what a login shell prints before
                self._child.said.append(line.rstrip())
        for line in stream:
            if not line.endswith("\n"):  # the connection broke
                break
            try:
                self._take(wire.read_from_agent(line))
            except wire.MessageError as error:
                return f"it sent what is no message of dyno {__version__}: {error}"
            except Exception as error:  # nobody would hear of a thread that died
                return f"its message was not understood: {type(error).__name__}: {error}"
        return None

    def _why_lost(self) -> str:
        said = self._child.last_line
        ending = f": {said}" if said else ""
        return f"the connection broke (ssh ended with {self._child.status}{ending})"

    def _take(self, message: wire.Reply | wire.HostMessage) -> None:
        if isinstance(message, wire.HostMessage):
            if message.host not in self.others:
                raise wire.MessageError(
                    f"the key `host`: the plan has no other host {message.host}"
                )
            self._pass_on(self.others[message.host], message.message)
        elif (hear := self._sinks.get(message.number)) is not None:
            hear(message.answer)

    def _pass_on(self, other: AgentSession, message: wire.RequestMessage | wire.Command) -> None:
        """Passes on what its agent asks of another host, and the answers back.

        Raises MessageError for what no agent has to ask of another.
        """
        number = message.number
        if isinstance(message, wire.Command):
            known = self._relayed.get(number)
            if known is not None:
                other.send(wire.Command(known[1], message.order, message.at_ns))
            return

        if not isinstance(message.request, wire.Relayed):
            name = type(message.request).__name__
            raise wire.MessageError(f"the key `request`: an agent may not have others {name}")

        def back(answer: wire.Answer) -> None:
            if isinstance(answer, wire.LAST):
                self._relayed.pop(number, None)
            self.send(wire.Reply(number, answer))

        self._relayed[number] = (other, other.ask(message.request, back))


def named(host: Host) -> str:
    """A host in messages."""
    return f"`{host.node or host.ssh}`" if host.node or host.ssh else "this machine"


def remedy(host: Host) -> str:
    """How a host gets this very dyno."""
    if host.ssh is None:
        return "install this one there"
    return f"run `dyno host prepare {host.ssh}`"


def words_of(host: Host) -> list[str]:
    """The command that starts an agent on a host: by ssh, by srun, or on this machine."""
    if host.node is not None:
        return [*SRUN, "--nodelist", host.node, "sh", "-c", REMOTE]
    if host.ssh is None:
        return [*HERE]
    return [*ssh_words(), *OPTIONS, "--", host.ssh, REMOTE]


def ssh_words() -> list[str]:
    """The words that stand for ssh."""
    return shlex.split(os.environ.get(SSH, "ssh"))
