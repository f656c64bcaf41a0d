"""Compares folders of `dyno capture` that stand for one and the same session.

    python tools/trials/captured.py FOLDER OTHER…

For each other folder: how many queries both have and one alone, the largest difference of a
query's share of the calls and of the time, and how many files of values differ. The status is 1
where a query is missing, a share of the calls differs by more than a hundredth of itself, or values
differ.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TOLERATED = 0.01
"""Of a query's share of the calls."""
SHOWN_MAX = 5


@dataclass(frozen=True)
class Captured:
    """What a folder of a capture holds."""

    folder: Path
    queries: Mapping[str, Mapping[str, Any]]

    def shares(self, key: str) -> dict[str, float]:
        """By query its share of all calls or of the time."""
        whole = sum(query.get(key, 0) for query in self.queries.values()) or 1
        return {name: query.get(key, 0) / whole for name, query in self.queries.items()}

    def values(self, name: str) -> list[str]:
        """The tuples of a query, in an order that is the same in every folder."""
        path = self.queries[name].get("values")
        return sorted((self.folder / path).read_text().splitlines()) if path else []


def read(folder: Path) -> Captured:
    """A folder that `dyno capture` wrote."""
    try:
        text = (folder / "workload.toml").read_text()
    except OSError as error:
        raise SystemExit(
            f"captured: `{folder}`: no folder of a capture: {error.strerror}"
        ) from error
    return Captured(folder, tomllib.loads(text)["queries"])


def main() -> int:
    """Prints a paragraph for each other folder; returns the exit status."""
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    first, *others = (read(Path(name)) for name in sys.argv[1:])
    return max(int(departs(first, other)) for other in others)


def departs(first: Captured, other: Captured) -> bool:
    """Prints how two folders differ; whether they differ by more than is tolerated."""
    both = first.queries.keys() & other.queries.keys()
    lacking = sorted(first.queries.keys() ^ other.queries.keys())
    differing = sorted(name for name in both if first.values(name) != other.values(name))
    calls, time = (worst(first.shares(key), other.shares(key), both) for key in ("calls", "time_s"))
    print(f"{other.folder} beside {first.folder}: {len(both)} queries in both")
    print(f"  in one alone: {few(lacking)}")
    print(f"  values differ: {few(differing)}")
    print(f"  largest difference of a share: calls {calls:.2%}, time {time:.2%}")
    return bool(lacking or differing or calls > TOLERATED)


def worst(shares: Mapping[str, float], others: Mapping[str, float], names: set[str]) -> float:
    """The largest difference of a query's two shares, as a part of the larger."""
    pairs = [(shares[name], others[name]) for name in names]
    return max((abs(a - b) / max(a, b) for a, b in pairs if max(a, b) > 0), default=0.0)


def few(names: Sequence[str]) -> str:
    """How many names these are, and the first of them."""
    return f"{len(names)} {', '.join(names[:SHOWN_MAX])}".rstrip()


if __name__ == "__main__":
    sys.exit(main())
