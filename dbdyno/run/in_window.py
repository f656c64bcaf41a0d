"""What a thread does beside a load while a window is open: hooks at their time, readings.

Neither asks the measured server anything that the plan does not name: lag is a standby's own word,
and a server's state is read only where the plan wants it.
"""

import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Generic, TypeVar

from dbdyno.engine import Server
from dbdyno.model.error import HostError, ServerError
from dbdyno.run.hooks import Hooks

LAG_EVERY_S = 1.0
"""How often standbys are asked how far they are behind."""
Line = TypeVar("Line")
CATCH_UP_S_MAX = 300.0
"""How long a standby may take after a step until it has replayed the step's changes."""
LOOK_EVERY_S = 0.1


class TimedHooks:
    """Runs a step's hooks at their times in its window, one after the other.

    A context manager: none runs afterwards. `failure` says why one failed; later ones do not run.
    """

    def __init__(self, hooks: Hooks | None, server: Server, results: Path, step: str) -> None:
        self.failure: str | None = None
        self._hooks, self._server, self._results, self._step = hooks, server, results, step
        self._due = [] if hooks is None else hooks.timed(step)
        self._closed = threading.Event()
        self._mistake: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="hooks", daemon=True)

    def open(self) -> None:
        """Begins to count: the window has just opened."""
        if self._due:
            self._opened_s = time.monotonic()
            self._thread.start()

    def close(self) -> None:
        """Waits for the one that runs; those whose time has not come do not run any more.

        Raises ServerError where one failed or was never due: the step was not what the plan says.
        """
        self._closed.set()
        if self._thread.is_alive():
            self._thread.join()
        if self._mistake is not None:
            raise self._mistake
        if self.failure is None and self._due:
            self.failure = (
                f"hook during-step: `at_s = {self._due[0].at_s:g}` is later than the window's end"
            )
        if self.failure is not None:
            raise ServerError(self.failure)

    def _run(self) -> None:
        assert self._hooks is not None
        try:
            while self._due:
                due_s = self._opened_s + (self._due[0].at_s or 0.0)
                if self._closed.wait(max(0.0, due_s - time.monotonic())):
                    return
                self._hooks.run_one(self._due.pop(0), self._server, self._results, self._step)
        except (HostError, ServerError) as error:
            self.failure = str(error)
        except BaseException as error:  # no fault of the server: for the caller's thread
            self._mistake = error


class Readings(Generic[Line]):
    """Reads something of servers every so often in a window, into a file.

    `failure` says why a server did not answer; nothing is read then any more.
    """

    def __init__(
        self, read: Callable[[], Iterable[Line]], write: Callable[[Line], None], every_s: float
    ) -> None:
        self.failure: str | None = None
        self._read, self._write, self._every_s = read, write, every_s
        self._closed = threading.Event()
        self._mistake: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="readings", daemon=True)

    def open(self) -> None:
        """Begins to read: the window has just opened."""
        self._thread.start()

    def close(self) -> None:
        """Ends reading; further calls do nothing. Raises what is no fault of a server."""
        self._closed.set()
        if self._thread.is_alive():
            self._thread.join()
        if self._mistake is not None:
            raise self._mistake

    def _run(self) -> None:
        due_s = time.monotonic()
        try:
            while not self._closed.wait(max(0.0, due_s - time.monotonic())):
                for line in self._read():
                    self._write(line)
                due_s += self._every_s
        except ServerError as error:
            self.failure = str(error)
        except BaseException as error:  # for the caller's thread
            self._mistake = error


def catch_up(server: Server) -> float | None:
    """Waits until standbys have replayed what the server has done; the seconds waited.

    None: there are none, or none has joined. Raises ServerError where one has ended, or is still
    behind or cut off after CATCH_UP_S_MAX.
    """
    if server.standbys is None:
        return None
    begun_s = time.monotonic()
    end = server.standbys.log_end()
    while (reason := server.failure()) is None:
        lags = server.standbys.lag(end)
        last = next((lag for lag in lags if lag.bytes is None or lag.bytes > 0), None)
        if last is None:
            return time.monotonic() - begun_s if lags else None
        if time.monotonic() - begun_s > CATCH_UP_S_MAX:
            far = "not connected" if last.bytes is None else f"{last.bytes:,} bytes behind"
            raise ServerError(
                f"arm {server.name}: {last.standby} is {far} {CATCH_UP_S_MAX:.0f} s after the "
                "step: it does not follow this load"
            )
        time.sleep(LOOK_EVERY_S)
    raise ServerError(reason)
