"""Values that are drawn from a file of tuples: what becomes of them in a job, and bad files."""

import json
import re
from pathlib import Path

import pytest

from dbdyno import workload
from dbdyno.model.error import GeneratorError, WorkloadError
from dbdyno.model.job.statements import DECLARED_TYPES
from dbdyno.model.step_run import Ending
from dbdyno.run.agent import load, seat
from dbdyno.run.measurement import without_values
from dbdyno.workload import samples
from workload_reader import complaint, job_of, steps

ROOT = Path(__file__).parent.parent
APP = """
[values]
id = { sample = { file = "samples.jsonl", column = 1, type = "numeric" } }
name = { sample = { file = "samples.jsonl", column = 2 } }
active = { sample = { file = "samples.jsonl", column = 3 } }

[statements]
by-name = \"\"\"SELECT count(*) FROM customers WHERE credit >= :id AND name = :name \\
             AND active IS NOT DISTINCT FROM :active\"\"\"
by-credit.protocol = "extended"
by-credit.any = \"\"\"SELECT credit / :id, count(*) FROM customers WHERE active = :active \\
                   GROUP BY credit / :id\"\"\"

[[steps]]
name = "app"
roles.query.choose = { by-name = 1, by-credit = 1 }
roles.query.stop = { operations = 1000 }
roles.query.session = ["SET search_path = shop, public", "SET default_transaction_read_only = on"]
roles.query.statement_limit_s = 2.5
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the contract's file of tuples."""
    (tmp_path / "samples.jsonl").write_bytes((ROOT / "contract" / "samples.jsonl").read_bytes())
    return tmp_path


def test_samples_become_the_contracts_example(folder: Path) -> None:
    (step,) = steps(APP, folder)
    job = job_of(step)
    theirs = json.loads((ROOT / "contract" / "job-sample.json").read_text())
    assert job["samples"] == dict.fromkeys(theirs["samples"], f"{folder}/samples.jsonl")
    makers = [value["sample"] for value in job["values"]]
    assert makers == [value["sample"] for value in theirs["values"]]
    assert [statement["types"] for statement in job["statements"]] == [[], ["numeric", ""]]
    assert job["statements"][:2] == theirs["statements"][:2]
    for key in ("session", "statement_limit_s"):
        assert job["roles"][0][key] == theirs["roles"][0][key]


def test_a_sample_that_stands_twice_is_one_parameter_where_it_is_explained(folder: Path) -> None:
    (step,) = steps(APP, folder)
    assert step.explain["by-credit"] == (
        "SELECT credit / $1::numeric, count(*) FROM customers WHERE active = $2 "
        "GROUP BY credit / $1"
    )


def test_a_type_that_cannot_be_declared_by_its_name_is_a_cast(folder: Path) -> None:
    text = APP.replace('"numeric"', '"numeric(9,2)"')
    (step,) = steps(text, folder)
    simple, bound = job_of(step)["statements"]
    assert bound["types"] == []
    assert bound["pieces"][:3] == ["SELECT credit / ", {"value": 0}, "::numeric(9,2)"]
    assert not any("::" in piece for piece in simple["pieces"] if isinstance(piece, str))
    assert step.explain["by-credit"].startswith("SELECT credit / $1::numeric(9,2), count(*)")


def test_the_types_that_can_be_declared_are_the_generators() -> None:
    rust = (ROOT / "loadgen" / "src" / "job" / "types.rs").read_text()
    assert set(re.findall(r'^    \("([^"]+)", \d+\),', rust, re.MULTILINE)) == DECLARED_TYPES


def test_no_value_of_a_file_is_in_a_step(folder: Path) -> None:
    text = APP.replace('"extended"', '"prepared"')
    for engine in ("postgres", "mariadb"):
        (step,) = steps(text, folder, engine)
        written = json.dumps(job_of(step)) + repr(step)
        assert "Brien" not in written
        assert "temp" not in written
        assert bool(step.explain) == (engine == "postgres")


def test_sessions_of_mysql_take_texts_of_any_language(folder: Path) -> None:
    text = APP.replace('"extended"', '"prepared"')
    (step,) = steps(text, folder, "mysql")
    assert job_of(step)["character_set"] == "utf8mb4"
    assert job_of(step)["statements"][1]["types"] == []


def test_a_plan_brings_its_files_and_keeps_their_hashes(folder: Path) -> None:
    (folder / "w.toml").write_text(APP)
    loaded = workload.load(str(folder / "w.toml"))
    (hash_of_file,) = json.loads((ROOT / "contract" / "job-sample.json").read_text())["samples"]
    assert workload.scripts_sha256(loaded) == {"samples.jsonl": hash_of_file}


def test_a_generator_elsewhere_is_sent_the_files(folder: Path, tmp_path: Path) -> None:
    (step,) = steps(APP, folder)
    contents = seat.samples(step.job)
    there = tmp_path / "there"
    there.mkdir()
    job = load.with_samples(step.job, contents, there)
    ((sha256, path),) = job.samples.items()
    assert Path(path).read_bytes() == (folder / "samples.jsonl").read_bytes()
    assert Path(path).parent == there
    assert Path(path).stat().st_mode & 0o777 == 0o600
    (folder / "samples.jsonl").unlink()
    with pytest.raises(GeneratorError, match="cannot be read as samples"):
        seat.samples(step.job)
    assert sha256 in contents


def test_steps_with_samples_are_private(folder: Path) -> None:
    (step,) = steps(APP, folder)
    assert step.private
    assert step.job.private


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("", "has no tuple; write a line for each"),
        ('{"values": [1, 2, 3]}\n{"values": [1, 2]}', "line 2: has 2 values where the lines"),
        ('{"values": [1, 2, 3]}\n\n{"values": [1, "secret', "line 3: is no tuple"),
        ('{"values": "secret"}', "line 1: is no tuple"),
        ('{"values": [1], "secret": 1}', "line 1: is no tuple"),
        ('{"values": []}', "line 1: has no values"),
        ('{"weight": 0, "values": [1]}', "line 1: is no tuple"),
        ('{"weight": 9223372036854775807, "values": [1]}\n{"values": [1]}', "line 2: all weights"),
        ('{"values": [1, ["secret"]]}', "line 1: value 2 is a list or an object"),
        ('{"values": ["secret\\u0000"]}', "line 1: value 1 has a NUL"),
        ('{"values": ["secret\\ud800"]}', "line 1: is no tuple"),
        ("\udcff", "line 1: is no tuple"),
    ],
)
def test_a_bad_file_is_refused_with_its_line_and_without_its_values(
    tmp_path: Path, content: str, line: str
) -> None:
    (tmp_path / "samples.jsonl").write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(WorkloadError) as raised:
        samples.read(tmp_path / "samples.jsonl")
    assert str(raised.value).startswith(f"{tmp_path}/samples.jsonl: {line}")
    assert "secret" not in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        ("column = 3", "column = 4", "key `values.active.sample.column`: "),
        ("column = 3", "column = 0", "key `values.active.sample.column`: must be at least 1"),
        ("column = 3 }", "column = 3 }, per = 'statement'", "key `values.active.per`: a `sample`"),
        ("column = 3 }", "column = 3 }, format = 'text'", "key `values.active.format`: a `sample`"),
        ("name = :name", "name IN ([[2: :name]])", "key `statements.by-name`: `name` is the same"),
        ("= 2.5", "= 0", "key `steps[1].roles.query.statement_limit_s`: must be at least 0.001"),
        ("shop, public", "{t}", "key `steps[1].roles.query.session`: is sent before a table"),
    ],
)
def test_what_a_sample_cannot_be_is_refused(folder: Path, before: str, after: str, line: str):
    assert before in APP
    assert complaint(APP.replace(before, after), folder).startswith(line)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "w.toml").write_text(APP)
    with pytest.raises(WorkloadError, match=r"samples\.jsonl: cannot be read as samples: No such"):
        workload.expand(workload.load(str(tmp_path / "w.toml")), {}, "postgres")


def test_a_time_out_keeps_its_limit_and_code_without_values() -> None:
    reason = "get: timed out: the server ended it at its limit of 2.5 s (SQLSTATE 57014)"
    assert without_values(reason) == reason
    assert Ending(status="failed", reason=reason).timed_out_s == 2.5
    assert Ending(status="failed", reason="get: it timed out").timed_out_s is None
    assert without_values("no 12 in 'secret' (SQLSTATE 22012, error 1365)") == (
        "no … in … (SQLSTATE 22012, error 1365)"
    )
