"""Starts `dyno agent` on a host by OpenSSH, and sends it requests.

One connection carries everything. One thread reads the answers, another sends signs of life.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Self

from dbdyno import __version__
from dbdyno.model import Host, Json
from dbdyno.model.error import HostError, LabDied
from dbdyno.run.agent import wire

SSH = "DYNO_SSH"
"""An environment variable: the words that stand for `ssh`, such as `ssh -F my_config`."""
OPTIONS = (
    *("-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=15"),
    *("-o", "ServerAliveInterval=10", "-o", "ServerAliveCountMax=9"),
)
REMOTE = "exec sh -c 'PATH=\"$HOME/.local/bin:$PATH\" exec dyno agent'"
"""What the login shell there runs; `dyno host prepare` puts dyno into ~/.local/bin."""
HERE = (sys.executable, "-m", "dbdyno", "agent")
"""An agent on this machine."""
SRUN = ("srun", "--quiet", "--nodes=1", "--ntasks=1", "--overlap", "--unbuffered")
"""A step within the job, beside what runs on the node already."""
NO_COMMAND = 127
"""The status by which a shell says that it knows no such command."""
HELLO_S_MAX = 60.0
STOP_S_MAX = 120.0
"""How long an agent has to stop its servers, before the connection is closed."""
CLOCKS_APART_S_MAX = 2.0
"""Between wall clocks: labels of times and passwords' certificates would no longer agree."""
STDERR_LINES_MAX = 20
ROUND_TRIPS = 20

Hear = Callable[[Json], None]
"""Takes a message that belongs to a request."""


class HostLost(LabDied):
    """The connection to a host broke while something was asked of it."""


class Unreachable(HostError):
    """No agent comes up on a host, which may be for now alone."""


class Session:
    """An agent at work. A context manager: it has stopped what it started afterwards."""

    def __init__(self, host: Host) -> None:
        """Starts it. Raises Unreachable, and HostError where the host has another dyno or time."""
        self.host = host
        self.others: Mapping[str, Session] = {}
        """The plan's other hosts, to which its agent has messages passed on."""
        self.lost: str | None = None  # why the connection is broken
        self._sinks: dict[int, Hear] = {}
        self._relayed: dict[int, tuple[Session, int]] = {}  # what it asks of others, by its number
        self._last = 0
        self._lock = threading.Lock()
        self._stderr: deque[str] = deque(maxlen=STDERR_LINES_MAX)
        self._ended = threading.Event()
        self._hello: SimpleQueue[Json] = SimpleQueue()
        self._process = subprocess.Popen(
            words_of(host),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # a Ctrl-C at the terminal is for dyno, which says `stop`
        )
        self._threads = [
            threading.Thread(target=work, name=f"host {host.name}", daemon=True)
            for work in (self._listen, self._read, self._live)
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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    # --- What is asked ---

    def request(self, do: str, fields: Json, hear: Hear = lambda message: None) -> Json:
        """Has the agent do something and waits for its end; `hear` gets what comes on the way.

        Returns what was found. Raises the agent's DynoError, and HostLost. An interruption has it
        stop, waits until it has, and passes through.
        """
        inbox: SimpleQueue[Json] = SimpleQueue()
        number = self.ask(do, fields, inbox.put)
        try:
            return self._outcome(inbox, hear)
        except KeyboardInterrupt:
            self.send({"do": "stop"})
            with contextlib.suppress(LabDied, HostError, Empty):
                self._outcome(inbox, lambda message: None, STOP_S_MAX)
            raise
        finally:
            self._sinks.pop(number, None)

    def _outcome(self, inbox: SimpleQueue[Json], hear: Hear, limit_s: float | None = None) -> Json:
        while True:
            message = inbox.get(timeout=limit_s)
            if "done" in message:
                found: Json = message["done"]
                return found
            if "lost" in message:
                raise HostLost(f"host {self.host.name}: {message['lost']}")
            if "error" in message:
                raise wire.error_of(message["error"], self.host.name)
            hear(message)

    def ask(self, do: str, fields: Json, hear: Hear) -> int:
        """Asks and returns at once: the number by which more is said. `hear` gets all answers.

        It is called by the thread that reads; the last message has `done`, `error` or `lost`.
        """
        with self._lock:
            self._last += 1
            number = self._last
        self._sinks[number] = hear
        if self.lost is not None:
            hear({"lost": self.lost})
        else:
            self.send({"do": do, "id": number, **fields})
        return number

    def send(self, message: Json) -> None:
        """Sends a message, unless the connection is broken: whoever waits hears of that."""
        assert self._process.stdin is not None
        with self._lock, contextlib.suppress(OSError, ValueError):
            self._process.stdin.write(wire.line(message))
            self._process.stdin.flush()

    def close(self) -> None:
        """Ends the agent: by the end of its input, and ssh by force where that takes too long."""
        assert self._process.stdin is not None
        self._ended.set()
        with self._lock, contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(STOP_S_MAX)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for thread in self._threads:
            thread.join()

    # --- Its beginning ---

    def _first(self) -> Json:
        """The agent's first message. Raises HostError where none comes, with ssh's reason."""
        try:
            message = self._hello.get(timeout=HELLO_S_MAX)
        except Empty:
            raise HostError(
                f"hosts.{self.host.name}: no answer from {named(self.host)} within "
                f"{HELLO_S_MAX:g} s: look whether its login shell prints or waits for something"
            ) from None
        if "lost" in message:
            raise Unreachable(f"hosts.{self.host.name}: {self._unreached()}")
        return message

    def _unreached(self) -> str:
        """Why no agent came up, and what to do, from how ssh ended."""
        said = last_line(self._stderr)
        where = named(self.host)
        if self._process.returncode == NO_COMMAND or "dyno: not found" in said:
            return f"{where} has no `dyno`: {remedy(self.host)}"
        why = said or f"its program ended with {self._process.returncode}"
        if self.host.ssh is None:
            return f"no agent comes up on {where}: {why}"
        return (
            f"{where} cannot be reached: {why}: make `ssh {self.host.ssh}` work without a "
            "password, then run the same command"
        )

    def _check(self, hello: Json) -> None:
        """Raises HostError where the agent is of another version, or its wall clock differs."""
        name, where = self.host.name, named(self.host)
        if hello.get("agent") != wire.PROTOCOL or hello.get("version") != __version__:
            raise HostError(
                f"hosts.{name}: {where} has dyno {hello.get('version')}, this is {__version__}: "
                f"{remedy(self.host)}"
            )
        if hello.get("code") != wire.code():
            raise HostError(
                f"hosts.{name}: {where} has another build of dyno {__version__}: "
                f"{remedy(self.host)}"
            )
        apart_s = (hello["unix_ns"] - time.time_ns()) / 1e9
        if abs(apart_s) > CLOCKS_APART_S_MAX:
            raise HostError(
                f"hosts.{name}: the clock of {where} is {abs(apart_s):,.1f} s "
                f"{'ahead' if apart_s > 0 else 'behind'}: set both by NTP"
            )

    # --- Its threads ---

    def _listen(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as stream:
            for line in stream:
                self._stderr.append(line.decode(errors="replace").rstrip())

    def _live(self) -> None:
        """Says that we are there, as long as we are."""
        while not self._ended.wait(wire.ALIVE_EVERY_S):
            self.send({"do": "alive"})

    def _read(self) -> None:
        """Takes what the agent sends, until it ends; then everybody who waits hears of it."""
        assert self._process.stdout is not None
        with self._process.stdout as stream:
            for line in stream:
                try:
                    message = json.loads(line)
                except ValueError:  # what a login shell prints before, or a line that was cut off
                    self._stderr.append(line.decode(errors="replace").rstrip())
                    continue
                self._take(message)
        self._process.wait()
        self._threads[0].join()
        self.lost = self._why_lost()
        self._hello.put({"lost": self.lost})
        for hear in list(self._sinks.values()):
            hear({"lost": self.lost})

    def _why_lost(self) -> str:
        said = last_line(self._stderr)
        ending = f": {said}" if said else ""
        return f"the connection broke (ssh ended with {self._process.returncode}{ending})"

    def _take(self, message: Json) -> None:
        if "agent" in message:
            self._hello.put(message)
        elif "for" in message:
            self._pass_on(message)
        elif (hear := self._sinks.get(message["id"])) is not None:
            hear(message)

    def _pass_on(self, message: Json) -> None:
        """Passes on what its agent asks of another host, and the answers back."""
        host = str(message.pop("for"))
        other = self.others[host]
        if "to" in message:
            known = self._relayed.get(message["to"])
            if known is not None:
                other.send(message | {"to": known[1]})
            return
        number, do = int(message.pop("id")), str(message.pop("do"))

        def back(answer: Json) -> None:
            if not answer.keys().isdisjoint(wire.LAST):
                self._relayed.pop(number, None)
            self.send({key: value for key, value in answer.items() if key != "id"} | {"of": number})

        self._relayed[number] = (other, other.ask(do, message, back))


def last_line(said: Sequence[str]) -> str:
    """The last thing that a program said; empty where it said nothing."""
    return next((line for line in reversed(said) if line.strip()), "")


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
