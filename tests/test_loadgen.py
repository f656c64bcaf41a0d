"""The caller of dyno-loadgen: what it takes from it, and what it refuses."""

import json
from pathlib import Path

import pytest

from dbdyno.model import Json
from dbdyno.model import events as schema
from dbdyno.model.error import GeneratorError
from dbdyno.run.driver import loadgen
from dbdyno.run.driver.interface import GeneratorDied
from dbdyno.run.driver.loadgen import Generator
from wire_form import plain

CONTRACT = Path(__file__).parent.parent / "contract"
HELLO = {"event": "hello", "mono_ns": 1, "protocol": 1, "version": "0.1.0", "commit": None}


def program(folder: Path, script: str) -> Path:
    """An executable shell script in the place of dyno-loadgen."""
    path = folder / "dyno-loadgen"
    path.write_text("#!/bin/sh\n" + script)
    path.chmod(0o755)
    return path


def hello(**changed: object) -> str:
    return json.dumps(HELLO | {"profile": "release", "pid": 1} | changed)


def without_nulls(keys: Json) -> Json:
    return {key: value for key, value in keys.items() if value is not None}


def said(**changed: object) -> schema.HelloEvent:
    event = schema.parse(hello(**changed))
    assert isinstance(event, schema.HelloEvent)
    return event


@pytest.mark.parametrize("path", sorted(CONTRACT.glob("events-*.jsonl")), ids=lambda p: p.stem)
def test_every_example_event_of_the_contract_is_understood(path: Path) -> None:
    events = [schema.parse(line) for line in path.read_text().splitlines()]
    assert (events[0].name, events[-1].name) == ("hello", "done")
    for line, event in zip(path.read_text().splitlines(), events, strict=True):
        assert without_nulls(plain(event)) == without_nulls(json.loads(line))


def test_there_are_examples_of_events_and_they_show_each_kind_that_a_plain_run_has() -> None:
    seen = {
        json.loads(line)["event"]
        for path in CONTRACT.glob("events-*.jsonl")
        for line in path.read_text().splitlines()
    }
    plain = {"hello", "connected", "ready", "started", "window_open", "tick"}
    assert plain | {"window_close", "done"} <= seen


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("not json", "no JSON"),
        ('{"event": "hullo", "mono_ns": 1}', "`event`: invalid value 'hullo'"),
        ('{"event": "started", "mono_ns": 1}', "`unix_ns`"),
        ('{"event": "started", "mono_ns": 1, "unix_ns": 1, "more": 1}', "`more`"),
        ('{"event": "window_open"}', "`mono_ns`"),
    ],
)
def test_an_event_that_does_not_fit_the_contract_is_refused_by_name(line: str, word: str) -> None:
    with pytest.raises(GeneratorError, match=word):
        schema.parse(line)


def test_a_generator_of_another_protocol_or_a_debug_build_is_refused() -> None:
    with pytest.raises(GeneratorError, match="protocol 2"):
        loadgen.refuse_foreign(said(protocol=2))
    with pytest.raises(GeneratorError, match="debug build"):
        loadgen.refuse_foreign(said(profile="debug"))


def test_a_killed_generator_is_told_from_a_failed_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = program(tmp_path, f"echo '{hello()}'\nread job\necho oops >&2\nkill -9 $$\n")
    monkeypatch.setenv("DYNO_LOADGEN", str(path))
    kept: list[str] = []
    with (
        pytest.raises(GeneratorDied, match=r"killed by signal 9.*oops"),
        Generator({"protocol": 1}, kept.append) as generator,
    ):
        for _ in generator.events():
            pass
    assert kept == [hello() + "\n"], "what it said before is kept"


def test_a_generator_that_is_killed_while_it_writes_has_died(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = program(
        tmp_path, f"echo '{hello()}'\nread job\nprintf '{{\"event\": \"sta'\nkill -9 $$\n"
    )
    monkeypatch.setenv("DYNO_LOADGEN", str(path))
    with (
        pytest.raises(GeneratorDied, match="killed by signal 9"),
        Generator({"protocol": 1}, lambda line: None) as generator,
    ):
        for _ in generator.events():
            pass


def test_the_job_is_the_first_line_and_commands_follow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = {"status": "ok", "reason": None, "totals": {}, "peak_rss_bytes": 1, "cpu_us": 1}
    ended = json.dumps({"event": "done", "mono_ns": 2, "threads": [], **done})
    said = tmp_path / "said"
    script = f"echo '{hello()}'\nfor i in 1 2 3; do read line; echo \"$line\" >> {said}; done\n"
    monkeypatch.setenv("DYNO_LOADGEN", str(program(tmp_path, script + f"echo '{ended}'\n")))
    with Generator({"seed": 1}, lambda line: None) as generator:
        generator.go()
        generator.stop()
        assert [event.name for event in generator.events()] == ["hello", "done"]
    assert said.read_text().splitlines() == ['{"seed":1}', '{"do":"go"}', '{"do":"stop"}']
