"""What the load generator can do on a host: a line of generator.jsonl (docs/results.md)."""

from msgspec import Struct

from dbdyno.model.events import Thread


class CeilingLoad(Struct, kw_only=True, frozen=True):
    """A closed loop of statements against the null server."""

    protocol: str = "postgres"  # older results do not say it
    connections: int
    threads: tuple[Thread, ...]
    seconds: float = 0.0  # of the window
    operations: int = 0
    per_s: float
    cpu_us_per_operation: float | None


class Ceiling(Struct, kw_only=True, frozen=True, omit_defaults=True):
    """The loads that were measured on a host."""

    mono_ns: int = 0
    unix_ns: int = 0
    version: str | None = None  # of dyno-loadgen
    commit: str | None = None
    loads: tuple[CeilingLoad, ...]
    host: str | None = None  # its name, where the plan or Slurm names it
