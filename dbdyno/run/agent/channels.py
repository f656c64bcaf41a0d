"""What an agent asks of the plan's other hosts: by way of dyno, who passes it on."""

import threading
from collections.abc import Callable
from queue import SimpleQueue

from dbdyno.model.error import LabDied
from dbdyno.run.agent import wire


class Channel:
    """One request to another host: what is said to it, and what it answers."""

    def __init__(self, host: str, number: int, send: Callable[[wire.HostMessage], None]) -> None:
        self.host = host
        self.number = number
        self.answers: SimpleQueue[wire.Answer] = SimpleQueue()
        self._send = send

    def command(self, order: wire.Order, at_ns: int | None = None) -> None:
        """Gives the generator that was started an order."""
        self._send(wire.HostMessage(self.host, wire.Command(self.number, order, at_ns)))

    def answer(self, limit_s: float | None = None) -> wire.Answer:
        """The next answer. Raises LabDied where the host is lost, queue.Empty after `limit_s`."""
        answer = self.answers.get(timeout=limit_s)
        if isinstance(answer, wire.LossAnswer):
            raise LabDied(f"host {self.host}: {answer.reason}")
        return answer


class AgentChannels:
    """The channels of an agent."""

    def __init__(self, send: Callable[[wire.HostMessage], None]) -> None:
        self._send = send
        self._channels: dict[int, Channel] = {}
        self._last = 0
        self._lock = threading.Lock()

    def ask(self, host: str, request: wire.Request) -> Channel:
        """Asks another host to do something; returns at once."""
        with self._lock:
            self._last += 1
            channel = Channel(host, self._last, self._send)
            self._channels[channel.number] = channel
        self._send(wire.HostMessage(host, wire.RequestMessage(channel.number, request)))
        return channel

    def take(self, reply: wire.Reply) -> None:
        """Takes an answer that was passed back."""
        channel = self._channels.get(reply.number)
        if channel is not None:
            if isinstance(reply.answer, wire.LAST):
                del self._channels[reply.number]
            channel.answers.put(reply.answer)

    def lose(self, reason: str) -> None:
        """Nobody passes anything on any more: all who wait hear why."""
        for channel in list(self._channels.values()):
            channel.answers.put(wire.LossAnswer(reason))
