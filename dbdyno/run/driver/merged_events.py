"""Merges the events of several generators that share a job into those of one generator.

Times are those of this host's clock. Pure but for the wall clock, which `started` has.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dbdyno.model import Json
from dbdyno.model.error import GeneratorError
from dbdyno.run.driver import merged_ticks

ERRORS_WRITTEN_MAX = 20
"""Of a role and code, unless they end the step (contract/README.md, "Events")."""
STATUSES = ("ok", "stopped", "failed")
"""How a step ended, the worst last."""


@dataclass(kw_only=True)
class Share:
    """What one generator has said so far."""

    name: str
    offset_ns: int  # its CLOCK_MONOTONIC minus ours
    here: bool  # whether it runs on this host
    said: dict[str, Json] = field(default_factory=dict)  # the last event of each kind, but ticks
    ticks: dict[int, list[Json]] = field(default_factory=dict)  # not merged yet, by number
    drained: list[Json] = field(default_factory=list)  # what was in flight as its window closed

    @property
    def over(self) -> bool:
        """Whether nothing of it counts any more."""
        return "window_close" in self.said or "done" in self.said

    @property
    def status(self) -> str:
        """How it ended, or ends."""
        ends = self.said.get("done") or self.said.get("window_close") or {}
        return str(ends.get("status", "ok"))


class Merge:
    """Takes the events of all generators of a job as they come."""

    def __init__(self, job: Json, shares: Sequence[Share]) -> None:
        self.shares = shares
        self._job = job
        self._roles = len(job["roles"]) or 1  # of a fill
        self._held: list[Json] | None = []  # what came before all had said hello
        self._written: Counter[tuple[str, str]] = Counter()  # errors, by role and code
        self._answers: dict[str, dict[int, Json]] = defaultdict(dict)  # paused, resumed
        self._cause: Share | None = None  # who ended before its time, first
        self._closed = False

    @property
    def over(self) -> bool:
        """Whether all have said their last word."""
        return all("done" in share.said for share in self.shares)

    @property
    def broken(self) -> bool:
        """Whether one ended before its time, so that the others have nothing to go on for."""
        return self._cause is not None

    def starts_ns(self) -> dict[str, int]:
        """When each generator started that has, by our clock."""
        said = ((share.name, share.said.get("started")) for share in self.shares)
        return {name: int(event["mono_ns"]) for name, event in said if event}

    def take(self, number: int, event: Json) -> Iterator[Json]:
        """The merged events that are known by an event of generator `number`.

        Raises GeneratorError where generators of several versions share the job, ResultError where
        a histogram is none.
        """
        share = self.shares[number]
        event = _on_our_clock(event, share.offset_ns)
        first = not any(event["event"] in other.said for other in self.shares)
        if event["event"] != "tick":
            share.said[event["event"]] = event
        if self._cause is None and share.status != "ok":
            self._cause = share
        take: Callable[..., Iterator[Json]] = getattr(self, f"_take_{event['event']}", _as_it_is)
        for merged in take(event, number, first):
            yield from self._after_hello(merged)

    def _after_hello(self, merged: Json) -> Iterator[Json]:
        if self._held is None:
            yield merged
        elif merged["event"] == "hello":
            yield merged
            yield from self._held
            self._held = None
        else:
            self._held.append(merged)

    # --- Each kind of event; those that have no function here pass as they are ---

    def _take_hello(self, _event: Json, _number: int, _first: bool) -> Iterator[Json]:
        hellos = self._of_all("hello")
        if hellos is None:
            return
        _refuse_unlike(self.shares)
        here = [share.said["hello"]["pid"] for share in self.shares if share.here]
        pid = here[0] if len(here) == 1 else None
        yield hellos[0] | {"mono_ns": _least(hellos, "mono_ns"), "pid": pid}

    def _take_ready(self, _event: Json, _number: int, _first: bool) -> Iterator[Json]:
        if readies := self._of_all("ready"):
            sums = ("connections", "threads", "histogram_bytes_max")
            yield {
                "event": "ready",
                **{key: _most(readies, key) for key in ("mono_ns", "setup_us")},
                **{key: sum(one[key] for one in readies) for key in sums},
            }

    def _take_started(self, event: Json, _number: int, first: bool) -> Iterator[Json]:
        if first:
            ahead_ns = time.time_ns() - time.monotonic_ns()
            yield event | {"unix_ns": event["mono_ns"] + ahead_ns}

    def _take_window_open(self, event: Json, _number: int, first: bool) -> Iterator[Json]:
        if first:
            yield event

    def _take_error(self, event: Json, _number: int, _first: bool) -> Iterator[Json]:
        kind = event["role"], event["code"]
        self._written[kind] += 1
        if event["fatal"] or self._written[kind] <= ERRORS_WRITTEN_MAX:
            yield event

    def _take_tick(self, event: Json, number: int, _first: bool) -> Iterator[Json]:
        share = self.shares[number]
        if "window_close" in share.said:
            share.drained.append(event)
            return
        share.ticks.setdefault(event["tick"], []).append(event)
        yield from self._complete_ticks()

    def _complete_ticks(self) -> Iterator[Json]:
        """The ticks of the seconds that all have counted who have not closed their windows."""
        numbers = sorted({number for share in self.shares for number in share.ticks})
        for number in numbers:
            found = [share.ticks.get(number, []) for share in self.shares]
            waited = zip(self.shares, found, strict=True)
            if any(len(ticks) < self._roles and not share.over for share, ticks in waited):
                return
            for share in self.shares:
                share.ticks.pop(number, None)
            yield from merged_ticks.added([ticks for ticks in found if ticks])

    def _take_paused(self, event: Json, number: int, _first: bool) -> Iterator[Json]:
        self._answers[event["event"]][number] = event
        yield from self._answered()

    _take_resumed = _take_paused

    def _answered(self) -> Iterator[Json]:
        """That all are quiet, or go on, whose windows are open."""
        going = {number for number, share in enumerate(self.shares) if not share.over}
        for answers in self._answers.values():
            if answers and going and going <= answers.keys():
                yield max(answers.values(), key=lambda event: int(event["mono_ns"]))
                answers.clear()

    def _take_window_close(self, _event: Json, _number: int, _first: bool) -> Iterator[Json]:
        yield from self._complete_ticks()
        yield from self._answered()
        closes = [share.said.get("window_close") for share in self.shares]
        known = [close for close in closes if close is not None]
        if not self._closed and known and all(share.over for share in self.shares):
            self._closed = True
            status = max((share.status for share in self.shares), key=STATUSES.index)
            yield {
                "event": "window_close",
                **{key: _most(known, key) for key in ("mono_ns", "active_ns")},
                "ended": _ended(known),
                "clients_end_ns": self._clients_end_ns(closes),
                **({"status": status} if status != "ok" else {}),
            }

    def _clients_end_ns(self, closes: Sequence[Json | None]) -> list[int | None]:
        """When each client ended: by its own generator, and by all where connections are shared."""
        names = self._job["stop"].get("roles") or ()
        shared = any(
            role["per"] == "step" for role in self._job.get("roles", ()) if role["name"] in names
        )
        found: list[int | None] = []
        for client in range(self._job["clients"]):
            own = closes if shared else [closes[client % len(closes)]]
            ends = [close and close["clients_end_ns"][client] for close in own]
            found.append(None if None in ends else max(filter(None, ends), default=None))
        return found

    def _take_done(self, event: Json, number: int, first: bool) -> Iterator[Json]:
        yield from self._take_window_close(event, number, first)
        dones = self._of_all("done")
        if dones is None:
            return
        yield from merged_ticks.added([share.drained for share in self.shares if share.drained])
        status = max((done["status"] for done in dones), key=STATUSES.index)
        causes = [self._cause, *self.shares]
        worst = next(one for one in causes if one and one.said["done"]["status"] == status)
        reason = worst.said["done"]["reason"]
        if reason is not None and len(self.shares) > 1:
            reason = f"{reason} (generator on {worst.name})"
        yield {
            "event": "done",
            "mono_ns": _most(dones, "mono_ns"),
            "status": status,
            "reason": reason,
            "totals": merged_ticks.totals([done["totals"] for done in dones]),
            **{key: sum(done[key] for done in dones) for key in ("peak_rss_bytes", "cpu_us")},
            "threads": [
                thread | {"host": share.name}
                for share, done in zip(self.shares, dones, strict=True)
                for thread in done["threads"]
            ],
        }

    def _of_all(self, name: str) -> list[Json] | None:
        """The event of this kind of each generator; None while one is missing."""
        said = [share.said[name] for share in self.shares if name in share.said]
        return said if len(said) == len(self.shares) else None


def _as_it_is(event: Json, _number: int, _first: bool) -> Iterator[Json]:
    yield event


def _on_our_clock(event: Json, offset_ns: int) -> Json:
    """The event with the times of our clock."""
    times = ("mono_ns", "due_ns", "start_ns", "end_ns")
    moved = {key: event[key] - offset_ns for key in times if key in event}
    if event["event"] == "window_close":
        ends = event["ended"].items()
        moved["ended"] = {role: _moved(those, offset_ns) for role, those in ends}
        moved["clients_end_ns"] = _moved(event["clients_end_ns"], offset_ns)
    return event | moved


def _moved(times: Sequence[int | None], offset_ns: int) -> list[int | None]:
    return [None if one is None else one - offset_ns for one in times]


def _ended(closes: Sequence[Json]) -> Mapping[str, list[int | None]]:
    """By role the last completion of each client, whoever had it."""
    roles = dict.fromkeys(role for close in closes for role in close["ended"])
    return {
        role: [
            max(filter(None, ends), default=None)
            for ends in zip(*(close["ended"][role] for close in closes), strict=True)
        ]
        for role in roles
    }


def _refuse_unlike(shares: Sequence[Share]) -> None:
    """Raises GeneratorError where generators are of several versions."""
    first, *others = shares
    for other in others:
        for key in ("version", "commit"):
            said = [share.said["hello"][key] for share in (first, other)]
            if None not in said and said[0] != said[1]:
                raise GeneratorError(
                    f"dyno-loadgen on {first.name} has {key} {said[0]}, on {other.name} {said[1]}: "
                    "install the same on both (`dyno host prepare`)"
                )


def _least(events: Sequence[Json], key: str) -> int:
    return min(int(event[key]) for event in events)


def _most(events: Sequence[Json], key: str) -> int:
    return max(int(event[key]) for event in events)
