"""Facts of memory: huge pages, transparent ones, what is free, swap."""

from __future__ import annotations

from dbdyno.host.observe import procfs
from dbdyno.host.observe.reader import Reader
from dbdyno.model import Json

THP = "/sys/kernel/mm/transparent_hugepage"
POOL = {"total": "Total", "free": "Free", "reserved": "Rsvd", "surplus": "Surp"}


def collect(reader: Reader) -> Json:
    """The keys of host.json that tell of memory (docs/results.md)."""
    memory = procfs.meminfo(reader.text("memory_bytes", "/proc/meminfo") or "")
    swap, unused = memory.get("SwapTotal"), memory.get("SwapFree")
    return {
        "memory_bytes": memory.get("MemTotal"),
        "memory": {
            "free_bytes": memory.get("MemFree"),
            "available_bytes": memory.get("MemAvailable"),
            "commit_limit_bytes": memory.get("CommitLimit"),
            "committed_bytes": memory.get("Committed_AS"),
        },
        "swap_bytes": swap,
        "swap_used_bytes": None if swap is None or unused is None else swap - unused,
        "thp": {
            key: reader.chosen(f"thp.{key}", f"{THP}/{key}")
            for key in ("enabled", "defrag", "shmem_enabled")
        },
        "huge_pages": memory.get("HugePages_Total"),
        "huge_page_pool": {
            **{key: memory.get(f"HugePages_{name}") for key, name in POOL.items()},
            "size_bytes": memory.get("Hugepagesize"),
        },
    }
