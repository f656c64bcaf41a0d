"""`dyno agent`: does on this host what dyno on another one asks, over standard input and output.

A thread reads requests. The main thread measures, one request after the other; the clock and
generators do not wait for it. When the input ends, or dyno has sent no sign of life for a while,
the agent stops what it started and ends.
"""

import os
import signal
import sys
import threading
import time
import traceback
from queue import SimpleQueue
from typing import BinaryIO

from dbdyno.model.error import DynoError, disk_errors_named
from dbdyno.run.agent import network, wire
from dbdyno.run.agent.channels import AgentChannels
from dbdyno.run.agent.lab import HostLab
from dbdyno.run.agent.load import Loads


class AgentOutput:
    """The agent's standard output: messages in the order in which they were given.

    A thread of its own writes them, so that nothing that measures waits for a network.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._queue: SimpleQueue[wire.AgentHello | wire.FromAgent | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="wire", daemon=True)
        self._thread.start()

    def send(self, message: wire.AgentHello | wire.FromAgent) -> None:
        """Has a message sent; returns at once."""
        self._queue.put(message)

    def close(self) -> None:
        """Waits until all is written, or cannot be."""
        self._queue.put(None)
        self._thread.join()

    def _write(self) -> None:
        while (message := self._queue.get()) is not None:
            try:
                self._stream.write(wire.line(message).encode() + b"\n")
                self._stream.flush()
            except OSError:  # nobody reads any more: the end of the input says so, too
                return


class Agent:
    """An agent at work; `run` returns when it is to end."""

    def __init__(self, requests: BinaryIO, out: AgentOutput) -> None:
        self._requests = requests
        self._out = out
        self._work: SimpleQueue[tuple[int, wire.LabRequest] | None] = SimpleQueue()
        self._heard_s = time.monotonic()
        self._busy = threading.Event()  # while the main thread does something that can be stopped
        self._over = threading.Event()
        self.loads = Loads(out.send)
        self.upward = AgentChannels(out.send)
        self.lab = HostLab(out.send, self.upward)

    def run(self) -> None:
        """Serves requests until the input ends; nothing that was started goes on afterwards."""
        for listen in (self._read, self._listen_for_silence):
            threading.Thread(target=listen, daemon=True).start()
        self._out.send(wire.AgentHello.now())
        try:
            while (work := self._work.get()) is not None and not self._over.is_set():
                self._do(*work)
        except KeyboardInterrupt:
            pass
        finally:
            self._over.set()
            self.loads.end()
            self.lab.close()

    def _do(self, number: int, request: wire.LabRequest) -> None:
        """Does what a request asks for, and answers."""
        try:
            try:
                self._busy.set()
                with disk_errors_named():
                    result = self.lab.do(number, request)
            finally:
                self._busy.clear()
            self._done(number, result)
        except KeyboardInterrupt:
            self._out.send(wire.Reply(number, wire.FailureAnswer("HostError", "stopped")))
            if self._over.is_set():
                raise
        except DynoError as error:
            self._out.send(wire.Reply(number, wire.failed(error, str(self.lab.files_root))))
        except Exception as error:  # a mistake of ours: whoever asked has to see it
            text = f"{error!r}: {''.join(traceback.format_exception(error)[-2:])}"
            self._out.send(
                wire.Reply(number, wire.FailureAnswer("LabDied", " ".join(text.split())))
            )

    def _done(self, number: int, result: wire.Result) -> None:
        self._out.send(wire.Reply(number, wire.DoneAnswer(result)))

    # --- Its threads ---

    def _read(self) -> None:
        for line in self._requests:
            self._heard_s = time.monotonic()
            try:
                self._take(wire.read_to_agent(line))
            except wire.MessageError as error:
                sys.stderr.write(f"dyno agent: this is no message of dyno: {error}\n")
                break
        self.end()

    def _take(self, message: wire.ToAgent) -> None:
        """Answers at once what must not wait; the rest is for the main thread."""
        match message:
            case wire.AliveMessage():
                pass
            case wire.StopMessage():
                self._interrupt()
            case wire.Reply():
                self.upward.take(message)
            case wire.Command():
                self.loads.command(message)
            case wire.RequestMessage():
                self._begin(message.number, message.request)

    def _begin(self, number: int, request: wire.Request) -> None:
        match request:
            case wire.ClockRequest():
                self._done(number, wire.ClockReading(time.monotonic_ns()))
            case wire.NetworkRequest():
                self._done(number, network.reading(request.address, request.port))
            case wire.GenerateRequest():
                self.loads.begin(number, request)
            case _:
                self._work.put((number, request))

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
    out = AgentOutput(os.fdopen(os.dup(sys.stdout.fileno()), "wb"))
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    agent = Agent(sys.stdin.buffer, out)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, agent.end)
    try:
        agent.run()
    finally:
        out.close()
