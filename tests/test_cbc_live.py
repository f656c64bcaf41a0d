"""The workload `cbc` on real servers: what its statements make, and what they tell."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dbdyno import plan, store, workload
from dbdyno.analysis import compare
from dbdyno.engine import Server
from dbdyno.model import Arm, Json
from dbdyno.model.step_files import StepDone
from dbdyno.report import cbc
from dbdyno.run import blocks, load_output
from mysql_place import build_of
from server_place import a_place, ends, newest, started
from step_load import load

pytestmark = pytest.mark.live

DATABASE = "ib"
SIZE_GB = 0.02
SELECTS = ("select-u1", "select-c1", "select-r", "select-u2", "select-c2")
SETTINGS = {"shared_buffers": "1MB", "fsync": "off", "autovacuum": "off"}
VACUUMS = (
    "SELECT vacuum_count + autovacuum_count FROM pg_stat_user_tables "
    "WHERE relname = 'settings_loop'"
)


@dataclass(frozen=True)
class Taken:
    """What a step came to."""

    rows: int  # that its role's statements returned or made
    metrics: Mapping[str, Any]  # by name
    work: float | None
    warnings: tuple[str, ...]


def taken(
    server: Server, folder: Path, release: tuple[int, ...], *, chosen: str, **parameters: Any
) -> Iterator[tuple[str, Taken]]:
    """Runs the steps of a set by the generator alone, one after the other."""
    loaded = workload.load("cbc", set=chosen)
    for step in workload.expand(loaded, parameters, server.engine, version=release):
        server.execute(*step.setup, database=DATABASE)
        path = folder / f"{step.name}.jsonl"
        with store.JsonLines(path) as lines:
            last, _ = load(server, step, lines.write_raw)
        done = StepDone(status="ok")
        load_output.take(server, step, path, done, {})
        metrics = {name: metric.value for name, metric in done.metrics.items()}
        (total,) = last["totals"].values()
        yield step.name, Taken(total["rows"], metrics, done.work, tuple(done.warnings))


# --- PostgreSQL ---------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=newest(), ids=lambda one: one.name)
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server whose cache the table does not fit, with an empty database."""
    arm = Arm(name="a", engine="postgres", base_dir=request.param, settings=SETTINGS)
    with a_place() as place, started(arm, place) as one:
        one.create_database(DATABASE)
        one.use_database(DATABASE)
        yield one


@pytest.fixture(scope="module")
def collected(server: Server, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Taken]:
    """The collector's steps."""
    folder = tmp_path_factory.mktemp("collector")
    return dict(taken(server, folder, version_of(server), chosen="collector", size_gb=SIZE_GB))


def version_of(server: Server) -> tuple[int, ...]:
    """The release that runs."""
    ((number,),) = server.execute("SELECT current_setting('server_version_num')")
    return (int(str(number)) // 10_000,)


@pytest.mark.capability("cbc")
def test_the_table_has_every_copy_and_the_sizes_are_the_servers(
    server: Server, collected: dict[str, Taken]
) -> None:
    ((rows, copies),) = server.execute("SELECT count(*), count(DISTINCT seq) FROM settings_loop")
    create, vacuum, cluster = (collected[name] for name in ("create-table", "vacuum", "cluster"))
    assert copies == create.metrics["copies"] == 251
    assert rows == 251 * create.metrics["settings"] == create.rows == vacuum.metrics["rows"]
    assert collected["create-index"].work == rows
    ((size_t, size_i),) = server.execute(
        "SELECT pg_relation_size('settings_loop'), pg_relation_size('by_name')"
    )
    assert (cluster.metrics["size_t"], cluster.metrics["size_i"]) == (size_t, size_i)
    assert cluster.work == 2 * size_t
    assert create.work == create.metrics["size_t"] == pytest.approx(size_t, rel=0.1)


def is_rate(mibs: float, pages: float, elapsed_s: float) -> bool:
    """Whether a rate is that of the pages within 1 %.

    VERBOSE cuts the time off behind two digits, and has the rates of all of it.
    """
    mib = 8192 * pages / 2**20
    return 0.99 * mib / (elapsed_s + 0.01) <= mibs <= 1.01 * mib / elapsed_s


def test_the_rates_of_the_vacuum_are_its_pages_by_its_time(collected: dict[str, Taken]) -> None:
    found = collected["vacuum"].metrics
    for rate, pages in (("read_rate", "misses"), ("write_rate", "dirtied")):
        assert found[pages] > 1000
        assert is_rate(found[rate], found[pages], found["elapsed"])
    assert found["autovacuums"] == 0


@pytest.mark.capability("cbc")
def test_each_select_tells_how_it_read_the_table(collected: dict[str, Taken]) -> None:
    found = {name: collected[name].metrics for name in SELECTS}
    assert found["select-u1"]["plan"] in ("Bitmap Heap Scan", "Index Scan")
    assert found["select-r"]["plan"] in ("Seq Scan", "Parallel Seq Scan")
    pages = {name: one["hit"] + one["read"] for name, one in found.items()}
    assert pages["select-u1"] >= 251 > 5 * pages["select-u2"]
    assert pages["select-r"] * 8192 == pytest.approx(collected["select-r"].work, rel=0.02)
    assert found["select-u1"]["rows"] == found["select-u2"]["rows"] == 251
    assert all(one["execution_ms"] > 0 for one in found.values())
    assert all(not one.warnings for one in collected.values()), "every metric was told"
    assert collected["cluster"].metrics["way"] in ("index scan", "sequential scan and sort")


def test_nothing_vacuums_between_the_first_two_steps_of_the_pgbench_edition(
    server: Server, tmp_path: Path
) -> None:
    counts = {}
    steps = taken(
        server, tmp_path, version_of(server),
        chosen="clients", size_gb=0.01, seconds=0.2, client_counts=[2],
    )  # fmt: skip
    for name, _ in steps:
        ((counts[name],),) = server.execute(VACUUMS)
    assert list(counts)[:2] == ["t00-ctas", "t01-vacuum"]
    assert counts["t00-ctas"] == 0
    assert set(list(counts.values())[1:]) == {1}, "t01's own, and no other"


# --- MySQL and MariaDB --------------------------------------------------------------------------


def test_the_form_of_mysql_and_mariadb_makes_the_table_and_tells_its_sizes(
    mysql_server: Server, tmp_path: Path
) -> None:
    mysql_server.create_database(DATABASE)
    release = build_of(mysql_server.engine).release
    found = dict(taken(mysql_server, tmp_path, release, chosen="collector", size_gb=0.003))
    ((rows, copies, keys),) = mysql_server.execute(
        f"SELECT count(*), count(DISTINCT seq), count(DISTINCT VARIABLE_NAME, seq) "
        f"FROM {DATABASE}.settings_loop"
    )
    create = found["create-table"]
    assert copies == create.metrics["copies"]
    assert rows == keys == create.rows == copies * create.metrics["settings"]
    assert found["create-index"].work == rows
    cluster = found["cluster"]
    assert cluster.work == 2 * cluster.metrics["size_t"] > 2 * cluster.metrics["size_i"] > 0
    for name in SELECTS:
        assert found[name].metrics["execution_ms"] > 0
        assert not found[name].warnings
    ways = [str(found[name].metrics["plan"]) for name in SELECTS]
    # MariaDB 11 merges two indexes where older ones take the first.
    lookups = {"mysql": {"Index lookup"}, "mariadb": {"ref", "index_merge"}}[mysql_server.engine]
    assert ways.pop(2) == {"mysql": "Table scan", "mariadb": "ALL"}[mysql_server.engine]
    assert set(ways) <= lookups


# --- A whole run ----------------------------------------------------------------------------------

PLAN = """
name = "cbc-live"
[arms.cbc-live]
base_dir = "{folder}"
settings = {{ shared_buffers = "16MB", autovacuum = false }}
[[workloads]]
name = "cbc"
parameters = {{ size_gb = 0.2, device_gb = 0.05 }}
[schedule]
blocks = 1
void = {{ foreign = 1 }}
[[hooks]]
when = "before-step"
steps = ["{before}"]
sql = "ALTER TABLE settings_loop RENAME COLUMN seq TO hidden"
[[hooks]]
when = "before-step"
steps = ["cluster"]
sql = "ALTER TABLE settings_loop RENAME COLUMN {now} TO seq"
"""


def texts(folder: Path, *, fails: bool) -> dict[str, str]:
    """The collector's text of a run of 0.2 GB whose sixth step fails, or not."""
    text = PLAN.format(folder=ends()[-1], before="select-r", now="hidden")
    if not fails:
        text = text[: text.index("[[hooks]]")]
    outcome = blocks.run(plan.parse(text, None), folder, wait=True)
    lines = cbc.render(compare.load(outcome.folder)).splitlines()
    return dict(line.split("\t") for line in lines)


@pytest.mark.soak
def test_a_run_of_a_fifth_of_a_gigabyte_has_all_keys_and_a_failed_step_misses_its_own(
    tmp_path: Path,
) -> None:
    whole, lamed = (texts(tmp_path / str(fails), fails=fails) for fails in (False, True))
    head = ["ARM", "BLOCK", "WORKLOAD"]
    keys = ["SERVER", *cbc.KEYS, *cbc.TOLD]
    assert list(whole) == [*head, *keys]
    assert len(keys) == 14
    assert list(lamed) == [key for key in whole if key != "SELECT_r"]
    assert int(whole["SIZE_T"]) == int(lamed["SIZE_T"])
    assert int(whole["SIZE_I"]) == int(lamed["SIZE_I"])
    done: Json = store.read_struct(
        next((tmp_path / "False").glob("cbc-live/blocks/001/*/cbc/02-vacuum/done.json")), Json
    )
    assert done["canary"]["device"]["write_mbps"] > 0, "asked before the step before"
    found = {name: one["value"] for name, one in done["metrics"].items()}
    assert is_rate(float(whole["READ_RATE"]), found["misses"], found["elapsed"])
