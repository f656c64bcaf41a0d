"""A relay of TCP connections that delays, holds and resets them: the bad network of tests.

`Relay(host, port)` starts this file as a process of its own, so that delays keep their time while
the test computes. What it listens on is answered at once; bytes then travel as they are told to.
The process ends with its standard input, and so with the test.
"""

import json
import os
import select
import socket
import struct
import subprocess
import sys
import time
from collections import deque
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

PIECE_BYTES_MAX = 65_536
QUEUED_BYTES_MAX = 4 << 20
"""So many bytes are on their way at most; then the relay reads no more, and the sender waits."""
CONNECTIONS_MAX = 400
"""Each takes two descriptors, and select() knows 1,024."""
RESET = struct.pack("ii", 1, 0)
"""SO_LINGER of no time: a close then resets the connection."""


class Relay:
    """A running relay to host:port; other programs connect to its `address` and `port`."""

    def __init__(
        self,
        host: str,
        port: int,
        *,
        listen: str = "127.0.0.1",
        there_ms: float = 0,
        back_ms: float = 0,
    ) -> None:
        """`there_ms` delays what clients send, `back_ms` what they get."""
        command = [sys.executable, "-ISu", __file__, listen, host, str(port)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.address = listen
        self.port: int = self._answer()["port"]
        if there_ms or back_ms:
            self.delay(there_ms=there_ms, back_ms=back_ms)

    def delay(self, *, there_ms: float, back_ms: float) -> None:
        """From now on bytes take so long each way, beside what they take by themselves."""
        self._do(do="delay", there_s=there_ms / 1e3, back_s=back_ms / 1e3)

    def hold(self, for_s: float | None = None) -> None:
        """Stops what travels and keeps the connections: for so long, or until `release`."""
        self._do(do="hold", for_s=for_s)

    def release(self) -> None:
        """Lets what was held travel again."""
        self._do(do="release")

    def reset(self) -> int:
        """Resets all connections on both sides; returns how many. New ones may come."""
        return int(self._do(do="reset")["connections"])

    def counts(self) -> dict[str, int]:
        """`connections` that are open, `there_bytes` and `back_bytes` that arrived so far."""
        return self._do(do="count")

    def close(self) -> None:
        """Ends the relay, and with it its connections."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _do(self, **command: object) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the relay has ended"
        answer: dict[str, Any] = json.loads(line)
        return answer


@dataclass(eq=False)
class Flow:
    """One direction of a connection: pieces on their way, each with the moment it is due."""

    way: str  # "there" or "back"
    source: socket.socket
    target: socket.socket
    pieces: deque[tuple[float, bytes]] = field(default_factory=deque)  # b"": the end
    queued_bytes: int = 0
    read_to_end: bool = False
    ended: bool = False

    def reads(self) -> bool:
        return not self.read_to_end and self.queued_bytes < QUEUED_BYTES_MAX

    def take(self, due_s: float) -> None:
        """Reads what is there. Raises OSError where the connection is lost."""
        piece = self.source.recv(PIECE_BYTES_MAX)
        self.read_to_end = not piece
        last_s = self.pieces[-1][0] if self.pieces else 0.0
        self.pieces.append((max(due_s, last_s), piece))  # a shorter delay overtakes nothing
        self.queued_bytes += len(piece)

    def give(self) -> int:
        """Writes the first piece, or its beginning. Raises OSError as `take` does."""
        due_s, piece = self.pieces.popleft()
        if not piece:
            self.ended = True
            self.target.shutdown(socket.SHUT_WR)
            return 0
        written = self.target.send(piece)
        self.queued_bytes -= written
        if written < len(piece):
            self.pieces.appendleft((due_s, piece[written:]))
        return written


class Loop:
    """The relay itself: one thread that waits for commands, connections, bytes and moments."""

    def __init__(self, listen: str, to: tuple[str, int]) -> None:
        self.to = to
        self.listening = socket.create_server((listen, 0), backlog=CONNECTIONS_MAX)
        self.pairs: list[tuple[Flow, Flow]] = []
        self.delay_s = {"there": 0.0, "back": 0.0}
        self.moved_bytes = {"there": 0, "back": 0}
        self.held_until_s = 0.0
        self.unread = b""  # of a command

    def run(self) -> None:
        """Relays until standard input ends."""
        say({"port": self.listening.getsockname()[1]})
        while self.turn():
            pass

    def turn(self) -> bool:
        """Waits for what happens next and does it; False: standard input has ended."""
        now_s = time.monotonic()
        held = now_s < self.held_until_s
        flows = [] if held else [flow for pair in self.pairs for flow in pair]
        waiting = [flow for flow in flows if flow.pieces]
        due = {flow.target: flow for flow in waiting if flow.pieces[0][0] <= now_s}
        sources = {flow.source: flow for flow in flows if flow.reads()}
        moments = [flow.pieces[0][0] for flow in waiting if flow.target not in due]
        moments += [self.held_until_s] if held and self.held_until_s < float("inf") else []
        full = len(self.pairs) >= CONNECTIONS_MAX
        may_read: list[Any] = [sys.stdin, *([] if held or full else [self.listening]), *sources]
        wait_s = max(0.0, min(moments) - now_s) if moments else None
        readable, writable, _ = select.select(may_read, list(due), [], wait_s)
        for flow in [due[target] for target in writable]:
            self.move(flow, give=True)
        for flow in [sources[source] for source in readable if source in sources]:
            self.move(flow, give=False)
        if self.listening in readable:
            self.accept()
        return self.obey() if sys.stdin in readable else True

    def accept(self) -> None:
        client, _ = self.listening.accept()
        server = socket.socket(socket.AF_INET)
        for end in (client, server):
            end.setblocking(False)
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        server.connect_ex(self.to)  # where nobody answers, the first read or write says so
        self.pairs.append((Flow("there", client, server), Flow("back", server, client)))

    def move(self, flow: Flow, *, give: bool) -> None:
        pair = next((pair for pair in self.pairs if flow in pair), None)
        if pair is None:  # reset in this turn
            return
        try:
            if give:
                self.moved_bytes[flow.way] += flow.give()
            else:
                flow.take(time.monotonic() + self.delay_s[flow.way])
        except BlockingIOError:
            return
        except OSError:
            self.end(pair, reset=True)
        if all(flow.ended for flow in pair):
            self.end(pair, reset=False)

    def end(self, pair: tuple[Flow, Flow], *, reset: bool) -> None:
        for end in (pair[0].source, pair[0].target):
            if reset:
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            end.close()
        self.pairs.remove(pair)

    def obey(self) -> bool:
        text = os.read(0, PIECE_BYTES_MAX)
        *lines, self.unread = (self.unread + text).split(b"\n")
        for line in lines:
            say(self.answer(json.loads(line)))
        return bool(text)

    def answer(self, command: dict[str, Any]) -> dict[str, int]:
        match command["do"]:
            case "delay":
                self.delay_s = {"there": command["there_s"], "back": command["back_s"]}
            case "hold":
                for_s = command["for_s"]
                self.held_until_s = float("inf") if for_s is None else time.monotonic() + for_s
            case "release":
                self.held_until_s = 0.0
            case "reset":
                pairs = list(self.pairs)
                for pair in pairs:
                    self.end(pair, reset=True)
                return {"connections": len(pairs)}
            case "count":
                moved = {f"{way}_bytes": count for way, count in self.moved_bytes.items()}
                return {"connections": len(self.pairs), **moved}
        return {}


def say(answer: dict[str, int]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    Loop(sys.argv[1], (sys.argv[2], int(sys.argv[3]))).run()
