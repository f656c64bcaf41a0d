"""The machine, the servers and the plan of the made-up comparison in comparison_builder."""

from collections.abc import Sequence

import msgspec

from dbdyno.model import Difference
from dbdyno.model.ceiling import Ceiling, CeilingLoad
from dbdyno.model.events import Thread
from dbdyno.model.host_facts import HostFacts
from dbdyno.model.plan_record import PlanRecord
from dbdyno.model.server_facts import ServerFacts


def host() -> HostFacts:
    """host.json of a small server."""
    facts = {
        "cpu": {
            "model": "AMD Ryzen 7 7840HS",
            "cores": 8,
            "sockets": 1,
            "threads_per_core": 1,
            "mhz_max": 5137,
            "governor": "performance",
            "smt": False,
        },
        "memory_bytes": 33_285_996_544,
        "swap_bytes": 0,
        "kernel": "6.8.0-45-generic",
        "os": "Ubuntu 24.04",
        "thp": {"enabled": "madvise", "defrag": "madvise"},
        "huge_pages": 0,
        "clock_source": "tsc",
        "virtual": None,
        "container": False,
        "data": {
            "file_system": "ext4",
            "device": "nvme0n1",
            "model": "Samsung SSD 990 PRO 2TB",
            "rotational": False,
            "scheduler": "none",
            "size_bytes": 2_000_398_934_016,
            "mount_options": "rw,noatime",
            "unsure": None,
        },
    }
    return msgspec.convert(facts, HostFacts)


def generator() -> Ceiling:
    """The last line of generator.jsonl."""
    loads = ((1, 38_417.2, 19.84), (8, 181_640.7, 3.104))
    return Ceiling(
        mono_ns=1,
        unix_ns=1,
        version="0.1.0",
        loads=tuple(
            CeilingLoad(
                connections=connections,
                threads=(Thread(busy_share=0.97),),
                seconds=0.5,
                operations=round(per_s / 2),
                per_s=per_s,
                cpu_us_per_operation=cpu_us,
            )
            for connections, per_s, cpu_us in loads
        ),
    )


def server(arm: str) -> ServerFacts:
    """server.json of an arm such as `pg18`."""
    number = arm.removeprefix("pg")
    facts = {
        "engine": "postgres",
        "version": f"{number}.6",
        "version_text": f"PostgreSQL {number}.6 on x86_64-pc-linux-gnu, compiled by gcc 12.2.0",
        "compiler": "gcc (Debian 12.2.0-14) 12.2.0",
        "config": "x10b",
        "departures": ["max_wal_size 38GB instead of 40GB: 20 % of the free disk"],
        "nondefault": {
            "shared_buffers": "23GB",
            "synchronous_commit": "off",
            "checkpoint_timeout": "1800s",
            "jit": "off",
            "autovacuum_vacuum_scale_factor": "0.05",
        },
        "data_checksums": "on",
    }
    return msgspec.convert(facts, ServerFacts)


def plan(arms: Sequence[str], blocks: int) -> PlanRecord:
    """plan.json, with its TOML."""
    text = "\n".join(
        [
            "[plan]",
            'name = "insert-pg17-pg18"',
            f"blocks = {blocks}",
            *(f'\n[[arm]]\nname = "{arm}"\nversion = "{arm.removeprefix("pg")}.6"' for arm in arms),
            '\n[[workload]]\nname = "insert-benchmark"  # <not a tag> & "quoted"',
        ]
    )
    record = {
        "name": "insert-pg17-pg18",
        "base": arms[0],
        "text": text,
        "dyno": "0.1.0",
        "seed": 42,
        "blocks": blocks,
        "arms": [
            {
                "name": arm,
                "build": {"version": f"{arm.removeprefix('pg')}.6", "sha256": "6bd2" * 16},
            }
            for arm in arms
        ],
        "sizing": {"cores": 8, "memory_bytes": 33_285_996_544, "free_disk_bytes": 3 << 39},
        "workloads": [{"name": "insert-benchmark", "sha256": "9f2c" * 16}],
    }
    return msgspec.convert(record, PlanRecord)


def differences(arms: Sequence[str]) -> tuple[Difference, ...]:
    """The version, which the plan names, and a setting, which it does not."""
    return (
        Difference(
            what="version",
            values={arm: f"{arm.removeprefix('pg')}.6" for arm in arms},
            planned=True,
        ),
        Difference(
            what="setting io_method",
            values={arm: "worker" if place else "none" for place, arm in enumerate(arms)},
            planned=False,
        ),
    )
