"""Sizes as configuration files write them, in bytes, and what a host has to offer to a server.

PostgreSQL writes `4GB`, MySQL `4G`.
"""

import re
from dataclasses import dataclass

from dbdyno.model.error import PlanError

UNITS = {"B": 1, "kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kMGT]?B|[KMGT])")
WHOLE_GIGABYTES_FROM = 8 << 30
"""Sizes from here on are cut to whole GB, as in the published files; smaller ones to whole MB."""


def bytes_of(text: str) -> int:
    """A size such as `4GB` or `4G`, in bytes (units of 1024). Raises PlanError where it is none."""
    match = SIZE.fullmatch(text.strip())
    if match is None:
        raise PlanError(
            f"`{text}` is not a size: write a number and a unit, such as `512MB` or `4GB`"
        )
    unit = match[2] if match[2].endswith("B") else f"{match[2].replace('K', 'k')}B"
    return int(float(match[1]) * UNITS[unit])


def text_of(amount: int, *, short: bool = False) -> str:
    """A size in bytes in the largest unit that is whole: `4GB`, or `short` as `4G`."""
    for unit in ("TB", "GB", "MB"):
        if amount >= UNITS[unit] and amount % UNITS[unit] == 0:
            break
    else:
        unit = "kB"
    whole = amount // UNITS[unit]
    return f"{whole}{unit[0].upper()}" if short else f"{whole}{unit}"


def buffer_bytes(text: str) -> int:
    """A value of shared_buffers in bytes; a bare number counts pages of 8 kB.

    Raises PlanError where it is no size.
    """
    return int(text) * 8192 if text.strip().isdigit() else bytes_of(text)


def cut(amount: int) -> int:
    """A size cut to whole GB where it is large, else to whole MB."""
    unit = UNITS["GB"] if amount >= WHOLE_GIGABYTES_FROM else UNITS["MB"]
    return max(amount // unit, 1) * unit


def cut_coarsely(amount: int) -> int:
    """A size cut to a quarter of the power of two below it.

    The free disk changes a little from run to run; two arms of a plan must get the same all the
    same.
    """
    quarter = 1 << max(amount.bit_length() - 3, 0)
    return amount // quarter * quarter


@dataclass(frozen=True, kw_only=True)
class Capacity:
    """The resources of a host that a server can have: presets are sized to them."""

    cores: int
    memory_bytes: int
    free_disk_bytes: int | None  # of the write-ahead log's file system; None: no limit
