"""Finds `perf`, and tries what it may do here: which event it samples, which events it counts."""

import os
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from dbdyno.host import process as processes
from dbdyno.host.perf import counters, elf
from dbdyno.host.program import unended
from dbdyno.model.error import HostError

VERSION_MIN = (5, 10)
"""The first perf that is told when to begin and to end (`--control`)."""
VERSION = re.compile(r"perf version (\d+)\.(\d+)\S*")
EVENT = re.compile(r"^(cycles|cpu-clock)(?::(\S+))?$")
TRIAL_HERTZ = 99
TRIAL_S = "0.05"
TRIAL_S_MAX = 30.0
LOADER = re.compile(r"ld(-linux.*|-musl.*)?\.so")
"""The names of programs that load another (ld.so(8))."""
MAPPED_CODE = re.compile(r"(?m)^([0-9a-f]+)-([0-9a-f]+) r-xp \S+ \S+ \d+ +(/.*)$")
"""A line of /proc/PID/maps (proc(5)) of code that a file holds."""
PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")


@dataclass(frozen=True, kw_only=True)
class Perf:
    """The program, and what it may do here."""

    program: Path
    version: str  # "6.1.187"
    event: str  # "cycles", or "cpu-clock" where the host has no hardware counters
    kernel: bool  # whether the kernel's functions are sampled and counted, too
    lbr: bool = False  # whether the processor records branches, to follow calls by
    counters: tuple[str, ...] = ()  # the events that `perf stat` counts here
    no_counters: str | None = None  # why there are no hardware events among them

    @property
    def sampled(self) -> str:
        """The value of `perf record -e`."""
        return self.event if self.kernel else f"{self.event}:u"


def find() -> Perf:
    """The perf of this host, after a trial on ourselves of some tenths of a second.

    Raises HostError where there is none, where it is too old, or may not sample.
    """
    path = shutil.which("perf")
    if path is None:
        raise HostError(
            "`perf` is not installed: install Debian's `linux-perf`, Ubuntu's "
            "`linux-tools-$(uname -r)` or Fedora's `perf`, or drop `profile` from the plan"
        )
    program = Path(path)
    version = _version(program)
    with tempfile.TemporaryDirectory(prefix="dyno-perf-") as folder:
        trial = Path(folder) / "perf.data"
        event, kernel = _sampled(program, trial)
        counted = _counted(program, kernel=kernel)
        return Perf(
            program=program,
            version=version,
            event=event,
            kernel=kernel,
            lbr=event == "cycles" and _record(program, trial, "cycles:u", "lbr").returncode == 0,
            counters=tuple(name for name, value in counted.items() if value is not None),
            no_counters=counters.why_none(counted),
        )


def call_graph_of(program: Path, perf: Perf) -> str:
    """How call stacks of a server's binary are followed: "fp", "lbr" or "dwarf".

    Frame pointers where its functions set them up, as their first instructions show. Else the
    processor's record of branches where there is one, else the unwinding tables (DWARF), which
    copy 8 KB of stack with each sample.
    """
    binary = elf.read(program)
    if binary is not None and binary.frame_pointers:
        return "fp"
    return "lbr" if perf.lbr else "dwarf"


def image_of(pid: int) -> Path | None:
    """The binary of a server's own code; None: the process is gone, or not ours to see.

    Where a loader was told to run a program, the kernel names the loader: the program is then what
    the process has the most instructions of.
    """
    path = processes.program(pid)
    if path is None or not LOADER.match(path.name):
        return path
    try:
        text = (processes.PROC / str(pid) / "maps").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    return largest(text) or path


def largest(maps: str) -> Path | None:
    """The file of which /proc/PID/maps has the most code."""
    sizes: Counter[str] = Counter()
    for low, high, path in MAPPED_CODE.findall(maps):
        sizes[path] += int(high, 16) - int(low, 16)
    return Path(sizes.most_common(1)[0][0]) if sizes else None


def environment() -> dict[str, str]:
    """The environment of perf: no configuration or locale of the user's, no fetching of symbols."""
    return {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "HOME": "/",
        "LC_ALL": "C",
        "PERF_CONFIG": "/dev/null",
    }


def first_words(text: str) -> str:
    """The first line of a complaint that says something."""
    lines = [line.strip() for line in text.splitlines()]
    told = [line for line in lines if line and line not in ("Error:", "Warning:")]
    return told[0].rstrip(".") if told else "no reason given"


def _version(program: Path) -> str:
    said = _run(program, "--version")
    found = VERSION.search(said.stdout)
    if found is None:
        raise HostError(
            f"`{program} --version` says no version ({first_words(said.stdout + said.stderr)}): "
            "install the perf of this kernel"
        )
    if (int(found[1]), int(found[2])) < VERSION_MIN:
        raise HostError(
            f"`{program}` is {found[1]}.{found[2]}: profiles need perf 5.10 or later, which may be "
            "newer than the kernel"
        )
    return found[0].removeprefix("perf version ")


def _sampled(program: Path, trial: Path) -> tuple[str, bool]:
    """The event that perf takes where `cycles` are asked for, and whether the kernel's are in."""
    done = _record(program, trial, "cycles", "fp")
    if done.returncode != 0:
        raise HostError(refusal(paranoid(), os.geteuid(), done.stderr))
    said = _run(program, "evlist", "-i", str(trial))
    found = EVENT.match(said.stdout.strip())
    if found is None:
        raise HostError(
            f"`perf evlist` names `{first_words(said.stdout + said.stderr)}` where `cycles` or "
            "`cpu-clock` was asked for: install the perf of this kernel"
        )
    return found[1], "u" not in (found[2] or "")


def refusal(paranoid: int | None, uid: int, complaint: str) -> str:
    """What to say where perf may not sample: the value of its setting, and what mends it."""
    if paranoid is not None and paranoid > 2 and uid != 0:
        return (
            f"perf may not sample: `kernel.perf_event_paranoid` is {paranoid}: "
            "run `sudo sysctl kernel.perf_event_paranoid=1`, or dyno as root"
        )
    return (
        f"perf may not sample ({first_words(complaint)}): in a container, allow `perf_event_open` "
        "(docker run --cap-add PERFMON --security-opt seccomp=unconfined)"
    )


def paranoid() -> int | None:
    """The value of `kernel.perf_event_paranoid`; None: the kernel has no such setting."""
    try:
        return int(PARANOID.read_text())
    except (OSError, ValueError):
        return None


def _record(
    program: Path, trial: Path, event: str, call_graph: str
) -> subprocess.CompletedProcess[str]:
    sampling = ["-e", event, "-F", str(TRIAL_HERTZ), "--call-graph", call_graph]
    return _run(program, "record", "-N", *sampling, "-o", str(trial), "--", "sleep", TRIAL_S)


def _counted(program: Path, *, kernel: bool) -> dict[str, float | None]:
    events = counters.wanted(kernel=kernel)
    words = ("stat", "-x", ",", "-e", counters.as_asked(events), "--", "sleep", TRIAL_S)
    return counters.read(_run(program, *words).stderr, events)


def _run(program: Path, *words: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            [program, *words],
            env=environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TRIAL_S_MAX,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise HostError(f"`{program} {words[0]}` {unended(error)}: install another perf") from error
