"""Facts of the processor: what it is, how fast it may run, what of it is on, its clock."""

import os
import re
from pathlib import Path

from dbdyno.host.observe import files
from dbdyno.host.observe.reader import HostReader
from dbdyno.model.host_facts import ClockSources, Cpu, Frequency, Processors

CPUS = "/sys/devices/system/cpu"
CLOCK = "/sys/devices/system/clocksource/clocksource0"
TURBO = ((f"{CPUS}/intel_pstate/no_turbo", 0), (f"{CPUS}/cpufreq/boost", 1))
"""Where drivers say whether cores may run faster than rated, and the number that means they may."""

FLAGS = (
    *("aes", "amx_tile", "avx", "avx2", "avx512bw", "avx512f", "avx512vl", "bmi2"),
    *("pclmulqdq", "popcnt", "sha_ni", "sse4_2", "vaes", "vpclmulqdq"),
    *("asimd", "atomics", "crc32", "pmull", "sha1", "sha2", "sve"),
)
"""The CPU's abilities that database servers ask for: checksums, hashes, popcount, atomics."""


def cpu(reader: HostReader, processors: list[dict[str, str]]) -> Cpu:
    """The processor: `cores` are physical, `cpus` logical (both of those online).

    What stands here names the machine: a result folder goes on only where all of it is the same.
    """
    first = processors[0] if processors else {}
    # A CPU that is off has no topology.
    folders = [path.parent for path in reader.found(f"{CPUS}/cpu[0-9]*/topology")]
    topology = [(package, core) for package, core in map(placed, folders) if core is not None]
    cores = len(set(topology)) or None
    flags = (first.get("flags") or first.get("Features") or "").split()
    kilohertz = reader.number("cpu.mhz_max", f"{CPUS}/cpu0/cpufreq/cpuinfo_max_freq")
    smt = reader.number("cpu.smt", f"{CPUS}/smt/active")
    return Cpu(
        model=first.get("model name") or first.get("Model") or first.get("cpu model"),
        cores=cores,
        cpus=os.cpu_count() if reader.here else len(processors) or None,
        sockets=len({package for package, _ in topology}) or None,
        threads_per_core=len(topology) // cores if cores else None,
        mhz_max=None if kilohertz is None else kilohertz // 1000,
        governor=governor(reader),
        smt=None if smt is None else bool(smt),
        flags_short=tuple(flag for flag in FLAGS if flag in flags) if flags else None,
        numa_nodes=len(reader.found("/sys/devices/system/node/node[0-9]*")) or None,
    )


def placed(folder: Path) -> tuple[int | None, int | None]:
    """A logical CPU's package and core."""
    topology = folder / "topology"
    return files.number(topology / "physical_package_id"), files.number(topology / "core_id")


def governor(reader: HostReader) -> str | None:
    """The frequency governors of all cores, each once, such as `performance`."""
    pattern = f"{CPUS}/cpu[0-9]*/cpufreq/scaling_governor"
    found = {name for name in map(files.line, reader.found(pattern)) if name}
    if not found:
        reader.nothing("cpu.governor", f"{pattern}: there is no such file")
    return ",".join(sorted(found)) or None


def frequency(reader: HostReader, processors: list[dict[str, str]]) -> Frequency:
    """How fast the cores may run and, at this moment, do; how often heat has slowed them."""
    turbo, file = None, None
    for path, on in TURBO:
        number = files.number(reader.at(path))
        if number is not None:
            turbo, file = number == on, path
            break
    else:
        reader.nothing("frequency.turbo", f"{CPUS}: the driver shows no turbo or boost")
    now = [
        files.number(path) for path in reader.found(f"{CPUS}/cpu[0-9]*/cpufreq/scaling_cur_freq")
    ]
    mhz = [kilohertz // 1000 for kilohertz in now if kilohertz]
    mhz = mhz or [
        round(float(processor["cpu MHz"])) for processor in processors if "cpu MHz" in processor
    ]
    counts = reader.found(f"{CPUS}/cpu[0-9]*/thermal_throttle/core_throttle_count")
    throttled = [count for count in map(files.number, counts) if count is not None]
    if not throttled:
        reader.nothing("frequency.throttled", f"{CPUS}: no core counts when heat slows it")
    return Frequency(
        driver=reader.line("frequency.driver", f"{CPUS}/cpu0/cpufreq/scaling_driver"),
        turbo=turbo,
        turbo_file=file,
        mhz_now=(min(mhz), max(mhz)) if mhz else None,
        throttled=sum(throttled) if throttled else None,
    )


def layout(reader: HostReader) -> Processors:
    """Which logical CPUs are on, off, kept free by the kernel, share a core (as `0-3`)."""
    siblings = {
        words
        for path in reader.found(f"{CPUS}/cpu[0-9]*/topology/thread_siblings_list")
        if (words := files.line(path)) is not None
    }
    return Processors(
        online=reader.line("processors.online", f"{CPUS}/online"),
        offline=(reader.text("processors.offline", f"{CPUS}/offline") or "").strip(),
        isolated=(reader.text("processors.isolated", f"{CPUS}/isolated") or "").strip(),
        allowed=allowed(reader),
        smt_control=reader.line("processors.smt_control", f"{CPUS}/smt/control"),
        siblings=tuple(sorted(words for words in siblings if re.search("[,-]", words))),
    )


def allowed(reader: HostReader) -> str | None:
    """The logical CPUs that this process may use, by a cpuset or taskset."""
    text = reader.text("processors.allowed", "/proc/self/status") or ""
    match = re.search(r"^Cpus_allowed_list:\s*(\S+)$", text, re.MULTILINE)
    return match[1] if match else None


def clock(reader: HostReader) -> ClockSources:
    """The clock sources that the kernel could use; what a reading costs is not measured here."""
    sources = reader.line("clock.available", f"{CLOCK}/available_clocksource")
    return ClockSources(available=tuple(sources.split()) if sources else None)


def clock_source(reader: HostReader) -> str | None:
    """The clock source that the kernel uses."""
    return reader.line("clock_source", f"{CLOCK}/current_clocksource")


def mitigations(reader: HostReader) -> dict[str, str | None] | None:
    """The kernel's word on each CPU weakness; they change the price of a system call."""
    paths = reader.found(f"{CPUS}/vulnerabilities/*")
    return {path.name: files.line(path) for path in paths} or None
