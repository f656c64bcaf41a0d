"""YBIO on real servers: keys, batches, kinds of batches, runs that are kept, from both sides."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from dbdyno import workload
from dbdyno.analysis.step import assemble
from dbdyno.engine import Server
from dbdyno.findings.statements.facts import StatementFacts
from dbdyno.findings.waits.facts import IDLE, WaitFacts
from dbdyno.model import Arm, Step, StepRun, ToldFacts
from dbdyno.store import Results, StepFolder
from one_arm import ONE_LIVE_ARM, results_of
from server_place import a_place, address, ends, newest, started
from step_load import load

pytestmark = pytest.mark.live

DATABASE = "ib"
LOADED = """
SELECT count(*), count(DISTINCT mykey), min(mykey), max(mykey),
       min(scratch) >= 0, max(scratch) <= {rows},
       avg(scratch) BETWEEN 0.45 * {rows} AND 0.55 * {rows} FROM {table}"""
PUBLISHED = """
CREATE TABLE benchruns (
  job_id serial PRIMARY KEY, start_time timestamptz, end_time timestamptz, num_batches int,
  num_rows bigint, pct_update int, max_scratch bigint, prepared boolean, index_only boolean,
  tab_rows int, batch_size int, table_name text, table_rows bigint, table_scratch bigint,
  comments text)"""
SUM = "SELECT sum(scratch) FROM bench0001"


@pytest.fixture(params=newest(), ids=lambda path: path.name, scope="module")
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server of the newest version that is here; in the soak of the oldest, too."""
    settings = {"fsync": "off", "shared_buffers": "128MB", "deadlock_timeout": "50ms"}
    arm = Arm(name="ybio", engine="postgres", base_dir=request.param, settings=settings)
    with a_place() as place, started(arm, place) as made:
        made.create_database(DATABASE)
        yield made


def steps(set: str = "outside", **given: Any) -> dict[str, Step]:
    made = workload.expand(workload.load("ybio", set=set), given, "postgres")
    return {step.name: step for step in made}


def run(server: Server, step: Step) -> int:
    """Runs a step; how many operations there were."""
    server.execute(*step.setup, database=DATABASE)
    last, _ = load(server, step)
    (total,) = last["totals"].values()
    return int(total["count"])


def ask(server: Server, sql: str) -> list[tuple[Any, ...]]:
    return server.execute(sql, database=DATABASE)


SIZES = [
    (1050, 100, (12, 1061)),
    (20_000, 2000, (11, 20_010)),
    pytest.param(1_000_000, 100_000, (11, 1_000_010), marks=pytest.mark.soak),
]


@pytest.mark.parametrize("set", ["outside", "procedures"])
@pytest.mark.parametrize(("rows", "batch", "keys"), SIZES)
def test_all_rows_are_loaded_with_the_published_keys(
    server: Server, set: str, rows: int, batch: int, keys: tuple[int, int]
) -> None:
    setup, _ = steps(set, tab_rows=rows, batch_size_setup=batch, tables=2).values()
    run(server, setup)
    for table in ("bench0001", "bench0002"):
        (found,) = ask(server, LOADED.format(table=table, rows=rows))
        assert found == (rows, rows, *keys, True, True, True)
        index = f"SELECT pg_get_indexdef('{table}_asc_mykey'::regclass)"
        assert ask(server, index)[0][0].endswith(f"{table} USING btree (mykey)")


@pytest.mark.parametrize(
    ("set", "expected"),
    [
        ("outside", (2_031_694_664, "0008cd678ae84ca13f7064e655fa848c")),
        ("procedures", (2_059_448_936, "001321097c0114eafa23ff6af052c3cd")),
    ],
)
def test_every_version_loads_the_same_rows_for_a_seed(
    server: Server, set: str, expected: tuple[int, str]
) -> None:
    run(server, next(iter(steps(set, tab_rows=2000, filler=40).values())))
    digest = "SELECT sum(mykey * scratch)::bigint, min(md5(filler)) FROM bench0001"
    assert ask(server, digest) == [expected]


@pytest.mark.parametrize("set", ["outside", "procedures"])
def test_a_row_of_the_unit_blocks_has_a_page_of_its_own(server: Server, set: str) -> None:
    setup, _ = steps(set, tab_rows=1000, unit="blocks", index_as_pk=1, orderby="").values()
    run(server, setup)
    pages = "SELECT pg_relation_size('bench0001') / 8192, max(length(filler)) FROM bench0001"
    assert ask(server, pages) == [(1000, 1024)]
    keys = "SELECT conname::text FROM pg_constraint WHERE contype = 'p' AND conname ~ '^bench0'"
    assert ask(server, keys) == [("bench0001_pk_mykey",)]


@pytest.mark.capability("ybio")
@pytest.mark.parametrize("set", ["outside", "procedures"])
def test_without_time_there_is_exactly_one_batch_of_each_job(server: Server, set: str) -> None:
    given = {"tab_rows": 10_000, "batch_size": 100, "run_seconds": 0, "pct_update": 100}
    setup, batch = steps(set, clients=3, **given).values()
    run(server, setup)
    ((before,),) = ask(server, SUM)
    assert run(server, batch) == 3
    ((after,),) = ask(server, SUM)
    assert 0 < after - before <= 300
    if set == "procedures":
        found = ask(server, "SELECT num_batches FROM benchruns ORDER BY job_id DESC LIMIT 3")
        assert found == [(1,)] * 3


@pytest.mark.parametrize("prepared", [0, 1])
@pytest.mark.parametrize("set", ["outside", "procedures"])
def test_so_many_rows_are_updated_as_were_asked_for(server: Server, set: str, prepared: int):
    given = {"tab_rows": 10_000, "batch_size": 100, "run_seconds": 0.5, "prepared": prepared}
    setup, batches = steps(set, pct_update=42, **given).values()
    run(server, setup)
    ((before,),) = ask(server, SUM)
    count = run(server, batches)
    ((after,),) = ask(server, SUM)
    rows = 100 * count
    if set == "procedures":
        ((count, rows, updated),) = ask(
            server,
            "SELECT num_batches, num_rows, updated_rows FROM benchruns "
            "ORDER BY job_id DESC LIMIT 1",
        )
        assert updated == after - before
    assert rows > 0
    assert abs(100 * (after - before) - 42 * rows) <= max(6_000, 2 * rows)


@pytest.mark.parametrize("set", ["outside", "procedures"])
def test_jobs_that_update_the_same_rows_all_come_to_their_end(server: Server, set: str) -> None:
    given = {"tab_rows": 5000, "batch_size": 2000, "run_seconds": 0.5, "pct_update": 100}
    setup, batches = steps(set, clients=4, **given).values()
    run(server, setup)
    assert run(server, batches) >= 4
    if set == "procedures":
        found = ask(server, "SELECT end_time IS NULL FROM benchruns ORDER BY job_id DESC LIMIT 4")
        assert found == [(False,)] * 4


def test_jobs_on_tables_of_their_own_leave_a_run_each(server: Server) -> None:
    given = {"tab_rows": 2000, "batch_size": 500, "run_seconds": 0.5}
    setup, batches = steps("procedures", clients=4, tables=4, **given).values()
    run(server, setup)
    ((last,),) = ask(server, "SELECT coalesce(max(job_id), 0) FROM benchruns")
    run(server, batches)
    found = ask(
        server,
        "SELECT count(*), count(DISTINCT table_name), "
        "extract(epoch FROM min(end_time) - max(start_time)) > 0.3, min(num_rows) > 0 "
        f"FROM benchruns WHERE job_id > {last}",
    )
    assert found == [(4, 4, True, True)]


def test_installing_again_keeps_the_runs_that_are_there(server: Server) -> None:
    install = steps("procedures")["call-run"].setup
    server.execute("DROP TABLE IF EXISTS benchruns CASCADE", PUBLISHED, database=DATABASE)
    server.execute(
        "INSERT INTO benchruns (num_rows, comments) VALUES (123, 'published')",
        "CREATE OR REPLACE PROCEDURE runit(tab_prefix text DEFAULT 'bench', tab_num int DEFAULT 1) "
        "LANGUAGE plpgsql AS 'BEGIN END'",
        database=DATABASE,
    )
    run(server, steps(tab_rows=1000)["setup"])
    for turn in (1, 2):
        server.execute(*install, database=DATABASE)
        ask_all(server, "CALL runit(tab_rows => 1000, batch_size => 10, run_duration => '0 s')")
        kept = ask(server, "SELECT count(*), min(comments) FROM benchruns")
        assert kept == [(turn + 1, "published")]
    kinds = ask(
        server,
        "SELECT DISTINCT format_type(atttypid, atttypmod) FROM pg_attribute "
        "WHERE attrelid = 'benchruns'::regclass AND attname IN "
        "('job_id', 'num_batches', 'tab_rows', 'batch_size', 'updated_rows', 'seed')",
    )
    assert kinds == [("bigint",)]


def ask_all(server: Server, sql: str) -> list[str]:
    """Runs a procedure outside of a transaction; its notices."""
    at = address(server)
    notices: list[str] = []
    with psycopg.connect(
        host=at.host, port=at.port, user=at.user, dbname=DATABASE, autocommit=True
    ) as connection:
        connection.add_notice_handler(lambda notice: notices.append(notice.message_primary or ""))
        connection.execute(sql)
    return notices


def test_the_procedures_say_in_notices_what_they_do(server: Server) -> None:
    server.execute(*steps("procedures")["call-run"].setup, database=DATABASE)
    said = ask_all(server, "CALL setup(tab_rows => 1050, batch_size => 500, seed => 1)")
    assert [one.rsplit(",", 1)[0] for one in said] == [
        "33.33 % of bench0001, total: 350 rows inserted",
        "66.67 % of bench0001, total: 700 rows inserted",
        "100.00 % of bench0001, total: 1050 rows inserted",
    ]
    call = (
        "CALL runit(tab_rows => 1050, batch_size => 50, run_duration => '0 s', "
        "initial_count => true, pct_update => 100, seed => 3, comments => 'mine')"
    )
    (line,) = ask_all(server, call)
    assert " rows/s on bench0001, job: " in line
    assert " batch#: 1, total: 50 rows read, 100.0 % updated, last: 50 rows between " in line
    first, last = (int(one) for one in line.rsplit("between ", 1)[1].split(" and "))
    assert last == first + 49
    report = "SELECT pct_updated, coverage, comments FROM benchreport ORDER BY job_id DESC LIMIT 1"
    assert [tuple(map(str, row)) for row in ask(server, report)] == [("100.00", "4.8 %", "mine")]


def test_a_count_that_falls_short_says_what_is_meant(server: Server) -> None:
    server.execute(*steps("procedures")["call-run"].setup, database=DATABASE)
    ask_all(server, "CALL setup(tab_rows => 100)")
    with pytest.raises(psycopg.Error, match="table bench0001 has 100 rows, and tab_rows is 200"):
        ask_all(server, "CALL runit(tab_rows => 200, initial_count => true)")


PLAN = (
    'name = "ybio-live"'
    + ONE_LIVE_ARM
    + """
[observe]
waits = "50ms"
[[workloads]]
name = "ybio"
set = "outside"
steps = ["setup", "run", "call-run"]
parameters = {{ clients = 4, tables = 4, tab_rows = 20_000, batch_size = 1000, \
pct_update = 20, run_seconds = 1.5 }}
"""
)
COUNTERS = ("heap_blks", "idx_blks", "toast_blks", "tidx_blks")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Results]:
    """Both sets by 4 jobs, each on a table of its own, with samples of waits."""
    yield from results_of(PLAN, tmp_path_factory.mktemp("ybio"), base_dir=ends()[-1])


def step_of(results: Results, name: str) -> tuple[StepRun, StepFolder]:
    (block,) = results.blocks()
    (arm,) = block.runs()
    (folder,) = [one for one in arm.steps() if one.path.name.split("-", 1)[1] == name]
    return assemble.step_run(folder), folder


def test_a_call_is_active_all_the_time(results: Results) -> None:
    run, _ = step_of(results, "call-run")
    own = [load for load in run.of(WaitFacts).loads if load.owner == "role:job"]
    active = sum(load.sessions for load in own if load.kind != IDLE)
    assert 2 < active < 4.4
    assert run.window.seconds > 1.4


@pytest.mark.parametrize("name", ["setup", "run", "call-run"])
def test_pages_are_the_counters_differences_by_second(results: Results, name: str) -> None:
    run, folder = step_of(results, name)
    before, after = folder.before(), folder.after()
    assert before is not None
    assert after is not None
    assert run.window.seconds is not None
    assert len(after.tables) == 4
    for how, metric in (("hit", "blocks_hit_ps"), ("read", "blocks_read_ps")):
        moved = sum(
            (now.get(f"{part}_{how}") or 0)
            - (before.tables.get(table, {}).get(f"{part}_{how}") or 0)
            for table, now in after.tables.items()
            for part in COUNTERS
        )
        assert run.metrics[metric] == pytest.approx(moved / run.window.seconds)
    assert (run.metrics["blocks_hit_ps"] or 0) > 0


def test_the_runs_of_all_jobs_are_kept_and_agree_with_what_was_measured(results: Results) -> None:
    run, _ = step_of(results, "call-run")
    told = run.of(ToldFacts).numbers
    assert 0 < told["common_s"] < 1.8
    assert told["pct_updated"] == pytest.approx(20, abs=1)
    # Rows of all notices by the window, which is no shorter than each job's own duration.
    assert 0 < run.metrics["riops"] <= 1.02 * told["sum_of_riops"]


def test_a_run_from_outside_counts_the_rows_of_its_batches(results: Results) -> None:
    run, _ = step_of(results, "run")
    by_name = {one.name: one.per_s for one in run.of(StatementFacts).statements}
    riops = 1000 * sum(by_name.values())
    assert run.metrics["riops"] == pytest.approx(riops, rel=0.05)
    assert by_name["update"] / sum(by_name.values()) == pytest.approx(0.2, abs=0.02)
    assert run.metrics["p50"] is None  # under ten whole seconds
