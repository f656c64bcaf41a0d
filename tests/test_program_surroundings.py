"""What stands around a program that makes the load: its environment, and what it needs."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec import structs

from dbdyno.model import Address, Plan, Step
from dbdyno.model.address import Password
from dbdyno.model.error import PlanError
from dbdyno.model.job import Job
from dbdyno.model.job.endpoint import Endpoint
from dbdyno.run.driver import program
from step_load import heard, only_step

WORKLOAD = """
[[steps]]
name = "mine"
driver = "command"
command = {command}
needs = {needs}
headline = {{ metric = "qps", role = "query", count = "operations" }}
roles.query = {{}}
"""


def step_of(folder: Path, said: str = "true", needs: tuple[str, ...] = ()) -> Step:
    """A step of a shell's words."""
    return only_step(folder, WORKLOAD.format(command=json.dumps(said), needs=json.dumps(needs)))


def variables(folder: Path, **changed: Any) -> dict[str, str]:
    """The environment of a program whose job is changed so."""
    return program.environment(structs.replace(step_of(folder).job, **changed))


def test_no_variable_of_dynos_own_clients_takes_a_program_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PGSERVICE", "PGOPTIONS", "PGHOSTADDR", "PGTARGETSESSIONATTRS", "MYSQL_HOST"):
        monkeypatch.setenv(name, "prod")
    monkeypatch.setenv("MINE", "stays")
    there = variables(tmp_path, environment={"PGHOST": "the arm's"})
    assert {name: value for name, value in there.items() if "prod" in value} == {}
    assert (there["PGHOST"], there["MINE"]) == ("the arm's", "stays")


def test_clients_of_a_program_go_to_the_address_that_dyno_goes_to() -> None:
    there = Address(
        host="localhost", ip="127.0.0.1", port=1, user="u", database="d", options="-c geqo=off"
    )
    told = program.of_server(there)
    assert (told["PGHOST"], told["PGHOSTADDR"]) == ("localhost", "127.0.0.1")
    # MySQL's clients take `localhost` for a socket.
    assert (told["MYSQL_HOST"], told["PGOPTIONS"]) == ("127.0.0.1", "-c geqo=off")


def test_a_password_reaches_programs_by_one_variable_whatever_the_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passfile = tmp_path / "pass"
    passfile.write_text("*:*:*:*:of the file\n")
    passfile.chmod(0o600)
    monkeypatch.setenv("MINE", "of the environment")
    address = Address(host="127.0.0.1", port=1, user="u", database="d")
    for place, password in (
        (None, ""),
        (Password(passfile=passfile), "of the file"),
        (Password(env="MINE"), "of the environment"),
    ):
        there = replace(address, password=place)
        told = program.of_server(there)
        assert "of the" not in str(told)  # a result keeps it
        whole = variables(tmp_path, server=Endpoint.of(there), environment=told)
        assert whole["DYNO_PASSWORD"] == password


def test_a_program_has_a_temporary_folder_of_its_own_of_which_nothing_is_left(tmp_path: Path):
    said = 'touch "$TMPDIR/settings.db"; echo "$TMPDIR" $(ls "$TMPDIR") >&2; exit 1'
    job: Job = structs.replace(
        step_of(tmp_path, said).job, program="mine", version="1", folder=str(tmp_path)
    )
    done = heard(program.ProgramRun(job, lambda text: None, cpus=None))[-1]
    place, *names = done["reason"].split(": ")[-1].split()
    assert names == ["settings.db"]
    assert not Path(place).exists()


@pytest.mark.parametrize(
    ("word", "words"),
    [
        ("./absent.jar", "there is no `./absent.jar`"),
        ("$THEIRS/absent.jar", "there is no `/nowhere/absent.jar` (`$THEIRS/absent.jar`)"),
        ("$UNSET/there.jar", "`$UNSET/there.jar`: the environment has no `UNSET`: set it to the"),
        ("java-that-nobody-has", "there is no program `java-that-nobody-has`: install it"),
    ],
)
def test_what_a_program_needs_and_lacks_is_named_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str, words: str
) -> None:
    monkeypatch.setenv("THEIRS", "/nowhere")
    monkeypatch.delenv("UNSET", raising=False)
    (tmp_path / "there.jar").touch()
    step = step_of(tmp_path, needs=("sh", "./there.jar", word))
    with pytest.raises(PlanError) as found:
        program.ProgramDriver().check(step, cast(Plan, None), None)
    assert f": step `mine`: key `needs`: {words}" in str(found.value)
    assert "\n" not in str(found.value)


def test_another_version_of_what_a_program_needs_is_another_load(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs.jar"
    theirs.write_text("old")
    step = step_of(tmp_path, needs=("./theirs.jar",))
    program.ProgramDriver().check(step, cast(Plan, None), None)
    before = program.ProgramDriver().version(step)
    theirs.write_text("new")
    assert program.ProgramDriver().version(step) != before
