"""A program that knows nothing of dyno as the load: patterns find what its output tells."""

import json
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec import structs

from dbdyno import plan, workload
from dbdyno.model import Address, Json, Plan, Step
from dbdyno.model.address import Password
from dbdyno.model.error import GeneratorError, PlanError, WorkloadError
from dbdyno.model.events import DoneEvent
from dbdyno.model.job import Job
from dbdyno.model.job.endpoint import Endpoint
from dbdyno.run.driver import program
from dbdyno.run.driver.pattern import Patterns
from step_load import heard, only_step

PATTERNED = """
[[steps]]
name = "mine"
driver = "command"
command = {command}
pattern = {{ {pattern} }}
headline = {{ metric = "qps", role = "tpcc", count = "operations" }}
roles.tpcc = {{ connections = 2 }}
"""
HAMMER = "'(?P<per_min>[0-9]+) NOPM'"
DOCS = Path(__file__).parents[1] / "docs"
PARAMETERS = "[parameters]\nusers = 1\nterminals = 1\nseconds = 60\nwarmup_s = 10\n"
FIGURES = {"hammerdb": "NOPM", "benchbase": "goodput"}
FAILURES = {
    "hammerdb": "echo 'Vuser 3:FINISHED FAILED'",
    "benchbase": "echo '[ERROR] 2024-11-21 19:10:23 [main] DBWorkload main - Unexpected error'",
}
SAID = """
echo Rampup complete, Taking start Transaction Count.
sleep 0.5
echo Test complete, Taking end Transaction Count.
echo TEST RESULT : System achieved 5108 NOPM from 12000 PostgreSQL TPM
"""


def patterned(folder: Path, said: str, pattern: str) -> list[Json]:
    """The events of a program that prints this."""
    text = PATTERNED.format(command=json.dumps(["sh", "-c", said]), pattern=pattern)
    job = only_step(folder, text).job
    job = structs.replace(job, program="hammer", version="1", folder=str(folder))
    return heard(program.ProgramRun(job, lambda text: None, cpus=None))


def test_patterns_find_the_window_and_what_was_done_in_it(tmp_path: Path) -> None:
    pattern = f"open = 'Taking start', close = 'Taking end', result = {HAMMER}"
    events = patterned(tmp_path, SAID, pattern)
    assert [event["event"] for event in events] == [
        *("hello", "ready", "started", "window_open", "window_close", "tick", "done")
    ]
    *_, opened, closed, tick, done = events
    seconds = closed["active_ns"] / 1e9
    assert closed["active_ns"] == closed["mono_ns"] - opened["mono_ns"] == tick["active_ns"]
    assert tick["per_client"] == [[round(5108 / 60 * seconds), None, 0, None]]
    assert (tick["tick"], tick["operations"]["tpcc"]["response"]) == (None, None)
    assert (done["status"], done["report"]) == ("ok", {"per_min": 5108.0})


def test_without_lines_at_its_ends_the_window_is_from_the_start_to_the_result(tmp_path: Path):
    result = r"'ended (?P<count>[0-9,]+), (?P<errors>\d+) lost, mean (?P<latency_ms>[0-9.]+) ms'"
    said = "sleep 0.2; echo ended 1,234, 5 lost, mean 6.25 ms; echo ended 9, 9 lost, mean 9 ms"
    events = patterned(tmp_path, said, f"result = {result}, thousands = ','")
    closed, tick, done = events[-3:]
    assert tick["per_client"] == [[1234, None, 5, None]]
    assert tick["active_ns"] == closed["active_ns"] > 0
    assert done["report"] == {"count": 1234.0, "errors": 5.0, "latency_ms": 6.25}
    assert done["totals"]["tpcc"]["count"] == 1234


@pytest.mark.parametrize(
    ("said", "pattern", "reason"),
    [
        (SAID, "open = 'Takin start', result = 'x(?P<count>.)'", "`pattern.open`, 'Takin start'"),
        (SAID, f"close = 'Takin end', result = {HAMMER}", "`pattern.close`, 'Takin end'"),
        (SAID, "result = '(?P<per_s>[0-9]+) TPS'", "`pattern.result`, '(?P<per_s>[0-9]+) TPS'"),
        ("true", "result = '(?P<per_s>[0-9]+) TPS'", "no line of its output matched"),
        ("echo no such schema >&2; exit 3", f"result = {HAMMER}", "status 3: no such schema"),
    ],
)
def test_a_pattern_that_never_matches_is_told_with_its_key(
    tmp_path: Path, said: str, pattern: str, reason: str
) -> None:
    done = patterned(tmp_path, said, pattern)[-1]
    assert done["status"] == "failed"
    assert reason in done["reason"]
    assert "\n" not in done["reason"]


def replaced_needs(step: Step, needs: list[str]) -> Step:
    """The step with other needs."""
    return replace(step, job=structs.replace(step.job, needs=tuple(needs)))


def result_of(folder: Path, said: str, pattern: str) -> float:
    """The number that the pattern's group `count` finds in what a program prints."""
    text = PATTERNED.format(command='["true"]', pattern=pattern)
    job = only_step(folder, text).job
    assert job.pattern is not None
    reader = Patterns(job, job.pattern)
    list(reader.begun())
    list(reader.events(said))
    (done,) = (event for event in reader.done("ok", None) if isinstance(event, DoneEvent))
    assert done.report is not None
    return done.report["count"]


ALL = "result = 'did (?P<count>.*)'"
DIGITS = "result = 'did (?P<count>[0-9]+)'"
COMMA = "say in the pattern what stands between its digits"


@pytest.mark.parametrize(
    ("said", "more", "number"),
    [
        ("did 1234.56", "", 1234.56),
        ("did 1.5E3", "", 1500),
        ("did 1234,56", ", decimal = ','", 1234.56),
        ("did 1.234,56", ", decimal = ',', thousands = '.'", 1234.56),
        ("did 1,234,567.5", ", thousands = ','", 1234567.5),
        ("did 1234567", ", thousands = ','", 1234567),
        ("did 1\u202f234", ", thousands = ' '", 1234),
        ("did 1'234", ', thousands = "\'"', 1234),
    ],
)
def test_a_number_is_read_as_the_pattern_says(tmp_path: Path, said: str, more: str, number: float):
    assert result_of(tmp_path, said, ALL + more) == number


@pytest.mark.parametrize(
    ("said", "pattern", "words"),
    [
        ("did many", ALL, "finds `many`, which is not a number, in: did many"),
        ("did nan", ALL, "finds `nan`, which is not a number"),
        ("did inf", ALL, "finds `inf`, which is not a number"),
        ("did -5", ALL, "finds `-5`, which is not a number"),
        ("did 1234,56", ALL, COMMA),
        ("did 1,234", ALL, COMMA),
        ("did 1 234", ALL, COMMA),
        ("did 1_234", ALL, COMMA),
        ("did 1234,56", ALL + ", thousands = ','", COMMA),
        ("did 12,34,567", ALL + ", thousands = ','", COMMA),
        ("did 1.234.567", ALL, COMMA),
        ("did 1,234", DIGITS, "finds `1`, which is a part of a number"),
        ("did 1234.56", DIGITS, "finds `1234`, which is a part of a number"),
        ("did 12e6", DIGITS, "finds `12`, which is a part of a number"),
        ("did 12k", DIGITS, "finds `12`, which is a part of a number"),
        ("12,345 NOPM", "result = '(?P<count>[0-9]+) NOPM'", "finds `345`, which is a part"),
        ("-345 NOPM", "result = '(?P<count>[0-9]+) NOPM'", "finds `345`, which is a part"),
    ],
)
def test_no_number_is_guessed(tmp_path: Path, said: str, pattern: str, words: str) -> None:
    with pytest.raises(GeneratorError, match=re.escape(words)):
        result_of(tmp_path, said, pattern)


def test_numbers_beside_each_other_are_whole_where_the_pattern_has_what_is_between(tmp_path: Path):
    assert result_of(tmp_path, "7,1234,0.5", "result = '^[0-9]+,(?P<count>[0-9]+),'") == 1234


@pytest.mark.parametrize("where", ["", " >&2"])
@pytest.mark.parametrize("order", ["{bad}; {good}", "{good}; {bad}"])
def test_a_line_that_means_failure_fails_the_step_though_there_is_a_result(
    tmp_path: Path, order: str, where: str
) -> None:
    """HammerDB prints a result, and ends with status 0, when a virtual user has ended by an
    error."""
    said = order.format(
        bad=f"echo Vuser 3:FINISHED FAILED{where}",
        good="echo TEST RESULT : System achieved 5108 NOPM from 12000 PostgreSQL TPM",
    )
    done = patterned(tmp_path, said, f"failed = 'FINISHED FAILED', result = {HAMMER}")[-1]
    assert done["status"] == "failed"
    assert "failed, by `pattern.failed`: Vuser 3:FINISHED FAILED" in done["reason"]


@pytest.mark.parametrize("where", ["", " >&2"])
def test_a_program_that_has_failed_is_ended_though_others_of_its_threads_wait(
    tmp_path: Path, where: str
) -> None:
    """HammerDB's users wait for ever for tables that the one that makes them failed to make."""
    said = f"echo Vuser 1:FINISHED FAILED{where}; sleep 300"
    begun = time.monotonic()
    done = patterned(tmp_path, said, f"failed = 'FINISHED FAILED', result = {HAMMER}")[-1]
    assert time.monotonic() - begun < 100
    assert done["status"] == "failed"
    assert "failed, by `pattern.failed`: Vuser 1:FINISHED FAILED" in done["reason"]


@pytest.mark.parametrize("pattern", ["failed = 'FAILED'", "close = 'complete', failed = 'FAILED'"])
def test_a_step_that_is_not_measured_needs_no_figure(tmp_path: Path, pattern: str) -> None:
    text = PATTERNED.replace("headline = ", "measured = false\nheadline = ")
    said = "echo 2 Warehouses; echo schema complete"
    for ending, status in (("", "ok"), ("; echo FAILED", "failed"), ("; exit 1", "failed")):
        command = json.dumps(["sh", "-c", said + ending])
        job = only_step(tmp_path, text.format(command=command, pattern=pattern)).job
        job = structs.replace(job, program="hammer", version="1", folder=str(tmp_path))
        *_, done = events = heard(program.ProgramRun(job, lambda text: None, cpus=None))
        assert done["status"] == status, done["reason"]
        assert "tick" not in [event["event"] for event in events]
        assert status != "ok" or "window_close" in [event["event"] for event in events]


# The last lines of both programs, with figures of the reports that compare by the first of them.
HAMMERDB = """
echo "Vuser 1:Rampup complete, Taking start Transaction Count."
sleep {seconds}
echo "Vuser 1:Test complete, Taking end Transaction Count."
echo "Vuser 1:TEST RESULT : System achieved {figure} NOPM from {other} PostgreSQL TPM"
echo "Vuser 1:FINISHED SUCCESS"
"""
BENCHBASE = """
printf '[INFO ] 2024-11-21 19:10:11 [main] \\033[1mMEASURE\\033[0m :: Warmup complete, starting\\n'
sleep {seconds}
printf '[INFO ] 2024-11-21 19:10:23 [main] Rate limited reqs/s: Results(state=EXIT, '
printf 'nanoSeconds=60999908412, measuredRequests=3168) = '
echo "{other} requests/sec (throughput), {figure} requests/sec (goodput)"
"""


@pytest.mark.parametrize(
    ("name", "said", "report"),
    [
        ("hammerdb", HAMMERDB.format(seconds=0.05, figure=18664, other=43386), ("per_min", 18664)),
        ("benchbase", BENCHBASE.format(seconds=0.05, figure=52.2, other=51.9), ("per_s", 52.2)),
    ],
)
def test_the_documented_examples_read_the_figure_that_the_authors_compare_by(
    tmp_path: Path, name: str, said: str, report: tuple[str, float]
) -> None:
    text = (DOCS / "workload.md").read_text()
    (step,) = (
        PARAMETERS + block
        for block in re.findall(r"\[\[steps\]\]\n(?:[^`\n]+\n)+", text)
        if FIGURES[name] in block
    )
    command = re.compile("^command = .*$", re.MULTILINE)
    # The program's own name does not matter.
    step = command.sub(lambda _: f"command = {json.dumps(['sh', '-c', said])}", step)
    job = only_step(tmp_path, step).job
    for failing, status in (("", "ok"), (FAILURES[name], "failed")):
        words = ("sh", "-c", said + failing)
        told = structs.replace(job, command=words, program=name, version="1", folder=str(tmp_path))
        done = heard(program.ProgramRun(told, lambda text: None, cpus=None))[-1]
        assert done["status"] == status, done["reason"]
        if status == "ok":
            assert done["report"] == dict([report])


@pytest.mark.parametrize("name", ["HammerDB", "BenchBase"])
def test_the_documented_examples_are_whole_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    section = (DOCS / "workload.md").read_text().split(f"#### {name}\n")[1].split("\n###")[0]
    for file, text in re.findall(r"^`(\S+)`[^\n]*:\n\n```\w+\n(.*?)```", section, re.S | re.M):
        (tmp_path / file).write_text(text)
    monkeypatch.setenv(name.upper(), str(tmp_path))
    for program_of_theirs in ("hammerdbcli", "benchbase.jar"):
        (tmp_path / program_of_theirs).touch()
    of = plan.load(tmp_path / "plan.toml")
    steps = workload.expand(workload.used(of.workloads[0], of.path), {}, "postgres")
    assert [step.measured for step in steps] == [False, True]
    for step in steps:
        needs = [word for word in step.job.needs if word != "java"]
        program.ProgramDriver().check(replaced_needs(step, needs), of, None)


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("result = '(?P<count>'", "key `steps[1].pattern.result`: is not a regular expression: "),
        ("result = '(?P<rate>.)'", "pattern.result`: no group `rate` here"),
        ("open = '(?P<count>.)', result = '(?P<count>.)'", "pattern.open`: no group `count` here"),
        ("result = '(?P<errors>.)'", "pattern.result`: has 0 groups that say how much was done"),
        ("open = 'x'", "pattern.result`: missing"),
        ("failed = '(', result = '(?P<count>.)'", "pattern.failed`: is not a regular expression"),
        ("decimal = ';', result = '(?P<count>.)'", "pattern.decimal`"),
        (
            "decimal = ',', thousands = ',', result = '(?P<count>.)'",
            "pattern.thousands`: `,` stands before fractions already",
        ),
    ],
)
def test_a_pattern_that_cannot_tell_is_refused(tmp_path: Path, pattern: str, words: str) -> None:
    with pytest.raises(WorkloadError) as found:
        patterned(tmp_path, "true", pattern)
    assert words in str(found.value)


# What stands around a program that makes the load: its environment, and what it needs.


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
