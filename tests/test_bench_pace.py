"""How `make bench` reads what a paced run says of itself."""

import pytest
from hdrh.histogram import HdrHistogram

from bench import pace
from bench.process import ProgramFailed
from dbdyno.model import Address, Json

ADDRESS = Address(host="/run/somewhere", port=5432, user="dyno", database="dyno")


def histogram(*values_us: int) -> str:
    """Times as they stand in events."""
    whole = HdrHistogram(1, 3_600_000_000, 3)
    for value_us in values_us:
        whole.record_value(value_us)
    return bytes(whole.encode()).decode()


def tick(*, measured: bool, count: int, lag: str, backlog: int = 0) -> Json:
    """A second of the paced role."""
    times = {"count": count, "max_us": 70, "response": histogram(*[70] * count)}
    return {
        "event": "tick",
        "measured": measured,
        "operations": {pace.ROLE: times},
        "lag": lag,
        "queue": histogram(*[3] * count),
        "backlog": backlog,
    }


DONE: Json = {"event": "done", "status": "ok", "threads": [{"busy_share": 0.25}]}


def test_the_warm_up_is_no_part_of_what_was_achieved() -> None:
    events = [
        tick(measured=False, count=50, lag=histogram(9_000)),
        tick(measured=True, count=100, lag=histogram(*[5] * 100), backlog=2),
        tick(measured=True, count=99, lag=histogram(*[5] * 96, 40, 40, 800)),
        DONE,
    ]
    found = pace.figures(events, per_s=100, seconds=2.0)
    expected = {
        "per_s": 100, "seconds": 2.0, "connections": pace.CONNECTIONS, "completed": 199,
        "achieved_ratio": 0.995, "lag_us_p50": 5.0, "lag_us_p99": 40.0, "lag_us_max": 800,
        "queue_us_p99": 3.0, "response_us_p99": 70.0, "backlog_max": 2, "busy_share": 0.25,
    }  # fmt: skip
    assert found == pytest.approx(expected)


def test_a_run_that_failed_gives_no_figures() -> None:
    failed = [{"event": "done", "status": "failed", "reason": "the server is gone"}]
    with pytest.raises(ProgramFailed, match="10 a second: the server is gone"):
        pace.figures(failed, per_s=10, seconds=1.0)
    with pytest.raises(ProgramFailed, match="no end"):
        pace.figures([], per_s=10, seconds=1.0)


def test_a_rate_is_of_all_connections_together() -> None:
    job = pace.job(ADDRESS, per_s=10, seconds=3.0)
    (role,) = job["roles"]
    assert (role["per"], role["connections"]) == ("step", pace.CONNECTIONS)
    assert role["pace"] == {"kind": "rate", "arrivals": "even", "per_s": 10.0}
    assert job["stop"]["warmup_s"] == pace.WARMUP_S
