"""The sessions of a step, each on the processor of the generator's thread that it serves.

A switch between two processes of one processor costs less than waking another one, and scatters
least. Only sessions are placed: what a server forks or starts for a session, and all that it does
in the background, runs where the kernel likes.
"""

import os
from contextlib import suppress

from dbdyno.engine.interface import MadeServer
from dbdyno.host import core_sets
from dbdyno.model.events import ConnectedEvent
from dbdyno.run.measurement import StepFailed


class Sessions:
    """The sessions of a step, each kept to the processor of the thread that serves its client."""

    def __init__(self, server: MadeServer) -> None:
        self._server = server
        self._before: dict[int, set[int]] = {}  # by thread, where it was allowed to run

    def take(self, event: ConnectedEvent) -> None:
        """Places a session that was let in, also one that was made anew.

        Raises StepFailed where the server does not say which thread it is, HostError where it may
        not be moved.
        """
        if event.processor is None:
            return
        thread = event.server_tid if self._server.threads else event.server_pid
        if thread is None:
            raise StepFailed(
                "schedule.placement: the server does not say which of its threads serves a "
                'session, so that none can be placed; let performance_schema be on, or write "free"'
            )
        with suppress(ProcessLookupError):  # a session that is lost already is made anew
            self._before.setdefault(thread, os.sched_getaffinity(thread))
        core_sets.moved(thread, frozenset({event.processor}))

    def release(self) -> None:
        """Lets the threads run where they did before: a server may keep them for other sessions."""
        for thread, allowed in self._before.items():
            core_sets.moved(thread, frozenset(allowed))
        self._before.clear()
