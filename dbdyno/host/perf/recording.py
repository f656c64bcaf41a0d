"""Records a profile of running processes: samples of their stacks, and counters beside them."""

import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dbdyno.host import process as processes
from dbdyno.host.child import Child
from dbdyno.host.observe import files
from dbdyno.host.perf import counters, elf, script
from dbdyno.host.perf.program import Perf, environment, first_words
from dbdyno.model.error import HostError
from dbdyno.model.profile import SampledBinary, Stack

ANSWER_S_MAX = 30.0
END_S_MAX = 60.0
FOLD_S_MAX = 600.0
ATTEMPTS_MAX = 3
"""Perf refuses a list of processes of which one has just ended."""
STACK_BYTES = 8192
"""Of each sample's stack, where call graphs are by DWARF (perf's own default)."""
CALL_GRAPHS = {"fp": "fp", "lbr": "lbr", "dwarf": f"dwarf,{STACK_BYTES}"}
GONE = "Problems finding threads"


@dataclass(frozen=True, kw_only=True)
class FoldedProfile:
    """A profile as it is kept."""

    seconds: float  # during which samples were taken
    stacks: Mapping[Stack, int]  # samples by call stack, from the owner to the leaf
    samples: int
    lost: int  # samples that perf could not keep
    binaries: tuple[SampledBinary, ...]  # the most sampled first
    counters: Mapping[str, float]  # by event, over the same seconds
    cpu_us: float  # of perf itself, while it recorded


class Recording:
    """One recording: `attach`, `start`, `stop`, `fold`; the children of its processes count.

    The samples lie in a temporary folder inside `folder`, which `fold` or `discard` removes.
    """

    def __init__(  # noqa: PLR0913 - the interface that the parts of profiles agreed on
        self,
        perf: Perf,
        pids: Sequence[int],
        folder: Path,
        hertz: int,
        call_graph: str,
        seconds_max: float,
    ) -> None:
        self._perf = perf
        self._pids = pids
        self._hertz = hertz
        self._call_graph = call_graph
        self._seconds_max = seconds_max  # perf ends by then, even if we are gone
        self._place = tempfile.TemporaryDirectory(prefix="perf-", dir=folder)
        self._folder = Path(self._place.name)
        self._running: list[ControlledPerf] = []
        self._began = self._ended = 0.0
        self._cpu_us = 0.0

    def attach(self) -> None:
        """Has perf look for the processes, which takes tenths of a second, and samples nothing yet.

        Raises HostError where perf cannot sample them.
        """
        for attempt in range(ATTEMPTS_MAX):
            try:
                self._launch()
                break
            except HostError as error:
                self._end_all()
                if GONE not in str(error) or attempt + 1 == ATTEMPTS_MAX:
                    self.discard()
                    raise

    def start(self) -> None:
        """Begins to sample and to count, within milliseconds if perf is attached.

        Raises HostError where perf does not.
        """
        if not self._running:
            self.attach()
        try:
            for running in self._running:
                running.say("enable")
        except HostError:
            self.discard()
            raise
        self._began = time.monotonic()
        self._cpu_us = -self._used_us()

    def stop(self) -> None:
        """Ends sampling and counting. Raises HostError where perf ended before, or hangs."""
        try:
            for running in self._running:
                running.say("disable")
            self._ended = time.monotonic()
            self._cpu_us += self._used_us()
            for running in self._running:
                running.end()
        except HostError:
            self.discard()
            raise
        self._running = []

    def fold(self, owner_of: Callable[[int], str]) -> FoldedProfile:
        """The profile. `owner_of` names the owner of a thread's id (the process's, if it has one).

        Raises HostError where perf cannot read what it wrote. Takes seconds, more with DWARF: not
        for while something is measured.
        """
        try:
            text = self._folder / "script"
            words = ["--no-inline", "--show-lost-events", "-F", "tid,period,event,ip,sym,dso"]
            self._read("script", *words, into=text)
            with text.open(errors="replace") as lines:
                found = script.read(lines, owner_of)
            statistics = self._folder / "statistics"
            self._read("report", "--stats", into=statistics)
            lost = script.lost_samples(statistics.read_text(errors="replace"))
            printed = (self._folder / "counters").read_text(errors="replace")
            counted = counters.read(printed, self._perf.counters)
        finally:
            self.discard()
        return FoldedProfile(
            seconds=self._ended - self._began,
            stacks=found.stacks(),
            samples=found.samples,
            lost=max(found.lost, lost),
            binaries=tuple(
                _binary(path, count, found)
                for path, count in sorted(
                    found.leaves.items(), key=lambda item: (-item[1], item[0])
                )
            ),
            counters={name: value for name, value in counted.items() if value is not None},
            cpu_us=self._cpu_us,
        )

    def discard(self) -> None:
        """Ends perf where it still runs, and removes what was recorded."""
        self._end_all()
        self._place.cleanup()

    def _launch(self) -> None:
        perf = self._perf
        alive = [pid for pid in self._pids if processes.start_ticks(pid) is not None]
        if not alive:
            raise HostError("none of the processes to profile runs any more: see the server's log")
        pids = ["-p", ",".join(str(pid) for pid in alive)]
        sampling = ["-e", perf.sampled, "-F", str(self._hertz)]
        stacks = ["--call-graph", CALL_GRAPHS[self._call_graph]]
        kept = ["-N", "-o", str(self._folder / "perf.data")]
        until = ["--", "sleep", f"{self._seconds_max:.0f}"]
        record = ["record", *sampling, *stacks, *kept, *pids, *until]
        self._running.append(ControlledPerf(perf.program, record, self._folder, self._seconds_max))
        if perf.counters:
            events = ["-x", ",", "-e", counters.as_asked(perf.counters)]
            # With a command to wait for, as above, it would go on until that ends.
            until = ["--timeout", f"{self._seconds_max * 1000:.0f}"]
            output = ["-o", str(self._folder / "counters")]
            stat = ["stat", *events, *output, *pids, *until]
            self._running.append(
                ControlledPerf(perf.program, stat, self._folder, self._seconds_max)
            )
        else:
            (self._folder / "counters").touch()
        for running in self._running:
            running.say("disable")  # its answer says that it has attached

    def _used_us(self) -> float:
        return sum(running.cpu_us() for running in self._running)

    def _end_all(self) -> None:
        for running in self._running:
            running.kill()
        self._running = []

    def _read(self, command: str, *words: str, into: Path) -> None:
        data = str(self._folder / "perf.data")
        # Symbols of a build that lay at this path earlier are no symbols of this one.
        cache = ["--buildid-dir", str(self._folder)]
        with into.open("w") as output:
            try:
                done = subprocess.run(
                    [self._perf.program, *cache, command, "-i", data, *words],
                    env=environment(),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.PIPE,
                    text=True,
                    errors="replace",
                    timeout=FOLD_S_MAX,
                    check=False,
                )
            except subprocess.TimeoutExpired as error:
                raise HostError(
                    f"`perf {command}` took more than {FOLD_S_MAX:.0f} s: profile fewer seconds, "
                    "or a build with frame pointers"
                ) from error
        if done.returncode != 0:
            raise HostError(f"`perf {command}` failed: {first_words(done.stderr)}")


class ControlledPerf:
    """A perf that begins and ends to count when it is told, by its option `--control`.

    It ends by itself after `lasts_s` seconds.
    """

    def __init__(self, program: Path, words: Sequence[str], folder: Path, lasts_s: float) -> None:
        self._name = f"perf {words[0]}"
        self._lasts_s = lasts_s
        self._begun_s = time.monotonic()
        orders, answers = folder / f"{words[0]}-orders", folder / f"{words[0]}-answers"
        for pipe in (orders, answers):
            pipe.unlink(missing_ok=True)
            os.mkfifo(pipe)
        # Open for both, so that neither side waits for the other to come.
        self._orders = os.open(orders, os.O_RDWR)
        self._answers = os.open(answers, os.O_RDWR)
        control = ["-D", "-1", f"--control=fifo:{orders},{answers}"]
        self.child = Child(
            [program, words[0], *control, *words[1:]], name=self._name, environment=environment()
        )

    def say(self, order: str) -> None:
        """Gives an order and waits for perf's word that it follows."""
        os.write(self._orders, f"{order}\n".encode())
        give_up = time.monotonic() + ANSWER_S_MAX
        while time.monotonic() < give_up:
            if select.select([self._answers], [], [], 0.02)[0]:
                os.read(self._answers, 64)
                return
            if self.child.is_over():
                if time.monotonic() - self._begun_s >= self._lasts_s:
                    raise HostError(f"the load took longer than the {self._lasts_s:.0f} s foreseen")
                self.child.wait()
                complaint = first_words("\n".join(self.child.said))
                raise HostError(f"`{self._name}` ended: {complaint}")
        raise HostError(f"`{self._name}` did not answer `{order}` within {ANSWER_S_MAX:.0f} s")

    def cpu_us(self) -> float:
        """The CPU time that this perf has used so far; 0 where the kernel does not count it."""
        text = files.record(f"/proc/{self.child.pid}/schedstat")
        return int(text.split()[0]) / 1000 if text else 0.0

    def end(self) -> None:
        """Has it write what it counted, and waits for its end."""
        self.child.send(signal.SIGINT)
        if not self.child.wait(END_S_MAX):
            raise HostError(f"`{self._name}` did not end within {END_S_MAX:.0f} s")
        self._close()

    def kill(self) -> None:
        """Ends it, whatever it has."""
        self.child.end(1.0, by=signal.SIGTERM)  # it takes its own `sleep` along
        self._close()

    def _close(self) -> None:
        self.child.hang_up()
        self.child.output.close()
        for end in (self._orders, self._answers):
            if end >= 0:
                os.close(end)
        self._orders = self._answers = -1


def _binary(path: str, samples: int, found: script.PerfSamples) -> SampledBinary:
    told = elf.read(Path(path)) if path.startswith("/") else None
    return SampledBinary(
        path=path,
        build_id=told.build_id if told else None,
        symbols=told.symbols if told else found.named[path] > 0,
        samples=samples,
    )
