"""The network of hosts on this machine, and what is left of those of dead processes."""

import fcntl
import ipaddress
import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dbdyno.host import process

FOLDERS = Path("/var/tmp")
"""Where labs lie: on a disk, with names short enough for sockets, in no folder of a host's own."""
LEFT = re.compile(r"(?:dyno-hosts-|dyno)(\d+)([a-z])(?:h\d)?")
"""The folder, bridge, links and namespaces of the lab of a process."""
OURS: set[str] = set()
"""The labs of this process, by their bridge."""
NETWORK_NAMES = Path("/run/netns")
NETWORKS = ipaddress.IPv4Network("10.128.0.0/9")
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@contextmanager
def alone() -> Iterator[None]:
    """While no other process looks for leftovers or a network."""
    with (FOLDERS / "dyno-hosts.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def free_network() -> ipaddress.IPv4Network:
    """A network that this machine has no route to yet."""
    routes = json.loads(ip("-json", "-4", "route", "show"))
    taken = [
        ipaddress.IPv4Network(route["dst"], strict=False)
        for route in routes
        if route["dst"] != "default"
    ]
    size = 256
    count = NETWORKS.num_addresses // size
    for number in range(os.getpid(), os.getpid() + count):
        network = ipaddress.IPv4Network((int(NETWORKS[0]) + number % count * size, 24))
        if not any(network.overlaps(other) for other in taken):
            return network
    raise AssertionError(f"no network of {NETWORKS} is free")


def make_bridge(name: str, address: str) -> None:
    """Makes what joins the hosts, with an address of this machine."""
    ip("link", "add", name, "address", hardware_address(address), "type", "bridge")
    ip("address", "add", f"{address}/24", "dev", name)
    ip("link", "set", name, "up")


def hardware_address(address: str) -> str:
    """Always the same for an address: others know it when a host starts again."""
    numbers = ipaddress.IPv4Address(address).packed
    return ":".join(f"{number:02x}" for number in (2, 0, *numbers))


def make_network(name: str, address: str, *, bridge: str) -> None:
    """Makes the network of a host: loopback, and `eth0`."""
    ip("netns", "add", name)
    peer = ["peer", "name", "eth0", "address", hardware_address(address), "netns", name]
    ip("link", "add", name, "type", "veth", *peer)
    ip("link", "set", name, "master", bridge, "up")
    inside = f"link set lo up\naddress add {address}/24 dev eth0\nlink set eth0 up\n"
    ip("-netns", name, "-batch", "-", text=inside)


def clear_leftovers() -> None:
    """Removes what labs of processes that are gone left behind."""
    names = [path.name for path in (*FOLDERS.iterdir(), *NETWORK_NAMES.glob("*"))]
    names += [link["ifname"] for link in json.loads(ip("-json", "link", "show"))]
    for pid, letter in {found.groups() for name in names if (found := LEFT.fullmatch(name))}:
        bridge = f"dyno{pid}{letter}"
        gone = process.start_ticks(int(pid)) is None
        if gone or (int(pid) == os.getpid() and bridge not in OURS):
            clear(bridge)


def clear(bridge: str) -> None:
    """Removes the networks and the folder of a lab, as far as they are there."""
    networks = [path.name for path in NETWORK_NAMES.glob(f"{bridge}h*")]
    for pid in (pid for name in networks for pid in ip("netns", "pids", name).split()):
        with suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)
    for link in json.loads(ip("-json", "link", "show")):  # before the other ends go in their time
        if link["ifname"].startswith(bridge):
            ip("link", "delete", link["ifname"])
    for name in networks:
        ip("netns", "delete", name)
    shutil.rmtree(FOLDERS / bridge.replace("dyno", "dyno-hosts-"), ignore_errors=True)


def ip(*words: str, text: str | None = None) -> str:
    """What `ip` prints."""
    done = subprocess.run(
        [program("ip"), *words], check=False, input=text, capture_output=True, text=True
    )
    assert done.returncode == 0, f"ip {' '.join(words)}: {done.stderr}"
    return done.stdout


def program(name: str) -> str | None:
    """Where a program of the system is, also where PATH leaves out those of root."""
    return shutil.which(name, path=SYSTEM_PATH)
