"""Several hosts on this machine, each reached by ssh: for tests of labs of more than one host.

A host is a set of namespaces: a network of its own, joined to the others and to this machine by a
bridge; processes, a name, /run, /tmp, /dev/shm and a home that no other sees; and a clock that is
off by a known amount. Programs and caches it shares with this machine. Its first process is sshd,
and whatever runs there ends with it. Its process ids mean nothing here (they lie beyond this
machine's, so that a signal to one reaches nobody): `Lab.processes` finds them.

    def test_something(hosts: Lab) -> None:
        assert hosts.run("h1", "hostname").strip() == "h1"

`hosts` (conftest.py) gives each test four hosts that run, joined, with no process of the last test.
`dyno` in a host's PATH keeps its lock, register and data in that host's folder (own_lab.py).
"""

import itertools
import os
import shlex
import signal
import string
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from hosts_network import (
    FOLDERS,
    OURS,
    alone,
    clear,
    clear_leftovers,
    free_network,
    ip,
    make_bridge,
    make_network,
)
from one_host import (
    SSH_PORT,
    Host,
    Running,
    answers,
    command_line,
    furnish,
    make_keys,
    make_namespaces,
    namespace_made_by,
    processes_in,
    refusal,
    wait_until,
)

CLOCK_OFFSETS_S = {"h1": 1_000, "h2": 30_000, "h3": 500_000, "h4": 0}
"""By how much each clock is ahead of this machine's."""
PROCESS_IDS = 100_000
"""The ids of each host's processes begin so far after those of the last."""
SSH = f"""
Host {{name}}
    HostName {{address}}
    Port {SSH_PORT}
    HostKeyAlias {{name}}
"""
SSH_ALL = """
Host *
    User root
    IdentityFile {key}
    IdentitiesOnly yes
    IdentityAgent none
    UserKnownHostsFile {known_hosts}
    GlobalKnownHostsFile /dev/null
    StrictHostKeyChecking yes
"""


@dataclass(kw_only=True)
class Lab:
    """The hosts that run, and how they are reached."""

    folder: Path
    bridge: str
    address: str  # of this machine, for the hosts
    hosts: dict[str, Host]
    ssh: str = ""
    """The ssh command (what DYNO_SSH says): `{ssh} h1 hostname`."""
    _running: dict[str, Running] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def run(self, host: str, *words: str | Path, check: bool = True, timeout_s: float = 30) -> str:
        """What a command prints there, by ssh. Raises CalledProcessError where it fails."""
        done = subprocess.run(
            self.command(host, *words),
            check=False, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=timeout_s,
        )  # fmt: skip
        if check and done.returncode:
            sys.stderr.write(done.stderr)
            done.check_returncode()
        return done.stdout

    def command(self, host: str, *words: str | Path) -> list[str]:
        """The command line that runs these words there."""
        command = shlex.join(map(str, words))
        return [*shlex.split(self.ssh), "-o", "BatchMode=yes", host, command]

    def inside(self, host: str, *words: str | Path) -> str:
        """What a command prints there, without ssh and network: in a few milliseconds."""
        found = processes_in(self._running[host].namespace)
        first = next(str(pid) for pid, inside in found.items() if inside == 1)
        command = ["nsenter", "--target", first, "--all", *map(str, words)]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout

    def cut(self, host: str) -> None:
        """Pulls the host's cable; connections stay, as nobody is told."""
        ip("link", "set", self.hosts[host].link, "down")

    def join(self, host: str) -> None:
        """Puts the cable back."""
        ip("link", "set", self.hosts[host].link, "up")

    def processes(self, host: str, word: str = "") -> list[int]:
        """The ids *here* of the processes there whose command line has `word`; not its first."""
        found = processes_in(self._running[host].namespace)
        return [pid for pid, inside in found.items() if inside != 1 and word in command_line(pid)]

    def kill(self, host: str, word: str, number: signal.Signals = signal.SIGKILL) -> int:
        """Sends a signal to the processes there whose command line has `word`; how many."""
        found = self.processes(host, word)
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        return len(found)

    def ssh_by(self, key: str) -> str:
        """An ssh command that reaches the hosts; with `stranger_key` no host lets it in."""
        path = self.folder / "ssh" / f"config-{next(self._numbers)}"
        hosts = [SSH.format(name=host.name, address=host.address) for host in self.hosts.values()]
        everywhere = SSH_ALL.format(key=path.parent / key, known_hosts=path.parent / "known_hosts")
        path.write_text("".join(hosts) + everywhere)
        return f"ssh -F {path}"

    def settle(self) -> None:
        """Makes all hosts run and joined, with no process but their first, as at the start."""
        for name in self.hosts:
            wait_until(lambda n=name: not self.kill(n, ""), "a process does not end")
            self.join(name)

    def start(self) -> None:
        """Makes keys, networks and hosts, and waits for each sshd."""
        make_keys([self.folder / "ssh" / name for name in ("user_key", "stranger_key")])
        make_keys([host.folder / "host_key" for host in self.hosts.values()])
        known = [
            f"{host.name} {(host.folder / 'host_key.pub').read_text()}"
            for host in self.hosts.values()
        ]
        (self.folder / "ssh" / "known_hosts").write_text("".join(known))
        self.ssh = self.ssh_by("user_key")
        for host in self.hosts.values():
            furnish(host, self.hosts.values(), user_key=self.folder / "ssh" / "user_key")
            make_network(host.link, host.address, bridge=self.bridge)
        self._begin(self.hosts.values())

    def end(self) -> None:
        """Ends all that runs on the hosts, and removes what was made for them."""
        while self._running:
            self._running.popitem()[1].end()
        clear(self.bridge)

    def _begin(self, hosts: Iterable[Host]) -> None:
        makers = {host.name: make_namespaces(host, self.hosts.values()) for host in hosts}
        for name, maker in makers.items():
            self._running[name] = Running(maker, namespace_made_by(maker))
        for name in makers:
            address, said = self.hosts[name].address, self.hosts[name].folder / "sshd.log"
            wait_until(lambda a=address: answers(a), lambda s=said: s.read_text())
            wait_until(lambda n=name: not self.processes(n), "sshd keeps a connection")


@pytest.fixture(name="hosts_lab", scope="session")
def _hosts_lab() -> Iterator[Lab]:
    """The hosts of this process."""
    if why := refusal():
        pytest.skip(why)
    with started() as lab:
        yield lab


@pytest.fixture(name="hosts")
def _hosts(hosts_lab: Lab) -> Iterator[Lab]:
    """The same for one test, after which nothing of it runs there; its files stay."""
    yield hosts_lab
    hosts_lab.settle()


@contextmanager
def started(clock_offsets_s: Mapping[str, int] = CLOCK_OFFSETS_S) -> Iterator[Lab]:
    """Hosts of these names, which are `h` and a digit, and clocks; they are gone afterwards."""
    with alone():
        clear_leftovers()
        lab = make_lab(clock_offsets_s)
    OURS.add(lab.bridge)
    try:
        lab.start()
        yield lab
    finally:
        lab.end()
        OURS.remove(lab.bridge)


def make_lab(clock_offsets_s: Mapping[str, int]) -> Lab:
    """The folders of a lab, and its bridge with the address of this machine."""
    letter = next(x for x in string.ascii_lowercase if f"dyno{os.getpid()}{x}" not in OURS)
    bridge, folder = f"dyno{os.getpid()}{letter}", FOLDERS / f"dyno-hosts-{os.getpid()}{letter}"
    network = free_network()
    hosts = {
        name: Host(
            name=name,
            address=str(network[10 + number]),
            folder=folder / name,
            clock_offset_s=offset_s,
            process_ids=number * PROCESS_IDS,
            link=bridge + name,
        )
        for number, (name, offset_s) in enumerate(clock_offsets_s.items(), start=1)
    }
    for path in (folder, folder / "ssh", *(host.folder for host in hosts.values())):
        path.mkdir(mode=0o755)
    make_bridge(bridge, str(network[1]))
    return Lab(folder=folder, bridge=bridge, address=str(network[1]), hosts=hosts)
