"""Made-up facts of a host, as host.json has them: one on which nothing disturbs."""

from copy import deepcopy
from typing import Any

import msgspec

from dbdyno.model import Json
from dbdyno.model.host_facts import HostFacts

GIB = 1 << 30


QUIET: Json = {
    "cpu": {"cpus": 16, "cores": 16, "governor": "performance", "smt": False, "numa_nodes": 1},
    "memory_bytes": 64 * GIB,
    "memory": {
        "free_bytes": 60 * GIB,
        "available_bytes": 62 * GIB,
        "commit_limit_bytes": 32 * GIB,
        "committed_bytes": GIB,
    },
    "swap_bytes": 0,
    "swap_used_bytes": 0,
    "thp": {"enabled": "madvise", "defrag": "madvise", "shmem_enabled": "never"},
    "huge_pages": 0,
    "huge_page_pool": {"total": 0, "free": 0, "reserved": 0, "surplus": 0, "size_bytes": 2 << 20},
    "kernel": "6.8.0-45-generic",
    "user_id": 0,
    "virtual": None,
    "container": False,
    "read_only": [],
    "frequency": {"driver": "intel_pstate", "turbo": False, "turbo_file": None, "throttled": 0},
    "processors": {
        "online": "0-15",
        "offline": "",
        "isolated": "",
        "allowed": "0-15",
        "smt_control": "off",
        "siblings": [],
    },
    "mitigations": {"meltdown": "Not affected"},
    "limits": {
        "open_files": [65536, 65536],
        "locked_memory_bytes": [8 << 20, 8 << 20],
        "processes": ["unlimited", "unlimited"],
    },
    "control_group": {
        "version": 2,
        "cpu_max": "unlimited",
        "memory_max": "unlimited",
        "pids_max": "unlimited",
    },
    "login_service": {"running": True, "remove_ipc": "no"},
    "data": {
        "path": "/data",
        "file_system": "ext4",
        "mount_point": "/data",
        "mount_options": "rw,noatime",
        "device": "nvme0n1",
        "devices": ["nvme0n1"],
        "model": "Samsung SSD 990 PRO 2TB",
        "rotational": False,
        "free_bytes": 1500 * GIB,
        "total_bytes": 1800 * GIB,
        "unsure": None,
        "layers": [
            {
                "device": "nvme0n1",
                "scheduler": "none",
                "schedulers": ["none", "mq-deadline", "bfq"],
                "read_ahead_bytes": 128 << 10,
                "rotational": False,
                "write_cache": "write through",
            }
        ],
    },
    "sysctl": {
        "kernel.io_uring_disabled": 0,
        "kernel.nmi_watchdog": 0,
        "kernel.numa_balancing": 0,
        "kernel.sched_autogroup_enabled": 0,
        "net.core.somaxconn": 4096,
        "vm.dirty_background_bytes": 256 << 20,
        "vm.dirty_background_ratio": 0,
        "vm.max_map_count": 65530,
        "vm.overcommit_memory": 0,
        "vm.swappiness": 60,
        "vm.zone_reclaim_mode": 0,
    },
    "sync": None,
    "look": {
        "seconds": 1.0,
        "busy_share": 0.004,
        "steal_share": 0.0,
        "swap_pages": {"in": 0, "out": 0},
        "processes": [],
        "servers": [],
    },
    "clock_source": "tsc",
    "clock": {"available": ["tsc", "hpet"], "read_ns": 31.0},
    "unread": {},
}
"""A machine of its own, set up for measuring: the doctor finds nothing at all."""


def quiet_host() -> HostFacts:
    """The facts of a host on which nothing disturbs."""
    return changed()


def changed(*changes: tuple[str, Any]) -> HostFacts:
    """The quiet host with facts changed, each named by its keys with slashes between."""
    facts = deepcopy(QUIET)
    for path, value in changes:
        *above, key = path.split("/")
        part = facts
        for name in above:
            part = part[int(name)] if isinstance(part, list) else part[name]
        part[key] = value
    return msgspec.convert(facts, HostFacts)
