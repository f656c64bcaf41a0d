"""The sysbench microbenchmarks on real servers: what the server's log says that it was sent."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from dbdyno import workload
from dbdyno.engine import LabServer
from dbdyno.model import Arm, Json, Step
from server_place import a_place, newest, started
from step_load import load

pytestmark = pytest.mark.live

DATABASE = "ib"
ROWS = 2_000
TABLES = 2
CLIENTS = 3
PARAMETERS = {
    "clients": CLIENTS,
    "tables": TABLES,
    "rows": ROWS,
    "pause_s": 0,
    "warmup_s": 0.1,
    "seconds": 0.6,
    "write_seconds": 0.6,
    "scan_warm_s": 0.3,
}
SETS = ("42", "corrected")
"""Between them they have every step."""
SCAN_OF_42 = "scan of the 42"

Sent = list[tuple[str, tuple[str, ...]]]
"""What one connection sent in a step: SQL with `T` for the table's number, then its values, of
which the first is that number."""

C = r"\d{11}(-\d{11}){9}"
PAD = r"\d{11}(-\d{11}){4}"


@dataclass(frozen=True)
class Seen:
    """A step as it was made, and what its connections sent."""

    step: Step
    last: Json
    connections: tuple[Sent, ...]

    @property
    def statements(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Everything that was sent, connection by connection."""
        for sent in self.connections:
            yield from sent

    def values(self, beginning: str) -> list[tuple[int, ...]]:
        """The values of statements that begin so, without the table, as numbers."""
        found = [values[1:] for sql, values in self.statements if sql.startswith(beginning)]
        return [tuple(int(one) for one in values if one.isdigit()) for values in found]


@pytest.fixture(params=newest(), ids=lambda path: path.name, scope="module")
def seen(request: pytest.FixtureRequest) -> Iterator[Mapping[str, Seen]]:
    """Every step, run on a server of the newest version that is here; in `make soak` the oldest."""
    settings = {"log_statement": "all", "autovacuum": "off", "fsync": "off"}
    arm = Arm(name="suite", engine="postgres", base_dir=request.param, settings=settings)
    with a_place() as place, started(arm, place) as server:
        server.create_database(DATABASE)
        found: dict[str, Seen] = {}
        for name in SETS:
            for step in workload.expand(
                workload.load("sysbench", set=name), PARAMETERS, "postgres"
            ):
                key = SCAN_OF_42 if (name, step.name) == ("42", "scan") else step.name
                if key not in found or key == "fill":
                    found[key] = run(server, step)
        yield found


def run(server: LabServer, step: Step) -> Seen:
    """Runs a step; what the log says of its connections."""
    assert server.log_path is not None
    begin = server.log_path.stat().st_size
    server.execute(*step.setup, database=DATABASE)
    last, pids = load(server, step)
    return Seen(step, last, sent_of(server.log_path, begin, pids))


def sent_of(log: Path, begin: int, pids: set[int]) -> tuple[Sent, ...]:
    """What each connection sent, from the log's entries behind `begin`."""
    with log.open(encoding="utf-8") as file:
        file.seek(begin)
        text = file.read()
    sent: dict[int, Sent] = {pid: [] for pid in pids}
    for entry in re.split(r"(?m)^(?=\d+\.\d+ \[\d+\] )", text):
        match = re.match(r"\S+ \[(\d+)\] (\w+):  (.*)", entry, re.DOTALL)
        if match is None or int(match[1]) not in pids:
            continue
        here = sent[int(match[1])]
        if match[2] == "LOG" and (
            said := re.match(r"(?:statement|execute \S+): (.*)", match[3], re.DOTALL)
        ):
            here.append(shape(said[1]))
        elif match[2] == "DETAIL" and match[3].lower().startswith("parameters:"):
            sql, values = here[-1]
            here[-1] = sql, (*values, *re.findall(r"\$\d+ = '([^']*)'", match[3]))
    return tuple(sent[pid] for pid in sorted(sent))


def shape(sql: str) -> tuple[str, tuple[str, ...]]:
    """SQL without its table's number and with `?×n` for a list of parameters."""
    sql = " ".join(sql.split())
    table = re.search(r"sbtest(\d+)", sql)
    text = re.sub(r"sbtest\d+", "sbtestT", sql)
    text = re.sub(r"\$\d+(, \$\d+)+", lambda found: f"?×{found[0].count(',') + 1}", text)
    text = re.sub(r"\$\d+", "?", text)
    return text, (table[1],) if table else ()


# --- What is expected --------------------------------------------------------------------------

LISTS = {
    "SELECT c FROM sbtestT WHERE id IN (?×{n})": {
        **{f"random-points{phase}_range={n}": n for phase in ("", ".pre") for n in (10, 100, 1000)},
        "hot-points": 100,
    },
    "SELECT id FROM sbtestT WHERE id IN (?×{n})": {
        "points-covered-pk": 100, "points-covered-pk.pre": 100,
    },
    "SELECT id, c FROM sbtestT WHERE id IN (?×{n})": {
        "points-notcovered-pk": 100, "points-notcovered-pk.pre": 100,
    },
    "SELECT k FROM sbtestT WHERE k IN (?×{n})": {
        "points-covered-si": 100, "points-covered-si.pre": 100, "points-covered-si.warm": 100,
    },
    "SELECT k, c FROM sbtestT WHERE k IN (?×{n})": {
        "points-notcovered-si": 100, "points-notcovered-si.pre": 100,
    },
    "UPDATE sbtestT SET c=? WHERE id IN (?×{n})": {"update-inlist": 10, "update-inlist-100": 100},
}  # fmt: skip
POINT = "SELECT c FROM sbtestT WHERE id=?"
RANGES = {
    "simple": "SELECT c FROM sbtestT WHERE id BETWEEN ? AND ?",
    "sum": "SELECT SUM(k) FROM sbtestT WHERE id BETWEEN ? AND ?",
    "order": "SELECT c FROM sbtestT WHERE id BETWEEN ? AND ? ORDER BY c",
    "distinct": "SELECT DISTINCT c FROM sbtestT WHERE id BETWEEN ? AND ? ORDER BY c",
}
READS = [*[POINT] * 10, *RANGES.values()]
INDEX = "UPDATE sbtestT SET k=k+1 WHERE id=?"
NONINDEX = "UPDATE sbtestT SET c=? WHERE id=?"
DELETE = "DELETE FROM sbtestT WHERE id=?"
PUT_BACK = "INSERT INTO sbtestT (id, k, c, pad) VALUES (?×4)"
CHANGES = [INDEX, NONINDEX, DELETE, PUT_BACK]
TRANSACTIONS = {
    **{f"read-only{p}_range={n}": READS for p in ("", ".pre") for n in (10, 100, 10_000)},
    **{f"read-only-{kind}": [*[POINT] * 10, text] for kind, text in RANGES.items()},
    "write-only": CHANGES,
    "read-write_range=10": [*READS, *CHANGES],
    "read-write_range=100": [*READS, *CHANGES],
}
SCAN = "SELECT * FROM sbtestT WHERE LENGTH(c) < 0"
SINGLE = {
    **{f"point-query{phase}": POINT for phase in ("", ".pre", ".warm")},
    **{step: text.format(n=n) for text, steps in LISTS.items() for step, n in steps.items()},
    **{
        f"range-{columns}-{key}{phase}": f"SELECT {listed} FROM sbtestT WHERE {on} BETWEEN ? AND ?"
        for phase in ("", ".pre")
        for columns, key, listed, on in (
            ("covered", "pk", "id", "id"), ("notcovered", "pk", "id, c", "id"),
            ("covered", "si", "k", "k"), ("notcovered", "si", "k, c", "k"),
        )
    },
    "read-only-count": "SELECT count(c) FROM sbtestT WHERE id BETWEEN ? AND ?",
    **dict.fromkeys(("scan", "scan.warm", "scan.warmpre"), SCAN),
    "update-index": INDEX,
    **dict.fromkeys(("update-nonindex", "update-one", "update-zipf"), NONINDEX),
    **dict.fromkeys(("delete", "delete-bounded"), DELETE),
}  # fmt: skip


@pytest.mark.capability("sysbench")
def test_every_step_was_run(seen: Mapping[str, Seen]) -> None:
    named = {*SINGLE, *TRANSACTIONS, "insert"}
    assert set(seen) == named | {"fill", "postwrite.pre", "postwrite", SCAN_OF_42}
    for name in named:
        assert len(seen[name].connections) == (TABLES if name == "point-query.warm" else CLIENTS)
        assert min(len(sent) for sent in seen[name].connections) >= 1, name


@pytest.mark.parametrize("name", SINGLE)
def test_a_step_of_single_statements_sends_nothing_else(seen: Mapping[str, Seen], name: str):
    texts = {sql for sql, _ in seen[name].statements}
    assert texts == {SINGLE[name]}
    count = SINGLE[name].count("?") - SINGLE[name].count("?×")
    count += sum(int(n) for n in re.findall(r"\?×(\d+)", SINGLE[name]))
    assert {len(values) - 1 for _, values in seen[name].statements} == {count}


@pytest.mark.parametrize("name", TRANSACTIONS)
def test_a_transaction_is_its_published_statements(seen: Mapping[str, Seen], name: str) -> None:
    whole = ["BEGIN", *TRANSACTIONS[name], "COMMIT"]
    for one in transactions(seen[name]):
        assert [sql for sql, _ in one] == whole


def transactions(step: Seen) -> Iterator[Sent]:
    """The transactions that were committed; what was tried again comes once."""
    found = 0
    for sent in step.connections:
        one: Sent = []
        for statement in sent:
            one.append(statement)
            if statement[0] in ("COMMIT", "ROLLBACK"):
                if statement[0] == "COMMIT":
                    found += 1
                    yield one
                one = []
        assert not one, "the last one is ended"
    assert found


def test_scans_have_the_table_of_their_client(seen: Mapping[str, Seen]) -> None:
    for name in ("scan", "scan.warm", "scan.warmpre"):
        tables = [{values[0] for _, values in sent} for sent in seen[name].connections]
        assert all(len(one) == 1 for one in tables)
        assert sorted(one.pop() for one in tables) == ["1", "1", "2"]


def test_the_scan_of_the_42_reads_each_table_50_times_over_a_connection_of_its_own(
    seen: Mapping[str, Seen],
) -> None:
    scan = seen[SCAN_OF_42]
    tables = sorted(tuple(values[0] for _, values in sent) for sent in scan.connections)
    assert tables == [("1",) * 50, ("2",) * 50]
    assert {sql for sql, _ in scan.statements} == {"SELECT * FROM sbtestT WHERE LENGTH(c) < 0"}


def test_updates_have_their_rows_and_fresh_texts(seen: Mapping[str, Seen]) -> None:
    assert {values[-1] for _, values in seen["update-one"].statements} == {"1"}
    ids = Counter(int(values[-1]) for _, values in seen["update-zipf"].statements)
    assert ids.most_common(1)[0][0] <= 3
    low = sum(count for key, count in ids.items() if key <= ROWS // 10)
    assert 0.45 < low / ids.total() < 0.75, "a tenth of the rows has most of the updates"
    for name in ("update-nonindex", "update-one", "update-inlist"):
        texts = [values[1] for _, values in seen[name].statements]
        assert all(re.fullmatch(C, text) for text in texts)
        assert len({*texts}) == len(texts)


def test_a_bounded_delete_finds_each_row_once_and_leaves_half(seen: Mapping[str, Seen]) -> None:
    bounded = seen["delete-bounded"]
    deleted = [values for _, values in bounded.statements]
    assert len({*deleted}) == len(deleted) == TABLES * ROWS // 2
    assert Counter(table for table, _ in deleted) == {"1": ROWS // 2, "2": ROWS // 2}
    totals = bounded.last["totals"]["write"]
    assert (totals["count"], totals["rows"]) == (TABLES * ROWS // 2, TABLES * ROWS // 2)
    keys = [int(key) for _, key in deleted[:100]]
    assert keys != sorted(keys), "in no order"


def test_postwrite_vacuums_each_table_and_checkpoints(seen: Mapping[str, Seen]) -> None:
    for name in ("postwrite.pre", "postwrite"):
        texts = Counter(sql for sql, _ in seen[name].statements if not sql.startswith("SET "))
        vacuum = "VACUUM (VERBOSE, ANALYZE, INDEX_CLEANUP ON) sbtestT"
        assert texts == {vacuum: TABLES, "CHECKPOINT": 1}
