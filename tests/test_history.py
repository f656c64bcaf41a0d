"""The history of a step over many results, and two arms of different results beside each other."""

import json
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

from dbdyno.analysis.across import beside, history, values, work
from dbdyno.analysis.across.history import History, HistorySelection
from dbdyno.analysis.across.side import LEFT, RIGHT
from dbdyno.analysis.across.values import COST, Files
from dbdyno.analysis.across.work import Index
from dbdyno.analysis.compare import load
from dbdyno.model.verdict import Verdict
from dbdyno.store import Results, derived_cache
from history_builder import STEP, change, indexes, result

VERDICT_WORDS = re.compile(r"\b(faster|slower|same|mixed|better|worse|regress\w*|improve\w*)\b")
WOBBLE = (1.0, 1.004, 0.997, 1.002, 0.999, 1.003)


def nightly(parent: Path) -> Path:
    """Six days of 16, six of 17 that are a tenth faster, six of 18 with the throughput of 16."""
    for day, share in enumerate((1.0,) * 6 + (1.1,) * 6 + (1.0,) * 6):
        version = ("16", "17", "18")[day // 6]
        result(parent, day, version=version, faster=share * WOBBLE[day % 6])
    return parent


@pytest.fixture(scope="module", name="days")
def _days(tmp_path_factory: pytest.TempPathFactory) -> list[Index]:
    return indexes(nightly(tmp_path_factory.mktemp("nightly")))


def only(its: list[Index], **choice: object) -> History:
    """The history of the only step there is."""
    (steps,) = history.steps(its)
    found = history.history(its, steps.work.key, HistorySelection(**choice), Files())  # type: ignore[arg-type]
    assert found is not None
    return found


def test_a_history_has_a_change_point_where_the_version_changed(days: list[Index]) -> None:
    (line,) = only(days).lines
    assert [one.change_point.index for one in line.changes] == [6, 12]
    rise, fall = line.changes
    assert rise.change_point.after / rise.change_point.before == pytest.approx(1.1, rel=0.005)
    assert (rise.before.side.version, rise.after.side.version) == ("16.9", "17.6")
    assert (rise.points_before, rise.points_after, fall.points_after) == (6, 6, 6)
    assert "version" in [one.what for one in rise.unlike]


@pytest.mark.long
def test_a_change_point_says_what_differs_in_the_host_and_in_how_it_was_measured(tmp_path: Path):
    nightly(tmp_path)
    for day in range(6, 18):
        folder = tmp_path / f"day-{day:04d}"
        change(folder / "host.json", kernel="6.13.0")
        change(folder / "plan.json", dyno="0.2.0")
    (line,) = only(indexes(tmp_path)).lines
    said = {one.what: tuple(one.values.values()) for one in line.changes[0].unlike}
    assert said["host: kernel"] == ("6.12.0", "6.13.0")
    assert said["dyno"] == ("0.1.0", "0.2.0")
    assert "host: kernel" not in [one.what for one in line.changes[1].unlike]


def test_the_plateaus_of_a_line_hold_all_its_points(days: list[Index]) -> None:
    (line,) = only(days).lines
    assert [(one.first, one.last) for one in line.plateaus] == [(0, 5), (6, 11), (12, 17)]
    values = [one.figure.value for one in line.points]
    assert [one.mean for one in line.plateaus] == pytest.approx(
        [sum(values[first : first + 6]) / 6 for first in (0, 6, 12)]
    )


def test_by_version_all_arms_are_one_line_in_the_order_of_their_versions(tmp_path: Path) -> None:
    for day in range(4):
        result(tmp_path, day, version="18", arms=("newest", "nightly"))
        result(tmp_path, 100 + day, version="16", arms=("oldest",))
    (line,) = only(indexes(tmp_path), by="version").lines
    assert line.name == "PostgreSQL"
    assert [one.side.version for one in line.points] == ["16.9"] * 4 + ["17.6"] * 4 + ["18.0"] * 4
    by_date = only(indexes(tmp_path), by="date")
    assert [one.name for one in by_date.lines] == ["newest", "nightly", "oldest"]


def test_only_the_arms_that_are_named_are_in_it(tmp_path: Path) -> None:
    result(tmp_path, 1, arms=("pg17", "pg18"))
    found = only(indexes(tmp_path), arms=("pg18",))
    assert found.arms == ("pg17", "pg18")
    assert [one.name for one in found.lines] == ["pg18"]


def test_a_figure_is_the_one_of_the_report(tmp_path: Path) -> None:
    folder = result(tmp_path, 1, arms=("pg17", "pg18"), blocks=3)
    report = load(folder)
    by_arm = {cell.arm: cell for step in report.steps for cell in step.cells}
    for line in only(indexes(tmp_path)).lines:
        (point,) = line.points
        assert point.figure.value == pytest.approx(by_arm[line.name].value)
        assert point.figure.blocks == 3
    for line in only(indexes(tmp_path), metric=COST).lines:
        (point,) = line.points
        assert point.figure.value == pytest.approx(by_arm[line.name].metrics["cpu_per_op"])


def test_what_is_kept_of_a_step_tells_the_same_as_its_raw_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(derived_cache, "SETTLED_NS", -(10**9))  # also what was written just now
    result(tmp_path, 1, blocks=2)
    (index,) = indexes(tmp_path)
    (trace,) = index.traces
    derived = values.read(trace, None)
    load(index.results)
    shelf = index.results.shelf()
    assert shelf is not None
    assert list(shelf.folder.rglob("*.msgpack"))
    assert values.read(trace, shelf) == derived


def test_a_step_that_failed_has_no_point(tmp_path: Path) -> None:
    result(tmp_path, 1)
    lost = result(tmp_path, 2)
    for done in lost.glob("blocks/*/nightly/*/*/done.json"):
        done.unlink()
        failed = {"status": "failed", "reason": "planted", "log_tail": []}
        done.with_name("failed.json").write_text(json.dumps(failed))
    found = only(indexes(tmp_path))
    assert [one.side.result for one in found.lines[0].points] == ["day-0001"]
    assert found.without == 1


def test_a_result_with_damaged_files_has_no_point_and_breaks_nothing(tmp_path: Path) -> None:
    for day in (1, 2, 3):
        result(tmp_path, day)
    for events in (tmp_path / "day-0002").rglob("events.jsonl"):
        events.write_text('{"event": 3}\n')
    found = only(indexes(tmp_path))
    assert found.without == 1
    assert [one.side.result for one in found.lines[0].points] == ["day-0001", "day-0003"]


def test_a_rate_that_the_generator_limited_is_at_least_what_the_server_can_do(tmp_path: Path):
    for day, busy in ((1, 0.5), (2, 0.9)):
        for events in result(tmp_path, day).rglob("events.jsonl"):
            lines = [json.loads(line) for line in events.read_text().splitlines()]
            for line in lines:
                if line["event"] == "done":
                    line["threads"] = [{"cpu_us": 1, "busy_share": busy}]
            events.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    bounds = [point.bound for point in only(indexes(tmp_path)).lines[0].points]
    assert bounds == ["exact", "at least"]
    assert [point.bound for point in only(indexes(tmp_path), metric=COST).lines[0].points] == [
        "exact",
        "exact",
    ]


# --- Which results are the same work -----------------------------------------------------------


def test_seed_server_and_blocks_do_not_make_another_work(tmp_path: Path) -> None:
    result(tmp_path, 1)
    other = result(tmp_path, 2, blocks=3)
    for job in other.rglob("job.json"):
        server = {"host": "/elsewhere", "port": 5432, "user": "dyno", "database": "ib"}
        change(job, seed=77, server=server)
    assert [one.results for one in history.steps(indexes(tmp_path))] == [2]


def test_results_share_the_work_that_they_have_in_common(tmp_path: Path) -> None:
    known: dict[str, work.Work] = {}
    result(tmp_path, 1)
    result(tmp_path, 2)
    first, second = (work.index(one.folder.name, one, known) for one in Results.within(tmp_path))
    assert first.traces[0].work is second.traces[0].work
    assert list(known) == [first.traces[0].work.key]


@pytest.mark.parametrize("what", ["job", "parameter", "turns", "host", "cpus"])
def test_other_work_or_another_host_is_a_history_of_its_own(tmp_path: Path, what: str) -> None:
    result(tmp_path, 1)
    other = result(tmp_path, 2)
    plan = json.loads((other / "plan.json").read_text())
    host = json.loads((other / "host.json").read_text())
    match what:
        case "job":
            for job in other.rglob("job.json"):
                change(job, clients=3)
        case "parameter":
            plan["workloads"][0]["parameters"]["clients"] = 3
        case "turns":
            plan["schedule"] |= {"interleave": "slice", "slice_s": 1.0}
        case "host":
            host["hostname_hash"] = "another"
        case "cpus":
            host["cpu"]["cpus"] = 64
    change(other / "plan.json", **plan)
    change(other / "host.json", **host)
    assert [one.results for one in history.steps(indexes(tmp_path))] == [1, 1]


def test_a_result_without_a_complete_block_or_a_host_has_nothing(tmp_path: Path) -> None:
    begun = result(tmp_path, 1)
    (begun / "blocks/001/done.json").unlink()
    (result(tmp_path, 2) / "host.json").unlink()
    assert [one.traces for one in indexes(tmp_path)] == [(), ()]


# --- Beside each other -------------------------------------------------------------------------


def test_arms_of_two_results_stand_beside_each_other(tmp_path: Path) -> None:
    result(tmp_path, 1, version="16", steps=(STEP, "l.i1"))
    result(tmp_path, 2, version="18", faster=1.2, steps=(STEP, "l.x"))
    left, right = indexes(tmp_path)
    found = beside.beside((left, "nightly"), (right, "nightly"), Files())
    (step,) = found.steps
    assert (step.work.step, step.other_work) == (STEP, ())
    assert step.ratio("ips") == pytest.approx(1.2, rel=1e-3)
    assert found.alone == {LEFT: ("l.i1",), RIGHT: ("l.x",)}
    assert not found.together
    version = next(one for one in found.unlike if one.what == "version")
    assert version.values == {LEFT: "16.9", RIGHT: "18.0"}


def test_steps_that_are_not_the_same_work_have_no_ratio_and_say_why(tmp_path: Path) -> None:
    result(tmp_path, 1)
    other = result(tmp_path, 2, faster=1.2)
    plan = json.loads((other / "plan.json").read_text())
    plan["workloads"][0]["parameters"]["clients"] = 9
    change(other / "plan.json", **plan)
    for job in other.rglob("job.json"):
        change(job, clients=9)
    left, right = indexes(tmp_path)
    (step,) = beside.beside((left, "nightly"), (right, "nightly"), Files()).steps
    assert step.other_work == ("clients: 2 and 9", "the job's `clients`")
    assert step.ratio("ips") is None


def test_two_engines_are_the_same_work_but_for_their_sql(tmp_path: Path) -> None:
    result(tmp_path, 1)
    other = result(tmp_path, 2)
    plan = json.loads((other / "plan.json").read_text())
    plan["arms"][0]["engine"] = "mysql"
    change(other / "plan.json", **plan)
    for job in other.rglob("job.json"):
        change(job, engine="mysql", statements=[])
    left, right = indexes(tmp_path)
    (step,) = beside.beside((left, "nightly"), (right, "nightly"), Files()).steps
    assert step.other_sql
    assert step.ratio("ips") == pytest.approx(1.0)


def test_another_host_is_told_apart(tmp_path: Path) -> None:
    result(tmp_path, 1)
    change(result(tmp_path, 2) / "host.json", hostname_hash="another")
    left, right = indexes(tmp_path)
    assert beside.other_host(left, right)
    assert not beside.other_host(left, left)


def test_arms_of_one_result_are_known_to_be_paired(tmp_path: Path) -> None:
    result(tmp_path, 1, arms=("pg17", "pg18"))
    (index,) = indexes(tmp_path)
    assert beside.beside((index, "pg17"), (index, "pg18"), Files()).together


def test_an_arm_that_a_result_has_not_is_refused(tmp_path: Path) -> None:
    result(tmp_path, 1)
    (index,) = indexes(tmp_path)
    with pytest.raises(KeyError):
        beside.beside((index, "nightly"), (index, "pg99"), Files())


# --- Nothing is judged -------------------------------------------------------------------------


def test_nothing_of_a_history_or_of_arms_beside_each_other_is_a_verdict(days: list[Index]) -> None:
    whole = [
        only(days),
        only(days, by="version"),
        beside.beside((days[0], "nightly"), (days[8], "nightly"), Files()),
    ]
    seen = list(_within(whole))
    assert not any(isinstance(one, Verdict) for one in seen)
    names = {field.name for one in seen if is_dataclass(one) for field in fields(one)}
    assert not [name for name in names if VERDICT_WORDS.search(name)]


def _within(value: object) -> Iterator[object]:
    """A value with all that it holds."""
    yield value
    if is_dataclass(value):
        for field in fields(value):
            yield from _within(getattr(value, field.name))
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _within(one)


def test_an_index_reads_nothing_that_was_measured(tmp_path: Path) -> None:
    folder = result(tmp_path, 1)
    for name in ("events.jsonl", "host.jsonl", "before.json", "after.json"):
        for path in folder.rglob(name):
            path.unlink()
    (index,) = indexes(tmp_path)
    assert [one.work.step for one in index.traces] == [STEP]
    assert index.trace("nightly", index.traces[0].work.key) is index.traces[0]
    assert work.host_words(index.host) == "Example CPU, ? CPUs, host 012345"
