"""How large a server's own cache and its logs may become."""

from typing import Protocol


class Footprint(Protocol):
    """How large a server's own cache and its logs may become, by its settings.

    A size that is none raises PlanError where it is asked for.
    """

    @property
    def cache_setting(self) -> str:
        """The setting that says how large its own cache is."""

    @property
    def cache_bytes(self) -> int:
        """The server's own cache."""

    @property
    def huge_bytes(self) -> int:
        """The memory that it can keep in huge pages; 0 if it would not use them."""

    @property
    def huge_locked(self) -> bool:
        """Whether it locks them in memory."""

    @property
    def log_setting(self) -> str:
        """The setting that says how large its log may become."""

    def log_bytes(self, tables_bytes: int, *, writes: bool) -> int:
        """The server's logs with tables of so many bytes; `writes`: more than these are."""
