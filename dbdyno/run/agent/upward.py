"""What an agent asks of the plan's other hosts: by way of dyno, who passes it on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue

from dbdyno.model import Json
from dbdyno.model.error import LabDied
from dbdyno.run.agent import wire


class Channel:
    """One request to another host: what is said to it, and what it answers."""

    def __init__(self, host: str, number: int, send: Callable[[Json], None]) -> None:
        self.host = host
        self.number = number
        self.answers: SimpleQueue[Json] = SimpleQueue()
        self._send = send

    def tell(self, message: Json) -> None:
        """Says more to it."""
        self._send({"for": self.host, "to": self.number, **message})

    def answer(self, limit_s: float | None = None) -> Json:
        """The next answer. Raises LabDied where the host is lost, queue.Empty after `limit_s`."""
        message = self.answers.get(timeout=limit_s)
        if "lost" in message:
            raise LabDied(f"host {self.host}: {message['lost']}")
        return message


class Upward:
    """The channels of an agent."""

    def __init__(self, send: Callable[[Json], None]) -> None:
        self._send = send
        self._channels: dict[int, Channel] = {}
        self._last = 0
        self._lock = threading.Lock()

    def ask(self, host: str, do: str, fields: Json) -> Channel:
        """Asks another host to do something; returns at once."""
        with self._lock:
            self._last += 1
            channel = Channel(host, self._last, self._send)
            self._channels[channel.number] = channel
        self._send({"for": host, "id": channel.number, "do": do, **fields})
        return channel

    def take(self, message: Json) -> None:
        """Takes an answer that was passed back."""
        channel = self._channels.get(message["of"])
        if channel is not None:
            if not message.keys().isdisjoint(wire.LAST):
                del self._channels[message["of"]]
            channel.answers.put(message)

    def lose(self, reason: str) -> None:
        """Nobody passes anything on any more: all who wait hear why."""
        for channel in list(self._channels.values()):
            channel.answers.put({"lost": reason})
