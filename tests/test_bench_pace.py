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


def tick(*, measured: bool, count: int, lag: str) -> Json:
    """A second of the paced role."""
    return {
        "event": "tick",
        "measured": measured,
        "operations": {pace.ROLE: {"count": count}},
        "lag": lag,
        "queue": histogram(*[3] * count),
    }


DONE: Json = {"event": "done", "status": "ok"}


def test_the_warm_up_is_no_part_of_what_was_achieved() -> None:
    events = [
        tick(measured=False, count=50, lag=histogram(9_000)),
        tick(measured=True, count=100, lag=histogram(*[5] * 100)),
        tick(measured=True, count=99, lag=histogram(*[5] * 96, 40, 40, 800)),
        DONE,
    ]
    found = pace.figures(events, per_s=100, seconds=2.0)
    expected = {
        "per_s": 100, "connections": pace.CONNECTIONS, "achieved_ratio": 0.995,
        "lag_us_p99": 40.0, "lag_us_max": 800, "queue_us_p99": 3.0,
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
