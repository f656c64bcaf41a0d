"""Samples a server's processes by perf while the window of a load is open."""

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from dbdyno.engine import Server
from dbdyno.host import perf
from dbdyno.host.perf import FoldedProfile, Perf, Recording
from dbdyno.model.error import HostError
from dbdyno.model.events import AnyEvent, ReadyEvent, WindowClose, WindowOpen
from dbdyno.model.profile import NoProfile, ProfileFile, Stack
from dbdyno.run.measurement import Measurement
from dbdyno.run.progress import Pulse
from dbdyno.run.step import Load


@dataclass(frozen=True, kw_only=True)
class ProcessSampling:
    """How the processes of a server are sampled."""

    perf: Perf
    hertz: int
    seconds_max: float  # at most so long, whatever the load does


class Recorder:
    """A recording of a server's processes, and why there is none.

    A context manager: nothing runs and no file is left afterwards.
    """

    def __init__(self, server: Server, how: ProcessSampling) -> None:
        self.failure: str | None = None
        self.stacks: Mapping[Stack, int] = {}
        self._owner_of: Callable[[int], str] = str
        self._call_graph = ""
        self._server, self._how = server, how
        self._recording: Recording | None = None

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(prefix="dyno-profile-")
        return self

    def __exit__(self, *_: object) -> None:
        if self._recording is not None:
            self._recording.discard()
        self._folder.cleanup()

    def take(self, event: AnyEvent) -> None:
        """Attaches where the load is ready, so that connections are there; samples its window."""
        match event:
            case ReadyEvent():
                self._attempt(self._prepare)
            case WindowOpen():
                self._attempt(self._start)
            case WindowClose():
                self._attempt(self._stop)

    def load(self, measurement: Measurement) -> Load:
        """The load of a measurement, recorded."""
        self._owner_of = measurement.sampler.owner
        return RecordedLoad(measurement, self)

    def outcome(self) -> ProfileFile | NoProfile:
        """What was sampled, without its stacks, which are in `stacks`."""
        folded, perf = self._folded(), self._how.perf
        if folded is None:
            return NoProfile(self.failure)
        self.stacks = folded.stacks
        return ProfileFile(
            event=perf.event,
            hertz=self._how.hertz,
            call_graph=self._call_graph,
            kernel=perf.kernel,
            samples=folded.samples,
            lost=folded.lost,
            perf=perf.version,
            perf_cpu_us=folded.cpu_us,
            seconds=folded.seconds,
            binaries=folded.binaries,
            counters=folded.counters,
            no_counters=perf.no_counters,
        )

    def _folded(self) -> FoldedProfile | None:
        if self.failure is None and self._recording is None:
            self.failure = "the load ended before its window"
        if self.failure is not None or self._recording is None:
            return None
        try:
            return self._recording.fold(self._owner_of)
        except (HostError, OSError) as error:
            self.failure = str(error)
            return None

    def _attempt(self, what: Callable[[], None]) -> None:
        """Does a part of the recording; a failure ends it, and the load goes on."""
        if self.failure is not None:
            return
        try:
            what()
        except (HostError, OSError) as error:
            self.failure = str(error)

    def _prepare(self) -> None:
        server, how = self._server.made, self._how
        pid = None if server is None else server.postmaster_pid
        if server is None or pid is None:
            raise HostError("the server has no process here that can be sampled")
        image = perf.image_of(pid)
        if image is None:
            raise HostError("the server's first process is gone: see its log")
        self._call_graph = perf.call_graph_of(image, how.perf)
        members = [] if server.threads else sorted(server.processes())
        self._recording = Recording(
            how.perf, [pid, *members], Path(self._folder.name), how.hertz, self._call_graph,
            how.seconds_max,
        )  # fmt: skip
        self._recording.attach()

    def _start(self) -> None:
        if self._recording is not None:
            self._recording.start()

    def _stop(self) -> None:
        if self._recording is not None:
            self._recording.stop()


class RecordedLoad(Load):
    """A load whose server is sampled while the window is open."""

    def __init__(self, measurement: Measurement, recorder: Recorder) -> None:
        super().__init__(measurement)
        self._recorder = recorder

    def take(self, event: AnyEvent) -> Pulse | None:
        """As any load, with the recording of its window."""
        pulse = super().take(event)
        self._recorder.take(event)
        return pulse
