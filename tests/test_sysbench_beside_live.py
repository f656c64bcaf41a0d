"""The real sysbench and dyno-loadgen in turn, on one server and the same tables.

What the server's log says that it was sent is the same: statements, parameters, how many of each
in a transaction, which tables. Costs are held within wide bounds, as a machine that runs tests is
not a quiet one; `python tools/bench oltp` has the exact ones.
"""

import itertools
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from bench import arms, jobs, process, server
from bench.pairs import alternate
from dbdyno import workload
from dbdyno.engine import LabServer
from dbdyno.host import program as binary
from dbdyno.model import Json
from server_place import a_place

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(
        arms.sysbench_program() is None, reason="no sysbench here: `apt-get install sysbench`"
    ),
]

TABLES, ROWS = 2, 20_000
EVENTS, CLIENTS, LIMIT_S = 100, 2, 60
ENTRY = re.compile(r"(?m)^\d+\.\d+ \[(\d+)\] ")
SENT = re.compile(r"LOG:  (statement|execute)(?: [^:]*)?: (.*)", re.DOTALL)
PARAMETER = re.compile(r"\$\d+ = '([^']*)'")
TABLE = re.compile(r"sbtest\d+")
CONNECTIONS, PAIRS, SECONDS = 4, 5, 1
"""Of a comparison of costs. One connection alone is no measure of a client: it sleeps and wakes up
with the server, and how long that takes depends on what else the machine does."""
THROUGHPUT_MIN, SERVER_OFF_MAX = 0.6, 0.25
OF_ONE_TABLE = ("select_random_points", "select_random_ranges")
SCRIPTS = (
    *("oltp_point_select", "oltp_read_only", "oltp_update_index", "oltp_update_non_index"),
    *("oltp_write_only", "oltp_read_write", "oltp_delete", "oltp_insert"),
    *OF_ONE_TABLE,
)
Options = dict[str, Any]
OPTIONS: dict[str, Options] = {
    "as they are": {},
    "literals": {"db_ps_mode": "disable"},
    "other counts": {
        "skip_trx": 1, "point_selects": 2, "sum_ranges": 0, "order_ranges": 3, "range_size": 7,
        "index_updates": 2, "non_index_updates": 0, "delete_inserts": 3,
    },
    "no ranges": {"range_selects": 0},
}  # fmt: skip
CHANGING = ("oltp_read_write", "oltp_read_only", "oltp_write_only")
"""Scripts that all of these options are tried with: the first, which has every statement of the
others, in each `make test`, the others in `make soak`."""
SWITCHES = ("skip_trx", "range_selects")


def further() -> Iterator[tuple[str, str]]:
    """The other scripts, each with the options that change what it sends."""
    for script in SCRIPTS:
        if script != CHANGING[0]:
            yield from ((script, name) for name in OPTIONS if name == "literals")
        if script in CHANGING[1:]:
            yield from ((script, name) for name in list(OPTIONS)[2:])


class Sent(NamedTuple):
    """A statement as the server's log has it."""

    session: int
    how: str  # `statement`: simple; `execute`: prepared
    sql: str
    parameters: tuple[str, ...]

    @property
    def table(self) -> str | None:
        """The one that it names."""
        found = TABLE.search(self.sql)
        return found[0] if found else None

    @property
    def shape(self) -> tuple[str, str, int]:
        """How it was sent, its text without table and values, how many parameters it has."""
        text = TABLE.sub("sbtest", self.sql)
        if self.how == "statement":
            text = re.sub(r"'[^']*'", "''", re.sub(r"\b\d+\b", "0", text))
        return self.how, text, len(self.parameters)


Client = Callable[[LabServer, str, Options], None]


@pytest.fixture(scope="module")
def tables() -> Iterator[LabServer]:
    """A server with sysbench's tables, made by sysbench."""
    with a_place() as place, server.running_at(place) as one:
        one.execute(f"ALTER DATABASE {server.DATABASE} SET synchronous_commit = off")
        run_sysbench(one, "oltp_read_only", "prepare", {})
        server.settle(one)
        yield one


def run_sysbench(running: LabServer, script: str, command: str, options: Options) -> None:
    """Runs a command of sysbench's to its end."""
    program = arms.sysbench_program()
    assert program is not None
    first = arms.sysbench_command(program, server.address_of(running), ROWS, script)
    given = {"tables": TABLES, "threads": CLIENTS, "events": EVENTS, "time": 0} | options
    words = [
        f"--{key}={('off', 'on')[value] if key in SWITCHES else value}"
        for key, value in given.items()
    ]
    process.run([*first, *words, command], limit_s=LIMIT_S)


def sysbench(running: LabServer, script: str, options: Options) -> None:
    """sysbench runs its script."""
    run_sysbench(running, script, "run", options)


def dyno(running: LabServer, script: str, options: Options) -> None:
    """The generator runs the shipped workload's step of that name."""
    given = {"tables": TABLES, "table_size": ROWS, "clients": CLIENTS, "events": EVENTS} | options
    *_, step = workload.expand(workload.load("sysbench-oltp", set=script), given, "postgres")
    job = jobs.begun_on(server.address_of(running), step.job)
    _, events = arms.generate(binary.find("dyno-loadgen"), job, LIMIT_S)
    (totals,) = events[-1]["totals"].values()
    assert (totals["count"], totals["errors"]) == (EVENTS, 0)


def logged(running: LabServer, script: str, client: Client, options: Options) -> list[Sent]:
    """What a client sends, in the order of the server's log."""
    server.sessions_s(running)
    running.execute(f"ALTER DATABASE {server.DATABASE} SET log_statement = 'all'")
    position = running.log_position()
    client(running, script, options)
    server.sessions_s(running)
    running.execute(f"ALTER DATABASE {server.DATABASE} RESET log_statement")
    assert running.log_path is not None
    with running.log_path.open("rb") as file:
        file.seek(position)
        return list(statements(file.read().decode()))


def statements(log: str) -> Iterator[Sent]:
    """The statements of a log, each with the parameters that the entry after it has."""
    _, *parts = ENTRY.split(log)
    entries = [*zip(parts[::2], parts[1::2], strict=True), ("", "")]
    for (session, text), (_, after) in itertools.pairwise(entries):
        match = SENT.match(text)
        if match and not ({"log_statement", "set_config"} & set(re.findall(r"\w+", text))):
            found = PARAMETER.findall(after) if after.startswith("DETAIL:") else []
            yield Sent(int(session), match[1], " ".join(match[2].split()), tuple(found))


def transactions(sent: list[Sent]) -> Iterator[list[Sent]]:
    """The statements between each BEGIN and its COMMIT."""
    for session in {one.session for one in sent}:
        open_one: list[Sent] = []
        for one in (each for each in sent if each.session == session):
            if one.sql == "COMMIT":
                yield open_one
            open_one = [] if one.sql == "BEGIN" else [*open_one, one]


@pytest.mark.parametrize(
    ("script", "options"),
    [
        *((script, "as they are") for script in SCRIPTS),
        *((CHANGING[0], name) for name in list(OPTIONS)[1:]),
        *(pytest.param(script, name, marks=pytest.mark.soak) for script, name in further()),
    ],
)
def test_the_server_is_sent_the_same(tables: LabServer, script: str, options: str) -> None:
    given = OPTIONS[options] | ({"tables": 1} if script in OF_ONE_TABLE else {})
    theirs = logged(tables, script, sysbench, given)
    ours = logged(tables, script, dyno, given)
    assert Counter(one.shape for one in ours) == Counter(one.shape for one in theirs)
    assert {one.table for one in ours} == {one.table for one in theirs}


@pytest.mark.parametrize("client", [sysbench, dyno])
def test_a_transaction_keeps_to_a_table_for_each_kind_of_statement(
    tables: LabServer, client: Client
) -> None:
    events = list(transactions(logged(tables, "oltp_read_write", client, {})))
    assert len(events) == EVENTS
    chosen: Counter[tuple[int, str | None]] = Counter()
    for event in events:
        kinds = [list(found) for _, found in itertools.groupby(event, key=lambda one: one.shape)]
        assert [len(found) for found in kinds] == [10, 1, 1, 1, 1, 1, 1, 1, 1]
        for number, found in enumerate(kinds):
            assert len({one.table for one in found}) == 1
            chosen[number, found[0].table] += 1
        delete, insert = event[-2:]
        assert (delete.table, delete.parameters[0]) == (insert.table, insert.parameters[0])
    # Four standard deviations of a fair coin; delete and insert are one.
    assert len(chosen) == 9 * TABLES
    assert all(abs(count - EVENTS / 2) <= 4 * (EVENTS / 4) ** 0.5 for count in chosen.values())


@pytest.mark.parametrize("client", [sysbench, dyno])
def test_keys_and_texts_are_alike(tables: LabServer, client: Client) -> None:
    c, pad = ("-".join([r"\d{11}"] * count) for count in (10, 5))
    for one in logged(tables, "oltp_read_write", client, {"range_size": 50}):
        match one.sql.split()[0], one.parameters:
            case "SELECT", (low, high):
                assert int(high) - int(low) == 49
                assert 1 <= int(low) <= ROWS
            case "UPDATE", (text, _):
                assert re.fullmatch(c, text)
            case "INSERT", (_, k, text, last):
                assert 1 <= int(k) <= ROWS
                assert re.fullmatch(c, text) and re.fullmatch(pad, last)


@pytest.mark.parametrize("client", [sysbench, dyno])
def test_connections_draw_from_parts_of_their_own(tables: LabServer, client: Client) -> None:
    sent = logged(tables, "select_random_points", client, {"tables": 1})
    keys: dict[int, list[int]] = {}
    for one in sent:
        keys.setdefault(one.session, []).extend(map(int, one.parameters))
    low, high = sorted(keys.values())
    assert 0 <= min(low) <= max(low) <= ROWS / 2 <= min(high) <= max(high) <= ROWS


@pytest.mark.soak
@pytest.mark.parametrize("script", ["oltp_read_only", "oltp_point_select", "oltp_update_index"])
def test_throughput_and_the_servers_cpu_are_near_sysbenchs(tables: LabServer, script: str) -> None:
    address = server.address_of(tables)

    def job(seconds: float) -> Json:
        """A thread for each connection, as sysbench has them."""
        made = jobs.oltp(address, script, rows=ROWS, connections=CONNECTIONS, seconds=seconds)
        return made | {"threads": CONNECTIONS}

    found = alternate(
        server.observed(tables, arms.dyno(binary.find("dyno-loadgen"), job)),
        server.observed(tables, arms.sysbench(address, ROWS, CONNECTIONS, script)),
        count=PAIRS,
        seconds=SECONDS,
        show=lambda number, pair: None,
    )
    # Who else is at work takes from either; in two pairs of five both get what they can use.
    assert sorted(pair.throughput_ratio for pair in found)[-2] >= THROUGHPUT_MIN, found
    server_ratio = statistics.median(pair.server_ratio or 0 for pair in found)
    assert abs(server_ratio - 1) <= SERVER_OFF_MAX, found
