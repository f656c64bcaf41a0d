"""`[queries]` of a workload file: each query of an application is a step."""

import json
from pathlib import Path

import pytest

from dbdyno import workload
from dbdyno.model import Step
from dbdyno.model.error import WorkloadError
from dbdyno.model.literal import taking
from dbdyno.workload.own_text import at_parameters, masked
from dbdyno.workload.queries import TOP, with_clock

BOOKS = "SELECT title FROM books WHERE id = $1 AND tags @> '{a:b}' AND j -> 'x' IS NOT NULL"


def folder_of(tmp_path: Path, queries: str, texts: dict[str, str]) -> Path:
    """A captured application's folder."""
    app = tmp_path / "app"
    (app / "queries").mkdir(parents=True)
    (app / "values").mkdir()
    for name, text in texts.items():
        (app / "queries" / f"{name}.sql").write_text(text)
        line = json.dumps({"weight": 1, "values": [5, "O'Brien"]})
        (app / "values" / f"{name}.jsonl").write_text(line + "\n")
    (app / "workload.toml").write_text(queries)
    return app


def steps_of(app: Path, **parameters: int) -> tuple[Step, ...]:
    """The steps of an application's folder on PostgreSQL."""
    return workload.expand(workload.load(str(app)), dict(parameters), "postgres")


def entry(name: str, *, calls: int = 1, time_s: float = 1.0, more: str = "") -> str:
    """A query of a workload file."""
    return (
        f'[queries.{name}]\ntext = "queries/{name}.sql"\ncalls = {calls}\n'
        f"time_s = {time_s}\n{more}\n"
    )


def test_each_query_is_a_step_the_costliest_first(tmp_path: Path) -> None:
    app = folder_of(
        tmp_path,
        entry("a", time_s=1) + entry("b", time_s=3) + entry("c", time_s=2),
        {name: f"SELECT {number}" for number, name in enumerate("abc")},
    )
    steps = steps_of(app)
    assert [step.name for step in steps] == ["b", "c", "a"]
    assert all(step.measured and not step.writes and step.goes_on for step in steps)
    assert {step.workload for step in steps} == {"app"}
    assert [step.name for step in steps_of(app, top=2)] == ["b", "c"]
    assert len(steps) < TOP


def test_a_text_stands_as_written_but_for_its_parameters(tmp_path: Path) -> None:
    more = 'values = "values/books.jsonl"'
    app = folder_of(tmp_path, entry("books", more=more), {"books": f"{BOOKS};\n"})
    (step,) = steps_of(app)
    statement = step.job.statements[0]
    assert statement.texts == ["SELECT title FROM books WHERE id = ", BOOKS.split("$1")[1]]
    assert [value.name for value in step.job.values] == ["books_1"]


def test_what_a_query_writes_is_rolled_back(tmp_path: Path) -> None:
    app = folder_of(tmp_path, entry("put", more="writes = true"), {"put": "DELETE FROM books"})
    (step,) = steps_of(app)
    sent = [statement.name for statement in step.job.statements]
    assert sent == ["BEGIN", "put", "constraints", "ROLLBACK"]


def test_sessions_are_as_the_applications(tmp_path: Path) -> None:
    more = "settings = { search_path = \"shop, public\" }\nrole = 'app'"
    app = folder_of(tmp_path, entry("a", more=more), {"a": "SELECT 1"})
    (step,) = steps_of(app)
    assert list(step.job.roles[0].session) == [
        "SELECT set_config('search_path', 'shop, public', false)",
        "SET default_transaction_read_only = on",
        taking("app", local=False),
    ]
    assert step.job.roles[0].statement_limit_s == 20


def test_parameters_are_found_outside_of_quotes_comments_and_names() -> None:
    text = "SELECT '$1', $tag$ $2 $tag$, a$1, $12::int -- $3\n, /* $4 /* $5 */ */ $6"
    assert at_parameters(text)[1::2] == ["$12", "$6"]
    assert "".join(at_parameters(text)) == text


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("WHERE id=$1OR id=$2", ["WHERE id=", "$1", "OR id=", "$2", ""]),
        ("SELECT $1 !", ["SELECT ", "$1", " !"]),
        ("SELECT /* it's $1 */ 'a' , $2", ["SELECT /* it's $1 */ 'a' , ", "$2", ""]),
        ("SELECT $1||$2", ["SELECT ", "$1", "||", "$2", ""]),
    ],
)
def test_nothing_of_a_text_is_lost_around_its_parameters(text: str, pieces: list[str]) -> None:
    assert at_parameters(text) == pieces


def test_a_clock_stands_where_its_parameter_stood() -> None:
    text = "SELECT * FROM books WHERE at > $2 AND id = $1"
    assert with_clock(text, {"2": "now()"}) == "SELECT * FROM books WHERE at > now() AND id = $1"


def test_a_masked_text_has_no_values() -> None:
    text = "SELECT 'secret', 17, $1 /* user=bob */ FROM \"T\" -- mail\nWHERE e'x' = a"
    assert masked(text) == 'SELECT ?, ?, $1 FROM "T" WHERE ? = a'


@pytest.mark.parametrize(
    ("queries", "said"),
    [
        (entry("gone"), "key `queries.gone.text`"),
        (entry("empty"), "key `queries.empty.text`"),
        ("description = 'nothing'", "neither `steps` nor `queries`"),
    ],
)
def test_a_folder_that_cannot_run_says_why(tmp_path: Path, queries: str, said: str) -> None:
    app = folder_of(tmp_path, queries, {"empty": " ;\n"})
    with pytest.raises(WorkloadError, match=r"workload\.toml") as refused:
        workload.load(str(app))
    assert said in str(refused.value)


def test_queries_without_values_are_left_out_and_named(tmp_path: Path) -> None:
    texts = {"a": "SELECT 1", "b": "SELECT $1", "c": "SELECT 2"}
    app = folder_of(tmp_path, entry("a") + entry("b") + entry("c"), texts)
    assert [step.name for step in steps_of(app)] == ["a", "c"]


def test_an_application_without_any_values_is_refused_in_a_line(tmp_path: Path) -> None:
    app = folder_of(tmp_path, entry("b"), {"b": "SELECT $1"})
    with pytest.raises(WorkloadError, match="no query has values for its parameters: capture a"):
        steps_of(app)
