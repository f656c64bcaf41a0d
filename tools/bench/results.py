"""Makes result folders to be judged: a block of a plan on the fake server, as often as one likes.

The lab itself measures the one block, so its files are what it writes today. What a real server's
files have more (owners of the host's counters) is added, and a long step is a short one repeated:
good for measuring how fast results are read, and for nothing else.
"""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from dbdyno import plan
from dbdyno.model import Json
from dbdyno.run import blocks
from dbdyno.store import checksums
from made_results import uncounted

ARMS, STEPS, CLIENTS = 2, 12, 4
SERVICE_US = {"old": 500, "new": 520}
BACKGROUND = (
    "autovacuum launcher", "autovacuum worker", "background writer", "checkpointer",
    "logical replication launcher", "postmaster", "walwriter",
)  # fmt: skip
COUNTERS = {
    "cpu_ns": 1_091_105, "user_us": 10_000, "system_us": 10_000, "voluntary": 513,
    "involuntary": 114, "read_bytes": 102_400, "write_bytes": 24_907_776, "processes": 1,
}  # fmt: skip

PLAN = """
name = "read"
base = "old"
[[workloads]]
name = "insert-benchmark"
steps = ["l.i0", "l.x", "l.i1", "l.i2", "qr100", "qp100", "qr500", "qp500", "qr1000", "qp1000",
         "qr2000", "qp2000"]
[workloads.parameters]
clients = {clients}
seconds = {seconds}
rows = {rows}
rows_i1 = {rows_i1}
rows_i2 = {rows_i2}
rates = [100, 500, 1000, 2000]
"""
ARM = """
[arms.{name}]
engine = "fake"
[arms.{name}.fake]
jitter = 0.9
service_us = {{ insert = 5000, delete = 4000, market = {us}, register = {us}, pdc = {us} }}
server_cpu_us = {{ insert = 500, delete = 400, market = 40, register = 40, pdc = 40 }}
"""


def block(parent: Path, seconds: int) -> Path:
    """A result folder in `parent` with one block, each step of about so many seconds."""
    text = PLAN.format(
        clients=CLIENTS,
        seconds=seconds,
        rows=20_000 * seconds,  # 100 rows in 5 ms
        rows_i1=5_000 * seconds,
        rows_i2=500 * seconds,
    )
    text += "".join(ARM.format(name=name, us=us) for name, us in SERVICE_US.items())
    folder = blocks.run(plan.parse(text, None), parent, wait=True).folder
    for path in folder.rglob("host.jsonl"):
        rewrite(path, with_background)
    sealed(folder)
    return folder


def lengthened(folder: Path, times: int) -> None:
    """Makes each step so many times as long."""
    for path in folder.rglob("events.jsonl"):
        rewrite(path, lambda lines: repeated(lines, times, is_tick))
        rewrite(path, lambda lines: [uncounted(line) for line in lines])
    for path in folder.rglob("host.jsonl"):
        rewrite(path, lambda lines: repeated(lines, times, is_second))
    sealed(folder)


def multiplied(folder: Path, count: int) -> None:
    """Gives the result so many blocks, all with the files of the first (links, not copies)."""
    path = folder / "plan.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"blocks": count}))
    first = folder / "blocks/001"
    for number in range(2, count + 1):
        target = first.with_name(f"{number:03d}")
        shutil.copytree(first, target, copy_function=os.link)
        (target / "order.json").unlink()
        order = json.loads((first / "order.json").read_text()) | {"block": number}
        (target / "order.json").write_text(json.dumps(order))
    sealed(folder)


def sealed(folder: Path) -> None:
    """Gives each block the checksums of its files as they are now, which nobody measured so."""
    for block in (folder / "blocks").iterdir():
        path = block / checksums.DONE
        done = json.loads(path.read_text()) | {"sha256": checksums.of_block(block)}
        path.unlink()  # it may be a link
        path.write_text(json.dumps(done))


def rewrite(path: Path, edit: Callable[[list[Json]], list[Json]]) -> None:
    """Edits a file of JSON lines."""
    lines = edit([json.loads(line) for line in path.read_text().splitlines()])
    path.write_text("".join(f"{json.dumps(line, separators=(',', ':'))}\n" for line in lines))


def with_background(lines: list[Json]) -> list[Json]:
    """Readings with the owners that a real server has beside its roles."""
    owners = {f"background:{name}": COUNTERS for name in BACKGROUND}
    return [line | {"owners": line["owners"] | owners} for line in lines]


def is_tick(line: Json) -> bool:
    """Whether an event is a second of a role."""
    return bool(line["event"] == "tick")


def is_second(line: Json) -> bool:
    """Whether a reading is one within the window."""
    return bool(line["kind"] == "second")


def repeated(lines: list[Json], times: int, once_more: Callable[[Json], bool]) -> list[Json]:
    """The lines with a part of them repeated, all times moved on."""
    places = [place for place, line in enumerate(lines) if once_more(line)]
    if not places:
        return lines
    first, last = places[0], places[-1] + 1
    middle = lines[first:last]
    length_ns = middle[-1]["mono_ns"] - middle[0]["mono_ns"] + 1_000_000_000
    ticks = max(line.get("tick", 0) for line in middle)
    more = [moved(line, part * length_ns, part * ticks) for part in range(times) for line in middle]
    end = [moved(line, (times - 1) * length_ns, 0) for line in lines[last:]]
    return [*lines[:first], *more, *end]


def moved(line: Json, by_ns: int, by_ticks: int) -> Json:
    """A line so much later; the window's end makes the window so much longer."""
    changed: Json = {"mono_ns": line["mono_ns"] + by_ns}
    if "tick" in line:
        changed["tick"] = line["tick"] + by_ticks
    if line.get("event") == "window_close":
        changed["active_ns"] = line["active_ns"] + by_ns
        ends = line["clients_end_ns"]
        changed["clients_end_ns"] = [None if end is None else end + by_ns for end in ends]
    return line | changed
