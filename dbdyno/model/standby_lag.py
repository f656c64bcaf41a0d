"""How far a standby is behind at a moment: a line of lag.jsonl (docs/results.md)."""

from msgspec import Struct


class StandbyLag(Struct, kw_only=True, frozen=True):
    """Both amounts are None where nothing is streamed to the standby at that moment."""

    mono_ns: int
    standby: str  # its name
    seconds: float | None  # since the commit that it replayed last
    bytes: int | None  # of WAL that it has not replayed yet
