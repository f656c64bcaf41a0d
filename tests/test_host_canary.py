"""The canary's reading is taken from dyno-loadgen, and what goes wrong is said in one line."""

import json
from pathlib import Path

import msgspec
import pytest

from dbdyno.host.observe import canary
from dbdyno.model.error import GeneratorError, LabDied

READING = {"cpu_us": 20000.5, "memory_ns": 80, "fsync_us_p50": 900, "fsync_us_max": 4000}


def program(folder: Path, body: str) -> Path:
    """An executable stand-in for dyno-loadgen."""
    path = folder / "dyno-loadgen"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def test_the_reading_is_returned_as_printed(tmp_path: Path) -> None:
    loadgen = program(
        tmp_path, f"[ \"$*\" = 'canary --dir {tmp_path}' ] && echo '{json.dumps(READING)}'"
    )
    assert msgspec.to_builtins(canary.run(tmp_path, loadgen)) == READING


def test_the_device_is_asked_for_by_its_bytes(tmp_path: Path) -> None:
    device = {"bytes": 1 << 20, "write_mbps": 800.5, "read_mbps": 2000, "direct": True}
    printed = json.dumps(READING | {"device": device})
    wanted = f"canary --dir {tmp_path} --device 1048576"
    loadgen = program(tmp_path, f"[ \"$*\" = '{wanted}' ] && echo '{printed}'")
    said = canary.run(tmp_path, loadgen, 1 << 20)
    assert msgspec.to_builtins(said) == READING | {"device": device}
    older = program(tmp_path, f"echo '{json.dumps(READING)}'")
    with pytest.raises(GeneratorError, match="one version"):
        canary.run(tmp_path, older, 1 << 20)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("echo 'no space left' >&2; exit 3", "no space left"),
        ("exit 3", "exit status 3"),
        ("echo nonsense", "nonsense"),
        ("echo '{\"cpu_us\": 1}'", "one version"),
        ("sleep 5", "did not end within"),
    ],
)
def test_what_goes_wrong_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, said: str
) -> None:
    monkeypatch.setattr(canary, "LIMIT_S", 0.5)
    with pytest.raises((GeneratorError, LabDied), match=said) as raised:
        canary.run(tmp_path, program(tmp_path, body))
    assert "\n" not in str(raised.value)


def test_a_canary_that_is_killed_is_a_death_of_the_labs_own(tmp_path: Path) -> None:
    with pytest.raises(LabDied, match="exit status -9"):
        canary.run(tmp_path, program(tmp_path, "kill -9 $$"))


def test_a_missing_program_is_said(tmp_path: Path) -> None:
    with pytest.raises(GeneratorError, match="cannot be run: No such file"):
        canary.run(tmp_path, tmp_path / "missing")
