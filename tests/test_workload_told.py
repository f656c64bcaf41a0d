"""Tables that a step's statements make, headlines of the window, and metrics of a step's own."""

from pathlib import Path

import pytest

from dbdyno import workload
from workload_reader import complaint, job_of, steps

TEXT = """
[parameters]
copies = 10

[tables.copied]
numbered = false
rows = "{copies*370}"
bytes_per_row = 200

[tables.other]
create = "CREATE TABLE {t} (a int)"

[[steps]]
name = "copy"
makes = ["copied"]
headline = { metric = "mbps", role = "create", work = { query = "SELECT pg_table_size('copied')" } }
parts = [{ once = "CREATE TABLE copied AS SELECT generate_series(1, {copies})" }]

[[steps]]
name = "vacuum"
headline = { metric = "seconds", role = "vacuum" }
parts = [{ once = "VACUUM VERBOSE copied" }]
[steps.metrics.read_rate]
title = "read rate"
unit = "MB/s"
better = "more"
pattern = 'read rate: ([0-9.]+) MB/s'

[[steps]]
name = "select"
headline = { metric = "seconds", role = "select" }
parts = [{ once = "SELECT max(n) AS most FROM copied" }]
[steps.metrics]
most = { column = "most", of = "select", take = "last" }
pages = { query = "SELECT relpages FROM pg_class WHERE relname = 'copied'", unit = "pages" }
none = { when = 0, column = "most" }
"""
PATTERN = "'read rate: ([0-9.]+) MB/s'"
MBPS = ", work = { query = \"SELECT pg_table_size('copied')\" }"


def test_what_a_step_makes_is_dropped_before_it_and_not_created(tmp_path: Path) -> None:
    copy, vacuum, _ = steps(TEXT, tmp_path)
    assert copy.setup == ("DROP TABLE IF EXISTS copied",)
    assert copy.makes == ("copied",)
    assert vacuum.makes == vacuum.setup == ()
    assert copy.tables == ("copied", "other1")


def test_what_a_step_makes_counts_for_the_room_on_disk(tmp_path: Path) -> None:
    found = steps(TEXT, tmp_path)
    needs = workload.estimate(workload.load(str(tmp_path / "w.toml")), {}, found)
    assert (needs.rows, needs.disk_bytes) == (3700, 3700 * 200)


def test_the_step_that_makes_a_table_comes_first_where_others_use_it(tmp_path: Path) -> None:
    uses = TEXT + '[[steps]]\nname = "read"\nparts = [{ once = "SELECT 1 FROM {t}" }]\n'
    numbered = uses.replace("numbered = false\n", "").replace("[tables.other]", "[tables.copied2]")
    alone = numbered.replace('[tables.copied2]\ncreate = "CREATE TABLE {t} (a int)"\n', "")
    assert [one.name for one in steps(alone, tmp_path, steps=["read"])] == ["copy", "read"]


def test_a_headline_counts_operations_where_it_says_nothing(tmp_path: Path) -> None:
    copy, vacuum, _ = steps(TEXT, tmp_path)
    assert copy.headline is not None
    assert vacuum.headline is not None
    assert (vacuum.headline.metric, vacuum.headline.count) == ("seconds", "operations")
    assert copy.headline.work_query == "SELECT pg_table_size('copied')"
    assert copy.headline.work is None


def test_what_metrics_are_read_from_is_captured(tmp_path: Path) -> None:
    copy, vacuum, select = steps(TEXT, tmp_path)
    assert [job_of(one)["capture"] for one in (copy, vacuum, select)] == [
        [],
        ["rows", "notices"],
        ["rows"],
    ]


def test_metrics_are_there_with_their_defaults(tmp_path: Path) -> None:
    _, vacuum, select = steps(TEXT, tmp_path)
    (rate,) = vacuum.metrics
    assert (rate.name, rate.title, rate.unit, rate.better) == (
        "read_rate",
        "read rate",
        "MB/s",
        "more",
    )
    most, pages = select.metrics
    assert (most.title, most.unit, most.better, most.of, most.take) == (
        "most",
        "",
        None,
        "select",
        "last",
    )
    assert pages.query == "SELECT relpages FROM pg_class WHERE relname = 'copied'"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (PATTERN, "'rate'", "needs one group, which is the value, not 0"),
        (PATTERN, "'(rate): ([0-9]+)'", "needs one group, which is the value, not 2"),
        (PATTERN, "'rate: ([0-9]+'", "is not a regular expression"),
        (PATTERN, "'([0-9]+)'\ncolumn = 'a'", "`column`, `pattern` and `query`, not 2"),
        ("pattern = " + PATTERN, "", "`column`, `pattern` and `query`, not 0"),
        ("pattern = ", "patern = ", "`steps[2].metrics.read_rate.patern`: unknown key; did you"),
        ('of = "select"', 'of = "selct"', "no statement `selct` in this step; did you mean"),
        ('"more"\npattern', '"most"\npattern', "must be 'more' or 'less'"),
        ('unit = "pages"', 'take = "sum"', "goes with `column` and `pattern`; remove it"),
        ('take = "last"', 'take = "sum", text = true', 'a text has no "sum"; use "first" or'),
        (MBPS, "", "`mbps` needs `work`, the bytes"),
        (MBPS, MBPS + ", each = 2", "`mbps` needs all bytes at once; use `work`"),
        (MBPS, ", each = 2", "key `steps[1].headline.each`: `mbps` needs all bytes at once"),
        ('"seconds", role = "vacuum"', '"second", role = "vacuum"', "did you mean `seconds`?"),
        ('role = "vacuum"', 'role = "vacuum", each = 5', "`seconds` is the window's length"),
        ('makes = ["copied"]', 'makes = ["copid"]', "no table `copid`; did you mean `copied`?"),
        (
            'makes = ["copied"]',
            'makes = ["copied"]\ncreates = ["copied"]',
            "`copied` is in `creates`, too",
        ),
        ('makes = ["copied"]', 'creates = ["copied"]', "`tables.copied.create`: missing"),
    ],
)
def test_what_is_wrong_is_one_line(old: str, new: str, said: str, tmp_path: Path) -> None:
    changed = TEXT.replace(old, new, 1)
    assert changed != TEXT
    assert said in complaint(changed, tmp_path)


def test_a_timed_step_has_no_headline_in_seconds(tmp_path: Path) -> None:
    timed = """
[statements]
get = "SELECT 1"

[[steps]]
name = "read"
seconds = 5
headline = { metric = "seconds", role = "query" }
roles.query = { run = "get" }
"""
    said = complaint(timed, tmp_path)
    assert "`steps[1].headline.metric`: a step with `seconds` always takes that long" in said


def test_a_program_and_a_bulk_load_have_nothing_to_capture(tmp_path: Path) -> None:
    fills = """
[tables.t]
create = "CREATE TABLE {t} (a int)"
fill.rows = 5
fill.columns.a = ":row"

[[steps]]
name = "load"
fill = "published"
creates = ["t"]
fills = ["t"]
metrics.m = { column = "a" }
"""
    said = complaint(fills, tmp_path, fill="published")
    assert said.endswith("this step has nothing to capture; use a `query`")
