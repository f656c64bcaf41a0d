"""Workloads: benchmarks as data. A file and its parameters become steps that are ready to run.

A workload file is a TOML document (docs/workload.md); the shipped ones lie in `shipped`.
Nothing here draws randomness, or reads anything but the file and the scripts that it, or a plan,
names. Of benchmarks only pgbench is known by its name, whose scripts plans can name.
"""

from dbdyno.workload.estimate import Estimate, estimate
from dbdyno.workload.expand import DROP, brought, expand, loaded
from dbdyno.workload.file import (
    KEEP,
    Workload,
    captured,
    load,
    names,
    own_files,
    scripts_sha256,
    sha256,
    text,
    undrawn,
    used,
)
from dbdyno.workload.grid import of_loads
from dbdyno.workload.own_text import masked
from dbdyno.workload.parameter import host
from dbdyno.workload.step_selection import FILL

__all__ = [
    "DROP",
    "FILL",
    "KEEP",
    "Estimate",
    "Workload",
    "brought",
    "captured",
    "estimate",
    "expand",
    "host",
    "load",
    "loaded",
    "masked",
    "names",
    "of_loads",
    "own_files",
    "scripts_sha256",
    "sha256",
    "text",
    "undrawn",
    "used",
]
