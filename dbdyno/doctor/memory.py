"""Findings about memory: huge pages, transparent ones, swap, what is free. Pure."""

from collections.abc import Iterable, Sequence
from math import ceil

from msgspec.structs import astuple

from dbdyno.doctor.finding import MIB, HostFinding, MemoryNeed, set_sysctl, size, sysctl, tuned
from dbdyno.model.grouping import grouped
from dbdyno.model.host_facts import HostFacts

THP = "/sys/kernel/mm/transparent_hugepage"
SHARED_PER_BUFFERS = 1.025
SHARED_FIXED_BYTES = 112 * MIB
"""PostgreSQL's shared memory beside its buffers: headers, hash table, locks, logs, sessions.

Measured with `postgres -C shared_memory_size` of 15.x: 2.1 to 2.5 % of 1 to 100 GB and 50 MB, 20 MB
more for each 500 connections; enough for 1,000 of them, with some pages to spare.
"""
SWAPPINESS_MAX = 10
AVAILABLE_SHARE_MIN = 0.5
IDLE_POOL_SHARE_MAX = 0.1
DIRTY_BACKGROUND_BYTES_MAX = 1024 * MIB


def pages_needed(need: MemoryNeed, page_bytes: int) -> int:
    """How many huge pages hold a server's shared memory: enough, by less than 1 % of 8 GB."""
    return ceil((need.bytes * SHARED_PER_BUFFERS + SHARED_FIXED_BYTES) / page_bytes)


def findings(facts: HostFacts, needs: Sequence[MemoryNeed]) -> Iterable[HostFinding]:
    """All findings about memory; `needs` are those of servers that are not up yet."""
    yield from _swapping(facts)
    yield from _transparent(facts)
    yield from _needed_pages(facts, needs)
    yield from _locked(facts, needs)
    yield from _idle_pages(facts, needs)
    yield from _swappiness(facts)
    yield from _available(facts, needs)
    yield from _dirty(facts)
    yield from _overcommit(facts)


def _swapping(facts: HostFacts) -> Iterable[HostFinding]:
    used = facts.swap_used_bytes or 0
    if facts.look is not None and any(pages := astuple(facts.look.swap_pages)):
        yield HostFinding(
            name="swapping",
            severity="much",
            what=f"the host swaps: {pages[0] or 0:,.0f} pages in, {pages[1] or 0:,.0f} out "
            f"in {facts.look.seconds} s",
            why="A server waits for its own memory; dyno warns of every step in which the host "
            "swaps.",
            mend=("swapoff -a",),
        )
    elif used:
        free = facts.memory.available_bytes
        fits = free is None or free > used
        yield HostFinding(
            name="swap-used",
            severity="some",
            what=f"{size(used)} of memory is in swap",
            why="Pages that return during a window come from the disk, in one arm and not in the "
            "other.",
            mend=("swapoff -a && swapon -a",) if fits else (),
            barred=None if fits else "there is less memory free than is in swap; end something",
        )


def _transparent(facts: HostFacts) -> Iterable[HostFinding]:
    if facts.thp.enabled != "always":
        return
    defrag = facts.thp.defrag
    yield HostFinding(
        name="transparent-huge-pages",
        severity="much" if defrag == "always" else "some",
        what=f"transparent huge pages: enabled = always, defrag = {defrag}",
        why="Memory moves together in the background and, with defrag = always, in page faults: "
        "responses stall at times, and memory per connection differs from run to run.",
        **tuned(facts, "/sys", f"echo never > {THP}/enabled", f"echo never > {THP}/defrag"),
    )


def _needed_pages(facts: HostFacts, needs: Sequence[MemoryNeed]) -> Iterable[HostFinding]:
    """One finding for all servers, as they are up one after the other; the largest need counts."""
    pool = facts.huge_page_pool
    page, total, free = pool.size_bytes, pool.total, pool.free
    if not page or total is None or free is None or not needs:
        return
    most = max(pages_needed(need, page) for need in needs)
    need_words = f"{_by_size(needs, page)} huge pages of {size(page)}; {free:,} are free"
    memory = facts.memory_bytes
    if free >= most:
        yield HostFinding(
            name="huge-pages",
            severity="know",
            what=need_words,
            why="Enough for the servers: page tables cost no memory and few misses.",
        )
        return
    too_many = memory is not None and most * page >= memory
    yield HostFinding(
        name="huge-pages-missing",
        severity="some",
        what=need_words,
        why="Without huge pages, each session maps the buffers by pages of 4 kB: more CPU per "
        "operation and memory per connection, most with many connections and large buffers.",
        mend=() if too_many else (f"sysctl -w vm.nr_hugepages={total - free + most}",),
        barred=f"{most:,} are more than the memory, {size(memory or 0)}" if too_many else None,
    )


def _by_size(needs: Sequence[MemoryNeed], page: int) -> str:
    """`pg17, pg18: 8.0 GiB of buffers need about 4,255`: servers of one size together."""
    by_bytes = grouped((need.bytes, need) for need in needs)
    parts = [
        f"{', '.join(need.who for need in alike)}: {size(count)} of buffers need about "
        f"{pages_needed(alike[0], page):,}"
        for count, alike in sorted(by_bytes.items())
    ]
    return "; ".join(parts)


def _locked(facts: HostFacts, needs: Sequence[MemoryNeed]) -> Iterable[HostFinding]:
    limit = (facts.limits.locked_memory_bytes or [None])[0]
    needed = max((need.bytes for need in needs if need.locks), default=0)
    if isinstance(limit, int) and limit < needed:
        yield HostFinding(
            name="locked-memory",
            severity="some",
            what=f"{size(limit)} of memory may be locked (ulimit -l), {size(needed)} are needed",
            why="MySQL's huge pages count against this limit; beyond it MySQL takes small ones.",
            mend=("ulimit -l unlimited   # in the shell that starts dyno",),
        )


def _idle_pages(facts: HostFacts, needs: Sequence[MemoryNeed]) -> Iterable[HostFinding]:
    pool, memory = facts.huge_page_pool, facts.memory_bytes
    page, total, free = pool.size_bytes, pool.total or 0, pool.free
    if not page or not free or not memory:
        return
    spare = free - max((pages_needed(need, page) for need in needs), default=0)
    if spare * page > memory * IDLE_POOL_SHARE_MAX:
        yield HostFinding(
            name="huge-pages-idle",
            severity="some",
            what=f"{spare:,} free huge pages ({size(spare * page)}) are of no use"
            + ("" if needs else " unless a server takes them"),
            why="Nothing else can use that memory: the page cache is smaller, and a workload meant "
            "to be cached reads from the device.",
            **set_sysctl(facts, vm__nr_hugepages=total - spare),
        )


def _swappiness(facts: HostFacts) -> Iterable[HostFinding]:
    value = sysctl(facts, "vm.swappiness")
    if not facts.swap_bytes or not isinstance(value, int) or value <= SWAPPINESS_MAX:
        return
    yield HostFinding(
        name="swappiness",
        severity="some",
        what=f"vm.swappiness is {value}, with {size(facts.swap_bytes)} of swap",
        why="A large page cache, as after scans and fills, pushes out a server's idle memory; the "
        "published studies ran with 1.",
        **set_sysctl(facts, vm__swappiness=1),
    )


def _available(facts: HostFacts, needs: Sequence[MemoryNeed]) -> Iterable[HostFinding]:
    memory, available = facts.memory_bytes, facts.memory.available_bytes
    if not memory or available is None:
        return
    pool = (facts.huge_page_pool.total or 0) * (facts.huge_page_pool.size_bytes or 0)
    largest = max((need.bytes for need in needs), default=0)
    # What is set aside as huge pages is not available, and is there for the servers all the same.
    short = available + pool < largest
    if short or available + pool < memory * AVAILABLE_SHARE_MIN:
        request = f"; a server will request {size(largest)}" if short else ""
        yield HostFinding(
            name="memory-in-use",
            severity="much" if short else "some",
            what=f"{size(available)} of {size(memory)} of memory are available{request}",
            why="Presets use the whole memory: whatever others hold, the page cache lacks, and "
            "then the host swaps.",
            mend=("ps -eo pid,rss,comm --sort=-rss | head",),
        )


def _dirty(facts: HostFacts) -> Iterable[HostFinding]:
    unwritten = sysctl(facts, "vm.dirty_background_bytes")
    ratio = sysctl(facts, "vm.dirty_background_ratio")
    available = facts.memory.available_bytes
    if not unwritten and isinstance(ratio, int) and available:
        unwritten = available * ratio // 100
    if not isinstance(unwritten, int) or unwritten <= DIRTY_BACKGROUND_BYTES_MAX:
        return
    named = "vm.dirty_background_bytes" if not ratio else f"vm.dirty_background_ratio = {ratio}"
    yield HostFinding(
        name="dirty-background",
        severity="some",
        what=f"{size(unwritten)} may be unwritten before the kernel begins to write ({named})",
        why="Writes of a step reach the device in later steps, all at once: writing steps stall, "
        "and their device writes per operation belong to another step.",
        **set_sysctl(facts, vm__dirty_background_bytes=256 * MIB, vm__dirty_bytes=1024 * MIB),
    )


def _overcommit(facts: HostFacts) -> Iterable[HostFinding]:
    limit, used = facts.memory.commit_limit_bytes, facts.memory.committed_bytes
    if sysctl(facts, "vm.overcommit_memory") == 2 and limit is not None and used is not None:
        yield HostFinding(
            name="overcommit",
            severity="know",
            what=f"vm.overcommit_memory is 2: {size(max(limit - used, 0))} can still be reserved",
            why="A server that requests more does not start, or an operation fails for lack of "
            "memory, while memory is free.",
        )
