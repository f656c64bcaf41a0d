"""What the report says of clients, targets and state, and which of it it leaves out."""

from dataclasses import replace

import pytest
from msgspec import structs

import report_parts
import run_builder
from comparison_builder import UNLIKE
from comparison_clients import DEAD_ROWS, PCT, served
from dbdyno.findings.fairness.facts import Fairness, FairnessFacts
from dbdyno.findings.fairness.show import CLIENT_LINES_MAX, client_lines, told
from dbdyno.judge.doubts import groups
from dbdyno.model import Comparison, ResponseFacts, StepComparison, StepRun
from dbdyno.model.host_facts import HostFacts
from dbdyno.model.plan_record import ArmRecord, PlanRecord, WorkloadRecord
from dbdyno.parts.part import Group, Page
from dbdyno.parts.table import Table, TableCell
from dbdyno.report import page
from doubted import flat


def section(page: Page, step: str) -> Group:
    return next(one for one in report_parts.steps(page) if one.title == step)


def row(table: Table, arm: str, group: str = "") -> dict[str, TableCell]:
    """The cells of an arm's row by their columns."""
    cells = next(one.cells for one in table.rows if one.arm == arm and group in one.group)
    return {column.text: cell for column, cell in zip(table.columns, cells, strict=True)}


def changed(step: StepComparison, change: object) -> StepComparison:
    """The step with each run's fairness changed by a function of it."""
    assert callable(change)
    cells = tuple(
        replace(
            cell, runs=tuple(run_builder.changed(run, fairness=change(run)) for run in cell.runs)
        )
        for cell in step.cells
    )
    return replace(step, cells=cells)


def by_name(three: Comparison, step: str) -> StepComparison:
    return next(one for one in three.steps if one.step == step)


# --- Fairness --------------------------------------------------------------------------------


def test_the_published_columns_of_fairness_are_those_planted(shown: Page) -> None:
    whole = report_parts.tables(section(shown, "l.i1"), "fairness")[0]
    found = row(whole, "pg18")
    assert list(found) == [
        *("arm", "min_time, s", "max_time, s", "diff, s", "pct", "Jain"),
        *("slowest", "median", "fastest"),
    ]
    assert found["pct"].text == str(PCT[1]) and found["pct"].detail == ""
    low, high = float(found["min_time, s"].text), float(found["max_time, s"].text)
    assert (high - low) / low * 100 == pytest.approx(PCT[1], abs=0.3)
    assert row(whole, "pg17")["pct"].text == str(PCT[0])


def test_a_range_over_the_blocks_stands_beside_a_mean_that_varies(shown: Page) -> None:
    slowest = row(report_parts.tables(section(shown, "l.i1"), "fairness")[0], "pg17")["slowest"]
    low, high = (float(text.replace(",", "")) for text in slowest.detail.split("–"))
    assert low < float(slowest.text.replace(",", "")) < high


def test_finish_times_of_a_paced_step_are_left_out_as_its_pace_sets_them(shown: Page) -> None:
    whole = report_parts.tables(section(shown, "qr100"), "fairness")[0]
    assert [column.text for column in whole.columns][:2] == ["arm", "Jain"]
    summary = next(one for one in report_parts.summary(shown) if one.name.endswith("fairness"))
    assert row(summary, "pg17", "pct")["l.i1"].text == "5.9"
    assert row(summary, "pg17", "pct")["qr100"].text == ""
    assert row(summary, "pg17", "Jain")["qr100"].text == "1.000"


def test_roles_that_serve_all_clients_alike_are_named_and_not_tabled(
    three: Comparison, shown: Page
) -> None:
    assert list(told(by_name(three, "qr100"))) == ["query"]
    whole = report_parts.tables(section(shown, "qr100"), "fairness")[0]
    assert {one.group for one in whole.rows} == {"query, operations/s"}
    assert "Not shown, because their clients ran alike or like those above: insert." in whole.note


def test_an_uneven_role_beside_the_headline_is_told(three: Comparison) -> None:
    def starve(run: StepRun) -> tuple[Fairness, ...]:
        return tuple(
            served(fair.role, (1.0, 100.0, 100.0, 100.0)) if fair.role == "insert" else fair
            for fair in run.of(FairnessFacts).fairness
        )

    assert list(told(changed(by_name(three, "qr100"), starve))) == ["query", "insert"]


def test_deletes_that_follow_uneven_inserts_are_not_told_twice(three: Comparison) -> None:
    def follow(run: StepRun) -> tuple[Fairness, ...]:
        (fair,) = run.of(FairnessFacts).fairness
        behind = tuple(0.98 * rate for rate in fair.rates)  # the last ones never came
        return (served("delete", behind), fair)

    assert list(told(changed(by_name(three, "l.i1"), follow))) == ["insert"]


def test_the_rates_of_many_clients_are_slowest_median_and_fastest(three: Comparison) -> None:
    def many(run: StepRun) -> tuple[Fairness, ...]:
        rates = tuple(float(rate) for rate in range(100, 113))
        return tuple(served(fair.role, rates) for fair in run.of(FairnessFacts).fairness)

    step = changed(by_name(three, "l.i1"), many)
    made = page.make(replace(three, steps=(step,)))
    assert (
        row(report_parts.tables(section(made, "l.i1"), "fairness")[0], "pg17")["median"].text
        == "106"
    )


def test_stalls_are_counted_over_the_blocks_and_no_table_stands_where_there_are_none(shown: Page):
    stalls = report_parts.tables(section(shown, "l.i2"), "fairness")[-1]
    found = row(stalls, "pg18")
    assert found["stalled seconds"].text == "36"
    assert found["longest run, s"].text == "12"
    assert row(stalls, "pg17")["stalled seconds"].text == "0"
    assert "Stalls" not in [
        one.title for one in report_parts.tables(section(shown, "l.i1"), "fairness")
    ]
    assert section(shown, "l.i1").subtitle.endswith("no role stalled")
    assert "stalled" not in section(shown, "l.i2").subtitle


def test_single_clients_have_no_fairness(three: Comparison) -> None:
    step = changed(by_name(three, "l.i1"), lambda run: ())
    made = page.make(replace(three, steps=(step,)))
    assert report_parts.tables(section(made, "l.i1"), "fairness") == ()
    assert not any(one.name.endswith("fairness") for one in report_parts.summary(made))


def test_a_chart_has_a_line_for_each_client_with_its_name(shown: Page) -> None:
    (chart,) = report_parts.charts(section(shown, "l.i1"), "clients")
    labels = {
        line.label
        for line in report_parts.lines(chart).lines
        if line.arm == "pg18" and line.block == 1
    }
    assert labels == {"client 0", "client 1", "client 2", "client 3"}
    assert chart.title == "Rows inserted per second by each client"
    assert "A line for each client." in chart.note


def test_of_very_many_clients_some_are_drawn_from_slow_to_fast(three: Comparison) -> None:
    run = by_name(three, "l.i1").cells[0].runs[0]
    whole = run.series["insert.rate"]
    many = {
        f"insert.client.{client}.rate": replace(whole, y=tuple(y * (client + 1) for y in whole.y))
        for client in range(40)
    }
    lines = list(client_lines(replace(run, series=many), "insert"))
    numbers = [int(line.label.removeprefix("client ")) for line in lines]
    assert len(numbers) == CLIENT_LINES_MAX
    assert numbers[0] == 0 and numbers[-1] == 39


# --- Targets ---------------------------------------------------------------------------------


def test_targets_say_what_was_asked_achieved_held_and_missed(shown: Page) -> None:
    (targets,) = report_parts.tables(section(shown, "qr1000"), "targets")
    found = row(targets, "pg18", "inserts")
    assert found["asked, rows/s"].text == "4,000"
    assert found["held in blocks"].text == "1 of 3" and found["held in blocks"].tone == "failed"
    assert found["seconds missed"].text == "1,800" and found["seconds missed"].detail == "of 5,400"
    assert float(found["share, %"].text) == pytest.approx((4000 + 3216 + 3217) / 120, abs=0.1)
    assert row(targets, "pg17", "deletes")["held in blocks"].text == "3 of 3"


def test_steps_without_a_target_have_no_table_of_targets(shown: Page) -> None:
    assert report_parts.tables(section(shown, "l.i1"), "targets") == ()


# --- State -----------------------------------------------------------------------------------


def test_state_stands_before_and_after_for_each_arm_in_its_unit(shown: Page) -> None:
    (state,) = report_parts.tables(section(shown, "l.i1"), "state")
    assert [column.group for column in state.columns] == ["", "pg17", "pg17", "pg18", "pg18"]
    texts = {one.cells[0].text: [cell.text for cell in one.cells[1:]] for one in state.rows}
    assert texts["dead rows"] == ["0", f"{DEAD_ROWS:,.0f}", "0", f"{2 * DEAD_ROWS:,.0f}"]
    assert texts["tables"][0] == "16.0 GiB"
    assert texts["pages that all can see"][0] == "71.2 %"
    assert "free space in tables" not in texts  # known in no run


def test_what_a_step_left_undone_is_said_in_words(shown: Page) -> None:
    (state,) = report_parts.tables(section(shown, "l.i1"), "state")
    assert state.note.startswith(
        "pg17 left 214,880 dead rows, 1.20 GiB not yet written from the buffers, 3.40 GiB of WAL "
        "since the last checkpoint, 2 tables due for vacuum."
    )


def test_what_was_not_alike_stands_at_the_step_and_is_counted_above(three: Comparison) -> None:
    (of_l_i2,) = [doubt for doubt in flat(three) if doubt.words == UNLIKE]
    doubts = [
        structs.replace(of_l_i2, ordinal=step.ordinal, step=step.step) for step in three.steps
    ]
    shown = page.make(replace(three, doubts=groups([], doubts)))
    subject = "checkpoints in the windows differ"
    for step in three.steps:
        assert f"block 2: {subject}: {UNLIKE}" in report_parts.doubts(section(shown, step.step))
    (said,) = report_parts.texts(shown, "doubts")
    names = ", ".join(step.step for step in three.steps)
    assert said == f"{subject} in 1 of {three.blocks} blocks; in {names}"


# --- What was measured -----------------------------------------------------------------------


def test_the_steps_say_who_takes_part_how_much_and_whether_cached(shown: Page) -> None:
    steps = report_parts.beside(shown, "steps")
    assert steps is not None
    found = {one.cells[0].text: [cell.text for cell in one.cells] for one in steps.rows}
    assert found["qr100"][1:7] == ["queries", "4", "12", "4", "180,000", "100"]
    assert found["qr100"][7:] == ["1,800", "cached", "6"]  # runs of both arms; qp1000 lacks one
    assert found["qp1000"][-1] == "5"


def test_rows_that_no_insert_brought_are_said_to_be_indexed(three: Comparison) -> None:
    step = by_name(three, "l.x")

    def without_inserts(run: StepRun) -> StepRun:
        return run_builder.changed(
            run,
            response=(
                replace(run.of(ResponseFacts).by_kind["insert"], of="operation", name="index"),
            ),
        )

    cells = tuple(
        replace(cell, runs=tuple(without_inserts(run) for run in cell.runs)) for cell in step.cells
    )
    made = page.make(replace(three, steps=(replace(step, cells=cells),)))
    assert "Rows indexed per second" in [
        getattr(one, "title", "") for one in section(made, "l.x").parts
    ]
    assert (
        report_parts.tables(section(made, "l.x"), "response")[0].title
        == "Response time of each operation"
    )


def test_a_step_that_reads_the_device_is_not_called_cached(three: Comparison) -> None:
    step = by_name(three, "qr100")
    cells = tuple(
        replace(
            cell,
            runs=tuple(
                run_builder.changed(run, metrics={**run.metrics, "rpq": 0.62}) for run in cell.runs
            ),
        )
        for cell in step.cells
    )
    steps = report_parts.beside(
        page.make(replace(three, steps=(replace(step, cells=cells),))), "steps"
    )
    assert steps is not None
    assert steps.rows[0].cells[-1].text == "0.620"


def test_the_introduction_tells_hardware_builds_and_differences_in_sentences(shown: Page) -> None:
    hardware, builds, differ, blocks = report_parts.texts(shown, "introduction")
    assert hardware.startswith(
        "The server's CPU: AMD Ryzen 7 7840HS, 8 cores, SMT off, 5,137 MHz, governor performance. "
        "The server's memory: 31.0 GiB, no swap. The server's storage: ext4, on nvme0n1, Samsung "
        "SSD 990 PRO 2TB, not rotating, scheduler none, 1.82 TiB"
    )
    assert "pg18 is PostgreSQL 18.6, compiled by gcc (Debian 12.2.0-14) 12.2.0" in builds
    assert differ.endswith(
        "The arms also differ in what the plan does not name: setting io_method."
    )
    assert blocks == (
        "The workload is insert-benchmark with its own parameters. "
        "Every arm ran once in each of 3 blocks, in an order drawn from the seed."
    )


def test_a_server_compiled_for_size_is_told_as_such(three: Comparison) -> None:
    servers = {**three.servers, "pg18": structs.replace(three.servers["pg18"], flags="-Os -DX")}
    _, builds, *_ = report_parts.texts(page.make(replace(three, servers=servers)), "introduction")
    assert "12.2.0 with -Os -DX (for size, not for speed), with the configuration" in builds


def test_a_workload_is_told_with_what_the_plan_makes_of_it(three: Comparison) -> None:
    use = WorkloadRecord(
        name="insert-benchmark",
        set="2023",
        preset="cached",
        save="post-l.i2",
        parameters={"clients": 8, "rows": 20_000_000, "rates": [100, 1000]},
    )
    plan = structs.replace(three.plan, workloads=(use,))
    blocks = report_parts.texts(page.make(replace(three, plan=plan)), "introduction")[-1]
    assert blocks.startswith(
        "The workload is insert-benchmark with set 2023, preset cached, save post-l.i2, "
        "clients = 8, rows = 20,000,000, rates = [100, 1,000]. "
    )


def test_a_plan_s_scripts_are_told_with_their_weights_and_variables(three: Comparison) -> None:
    use = WorkloadRecord(
        name="pgbench",
        scripts={"mix": ("a.sql@3", "tpcb-like")},
        parameters={"scale": 10},
        variables={"region": 3},
        scripts_sha256={"a.sql": "12ab"},
    )
    plan = structs.replace(three.plan, workloads=(use,))
    made = page.make(replace(three, plan=plan))
    blocks = report_parts.texts(made, "introduction")[-1]
    assert blocks.startswith(
        "The workload is pgbench with step mix of a.sql@3, tpcb-like, scale = 10, region = 3. "
    )
    assert report_parts.pairs(made, "repeat-pinned")["file a.sql"] == "sha256 12ab"


def test_many_files_of_a_workload_are_counted(three: Comparison) -> None:
    hashes = {f"values/{number}.jsonl": "12ab" for number in range(11)}
    use = WorkloadRecord(name="app", scripts_sha256=hashes)
    plan = structs.replace(three.plan, workloads=(use,))
    pinned = report_parts.pairs(page.make(replace(three, plan=plan)), "repeat-pinned")
    assert pinned["files"] == "11, with their sha256 in plan.json"
    assert not any(label.startswith("file ") for label in pinned)


def test_nothing_is_made_up_where_nothing_is_known(three: Comparison) -> None:
    arms = tuple(ArmRecord(name=arm) for arm in three.arms)
    plan = PlanRecord(name="p", base=three.base, blocks=1, arms=arms)
    bare = page.make(replace(three, host=HostFacts(), servers={}, plan=plan, differences=()))
    text = " ".join(report_parts.texts(bare, "introduction"))
    assert "pg17 never ran" in text and "None" not in text and "CPU" not in text
