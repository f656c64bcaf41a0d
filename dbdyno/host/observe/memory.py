"""Facts of memory: huge pages, transparent ones, what is free, swap."""

from __future__ import annotations

from msgspec.structs import replace

from dbdyno.host.observe import procfs
from dbdyno.host.observe.reader import Reader
from dbdyno.model.host_facts import HostFacts, HugePagePool, Memory, TransparentHugePages

THP = "/sys/kernel/mm/transparent_hugepage"


def with_memory(facts: HostFacts, reader: Reader) -> HostFacts:
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
