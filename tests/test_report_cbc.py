"""`dyno report --cbc`: the collector's keys and values, and the best second of each script."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from comparison_builder import comparison
from dbdyno.cli import app
from dbdyno.model import Cell, Comparison, Series, StepComparison, StepRun, ToldFacts, ToldValue
from dbdyno.model.error import ResultError
from dbdyno.report import cbc
from run_builder import failed, step_run

TOLD: Mapping[str, Mapping[str, float]] = {
    "create-table": {"size_t": 21_837_000_000.0},
    "vacuum": {"read_rate": 2277.521, "write_rate": 2279.278},
    "create-index": {"size_i": 636_000_000.0},
    "cluster": {"size_t": 21_837_168_640.0, "size_i": 636_223_488.0},
}
SECONDS = (
    33.11642,
    9.29374,
    36.316109,
    0.832447,
    0.209221,
    2.443925,
    87.918913,
    0.081555,
    0.080997,
)
PUBLISHED = {
    "CREATE_TABLE": "33116.420",
    "VACUUM": "9293.740",
    "CREATE_INDEX": "36316.109",
    "SELECT_u1": "832.447",
    "SELECT_c1": "209.221",
    "SELECT_r": "2443.925",
    "CLUSTER": "87918.913",
    "SELECT_u2": "81.555",
    "SELECT_c2": "80.997",
    "SIZE_T": "21837168640",
    "SIZE_I": "636223488",
    "READ_RATE": "2277.521",
    "WRITE_RATE": "2279.278",
}


def run_of(step: str, arm: str = "pg17", block: int = 1, **values: object) -> StepRun:
    return step_run(arm=arm, block=block, workload="cbc", step=step, **values)


def told_of(values: Mapping[str, float | None]) -> tuple[ToldValue, ...]:
    """Values that a step tells, by name."""
    return tuple(
        ToldValue(metric=name, value=value, unit=None, title=name, better=None)
        for name, value in values.items()
    )


def collected(arm: str = "pg17", block: int = 1) -> list[StepRun]:
    """The published sample as it would have been measured."""
    return [
        run_of(
            step, arm, block,
            metrics={"seconds": seconds},
            told=told_of(TOLD.get(step, {})),
        )
        for step, seconds in zip(cbc.KEYS.values(), SECONDS, strict=True)
    ]  # fmt: skip


def shown(runs: Sequence[StepRun]) -> Comparison:
    """A comparison that has these runs, and nothing else of its own."""
    steps = tuple(
        StepComparison(
            workload="cbc",
            ordinal=ordinal,
            step=name,
            headline="seconds",
            cells=tuple(
                Cell(
                    arm=arm,
                    runs=tuple(run for run in runs if (run.facts.step, run.arm) == (name, arm)),
                    value=None, value_bound="exact", ratio=None, ratio_bound="exact",
                    sla_met=None, metrics={}, estimates={},
                )
                for arm in dict.fromkeys(run.arm for run in runs)
            ),
        )
        for ordinal, name in enumerate(dict.fromkeys(run.facts.step for run in runs), start=1)
    )  # fmt: skip
    arms = tuple(dict.fromkeys(run.arm for run in runs))
    return replace(comparison(), arms=arms, base=arms[0], steps=steps)


def parsed(text: str) -> list[dict[str, str]]:
    """Each text of the output as keys and values."""
    return [dict(line.split("\t") for line in part.splitlines()) for part in text.split("\n\n")]


def test_the_published_sample_comes_out_as_its_collector_printed_it() -> None:
    (found,) = parsed(cbc.render(shown(collected())))
    head = {"ARM": "pg17", "BLOCK": "1", "WORKLOAD": "cbc"}
    assert list(found)[:4] == [*head, "SERVER"]
    assert {key: found[key] for key in head} == head
    assert list(found.items())[4:] == list(PUBLISHED.items())


def test_there_is_a_text_for_each_arm_and_block() -> None:
    runs = [one for block in (1, 2) for arm in ("pg17", "pg18") for one in collected(arm, block)]
    found = parsed(cbc.render(shown(runs)))
    assert [(one["BLOCK"], one["ARM"]) for one in found] == [
        ("1", "pg17"),
        ("1", "pg18"),
        ("2", "pg17"),
        ("2", "pg18"),
    ]
    assert all({**PUBLISHED, **one} == one for one in found)


@pytest.mark.parametrize("key", cbc.KEYS)
def test_a_failed_step_misses_its_own_keys_and_moves_no_other(key: str) -> None:
    step = cbc.KEYS[key]
    runs = [failed(one) if one.facts.step == step else one for one in collected()]
    (found,) = parsed(cbc.render(shown(runs)))
    missing = {key} | ({"READ_RATE", "WRITE_RATE"} if key == "VACUUM" else set())
    wanted = {name: value for name, value in PUBLISHED.items() if name not in missing}
    if key == "CLUSTER":  # the table is as large as it was made
        wanted |= {"SIZE_T": "21837000000", "SIZE_I": "636000000"}
    assert dict(list(found.items())[4:]) == wanted


def test_what_the_server_does_not_tell_is_missing() -> None:
    nothing = ToldFacts(told=told_of({"read_rate": None, "write_rate": None}))
    runs = [one.telling(nothing) if one.facts.step == "vacuum" else one for one in collected()]
    (found,) = parsed(cbc.render(shown(runs)))
    assert list(found.items())[4:] == list(PUBLISHED.items())[:-2]


# --- The best second ---------------------------------------------------------------------------


def second_by_second(
    step: str, read: Sequence[float], write: Sequence[float], **where: object
) -> StepRun:
    """A step whose device did so many MiB in each second."""
    x_s = tuple(float(second) for second in range(1, len(read) + 1))
    rates = {"disk.read_mbps": read, "disk.write_mbps": write}
    series = {
        name: Series(x_s=x_s, y=tuple(one * 2**20 / 1e6 for one in rate))
        for name, rate in rates.items()
    }
    return run_of(step, series=series, **where)


def test_the_best_second_is_that_of_both_together_over_blocks_and_clients() -> None:
    text = cbc.render(
        shown(
            [
                second_by_second("t00-ctas", [0, 5, 0], [100, 400, 404]),
                second_by_second("t04-selectr@clients=1", [600, 800], [0, 10]),
                second_by_second("t04-selectr@clients=8", [900, 100], [20, 0], block=2),
                failed(second_by_second("t05-cluster", [9000], [9000])),
            ]
        )
    )
    by_total, by_write = text.split("\n\n")
    head = "arm\tscript\tstep\tblock\tread\twrite\ttotal"
    scan = "pg17\tt04-selectr\tt04-selectr@clients=8\t2\t900.0\t20.0\t920.0"
    made = "pg17\tt00-ctas\tt00-ctas\t1\t5.0\t400.0\t405.0"
    assert by_total.splitlines()[1:] == [head, scan, made]
    assert by_write.splitlines()[1:] == [head, made, scan]
    assert by_total.splitlines()[0].endswith("MiB/s, by total")
    assert by_write.splitlines()[0].endswith("MiB/s, by write")


def test_a_window_of_less_than_a_second_counts_as_a_whole() -> None:
    short = run_of(
        "t02-index",
        metrics={"rmbps": 300.0, "wmbps": 40.0},
        series={
            name: Series(x_s=(0.6,), y=(900.0,)) for name in ("disk.read_mbps", "disk.write_mbps")
        },
    )
    line = cbc.render(shown([short])).splitlines()[2]
    assert line == "pg17\tt02-index\tt02-index\t1\t300.0\t40.0\t340.0"


def test_without_the_device_there_is_a_line_that_says_so() -> None:
    assert cbc.render(shown([run_of("t00-ctas")])) == (
        "best second of each script: nothing of the device is known by the second\n"
    )


def test_a_result_without_the_workload_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match="has no step of the workload `cbc`"):
        cbc.render(comparison())
    found = CliRunner().invoke(app, ["report", "--cbc", str(tmp_path / "none")])
    assert "no such folder" in str(found.exception)
