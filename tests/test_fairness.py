"""Fairness, stalls and targets: properties, planted numbers, and what is no fault of a second."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.analysis.step import assemble
from dbdyno.evidence import client_rates
from dbdyno.evidence.raw_files import NS_PER_S, LoadReport, WindowTick
from dbdyno.findings.fairness.facts import FairnessFacts
from dbdyno.findings.fairness.step import finishes_s, jain
from dbdyno.findings.over_time.series import CLIENTS_MAX
from dbdyno.model import Json, StepRun, TargetFacts
from dbdyno.model.error import ResultError
from dbdyno.model.events import ClientCounts
from dbdyno.store import StepFolder
from doubted import doubted
from result_planted import plant
from test_analysis import change, change_lines, step_folder

amounts = st.floats(min_value=0, max_value=1e9)


def derived(folder: StepFolder) -> StepRun:
    return assemble.step_run(folder)


def by_role(found: tuple[Any, ...]) -> dict[str, Any]:
    return {one.role: one for one in found}


# --- Jain's index ----------------------------------------------------------------------------


@given(st.lists(amounts, min_size=1, max_size=64))
def test_jains_index_lies_between_one_of_n_and_one(rates: list[float]) -> None:
    index = jain(rates)
    if max(rates) == 0:
        assert index is None
    else:
        assert index is not None
        assert 1 / len(rates) - 1e-9 <= index <= 1 + 1e-9


@given(st.floats(min_value=1e-300, max_value=1e300), st.integers(min_value=1, max_value=64))
def test_equal_clients_have_an_index_of_one_however_small_their_rates(rate: float, clients: int):
    assert jain([rate] * clients) == pytest.approx(1.0)


@given(st.lists(amounts.filter(lambda x: x > 1e-3), min_size=2, max_size=20))
def test_the_index_does_not_depend_on_the_unit_nor_on_the_order(rates: list[float]) -> None:
    assert jain([1_000 * rate for rate in reversed(rates)]) == pytest.approx(jain(rates))


def test_one_of_four_that_has_all_makes_a_quarter() -> None:
    assert jain([7.0, 0.0, 0.0, 0.0]) == 0.25
    assert jain([3.0, 1.0]) == pytest.approx(0.8)  # 16 / (2 · 10)


# --- Finish times ----------------------------------------------------------------------------

ends_ns = st.lists(st.integers(min_value=1, max_value=10**14), min_size=2, max_size=20)


def load(clients_end_ns: list[int]) -> LoadReport:
    return LoadReport(
        open_ns=7,
        unix_minus_mono_ns=None,
        seconds=1.0,
        ticks=(),
        clients_end_ns=tuple(clients_end_ns),
    )


@given(ends_ns)
def test_finish_times_count_from_the_start_in_the_clients_order(ends: list[int]) -> None:
    found = finishes_s(load([7 + end for end in ends]), len(ends))
    assert found == tuple(end / NS_PER_S for end in ends)


def test_there_are_no_finish_times_where_a_client_did_not_finish() -> None:
    assert finishes_s(load([10, 11]), 3) == ()
    assert finishes_s(load([]), 2) == ()


def test_the_published_columns_follow_from_the_first_and_the_last_client(tmp_path: Path) -> None:
    """Client 0 ends at 20 s with 400,000 rows, client 1 at 15 s with 300,000: 20,000/s each."""
    run = derived(step_folder(tmp_path, "l.i0", plant("l.i0", ends_early_s=5)))
    (fair,) = run.of(FairnessFacts).fairness
    assert (fair.role, fair.kind, fair.unit) == ("insert", "insert", "rows")
    assert fair.counts == (400_000, 300_000)
    assert fair.finish_s == (20.0, 15.0)
    assert (fair.min_s, fair.max_s, fair.diff_s) == (15.0, 20.0, 5.0)
    assert fair.pct == pytest.approx(100 / 3)
    assert fair.rates == pytest.approx((20_000.0, 20_000.0))
    assert fair.jain == pytest.approx(1.0)
    assert run.metrics["finish_diff_s"] == 5.0
    assert run.metrics["finish_pct"] == pytest.approx(100 / 3)
    assert run.series["insert.client.1.rate"].y == pytest.approx([20_000.0] * 15 + [0.0] * 5)


def skewed(lines: list[Json]) -> list[Json]:
    """Client 0 gets two thirds of what client 1 had in addition."""
    for line in lines:
        if line["event"] == "tick" and line["role"] == "query":
            first, second = line["per_client"]
            moved = second[0] * 2 // 3
            first[0], second[0] = first[0] + moved, second[0] - moved
    return lines


def test_clients_that_end_together_and_were_served_unevenly_are_a_warning(tmp_path: Path) -> None:
    """2,500 queries/s each; 1,666 of client 1's go to client 0: 4,166 and 834."""
    folder = step_folder(tmp_path, "qr100")
    assert doubted(derived(folder)) == ()
    change_lines(folder.path / "events.jsonl", skewed)
    run = derived(folder)
    assert by_role(run.of(FairnessFacts).fairness)["query"].rates == pytest.approx((4_166.0, 834.0))
    index = 5_000**2 / (2 * (4_166**2 + 834**2))
    assert run.metrics["jain"] == pytest.approx(index)
    assert run.metrics["qps"] == 5_000.0
    assert doubted(run) == (
        f"clients served unevenly: 834 to 4,166 operations/s, Jain index {index:.3f}",
    )


def test_a_step_bound_by_time_has_rates_over_the_window_and_no_finish_times(tmp_path: Path) -> None:
    folder = step_folder(tmp_path, "qr100")

    def timed(lines: list[Json]) -> list[Json]:
        for line in lines:
            if line["event"] == "window_close":
                line["clients_end_ns"] = [None, None]
        return lines

    change_lines(folder.path / "events.jsonl", timed)
    run = derived(folder)
    fair = by_role(run.of(FairnessFacts).fairness)["query"]
    assert (fair.finish_s, fair.min_s, fair.pct) == ((), None, None)
    assert fair.rates == pytest.approx((2_500.0, 2_500.0))
    assert run.metrics["finish_diff_s"] is run.metrics["finish_pct"] is None


def test_one_client_has_no_fairness_and_its_metrics_are_not_known(tmp_path: Path) -> None:
    folder = step_folder(tmp_path, "qr100")

    def alone(lines: list[Json]) -> list[Json]:
        for line in lines:
            if line["event"] == "tick":
                line["per_client"] = line["per_client"][:1]
        return lines

    change_lines(folder.path / "events.jsonl", alone)
    run = derived(folder)
    assert run.of(FairnessFacts).fairness == ()
    assert [run.metrics[name] for name in ("jain", "finish_diff_s", "finish_pct")] == [None] * 3
    assert not [name for name in run.series if ".client." in name]
    assert run.metrics["stalled_s"] == 0.0
    assert run.metrics["target_missed_s"] == 19.0, "half of the rows are gone"


def test_more_clients_than_lines_can_be_told_apart_have_fairness_and_no_series(tmp_path: Path):
    folder = step_folder(tmp_path, "l.i0")

    def many(lines: list[Json]) -> list[Json]:
        for line in lines:
            if line["event"] == "tick":
                line["per_client"] += [[0, 0, 0, 0]] * (CLIENTS_MAX - 1)
        return lines

    change_lines(folder.path / "events.jsonl", many)
    run = derived(folder)
    assert len(run.of(FairnessFacts).fairness[0].counts) == CLIENTS_MAX + 1
    assert not [name for name in run.series if ".client." in name]


def tick(clients: list[ClientCounts]) -> WindowTick:
    return WindowTick(
        role="insert",
        end_s=1.0,
        seconds=1.0,
        count=1,
        rows=1,
        errors=0,
        max_us=1,
        retries=0,
        skipped=0,
        over_limit=0,
        late_us_max=0,
        backlog=0,
        lag=None,
        queue=None,
        operations={},
        clients=clients,
    )


def test_a_number_of_clients_that_changes_is_a_damaged_file() -> None:
    one = ClientCounts(1, 1, 0, 1)
    with pytest.raises(ResultError, match="the number of clients of role `insert` changes"):
        client_rates.amounts([tick([one, one]), tick([one])], "insert")


def test_a_step_that_was_broken_off_has_none_of_it(tmp_path: Path) -> None:
    folder = step_folder(tmp_path, "qr100")
    (folder.path / "done.json").unlink()
    run = derived(folder)
    assert run.ending.status == "failed"
    assert (
        run.of(FairnessFacts).fairness
        == run.of(FairnessFacts).stalls
        == run.of(TargetFacts).targets
        == ()
    )
    assert run.series["query.client.0.rate"].y == (2_500.0,) * 20


# --- Stalls ----------------------------------------------------------------------------------


def without(role: str, seconds: set[int], share: float = 0.0) -> Any:
    """An edit after which `role` did only a share of its work in these seconds."""

    def edit(lines: list[Json]) -> list[Json]:
        for line in lines:
            if line["event"] == "tick" and line["role"] == role and line["tick"] in seconds:
                for one in line["per_client"]:
                    one[0], one[1] = int(one[0] * share), int(one[1] * share)
        return lines

    return edit


def test_seconds_under_a_tenth_of_the_median_are_counted_and_the_longest_run(tmp_path: Path):
    """Seconds 4, 9, 10, 11 and 20 at 9.96 % of 2,500 queries/s each; second 15 at 12 %."""
    folder = step_folder(tmp_path, "qr100")
    change_lines(folder.path / "events.jsonl", without("query", {4, 9, 10, 11, 20}, 0.0997))
    change_lines(folder.path / "events.jsonl", without("query", {15}, 0.12))
    run = derived(folder)
    stall = by_role(run.of(FairnessFacts).stalls)["query"]
    assert (stall.median, stall.seconds, stall.stalled, stall.longest_s) == (5_000.0, 20, 5, 3)
    assert (run.metrics["stalled_s"], run.metrics["stall_longest_s"]) == (5.0, 3.0)
    assert by_role(run.of(FairnessFacts).stalls)["insert"].stalled == 0


def test_the_short_second_at_a_windows_end_is_no_stall(tmp_path: Path) -> None:
    folder = step_folder(tmp_path, "l.i0", plant("l.i0", seconds=10.25))
    change_lines(folder.path / "events.jsonl", without("insert", {11}))
    (stall,) = derived(folder).of(FairnessFacts).stalls
    assert (stall.seconds, stall.stalled) == (10, 0)


@pytest.mark.parametrize(("operations_per_s", "told"), [(8, False), (12, True)])
def test_few_operations_without_a_schedule_do_not_tell_a_stall(
    tmp_path: Path, operations_per_s: int, told: bool
) -> None:
    """A closed role that does 8 statements a second of 100 rows each may well miss one."""
    planted = plant("l.i0", faster=operations_per_s * 100 / 40_000)
    run = derived(step_folder(tmp_path, "l.i0", planted))
    assert bool(run.of(FairnessFacts).stalls) is told
    assert run.metrics["stalled_s"] == (0.0 if told else None)


def set_pace(folder: StepFolder, pace: Json) -> None:
    change(folder.path / "job.json", lambda job: job["roles"][0].update(pace=pace))


@pytest.mark.parametrize(
    ("pace", "told"),
    [
        ({"kind": "rate", "arrivals": "burst", "per_s": 2.0}, True),
        ({"kind": "rate", "arrivals": "even", "per_s": 2.0}, True),
        ({"kind": "rate", "arrivals": "even", "per_s": 0.5}, False),
        ({"kind": "rate", "arrivals": "poisson", "per_s": 2.0}, False),
        ({"kind": "closed"}, False),
    ],
)
def test_a_schedule_that_asks_for_something_in_each_second_tells_a_stall(
    tmp_path: Path, pace: Json, told: bool
) -> None:
    """4 statements a second of all clients; deletes follow the schedule that they are tied to."""
    folder = step_folder(tmp_path, "qr100")
    set_pace(folder, pace)
    assert set(by_role(derived(folder).of(FairnessFacts).stalls)) == (
        {"insert", "delete", "query"} if told else {"query"}
    )


def test_a_bulk_load_that_builds_indexes_has_not_stalled(tmp_path: Path) -> None:
    """The job of a fill has no roles, its ticks have the role `fill`."""
    folder = step_folder(tmp_path, "l.i0")
    change_lines(folder.path / "events.jsonl", without("insert", set(range(12, 21))))
    assert derived(folder).of(FairnessFacts).stalls[0].stalled == 9
    change(folder.path / "job.json", lambda job: job.update(roles=[]))
    run = derived(folder)
    assert (run.of(FairnessFacts).stalls, run.metrics["stalled_s"]) == ((), None)


# --- Targets ---------------------------------------------------------------------------------


def test_inserts_and_the_deletes_tied_to_them_have_the_same_target(tmp_path: Path) -> None:
    inserts, deletes = derived(step_folder(tmp_path, "qr100")).of(TargetFacts).targets
    assert (inserts.role, inserts.kind, deletes.role, deletes.kind) == (
        "insert", "insert", "delete", "delete",
    )  # fmt: skip
    for target in (inserts, deletes):
        assert (target.target_per_s, target.achieved_per_s, target.met) == (200.0, 200.0, True)
        assert (target.seconds, target.seconds_missed) == (19, 0)


def test_deletes_that_fall_behind_inserts_which_hold_are_told(tmp_path: Path) -> None:
    """180 of 200 rows/s: 90 %, in each of the 19 seconds."""
    run = derived(step_folder(tmp_path, "qr100", plant("qr100", delete_rows_share=0.9)))
    inserts, deletes = run.of(TargetFacts).targets
    assert inserts.met
    assert (deletes.met, deletes.seconds_missed) == (False, 19)
    assert run.metrics["dps_share_of_target"] == pytest.approx(90.0)
    assert run.metrics["target_missed_s"] == 0.0
    assert doubted(run) == (
        "target rate missed by deletes: 180 of 200 rows/s deleted, though inserts held it",
    )


def test_where_inserts_miss_too_the_deletes_are_not_blamed_as_well(tmp_path: Path) -> None:
    run = derived(step_folder(tmp_path, "qr100", plant("qr100", insert_rows_per_s=100.0)))
    assert [target.met for target in run.of(TargetFacts).targets] == [False, False]
    assert doubted(run) == ("target rate missed: 100 of 200 rows/s inserted",)


def test_deletes_that_are_not_tied_have_no_target(tmp_path: Path) -> None:
    folder = step_folder(tmp_path, "qr100")
    change(folder.path / "job.json", lambda job: job["roles"][1].update(pace={"kind": "closed"}))
    run = derived(folder)
    assert [target.role for target in run.of(TargetFacts).targets] == ["insert"]
    assert run.metrics["dps_share_of_target"] is None


def test_a_step_without_a_target_has_no_targets(tmp_path: Path) -> None:
    run = derived(step_folder(tmp_path, "l.i1", plant("l.i1")))
    assert run.of(TargetFacts).targets == ()
    assert run.metrics["target_missed_s"] is None


@pytest.mark.parametrize(
    ("arrivals", "warmup_s", "seconds", "missed"),
    [("burst", 0, 19, 0), ("burst", 5, 20, 1), ("even", 0, 20, 1)],
)
def test_the_single_statement_of_a_bursts_first_second_is_nobodys_fault(
    tmp_path: Path, arrivals: str, warmup_s: int, seconds: int, missed: int
) -> None:
    folder = step_folder(tmp_path, "qr100")
    change_lines(folder.path / "events.jsonl", without("insert", {1}, 0.5))
    set_pace(folder, {"kind": "rate", "arrivals": arrivals, "per_s": 2.0})
    change(folder.path / "job.json", lambda job: job["stop"].update(warmup_s=warmup_s))
    target = derived(folder).of(TargetFacts).targets[0]
    assert (target.seconds, target.seconds_missed) == (seconds, missed)


def test_the_seconds_at_95_percent_hold(tmp_path: Path) -> None:
    """Second 5 has 95 % of 200 rows, second 6 less; the mean holds."""
    folder = step_folder(tmp_path, "qr100")

    def edit(lines: list[Json]) -> list[Json]:
        for line in lines:
            if line["event"] == "tick" and line["role"] == "insert" and line["tick"] in (5, 6):
                line["per_client"][0][1] -= {5: 10, 6: 11}[line["tick"]]
        return lines

    change_lines(folder.path / "events.jsonl", edit)
    run = derived(folder)
    assert run.of(TargetFacts).targets[0].met
    assert run.of(TargetFacts).targets[0].achieved_per_s == pytest.approx((20 * 200 - 21) / 20)
    assert run.metrics["target_missed_s"] == 1.0
    assert doubted(run) == ()
