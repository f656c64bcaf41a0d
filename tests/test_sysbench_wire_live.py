"""What sysbench 1.0.20 and dyno-loadgen put on the wire: parameters' types, forms, requests.

A proxy between client and server records it, so that nothing of the server's reading of it counts.
"""

import re
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bench import arms, jobs, process, server
from dbdyno import workload
from dbdyno.engine import Server
from dbdyno.host import program as binary
from dbdyno.model import Address
from recording_proxy import recording
from server_place import a_place
from test_sysbench_beside_live import OF_ONE_TABLE, SCRIPTS

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(
        arms.sysbench_program() is None, reason="no sysbench here: `apt-get install sysbench`"
    ),
]

ROWS, EVENTS, LIMIT_S = 2_000, 20, 60
STARTUP_BYTES = 8
INT8, VARCHAR = 20, 1043
TEXT, BINARY = 0, 1

Options = dict[str, Any]
Client = Callable[[Address, str, Options], None]


class Parsed(NamedTuple):
    """A statement that was parsed: its text without the table's number, and the declared types."""

    sql: str
    types: tuple[int, ...]


class Executed(NamedTuple):
    """What executes a statement once: its messages, and how it was bound."""

    messages: str
    sql: str
    forms: tuple[int, ...]
    parameters: int
    results: tuple[int, ...]


@pytest.fixture(scope="module")
def tables() -> Iterator[Server]:
    """A server with sysbench's table, made by sysbench."""
    with a_place() as place, server.running_at(place) as one:
        run_sysbench(server.address_of(one), "oltp_read_only", "prepare", {})
        yield one


def run_sysbench(
    address: Address, script: str, command: str, options: Options, driver: str = "pgsql"
) -> None:
    """Runs a command of sysbench's to its end."""
    program = arms.sysbench_program()
    assert program is not None
    first = arms.sysbench_command(program, address, ROWS, script, driver=driver)
    given = {"threads": 1, "events": EVENTS, "time": 0} | options
    process.run([*first, *(f"--{k}={v}" for k, v in given.items()), command], limit_s=LIMIT_S)


def sysbench(address: Address, script: str, options: Options) -> None:
    """sysbench runs its script."""
    run_sysbench(address, script, "run", options)


def dyno(address: Address, script: str, options: Options) -> None:
    """The generator runs the shipped workload's step of that name."""
    given = {"tables": 1, "table_size": ROWS, "clients": 1, "events": EVENTS} | options
    *_, step = workload.expand(workload.load("sysbench-oltp", set=script), given, "postgres")
    job = jobs.begun_on(address, step.job)
    _, events = arms.generate(binary.find("dyno-loadgen"), job, LIMIT_S)
    (totals,) = events[-1]["totals"].values()
    assert (totals["count"], totals["errors"]) == (EVENTS, 0)


def sent(
    running: Server, client: Client, script: str, options: Options
) -> tuple[Counter[Parsed], Counter[Executed]]:
    """What the one connection of a client that executed anything parsed and executed."""
    to = server.address_of(running)
    socket_name = f".s.PGSQL.{to.port}"
    with recording(socket_name, Path(to.host) / socket_name) as proxy:
        client(replace(to, host=str(proxy.path.parent)), script, options)
        (stream,) = (bytes(one) for one in proxy.sent if b"sbtest" in one)
    return taken_apart(stream)


def messages(stream: bytes) -> Iterator[tuple[str, bytes]]:
    """The messages of a connection behind its startup, each with its type."""
    position = 0
    while int.from_bytes(stream[position + 4 : position + 8]) != 3 << 16:
        position += STARTUP_BYTES  # a question whether the server has TLS
    position += int.from_bytes(stream[position : position + 4])
    while position < len(stream):
        length = int.from_bytes(stream[position + 1 : position + 5])
        yield chr(stream[position]), stream[position + 5 : position + 1 + length]
        position += 1 + length


def taken_apart(stream: bytes) -> tuple[Counter[Parsed], Counter[Executed]]:
    """What a connection parsed, and what it executed between one Sync and the next."""
    names: dict[bytes, str] = {}
    parsed: Counter[Parsed] = Counter()
    executed: Counter[Executed] = Counter()
    request, bound = "", b""
    for kind, body in messages(stream):
        request += kind
        if kind == "P":
            name, sql, rest = body.split(b"\0", 2)
            names[name] = " ".join(re.sub(r"sbtest\d+", "sbtest", sql.decode()).split())
            parsed[Parsed(names[name], struct.unpack(f">{(len(rest) - 2) // 4}I", rest[2:]))] += 1
        elif kind == "B":
            bound = body
        elif kind == "S":
            if "E" in request:
                executed[execution(request, bound, names)] += 1
            request = ""
    return parsed, executed


def execution(request: str, bound: bytes, names: dict[bytes, str]) -> Executed:
    """What a Bind message says, among the messages up to the Sync."""
    _, name, rest = bound.split(b"\0", 2)
    forms, rest = numbers(rest)
    count, rest = int.from_bytes(rest[:2]), rest[2:]
    for _ in range(count):
        rest = rest[4 + int.from_bytes(rest[:4]) :]
    return Executed(request, names[name], forms, count, numbers(rest)[0])


def numbers(body: bytes) -> tuple[tuple[int, ...], bytes]:
    """A list of numbers of two bytes with its length in front; and what follows it."""
    count = int.from_bytes(body[:2])
    end = 2 + 2 * count
    return struct.unpack(f">{count}H", body[2:end]), body[end:]


@pytest.mark.parametrize("script", ["oltp_read_write", *OF_ONE_TABLE, "oltp_insert"])
def test_types_forms_and_messages_are_those_of_sysbench(tables: Server, script: str) -> None:
    assert script in SCRIPTS
    theirs = sent(tables, sysbench, script, {})
    ours = sent(tables, dyno, script, {})
    assert ours == theirs
    parsed, executed = theirs
    types = {one for each in parsed for one in each.types}
    assert types <= {INT8, VARCHAR}
    assert types or script == "oltp_insert", "it has parameters, or sends literals"
    if script == "oltp_read_write":
        assert types == {INT8, VARCHAR}
        assert {one.messages for one in executed} == {"BDES"}
        assert {one.forms for one in executed} == {()}, "all are texts"
        assert {one.results for one in executed} == {(BINARY,)}


def test_with_the_server_s_types_none_are_declared_and_numbers_are_binary(tables: Server) -> None:
    given = {"bind_types": "server"}
    parsed, executed = sent(tables, dyno, "oltp_read_write", given)
    assert {one.types for one in parsed} == {()}
    assert {one.messages for one in executed} == {"BES"}
    forms = {one.sql.split()[0]: one.forms for one in executed}
    assert forms["DELETE"] == (BINARY,)
    assert forms["INSERT"] == (BINARY, BINARY, TEXT, TEXT)
