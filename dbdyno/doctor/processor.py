"""Findings about the processor: its speed, its threads, its clock, what of it is missing. Pure."""

from collections.abc import Iterable

from dbdyno.doctor.finding import HostFinding, set_sysctl, sysctl, tuned
from dbdyno.model.host_facts import Cpu, HostFacts

CPUS = "/sys/devices/system/cpu"
CLOCK = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
CLOCK_NS_MAX = 300.0
"""A reading without a system call takes 20 to 60 ns, a slow machine's under this."""
CLOCK_NS_SLOW = 1000.0
"""From here on the clock is a device that is asked over a bus (hpet, acpi_pm)."""
NODES_MAX = 1


def findings(facts: HostFacts) -> Iterable[HostFinding]:
    """All findings about the processor."""
    yield from _governor(facts)
    yield from _turbo(facts)
    yield from _throttled(facts)
    yield from _threads(facts)
    yield from _clock(facts)
    yield from _nodes(facts)
    yield from _offline(facts)
    yield from _interrupts(facts)
    yield from _mitigations(facts)


def _governor(facts: HostFacts) -> Iterable[HostFinding]:
    governor = facts.cpu.governor
    if governor is None:
        if facts.cpu != Cpu():
            yield HostFinding(
                name="governor-unknown",
                severity="know",
                what="no frequency governor is visible"
                + (f" (virtual machine: {facts.virtual})" if facts.virtual else ""),
                why="Something else decides the speed of the cores, and may change it between "
                "arms; the canary of each step shows by how much.",
                barred="the host below sets the frequency" if facts.virtual else None,
            )
        return
    if governor != "performance":
        yield HostFinding(
            name="governor",
            severity="much",
            what=f"the frequency governor is {governor}",
            why="Cores slow down when there is little to do: CPU per operation and response times "
            "at low rates are those of a slower machine, and change with the load.",
            **tuned(
                facts,
                "/sys",
                f"echo performance | tee {CPUS}/cpu*/cpufreq/scaling_governor > /dev/null",
            ),
        )


def _turbo(facts: HostFacts) -> Iterable[HostFinding]:
    if not facts.frequency.turbo:
        return
    file = facts.frequency.turbo_file or ""
    yield HostFinding(
        name="turbo",
        severity="some",
        what="the cores may run faster than rated (turbo, boost)",
        why="The boost depends on heat and on the number of busy cores: the first arm of a block "
        "has an advantage, and one connection runs on a faster core than many.",
        **tuned(facts, "/sys", f"echo {1 if file.endswith('no_turbo') else 0} > {file}"),
    )


def _throttled(facts: HostFacts) -> Iterable[HostFinding]:
    count = facts.frequency.throttled
    if count:
        yield HostFinding(
            name="throttled",
            severity="some",
            what=f"heat has slowed the cores {count:,} times since the machine booted",
            why="Long steps at full load become slower, as if the server slowed down.",
            barred="use better cooling, or a lower frequency: "
            f"{CPUS}/cpu*/cpufreq/scaling_max_freq",
        )


def _threads(facts: HostFacts) -> Iterable[HostFinding]:
    control, siblings = facts.processors.smt_control, facts.processors.siblings
    if not facts.cpu.smt and not siblings:
        return
    can = control == "on"
    yield HostFinding(
        name="smt",
        severity="some",
        what="two or more logical CPUs share a core (SMT)"
        + (f", as {siblings[0]}" if siblings else ""),
        why="A thread needs more CPU time while the other thread of its core is busy: CPU per "
        "operation grows with the load, and the generator slows the server.",
        **(
            tuned(facts, "/sys", f"echo off > {CPUS}/smt/control")
            if can
            else {
                "barred": "the kernel offers no switch here; use the firmware's or the hypervisor's"
            }
        ),
    )


def _clock(facts: HostFacts) -> Iterable[HostFinding]:
    source, cost_ns = facts.clock_source, facts.clock.read_ns
    others = facts.clock.available or ()
    if cost_ns is None or cost_ns < CLOCK_NS_MAX:
        return
    better = "tsc" if source != "tsc" and "tsc" in others else None
    yield HostFinding(
        name="clock",
        severity="much" if cost_ns >= CLOCK_NS_SLOW else "some",
        what=f"a reading of the clock takes {cost_ns:,.0f} ns (clock source {source})",
        why="Servers and the generator read the clock for each operation, and far more often to "
        "time waits or input and output: short operations pay for it.",
        **(
            tuned(facts, "/sys", f"echo tsc > {CLOCK}")
            if better
            else {"barred": f"the kernel offers no faster one ({', '.join(others) or 'unknown'})"}
        ),
    )


def _nodes(facts: HostFacts) -> Iterable[HostFinding]:
    nodes = facts.cpu.numa_nodes or 1
    if sysctl(facts, "vm.zone_reclaim_mode"):
        yield HostFinding(
            name="zone-reclaim",
            severity="much",
            what=f"vm.zone_reclaim_mode is {sysctl(facts, 'vm.zone_reclaim_mode')}",
            why="The kernel drops cached pages of one memory node while another has room: reads "
            "meant for the cache go to the device.",
            **set_sysctl(facts, vm__zone_reclaim_mode=0),
        )
    if nodes <= NODES_MAX:
        return
    yield HostFinding(
        name="numa",
        severity="some",
        what=f"the memory has {nodes} nodes (NUMA)",
        why="A server whose buffers are on one node is faster for sessions that run there; each "
        "start places them anew.",
        mend=("numactl --interleave=all COMMAND   # or keep servers and generator to one node",),
    )
    if sysctl(facts, "kernel.numa_balancing"):
        yield HostFinding(
            name="numa-balancing",
            severity="some",
            what="kernel.numa_balancing is on",
            why="The kernel unmaps pages to see who uses them, and moves them: this costs page "
            "faults in the window, most in the first minutes of a run.",
            **set_sysctl(facts, kernel__numa_balancing=0),
        )


def _offline(facts: HostFacts) -> Iterable[HostFinding]:
    offline = facts.processors.offline
    if offline:
        yield HostFinding(
            name="offline",
            severity="know",
            what=f"logical CPUs {offline} are off",
            why="Results are those of the smaller machine; with SMT switched off it is meant so.",
        )
    isolated = facts.processors.isolated
    if isolated:
        yield HostFinding(
            name="isolated",
            severity="know",
            what=f"logical CPUs {isolated} are kept free by the kernel (isolcpus)",
            why="The scheduler puts neither server nor generator there, unless a cpuset does.",
        )
    allowed, online = facts.processors.allowed, facts.processors.online
    if allowed is not None and online is not None and allowed != online:
        yield HostFinding(
            name="cpuset",
            severity="some",
            what=f"dyno may use the logical CPUs {allowed} of {online}",
            why="Servers inherit that: presets are sized to these, and the others' load is shown "
            "as that of the host.",
            mend=("taskset -cp $$   # of the shell that starts dyno, or the container's cpuset",),
        )


def _interrupts(facts: HostFacts) -> Iterable[HostFinding]:
    if sysctl(facts, "kernel.nmi_watchdog"):
        yield HostFinding(
            name="watchdog",
            severity="know",
            what="kernel.nmi_watchdog is on",
            why="It takes a hardware counter from perf and interrupts each core now and then.",
            **set_sysctl(facts, kernel__nmi_watchdog=0),
        )
    if sysctl(facts, "kernel.sched_autogroup_enabled"):
        yield HostFinding(
            name="autogroup",
            severity="know",
            what="kernel.sched_autogroup_enabled is on",
            why="When all cores are busy, the kernel shares time by session, not by thread: the "
            "generator, or anything else, gets as much as a whole server.",
            **set_sysctl(facts, kernel__sched_autogroup_enabled=0),
        )


def _mitigations(facts: HostFacts) -> Iterable[HostFinding]:
    on = sorted(
        name
        for name, words in (facts.mitigations or {}).items()
        if str(words).startswith("Mitigation")
    )
    if on:
        yield HostFinding(
            name="mitigations",
            severity="know",
            what=f"the kernel works around {len(on)} weaknesses of the CPU: {', '.join(on)}",
            why="System calls and context switches cost more than on other CPUs and kernels, "
            "equally for all arms here, but not for published results.",
        )
