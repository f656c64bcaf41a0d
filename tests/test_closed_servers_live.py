"""Servers of the lab let no other account of this host in, by the socket or over TCP."""

import os
from collections.abc import Callable
from dataclasses import replace

import pytest

import mysql_place
from dbdyno import engine as engines
from dbdyno.engine import Server
from dbdyno.host import account
from dbdyno.model import Address, Arm
from dbdyno.model.error import ServerError
from dbdyno.model.plan import Transport
from server_place import a_place, address, ends, reached, started

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(
        os.geteuid() != 0, reason="only root can try as another account: `sudo make test-all`"
    ),
]
OTHER = "daemon"
"""An account that every Debian has, and no server."""
LET_IN = "let in"


def an_arm(engine: str, transport: Transport) -> Arm:
    if engine == "postgres":
        return Arm(name="a", engine=engine, base_dir=ends()[-1], transport=transport)
    return mysql_place.an_arm(engine, transport=transport)


def as_other(what: Callable[[], object]) -> str:
    """What a function says when another account of this host calls it: why it fails, or LET_IN."""
    other = account.entry_of(OTHER)
    assert other is not None
    "localhost".encode("idna")  # loads what the other account may not read
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setgroups([])
        os.setresgid(other.pw_gid, other.pw_gid, other.pw_gid)
        os.setresuid(other.pw_uid, other.pw_uid, other.pw_uid)
        try:
            what()
            os.write(write, LET_IN.encode())
        except BaseException as error:
            os.write(write, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(0)
    os.close(write)
    os.waitpid(pid, 0)
    with os.fdopen(read) as said:
        return said.read()


def attempt(server: Server, at: Address) -> str:
    """What another account hears that asks a server at an address."""
    client = engines.of(server.engine).client
    return as_other(lambda: client.execute(at, ["SELECT 1"], 10))


@pytest.mark.parametrize("transport", ["socket", "tcp"])
@pytest.mark.parametrize("engine", ["postgres", *mysql_place.ENGINES])
def test_another_account_reaches_no_server(engine: str, transport: Transport) -> None:
    arm = an_arm(engine, transport)
    with a_place(engine) as place, started(arm, place) as server:
        client = engines.of(engine).client
        assert client.execute(reached(server), ["SELECT 1"], 10) == [(1,)]
        assert "ermission denied" in attempt(server, address(server))
        by_tcp = replace(reached(server), host="127.0.0.1", password=None)
        said = attempt(server, by_tcp)
        wanted = "refused" if transport == "socket" else "password|Access denied"
        assert any(words in said for words in wanted.split("|")), said
        if transport == "tcp":
            assert "cannot be read: Permission denied" in attempt(server, reached(server))


@pytest.mark.parametrize("engine", mysql_place.ENGINES)
def test_behind_the_socket_there_is_the_labs_account_alone(engine: str) -> None:
    with a_place(engine) as place, started(an_arm(engine, "socket"), place) as server:
        refuse_strangers(server)
        # Data that an older dyno made have accounts without a password.
        server.execute("CREATE USER root@localhost", "CREATE USER ''@localhost")
        server.stop()
        server.start()
        refuse_strangers(server)


def refuse_strangers(server: Server) -> None:
    """Tries the accounts that come with a data directory, over the socket that is open to us."""
    client = engines.of(server.engine).client
    for user in ("root", "", "nobody"):
        with pytest.raises(ServerError, match="Access denied"):
            client.execute(replace(address(server), user=user), ["SELECT 1"], 10)
    locked = "mysql.sys" if server.engine == "mysql" else "mariadb.sys"
    with pytest.raises(ServerError, match=r"Access denied|locked"):
        client.execute(replace(address(server), user=locked), ["SELECT 1"], 10)
    assert client.execute(address(server), ["SELECT 1"], 10) == [(1,)]
