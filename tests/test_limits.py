"""Latency limits, tries without limit, failures by class: from a workload file to a reader."""

from pathlib import Path
from typing import Any

import pytest

from dbdyno.analysis.step import assemble
from dbdyno.model import Json, StepRun
from doubted import doubted
from run_builder import operation, served
from test_pgbench import complaint as pgbench_complaint
from test_pgbench import steps as pgbench_steps
from test_statements import edit_json, edit_ticks, folder
from workload_reader import complaint, job_of, role, steps

TIMED = """
[statements]
get = "SELECT 1"

[[steps]]
name = "work"
seconds = 10
[steps.roles.query]
run = "get"
pace = { per_s = 100, arrivals = "poisson" }
latency_limit_ms = 5
on_error = { tries = 0, otherwise = "count_retryable" }
"""


# --- What a workload file says -------------------------------------------------------------------


def test_a_roles_limit_and_tries_without_limit_are_in_its_job(tmp_path: Path) -> None:
    (step,) = steps(TIMED, tmp_path)
    made = role(step, "query")
    assert made["latency_limit_ms"] == 5.0
    assert (made["on_error"]["tries"], made["on_error"]["otherwise"]) == (0, "count_retryable")
    (step,) = steps(TIMED.replace("= 5\n", "= 0\n"), tmp_path)
    assert "latency_limit_ms" not in role(step, "query"), "0 is none"


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        (
            "seconds = 10",
            "",
            "key `steps[1].roles.query.on_error.tries`: 0, without limit, needs an end; give the "
            "role `latency_limit_ms` or the step `seconds`",
        ),
        (
            "tries = 0",
            "tries = -1",
            "key `steps[1].roles.query.on_error.tries`: must be at least 0, but is -1",
        ),
        (
            "limit_ms = 5",
            "limit_ms = -5",
            "key `steps[1].roles.query.latency_limit_ms`: must be at least 0, but is -5",
        ),
        (
            "limit_ms = 5",
            "limit_ms = 86_400_001",
            "key `steps[1].roles.query.latency_limit_ms`: must be at most 86400000, but is "
            "86400001",
        ),
    ],
)
def test_a_limit_that_cannot_be_kept_is_refused(before: str, after: str, line: str, tmp_path: Path):
    text = TIMED.replace(before, after)
    if not after:
        text = text.replace("latency_limit_ms = 5\n", "stop = { operations = 9 }\n")
    assert complaint(text, tmp_path) == line


def test_pgbenchs_options_are_parameters_of_its_workload() -> None:
    made = job_of(pgbench_steps(latency_limit_ms=5, tries=0, rate=500)["tpcb-like"])["roles"][0]
    assert (made["latency_limit_ms"], made["on_error"]["tries"]) == (5.0, 0)
    assert made["on_error"]["otherwise"] == "count_retryable"
    plain = job_of(pgbench_steps()["select-only"])["roles"][0]
    assert plain["on_error"]["tries"] == 10
    assert "latency_limit_ms" not in plain
    line = pgbench_complaint(tries=0, transactions=10)
    assert line.endswith("give the role `latency_limit_ms` or the step `seconds`")


def test_a_role_may_have_a_connection_for_each_operation(tmp_path: Path) -> None:
    text = TIMED.replace("latency_limit_ms", 'connect = "each"\nlatency_limit_ms')
    (step,) = steps(text, tmp_path)
    assert role(step, "query")["connect"] == "each"
    (plain,) = steps(TIMED, tmp_path)
    assert "connect" not in role(plain, "query")
    line = complaint(text.replace('"each"', '"eech"'), tmp_path)
    assert (
        line == "key `steps[1].roles.query.connect`: no such word as `eech`; did you mean `each`?"
    )
    assert job_of(pgbench_steps(connect="each")["select-only"])["roles"][0]["connect"] == "each"
    assert "connect has to be once or each" in pgbench_complaint(connect="often")


def test_a_step_may_log_a_share_of_its_operations(tmp_path: Path) -> None:
    (step,) = steps(TIMED.replace("seconds = 10", "seconds = 10\nlog = 0.1"), tmp_path)
    assert job_of(step)["log"] == {"share": 0.1}
    assert "log" not in job_of(steps(TIMED, tmp_path)[0])
    line = complaint(TIMED.replace("seconds = 10", "seconds = 10\nlog = 2"), tmp_path)
    assert line == "key `steps[1].log`: must be at most 1, but is 2"
    assert job_of(pgbench_steps(log=1)["tpcb-like"])["log"] == {"share": 1.0}


def test_arrivals_may_be_dealt_out_to_threads(tmp_path: Path) -> None:
    text = TIMED.replace("latency_limit_ms", 'queue = "thread"\nlatency_limit_ms')
    assert role(steps(text, tmp_path)[0], "query")["queue"] == "thread"
    line = complaint(text.replace('"poisson"', '"burst"'), tmp_path)
    assert line.endswith("queue`: only even and random arrivals can be shared; remove it")
    assert job_of(pgbench_steps(rate=5)["select-only"])["roles"][0]["queue"] == "thread"


# --- What a reader sees --------------------------------------------------------------------------


def limited(tmp_path: Path, of_query: dict[str, Any], **role_keys: Any) -> StepRun:
    """The step whose query role has those keys, and each of whose seconds has those figures."""
    made = folder(tmp_path)

    def edit_role(job: Json) -> None:
        next(one for one in job["roles"] if one["name"] == "query").update(role_keys)

    edit_json(made.path / "job.json", edit_role)
    edit_ticks(made.path, lambda tick: tick["operations"]["query"].update(of_query))
    return assemble.step_run(made)


RATE = {"kind": "rate", "arrivals": "poisson", "per_s": 5_000.0}


def test_what_was_skipped_and_over_the_limit_is_counted_and_said(tmp_path: Path) -> None:
    counts = {"skipped": 40, "over_limit": 10, "failed": {"40001": 60}}
    run = limited(tmp_path, counts, pace=RATE, latency_limit_ms=5.0)
    assert (run.metrics["skipped"], run.metrics["over_limit"]) == (800.0, 200.0)
    assert doubted(run)[:2] == (
        "operations skipped: 800 of 102,000 (0.8 %) of `query`, never sent: already past "
        "the latency limit when a connection was free",
        "over the latency limit: 200 of 100,000 (0.2 %) operations of `query` took over 5 ms",
    )


def test_nothing_skipped_is_0_at_a_rate_with_a_limit_and_unknown_without(tmp_path: Path) -> None:
    found = {
        name: limited(tmp_path / name, {}, **keys).metrics
        for name, keys in {
            "both": {"pace": RATE, "latency_limit_ms": 5.0},
            "limit": {"latency_limit_ms": 5.0},
            "rate": {"pace": RATE},
        }.items()
    }
    assert [found[name]["skipped"] for name in found] == [0.0, None, None]
    assert [found[name]["over_limit"] for name in found] == [0.0, 0.0, None]


def test_failures_have_pgbenchs_classes_and_retries_their_operations(tmp_path: Path) -> None:
    failed = {"40001": 3, "40P01": 2, "53300": 1}
    counts = {"failed": failed, "errors": failed | {"40001": 8}, "retries": 5, "retried": 4}
    run = limited(tmp_path, counts)
    classes = [run.metrics[f"failed_{name}"] for name in ("serialization", "deadlock", "other")]
    assert classes == [60.0, 40.0, 20.0]
    assert (run.metrics["retries"], run.metrics["retried"]) == (100.0, 80.0)
    assert "retries: 100 statements were sent again, of 80 operations" in doubted(run)


def test_on_innodb_40001_is_a_deadlock(tmp_path: Path) -> None:
    made = folder(tmp_path)
    edit_json(made.path / "job.json", lambda job: job.update(engine="mysql"))
    edit_ticks(made.path, lambda tick: tick["operations"]["query"].update(failed={"40001": 3}))
    found = assemble.step_run(made).metrics
    assert (found["failed_serialization"], found["failed_deadlock"]) == (0.0, 60.0)


def test_words_of_pgbenchs_log_count_in_their_place(tmp_path: Path) -> None:
    words = {"deadlock": 2, "failed": 1}
    made = folder(tmp_path)

    def edit(tick: Json) -> None:
        tick["operations"]["query"].update(errors=words, skipped=5)
        tick["per_client"][0][2] += sum(words.values())

    edit_ticks(made.path, edit)
    run = assemble.step_run(made)
    assert run.metrics["skipped"] == 100.0
    assert (run.metrics["failed_deadlock"], run.metrics["failed_other"]) == (40.0, 20.0)
    assert run.metrics["errors"] == 60.0, "what was skipped is no error"


def test_connections_of_operations_have_a_mean_and_no_owner(tmp_path: Path) -> None:
    made = folder(tmp_path)
    edit_json(made.path / "job.json", lambda job: job["roles"][-1].update(connect="each"))
    opened = iter(range(1, 100))

    def edit(tick: Json) -> None:
        tick["connects"] = {"count": 10, "sum_us": 10_000 * next(opened), "max_us": 99_999}

    edit_ticks(made.path, edit)
    run = assemble.step_run(made)
    assert run.metrics["connect_us_mean"] == 10_500.0
    assert doubted(run)[0].startswith(
        "a connection for each operation: the owners of sessions are unknown"
    )
    assert run.metrics["connections_cpu_per_op"] is not None


def test_means_and_deviations_are_of_exact_sums(tmp_path: Path) -> None:
    # Of 5,000 in each second half took 100 and half 300 µs since they were due, half of that late.
    sums = {
        "response": [5_000 * 200.0, 2_500 * (100.0**2 + 300.0**2)],
        "service": [5_000 * 100.0, 5_000 * 100.0**2],
        "late": [5_000 * 100.0, 2_500 * 200.0**2],
    }
    run = limited(tmp_path, {"sums_us": sums}, pace=RATE)
    names = ("response_us_mean", "response_us_sd", "late_us_mean", "late_us_sd")
    assert [run.metrics[name] for name in names] == [200.0, 100.0, 100.0, 100.0]
    query = operation(run, "query")
    assert (query.mean_us, query.sd_us) == (200.0, 100.0)
    assert (served(run)["query"].mean_us, served(run)["query"].sd_us) == (100.0, 0.0)
    closed = limited(tmp_path / "closed", {"sums_us": sums})
    assert closed.metrics["late_us_mean"] is None, "nothing says when it should have been sent"
