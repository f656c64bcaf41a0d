"""The counts that a race makes by itself: what they may take, and where there are none."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from dbdyno.model.size import Capacity
from dbdyno.plan.race import Race, RaceArm, text_of

HOST = Capacity(cores=4, memory_bytes=8 << 30, free_disk_bytes=50 << 30)


def arms(*engines: str) -> tuple[RaceArm, ...]:
    """An arm of each engine."""
    return tuple(
        RaceArm(name=f"arm{place}", engine=engine, origin={"version": "18"})
        for place, engine in enumerate(engines)
    )


def counts(race: Race) -> list[str]:
    """The lines of a race's plan on counts."""
    lines = text_of(race, Path("race.toml"), HOST).splitlines()
    first = next((place for place, line in enumerate(lines) if line.startswith("[count]")), None)
    return [] if first is None else lines[first + 1 :]


def race(*engines: str, minutes: float = 5.0, counter: bool = True, **keys: object) -> Race:
    """A race of sysbench's steps."""
    return Race(
        command="dyno race", arms=arms(*engines), minutes=minutes, counter=counter, **keys,  # type: ignore[arg-type]
    )  # fmt: skip


@pytest.mark.parametrize(
    ("engines", "minutes", "counted"),
    [
        (("postgres", "postgres"), 60.0, True),
        (("postgres", "postgres"), 5.0, True),
        (("postgres", "postgres"), 3.0, False),
        (("mariadb", "mariadb"), 6.0, True),
        (("mysql", "mysql"), 5.0, False),
        (("postgres", "mysql"), 60.0, False),
    ],
)
def test_counts_take_a_quarter_of_the_minutes_at_most(
    engines: tuple[str, ...], minutes: float, counted: bool
) -> None:
    """By two repeats; servers of two families have no work to compare."""
    lines = counts(race(*engines, minutes=minutes))
    assert lines[:1] == ["repeats = 2"] * counted


def test_a_host_without_a_counter_counts_nothing() -> None:
    """Nor does a test of a search, whose blocks are given."""
    assert counts(race("postgres", "postgres", counter=False)) == []
    assert counts(race("postgres", "postgres", blocks=2)) == []
    assert counts(race("postgres", "postgres", counted=True)) == []


def test_steps_that_cannot_be_counted_are_left_out() -> None:
    """Those of the Insert Benchmark that fill are no part of it; the others are counted."""
    wanted = race("postgres", "postgres", minutes=60.0, workload="pgbench", steps=("select-only",))
    assert counts(wanted) == ["repeats = 2"]


def test_an_arm_that_the_counter_refuses_ends_them() -> None:
    """A setting that no counted server can have."""
    plain, changed = arms("postgres", "postgres")
    refused = RaceArm(
        name=changed.name, engine="postgres", origin=changed.origin,
        settings={"io_method": "io_uring"},
    )  # fmt: skip
    wanted = Race(command="dyno race", arms=(plain, refused), minutes=5.0, counter=True)
    assert counts(wanted) == []


def test_counts_load_no_more_rows_than_analyze_reads_whole() -> None:
    """300 rows for each of default_statistics_target, 100: so fills have the same statistics."""
    host = Capacity(cores=2, memory_bytes=32 << 30, free_disk_bytes=1 << 40)

    def made(*, count: bool) -> dict[str, Any]:
        wanted = race("postgres", "postgres", minutes=60, count=count)
        return tomllib.loads(text_of(wanted, Path("p.toml"), host))

    timed, alone = made(count=False), made(count=True)
    assert timed["workloads"][0]["parameters"]["rows"] > 30_000
    assert timed["count"]["parameters"] == {"rows": 30_000}
    assert alone["workloads"][0]["parameters"]["rows"] == 30_000
    assert "parameters" not in alone["count"]
