"""`python tools/trials`: goes on after an interruption, alternates, prints Markdown."""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

import fake_source
from bench import arms, jobs
from dbdyno import plan
from dbdyno.analysis import compare
from dbdyno.host import program
from dbdyno.model import Address, Json
from dbdyno.model.error import DynoError, ResultError
from dbdyno.model.verdict import Aims
from dbdyno.report import json_document
from dbdyno.run import blocks
from dbdyno.store import Results
from trials import beside, command, delays, false_words, kept, markdown, minutes, queues, same
from trials.trial import Column, Figures, Kept, Measure, Side, Trial, planned

NOW = Side(name="now", commit="abc-dirty", package=Path("/now"), generator=Path("/now/g"))
BEFORE = Side(name="v1", commit="123", package=Path("/v1"), generator=Path("/v1/g"))
ROWS = ("slow", "fast")
ADDRESS = Address(host="/run/nowhere", port=5432, user="dyno", database="bench")


def a_trial(measures: Mapping[str, Measure], **more: object) -> Trial:
    @contextmanager
    def opened() -> Iterator[Mapping[str, Measure]]:
        yield measures

    columns = (Column(figure="us", heading="time, µs", digits=1, ratio=True),
               Column(figure="word", heading="word"))  # fmt: skip
    return Trial(
        name="probe", question="is it so?", rounds=2, minutes=0.1, rows=ROWS, columns=columns,
        opened=opened, **more,  # type: ignore[arg-type]
    )  # fmt: skip


def noted(calls: list[tuple[str, str]], interrupt_after: int = 99) -> dict[str, Measure]:
    """What measures the rows, notes who asked, and is interrupted after so many."""

    def of(row: str) -> Callable[[Side], Figures]:
        def measure(side: Side) -> Figures:
            if len(calls) == interrupt_after:
                raise KeyboardInterrupt
            calls.append((row, side.name))
            return {"us": 10.0 * len(calls), "word": "slower" if row == "slow" else "same"}

        return measure

    return {row: of(row) for row in ROWS}


# --- Runs ----------------------------------------------------------------------------------------


def test_sides_alternate_within_each_row() -> None:
    order = [(row, side.name, number) for row, side, number in planned(a_trial({}), [NOW, BEFORE])]
    assert order == [
        ("slow", "now", 1), ("slow", "v1", 1), ("fast", "now", 1), ("fast", "v1", 1),
        ("fast", "v1", 2), ("fast", "now", 2), ("slow", "v1", 2), ("slow", "now", 2),
    ]  # fmt: skip


def test_an_interrupted_trial_goes_on_with_the_runs_that_are_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    calls: list[tuple[str, str]] = []
    path = tmp_path / "probe.jsonl"
    first = a_trial(noted(calls, interrupt_after=3))
    assert command.measured(first, [NOW, BEFORE], path) == 130
    said = capsys.readouterr()
    assert "the same command goes on" in said.err
    assert "5 runs are missing" in said.out
    assert len(kept.read(path)) == 3
    assert command.measured(a_trial(noted(calls)), [NOW, BEFORE], path) == 0
    assert calls == [(row, side.name) for row, side, _ in planned(first, [NOW, BEFORE])]
    assert "missing" not in capsys.readouterr().out
    assert command.measured(a_trial({}), [NOW, BEFORE], path) == 0, "nothing is opened or taken"


def test_a_line_that_was_cut_off_is_measured_again(tmp_path: Path) -> None:
    path = tmp_path / "probe.jsonl"
    run = Kept(row="slow", side="now", commit="abc-dirty", round=1, figures={"us": 1.0})
    kept.append(path, run)
    with path.open("a") as file:
        file.write('{"row": "fast", "fig')
    assert kept.read(path) == [run]
    kept.append(path, run)
    assert kept.read(path) == [run, run]
    path.write_text('{"row": 5}\n')
    with pytest.raises(ResultError, match="a line is no run of a trial"):
        kept.read(path)


def test_runs_of_another_commit_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "probe.jsonl"
    kept.append(path, Kept(row="slow", side="now", commit="old", round=1, figures={}))
    with pytest.raises(ResultError, match="`now` was old there and is abc-dirty"):
        command.measured(a_trial({}), [NOW], path)
    other = Kept(row="slow", side="v0", commit="000", round=1, figures={})
    kept.refuse_others(path, [other], [NOW])


# --- Tables --------------------------------------------------------------------------------------


def runs(*values: tuple[str, str, int, Figures]) -> list[Kept]:
    commits = {"now": "abc-dirty", "v1": "123"}
    return [
        Kept(row=row, side=side, commit=commits[side], round=number, figures=figures)
        for row, side, number, figures in values
    ]


def test_the_table_has_medians_extremes_and_ratios_pair_by_pair() -> None:
    found = runs(
        ("slow", "now", 1, {"us": 12, "word": "slower"}),
        ("slow", "now", 2, {"us": 20, "word": "same"}),
        ("slow", "v1", 1, {"us": 10, "word": "slower"}),
        ("slow", "v1", 2, {"us": 10, "word": "slower"}),
        ("fast", "now", 1, {"us": 3}),
    )
    assert list(markdown.document(a_trial({}), [NOW, BEFORE], found)) == [
        "**probe**: is it so?",
        "",
        "now is abc-dirty; v1 is 123.",
        "Medians of 2 rounds (smallest to largest). 3 runs are missing.",
        "",
        "|  |  | time, µs | word |",
        "| --- | --- | --- | --- |",
        "| slow | now | 16.0 (12.0 to 20.0) | 1 × slower, 1 × same |",
        "| slow | v1 | 10.0 (10.0 to 10.0) | slower |",
        "| slow | now / v1 | 1.600 (1.200 to 2.000) |  |",
        "| fast | now | 3.0 |  |",
        "| fast | now / v1 |  |  |",
    ]
    assert list(markdown.table(a_trial({}), [NOW], found))[2] == (
        "| slow | now | 16.0 (12.0 to 20.0) | 1 × slower, 1 × same |"
    )


def test_a_summary_is_told_of_each_side() -> None:
    def count(own: object) -> list[str]:
        return [f"{len(own)} runs"]  # type: ignore[arg-type]

    found = runs(("slow", "now", 1, {}), ("fast", "now", 1, {}), ("slow", "v1", 1, {}))
    trial = a_trial({}, summary=count, by_row=False)
    lines = list(markdown.document(trial, [NOW, BEFORE], found))
    assert [line for line in lines if line][-4:] == ["now:", "2 runs", "v1:", "1 runs"]
    assert not any(line.startswith("|") for line in lines)


# --- Another commit ------------------------------------------------------------------------------


def test_another_commit_has_its_own_package_and_generator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = tmp_path / "checkout"
    (tree / "dbdyno").mkdir(parents=True)
    fake_source.git(tree, "init", "--quiet")
    first = fake_source.commit(tree, "first", ("dbdyno/__init__.py", "old"))
    fake_source.commit(tree, "second", ("dbdyno/__init__.py", "new"))
    cargo = tmp_path / "bin" / "cargo"
    cargo.parent.mkdir()
    cargo.write_text(
        '#!/bin/sh\nfor to in "$@"; do :; done\nmkdir -p "$to/release"\n'
        'cp dbdyno/__init__.py "$to/release/dyno-loadgen"\necho built >> "$to/count"\n'
    )
    cargo.chmod(0o755)
    monkeypatch.setenv("PATH", str(cargo.parent), prepend=os.pathsep)
    monkeypatch.setattr(beside, "BUILT", tmp_path / "built")
    for _ in range(2):
        side = beside.at("HEAD~1", root=tree, folder=tmp_path / "trials")
        assert (side.name, first.startswith(side.commit)) == ("HEAD~1", True)
        assert (side.package / "dbdyno" / "__init__.py").read_text() == "old"
        assert side.generator.read_text() == "old"
    assert (tmp_path / "built" / "count").read_text() == "built\n", "compiled once"
    own = side.environment
    assert own["DYNO_LOADGEN"] == str(side.generator)
    assert own["PYTHONPATH"] == str(side.package)
    with pytest.raises(DynoError, match="nowhere"):
        beside.at("nowhere", root=tree, folder=tmp_path / "trials")


# --- All pairs -----------------------------------------------------------------------------------


def drawn(arms: int, unlike: float = 0.0, seed: int = 1) -> dict[str, list[float]]:
    """So many arms of one build, of which the first may be unlike; blocks scatter by 2 %."""
    draw = random.Random(seed)
    return {
        f"a{arm:02}": [
            draw.lognormvariate(unlike if arm == 0 else 0.0, 0.02) for _ in range(4)
        ]
        for arm in range(arms)
    }  # fmt: skip


@pytest.mark.long
def test_forty_runs_of_one_build_give_780_pairs_of_which_few_are_called() -> None:
    found = false_words.of(drawn(40), Aims())
    assert found.pairs == 780
    assert found.share <= 0.05 + 2 * found.error
    assert 0 < found.error < 0.05


def test_the_pairs_of_a_run_that_is_unlike_are_called() -> None:
    found = false_words.of(drawn(12, unlike=0.5), Aims())
    assert 11 <= found.called <= 11 + 8
    assert found.error > false_words.of(drawn(12), Aims()).error, "it is one run's doing"


def test_only_blocks_that_all_arms_have_count() -> None:
    found = [
        Kept(row=arm, side="now", commit="c", round=number, figures={"per_s": 10.0 * number})
        for number in (1, 2)
        for arm in ("x", "y", "z")
    ]
    assert false_words.by_arm(found[:-1], "per_s") == {"x": [10.0], "y": [10.0], "z": [10.0]}
    assert false_words.by_arm(found, "per_s")["z"] == [10.0, 20.0]
    assert "too few runs: 3 arms, 1 whole blocks" in "".join(same.summary(with_cpu(found[:-1])))
    assert "of 3 pairs called changed" in "".join(same.summary(with_cpu(found)))


def with_cpu(found: list[Kept]) -> list[Kept]:
    return [
        Kept(**{**vars(run), "figures": {**run.figures, "cpu_us": 1.0 * run.round}})
        for run in found
    ]


# --- The trials ----------------------------------------------------------------------------------


@pytest.mark.parametrize("case", delays.CASES, ids=lambda case: case.name)
def test_each_case_of_delays_is_a_plan(
    case: delays.Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delays.mysql, "newest", lambda engine: SimpleNamespace(base_dir=tmp_path))
    written(case, tmp_path)
    made = plan.load(tmp_path / "delays.toml")
    assert made.schedule.interleave == ("turn" if case.turns else "run")
    assert [arm.engine for arm in made.arms] == [case.engine] * 2


def test_an_engine_that_is_not_here_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delays.mysql, "newest", lambda engine: None)
    case = delays.Case(engine="mariadb", turns=True, base_s=0.1, arm_s=0.2)
    with pytest.raises(DynoError, match="no MariaDB here: name its folder by DYNO_MARIADB"):
        case.plan()


def test_rows_are_chosen_by_what_their_names_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls: list[tuple[str, str]] = []
    monkeypatch.setitem(command.TRIALS, "probe", a_trial(noted(calls)))
    monkeypatch.setattr(beside, "now", lambda: NOW)
    words = ["trials", "probe", "--out", str(tmp_path), "--rounds", "1", "--rows"]
    for rows in (["ast"], ["slow", "--rows", "fast"]):
        monkeypatch.setattr(sys, "argv", [*words, *rows])
        assert command.main() == 0
    assert calls == [("fast", "now"), ("slow", "now")]
    assert "missing" not in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", [*words, "nothing"])
    assert command.main() == 2
    assert "no row of probe holds nothing" in capsys.readouterr().err


def written(case: delays.Case, folder: Path) -> None:
    (folder / "waits.toml").write_text(delays.WORKLOAD.replace("CONNECTIONS", "4"))
    (folder / "delays.toml").write_text(case.plan())


def test_what_is_told_of_a_delay_stands_beside_what_is_true(tmp_path: Path) -> None:
    case = delays.Case(engine="fake", turns=False, base_s=0.1, arm_s=0.2)
    written(case, tmp_path)
    outcome = blocks.run(plan.load(tmp_path / "delays.toml"), tmp_path, wait=True)
    compared: Json = json.loads(json_document.render(compare.load(outcome.folder)))
    found = delays.figures(case, compared)
    assert (found["true"], found["word"]) == (0.5, "slower")
    assert found["ratio"] == pytest.approx(0.5, rel=0.02)
    assert found["off"] == pytest.approx(200 * float(found["ratio"]) - 100)


def test_queue_reads_what_the_generator_tells() -> None:
    job = queues.job(ADDRESS, "auto", 2.0) | {"engine": "fake", "server": None}
    job |= {"fake": {"default_us": 100, "jitter": 0.0}}
    _, events = arms.generate(program.find("dyno-loadgen"), job, 60)
    ticks = [event for event in events if event["event"] == "tick" and event["measured"]]
    found = queues.figures(ticks)
    assert found["service_p50"] == pytest.approx(100, abs=1)
    assert found["per_s"] == pytest.approx(640_000, rel=0.01)
    assert found["queue_p99"] == 0
    assert job["seed"] == jobs.SEED


def test_every_trial_names_its_rows_once_and_is_listed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for trial in command.TRIALS.values():
        assert len(set(trial.rows)) == len(trial.rows)
    monkeypatch.setattr(sys, "argv", ["trials", "--list"])
    assert command.main() == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [
        "delays", "minutes", "placement", "queue", "same",
    ]  # fmt: skip


def test_minutes_reads_windows_and_intervals() -> None:
    results = Results.open(Path(__file__).parent / "example_results" / "example")
    whole, half = (minutes.figures(results, 2**63, took_s) for took_s in (1000.0, 2000.0))
    assert float(whole["windows"]) == pytest.approx(2 * float(half["windows"]))
    assert whole["blocks"] == 1 and whole["throughput"] != whole["throughput"], "no interval yet"
    assert minutes.half_width(None, None) != minutes.half_width(None, None), "no number"
    assert minutes.half_width(0.81, 1.21) == pytest.approx(100 * (1.1 / 0.9 - 1))
