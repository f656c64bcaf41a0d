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
from test_sysbench import sent as statement_names
from workload_reader import sql

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

UNLIKE = ("fill", "postwrite.pre", "postwrite", "insert")
"""Steps of other roles, and that whose statements are literals."""


def operation(step: Step) -> list[str]:
    """The SQL of its one operation as `shape` has it; test_sysbench.py has the published texts."""
    texts = (" ".join(sql(step, name).split()) for name in statement_names(step))
    return [as_shape(text.replace("<sbtest>", "sbtestT")) for text in texts]


def as_shape(text: str) -> str:
    text = re.sub(r"\[(\d+) ', '× <\w+>\]", r"?×\1", text)
    text = re.sub(r"<\w+>(, <\w+>)+", lambda found: f"?×{found[0].count(',') + 1}", text)
    return re.sub(r"<\w+>", "?", text)


def parameters(text: str) -> int:
    """How many there are in a shape."""
    lists = [int(count) for count in re.findall(r"\?×(\d+)", text)]
    return text.count("?") - len(lists) + sum(lists)


@pytest.mark.capability("sysbench")
def test_every_step_sends_its_statements_and_nothing_else(seen: Mapping[str, Seen]) -> None:
    for name in set(seen) - {"fill", "postwrite.pre", "postwrite"}:
        assert len(seen[name].connections) == (
            TABLES if name in ("point-query.warm", SCAN_OF_42) else CLIENTS
        ), name
        assert all(seen[name].connections), name
    for name in set(seen) - set(UNLIKE):
        wanted = operation(seen[name].step)
        if wanted[0] == "BEGIN":
            assert all([sql for sql, _ in one] == wanted for one in transactions(seen[name])), name
        else:
            (text,) = wanted
            sent = {(sql, len(values) - 1) for sql, values in seen[name].statements}
            assert sent == {(text, parameters(text))}, name


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
