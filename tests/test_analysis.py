"""From a step's raw files to its metrics: planted numbers come out to the digit.

What is expected is worked out by hand from `result_planted.Planted`, in comments where it is not
plain; the window is 20 s, the machine has 2 cores, the step 2 clients.
"""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dbdyno import store
from dbdyno.analysis.step import assemble
from dbdyno.model import BackgroundFacts, Json, ResponseFacts, Span, StepRun, TargetFacts, find
from dbdyno.model.metric import METRICS
from dbdyno.model.metric.counter import COUNTER
from dbdyno.model.metric.device import DEVICE
from dbdyno.stats import hdr_histogram
from dbdyno.store import Results, StepFolder
from doubted import doubted
from result_builder import build, plant
from result_planted import Planted
from run_builder import operation, owners


def step_folder(tmp_path: Path, step: str, planted: Planted | None = None) -> StepFolder:
    """The folder of one step of an example that has this step alone."""
    numbers = planted or plant(step)
    folder = build(
        tmp_path, arms=("pg17",), blocks=1, steps=(step,), planted=lambda *_: numbers, name="one"
    )
    (run,) = Results.open(folder).blocks()[0].runs()
    return run.steps()[0]


def derived(tmp_path: Path, step: str, planted: Planted | None = None) -> StepRun:
    """That step, derived."""
    return assemble.step_run(step_folder(tmp_path, step, planted))


def change(path: Path, edit: Callable[[Json], None]) -> None:
    """Edits a JSON file of a result folder."""
    value = store.read_struct(path, Json)
    edit(value)
    store.write_json(path, value)


def change_lines(path: Path, edit: Callable[[list[Json]], list[Json]]) -> None:
    """Edits a file of JSON lines of a result folder."""
    lines = edit(list(store.read_structs(path, Json)))
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


# --- One step --------------------------------------------------------------------------------


def test_a_read_write_step_has_the_planted_metrics(tmp_path: Path) -> None:
    """5,000 queries/s at 100 us, 200 rows/s inserted at 20 us and deleted at 10 us.

    Server: 500,000 + 4,000 + 2,000 + background 5,000 + exited 500 + probe 100 = 511,600 us/s; with
    generator 40,000, lab 2,000 and rest 10,000 the host is busy 563,600 us/s of 2,000,000.
    """
    run = derived(tmp_path, "qr100")
    expected = {
        "ips": 200.0, "qps": 5_000.0, "dps": 200.0,
        "rps": 40.0, "rmbps": 40 / 64, "wps": 100.0, "wmbps": 100 / 32,
        "rpq": 0.008, "rkbpq": 0.128, "wpi": 0.5, "wkbpi": 16.0,
        "csps": 30_000.0, "cpups": 28.18, "cspq": 6.0, "cpupq": 112.72,
        "dbgb1": 2.0, "dbgb2": 5.0, "rss": 3.0, "maxop": 0.0002, "p50": 5_000.0, "p99": 5_000.0,
        "rate_max": 5_000.0,
        "response_p99_us": 200.0, "service_p99_us": 200.0, "service_p999_us": 200.0,
        "response_us_max": 200.0,
        "told_latency_ms": None,
        "rmbps_max": 40 / 64, "wmbps_max": 100 / 32, "rwmbps_max": 40 / 64 + 100 / 32,
        "read_share_of_device": None, "write_share_of_device": None,
        **dict.fromkeys(("replay_lag_s_mean", "replay_lag_s_max", "replay_lag_mb_max")),
        "catch_up_s": None,
        "disk_rrqmps": 10.0, "disk_rrqm_pct": 20.0, "disk_r_await": 0.2, "disk_rareq_sz": 16.0,
        "disk_wrqmps": 60.0, "disk_wrqm_pct": 37.5, "disk_w_await": 0.5, "disk_wareq_sz": 32.0,
        "disk_dps": 0.0, "disk_dmbps": 0.0, "disk_drqmps": 0.0, "disk_fps": 10.0,
        "disk_drqm_pct": None, "disk_d_await": None, "disk_dareq_sz": None,  # iostat: 0
        "disk_f_await": 1.2, "disk_aqu_sz": 0.06, "disk_util_pct": 4.0, "disk_in_flight_max": 0.0,
        "late_ms_max": 1.5, "backlog_max": 3.0, "retries": 0.0,
        "errors": 0.0, "lag_us_p99": 3.0, "queue_us_p99": 3.0, "queue_share": 1.5,
        "cpu_per_op": 100.0, "server_cpu_per_op": 100.0, "whole_server_cpu_per_op": 102.32,
        "connections_cpu_per_op": None,
        **dict.fromkeys(("idle_cpu_per_op", "idle_write_kib_per_op", "idle_cpu_share")),
        "insert_cpu_per_row": 20.0, "delete_cpu_per_row": 10.0,
        "background_cpu_per_op": 1.1, "generator_cpu_per_op": 8.0,
        "generator_share": 100 * 40_000 / 511_600, "cs_per_op": 2.0, "steal_share": 0.0,
        "lab_cpu_share": 0.1, "wpq": 0.02, "wkbpq": 0.64,
        "tps": 5_000.0, "statements_ps": 5_000.0, "control_ps": 0.0, "rows_ps": 50_000.0,
        "found_share": None, "scan": None, "scan_krows_client": None,
        "jain": 1.0, "finish_diff_s": 0.0, "finish_pct": 0.0, "stalled_s": 0.0,
        "stall_longest_s": 0.0, "target_missed_s": 0.0, "dps_share_of_target": 100.0,
        "wal_bytes_per_op": 100.0, "wal_mib_per_min": 60 * 500_000 / (1 << 20),
        "fpi_per_op": 0.004, "checkpoints": 1.0, "checkpoints_requested": 1.0,
        "checkpoint_overlap_s": 4.0, "autovacuum_runs": 1.0, "dead_rows_after": 1_234.0,
        "dirty_mb_open": 64.0, "dirty_mb_close": 96.0,
        "canary_cpu_us": 20_000.0, "canary_memory_ns": 90.0, "canary_fsync_us": 400.0,
        "checkpointer_cpu_per_op": 0.8, "writer_cpu_per_op": 0.2, "autovacuum_cpu_per_op": 0.0,
        "io_worker_cpu_per_op": 0.0, "parallel_cpu_per_op": 0.0,
        "connection_us_per_op": 400.0, "unaccounted_us_per_op": 300.0,  # of two connections
        "role_read_kib_per_op": 0.0, "role_write_kib_per_op": 0.0,
    }  # fmt: skip
    not_planted = "runnable_us client_us wait_io_us wait_lwlock_us wait_lock_us wait_ipc_us"
    for name in (*not_planted.split(), "wait_other_us", "buffers_hit", "buffers_read"):
        expected[f"{name}_per_op"] = None
    untold = "response_us_mean response_us_sd late_us_mean late_us_sd retried over_limit skipped"
    untold += " generic_plans undisturbed_us"
    untold += " connect_us_mean riops opm seconds mbps rolled_back blocks_read_ps blocks_hit_ps"
    failed = "failed_serialization failed_deadlock failed_other"
    expected |= dict.fromkeys((*untold.split(), *failed.split()))
    expected |= {row.name: None for row in METRICS if row.servers == "InnoDB"}
    expected |= {row.name: None for row in COUNTER}
    expected |= {row.name: None for row in DEVICE if row.name.startswith("wal_disk")}
    assert dict(run.metrics) == pytest.approx(expected)
    assert run.ending.status == "ok"
    assert run.window.seconds == 20.0
    assert run.facts.headline == "qps"
    assert doubted(run) == ()


def test_times_beyond_the_histograms_are_a_warning(tmp_path: Path) -> None:
    folder = step_folder(tmp_path, "qr100")

    def longer(lines: list[Json]) -> list[Json]:
        for line in lines:
            if line["event"] == "tick" and line["role"] == "query":
                (operation,) = line["operations"].values()
                operation["response"] = hdr_histogram.encoded(
                    np.array([hdr_histogram.CELLS - 1]), np.array([operation["count"]])
                )
                operation["max_us"] = 60 * 86_400_000_000
        return lines

    change_lines(folder.path / "events.jsonl", longer)
    said = [text for text in doubted(assemble.step_run(folder)) if text.startswith("percentiles")]
    assert said == [
        "percentiles at least: operations of `query.query` took up to 1,440.0 h, and histograms end"
        " at 1,221.7 h"
    ]


def test_results_of_older_generators_have_no_lag_and_no_queue(tmp_path: Path) -> None:
    folder = step_folder(tmp_path, "qr100")

    def as_older(events: list[Json]) -> list[Json]:
        new = {"lag", "queue"}
        return [{key: event[key] for key in event.keys() - new} for event in events]

    change_lines(folder.path / "events.jsonl", as_older)
    metrics = assemble.step_run(folder).metrics
    assert (metrics["lag_us_p99"], metrics["queue_us_p99"]) == (None, None)
    assert metrics["queue_share"] is None
    assert metrics["late_ms_max"] == 1.5


def test_a_write_step_counts_rows_and_divides_by_rows(tmp_path: Path) -> None:
    """40,000 rows/s at 20 us; the host is busy 857,600 us/s."""
    metrics = derived(tmp_path, "l.i0").metrics
    expected = {
        "ips": 40_000.0, "qps": 0.0, "dps": 0.0, "p50": 40_000.0, "p99": 40_000.0,
        "cpups": 42.88, "cpupq": 21.44, "cspq": 0.75, "wpi": 0.0025, "wkbpi": 0.08,
        "rpq": 0.001, "rkbpq": 0.016, "server_cpu_per_op": 20.0, "insert_cpu_per_row": 20.0,
        "delete_cpu_per_row": None, "wal_bytes_per_op": 12.5, "fpi_per_op": 0.0005,
        "maxop": 0.0008, "generator_share": 100 * 40_000 / 805_600,
    }  # fmt: skip
    assert {name: metrics[name] for name in expected} == pytest.approx(expected)


def test_index_creation_is_counted_in_indexed_rows(tmp_path: Path) -> None:
    """4,000,000 rows in 10 s; a core for one second is 0.25 us a row, 10 of them 2.5."""
    metrics = derived(tmp_path, "l.x").metrics
    assert metrics["ips"] == pytest.approx(400_000.0)
    assert metrics["server_cpu_per_op"] == pytest.approx(2.5)
    assert metrics["wpi"] == pytest.approx(0.00025)
    assert (metrics["p50"], metrics["p99"]) == (None, None)


def test_every_metric_of_the_table_is_computed_and_no_other(tmp_path: Path) -> None:
    for step in ("l.i0", "l.x", "cleanup", "qr100"):
        run = derived(tmp_path / step, step)
        assert sorted([*run.metrics, find.METRIC]) == sorted(row.name for row in METRICS), (
            "what a search finds is of several steps"
        )


def test_the_owners_costs_add_up_to_what_the_host_spent(tmp_path: Path) -> None:
    run = derived(tmp_path, "qr100")
    assert sum(cost.cpu_us for cost in owners(run).values()) == pytest.approx(20 * 563_600)
    assert owners(run)["rest"].cpu_us == pytest.approx(200_000, abs=100)
    assert owners(run)["role:query"].context_switches == pytest.approx(200_000)
    assert owners(run)["exited"].context_switches is None


def test_an_owner_that_came_in_the_window_counts_from_nothing(tmp_path: Path) -> None:
    folder = step_folder(tmp_path, "qr100")
    worker = {"cpu_ns": 7_000_000, "voluntary": 3, "involuntary": 1, "read_bytes": 8_192}

    def add(lines: list[Json]) -> list[Json]:
        close = next(line for line in lines if line["kind"] == "close")
        close["owners"]["background:autovacuum worker"] = {**worker, "write_bytes": None}
        return lines

    change_lines(folder.path / "host.jsonl", add)
    cost = owners(assemble.step_run(folder))["background:autovacuum worker"]
    assert (cost.cpu_us, cost.context_switches, cost.read_bytes) == (7_000.0, 4.0, 8_192.0)
    assert cost.write_bytes is None


def test_slow_queries_show_in_the_tail_and_in_their_bucket(tmp_path: Path) -> None:
    """1,500 of 100,000 took 300 ms: more than 1 %."""
    planted = plant("qr100", slow={"query": (1_500, 300_000)})
    run = derived(tmp_path, "qr100", planted)
    times = run.of(ResponseFacts).by_kind["query"]
    assert times.count == 100_000
    assert times.buckets == (98_500, 0, 0, 0, 0, 0, 1_500, 0, 0, 0)
    assert (times.p50_us, times.p90_us, times.p99_us, times.max_us) == (200, 200, 300_000, 300_000)
    assert run.metrics["response_p99_us"] == 300_000.0
    assert run.metrics["maxop"] == pytest.approx(0.3)
    assert run.of(ResponseFacts).by_kind["insert"].max_us == 800
    assert run.series["query.max_us"].y[:2] == (300_000.0, 200.0)


def test_a_statement_of_a_transaction_does_not_count_as_a_query_of_its_own(tmp_path: Path) -> None:
    """A program of two sends is timed as a whole beside its statements."""
    folder = step_folder(tmp_path, "qr100")

    def as_transaction(lines: list[Json]) -> list[Json]:
        for line in lines:
            if line.get("role") == "query" and "operations" in line:
                line["operations"]["both"] = dict(line["operations"]["query"])
        return lines

    def with_programs(job: Json) -> None:
        index = [statement["name"] for statement in job["statements"]].index("query")
        job["programs"] = [
            {"name": "both", "code": [["send", index], ["send", index]]},
            {"name": "insert", "code": [["draw", 0], ["send", 0]]},
        ]

    change_lines(folder.path / "events.jsonl", as_transaction)
    change(folder.path / "job.json", with_programs)
    run = assemble.step_run(folder)
    assert run.of(ResponseFacts).by_kind["query"].count == 100_000
    assert operation(run, "both").count == operation(run, "query").count == 100_000


def test_a_short_last_tick_has_no_rate_but_its_work_counts(tmp_path: Path) -> None:
    planted = plant("l.i0", seconds=10.25)
    run = derived(tmp_path, "l.i0", planted)
    assert run.metrics["ips"] == pytest.approx(40_000.0)
    assert run.metrics["p99"] == 40_000.0
    assert run.series["insert.rate"].x_s == tuple(float(x) for x in range(1, 11))
    assert run.series["insert.max_us"].x_s[-1] == 10.25


def test_under_ten_whole_seconds_have_no_percentile(tmp_path: Path) -> None:
    assert derived(tmp_path, "l.i0", plant("l.i0", seconds=9.75)).metrics["p50"] is None


def test_the_warm_up_counts_for_nothing(tmp_path: Path) -> None:
    folder = step_folder(tmp_path, "qr100")

    def warm(lines: list[Json]) -> list[Json]:
        ticks = [line for line in lines if line["event"] == "tick" and line["tick"] == 1]
        before = [{**tick, "tick": 0, "measured": False} for tick in ticks]
        return before + lines

    change_lines(folder.path / "events.jsonl", warm)
    run = assemble.step_run(folder)
    assert run.metrics["qps"] == 5_000.0
    assert run.of(ResponseFacts).by_kind["query"].count == 100_000
    assert run.series["query.rate"].x_s[0] == 1.0


def test_series_are_of_all_clients_and_of_the_host(tmp_path: Path) -> None:
    series = derived(tmp_path, "qr100").series
    assert set(series) == {
        "insert.rate", "insert.max_us", "delete.rate", "delete.max_us", "query.rate",
        "query.max_us", "host.cpu_pct", "disk.read_mbps", "disk.write_mbps",
        "disk.r_await", "disk.w_await", "disk.aqu_sz", "disk.util_pct",
        "insert.client.0.rate", "insert.client.1.rate",
        "delete.client.0.rate", "delete.client.1.rate",
        "query.client.0.rate", "query.client.1.rate",
    }  # fmt: skip
    assert series["query.rate"].y == (5_000.0,) * 20
    assert series["query.client.1.rate"].y == (2_500.0,) * 20
    assert series["insert.rate"].y == (200.0,) * 20
    # readings at 0.4 s (too short a time), 1.4 s … 19.4 s, and the close at 20 s
    assert series["host.cpu_pct"].x_s == pytest.approx([*(1.4 + s for s in range(19)), 20.0])
    assert series["host.cpu_pct"].y == pytest.approx([28.18] * 20, abs=0.001)
    assert series["disk.write_mbps"].y == pytest.approx([100 * 0.032768] * 20, rel=1e-2)


# --- Spans -----------------------------------------------------------------------------------


def test_checkpoints_and_autovacuums_lie_on_the_windows_clock(tmp_path: Path) -> None:
    spans = derived(tmp_path, "qr100").of(BackgroundFacts).spans
    assert [(span.kind, span.start_s, span.end_s) for span in spans] == [
        ("checkpoint", pytest.approx(5.0), pytest.approx(9.0)),
        ("autovacuum", pytest.approx(12.0), pytest.approx(13.5)),
    ]
    assert spans[1].label == "vacuum ib.public.pi1"


def test_only_the_part_of_a_checkpoint_in_the_window_counts(tmp_path: Path) -> None:
    """-3 to 2 s, 8 to 10 s, and 18 to 25 s of 20 s: 2 + 2 + 2; one before the window: nothing."""
    planted = plant("qr100", checkpoints=((-9.0, -5.0), (-3.0, 2.0), (8.0, 10.0), (18.0, 25.0)))
    run = derived(tmp_path, "qr100", planted)
    assert run.metrics["checkpoint_overlap_s"] == pytest.approx(6.0)
    assert len([span for span in run.of(BackgroundFacts).spans if span.kind == "checkpoint"]) == 3


def test_time_that_two_spans_share_counts_once() -> None:
    """-1 to 5, 3 to 8 and 4 to 6 s cover 8 of 10 s; another kind covers nothing of it."""
    spans = tuple(
        Span(kind=kind, label="", start_s=start_s, end_s=end_s)
        for kind, start_s, end_s in [("a", 3, 8), ("a", -1, 5), ("a", 4, 6), ("b", 8, 10)]
    )
    assert BackgroundFacts(spans=spans).overlap_s("a", 10.0) == 8.0


def test_a_checkpoint_that_is_still_running_reaches_to_the_windows_end(tmp_path: Path) -> None:
    folder = step_folder(tmp_path, "qr100")
    change(folder.path / "done.json", lambda done: done["log_events"].pop(1))
    run = assemble.step_run(folder)
    (span,) = [span for span in run.of(BackgroundFacts).spans if span.kind == "checkpoint"]
    assert (span.start_s, span.end_s) == (pytest.approx(5.0), 20.0)
    assert "still running" in span.label
    assert run.metrics["checkpoint_overlap_s"] == pytest.approx(15.0)


def test_without_checkpoints_in_the_log_their_time_is_not_known(tmp_path: Path) -> None:
    folder = step_folder(tmp_path, "qr100")
    change(folder.path / "done.json", lambda done: done["log_events"].clear())
    metrics = assemble.step_run(folder).metrics
    assert metrics["checkpoints"] == 1.0
    assert metrics["checkpoint_overlap_s"] is None
    metrics = derived(tmp_path / "none", "qr100", plant("qr100", checkpoints=())).metrics
    assert (metrics["checkpoints"], metrics["checkpoint_overlap_s"]) == (0.0, 0.0)


# --- Missing parts ---------------------------------------------------------------------------


def test_what_a_version_does_not_have_is_none(tmp_path: Path) -> None:
    folder = step_folder(tmp_path, "qr100")
    for name in ("before.json", "after.json"):
        change(folder.path / name, lambda state: state["wal"].pop("full_page_images"))
    metrics = assemble.step_run(folder).metrics
    assert metrics["fpi_per_op"] is None
    assert metrics["wal_bytes_per_op"] == 100.0


def test_without_a_database_the_rest_is_derived(tmp_path: Path) -> None:
    """As with the fake engine: no before.json, no after.json, no canary, no log."""
    folder = step_folder(tmp_path, "qr100")
    (folder.path / "before.json").unlink()
    (folder.path / "after.json").unlink()
    change(
        folder.path / "done.json", lambda done: done.update(canary={"before": None, "after": None})
    )
    metrics = assemble.step_run(folder).metrics
    assert metrics["dbgb1"] is metrics["wal_bytes_per_op"] is metrics["canary_cpu_us"] is None
    assert metrics["qps"] == 5_000.0
    assert metrics["server_cpu_per_op"] == 100.0


def test_without_a_closing_reading_costs_are_none_and_it_is_said(tmp_path: Path) -> None:
    folder = step_folder(tmp_path, "qr100")
    change_lines(
        folder.path / "host.jsonl",
        lambda lines: [line for line in lines if line["kind"] not in ("close", "end")],
    )
    run = assemble.step_run(folder)
    assert run.metrics["cpupq"] is run.metrics["server_cpu_per_op"] is run.metrics["rps"] is None
    assert run.metrics["qps"] == 5_000.0
    assert any(text.startswith("counters missing") for text in doubted(run))


def test_a_step_without_its_end_is_failed(tmp_path: Path) -> None:
    folder = step_folder(tmp_path, "qr100")
    done = (folder.path / "done.json").read_text()
    (folder.path / "done.json").unlink()
    run = assemble.step_run(folder)
    assert (run.ending.status, run.metrics) == ("failed", {})
    assert "interrupted" in (run.ending.reason or "")
    assert run.series["query.rate"].y == (5_000.0,) * 20, "what there is stays to be seen"
    (folder.path / "done.json").write_text(done)
    change_lines(
        folder.path / "events.jsonl",
        lambda lines: [line for line in lines if line["event"] != "window_close"],
    )
    assert "window_close" in (assemble.step_run(folder).ending.reason or "")


# --- SLA -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows_per_s", "achieved", "met"),
    [(200.0, 200.0, True), (190.0, 190.0, True), (185.0, 185.0, False)],
)
def test_the_target_is_held_at_95_percent_of_it(
    tmp_path: Path, rows_per_s: float, achieved: float, met: bool
) -> None:
    """200 rows/s are asked for; 190 is the least that holds."""
    run = derived(tmp_path, "qr100", plant("qr100", insert_rows_per_s=rows_per_s))
    assert run.facts.sla_target == 200.0
    assert run.of(TargetFacts).achieved_per_s == pytest.approx(rows_per_s)
    assert run.of(TargetFacts).met is met
    assert any("target rate missed: 185 of 200" in text for text in doubted(run)) is not met


def test_a_step_without_a_target_has_no_verdict_on_it(tmp_path: Path) -> None:
    run = derived(tmp_path, "l.i0")
    assert (run.facts.sla_target, run.of(TargetFacts).achieved_per_s, run.of(TargetFacts).met) == (
        None,
        None,
        None,
    )


# --- Doubts ----------------------------------------------------------------------------------

WARNINGS: list[tuple[str, dict[str, object], str]] = [
    ("l.i0", {"generator_cpu_us_per_s": 100_000.0}, "CPU of the load generator: 12.4 % of the"),
    ("qr100", {"generator_busy_share": 0.82}, "at its limit: its busiest thread was busy 82 %"),
    ("qr100", {"late_us": 2_500_000, "backlog": 1_200}, "up to 2.5 s late, up to 1,200 waiting"),
    ("qr100", {"steal_us_per_s": 60_000.0}, "CPU taken by other machines: 3.0 %"),
    ("qr100", {"lab_cpu_us_per_s": 200_000.0}, "the lab itself: 10.0 % of all cores"),
    ("qr100", {"swap_pages_per_s": 5.0}, "swap: 100 pages"),
    ("qr100", {"errors": 12}, "errors: 12 operations failed"),
    ("qr100", {"retries": 3}, "retries: 3 statements"),  # no error, as they came through
    ("qr100", {"checks_ok": False}, "fewer than expected: rows of pi1: 90 of 100"),
]


@pytest.mark.parametrize(("step", "changes", "text"), WARNINGS)
def test_what_spoils_a_step_is_said_with_its_figures(
    tmp_path: Path, step: str, changes: dict[str, object], text: str
) -> None:
    warnings = doubted(derived(tmp_path, step, plant(step, **changes)))
    assert len(warnings) == 1
    assert text in warnings[0]


def test_clients_that_end_apart_are_shown_both_rates(tmp_path: Path) -> None:
    """20,000 rows/s each; client 1 ends at 15 s: 700,000 rows in 20 s, 600,000 in the first 15."""
    run = derived(tmp_path, "l.i0", plant("l.i0", ends_early_s=5))
    assert run.metrics["ips"] == pytest.approx(35_000.0)
    assert run.window.end_spread == pytest.approx(0.25)
    (warning,) = doubted(run)
    assert "25.0% of the window" in warning
    assert "35,000/s over all of it, 40,000/s in the 15 s common to all" in warning


def test_readings_that_came_late_and_errors_in_the_log_are_said(tmp_path: Path) -> None:
    folder = step_folder(tmp_path, "qr100")

    def late(lines: list[Json]) -> list[Json]:
        for line in lines:
            if line["kind"] == "close":
                line["delay_ns"] = 80_000_000
        return lines

    event = {"unix_ms": 0, "kind": "error", "text": "ERROR: deadlock detected", "duration_s": None}
    change_lines(folder.path / "host.jsonl", late)
    change(folder.path / "done.json", lambda done: done["log_events"].append(event))
    said = " ".join(doubted(assemble.step_run(folder)))
    assert "80 ms after the window's end" in said and "server's log: ERROR: deadlock" in said
