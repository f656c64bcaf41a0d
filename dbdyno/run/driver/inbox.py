"""A load's events, waited for: to whoever does several things at once, they come when asked for."""

import threading
import time
from queue import Empty, SimpleQueue
from typing import Self

from dbdyno.model.events import AnyEvent
from dbdyno.run.driver.interface import END_TIMEOUT_S, RunningLoad


class Inbox:
    """The events of a load, waited for with an end to the waiting; they come to it by a thread.

    A context manager within the load's own.
    """

    def __init__(self, running: RunningLoad) -> None:
        self._running = running
        self._queue: SimpleQueue[AnyEvent | Exception] = SimpleQueue()
        self._thread = threading.Thread(target=self._receive, name="inbox", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Waits for its last word, by force where it takes too long."""
        self._running.hang_up()
        self._thread.join(END_TIMEOUT_S)
        if self._thread.is_alive():
            self._running.kill()
            self._thread.join()

    def next(self, until_ns: int | None = None) -> AnyEvent | None:
        """The next event; None where none came until then, in ns of CLOCK_MONOTONIC.

        Raises what `RunningLoad.events` raises.
        """
        try:
            if until_ns is None:
                event = self._queue.get()
            else:
                left_s = (until_ns - time.monotonic_ns()) / 1e9
                event = self._queue.get(timeout=max(0.0, left_s))
        except Empty:
            return None
        if isinstance(event, Exception):
            raise event
        return event

    def _receive(self) -> None:
        try:
            for event in self._running.events():
                self._queue.put(event)
        except Exception as error:
            self._queue.put(error)
