"""Builds whole result folders with planted numbers, so that a report has known right answers.

    folder = build(tmp_path, arms=("pg17", "pg18"), blocks=3, steps=("l.i0", "qr100"),
                   planted=lambda arm, step, block: plant(step, faster=FASTER[arm]))

Everything goes at a constant pace, so every metric follows from `Planted` by hand: two clients, two
cores, one-second ticks, host readings without delay at the window's ends.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from zlib import crc32

import msgspec

from dbdyno import store
from dbdyno.model import Arm, Block, Headline, Json, Plan, Schedule, Sla, Step, WorkloadUse
from dbdyno.model.host_facts import HostFacts
from dbdyno.model.server_facts import ServerFacts
from dbdyno.run.check import plan_record
from result_counters import database, host
from result_events import events, log_events
from result_planted import CLIENTS, CORES, SECOND_NS, UNIX_NS, Planted, plant

WORKLOAD = "insert-benchmark"
MINUTES_PER_BLOCK = 20
INDEXED_ROWS = 4_000_000  # of l.x
STEPS = ("l.i0", "l.x", "l.i1", "l.i2", "cleanup", "qr100", "qp100", "qr500", "qp500", "qr1000")

PlantedBy = Callable[[str, str, int], Planted]  # arm, step, block


@dataclass(frozen=True, kw_only=True)
class _Example:
    """What `build` was asked for."""

    steps: Sequence[str]
    planted: PlantedBy
    failed: Mapping[tuple[int, str, str], str]
    servers: Mapping[str, Json]


def build(
    folder: Path,
    *,
    arms: Sequence[str] = ("pg17", "pg18"),
    blocks: int = 3,
    steps: Sequence[str] = ("l.i0", "l.x", "l.i1", "cleanup", "qr100"),
    planted: PlantedBy | None = None,
    planned_blocks: int | None = None,
    failed: Mapping[tuple[int, str, str], str] | None = None,
    void: Mapping[int, str] | None = None,
    broken: bool = False,
    servers: Mapping[str, Json] | None = None,
    name: str = "example",
) -> Path:
    """Write a result folder `folder/name` and return it.

    `failed`: (block, arm, step) -> reason; that run's later steps are skipped. `void`: number ->
    reason of blocks that have a spoiled try before the good one. `broken`: the last block lacks its
    end. `servers`: arm -> what its server.json says otherwise.
    """
    example = _Example(
        steps=steps,
        planted=planted or (lambda arm, step, block: plant(step)),
        failed=failed or {},
        servers=servers or {},
    )
    plan = make_plan(name, arms, planned_blocks or blocks)
    results = store.Results.open_or_create(folder, plan, plan_json(plan))
    results.write_host(HOST)
    for number in range(1, blocks + 1):
        order = tuple(arms) if number % 2 else tuple(reversed(arms))
        block = Block(number=number, order=order, seed=1_000 + number)
        if void and number in void:
            _write_block(results, block, example)
            results.void_block(number, void[number])
        _write_block(results, block, example)
        if not (broken and number == blocks):
            results.end_block(block.number)
            # the same on every machine, as its begin is
            store.write_json(
                results.folder / "blocks" / f"{number:03d}" / "done.json",
                {"ended_unix_ns": UNIX_NS + MINUTES_PER_BLOCK * 60 * SECOND_NS},
            )
    return results.folder


def _write_block(results: store.Results, block: Block, example: _Example) -> None:
    path = results.begin_block(block) / "order.json"
    # the same on every machine: neither its clock nor its boot
    fixed = {"started_unix_ns": UNIX_NS, "boot_id": HOST.boot_id}
    store.write_json(path, store.read_struct(path, Json) | fixed)
    for arm in block.order:
        run = results.run_folder(block.number, arm)
        store.write_json(run / "server.json", server(arm, **example.servers.get(arm, {})))
        lost = False
        for name in example.steps:
            step = make_step(name, example.planted(arm, name, block.number))
            folder = results.step_folder(block.number, arm, step)
            described = {key: value for key, value in asdict(step).items() if key != "job"}
            store.write_json(folder / "step.json", {**described, "arm": arm, "block": block.number})
            reason = example.failed.get((block.number, arm, name))
            if lost:
                _write_failed(folder, "skipped", "state unknown after an earlier step failed")
            elif reason is not None:
                lost = True
                _write_failed(folder, "failed", reason)
            else:
                write_step(folder, step, example.planted(arm, name, block.number))


def _write_failed(folder: Path, status: str, reason: str) -> None:
    tail = ["PANIC: planted"] if status == "failed" else []
    store.write_json(folder / "failed.json", {"status": status, "reason": reason, "log_tail": tail})


# --- A step ----------------------------------------------------------------------------------


def make_step(name: str, planted: Planted) -> Step:
    """The Step of this name, as far as judging reads it."""
    query = name.startswith("q")
    headline = None
    if name == "l.x":
        headline = Headline(metric="ips", role="insert", count="rows", work=INDEXED_ROWS)
    elif query:
        headline = Headline(metric="qps", role="query", count="operations")
    elif name != "cleanup":
        headline = Headline(metric="ips", role="insert", count="rows")
    return Step(
        ordinal=STEPS.index(name) + 1,
        name=name,
        workload=WORKLOAD,
        measured=name != "cleanup",
        writes=True,
        warm="none",
        setup=(),
        job=make_job(name, planted),
        headline=headline,
        sla=Sla(role="insert", rows_per_s=float(name[2:]) * CLIENTS) if query else None,
        pad_to_s=None,
        roles={role: role for role in planted.roles},
        tables=tuple(f"pi{client + 1}" for client in range(CLIENTS)),
        explain={},
        expected_s=planted.seconds,
        nominal_s=planted.seconds if query else None,
    )


def make_job(name: str, planted: Planted) -> Json:
    """The job's parts that judging reads: statements with their nominal rows, roles, stop."""
    paces: Json = {
        "insert": {"kind": "rate", "arrivals": "burst", "per_s": 2.0},
        "delete": {"kind": "tied", "to": "insert", "lead": 8},
    }
    if not name.startswith("q"):
        del paces["insert"]
    return {
        "protocol": 1,
        "step": name,
        "clients": CLIENTS,
        "statements": [
            {"name": role, "protocol": "simple", "pieces": [], "types": [], "rows": rows}
            for role in planted.roles
            for rows in [10 if role == "query" else planted.rows_per_insert]
        ],
        "roles": [
            {
                "name": role,
                "per": "client",
                "connections": 1,
                "pace": paces.get(role, {"kind": "closed"}),
            }
            for role in planted.roles
        ],
        "stop": {"roles": ["insert"], "seconds": None, "warmup_s": 0, "seconds_max": None},
    }


BLOCK_NS = 100_000 * SECOND_NS
"""By so much the blocks of a result lie apart, by the monotonic clock."""


def at_its_time(line: Json, folder: Path) -> Json:
    """A line of a step as no other run has it: at its block's time, with CPU of its own in a tick.

    Blocks of a real server never agree in these; a result in which they do counts as copied.
    """
    block, arm = int(folder.parents[2].name[:3]), folder.parents[1].name
    by_ns = (block - 1) * BLOCK_NS
    own = line | {"mono_ns": line["mono_ns"] + by_ns}
    if line.get("event") == "tick":
        own["cpu_us"] += 1_000 * block + crc32(arm.encode()) % 1_000
    if line.get("clients_end_ns") is not None:
        own["clients_end_ns"] = [end + by_ns for end in line["clients_end_ns"]]
        own["ended"] = dict.fromkeys(line["ended"], own["clients_end_ns"])
    return own


def write_step(folder: Path, step: Step, planted: Planted) -> None:
    """Write all files of a step that ended well, but for step.json."""
    store.write_json(folder / "job.json", step.job)
    for name, lines in (("events.jsonl", events(planted)), ("host.jsonl", host(planted))):
        with store.JsonLines(folder / name) as file:
            for line in lines:
                file.write(at_its_time(line, folder))
    store.write_json(folder / "before.json", database(planted, 0.0))
    store.write_json(folder / "after.json", database(planted, planted.seconds))
    cpu_us, memory_ns, fsync_us = planted.canary
    reading = {"cpu_us": cpu_us, "memory_ns": memory_ns, "fsync_us_p50": fsync_us}
    reading["fsync_us_max"] = fsync_us * 5
    checks = [{"what": "rows of pi1", "expected": 100, "actual": 100 if planted.checks_ok else 90}]
    done = {
        "status": "ok",
        "window_ns": round(planted.seconds * SECOND_NS),
        "canary": {"before": reading, "after": reading},
        "log_events": list(log_events(planted)),
        "checks": [{**check, "ok": planted.checks_ok} for check in checks],
        "waited_s": 0.0,
        "switch": None,
        "warnings": [],
    }
    store.write_json(folder / "done.json", done)


# --- Plan, host and server -------------------------------------------------------------------


def make_plan(name: str, arms: Sequence[str], blocks: int) -> Plan:
    described = tuple(
        Arm(
            name=arm,
            engine="postgres",
            version=arm[2:4],
            config="x10b" if arm == "pg18" else "x10a",
        )
        for arm in arms
    )
    text = "\n".join(
        f'[arms.{arm.name}]\nengine = "postgres"\nversion = "{arm.version}"' for arm in described
    )
    return Plan(
        name=name,
        path=None,
        text=f'name = "{name}"\n{text}\n[[workloads]]\nname = "{WORKLOAD}"\n',
        seed=1,
        base=arms[0],
        arms=described,
        workloads=(WorkloadUse(name=WORKLOAD, parameters={"clients": CLIENTS}),),
        schedule=Schedule(blocks=blocks),
    )


def plan_json(plan: Plan) -> Json:
    return {
        "format": 1,
        "name": plan.name,
        "label": plan.label,
        "seed": plan.seed,
        "base": plan.base,
        "blocks": plan.schedule.blocks,
        "arms": [json.loads(json.dumps(asdict(arm), default=str)) for arm in plan.arms],
        "workloads": [{**asdict(use), "sha256": "0" * 64} for use in plan.workloads],
        "schedule": plan_record.schedule_json(plan.schedule),
        "text": plan.text,
        "dyno": "0.1.0",
        "created_unix_ns": UNIX_NS,
    }


HOST = msgspec.convert(
    {
        "cpu": {
            "model": "Example CPU",
            "cores": CORES,
            "sockets": 1,
            "threads_per_core": 1,
            "mhz_max": 3_000.0,
            "governor": "performance",
            "smt": False,
            "flags_short": None,
        },
        "memory_bytes": 8 << 30,
        "swap_bytes": 0,
        "kernel": "6.12.0",
        "os": "Example Linux 1",
        "boot_id": "00000000-0000-4000-8000-000000000001",
        "hostname_hash": "0123456789ab",
        "thp": {"enabled": "madvise", "defrag": "madvise"},
        "huge_pages": 0,
        "clock_source": "tsc",
        "virtual": None,
        "container": False,
        "data": {
            "path": "/data",
            "file_system": "ext4",
            "mount_options": "rw,relatime",
            "device": "vda",
            "devices": ["vda"],
            "model": None,
            "rotational": False,
            "scheduler": "none",
            "size_bytes": 100 << 30,
            "free_bytes": 60 << 30,
            "unsure": None,
        },
        "sysctl": {"vm.dirty_ratio": 20, "vm.dirty_background_ratio": 10, "vm.swappiness": 60},
    },
    HostFacts,
)


def server(arm: str, **changes: object) -> ServerFacts:
    """A server.json with changes: `pg18` is an 18.0 with io_method, everything else a 17.6."""
    newer = arm == "pg18"
    version = "18.0" if newer else "17.6"
    settings = {
        "shared_buffers": "1GB",
        "max_connections": "100",
        "effective_io_concurrency": "16" if newer else "1",
        "data_directory": f"/data/{arm}",
        "port": "5432",
        **({"io_method": "sync"} if newer else {}),
    }
    preset = {"shared_buffers": "1GB", **({"io_method": "sync"} if newer else {})}
    facts = {
        "engine": "postgres",
        "version": version,
        "version_text": f"PostgreSQL {version} on x86_64-pc-linux-gnu, compiled by gcc 12.2.0",
        "version_num": 180000 if newer else 170006,
        "compiler": "gcc 12.2.0",
        "block_size": 8192,
        "base_dir": f"/cache/postgres/{version}",
        "data_dir": f"/data/{arm}",
        "config": "x10b" if newer else "x10a",
        "preset": preset,
        "departures": [],
        "settings": settings,
        "nondefault": {key: settings[key] for key in preset},
        "data_checksums": "on",
        "initdb_s": 1.0,
        "start_s": 0.2,
        "user": "postgres",
    }
    return msgspec.convert(facts | changes, ServerFacts)
