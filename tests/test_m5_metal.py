"""The m5.metal study's tool: its model and gates by hand, and its tables of a made-up result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import m5_metal
import result_builder
from dbdyno import plan, workload
from dbdyno.evidence.raw_files import Host
from dbdyno.model.host_facts import HostFacts, Storage
from dbdyno.model.host_reading import HostCounters, OwnerCounters, Reading
from dbdyno.model.plan import Plan
from dbdyno.model.snapshot import Snapshot
from run_builder import step_run
from workload_reader import job_of

PAGES = 16_515_072
"""The study's accounts."""
GIB = 1 << 30
ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize(
    ("updates", "checkpoints", "images"),
    [(1.2e6, 0, 1.16e6), (18e6, 0, 11.0e6), (36e6, 1, 22.0e6), (1, 0, 1)],
)
def test_the_model_s_images_are_those_of_the_study(
    updates: float, checkpoints: int, images: float
) -> None:
    assert m5_metal.images(PAGES, updates, checkpoints) == pytest.approx(images, rel=0.01)


@pytest.mark.parametrize(
    ("counted", "met"),
    [
        ({"checkpoints": 2.0, "checkpoints_requested": 0.0}, [True, True]),
        ({"checkpoints": 2.0, "checkpoints_requested": 2.0}, [False, False]),
        ({"checkpoints": 3.0, "checkpoints_requested": 1.0}, [True, False]),
        ({"checkpoints": None, "checkpoints_requested": None}, [None]),
    ],
)
def test_a_point_has_timed_checkpoints_and_no_requested_ones(
    counted: dict[str, float | None], met: list[bool | None]
) -> None:
    assert [one for _, one in m5_metal.checkpoints(counted)] == met


def test_room_is_that_of_the_log_s_own_device_or_of_both() -> None:
    storage = Storage(free_bytes=100 * GIB, total_bytes=150 * GIB)
    of_the_log = HostFacts(wal=storage)
    of_both = HostFacts(data=storage)

    def after(wal_gib: int) -> Snapshot:
        return Snapshot(sizes={"data_dir_bytes": 60 * GIB, "wal_dir_bytes": wal_gib * GIB})

    assert m5_metal.free_space(after(75), of_the_log)[1] is False
    assert m5_metal.free_space(after(60), of_the_log)[1] is True
    assert m5_metal.free_space(after(60), of_both)[1] is False
    assert m5_metal.free_space(None, of_both)[1] is None


def test_a_rate_is_steady_within_a_tenth() -> None:
    assert m5_metal.steady([0, 0, *[100] * 8, *[0] * 10, *[95] * 10])[1] is True
    assert m5_metal.steady([0, 0, *[100] * 8, *[0] * 10, *[90] * 10]) == (
        "not steady: early +11% beside late",
        False,
    )
    assert m5_metal.steady([])[1] is None


def reading(moment: str, busy_us: int, generator_ns: int) -> Reading:
    host = HostCounters(cpu_us={"user": busy_us, "idle": busy_us})
    owners = {"generator": OwnerCounters(cpu_ns=generator_ns)}
    return Reading(moment=moment, mono_ns=0, host=host, owners=owners)


@pytest.mark.parametrize(("generator_us", "met"), [(300, True), (500, False)])
def test_the_client_takes_under_a_fifth_of_the_host(generator_us: int, met: bool) -> None:
    readings = (reading("open", 0, 0), reading("close", 1000, generator_us * 1000))
    assert m5_metal.client_share(Host(readings=readings))[1] is met
    assert m5_metal.client_share(Host(readings=()))[1] is None


def point(arm: str, clients: int, tps: float, *failed: str, **metrics: float) -> m5_metal.Point:
    run = step_run(metrics={"qps": tps} | metrics)
    warm = {"pgbench_accounts": (8192 * 1000, 8192 * 500), "pgbench_accounts_pkey": (100, 100)}
    return m5_metal.Point(
        arm=arm, clients=clients, block=1, run=run, warm=warm, failed=failed, unknown=("swap",)
    )


def test_the_page_has_the_curve_its_drop_the_log_and_what_fails() -> None:
    found = [
        point("pg12", 1, 100.0, checkpoints=2.0, checkpoints_requested=1.0),
        point("pg12", 1, 110.0, "no huge pages"),
        point("pg12", 8, 50.0, autovacuum_runs=2.0),
        point("pg18", 1, 90.0),
    ]
    lines = list(m5_metal.page(found))
    assert "| 1 | 105 (100 to 110) ✗ | 90 |" in lines
    assert "| 8 | 50 | failed |" in lines
    assert "| last by best | 0.48 | 1.00 |" in lines
    (first,) = [line for line in lines if "1 + 1" in line]
    assert first.endswith("| 1 + 1 | 50%, 100% |")
    assert "- pg12, 1 clients, block 1: no huge pages" in lines
    assert "- pg12, 8 clients, block 1: none; autovacuum ran 2 times" in lines
    assert "- pg12, 1 clients: repeats differ by 7%" in lines
    assert lines[-1] == "- not known of some: swap, the spread of repeats (one block)"


def test_the_tables_are_written_between_their_marks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = result_builder.build(tmp_path, blocks=2)
    page = tmp_path / "page.md"
    page.write_text(f"above\n{m5_metal.BEGIN}\nold\n{m5_metal.END}\nbelow\n")
    assert m5_metal.main([str(result), "--write", str(page)]) == 0
    text = page.read_text()
    assert text.startswith(f"above\n{m5_metal.BEGIN}\nTransactions per second")
    assert text.endswith(f"{m5_metal.END}\nbelow\n")
    assert "\nold\n" not in text
    assert m5_metal.main([str(tmp_path / "none")]) == 1
    assert capsys.readouterr().err.startswith("m5_metal: ")


def plan_of(name: str) -> Plan:
    return plan.load(ROOT / "plans" / "studies" / f"{name}.toml")


@pytest.mark.long
def test_the_study_s_plans_keep_its_ratios() -> None:
    """9.5.21, 9.6, 10, 11 and 12.1 were compared; 9.6 is the oldest version that dyno has."""
    whole = plan_of("m5-metal-full")
    versions = [arm.version for arm in whole.arms if arm.shown]
    assert versions == ["9.6", *(str(major) for major in range(10, 19))]
    assert whole.base == "pg96"
    assert whole.require["huge_pages"] is True
    assert {arm.config for arm in whole.arms} == {"m5.metal"}
    for name in ("m5-metal", "m5-metal-wal"):
        (use,) = plan_of(name).workloads
        assert (use.preset, use.parameters["scale"]) == ("m5.metal", 26)


@pytest.mark.parametrize(
    ("cores", "memory_gb", "scale", "clients"),
    [(96, 384, 9_997, [1, 16, 32, 64, 128, 256, 512]), (8, 16, 416, [1, 2, 3, 6, 11, 22, 43])],
)
def test_the_preset_has_the_study_s_scale_and_clients(
    cores: int, memory_gb: int, scale: int, clients: list[int]
) -> None:
    loaded = workload.load("pgbench", set="scale-up", preset="m5.metal")
    host: dict[str, Any] = workload.host(cores=cores, memory_bytes=memory_gb << 30)
    steps = workload.expand(loaded, host, "postgres", steps=("tpcb-like",))
    assert [step.name for step in steps[1:]] == [f"tpcb-like@clients={n}" for n in clients]
    accounts = next(one for one in job_of(steps[0])["fills"] if one["table"] == "pgbench_accounts")
    assert accounts["rows"] == 100_000 * scale
