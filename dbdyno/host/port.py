"""Ports on which servers of the lab listen: none that the kernel may give to a client meanwhile.

A port is chosen minutes before its server starts. Until then any client of the machine, the load's
own connections among them, can be given a port of the kernel's range for clients.
"""

import errno
import random
import socket
from pathlib import Path

OF_CLIENTS = Path("/proc/sys/net/ipv4/ip_local_port_range")
"""The first and the last port that the kernel gives to clients; of IPv6, too."""
OF_SERVERS = range(10_000, 65_536)
"""Below lie those that servers have by default: 3306, 5432, 8080."""


def free(address: str, wanted: int = 0) -> int:
    """`wanted`, or a free port of an address of this host, where that is 0.

    Raises OSError where it is in use, or where this host has no such address.
    """
    first, last = map(int, OF_CLIENTS.read_text().split())
    left = [port for port in OF_SERVERS if not first <= port <= last]
    # Other labs choose at the same time. 0: the kernel's choice, where its range leaves none.
    start = random.SystemRandom().randrange(len(left) + 1)
    choices = [wanted] if wanted else [*left[start:], *left[:start], 0]
    for port in choices:
        try:
            return _bound(address, port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE or port == choices[-1]:
                raise
    raise AssertionError("the last choice is returned or raises")


def _bound(address: str, port: int) -> int:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((address, port))
        return int(probe.getsockname()[1])
