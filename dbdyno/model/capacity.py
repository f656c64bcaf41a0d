"""What a host has to offer to a server."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Capacity:
    """What a server can have of a host: presets are sized to it."""

    cores: int
    memory_bytes: int
    free_disk_bytes: int | None  # of the write-ahead log's file system; None: no limit
