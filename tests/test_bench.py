"""`make bench` without measuring: arithmetic, the reading of outputs, jobs, tables."""

import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bench import arms, command, figure, fill, jobs, pace, point, process, scale
from bench.compare import Bench, Subject, compare
from bench.figure import Figure, Target
from bench.pairs import WARM_UP_S, BenchArm, Sample, alternate, spread, steady
from bench.process import Ended, ProgramFailed
from dbdyno.host import program as binary
from dbdyno.model import Address, Json
from dbdyno.model.error import DynoError

WIDTH_MAX = 80
ADDRESS = Address(host="/run/nowhere", port=5432, user="dyno", database="bench")
FAKE: Json = {"default_us": 100, "jitter": 0.0}

PGBENCH = """\
pgbench (15.18 (Debian 15.18-0+deb12u1), server 18.6)
transaction type: <builtin: select only>
scaling factor: 10
query mode: prepared
number of clients: 8
number of threads: 1
maximum number of tries: 1
duration: 3 s
number of transactions actually processed: 196104
number of failed transactions: 0 (0.000%)
latency average = 0.122 ms
initial connection time = 16.123 ms
tps = 65678.901234 (without initial connection time)
"""
SYSBENCH = """\
SQL statistics:
    queries performed:
        read:                            105960
        write:                           0
        other:                           0
        total:                           105960
    transactions:                        105960 (52951.11 per sec.)
    queries:                             105960 (52951.11 per sec.)
    ignored errors:                      0      (0.00 per sec.)
    reconnects:                          0      (0.00 per sec.)
"""


def ended(output: str) -> Ended:
    return Ended(output=output, user_s=1.0, system_s=2.0)


def a_bench(pairs: int) -> Bench:
    return Bench(generator=Path("dyno-loadgen"), pairs=pairs, seconds=1, rows=1000)


def sample(operations: int = 1_000_000, cpu_s: float = 5.0, per_s: float = 1000.0) -> Sample:
    return Sample(operations=operations, user_s=cpu_s / 4, system_s=cpu_s * 3 / 4, per_s=per_s)


def constant(name: str, one: Sample, calls: list[tuple[str, float]]) -> BenchArm:
    """An arm that always does the same and notes that it was called."""

    def run(seconds: float) -> Sample:
        calls.append((name, seconds))
        return one

    return BenchArm(name=name, run=run)


# --- Pairs and figures -------------------------------------------------------------------------


def test_a_spread_is_the_median_with_the_smallest_and_the_largest() -> None:
    assert spread([0.9, 0.5, 0.7, 0.6], 2) == "0.65 (0.50 to 0.90)"
    assert spread([0.654], 2) == "0.65"


def test_who_is_first_alternates_and_the_warm_up_is_thrown_away() -> None:
    calls: list[tuple[str, float]] = []
    ours, theirs = constant("a", sample(), calls), constant("b", sample(cpu_s=7.0), calls)
    shown: list[int] = []
    found = alternate(ours, theirs, count=3, seconds=4, show=lambda number, _: shown.append(number))
    assert calls[:2] == [("a", WARM_UP_S), ("b", WARM_UP_S)]
    assert [name for name, _ in calls[2:]] == ["a", "b", "b", "a", "a", "b"]
    assert {seconds for _, seconds in calls[2:]} == {4}
    assert shown == [1, 2, 3]
    assert all((pair.ours, pair.theirs) == (sample(), sample(cpu_s=7.0)) for pair in found)


def test_connecting_is_taken_off_where_it_would_blur_the_ratio() -> None:
    def run(seconds: float) -> Sample:
        """50 ms to connect, then 4 µs an operation."""
        operations = round(seconds * 100_000)
        user_s, system_s = 0.01 + operations * 1e-6, 0.04 + operations * 3e-6
        return Sample(operations=operations, user_s=user_s, system_s=system_s, per_s=1e5)

    found = steady(BenchArm(name="a", run=run)).run(3)
    assert found.operations == 300_000
    assert (found.cpu_us, found.user_us) == (pytest.approx(4.0), pytest.approx(1.0))


def test_scale_is_held_against_the_fewest_connections() -> None:
    def costs(*cpu_us: float) -> dict[int, scale.Cost]:
        return {
            connections: scale.Cost(cpu_us=one, peak_bytes=connections * 2048)
            for connections, one in zip(scale.CONNECTIONS, cpu_us, strict=True)
        }

    rounds = [costs(0.5, 0.4, 0.5, 0.6), costs(1.0, 1.0, 1.5, 1.1)]
    ratios, memory = list(scale.ratios("scale", rounds)), scale.memory(rounds)
    assert [one.values for one in ratios] == [
        pytest.approx(values) for values in ((0.8, 1.0), (1.0, 1.5), (1.2, 1.1))
    ]
    assert [one.result for one in ratios] == ["met", "missed", "met"]
    assert memory.values == pytest.approx((2.0, 2.0))


def test_a_comparison_gives_the_ratios_of_cpu_and_throughput() -> None:
    bench = a_bench(pairs=3)
    ours = constant("dyno-loadgen", sample(cpu_s=4.0, per_s=900), [])
    theirs = constant("pgbench", sample(cpu_s=5.0, per_s=1000), [])
    subject = Subject(measurement="point", connections=8, cpu_max=0.85, throughput_min=1.0)
    cpu, throughput = compare(bench, subject, ours, theirs)
    assert (cpu.values, cpu.result) == (pytest.approx((0.8,) * 3), "met")
    assert (throughput.values, throughput.result) == (pytest.approx((0.9,) * 3), "missed")
    assert [pair["pgbench"]["per_s"] for pair in cpu.json()["samples"]] == [1000] * 3
    _, *costs = figure.costs([cpu, throughput])
    assert [line.split() for line in costs] == [
        ["point", "8", "dyno-loadgen", "4.00", "1.00", "900"],
        ["point", "8", "pgbench", "5.00", "1.25", "1,000"],
    ]


def test_what_the_server_took_is_compared_where_both_were_observed() -> None:
    bench = a_bench(pairs=3)
    observed = [replace(sample(), server_s=seconds) for seconds in (4.08, 4.0)]
    ours, theirs = (constant(name, one, []) for name, one in zip("ab", observed, strict=True))
    subject = Subject(measurement="get", connections=8, server_within=0.05)
    *_, found = compare(bench, subject, ours, theirs)
    assert (found.what, found.result) == ("server CPU", "met")
    assert found.values == pytest.approx((1.02,) * 3)
    assert "get     8     b          server CPU 1.02 (1.02 to 1.02)    1±0.05" in found.row()
    assert observed[0].json()["server_us"] == 4.08


def test_an_arm_that_is_not_installed_is_said_and_never_run() -> None:
    bench = a_bench(pairs=3)
    calls: list[tuple[str, float]] = []
    missing = arms.absent("sysbench", arms.NO_SYSBENCH)
    subject = Subject(measurement="point", connections=8, cpu_max=0.70)
    (only,) = compare(bench, subject, constant("dyno-loadgen", sample(), calls), missing)
    assert calls == []
    assert only.row().endswith("≤ 0.7   not installed")
    assert only.json()["median"] is None
    with pytest.raises(ProgramFailed, match="apt-get install sysbench"):
        missing.run(1)


@pytest.mark.parametrize(
    ("target", "values", "result"),
    [
        (Target(bound=0.85), (0.85, 0.80, 0.99), "met"),
        (Target(bound=0.85), (0.86, 0.80, 0.99), "missed"),
        (Target(bound=1.0, at_least=True), (1.0, 0.9, 1.2), "met"),
        (Target(bound=1.0, at_least=True), (0.99, 0.9, 1.2), "missed"),
        (Target(bound=1.0, within=0.05), (1.05, 0.9, 1.2), "met"),
        (Target(bound=1.0, within=0.05), (0.94, 0.9, 1.2), "missed"),
        (Target(bound=1.0, within=0.05), (1.06, 0.9, 1.2), "missed"),
        (None, (0.99,), ""),
    ],
)
def test_a_target_is_held_against_the_median(
    target: Target | None, values: tuple[float, ...], result: str
) -> None:
    one = Figure(measurement="point", beside="pgbench", what="CPU", values=values, target=target)
    assert one.result == result


def test_the_table_fits_eighty_columns() -> None:
    widest = Figure(
        measurement="insert",
        connections=2000,
        beside="bare loop",
        what="throughput",
        values=(25.24, 26.76, 27.46),
        target=Target(bound=1.15),
        missing="not installed: apt-get install something",
    )
    lines = [figure.head(), widest.row()]
    assert max(map(len, lines)) <= WIDTH_MAX
    assert lines[0].index("target") == lines[1].index("≤ 1.15")


# --- What arms say -----------------------------------------------------------------------


def test_pgbenchs_summary_is_read() -> None:
    found = arms.pgbench_sample(ended(PGBENCH))
    expected = Sample(operations=196104, user_s=1.0, system_s=2.0, per_s=65678.901234)
    assert found == expected


@pytest.mark.parametrize(
    "output", ["", PGBENCH.replace("failed transactions: 0", "failed transactions: 3")]
)
def test_a_pgbench_that_failed_is_no_result(output: str) -> None:
    with pytest.raises(ProgramFailed, match="pgbench said"):
        arms.pgbench_sample(ended(output))


def test_sysbenchs_summary_is_read() -> None:
    found = arms.sysbench_sample(ended(SYSBENCH))
    expected = Sample(operations=105960, user_s=1.0, system_s=2.0, per_s=52951.11)
    assert found == expected


@pytest.mark.parametrize("output", ["", re.sub(r"(errors: +)0 ", r"\g<1>2 ", SYSBENCH)])
def test_a_sysbench_that_ignored_errors_is_no_result(output: str) -> None:
    with pytest.raises(ProgramFailed, match="sysbench said"):
        arms.sysbench_sample(ended(output))


def test_the_cpu_is_the_programs_own() -> None:
    busy = "import time\nwhile time.process_time() < 0.3: pass\nprint(input())"
    found = process.run([sys.executable, "-c", busy], limit_s=60, text="done")
    assert found.output == "done\n"
    assert 0.3 <= found.user_s + found.system_s < 3.0


def test_a_program_that_fails_or_hangs_is_one_line_that_names_it() -> None:
    with pytest.raises(ProgramFailed, match=r"^`sh` ended with status 3: no such table$"):
        process.run(["sh", "-c", "echo no such table >&2; exit 3"], limit_s=60)
    with pytest.raises(ProgramFailed, match=r"^`sleep` ended with status -9"):
        process.run(["sleep", "60"], limit_s=0.1)


# --- Jobs --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("job", "operations"),
    [
        (jobs.point(ADDRESS, point.ACCOUNT.sql, key_max=9, connections=8, seconds=1), 80000),
        (jobs.pgbench(ADDRESS, "tpcb-like", scale=10, connections=7, seconds=1), 10000),
    ],
    ids=["point", "pgbench"],
)
def test_the_generator_takes_the_jobs(job: Json, operations: int) -> None:
    """On its fake server, which answers a statement in 100 µs of a clock of its own."""
    generator = binary.find("dyno-loadgen")
    faked = job | {"engine": "fake", "server": None, "fake": FAKE}
    found = arms.dyno(generator, lambda _: faked).run(1)
    assert found.per_s == pytest.approx(operations, rel=0.01)
    assert found.operations >= found.per_s
    assert found.user_s + found.system_s > 0


# --- The command -------------------------------------------------------------------------------


def test_measurements_run_in_their_order_and_unknown_ones_are_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert command.parse(["pgbench", "point"]).names == ["point", "pgbench"]
    assert {"point", "pgbench", "scale"} <= set(command.parse([]).names)
    with pytest.raises(SystemExit):
        command.parse(["points"])
    assert "no measurement `points`: there are point, " in capsys.readouterr().err
    with pytest.raises(SystemExit):
        command.parse(["--out", "/nowhere/figures.jsonl"])
    assert "there is no folder `/nowhere` for --out: make it" in capsys.readouterr().err


def test_pacing_is_judged_by_what_it_is_off_and_by_its_lag(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        {"per_s": 1000, "connections": 32, "achieved_ratio": 0.9989, "lag_us_p99": 499.0},
        {"per_s": 10, "connections": 32, "achieved_ratio": 1.0, "lag_us_p99": 501.0},
    ]
    monkeypatch.setattr(pace, "measure_rates", lambda generator: rows)
    bench = a_bench(pairs=1)
    figures = list(pace.measure(bench))
    assert [one.result for one in figures] == ["missed", "met", "met", "missed"]
    assert figures[0].values == pytest.approx((0.11,))
    assert figures[0].json()["detail"] == rows[0]


def test_a_fill_is_judged_by_how_many_times_as_fast_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        {"faster": 5.1, "faster_with_vacuum": 4.0},
        {"faster": 4.9, "faster_with_vacuum": 4.2},
        {"faster": 5.0, "faster_with_vacuum": 4.1},
    ]
    asked: list[tuple[int, int]] = []

    def measured(generator: Path, rows_wanted: int, pairs: int) -> list[Json]:
        asked.append((rows_wanted, pairs))
        return rows

    monkeypatch.setattr(fill, "load_pairs", measured)
    monkeypatch.setattr(arms, "sysbench_program", lambda: Path("/usr/bin/sysbench"))
    speed, vacuum = fill.measure(a_bench(pairs=3))
    assert (asked, speed.result, vacuum.result) == ([(1000, 3)], "met", "")
    monkeypatch.setattr(arms, "sysbench_program", lambda: None)
    assert [one.result for one in fill.measure(a_bench(pairs=3))] == ["not installed"]


def test_the_page_tells_how_each_measurement_is_taken() -> None:
    page = command.OUT.with_name("README.md").read_text()
    for name in command.MEASUREMENTS:
        assert f"\n### {name}\n\n`python tools/bench {name}`: " in page


def test_a_measurement_that_fails_does_not_stop_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def failing(bench: Bench) -> list[Figure]:
        raise DynoError("the server is gone")

    found = Figure(measurement="pgbench", beside="pgbench", what="CPU", values=(0.5,))
    monkeypatch.setitem(command.MEASUREMENTS, "point", failing)
    monkeypatch.setitem(command.MEASUREMENTS, "pgbench", lambda bench: [found])
    bench = a_bench(pairs=1)
    figures = list(command.measurements(["point", "pgbench"], bench))
    command.show(figures)
    assert [one.result for one in figures] == ["failed", ""]
    assert "failed: the server is gone" in capsys.readouterr().out


@pytest.mark.long
def test_a_run_is_one_line_that_names_no_place_of_the_machine(tmp_path: Path) -> None:
    bench = replace(a_bench(pairs=2), generator=binary.find("dyno-loadgen"))
    one = Figure(measurement="point", beside="pgbench", what="CPU", values=(0.5, 0.7))
    for _ in range(2):
        command.keep(tmp_path / "figures.jsonl", bench, [one])
    first, _ = (tmp_path / "figures.jsonl").read_text().splitlines()
    line = json.loads(first)
    assert line["figures"][0]["values"] == [0.5, 0.7]
    assert line["versions"]["dyno-loadgen"].startswith("dyno-loadgen ")
    assert {"postgres", "mysql", "mariadb"} <= set(line["versions"])
    assert line["host"]["cpu"]["cpus"] >= 1
    assert str(tmp_path) not in first and str(bench.generator) not in first


# --- The bare loop ---------------------------------------------------------------------------
