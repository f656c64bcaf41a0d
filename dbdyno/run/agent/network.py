"""The network between a generator and its server: round trips, and bytes of the interface."""

import contextlib
import fcntl
import socket
import struct
import time
from pathlib import Path

from dbdyno.run.driver.interface import NetworkReading

TRIPS = 3
"""Few, as MySQL shuts out a host of which many connections say nothing (max_connect_errors)."""
TRIP_S_MAX = 5.0
SIOCGIFADDR = 0x8915
"""Asks for an interface's IPv4 address (netdevice(7))."""


def reading(address: str, port: int | None) -> NetworkReading:
    """The round trip to a server (`port` None: not measured), and what the interface has carried.

    None where the server does not answer, or the interface is not known.
    """
    sent_bytes, received_bytes = interface_bytes(address)
    trip_us = None if port is None else round_trip_us(address, port)
    return NetworkReading(trip_us, sent_bytes, received_bytes)


def round_trip_us(address: str, port: int) -> float | None:
    """The shortest time in which a connection to the server came up: one round trip."""
    trips_us = []
    for _ in range(TRIPS):
        begun_ns = time.monotonic_ns()
        try:
            with socket.create_connection((address, port), timeout=TRIP_S_MAX):
                trips_us.append((time.monotonic_ns() - begun_ns) / 1e3)
        except OSError:
            return None
    return min(trips_us)


def interface_bytes(address: str) -> tuple[int | None, int | None]:
    """The bytes that the interface towards an address has sent and received since it came up."""
    name = interface(address)
    folder = Path("/sys/class/net") / (name or "") / "statistics"
    try:
        counts = [int((folder / f"{way}_bytes").read_text()) for way in ("tx", "rx")]
    except (OSError, ValueError):
        return None, None
    return counts[0], counts[1]


def interface(address: str) -> str | None:
    """The interface by which an address is reached; None where nothing says it.

    None of one of this host's own, too: nothing that goes there leaves the host.
    """
    own = own_address(address)
    if own is None or own == address:
        return None
    return next((name for _, name in socket.if_nameindex() if _address_of(name) == own), None)


def own_address(address: str) -> str | None:
    """The address from which another one is reached; sends nothing."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((address, 9))
        own: str = probe.getsockname()[0]
        return own
    return None


def _address_of(name: str) -> str | None:
    """The first IPv4 address of an interface."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        request = struct.pack("256s", name.encode()[:15])
        return socket.inet_ntoa(fcntl.ioctl(probe.fileno(), SIOCGIFADDR, request)[20:24])
    return None
