"""What pgbench 15 and dyno-loadgen put on the wire, message by message: scripts and workload.

A proxy between client and server records it, so that nothing of the server's reading of it counts.
Only how a statement is prepared differs: pgbench asks for it when it needs it, in a request of its
own.
"""

import os
import re
import struct
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bench import arms, jobs, server
from dbdyno import workload
from dbdyno.engine import Server
from dbdyno.host import program as binary
from dbdyno.model import Address
from dbdyno.model.job import Job
from dbdyno.run.driver.pgbench import client
from recording_proxy import recording
from server_place import a_place
from test_sysbench_wire_live import messages, numbers

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(
        client.newest() is None, reason="no pgbench here: `apt-get install postgresql`"
    ),
]

TRANSACTIONS, LIMIT_S = 3, 60
PROTOCOLS = ("simple", "extended", "prepared")
BUILT_IN = ("tpcb-like", "simple-update", "select-only")
FILE = """
[transactions.mix]
script = "mix.sql"
protocol = "{protocol}"

[[steps]]
name = "mix"
roles.users = {{ per = "step", run = "mix", stop = {{ operations = {transactions} }}, \
on_error = {{ retry = ["40001", "40P01"], tries = 2, otherwise = "count_retryable" }} }}
"""
PIPELINE = (
    "\\startpipeline\nBEGIN;\n\\set i 2\nSELECT 'mark', :i::int;\nSELECT 2;\nEND;\n"
    "\\endpipeline\nSELECT 3;\n"
)
SCRIPTS = {
    "no parameter": "SELECT 'mark', 1;\n",
    "parameters of all kinds": (
        "\\set i 1\n\\set d 1.5\n\\set b true\n\\set n null\n"
        "SELECT 'mark', :i::int, :d::float8, :b::bool, (:i::int)::text /* :: */;\n"
        "SELECT relacl FROM pg_class WHERE oid = :i::int;\n"
    ),
    "a variable that is never set": "\\if false\n\\set x 1\n\\endif\nSELECT 'mark', ':x' = '1';\n",
    "results": "SELECT 7 AS i, NULL AS n \\gset x_\nSELECT 'mark', :x_i::int;\n",
    "a transaction": "BEGIN;\nSELECT 'mark';\nEND;\n",
    "a compound": "SELECT 'mark'\\; SELECT 2\\; \\;;\n",
    "comments and blanks": "-- before\n  /* c */ SELECT 'mark' -- within\n , 2 ;\n\n;\n",
    "a branch": "\\if :scale = 1\nSELECT 'mark';\n\\else\nSELECT 2;\n\\endif\nSELECT 3;\n",
    "a pipeline": PIPELINE,
    "a pipeline of conditionals": (
        "\\if :scale = 1\n\\startpipeline\n\\endif\nSELECT 'mark';\n\\if true\n"
        "SELECT :scale::int;\n\\endif\n\\if :scale = 1\n\\endpipeline\n\\endif\n"
    ),
    "an empty pipeline": "SELECT 'mark';\n\\startpipeline\n\\endpipeline\n",
    "a failure in a transaction": (
        "BEGIN;\nSELECT 'mark';\n"
        "DO $$ BEGIN RAISE SQLSTATE '40001'; END $$;\nSELECT 'never';\nEND;\n"
    ),
    "a failure outside of one": (
        "SELECT 'mark';\nDO $$ BEGIN RAISE SQLSTATE '40P01'; END $$;\nSELECT 'never';\n"
    ),
}
FAIL_PIPED = (
    "\\startpipeline\nBEGIN;\nSELECT 'mark';\nDO $$ BEGIN RAISE SQLSTATE '40001'; END $$;\n"
    "SELECT 'never';\nEND;\n\\endpipeline\n"
)
Client = Callable[[Address], None]


@pytest.fixture(scope="module", name="running")
def _running() -> Iterator[Server]:
    """A server with pgbench's tables, made by pgbench."""
    with a_place() as place, server.running_at(place) as one:
        pgbench(server.address_of(one), "-i", "-q")
        yield one


def pgbench(address: Address, *options: str, folder: Path | None = None) -> None:
    """pgbench to its end."""
    found = client.newest()
    assert found is not None
    place = {"PGHOST": address.host, "PGPORT": str(address.port), "PGUSER": address.user}
    subprocess.run(
        [found.path, *options], check=True, capture_output=True, cwd=folder, timeout=LIMIT_S,
        env={**os.environ, **place, "PGDATABASE": address.database, "PGSSLMODE": "disable"},
    )  # fmt: skip


def built_in(script: str, protocol: str) -> tuple[Client, Client]:
    """pgbench and the generator, each with a script that comes along with both."""

    def ours(address: Address) -> None:
        given = {"scale": 1, "protocol": protocol, "transactions": TRANSACTIONS}
        *_, step = workload.expand(workload.load("pgbench"), given, "postgres", steps=(script,))
        generate(address, step.job)

    options = ("-n", "-t", str(TRANSACTIONS), "-M", protocol, "-b", script)
    return lambda address: pgbench(address, *options), ours


def scripted(text: str, protocol: str, folder: Path) -> tuple[Client, Client]:
    """Both with a script of one's own."""
    (folder / "mix.sql").write_text(text)
    made = FILE.format(protocol=protocol, transactions=TRANSACTIONS)
    (folder / "w.toml").write_text(made)

    def ours(address: Address) -> None:
        (step,) = workload.expand(workload.load(str(folder / "w.toml")), {}, "postgres")
        generate(address, step.job)

    options = ("-n", "-t", str(TRANSACTIONS), "-M", protocol, "--max-tries=2", "-f", "mix.sql")
    return lambda address: pgbench(address, *options, folder=folder), ours


def generate(address: Address, job: Job) -> None:
    """The generator to its end."""
    made = jobs.begun_on(address, job)
    _, events = arms.generate(binary.find("dyno-loadgen"), made, LIMIT_S)
    assert events[-1]["status"] == "ok", events[-1]["reason"]


def sent(running: Server, run: Client, marks: bytes) -> list[str]:
    """The requests of a client's one connection that sent the mark, each as its messages."""
    to = server.address_of(running)
    socket_name = f".s.PGSQL.{to.port}"
    with recording(socket_name, Path(to.host) / socket_name) as proxy:
        run(replace(to, host=str(proxy.path.parent)))
        (stream,) = (bytes(one) for one in proxy.sent if marks in one)
    return [" ".join(request) for request in requests(stream) if request]


def requests(stream: bytes) -> Iterator[list[str]]:
    """What a connection sends up to each Sync, and its simple queries; nothing of preparing."""
    names: dict[bytes, str] = {}
    request: list[str] = []
    prepares = False
    for kind, body in messages(stream):
        if kind == "P" and not body.startswith(b"\0"):
            name, sql, _ = body.split(b"\0", 2)
            names[name] = plain(sql)
            assert body.endswith(b"\0\0"), "no types are declared"
        if kind == "X":
            return
        if (kind == "P" and not body.startswith(b"\0")) or (kind in "CD" and body[:1] == b"S"):
            prepares = True
            continue
        request.append(shown(kind, body, names))
        if kind in "SQ":
            if not prepares or any(one.startswith("E") for one in request):
                yield request
            request, prepares = [], False


def shown(kind: str, body: bytes, names: dict[bytes, str]) -> str:
    """A message; numbers in texts may be drawn."""
    if kind == "P":
        _, sql, types = body.split(b"\0", 2)
        names[b""] = plain(sql)
        return f"P({plain(sql)}; {struct.unpack(f'>{len(types) // 2}H', types)})"
    if kind == "B":
        portal, name, rest = body.split(b"\0", 2)
        forms, rest = numbers(rest)
        count, rest = int.from_bytes(rest[:2]), rest[2:]
        values = []
        for _ in range(count):
            length = int.from_bytes(rest[:4], signed=True)
            values.append("null" if length < 0 else plain(rest[4 : 4 + length]))
            rest = rest[4 + max(0, length) :]
        return f"B({portal!r} {names[name]}; {forms} {values} {numbers(rest)[0]})"
    return f"{kind}({plain(body)})"


def plain(text: bytes) -> str:
    """A text without the numbers that are drawn, which differ, and what ends it."""
    return re.sub(r"-?\d{2,}|(?<![$\d])-?\b\d\b", "N", text.decode().rstrip("\0"))


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("script", BUILT_IN)
def test_the_workload_pgbench_sends_what_pgbench_sends(running: Server, script: str, protocol: str):
    theirs, ours = (sent(running, one, b"SELECT abalance") for one in built_in(script, protocol))
    assert [clear(one) for one in ours] == [clear(one) for one in theirs]
    if protocol != "simple":
        bind = next(one for one in theirs if "abalance" in one)
        assert re.fullmatch(
            r"(P\(.*?\) )?B\(.*; \(\) \['N'.*\] \(0,\)\) D\(P\) E\(.*\) S\(\)", bind
        )


def clear(request: str) -> str:
    """A request whose SQL ends as it may: with or without the semicolon of a script's lines."""
    return request.replace(";\0", "\0").replace(";)", ")").replace(";;", ";")


def both_take(protocol: str, text: str) -> bool:
    """Whether pgbench and the server take a script by a protocol."""
    if protocol == "simple":
        return "pipeline" not in text
    return "\\;" not in text and "':x'" not in text


TAKEN = [
    (name, protocol)
    for name, text in SCRIPTS.items()
    for protocol in PROTOCOLS
    if both_take(protocol, text)
]


@pytest.mark.parametrize(("name", "protocol"), TAKEN)
def test_a_script_is_sent_as_pgbench_sends_it(
    running: Server, tmp_path: Path, name: str, protocol: str
) -> None:
    text = SCRIPTS[name]
    theirs, ours = (sent(running, one, b"mark") for one in scripted(text, protocol, tmp_path))
    assert ours == theirs
    assert len(theirs) >= TRANSACTIONS


@pytest.mark.parametrize("protocol", ["extended", "prepared"])
def test_only_an_error_in_a_pipeline_is_followed_by_a_sync_of_pgbench_s_own(
    running: Server, tmp_path: Path, protocol: str
) -> None:
    theirs, ours = (sent(running, one, b"mark") for one in scripted(FAIL_PIPED, protocol, tmp_path))
    assert [one for one in theirs if one != "S()"] == [one for one in ours if one != "S()"]
    assert (theirs.count("S()"), ours.count("S()")) == (2 * TRANSACTIONS, 0)
    assert ours.count("Q(ROLLBACK)") == 2 * TRANSACTIONS
