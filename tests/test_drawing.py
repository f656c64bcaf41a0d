"""Values drawn for queries without any: where parameters stand, tuples of rows, their weights."""

import random
from pathlib import Path

import pytest

from dbdyno import workload
from dbdyno.capture import calibration, drawing, folder
from dbdyno.capture.calibration import TupleTrial
from dbdyno.capture.drawing import Material, NoValueError, ParameterPlace, ParameterPlaces, Pool
from dbdyno.capture.folder import CallSample, DrawOutcome
from dbdyno.capture.postgres_places import places_of
from dbdyno.stats import tilted


@pytest.mark.parametrize(
    ("text", "uses"),
    [
        ("SELECT 1 FROM t WHERE a = $1", "equal"),
        ("SELECT 1 FROM t WHERE $1 < a", "from"),
        ("SELECT 1 FROM t WHERE a <= $1::int", "to"),
        ("SELECT 1 FROM t WHERE a BETWEEN $1 AND $2", "from to"),
        ("SELECT 1 FROM t WHERE a IN ($1, $2)", "listed listed"),
        ("SELECT 1 FROM t WHERE a = ANY ($1)", "array"),
        ("SELECT 1 FROM t WHERE n ILIKE $1 LIMIT $2 OFFSET $3", "like limit offset"),
        ("SELECT extract($1 FROM d) FROM t", "field"),
        ("SELECT $1 AS x, a + $2 FROM t", "other other"),
        ("INSERT INTO t (a, b) VALUES ($1, $2)", "inserted inserted"),
        ("UPDATE t SET a = $1 WHERE b > $2", "assigned from"),
        ("DELETE FROM t WHERE (a, b) = ($1, $2)", "equal equal"),
        ("SELECT $1 !", ""),
    ],
)
def test_each_parameter_has_a_place_by_what_it_is_compared_with(text: str, uses: str) -> None:
    places = places_of(text).places
    assert [places[number].use for number in sorted(places)] == uses.split()


def test_a_draft_reads_what_the_query_reads_without_conditions_on_parameters() -> None:
    (draft,) = places_of(
        "SELECT o.id FROM orders o JOIN who w ON w.id = o.who AND w.city = $1 "
        "WHERE lower(o.state) = $2 AND o.gone IS NULL AND (o.a = $3 OR o.b = 1) ORDER BY 1 LIMIT 5"
    ).drafts
    assert draft.whole == (
        "SELECT o.a::text, w.city::text, lower(o.state)::text FROM orders o "
        "JOIN who w ON w.id = o.who WHERE o.gone IS NULL"
    ) or draft.whole == (
        "SELECT w.city::text, lower(o.state)::text, o.a::text FROM orders o "
        "JOIN who w ON w.id = o.who WHERE o.gone IS NULL"
    )
    assert f"orders o TABLESAMPLE system({drawing.SHARE}) JOIN" in draft.sampled
    assert draft.tables == ("orders", "who")
    assert set(draft.names) == {"a", "city", ""}
    assert set(draft.plain) == {"a", "city", "lower(state)"}


def test_statements_within_others_have_drafts_of_their_own() -> None:
    places = places_of(
        "WITH w AS (SELECT * FROM t WHERE a = $1) SELECT * FROM w JOIN u ON u.id = w.id "
        "WHERE EXISTS (SELECT FROM v WHERE v.b = $2) AND u.c >= $3"
    )
    tables = {number: places.drafts[place.draft].tables for number, place in places.places.items()}
    assert tables == {1: ("t",), 2: ("v",), 3: ("w", "u")}
    assert places.drafts[places.places[3].draft].whole == "", "its WITH holds a parameter"


def test_a_text_is_typed_in_a_form_that_servers_prepare() -> None:
    places = places_of("SELECT extract($1 FROM d) FROM t WHERE d > date $2 - interval $3")
    assert places.typed == (
        "SELECT pg_catalog.date_part($1, d) FROM t WHERE d > ($2::date - $3::interval)"
    ) or ("date_part($1, d)" in places.typed and "$3::interval" in places.typed)


def material(text: str, rows: list[tuple[str | None, ...]], *types: str) -> Material:
    """What tuples of a query are made from, whose one draft has these rows."""
    places = places_of(text)
    return Material(
        places=places, pools=[Pool(rows=rows)], types=dict(enumerate(types, start=1)), rows=20.0
    )


ROWS: list[tuple[str | None, ...]] = [(str(number % 7), f"city {number}") for number in range(70)]


def test_values_that_are_compared_together_come_from_one_row() -> None:
    of = material("SELECT 1 FROM t WHERE a = $1 AND b = $2", ROWS, "integer", "text")
    drawn = drawing.tuples(of, 64, "seed")
    of_rows = [values for values in drawn if values in ROWS]
    assert len(of_rows) > 3 * len(drawn) / 4
    absent = [values for values in drawn if values not in ROWS]
    assert absent, "some find nothing"
    assert drawing.tuples(of, 64, "seed") == drawn
    assert drawing.tuples(of, 64, "other") != drawn


def test_ranges_are_in_order_and_of_many_widths() -> None:
    rows: list[tuple[str | None, ...]] = [(str(number),) for number in range(1000)]
    of = material("SELECT 1 FROM t WHERE a >= $1 AND a < $2", rows, "integer", "integer")
    widths = [int(high or 0) - int(low or 0) for low, high in drawing.tuples(of, 64, "seed")]
    assert min(widths) >= 0
    assert sum(width < 20 for width in widths) > 10
    assert sum(width > 100 for width in widths) > 10


@pytest.mark.parametrize(("sign", "narrowest"), [("<=", "0"), (">=", "9")])
def test_a_range_with_one_end_begins_at_the_first_row_or_ends_at_the_last(
    sign: str, narrowest: str
) -> None:
    rows: list[tuple[str | None, ...]] = [(str(number),) for number in range(10)]
    drawn = drawing.tuples(material(f"SELECT 1 FROM t WHERE a {sign} $1", rows, "integer"), 64, "s")
    assert (narrowest,) in drawn and len(set(drawn)) > 3


def test_null_is_compared_with_nothing() -> None:
    rows: list[tuple[str | None, ...]] = [(None,), ("5",)]
    of = material("SELECT 1 FROM t WHERE a = $1", rows, "integer")
    assert ("5",) in drawing.tuples(of, 16, "seed")
    assert (None,) not in drawing.tuples(of, 16, "seed")


def test_an_inserted_row_is_new_where_a_column_holds_each_value_once() -> None:
    of = Material(
        places=places_of("INSERT INTO t (id, n) VALUES ($1, $2)"),
        pools=[Pool(rows=[("7", "a"), ("9", "b")], fresh=frozenset({0}))],
        types={1: "integer", 2: "text"},
    )
    drawn = drawing.tuples(of, 16, "seed")
    assert all(int(identity or 0) > 9 and name in ("a", "b") for identity, name in drawn)
    assert len({identity for identity, _ in drawn}) == len(drawn)


def test_patterns_arrays_and_what_meets_no_column() -> None:
    text = "SELECT $3 FROM t WHERE n LIKE $1 AND n = ANY ($2) LIMIT $4"
    of = material(text, [('50% "x"',)], "text", "text[]", "interval", "bigint")
    for pattern, array, span, limit in drawing.tuples(of, 32, "seed"):
        assert pattern is not None and pattern.endswith("%")
        assert array == '{"50% \\"x\\""}'
        assert span in drawing.CONSTANTS["interval"]
        assert int(limit or 0) > 0
    unknown = Material(places=ParameterPlaces(), pools=[], types={1: "geometry"})
    with pytest.raises(NoValueError, match="no value of type geometry is known"):
        drawing.tuples(unknown, 1, "seed")
    by_type = Material(
        places=ParameterPlaces(), pools=[], types={1: "color"}, by_type={"color": ["red"]}
    )
    assert drawing.tuples(by_type, 1, "seed") == [("red",)]


@pytest.mark.parametrize(
    ("value", "type_", "written"),
    [
        ("5", "integer", "5"),
        ("-1.50", "numeric", "-1.50"),
        ("NaN", "numeric", '"NaN"'),
        ("5", "text", '"5"'),
        ("true", "boolean", "true"),
        ("O'Brien", "text", '"O\'Brien"'),
        (None, "text", "null"),
    ],
)
def test_a_number_stands_bare_and_a_text_in_quotes(value: str | None, type_: str, written: str):
    assert drawing.as_json(value, type_) == written


# --- Weights ----------------------------------------------------------------------------------


def test_weights_give_the_wanted_mean_and_are_equal_where_it_is_that_of_all() -> None:
    draw = random.Random(1)
    for _ in range(50):
        values = [draw.choice((0.0, 1.0, draw.uniform(0, 1e5))) for _ in range(30)]
        mean = draw.uniform(min(values), max(values))
        weights = tilted.weights(values, mean)
        assert sum(weights) == pytest.approx(1)
        assert sum(v * w for v, w in zip(values, weights, strict=True)) == pytest.approx(
            mean, rel=1e-3, abs=1e-3 * max(values)
        )
    assert tilted.weights([1.0, 2.0, 3.0], 2.0) == pytest.approx([1 / 3] * 3)


def test_a_mean_beyond_all_values_is_that_of_the_nearest() -> None:
    assert tilted.weights([1.0, 5.0, 5.0], 9.0) == [0.0, 0.5, 0.5]
    assert tilted.weights([1.0, 5.0], 0.0) == [1.0, 0.0]
    assert tilted.weights([2.0, 2.0], 7.0) == [0.5, 0.5]
    assert tilted.weights([], 1.0) == []


def tried(*rows: int, seconds: float = 0.001) -> list[TupleTrial]:
    """Tuples that found so many rows."""
    return [
        TupleTrial(values=(str(number),), rows=count, seconds=seconds)
        for number, count in enumerate(rows)
    ]


def test_tuples_are_weighed_so_that_calls_find_the_rows_of_the_source() -> None:
    fit = calibration.fit(tried(0, 1, 100, 10_000), 50.0, 0.001)
    assert fit.problem == ""
    assert fit.rows == pytest.approx(50, rel=0.1)
    assert sum(weight for _, weight in fit.samples) == pytest.approx(calibration.WEIGHT, abs=4)


def test_a_skewed_column_is_weighed_to_the_rows_of_its_common_value() -> None:
    """80, 19 and 1 per cent of 1,000 rows, asked for the first nine times in ten."""
    fit = calibration.fit(tried(*[800] * 20, *[190] * 5, *[10] * 2), 720.0, 0.001)
    assert fit.problem == ""
    assert fit.rows == pytest.approx(720, rel=0.02)


def test_rows_that_no_weights_give_leave_a_query_out() -> None:
    fit = calibration.fit(tried(1, 1, 1), 250.0, 0.001)
    assert fit.problem == "a call finds 1 rows where the source's found 250"
    assert calibration.fit(tried(1, 1), 1.9, 0.001).problem == ""
    assert calibration.fit(tried(0, 0), 0.005, 0.001).problem == ""


def test_time_decides_where_rows_tell_nothing() -> None:
    slow = [*tried(1, seconds=0.2), *tried(1, seconds=0.04), *tried(1, seconds=0.03)]
    fit = calibration.fit(slow, 1.0, 0.05)
    assert fit.problem == "" and fit.seconds in (0.03, 0.04)
    delayed = [*tried(*[1] * 9), *tried(1, seconds=3.0)]
    assert calibration.fit(delayed, 1.0, 0.001).problem == "", "something else delayed one call"
    problem = calibration.fit(tried(1, 1, seconds=0.001), 1.0, 0.09).problem
    assert problem == "a call takes 1 ms where the source's took 90 ms"
    assert calibration.fit(tried(1, 1, seconds=0.001), 1.0, 0.005).problem == ""


# --- The folder -------------------------------------------------------------------------------

APP = """# mine
[queries.fits]
text = "queries/fits.sql"
calls = 10
rows = 20
[queries.strange]
text = "queries/strange.sql"
calls = 10
"""


@pytest.fixture
def app(tmp_path: Path) -> Path:
    """A captured folder of two queries without values."""
    (tmp_path / "queries").mkdir()
    for name in ("fits", "strange"):
        (tmp_path / "queries" / f"{name}.sql").write_text("SELECT 1 FROM t WHERE a = $1")
    (tmp_path / "workload.toml").write_text(APP)
    return tmp_path


def test_drawn_values_are_kept_in_the_folder_and_run(app: Path) -> None:
    path = app / "workload.toml"
    assert [query.name for query in workload.undrawn(path)] == ["fits", "strange"]
    drawn = [
        DrawOutcome(
            name="fits", words="2 rows and 0.1 ms a call", samples=(CallSample(("5",), 3),)
        ),
        DrawOutcome(name="strange", words="left out: too slow"),
    ]
    folder.add_drawn(app, drawn)
    assert workload.undrawn(path) == []
    used = workload.load(str(path)).application
    assert used is not None
    assert [query.name for query in used.queries] == ["fits"]
    assert used.queries[0].drawn == "2 rows and 0.1 ms a call"
    assert [query.name for query in used.without_values] == ["strange"]
    values = app / "values" / "fits.jsonl"
    assert values.read_text() == '{"weight": 3, "values": [5]}\n'
    assert values.stat().st_mode & 0o077 == 0
    assert path.read_text().startswith("# mine\n")
    assert "| `strange` | left out: too slow |" in (app / "coverage.md").read_text()


def test_a_place_belongs_to_the_draft_of_its_statement() -> None:
    assert ParameterPlace(1, "equal", 0).within(2) == ParameterPlace(1, "equal", 0, 2)
