"""Findings about who else is here: other load, other servers, other machines, limits. Pure."""

from collections.abc import Iterable

from dbdyno.doctor.finding import HostFinding, percent, set_sysctl, size, sysctl
from dbdyno.model.host_facts import HostFacts

BUSY_SHARE_MAX, BUSY_SHARE_MUCH = 0.05, 0.20
"""Of all CPUs' time, while dyno does nothing."""
STEAL_SHARE_MAX, STEAL_SHARE_MUCH = 0.005, 0.02
"""A fiftieth of the time is as much as many differences that are looked for."""
NAMED_MAX = 3
OPEN_FILES_MIN = 4096
PROCESSES_MIN = 4096
SOMAXCONN_MIN = 1024
MAP_COUNT_MIN = 65_530
USER_ID_MIN = 1000
"""The first id of a person's account; those below are the system's, whose files logind leaves."""


def findings(facts: HostFacts, lab: str | None) -> Iterable[HostFinding]:
    """All findings about others; `lab`: who holds the host's lock, another one that measures."""
    yield from _lab(lab)
    yield from _steal(facts)
    yield from _load(facts)
    yield from _control_group(facts)
    yield from _servers(facts)
    yield from _limits(facts)
    yield from _login_service(facts)
    yield from _machine(facts)


def _lab(lab: str | None) -> Iterable[HostFinding]:
    if lab is not None:
        yield HostFinding(
            name="lab",
            severity="much",
            what=f"another lab measures on this host ({lab})",
            why="Two loads at once measure each other; the load below is partly the other lab's.",
            mend=("# add --wait to the command that is to measure: it begins after the other",),
        )


def _steal(facts: HostFacts) -> Iterable[HostFinding]:
    steal = None if facts.look is None else facts.look.steal_share
    if facts.look is None or steal is None or steal <= STEAL_SHARE_MAX:
        return
    yield HostFinding(
        name="steal",
        severity="much" if steal > STEAL_SHARE_MUCH else "some",
        what=f"{percent(steal)} of all CPUs' time went to other machines (steal) in "
        f"{facts.look.seconds} s",
        why="Other guests of the hypervisor take turns on these cores: all rates and response "
        "times move with their load.",
        barred="the hypervisor shares the cores; use a dedicated machine, or more blocks",
    )


def _load(facts: HostFacts) -> Iterable[HostFinding]:
    busy = None if facts.look is None else facts.look.busy_share
    if facts.look is None or busy is None or busy <= BUSY_SHARE_MAX:
        return
    processes = facts.look.processes[:NAMED_MAX]
    named = [f"{process.name} {percent(process.cpu_share)}" for process in processes]
    pids = ",".join(str(process.pid) for process in processes)
    yield HostFinding(
        name="load",
        severity="much" if busy > BUSY_SHARE_MUCH else "some",
        what=f"others use {percent(busy)} of all CPUs' time"
        + (f": {', '.join(named)} (of one CPU)" if named else ""),
        why="Others take cores, caches and memory from server and generator, more from one arm "
        "than from another.",
        # What lives shorter than the look is counted, and has no name.
        mend=(
            f"ps -o pid,user,etime,args -p {pids}   # end what is not needed" if pids else "top",
        ),
    )


def _control_group(facts: HostFacts) -> Iterable[HostFinding]:
    group = facts.control_group
    cpus, memory, pids = group.cpu_max, group.memory_max, group.pids_max
    barred = "a control group limits dyno and its servers; its owner can raise the limit"
    if isinstance(cpus, int | float):
        yield HostFinding(
            name="cpu-quota",
            severity="much",
            what=f"a control group allows {cpus:g} CPUs' time",
            why="Once the quota is used up, all threads stop until the next period, for some tens "
            "of milliseconds: first the longest responses suffer, then all rates.",
            barred=f"{barred} (docker run without --cpus, CPUQuota= of a unit)",
        )
    total = facts.memory_bytes
    if isinstance(memory, int) and (total is None or memory < total):
        yield HostFinding(
            name="memory-limit",
            severity="some",
            what=f"a control group allows {size(memory)} of memory",
            why="The page cache counts against the limit: the kernel drops cached files early, and "
            "kills a server that requests more.",
            barred=f"{barred} (docker run without --memory, MemoryMax= of a unit)",
        )
    if isinstance(pids, int) and pids < PROCESSES_MIN:
        yield HostFinding(
            name="process-limit",
            severity="some",
            what=f"a control group allows {pids:,} processes and threads",
            why="A server with a process for each connection cannot take more connections.",
            barred=f"{barred} (docker run --pids-limit, TasksMax= of a unit)",
        )


def _servers(facts: HostFacts) -> Iterable[HostFinding]:
    servers = () if facts.look is None else facts.look.servers
    if servers:
        shown = ", ".join(f"{server.name} (process {server.pid})" for server in servers[:NAMED_MAX])
        more = f" and {len(servers) - NAMED_MAX} more" if len(servers) > NAMED_MAX else ""
        pids = ",".join(str(server.pid) for server in servers)
        yield HostFinding(
            name="servers",
            severity="some",
            what=f"database servers run that belong to no plan here: {shown}{more}",
            why="Such servers hold memory, and run checkpoints, vacuums and statistics at any "
            "time.",
            mend=(f"ps -o pid,user,args -p {pids}   # then systemctl stop NAME",),
        )


def _limits(facts: HostFacts) -> Iterable[HostFinding]:
    limits = facts.limits
    files, processes = ((pair or [None])[0] for pair in (limits.open_files, limits.processes))
    if isinstance(files, int) and files < OPEN_FILES_MIN:
        yield HostFinding(
            name="open-files",
            severity="some",
            what=f"a process may open {files:,} files (ulimit -n)",
            why="Generator and MySQL need a file per connection and table: many connections fail, "
            "or the server reopens tables again and again.",
            mend=("ulimit -n 65536   # in the shell that starts dyno",),
        )
    if isinstance(processes, int) and processes < PROCESSES_MIN:
        yield HostFinding(
            name="processes",
            severity="some",
            what=f"a user may have {processes:,} processes and threads (ulimit -u)",
            why="A server with a process for each connection cannot take more connections.",
            mend=("ulimit -u 65536   # in the shell that starts dyno",),
        )
    for name, least, why in (
        (
            "net.core.somaxconn",
            SOMAXCONN_MIN,
            "If many clients connect at once, some wait for a second or are refused.",
        ),
        (
            "vm.max_map_count",
            MAP_COUNT_MIN,
            "A server with many mappings, as with another allocator or many threads, runs out of "
            "them.",
        ),
    ):
        value = sysctl(facts, name)
        if isinstance(value, int) and value < least:
            yield HostFinding(
                name=name.rpartition(".")[2].replace("_", "-"),
                severity="some",
                what=f"{name} is {value:,}",
                why=why,
                **set_sysctl(facts, **{name.replace(".", "__"): max(least, 4096)}),
            )
    disabled = sysctl(facts, "kernel.io_uring_disabled")
    if disabled in (1, 2):
        whom = "for all but a group" if disabled == 1 else "for everyone"
        yield HostFinding(
            name="io-uring",
            severity="some",
            what=f"kernel.io_uring_disabled is {disabled}: io_uring is off {whom}",
            why="PostgreSQL 18 does not start with io_method = io_uring (preset x10d).",
            **set_sysctl(facts, kernel__io_uring_disabled=0),
        )


def _login_service(facts: HostFacts) -> Iterable[HostFinding]:
    removes = facts.login_service.remove_ipc
    user = facts.user_id
    ours = user is not None and user >= USER_ID_MIN
    if not facts.login_service.running or not ours:
        return
    if str(removes).lower() not in ("no", "false", "0", "off"):
        yield HostFinding(
            name="remove-ipc",
            severity="some",
            what=f"RemoveIPC of systemd-logind is {removes or 'not set'}, and servers run as user "
            f"{user}",
            why="When the user's last session ends, PostgreSQL's shared memory and semaphores "
            "disappear under it: a long unattended plan crashes.",
            mend=(f"loginctl enable-linger {user}",),
        )


def _machine(facts: HostFacts) -> Iterable[HostFinding]:
    if facts.virtual:
        yield HostFinding(
            name="virtual",
            severity="know",
            what=f"this is a virtual machine ({facts.virtual})",
            why="Waking a core, syncs and timers go through the hypervisor: round trips at low "
            "load differ from bare metal, and from hour to hour.",
        )
    if facts.container:
        yield HostFinding(
            name="container",
            severity="know",
            what="this is a container",
            why="Others on its host share the cores and the device, invisible from here.",
        )
