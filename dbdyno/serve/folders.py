"""Finds result folders, and reads what a list shows of each without its blocks."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from dbdyno.model.error import ResultError
from dbdyno.model.host_facts import HostFacts
from dbdyno.parts.number import NO_BREAK
from dbdyno.store import glance
from dbdyno.store.glance import Stamp

FRESH_S = 60.0
"""A plan that has written something within this time is taken to run."""
LATELY_S = 86_400.0
"""Only a block that was begun within this time is asked for its newest file."""
GIB = 1 << 30

State = Literal["running", "unfinished", "complete"]


@dataclass(frozen=True, kw_only=True)
class ListedResult:
    """A result folder as a list has it."""

    key: str  # its place below the folders that are served, in a URL
    path: Path
    plan: str
    label: str
    arms: tuple[str, ...]  # those that reports show, the base first
    versions: tuple[str, ...]  # of these arms, in words: postgres 18
    configurations: tuple[str, ...]  # of these arms; "" where the plan names none
    workloads: tuple[str, ...]
    begun_s: float  # Unix time
    changed_s: float  # Unix time at which a block was begun or ended last
    complete: int  # blocks
    planned: int  # blocks; the most where the plan goes on until it is decided
    until_decided: bool
    begun: Path | None  # the last block, where it is not complete
    host: str  # in words; "" where nothing is known
    stamp: Stamp  # changes when the result does
    state: State = "complete"

    @property
    def words(self) -> str:
        """All that a search looks at, in small letters."""
        parts = (self.key, self.plan, self.label, self.host, self.state)
        several = (*self.arms, *self.versions, *self.configurations, *self.workloads)
        return " ".join((*parts, *several)).lower()


class Folders:
    """The folders that are served; what was read of a result is kept until its files change."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self.roots = tuple(roots)
        self._roots = named(roots)
        self._known: dict[str, ListedResult] = {}
        self.damaged: dict[Path, str] = {}
        """Why folders that have a plan are no results, as they were looked through last."""

    def found(self) -> list[ListedResult]:
        """All results: those that run, then the newest; a folder that cannot be read is none."""
        known: dict[str, ListedResult] = {}
        self.damaged = {}
        for key, path in self._places():
            stamp, before = glance.stamp(path), self._known.get(key)
            read = before if before and before.stamp == stamp else self._read(key, path, stamp)
            if read is not None:
                known[key] = read
        self._known = known
        now = time.time()
        results = [replace(result, state=_state(result, now)) for result in known.values()]
        return sorted(
            results, key=lambda result: (result.state != "running", -result.changed_s, result.key)
        )

    def result(self, key: str) -> ListedResult | None:
        """The result with this key, which no path outside of the folders has; None: there is none.

        A place is compared and never put together, so that no key leads anywhere else.
        """
        before = self._known.get(key)
        if before is None or before.path.is_symlink():
            paths = [path for place, path in self._places() if place == key]
        else:  # a page that follows a plan asks each second, whatever else lies there
            paths = [before.path]
        for path in paths:
            stamp = glance.stamp(path)
            read = before if before and before.stamp == stamp else self._read(key, path, stamp)
            if read is not None:
                self._known[key] = read
                return replace(read, state=_state(read, time.time()))
        return None

    def _read(self, key: str, path: Path, stamp: Stamp) -> ListedResult | None:
        """The result as its plan has it; None where it is damaged or was removed meanwhile."""
        try:
            return _of(key, path, stamp)
        except ResultError as error:
            self.damaged[path] = str(error)
        except (ArithmeticError, AttributeError, LookupError, OSError, TypeError, ValueError) as no:
            self.damaged[path] = f"{path}: cannot be read ({no})"
        return None

    def _places(self) -> Iterator[tuple[str, Path]]:
        for prefix, root in self._roots.items():
            for place, path in glance.below(root):
                if place.isprintable():  # a name that is no text has no address
                    yield f"{prefix}{place}", path


def found(roots: Sequence[Path]) -> list[ListedResult]:
    """All results below these folders, the newest first."""
    return Folders(roots).found()


def named(roots: Sequence[Path]) -> dict[str, Path]:
    """The folders by what begins the keys of their results: nothing where there is only one."""
    folders = list(dict.fromkeys(root.resolve() for root in roots))
    if len(folders) == 1:
        return {"": folders[0]}
    names: dict[str, Path] = {}
    for root in folders:
        name, number = root.name or "root", 1
        while f"{name}/" in names:
            number += 1
            name = f"{root.name or 'root'}-{number}"
        names[f"{name}/"] = root
    return names


def _of(key: str, path: Path, stamp: Stamp) -> ListedResult:
    progress = glance.glance(path)
    plan = progress.plan
    shown = sorted(
        (arm for arm in plan.arms if arm.shown), key=lambda arm: bool(arm.name != plan.base)
    )
    begun_s = (stamp[0] if plan.created_unix_ns is None else plan.created_unix_ns) / 1e9
    datetime.fromtimestamp(begun_s, UTC)  # raises where it is no time that can be shown
    return ListedResult(
        key=key,
        path=path,
        plan=plan.name,
        label=plan.label or "",
        arms=tuple(arm.name for arm in shown),
        # The build or the folder where the plan names no version.
        versions=tuple(
            f"{arm.engine} {arm.version or arm.build_name or Path(arm.base_dir or '').name}".strip()
            for arm in shown
        ),
        configurations=tuple(arm.config or "" for arm in shown),
        workloads=tuple(dict.fromkeys(use.name for use in plan.workloads)),
        begun_s=begun_s,
        changed_s=max(begun_s, max(stamp[3:]) / 1e9),
        complete=progress.complete,
        planned=0 if plan.counts_only else plan.blocks,
        until_decided=plan.schedule.until_decided,
        begun=progress.begun,
        host=_host(progress.host or HostFacts()),
        stamp=stamp,
    )


def _host(host: HostFacts) -> str:
    """AMD EPYC 7763, 2 cores, 8 GiB."""
    cores, memory = host.cpu.cores, host.memory_bytes
    words = (
        host.cpu.model or "",
        f"{cores}{NO_BREAK}core{'s' if cores != 1 else ''}" if cores else "",
        f"{memory / GIB:.0f}{NO_BREAK}GiB" if memory else "",
    )
    return ", ".join(word for word in words if word)


def _state(result: ListedResult, now: float) -> State:
    """Whether it is complete, or goes on: what is written tells, on whatever machine it runs."""
    if result.begun is None and result.complete >= result.planned:
        return "complete"
    if now - written_s(result, now) < FRESH_S:
        return "running"
    ended = result.until_decided and result.begun is None and result.complete > 0
    return "complete" if ended else "unfinished"


def written_s(result: ListedResult, now: float) -> float:
    """When anything of the result was written last, as Unix time."""
    if result.begun is None or now - result.changed_s > LATELY_S:
        return result.changed_s
    return max(result.changed_s, glance.written_s(result.begun))
