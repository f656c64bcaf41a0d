"""Collects what a result must know of the machine: host.json (docs/results.md)."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import socket
import subprocess
from pathlib import Path

from dbdyno.host import device, files, procfs
from dbdyno.model import Json

CPUS = Path("/sys/devices/system/cpu")
DETECT_LIMIT_S = 5.0

FLAGS = (
    *("aes", "amx_tile", "avx", "avx2", "avx512bw", "avx512f", "avx512vl", "bmi2"),
    *("pclmulqdq", "popcnt", "sha_ni", "sse4_2", "vaes", "vpclmulqdq"),
    *("asimd", "atomics", "crc32", "pmull", "sha1", "sha2", "sve"),
)
"""The CPU's abilities that database servers ask for: checksums, hashes, popcount, atomics."""

SYSCTL = (
    "fs.aio-max-nr",
    "kernel.io_uring_disabled",
    "kernel.numa_balancing",
    "kernel.perf_event_paranoid",
    "kernel.randomize_va_space",
    "kernel.sched_autogroup_enabled",
    "vm.dirty_background_bytes",
    "vm.dirty_background_ratio",
    "vm.dirty_bytes",
    "vm.dirty_expire_centisecs",
    "vm.dirty_ratio",
    "vm.dirty_writeback_centisecs",
    "vm.nr_hugepages",
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


def collect(data_path: Path) -> Json:
    """The facts of this machine and of the storage under `data_path`; None: cannot be read."""
    memory = procfs.meminfo(files.text("/proc/meminfo") or "")
    processors = procfs.cpuinfo(files.text("/proc/cpuinfo") or "")
    return {
        "cpu": cpu(processors),
        "memory_bytes": memory.get("MemTotal"),
        "swap_bytes": memory.get("SwapTotal"),
        "kernel": platform.release(),
        "os": operating_system(),
        "boot_id": files.line("/proc/sys/kernel/random/boot_id"),
        "hostname_hash": hashlib.sha256(socket.gethostname().encode()).hexdigest()[:12],
        "thp": {
            key: files.chosen(f"/sys/kernel/mm/transparent_hugepage/{key}")
            for key in ("enabled", "defrag")
        },
        "huge_pages": memory.get("HugePages_Total"),
        "clock_source": files.line(
            "/sys/devices/system/clocksource/clocksource0/current_clocksource"
        ),
        "virtual": virtual(processors),
        "container": container(),
        "mitigations": mitigations(),
        "data": data(data_path),
        "sysctl": {name: sysctl(name) for name in SYSCTL},
    }


def cpu(processors: list[dict[str, str]]) -> Json:
    """The processor: `cores` are physical, `cpus` logical (both of those online)."""
    first = processors[0] if processors else {}
    topology = [(package, core) for package, core in map(placed, cpu_folders()) if core is not None]
    cores = len(set(topology)) or None
    cpus = os.cpu_count()
    flags = (first.get("flags") or first.get("Features") or "").split()
    kilohertz = files.number(CPUS / "cpu0/cpufreq/cpuinfo_max_freq")
    smt = files.number(CPUS / "smt/active")
    return {
        "model": first.get("model name") or first.get("Model") or first.get("cpu model"),
        "cores": cores,
        "cpus": cpus,
        "sockets": len({package for package, _ in topology}) or None,
        "threads_per_core": len(topology) // cores if cores else None,
        "mhz_max": None if kilohertz is None else kilohertz // 1000,
        "governor": governor(),
        "smt": None if smt is None else bool(smt),
        "flags_short": [flag for flag in FLAGS if flag in flags] if flags else None,
        "numa_nodes": len(list(Path("/sys/devices/system/node").glob("node[0-9]*"))) or None,
    }


def cpu_folders() -> list[Path]:
    """The folders of the logical CPUs that are online (one that is off has no topology)."""
    return [folder for folder in CPUS.glob("cpu[0-9]*") if (folder / "topology").is_dir()]


def placed(folder: Path) -> tuple[int | None, int | None]:
    """A logical CPU's package and core."""
    topology = folder / "topology"
    return files.number(topology / "physical_package_id"), files.number(topology / "core_id")


def governor() -> str | None:
    """The frequency governors of all cores, each once, such as `performance`."""
    paths = CPUS.glob("cpu[0-9]*/cpufreq/scaling_governor")
    found = {name for name in map(files.line, paths) if name}
    return ",".join(sorted(found)) or None


def operating_system() -> str | None:
    """The distribution's own name for itself."""
    found = re.search(r'^PRETTY_NAME="?(.*?)"?$', files.text("/etc/os-release") or "", re.MULTILINE)
    return found[1] if found else None


def virtual(processors: list[dict[str, str]]) -> str | None:
    """The hypervisor's name; "unknown" where only the CPU tells of one; None on bare metal."""
    detected = detect("--vm")
    if detected is not None:
        return None if detected == "none" else detected
    names = " ".join(
        files.line(f"/sys/class/dmi/id/{key}") or "" for key in ("sys_vendor", "product_name")
    )
    known = next((name for sign, name in HYPERVISORS.items() if sign in names), None)
    below = "hypervisor" in (processors[0].get("flags", "") if processors else "").split()
    return known or files.line("/sys/hypervisor/type") or ("unknown" if below else None)


def container() -> bool:
    """Whether this runs in a container: other limits and other neighbours than the host shows."""
    detected = detect("--container")
    if detected is not None:
        return detected != "none"
    groups = files.text("/proc/1/cgroup") or ""
    marks = (Path("/.dockerenv"), Path("/run/.containerenv"))
    return any(mark.exists() for mark in marks) or bool(
        re.search(r"docker|kubepods|containerd|lxc", groups)
    )


def detect(kind: str) -> str | None:
    """What systemd-detect-virt says ("none" for nothing); None where there is no such program."""
    program = shutil.which("systemd-detect-virt")
    if program is None:
        return None
    try:
        ended = subprocess.run(
            [program, kind], capture_output=True, text=True, timeout=DETECT_LIMIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return ended.stdout.strip() or None


def mitigations() -> dict[str, str | None] | None:
    """The kernel's word on each CPU weakness; they change the price of a system call."""
    folder = CPUS / "vulnerabilities"
    if not folder.is_dir():
        return None
    return {path.name: files.line(path) for path in sorted(folder.iterdir())}


def data(path: Path) -> Json:
    """The storage under the servers' data."""
    found = device.find(path)
    space = os.statvfs(device.existing(path))
    return {
        "path": found.path,
        "file_system": found.file_system,
        "mount_options": found.mount_options,
        "device": found.name,
        "devices": list(found.devices),
        "model": found.model,
        "rotational": found.rotational,
        "scheduler": found.scheduler,
        "size_bytes": found.size_bytes,
        "free_bytes": space.f_bavail * space.f_frsize,
        "unsure": found.unsure,
    }


def sysctl(name: str) -> int | str | None:
    """A kernel setting, as a number where it is one."""
    path = Path("/proc/sys") / name.replace(".", "/")
    found = files.number(path)
    return found if found is not None else files.line(path)
