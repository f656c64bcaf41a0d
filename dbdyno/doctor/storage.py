"""Findings about the storage under the data: file system, queues, how long a sync takes. Pure."""

from collections.abc import Iterable

from dbdyno.doctor.finding import MIB, HostFinding, size, tuned
from dbdyno.model.host_facts import HostFacts

NO_DEVICE = {
    "overlay": "each first write to a page copies, and the device below is unknown",
    "tmpfs": "the data is in memory: nothing is ever synced or read from a device",
    "ramfs": "the data is in memory: nothing is ever synced or read from a device",
}
NETWORK = ("9p", "afs", "ceph", "cifs", "glusterfs", "lustre", "nfs", "nfs4", "smb3", "virtiofs")
COPYING = ("bcachefs", "btrfs", "zfs")
"""File systems that write a page to a new place each time."""
UNFAIR = ("bfq", "cfq")
"""Schedulers that share a device out among processes, with waits in between."""
READ_AHEAD_BYTES_MAX = 4 * MIB
"""The most of a published study; the kernel's own is 128 kB."""
SYNC_US_SLOW = 5000.0
SYNC_US_FAST = 10.0
"""No device answers faster; memory and caches that lie do."""
STALL_US = 20_000.0
STALL_FACTOR = 20.0
FREE_SHARE_MIN, FREE_SHARE_LOW = 0.05, 0.15


def findings(facts: HostFacts) -> Iterable[HostFinding]:
    """All findings about the storage."""
    yield from _file_system(facts)
    yield from _options(facts)
    yield from _schedulers(facts)
    yield from _read_ahead(facts)
    yield from _syncs(facts)
    yield from _free(facts)
    yield from _device(facts)


def _file_system(facts: HostFacts) -> Iterable[HostFinding]:
    file_system, path = facts.data.file_system, facts.data.path
    elsewhere = ("# name a folder on a local ext4 or xfs: server.data_dir in a plan",)
    if file_system in NO_DEVICE:
        yield HostFinding(
            name="no-device",
            severity="much",
            what=f"{path} is on {file_system}",
            why=f"Not a disk: {NO_DEVICE[file_system]}. Rates of writes, and of data larger than "
            "memory, are not those of a server.",
            mend=elsewhere,
        )
    elif file_system in NETWORK or str(file_system).startswith("fuse"):
        yield HostFinding(
            name="network-storage",
            severity="much",
            what=f"{path} is on {file_system}",
            why="Each sync and each read goes through another program or host, whose load affects "
            "all writes and all data larger than memory.",
            mend=elsewhere,
        )
    elif file_system in COPYING:
        chattr = (f"chattr +C {path}   # before the data is made",)
        yield HostFinding(
            name="copy-on-write",
            severity="some",
            what=f"{path} is on {file_system}, which writes each page to a new place",
            why="Random updates fragment tables, so the same steps read more slowly later.",
            mend=chattr if file_system == "btrfs" else elsewhere,
        )


def _options(facts: HostFacts) -> Iterable[HostFinding]:
    options = (facts.data.mount_options or "").split(",")
    point = facts.data.mount_point or "MOUNT"
    if "nobarrier" in options or "barrier=0" in options:
        yield HostFinding(
            name="no-barrier",
            severity="much",
            what=f"{point} is mounted without barriers",
            why="A sync returns before the data is safe: no reliable machine commits that fast.",
            mend=(f"mount -o remount,barrier=1 {point}",),
        )
    if "sync" in options or "dirsync" in options:
        yield HostFinding(
            name="sync-mount",
            severity="much",
            what=f"{point} is mounted with sync or dirsync",
            why="Every write waits for the device, even those that servers defer.",
            mend=(f"mount -o remount,async {point}",),
        )
    if "data=journal" in options:
        yield HostFinding(
            name="data-journal",
            severity="some",
            what=f"{point} is mounted with data=journal",
            why="The file system writes all data twice: writes per operation double.",
            mend=(f"# in /etc/fstab: data=ordered for {point}, then mount it anew",),
        )
    if "discard" in options:
        yield HostFinding(
            name="discard",
            severity="some",
            what=f"{point} is mounted with discard",
            why="The file system reports each freed block to the device at once: dropped tables "
            "and recycled logs stall other writes.",
            mend=(f"mount -o remount,nodiscard {point}", f"fstrim {point}   # between plans"),
        )
    if "noatime" not in options and "relatime" not in options and options != [""]:
        yield HostFinding(
            name="access-times",
            severity="some",
            what=f"{point} is mounted without noatime or relatime",
            why="Each read of a file writes its access time: reading steps write.",
            mend=(f"mount -o remount,noatime {point}",),
        )
    elif "relatime" in options:
        yield HostFinding(
            name="access-times",
            severity="know",
            what=f"{point} is mounted with relatime",
            why="The first read of a file after a write, or in a day, writes its access time.",
            mend=(f"mount -o remount,noatime {point}",),
        )


def _schedulers(facts: HostFacts) -> Iterable[HostFinding]:
    for layer in facts.data.layers:
        if layer.scheduler not in UNFAIR:
            continue
        others = [name for name in layer.schedulers or () if name not in UNFAIR]
        wanted = "none" if "none" in others and not layer.rotational else "mq-deadline"
        device = layer.device
        yield HostFinding(
            name="scheduler",
            severity="some",
            what=f"the scheduler of {device} is {layer.scheduler}",
            why="The scheduler makes processes wait for each other, depending on their number: "
            "checkpoints and commits get other shares of the device than on published hosts.",
            **tuned(facts, "/sys", f"echo {wanted} > /sys/block/{device}/queue/scheduler"),
        )


def _read_ahead(facts: HostFacts) -> Iterable[HostFinding]:
    # That of the topmost device counts: it is the one that the file system is on.
    topmost = facts.data.layers[0] if facts.data.layers else None
    if topmost is None or topmost.read_ahead_bytes is None:
        return
    device, ahead = topmost.device, topmost.read_ahead_bytes
    file = f"/sys/block/{device}/queue/read_ahead_kb"
    if ahead > READ_AHEAD_BYTES_MAX:
        yield HostFinding(
            name="read-ahead",
            severity="some",
            what=f"read-ahead of {device} is {size(ahead)}",
            why="If several sessions read nearly in order, the kernel reads much that nobody "
            "wants: more reads per operation for data larger than memory.",
            **tuned(facts, "/sys", f"echo 128 > {file}"),
        )
    elif ahead == 0:
        yield HostFinding(
            name="read-ahead",
            severity="some",
            what=f"{device} reads nothing ahead",
            why="Scans and index builds wait for each page in turn.",
            **tuned(facts, "/sys", f"echo 128 > {file}"),
        )


def _syncs(facts: HostFacts) -> Iterable[HostFinding]:
    sync = facts.sync
    if not sync:
        return
    p50, most = sync.p50_us, sync.max_us
    times = (
        f"a synced write of {sync.bytes // 1024} kB takes {p50:,.0f} us (median of "
        f"{sync.count}), p99 {sync.p99_us:,.0f} us, at most {most:,.0f} us"
    )
    other = "the device is the cause: choose another one for the data (--data-dir, server.data_dir)"
    if p50 < SYNC_US_FAST:
        yield HostFinding(
            name="sync-fast",
            severity="some",
            what=times,
            why="No device is that fast: something below answers before the data is safe, and "
            "commits cost less than on other hosts.",
            barred=other,
        )
    elif p50 > SYNC_US_SLOW:
        yield HostFinding(
            name="sync-slow",
            severity="much",
            what=times,
            why="Steps that commit to the disk measure this device, and hardly the server.",
            barred=other,
        )
    elif most > max(STALL_US, STALL_FACTOR * p50):
        yield HostFinding(
            name="sync-stalls",
            severity="some",
            what=times,
            why="Commits stall now and then in every arm: the longest responses are the device's, "
            "and short windows differ by whether they contain one.",
            barred=other,
        )
    else:
        yield HostFinding(
            name="sync",
            severity="know",
            what=times,
            why="The most that one connection can commit if each commit waits for the disk: "
            f"about {1_000_000 / p50:,.0f}/s.",
        )


def _free(facts: HostFacts) -> Iterable[HostFinding]:
    free, total = facts.data.free_bytes, facts.data.total_bytes
    if free is None or not total or free >= total * FREE_SHARE_LOW:
        return
    yield HostFinding(
        name="disk-full",
        severity="much" if free < total * FREE_SHARE_MIN else "some",
        what=f"{size(free)} of {size(total)} are free under {facts.data.path}",
        why="Full file systems fragment files and full devices write slowly; presets size the log "
        "by the free space, so checkpoints come more often.",
        mend=("dyno golden list   # copies that may go; dyno golden remove KEY",),
    )


def _device(facts: HostFacts) -> Iterable[HostFinding]:
    data = facts.data
    if data.rotational and data.model:
        yield HostFinding(
            name="rotating",
            severity="know",
            what=f"{data.device} ({data.model}) is a rotating disk",
            why="Random reads take milliseconds: steps larger than memory measure the disk.",
        )
    caches = {layer.device: layer.write_cache for layer in data.layers}
    volatile = [name for name in data.devices if caches.get(name) == "write back"]
    if volatile:
        yield HostFinding(
            name="write-cache",
            severity="know",
            what=f"{', '.join(volatile)} has a write cache that is flushed at each sync",
            why="Syncs cost a flush; a device with `write through` (a cache with a battery) "
            "commits faster, so results of the two do not compare.",
        )
    if data.unsure and data.file_system not in NO_DEVICE:
        yield HostFinding(
            name="device-unknown",
            severity="know",
            what=f"the device under {data.path} is uncertain: {data.unsure}",
            why="Reads and writes of the device may be counted only in part.",
        )
