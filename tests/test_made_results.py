"""Large results are made of small real ones: whole, with noise of their own, the same by seed."""

import json
import sys
from pathlib import Path

import pytest

import made_results
from dbdyno.analysis import compare
from dbdyno.model import Json
from doubted import doubted
from result_builder import build


def unlike_seconds(folder: Path) -> None:
    """Makes every other second of the queries a fifth faster."""
    for path in folder.rglob("*-qr100/events.jsonl"):
        events = [json.loads(line) for line in path.open()]
        for event in events:
            if event["event"] == "tick" and event["tick"] % 2:
                event["per_client"] = [
                    [round(count * 1.2), *others] for count, *others in event["per_client"]
                ]
        path.write_text("".join(f"{json.dumps(event)}\n" for event in events))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A result of two blocks, in whose steps no second is like the one before."""
    folder = build(tmp_path, blocks=2, steps=("l.x", "qr100"))
    unlike_seconds(folder)
    return folder


def make(monkeypatch: pytest.MonkeyPatch, source: Path, folder: Path, *words: str) -> Path:
    monkeypatch.setattr(sys, "argv", ["made_results", str(folder), "--of", str(source), *words])
    assert made_results.main() == 0
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_made_result_is_a_whole_one_with_noise_of_its_own(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make(monkeypatch, source, tmp_path / "made", "--blocks", "5")
    comparison = compare.load(folder)
    assert (comparison.blocks, comparison.incomplete, doubted(comparison)) == (5, None, ())
    assert comparison.label == "made from 2 measured blocks of example"
    (query,) = [step for step in comparison.steps if step.step == "qr100"]
    for cell in query.cells:
        rates = [run.metrics["qps"] for run in cell.runs]
        assert len(set(rates)) > 2
        assert all(5_000.0 <= (rate or 0.0) <= 6_000.0 for rate in rates)


def test_the_same_seed_makes_the_same_files_and_another_makes_others(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, same, other = (
        contents(make(monkeypatch, source, tmp_path / name, "--blocks", "2", "--seed", seed))
        for name, seed in (("one", "1"), ("same", "1"), ("other", "2"))
    )
    assert one == same
    assert one.keys() == other.keys()
    assert one != other


def test_counters_grow_in_a_second_as_in_the_one_that_was_drawn_for_it() -> None:
    def reading(at_s: int, kind: str, reads: int, cpu_ns: int | None = None) -> Json:
        owners = {} if cpu_ns is None else {"role:query": {"cpu_ns": cpu_ns, "processes": 1}}
        return {
            "kind": kind,
            "mono_ns": at_s * 1_000_000_000,
            "disk": {"device": "vda", "reads": reads, "in_flight": at_s},
            "owners": owners,
        }

    readings = [
        reading(0, "open", 100),
        reading(1, "second", 110, cpu_ns=5),
        reading(2, "second", 130, cpu_ns=9),
        reading(2, "close", 131, cpu_ns=9),
    ]
    drawn = made_results.Second(ticks={}, grown={"disk": {"reads": 7}})
    made = made_results.regrown_all(readings, {2: drawn})
    assert [one["disk"]["reads"] for one in made] == [100, 110, 117, 118]
    assert [one["disk"]["in_flight"] for one in made] == [0, 1, 2, 2]
    assert [one["mono_ns"] for one in made] == [one["mono_ns"] for one in readings]
    assert made[2]["owners"] == readings[2]["owners"], "what the drawn second lacks grew as it did"


def test_what_cannot_be_made_is_said_in_a_line(
    tmp_path: Path,
    source: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for folder, of, words in (
        (tmp_path / "made", tmp_path, "is no result folder"),
        (source, source, "is there already; choose another folder"),
    ):
        monkeypatch.setattr(sys, "argv", ["made_results", str(folder), "--of", str(of)])
        assert made_results.main() == 2
        assert words in capsys.readouterr().err
