"""When checkpoints and autovacuum ran, where the log has only a part of them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dbdyno import store
from dbdyno.analysis.step import assemble
from dbdyno.model import BackgroundFacts, Json, Span, StepRun
from result_builder import build
from result_planted import UNIX_NS, plant

WINDOW_S = 20.0


def changed(folder: Path, change: Callable[[Json, Json], object]) -> StepRun:
    """The step of a small result, of 20 s without spans, after a change to done and after.json."""
    planted = plant("qr100", seconds=WINDOW_S, checkpoints=(), autovacuums=())
    made = build(folder, arms=("a",), blocks=1, steps=("qr100",), planted=lambda *_: planted)
    step = store.Results.open(made).blocks()[0].runs()[0].steps()[0]
    names = ("done.json", "after.json")
    done, after = (store.read_struct(step.path / name, Json) for name in names)
    change(done, after)
    store.write_json(step.path / "done.json", done)
    store.write_json(step.path / "after.json", after)
    return assemble.step_run(step)


def at_ms(second: float) -> int:
    """A time in the window by the server's clock."""
    return UNIX_NS // 1_000_000 + round(second * 1000)


def event(kind: str, second: float, duration_s: float | None = None) -> Json:
    """A line of the log, of its end."""
    table = ' of table "ib.public.pi1"' if kind.startswith("automatic") else ""
    return {"unix_ms": at_ms(second), "kind": kind, "text": kind + table, "duration_s": duration_s}


def times(spans: tuple[Span, ...]) -> list[tuple[str, Any, Any]]:
    """Kind, start and end of each."""
    return [(s.kind, pytest.approx(s.start_s), pytest.approx(s.end_s)) for s in spans]


def test_a_checkpoint_that_began_before_the_step_and_outlasts_it_covers_the_window(tmp_path: Path):
    run = changed(
        tmp_path,
        lambda done, after: done["log_events"].append(event("checkpoint starting", -300.0)),
    )
    assert times(run.of(BackgroundFacts).spans) == [("checkpoint", -300.0, WINDOW_S)]
    assert run.metrics["checkpoint_overlap_s"] == pytest.approx(WINDOW_S)


def test_a_checkpoint_that_began_before_the_step_ends_where_the_log_says(tmp_path: Path) -> None:
    run = changed(
        tmp_path,
        lambda done, after: done["log_events"].extend(
            [
                event("checkpoint starting", -300.0),
                event("checkpoint complete", 4.0, 304.0),
                event("checkpoint starting", 18.0),
            ]
        ),
    )
    assert times(run.of(BackgroundFacts).spans) == [
        ("checkpoint", -300.0, 4.0),
        ("checkpoint", 18.0, WINDOW_S),
    ]
    assert run.metrics["checkpoint_overlap_s"] == pytest.approx(6.0)


def running(second: float) -> Callable[[Json, Json], None]:
    """after.json says that autovacuum runs since this second of the window."""

    def change(done: Json, after: Json) -> None:
        entry = {"kind": "automatic vacuum", "table": "public.pi1", "since_unix_ms": at_ms(second)}
        after["running"] = [entry]

    return change


def test_an_autovacuum_that_outlasts_the_step_reaches_to_the_windows_end(tmp_path: Path) -> None:
    (span,) = changed(tmp_path, running(-40.0)).of(BackgroundFacts).spans
    assert (span.kind, span.start_s, span.end_s) == ("autovacuum", -40.0, WINDOW_S)
    assert span.label == "vacuum public.pi1 (still running)"


def test_an_autovacuum_that_began_after_the_window_is_not_in_it(tmp_path: Path) -> None:
    assert changed(tmp_path, running(WINDOW_S + 0.5)).of(BackgroundFacts).spans == ()


def test_an_autovacuum_that_ended_after_all_is_one_span(tmp_path: Path) -> None:
    """It ran as after.json was read, and its line came into the log before that was read."""

    def change(done: Json, after: Json) -> None:
        running(5.0)(done, after)
        done["log_events"].append(event("automatic vacuum", 25.1, 20.2))

    assert times(changed(tmp_path, change).of(BackgroundFacts).spans) == [("autovacuum", 4.9, 25.1)]
