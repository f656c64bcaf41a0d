"""`python tools/made_results.py FOLDER`: makes a large result folder out of a small real one.

Nobody waits for 10,000 measured steps to learn how long their comparison takes. Each made block is
a copy of a real one, which is drawn, with fresh noise that is real as well: each whole second of a
step becomes a second of that same step, drawn anew, with what all roles did in it and by how much
the host's counters grew. So blocks and seconds scatter as those of the source, every block has
numbers of its own, and all files have the sizes that `dyno` writes. The same seed makes the same
files.

What is not made anew: the database's states, logs, totals in done.json, steps without a whole
second or of a few long operations, and the host's counters where arms took turns within a step;
these are the copied block's.
The plan's label says that the result was made. How fast such a folder is read says how fast a
measured one is; no figure in it says anything about a server.
"""

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

import msgspec

from dbdyno.model import Json
from dbdyno.model.error import DynoError, ResultError
from dbdyno.model.host_reading import GAUGES
from dbdyno.store import Results, checksums

BLOCKS, SECONDS = 417, 10
"""With the 24 steps of a block on the fake server: 10,008 steps, of ten seconds each."""
WHOLE_NS, LENGTH_NS = 999_000_000, (900_000_000, 1_100_000_000)
"""A second of the load, and between two readings of the host."""
PLACE = ("event", "mono_ns", "tick", "active_ns", "measured", "role")
"""The keys of a tick that say where it stands, and not what was done in it."""
KEPT = GAUGES | {"kind", "mono_ns"}
"""The keys of a reading that do not grow."""
COPIED = ("*.json", "*.jsonl", "*.gz", "hosts/*.json")
"""What of a result folder stands beside its blocks."""


@dataclass(frozen=True, kw_only=True)
class Second:
    """A whole second of a real step."""

    ticks: Mapping[str, Json]  # by role
    grown: Json | None  # by how much the host's counters grew; None where no reading tells


@dataclass(frozen=True, kw_only=True)
class Source:
    """The complete blocks of a real result."""

    results: Results
    blocks: tuple[Path, ...]


def main() -> int:
    """Makes the folder that the command line asks for; returns the exit status."""
    options = parse(sys.argv[1:])
    asked = {"blocks": options.blocks, "seed": options.seed}
    try:
        if options.of is not None:
            made(options.of, options.folder, **asked)
        else:
            from bench import results  # the lab itself, which only this way needs

            with tempfile.TemporaryDirectory(prefix="dyno-made-") as parent:
                made(results.block(Path(parent), SECONDS), options.folder, **asked)
    except DynoError as error:
        print(f"made_results: {error}", file=sys.stderr)
        return 2
    return 0


def parse(words: Sequence[str]) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(
        prog="python tools/made_results.py",
        description="Makes a large result folder out of a small real one.",
    )
    parser.add_argument("folder", type=Path, help="the folder to make")
    parser.add_argument("--of", type=Path, help="a measured result (default: one block, on the "
                        "fake server)")  # fmt: skip
    parser.add_argument("--blocks", type=int, default=BLOCKS, help=f"to make ({BLOCKS})")
    parser.add_argument("--seed", type=int, default=1, help="of all that is drawn (1)")
    options = parser.parse_args(words)
    if options.blocks < 1:
        parser.error("at least one block")
    return options


def made(source: Path, folder: Path, *, blocks: int, seed: int = 1) -> None:
    """Makes `folder` with so many blocks.

    Raises ResultError where it cannot.
    """
    results = Results.open(source)
    done = tuple(block.path for block in results.blocks() if block.state == "done")
    if not done:
        raise ResultError(f"{source}: has no complete block; name a result that has one")
    if folder.exists():
        raise ResultError(f"{folder}: is there already; choose another folder")
    real = Source(results=results, blocks=done)
    write_outside(real, folder, blocks)
    for number in range(1, blocks + 1):
        write_block(real, folder / "blocks" / f"{number:03d}", number, seed)


def write_outside(real: Source, folder: Path, blocks: int) -> None:
    """Writes what stands beside the blocks."""
    source = real.results.folder
    for pattern in COPIED:
        for path in source.glob(pattern):
            target = folder / path.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    plan = real.results.plan_json()
    label = f"made from {len(real.blocks)} measured blocks of {plan['name']}"
    changed: Json = {"blocks": blocks, "label": label}
    if "schedule" in plan:
        changed["schedule"] = {**plan["schedule"], "blocks": blocks}
    write(folder / "plan.json", plan | changed)


def write_block(real: Source, target: Path, number: int, seed: int) -> None:
    """Makes a block: a copy of a real one that is drawn, with its seconds drawn anew."""
    origin = Random(f"{seed} {number}").choice(real.blocks)
    shutil.copytree(origin, target, copy_function=shutil.copyfile)
    order, done = read(target / "order.json"), read(target / "done.json")
    took_ns = done["ended_unix_ns"] - order["started_unix_ns"]
    begun_ns = read(real.blocks[0] / "order.json")["started_unix_ns"] + (number - 1) * took_ns
    for path in sorted(target.rglob("events.jsonl")):
        place = path.parent.relative_to(target)
        draw = Random(f"{seed} {number} {place}")
        redrawn(path.parent, draw, seconds(origin / place))
        at_its_time(path.parent, draw, begun_ns - order["started_unix_ns"])
    order |= {"block": number, "started_unix_ns": begun_ns}
    write(target / "order.json", order)
    done |= {"ended_unix_ns": begun_ns + took_ns, "sha256": checksums.of_block(target)}
    write(target / "done.json", done)


# --- Seconds ---------------------------------------------------------------------------------


@cache
def seconds(step: Path) -> tuple[Second, ...]:
    """The whole seconds of a real step."""
    return tuple(second for _, second in found_seconds(step))


def found_seconds(step: Path) -> Iterator[tuple[int, Second]]:
    """The whole seconds of a step by the number of their ticks."""
    ticks: dict[int, dict[str, Json]] = {}
    for event in lines(step / "events.jsonl"):
        if is_whole(event):
            ticks.setdefault(event["tick"], {})[event["role"]] = event
    readings = lines(step / "host.jsonl")
    grown = dict(growths(readings))
    for number, by_role in ticks.items():
        yield number, Second(ticks=by_role, grown=grown.get(number))


def is_whole(event: Json) -> bool:
    """Whether an event is a whole second of a window."""
    is_second = event["event"] == "tick" and event["measured"] and event.get("tick") is not None
    return bool(is_second and event["active_ns"] >= WHOLE_NS)


def growths(readings: Sequence[Json]) -> Iterator[tuple[int, Json]]:
    """By how much counters grew in each second but the first, by the number of its tick."""
    for number, place in enumerate(seconds_of(readings), 2):
        yield number, grown(readings[place - 1], readings[place])


def seconds_of(readings: Sequence[Json]) -> list[int]:
    """Where readings stand that end a second which another reading begins; none in turns."""
    if any(reading["kind"] == "pause" for reading in readings):
        return []
    low_ns, high_ns = LENGTH_NS
    return [
        place
        for place in range(1, len(readings))
        if readings[place - 1]["kind"] == readings[place]["kind"] == "second"
        and low_ns <= readings[place]["mono_ns"] - readings[place - 1]["mono_ns"] <= high_ns
    ]


def redrawn(step: Path, draw: Random, pool: Sequence[Second]) -> None:
    """Writes a copied step anew, each of its whole seconds one that is drawn."""
    numbers = [number for number, _ in found_seconds(step)]
    if not numbers or is_of_few(pool):
        return
    drawn = {number: draw.choice(pool) for number in numbers}
    events = [
        {
            **drawn[event["tick"]].ticks.get(event["role"], event),
            **{key: event[key] for key in PLACE},
        }
        if is_whole(event)
        else uncounted(event)
        for event in lines(step / "events.jsonl")
    ]
    write_lines(step / "events.jsonl", events)
    readings = lines(step / "host.jsonl")
    if readings:
        write_lines(step / "host.jsonl", regrown_all(readings, drawn))


def at_its_time(step: Path, draw: Random, later_ns: int) -> None:
    """Gives a copied step the wall clock of its block, and what no other run has: the nanoseconds
    of its events, and the CPU of the generator in each second. Else it would count as a copy.
    """
    events = lines(step / "events.jsonl")
    for event in events:
        event["mono_ns"] += draw.randrange(1_000)
        if event["event"] == "tick":
            event["cpu_us"] = (event.get("cpu_us") or 0) + draw.randrange(1_000)
        if event["event"] == "started":
            event["unix_ns"] += later_ns
    write_lines(step / "events.jsonl", events)
    if (step / "done.json").exists():
        done = read(step / "done.json")
        for said in done.get("log_events", ()):
            said["unix_ms"] += later_ns // 1_000_000
        write(step / "done.json", done)


def uncounted(event: Json) -> Json:
    """An event without what the generator counted in its ticks, which are others now."""
    if event["event"] != "done":
        return event
    totals = {
        role: {key: amount for key, amount in whole.items() if key != "in_ticks"}
        for role, whole in event["totals"].items()
    }
    return event | {"totals": totals}


def is_of_few(pool: Sequence[Second]) -> bool:
    """Whether a role does a few long operations, which drawn seconds would lose or double."""
    roles = {role for second in pool for role in second.ticks}
    did = {role: [did_something(second.ticks.get(role)) for second in pool] for role in roles}
    return any(any(its) and 2 * sum(its) < len(its) for its in did.values())


def did_something(tick: Json | None) -> bool:
    """Whether an operation ended in a second of a role."""
    return tick is not None and any(client[0] for client in tick["per_client"])


def regrown_all(readings: Sequence[Json], drawn: Mapping[int, Second]) -> list[Json]:
    """The readings, whose counters grew in each second as in the one that was drawn for it."""
    numbers = {place: number for number, place in enumerate(seconds_of(readings), 2)}
    found = [readings[0]]
    for place in range(1, len(readings)):
        before, now = readings[place - 1], readings[place]
        second = drawn.get(numbers.get(place, 0))
        by = second.grown if second is not None and second.grown is not None else {}
        found.append(regrown(now, before, found[-1], by))
    return found


def grown(before: Json, now: Json) -> Json:
    """By how much each counter grew."""
    found: Json = {}
    for key, value in now.items():
        was = before.get(key)
        if key in KEPT or isinstance(value, bool):
            continue
        if isinstance(value, dict):
            found[key] = grown(was or {}, value)
        elif isinstance(value, int | float):
            found[key] = value - number(was)
    return found


def regrown(now: Json, before: Json, made_before: Json, by: Json) -> Json:
    """A reading after another that was made, grown by this; what `by` lacks grows as it did."""
    own = grown(before, now)
    found: Json = {}
    for key, value in now.items():
        was = made_before.get(key)
        if key not in own:
            found[key] = value
        elif isinstance(value, dict):
            found[key] = regrown(value, before.get(key) or {}, was or {}, by.get(key) or {})
        else:
            told = by.get(key)
            found[key] = number(was) + (own[key] if told is None else told)
    return found


def number(value: object) -> float:
    """A counter's value; 0 of one that was not there yet."""
    return value if isinstance(value, int | float) else 0


# --- Files -----------------------------------------------------------------------------------


def read(path: Path) -> Json:
    """The object in a file."""
    found: Json = msgspec.json.decode(path.read_bytes())
    return found


def lines(path: Path) -> list[Json]:
    """The objects of a file of JSON lines; none where it is missing."""
    return [msgspec.json.decode(line) for line in path.open("rb")] if path.exists() else []


def write(path: Path, value: Json) -> None:
    """Writes an object as dyno does."""
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def write_lines(path: Path, values: Sequence[Json]) -> None:
    """Writes objects, a line each."""
    path.write_bytes(b"".join(msgspec.json.encode(value) + b"\n" for value in values))


if __name__ == "__main__":
    sys.exit(main())
