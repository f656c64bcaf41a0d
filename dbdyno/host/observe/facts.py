"""Collects what a result must know of the machine: host.json (docs/results.md)."""

import hashlib
import platform
import re
import shutil
import socket
import subprocess
import time
from pathlib import Path

from msgspec.structs import replace

from dbdyno.host.observe import background_load, files, limits, processor, procfs, storage
from dbdyno.host.observe.reader import HostReader
from dbdyno.model.host_facts import HostFacts, HugePagePool, Memory, TransparentHugePages

DETECT_LIMIT_S = 5.0
LOOK_S = 0.5
"""How long a run looks at what else the host does, before its first block."""
SYNCS_S_MAX = 0.5

SYSCTL = (
    "fs.aio-max-nr",
    "fs.file-max",
    "fs.nr_open",
    "kernel.io_uring_disabled",
    "kernel.nmi_watchdog",
    "kernel.numa_balancing",
    "kernel.perf_event_paranoid",
    "kernel.pid_max",
    "kernel.randomize_va_space",
    "kernel.sched_autogroup_enabled",
    "kernel.threads-max",
    "kernel.watchdog",
    "net.core.somaxconn",
    "vm.dirty_background_bytes",
    "vm.dirty_background_ratio",
    "vm.dirty_bytes",
    "vm.dirty_expire_centisecs",
    "vm.dirty_ratio",
    "vm.dirty_writeback_centisecs",
    "vm.max_map_count",
    "vm.nr_hugepages",
    "vm.nr_overcommit_hugepages",
    "vm.overcommit_memory",
    "vm.overcommit_ratio",
    "vm.swappiness",
    "vm.zone_reclaim_mode",
)

HYPERVISORS = {
    "KVM": "kvm",
    "QEMU": "qemu",
    "Amazon EC2": "amazon",
    "Google": "google",
    "VMware": "vmware",
    "Microsoft": "microsoft",
    "innotek": "oracle",
    "Xen": "xen",
}
"""What stands in the firmware's names -> what systemd-detect-virt calls it."""


def collect(
    data_path: Path,
    *,
    wal_path: Path | None = None,
    measure: bool = True,
    look_s: float = LOOK_S,
    reader: HostReader | None = None,
) -> HostFacts:
    """The facts of this machine and of the storage under `data_path`; None: cannot be read.

    `wal_path`: where logs lie, if not with the data.

    `measure`: also looks for `look_s` seconds at what else the host does, and measures what a sync
    and a reading of the clock take: a second in all. `unread` says why a fact is null.
    """
    reader = reader or HostReader()
    processors = procfs.cpuinfo(reader.text("cpu", "/proc/cpuinfo") or "")
    facts = HostFacts(
        since_unix_ns=time.time_ns(),
        cpu=processor.cpu(reader, processors),
        kernel=platform.release(),
        os=operating_system(reader),
        boot_id=files.line(reader.at("/proc/sys/kernel/random/boot_id")),
        hostname_hash=hashlib.sha256(socket.gethostname().encode()).hexdigest()[:12],
        user_id=limits.user_id(reader),
        virtual=virtual(reader, processors),
        container=container(reader),
        read_only=read_only(reader),
        frequency=processor.frequency(reader, processors),
        processors=processor.layout(reader),
        mitigations=processor.mitigations(reader),
        limits=limits.of_process(reader),
        control_group=limits.control_group(reader),
        login_service=limits.login_service(reader),
        data=storage.data(reader, data_path),
        wal=None if wal_path is None else storage.data(reader, wal_path),
        sysctl={name: sysctl(reader, name) for name in SYSCTL},
        clock_source=processor.clock_source(reader),
        clock=processor.clock(reader),
    )
    facts = with_memory(facts, reader)
    if measure and reader.here:
        facts = replace(
            facts,
            look=background_load.look(reader, look_s),
            sync=storage.syncs(reader, data_path, SYNCS_S_MAX),
            clock=replace(facts.clock, read_ns=background_load.clock_read_ns()),
        )
    else:
        for fact in ("look", "sync", "clock.read_ns"):
            reader.nothing(fact, "not measured: no server of this host takes part")
    return replace(facts, unread=dict(sorted(reader.unread.items())))


def operating_system(reader: HostReader) -> str | None:
    """The distribution's own name for itself."""
    text = reader.text("os", "/etc/os-release") or ""
    match = re.search(r'^PRETTY_NAME="?(.*?)"?$', text, re.MULTILINE)
    return match[1] if match else None


def virtual(reader: HostReader, processors: list[dict[str, str]]) -> str | None:
    """The hypervisor's name; "unknown" where only the CPU tells of one; None on bare metal."""
    detected = detect("--vm") if reader.here else None
    if detected is not None:
        return None if detected == "none" else detected
    names = " ".join(
        files.line(reader.at(f"/sys/class/dmi/id/{key}")) or ""
        for key in ("sys_vendor", "product_name")
    )
    known = next((name for sign, name in HYPERVISORS.items() if sign in names), None)
    below = "hypervisor" in (processors[0].get("flags", "") if processors else "").split()
    hypervisor = files.line(reader.at("/sys/hypervisor/type"))
    return known or hypervisor or ("unknown" if below else None)


def container(reader: HostReader) -> bool:
    """Whether this runs in a container: other limits and other neighbours than the host shows."""
    detected = detect("--container") if reader.here else None
    if detected is not None:
        return detected != "none"
    groups = files.text(reader.at("/proc/1/cgroup")) or ""
    marks = (reader.at("/.dockerenv"), reader.at("/run/.containerenv"))
    return any(mark.exists() for mark in marks) or bool(
        re.search(r"docker|kubepods|containerd|lxc", groups)
    )


def detect(option: str) -> str | None:
    """What systemd-detect-virt says ("none" for nothing); None where there is no such program."""
    program = shutil.which("systemd-detect-virt")
    if program is None:
        return None
    try:
        ended = subprocess.run(
            [program, option], capture_output=True, text=True, timeout=DETECT_LIMIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return ended.stdout.strip() or None


def read_only(reader: HostReader) -> tuple[str, ...]:
    """Which of the kernel's settings nobody can change here, not even root: `/sys`, `/proc/sys`."""
    mounts = procfs.mountinfo(files.text(reader.at("/proc/self/mountinfo")) or "")
    last = {mount.mount_point: mount.options.split(",") for mount in mounts}
    return tuple(path for path in ("/sys", "/proc/sys") if "ro" in last.get(path, ()))


def sysctl(reader: HostReader, name: str) -> int | str | None:
    """A kernel setting, as a number where it is one."""
    return reader.value(f"sysctl.{name}", f"/proc/sys/{name.replace('.', '/')}")


# --- Facts of memory ---------------------------------------------------------------------------


THP = "/sys/kernel/mm/transparent_hugepage"


def with_memory(facts: HostFacts, reader: HostReader) -> HostFacts:
    """The facts of a machine with those of its memory."""
    memory = procfs.meminfo(reader.text("memory_bytes", "/proc/meminfo") or "")
    swap, unused = memory.get("SwapTotal"), memory.get("SwapFree")
    return replace(
        facts,
        memory_bytes=memory.get("MemTotal"),
        memory=Memory(
            free_bytes=memory.get("MemFree"),
            available_bytes=memory.get("MemAvailable"),
            commit_limit_bytes=memory.get("CommitLimit"),
            committed_bytes=memory.get("Committed_AS"),
        ),
        swap_bytes=swap,
        swap_used_bytes=None if swap is None or unused is None else swap - unused,
        thp=TransparentHugePages(
            **{
                key: reader.chosen(f"thp.{key}", f"{THP}/{key}")
                for key in TransparentHugePages.__struct_fields__
            }
        ),
        huge_pages=memory.get("HugePages_Total"),
        huge_page_pool=HugePagePool(
            total=memory.get("HugePages_Total"),
            free=memory.get("HugePages_Free"),
            reserved=memory.get("HugePages_Rsvd"),
            surplus=memory.get("HugePages_Surp"),
            size_bytes=memory.get("Hugepagesize"),
        ),
    )
