"""The TCP port of an arm's server: a free one of the loopback, or the one that the plan names."""

from __future__ import annotations

import socket

from dbdyno.model.error import ServerError


def choose(arm: str, wanted: int) -> int:
    """`wanted`, or a free port where that is 0. Raises ServerError where it is in use."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", wanted))
        except OSError as error:
            raise ServerError(
                f"arms.{arm}.settings.port: port {wanted} is in use: choose another, "
                "or drop the key"
            ) from error
        return int(probe.getsockname()[1])
