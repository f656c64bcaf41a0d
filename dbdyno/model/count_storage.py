"""Log and pages of a counted operation."""

from msgspec import Struct


class StorageWork(Struct, frozen=True, kw_only=True):
    """What an operation does with log and pages, by the server's own counters; None: not told."""

    log_bytes: float | None = None
    pages_hit: float | None = None
    pages_read: float | None = None  # that were not in the server's cache
    pages_dirtied: float | None = None  # how often a page was marked as changed


NOT_TOLD = StorageWork()
