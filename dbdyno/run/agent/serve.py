"""`dyno agent`: does on this host what dyno on another one asks, over standard input and output.

A thread reads requests. The main thread measures, one request after the other; the clock and
generators do not wait for it. When the input ends, or dyno has sent no sign of life for a while,
the agent stops what it started and ends.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
import traceback
from queue import SimpleQueue
from typing import BinaryIO

from dbdyno.model import Json
from dbdyno.model.error import DynoError
from dbdyno.run.agent import network, wire
from dbdyno.run.agent.lab import HostLab
from dbdyno.run.agent.load import Loads
from dbdyno.run.agent.upward import Upward


class Wire:
    """The agent's standard output: messages in the order in which they were given.

    A thread of its own writes them, so that nothing that measures waits for a network.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._queue: SimpleQueue[Json | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="wire", daemon=True)
        self._thread.start()

    def send(self, message: Json) -> None:
        """Has a message sent; returns at once."""
        self._queue.put(message)

    def close(self) -> None:
        """Waits until all is written, or cannot be."""
        self._queue.put(None)
        self._thread.join()

    def _write(self) -> None:
        while (message := self._queue.get()) is not None:
            try:
                self._stream.write(wire.line(message))
                self._stream.flush()
            except OSError:  # nobody reads any more: the end of the input says so, too
                return


class Agent:
    """An agent at work; `run` returns when it is to end."""

    def __init__(self, requests: BinaryIO, out: Wire) -> None:
        self._requests = requests
        self._out = out
        self._work: SimpleQueue[Json | None] = SimpleQueue()
        self._heard_s = time.monotonic()
        self._busy = threading.Event()  # while the main thread does something that can be stopped
        self._over = threading.Event()
        self.loads = Loads(out.send)
        self.upward = Upward(out.send)
        self.lab = HostLab(out.send, self.upward)

    def run(self) -> None:
        """Serves requests until the input ends; nothing that was started goes on afterwards."""
        for work in (self._read, self._listen_for_silence):
            threading.Thread(target=work, daemon=True).start()
        self._out.send(wire.hello())
        try:
            while (message := self._work.get()) is not None and not self._over.is_set():
                self._do(message)
        except KeyboardInterrupt:
            pass
        finally:
            self._over.set()
            self.loads.end()
            self.lab.close()

    def _do(self, message: Json) -> None:
        """Does what is asked, and answers."""
        number = message["id"]
        try:
            try:
                self._busy.set()
                found = self.lab.do(message)
            finally:
                self._busy.clear()
            self._out.send({"id": number, "done": found})
        except KeyboardInterrupt:
            self._out.send({"id": number, "error": {"kind": "HostError", "text": "stopped"}})
            if self._over.is_set():
                raise
        except DynoError as error:
            told = wire.error_json(error, str(self.lab.files_root))
            self._out.send({"id": number, "error": told})
        except Exception as error:  # a mistake of ours: whoever asked has to see it
            text = f"{error!r}: {''.join(traceback.format_exception(error)[-2:])}"
            self._out.send(
                {"id": number, "error": {"kind": "LabDied", "text": " ".join(text.split())}}
            )

    # --- Its threads ---

    def _read(self) -> None:
        for line in self._requests:
            self._heard_s = time.monotonic()
            self._take(json.loads(line))
        self.end()

    def _take(self, message: Json) -> None:
        """Answers at once what must not wait; the rest is for the main thread."""
        if "of" in message:
            self.upward.take(message)
        elif "to" in message:
            self.loads.tell(message)
        else:
            match message["do"]:
                case "alive":
                    pass
                case "clock":
                    told = {"mono_ns": time.monotonic_ns()}
                    self._out.send({"id": message["id"], "done": told})
                case "network":
                    told = network.facts(message["address"], message["port"])
                    self._out.send({"id": message["id"], "done": told})
                case "generate":
                    self.loads.begin(message)
                case "stop":
                    self._interrupt()
                case _:
                    self._work.put(message)

    def _listen_for_silence(self) -> None:
        while not self._over.wait(wire.ALIVE_EVERY_S):
            if time.monotonic() - self._heard_s > wire.SILENCE_S_MAX:
                self.end()
                return

    def end(self, *_: object) -> None:
        """Nobody is there any more: what runs is broken off, as by Ctrl-C."""
        self._over.set()
        self.upward.lose("dyno is gone")
        self._work.put(None)
        self._interrupt()

    def _interrupt(self) -> None:
        if self._busy.is_set():
            main = threading.main_thread().ident
            assert main is not None
            signal.pthread_kill(main, signal.SIGINT)


def serve() -> None:
    """Serves whoever is at the other end of standard input and output.

    What else is printed goes to standard error. SIGTERM and SIGHUP end it as the end of its input.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    out = Wire(os.fdopen(os.dup(sys.stdout.fileno()), "wb"))
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    agent = Agent(sys.stdin.buffer, out)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, agent.end)
    try:
        agent.run()
    finally:
        out.close()
