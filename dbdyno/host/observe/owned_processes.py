"""All that has an owner: the server's processes or threads, the generator and the lab."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from dbdyno.host.observe import files, procfs
from dbdyno.host.observe.members import Members, PostmasterChildren, Threads
from dbdyno.host.observe.owners import EXITED, STANDBY, Ledger, Process
from dbdyno.host.observe.usage import ProcessReader, ProcessReading, counts_nanoseconds
from dbdyno.model.host_reading import OwnerCounters

GENERATOR = "generator"
LAB = "lab"
BACKGROUND = "background:"
PARALLEL = "parallel:"
"""Before the role whose connections lead parallel workers."""
SESSIONS = ("backend", "connection")
"""Kinds of what serves a connection, a process or a thread."""
OTHER_BACKEND = "backend:other"
OTHER = "other"
UNNAMED = "background"
"""The kind of a thread of which nothing is known but that it serves no connection."""


class ServerProcesses(Protocol):
    """What the sampler asks of a server (dbdyno.engine.Server has it)."""

    @property
    def threads(self) -> bool:
        """Whether the server is one process, whose threads serve its connections."""

    @property
    def postmaster_pid(self) -> int | None:
        """The pid of the server's first process; None: nothing runs."""

    @property
    def standby_pids(self) -> Iterable[int]:
        """The first processes of its standbys that run."""

    def processes(self) -> Mapping[int, str]:
        """The live processes, or threads, and their kinds: "backend", "checkpointer", "purge" …"""

    def leaders(self) -> Mapping[int, int]:
        """Parallel worker -> the backend that leads it, of those that `processes` told last."""


class Processes:
    """All processes, or threads, with an owner."""

    def __init__(
        self, server: ServerProcesses | None, roles: Mapping[int, str], lab_pid: int
    ) -> None:
        """`server`: None where its processes cannot be seen."""
        self.generator_pid: int | None = None
        self.lab_sessions: dict[int, str] = {}  # owners of server processes that the lab asks
        self.owners: dict[int, str] = {}  # of the server's members, those that have gone too
        self._server = server
        self._roles = roles
        self._lab_pid = lab_pid
        self._nanoseconds = counts_nanoseconds()
        self._ledger = Ledger()
        self._members: Members = Threads() if server and server.threads else PostmasterChildren()
        self._others: dict[int, ProcessReader] = {}  # the generator's and the lab's
        self._readers: dict[int, ProcessReader] = {}  # of the server's members
        self._kinds: dict[int, str] = {}  # of the server's members that are read
        self._leaders: dict[int, int] = {}  # of parallel workers
        self._unsettled: set[int] = set()  # seen for the first time in the last reading
        self._postmaster: tuple[int, int] | None = None  # pid and start

    @property
    def key(self) -> str:
        """The key of an event `connected` that names the member that serves the connection."""
        return self._members.key

    @property
    def cpu_source(self) -> str:
        """Where the CPU time comes from."""
        return "schedstat" if self._nanoseconds else "stat"

    def read(self) -> tuple[dict[str, OwnerCounters], int | None]:
        """Reads all of them: the owners, and the bytes of the server's memory."""
        self._find_members()  # first, as it takes longest: what ends meanwhile is counted
        account_ns = self._account_ns()
        processes = [*self._read_others()]
        server = list(self._read_members(processes))
        live_ns = sum(reading.usage.cpu_ns for reading in server)
        ended_ns = None if account_ns is None else self._members.ended_ns(account_ns, live_ns)
        self._ledger.update(processes, ended_ns)
        return self._ledger.owners(), self._members.resident_bytes(server)

    @property
    def _server_pid(self) -> int | None:
        return None if self._server is None else self._server.postmaster_pid

    def pss_bytes(self) -> int | None:
        """The server's memory, shared pages counted once; None where it cannot be read."""
        if self._postmaster is None:
            return None
        members = self._members.with_memory(self._postmaster[0], list(self._kinds))
        sizes = [self._readers[member].pss_bytes() for member in members if member in self._readers]
        known = [size for size in sizes if size is not None]
        return sum(known) if known and len(known) == len(sizes) else None

    def _account_ns(self) -> int | None:
        """CPU time of which that of the ended is a part; notices when it is another postmaster."""
        pid = self._server_pid
        text = files.record(f"/proc/{pid}/stat") if pid is not None else None
        if pid is None or not text:
            return None
        stat = procfs.process_stat(text)
        postmaster = (pid, stat.start_ticks)
        if self._postmaster not in (None, postmaster):
            self._ledger.restart()
        self._postmaster = postmaster
        return self._members.account_ns(pid, stat, nanoseconds=self._nanoseconds)

    def _find_members(self) -> None:
        """Finds those that came, and asks the server what they are.

        Asking reads each one's title, so it is done only when there are new ones, and once more at
        the reading after that: one that was just made has its parent's title. One leaves when it
        can be read no more: the kernel's list of children may miss one.
        """
        pid, server = self._server_pid, self._server
        if pid is None or server is None:
            return
        listed = self._listed((pid, *server.standby_pids))
        new = None if listed is None else listed - self._kinds.keys()
        if new or new is None or self._unsettled:
            kinds = dict.fromkeys(new or (), OTHER) if server.threads else {}
            kinds |= server.processes()
            kinds[pid] = self._members.main
            self._leaders.update(server.leaders())
            self._unsettled = kinds.keys() - self._kinds.keys()
            self._kinds.update(kinds)

    def _listed(self, pids: Iterable[int]) -> set[int] | None:
        """The members of servers with these first processes; None: the kernel has no such list."""
        listed: set[int] = set()
        for pid in pids:
            members = self._members.listed(pid)
            if members is None:
                return None
            listed |= members
        return listed

    def _read_others(self) -> list[Process]:
        """The lab's and the generator's processes."""
        own = {self._lab_pid: LAB}
        if self.generator_pid is not None:
            own[self.generator_pid] = GENERATOR
        processes = []
        for pid, owner in own.items():
            if pid not in self._others:
                self._others[pid] = ProcessReader(pid=pid, nanoseconds=self._nanoseconds)
            reading = self._others[pid].read()
            if reading is None:
                del self._others[pid]
                continue
            processes.append(Process(pid, reading.start_ticks, owner, reading.usage, child=False))
        return processes

    def _read_members(self, processes: list[Process]) -> list[ProcessReading]:
        """The readings of the server's members, which join `processes` with their owners."""
        readings = []
        for member in list(self._kinds):
            reading = self._read_one(member)
            if reading is None:
                self._forget(member)
                continue
            if self._readers[member].first_seen_at_its_end:
                self._kinds[member] = EXITED
            purpose = self._kinds[member]
            main = self._members.main_ends_apart and purpose == self._members.main
            apart = main or purpose.startswith(STANDBY)
            owner = self.owners[member] = self._owner(member)
            start = reading.start_ticks
            processes.append(Process(member, start, owner, reading.usage, child=not apart))
            readings.append(reading)
        return readings

    def _owner(self, member: int) -> str:
        if member in self.lab_sessions:
            return self.lab_sessions[member]
        role = self._roles.get(member)
        if role is not None:
            return f"role:{role}"
        purpose = self._kinds[member]
        if purpose == EXITED:
            return EXITED
        if purpose.startswith(STANDBY):
            return purpose
        led = self._roles.get(self._leaders.get(member, 0))
        if led is not None:
            return f"{PARALLEL}{led}"
        if purpose in SESSIONS:
            return OTHER_BACKEND
        return f"{BACKGROUND}{OTHER if purpose == UNNAMED else purpose}"

    def _read_one(self, member: int) -> ProcessReading | None:
        if member not in self._readers:
            # None: the list of members is of a server that has just ended.
            pid = self._server_pid
            if pid is None:
                return None
            self._readers[member] = self._members.reader(pid, member, nanoseconds=self._nanoseconds)
        return self._readers[member].read()

    def _forget(self, member: int) -> None:
        self._readers.pop(member, None)
        self._kinds.pop(member, None)
        self._leaders.pop(member, None)
        self._unsettled.discard(member)
