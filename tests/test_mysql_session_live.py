"""The generator on real servers of MySQL and MariaDB: statements, rows, errors, users, TLS."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mysql_place
from dbdyno.engine import LabServer
from dbdyno.engine.mysql.connection import connect
from dbdyno.model import Address, Json
from mysql_jobs import Ran, at, job, run, statement, value, with_role
from mysql_place import an_arm
from server_place import a_place, an_open_folder, reached, started

pytestmark = pytest.mark.live

TABLE = {"table": "t"}
SIMPLE, PREPARED = "simple", "prepared"
SOME = [
    value("number", "integer", uniform=[5_000_000_000, 5_000_000_009]),
    value("price", "decimal2", uniform=[1, 500]),
    value("text", "text", pattern="it's \\ #@"),
    value("now", "timestamp", constant=951_782_400),
]
ROW = ["(", 0, ",", 1, ",", 2, ",", 3, ")"]
COLUMNS = "number bigint, price decimal(10,2), text varchar(300), now datetime"
SECRET = "s3cret"
PUBLIC = {"env": "DYNO_TEST_PASSWORD"}
INSECURE = PUBLIC | {"insecure": True}


@pytest.fixture(name="address", scope="module")
def _address(mysql_server: LabServer) -> Address:
    """Where the server answers; it has a database `ib` with two tables."""
    address = mysql_server.address()
    assert address is not None
    execute(address, "CREATE DATABASE IF NOT EXISTS ib")
    for table in ("ib.t1", "ib.t2"):
        execute(address, f"DROP TABLE IF EXISTS {table}", f"CREATE TABLE {table} ({COLUMNS})")
    return address


def is_mariadb(server: LabServer) -> bool:
    """Whether it is MariaDB."""
    return server.engine == "mariadb"


def execute(address: Address, *statements: str) -> list[tuple[Any, ...]]:
    """Runs statements by PyMySQL; the rows of the last one."""
    with connect(address, "test") as connection, connection.cursor() as cursor:
        for sql in statements:
            cursor.execute(sql)
        return list(cursor.fetchall())


@pytest.fixture(name="server")
def _server(address: Address) -> Json:
    """The server as a job names it, its tables empty."""
    execute(address, "TRUNCATE ib.t1", "TRUNCATE ib.t2")
    return at(address)


def ok(ran: Ran) -> Ran:
    """The run, which went well."""
    assert ran.done["status"] == "ok", ran.done["reason"]
    return ran


@pytest.mark.capability("sessions")
@pytest.mark.parametrize("protocol", [SIMPLE, PREPARED])
def test_values_arrive_as_they_were_drawn(
    mysql_server: LabServer, address: Address, server: Json, protocol: str
) -> None:
    insert = statement(
        "insert",
        "INSERT INTO ",
        TABLE,
        " VALUES ",
        {"repeat": 3, "separator": ",", "pieces": statement("", *ROW)["pieces"]},
        protocol=protocol,
    )
    select = statement("select", "SELECT *, NULL FROM ", TABLE, protocol=protocol)
    ran = ok(run(job(mysql_server.engine, server, [insert, select], SOME)))
    rows = execute(address, "SELECT * FROM ib.t1")
    assert len(rows) == 3
    for number, price, text, now in rows:
        assert 5_000_000_000 <= number <= 5_000_000_009
        assert re.fullmatch(r"\d+\.00", str(price))
        assert re.fullmatch(r"it's \\ \d[a-z]", text)
        assert str(now) == "2000-02-29 00:00:00"
    texts = [[str(one) for one in row] + [None] for row in rows]
    assert ran.rows("select") == texts
    assert ran.captured("select")["columns"][:2] == ["number", "price"]
    assert ran.done["totals"]["main"]["rows"] == 6


def test_both_protocols_draw_the_same(mysql_server: LabServer, address: Address, server: Json):
    for protocol in (SIMPLE, PREPARED):
        insert = statement("insert", "INSERT INTO ", TABLE, " VALUES ", *ROW, protocol=protocol)
        ok(run(job(mysql_server.engine, server, [insert], SOME)))
    first, second = execute(address, "SELECT * FROM ib.t1")
    assert first == second


def test_affected_rows_are_those_that_changed_or_those_that_were_found(
    mysql_server: LabServer, address: Address, server: Json
) -> None:
    execute(address, "INSERT INTO ib.t1 (number) VALUES (1), (2), (3)")
    update = statement("update", "UPDATE ", TABLE, " SET number = 3")
    changed = ok(run(job(mysql_server.engine, server, [update])))
    found = ok(run(job(mysql_server.engine, server, [update], found_rows=True)))
    assert changed.done["totals"]["main"]["rows"] == 2
    assert found.done["totals"]["main"]["rows"] == 3
    notice = "Rows matched: 3 Changed: 2 Warnings: 0"
    assert changed.captured("update")["notices"] == [notice]


def test_a_connection_is_that_of_its_number_and_thread(mysql_server: LabServer, server: Json):
    mysql_place.needs(mysql_server.engine, "ids of threads", mysql=80000)
    select = statement("select", "SELECT CONNECTION_ID(), @@character_set_client, @@autocommit")
    ran = ok(run(job(mysql_server.engine, server, [select])))
    (connected,) = ran.of("connected")
    assert ran.rows("select") == [[str(connected["server_pid"]), "latin1", "1"]]
    pid = mysql_server.postmaster_pid
    assert pid is not None
    # The thread may be kept for the next connection, or have ended with this one.
    assert connected["server_tid"] not in (0, pid)


def test_a_result_of_many_packets_is_read_to_its_end(
    mysql_server: LabServer, address: Address, server: Json
) -> None:
    execute(address, "INSERT INTO ib.t1 (number, text) VALUES (1, REPEAT('x', 300))")
    for _ in range(12):
        execute(address, "INSERT INTO ib.t1 SELECT * FROM ib.t1")
    for protocol in (SIMPLE, PREPARED):
        select = statement("select", "SELECT * FROM ", TABLE, protocol=protocol)
        ran = ok(run(job(mysql_server.engine, server, [select], capture=[])))
        assert ran.done["totals"]["main"]["rows"] == 4096


def test_several_statements_in_one_text_are_one_answer(mysql_server: LabServer, server: Json):
    both = statement("both", "SELECT 1; SELECT 2 UNION SELECT 3; DO 1")
    ran = ok(run(job(mysql_server.engine, server, [both])))
    assert ran.rows("both") == [["1"], ["2"], ["3"]]


def test_a_text_of_more_than_a_packet_is_sent_in_several(
    mysql_server: LabServer, address: Address, server: Json
) -> None:
    execute(address, "SET GLOBAL max_allowed_packet = 64 * 1024 * 1024")
    long = statement("long", "SELECT LENGTH('" + "x" * (17 << 20) + "')")
    ran = ok(run(job(mysql_server.engine, server, [long])))
    assert ran.rows("long") == [[str(17 << 20)]]


def test_an_error_is_tried_again_by_its_state_or_its_number(mysql_server: LabServer, server: Json):
    engine = mysql_server.engine
    signal = statement("signal", "SIGNAL SQLSTATE '40001' SET MESSAGE_TEXT = 'planted'")
    for state, code, written in (
        ("40001", "40001", "40001"),
        ("40001", "1644", "40001"),
        ("HY000", "1644", "1644"),
    ):
        signal = statement("signal", f"SIGNAL SQLSTATE '{state}' SET MESSAGE_TEXT = 'planted'")
        on_error = {"retry": [code], "tries": 3, "otherwise": "count"}
        ran = ok(run(with_role(job(engine, server, [signal]), on_error=on_error)))
        totals = ran.done["totals"]["main"]
        assert (totals["errors"], totals["retries"], totals["count"]) == (3, 2, 0)
        assert {event["code"] for event in ran.of("error")} == {written}
    failed = run(job(engine, server, [statement("bad", "SELEKT 1")]))
    assert failed.done["status"] == "failed"
    assert "(SQLSTATE 42000, error 1064)" in failed.done["reason"]


def test_a_lock_that_is_waited_for_too_long_is_counted_by_its_number(
    mysql_server: LabServer, address: Address, server: Json
) -> None:
    execute(address, "INSERT INTO ib.t1 (number) VALUES (1)")
    patience = statement("patience", "SET innodb_lock_wait_timeout = 1")
    update = statement("update", "UPDATE ", TABLE, " SET number = 2")
    waits = with_role(
        job(mysql_server.engine, server, [patience, update]),
        on_error={"retry": ["1205"], "tries": 2, "otherwise": "count"},
    )
    with connect(address, "test") as holder, holder.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute("UPDATE ib.t1 SET number = 3")
        ran = ok(run(waits))
    assert {event["code"] for event in ran.of("error")} == {"1205"}
    assert ran.done["totals"]["main"]["retries"] == 1


def test_a_killed_connection_is_made_anew_with_its_statements(
    mysql_server: LabServer, server: Json
) -> None:
    engine = mysql_server.engine
    select = statement("select", "SELECT ", 0, protocol=PREPARED)
    kill = statement("kill", "KILL CONNECTION_ID()")
    made = with_role(
        job(engine, server, [select, kill], SOME),
        on_lost="reconnect",
        on_error={"otherwise": "count"},
        stop={"operations": 3},
    )
    ran = ok(run(made))
    assert len({event["server_pid"] for event in ran.of("connected")}) >= 3
    assert ran.done["totals"]["main"]["errors"] >= 3


@pytest.fixture(name="users", scope="module")
def _users(mysql_server: LabServer, address: Address) -> dict[str, str]:
    """A user for each method of authentication that the server has: the name by the method."""
    mysql_place.needs(mysql_server.engine, "DROP USER IF EXISTS", mysql=80000)
    methods = {
        "mariadb": {
            "mysql_native_password": f"VIA mysql_native_password USING PASSWORD('{SECRET}')"
        },
        "mysql": {
            method: f"WITH {method} BY '{SECRET}'"
            for method in ("caching_sha2_password", "sha256_password")
        },
    }[mysql_server.engine]
    users = {}
    for number, (method, identified) in enumerate(methods.items()):
        user = f"'u{number}'@'%'"
        execute(
            address,
            f"DROP USER IF EXISTS {user}",
            f"CREATE USER {user} IDENTIFIED {identified}",
            f"GRANT ALL ON ib.* TO {user}",
        )
        users[method] = f"u{number}"
    return users


def let_in(server: LabServer, where: Json) -> Ran:
    """A run that asks who it is; its password is in the environment."""
    who = statement("who", "SELECT CURRENT_USER(), @@version")
    return run(job(server.engine, where, [who]), {"DYNO_TEST_PASSWORD": SECRET})


def over_tcp(address: Address, port: str, **changes: object) -> Json:
    """The server by its TCP port."""
    return at(address) | {"host": "127.0.0.1", "port": int(port)} | changes


@pytest.fixture(name="port", scope="module")
def _port(address: Address) -> str:
    """The server's TCP port; skips where it listens on none."""
    ((_, port),) = execute(address, "SHOW VARIABLES LIKE 'port'")
    ((_, off),) = execute(address, "SHOW VARIABLES LIKE 'skip_networking'")
    if off == "ON":
        pytest.skip("the server listens on no TCP port")
    return str(port)


def test_every_method_lets_in_over_a_socket_and_over_tcp_with_and_without_a_known_hash(
    mysql_server: LabServer, address: Address, users: dict[str, str], port: str
) -> None:
    for method, user in users.items():
        # A hash that is not known yet: over TCP the password goes under the server's public key.
        execute(address, "FLUSH PRIVILEGES")
        for where in (
            over_tcp(address, port, user=user, password=INSECURE),
            over_tcp(address, port, user=user, password=INSECURE),
            at(address, user=user, password=PUBLIC),
        ):
            ran = ok(let_in(mysql_server, where))
            assert ran.rows("who")[0][0] == f"{user}@%", method


def test_a_password_goes_over_tcp_without_tls_only_as_a_proof_unless_the_job_says_so(
    mysql_server: LabServer, address: Address, users: dict[str, str], port: str
) -> None:
    if mysql_server.engine != "mysql":  # whose methods never ask for the password itself
        return
    execute(address, "FLUSH PRIVILEGES")  # no hash is known then
    for user in users.values():
        refused = let_in(mysql_server, over_tcp(address, port, user=user, password=PUBLIC))
        assert refused.done["status"] == "failed"
        assert "which exposes it without TLS" in refused.done["reason"]
        tls = {"mode": "prefer", "root_certificate": None}
        ok(let_in(mysql_server, over_tcp(address, port, user=user, password=PUBLIC, tls=tls)))
    caching = users["caching_sha2_password"]
    ok(let_in(mysql_server, over_tcp(address, port, user=caching, password=PUBLIC)))


def test_a_wrong_password_and_none_are_refused_in_a_line(
    mysql_server: LabServer, address: Address, users: dict[str, str]
) -> None:
    user = next(iter(users.values()))
    who = job(
        mysql_server.engine, at(address, user=user, password=PUBLIC), [statement("who", "DO 1")]
    )
    wrong = run(who, {"DYNO_TEST_PASSWORD": "wrong"})
    none = let_in(mysql_server, at(address, user=user))
    assert "the server does not let in user" in wrong.done["reason"]
    assert none.done["status"] == "failed"
    assert "to give a password, set `server.password`" in none.done["reason"]
    assert "1045" in none.done["reason"]


@pytest.fixture(name="certificates", scope="module")
def _certificates() -> Iterator[Path]:
    """A folder that a server can read: a root certificate, and one for localhost, by openssl."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl here: `apt-get install openssl`")
    with an_open_folder() as folder:
        (folder / "names").write_text("subjectAltName=DNS:localhost\n")
        for command in (
            "req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=root "
            "-keyout root.key -out root.crt",
            "req -newkey rsa:2048 -nodes -subj /CN=server -keyout server.key -out server.csr",
            "x509 -req -in server.csr -CA root.crt -CAkey root.key -CAcreateserial -days 30 "
            "-extfile names -out server.crt",
        ):
            subprocess.run(
                ["openssl", *command.split()], cwd=folder, check=True, capture_output=True
            )
        (folder / "server.key").chmod(0o644)
        yield folder


@pytest.fixture(name="encrypting", scope="module")
def _encrypting(
    mysql_engine: str, mysql_server: LabServer, certificates: Path
) -> Iterator[tuple[LabServer, Address]]:
    """A server that shows the certificate: MySQL takes it while it runs, MariaDB at its start."""
    mysql_place.needs(mysql_server.engine, "certificates that change", mysql=80000)
    cert, key = certificates / "server.crt", certificates / "server.key"
    if mysql_engine == "mysql":
        address = mysql_server.address()
        assert address is not None
        execute(
            address,
            f"SET GLOBAL ssl_cert = '{cert}'",
            f"SET GLOBAL ssl_key = '{key}'",
            f"SET GLOBAL ssl_ca = '{certificates / 'root.crt'}'",
            "ALTER INSTANCE RELOAD TLS",
        )
        yield mysql_server, address
        return
    files = {"ssl_cert": str(cert), "ssl_key": str(key)}
    arm = an_arm(mysql_engine, settings=files, transport="tcp")
    with a_place(mysql_engine) as place, started(arm, place) as server:
        address = server.address()
        assert address is not None
        execute(address, "CREATE DATABASE ib")
        yield server, address


def test_a_connection_is_encrypted_and_the_certificate_is_looked_at_as_asked_for(
    encrypting: tuple[LabServer, Address], certificates: Path
) -> None:
    server, address = encrypting
    root = str(certificates / "root.crt")
    cipher = statement("cipher", "SHOW STATUS LIKE 'Ssl_cipher'")
    ((_, port),) = execute(address, "SHOW VARIABLES LIKE 'port'")

    def seen(host: str, tls: Json) -> Ran:
        place = reached(server).password
        assert place is not None
        password = {"passfile": str(place.passfile), "insecure": place.insecure}
        where = at(address) | {"host": host, "port": int(port), "tls": tls, "password": password}
        return run(job(server.engine, where, [cipher]))

    for host, tls in (
        ("127.0.0.1", {"mode": "require"}),
        ("127.0.0.1", {"mode": "verify-ca", "root_certificate": root}),
        ("localhost", {"mode": "verify-full", "root_certificate": root}),
    ):
        assert ok(seen(host, tls)).rows("cipher")[0][1], tls
    for host, tls, words in (
        ("127.0.0.1", {"mode": "verify-full", "root_certificate": root}, "not for `127.0.0.1`"),
        ("localhost", {"mode": "verify-ca"}, "nobody whom we trust has signed it"),
    ):
        refused = seen(host, tls)
        assert refused.done["status"] == "failed"
        assert words in refused.done["reason"]


def test_a_protocol_that_the_server_has_not_is_refused(mysql_server: LabServer, address: Address):
    extended = statement("one", "SELECT 1") | {"protocol": "extended"}
    other = run(job(mysql_server.engine, at(address), [extended]))
    assert "has no such protocol; give `simple` or `prepared`" in other.stderr


def test_too_many_connections_are_one_line(mysql_server: LabServer, address: Address, server: Json):
    ((_, allowed),) = execute(address, "SHOW VARIABLES LIKE 'max_connections'")
    try:
        execute(address, "SET GLOBAL max_connections = 10")
        made = job(mysql_server.engine, server, [statement("one", "SELECT 1")])
        ran = run(with_role(made, connections=40, stop={"operations": 40}))
    finally:
        # A user with all privileges has one connection beyond the limit.
        execute(address, f"SET GLOBAL max_connections = {allowed}")
    assert ran.done["status"] == "failed"
    assert "Too many connections" in ran.done["reason"]
    assert "1040" in ran.done["reason"]


def test_statements_are_sent_in_the_forms_that_the_servers_log_shows(
    mysql_server: LabServer, address: Address, server: Json
) -> None:
    before = dict(execute(address, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('log_output')"))
    execute(address, "TRUNCATE mysql.general_log", "SET GLOBAL log_output = 'TABLE'")
    execute(address, "SET GLOBAL general_log = 1")
    try:
        text = statement("text", "SELECT number FROM ", TABLE, " WHERE number = ", 0)
        bound = statement("bound", *text["pieces"], protocol=PREPARED)
        twice = with_role(
            job(mysql_server.engine, server, [text, bound], SOME), stop={"operations": 2}
        )
        (connected,) = ok(run(twice)).of("connected")
    finally:
        execute(address, "SET GLOBAL general_log = 0")
        execute(address, f"SET GLOBAL log_output = '{before['log_output']}'")
    sent = execute(
        address,
        "SELECT command_type, CONVERT(argument USING utf8mb4) FROM mysql.general_log "
        f"WHERE thread_id = {connected['server_pid']} ORDER BY event_time",
    )
    forms = [(kind, re.sub(r"\d{10}", "N", str(sql))) for kind, sql in sent]
    query = "SELECT number FROM t1 WHERE number = "
    assert forms[0][0] == "Connect"
    assert [form for form in forms if "t1" in form[1]] == [
        ("Prepare", f"{query}?"),
        ("Query", f"{query}N"),
        ("Execute", f"{query}N"),
        ("Query", f"{query}N"),
        ("Execute", f"{query}N"),
    ]
    assert forms[-1] == ("Quit", "")
