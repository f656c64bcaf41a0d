"""Servers that load from other hosts reaches, from networks of their own: who may come, who not.

Each network has one address. The first is let in; the second is on the same wires, and is not.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import structs

from dbdyno.engine import LabServer, Place, access
from dbdyno.engine.arm_server import provide
from dbdyno.engine.golden_copy import CopyOrigin
from dbdyno.host import process, program
from dbdyno.model import Arm
from dbdyno.model.error import PlanError
from dbdyno.model.job.endpoint import Endpoint
from dbdyno.model.server_facts import AccessFacts
from dbdyno.run.check.reached import one_statement
from dbdyno.run.driver.loadgen import addressed
from mysql_place import ENGINES, an_arm, needs
from server_place import a_place, ends, started

pytestmark = pytest.mark.live

NETWORKS = 0x0A400000
"""10.64.0.0; each test process has eight addresses beyond it."""
BY_MYSQL = {"general_log": "ON", "slow_query_log": "ON", "long_query_time": "0"}
LOGS = {
    "postgres": {"log_statement": "all", "log_min_duration_statement": "0"},
    "mysql": BY_MYSQL,
    "mariadb": BY_MYSQL,
}
"""All that a server can log, it logs."""
FAMILIES = {"postgres": "postgres", "mysql": "mysql", "mariadb": "mysql"}
REFUSED = {"postgres": "no pg_hba.conf entry", "mysql": "is not allowed to connect"}
UNENCRYPTED = {"postgres": "no pg_hba.conf entry", "mysql": "Access denied|exposes it"}
"""MySQL first asks for the password, which the generator does not send as it is."""
BAD_PASSWORD = {"postgres": "password authentication failed", "mysql": "Access denied"}


@dataclass(frozen=True)
class Networks:
    """The address of this machine in them, and two others, each in a network of its own."""

    server: str
    clients: dict[str, str]  # the network's name -> its address


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@pytest.fixture(scope="session")
def networks() -> Iterator[Networks]:
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("networks of their own need root and `apt-get install iproute2`")
    pid = os.getpid()
    first = NETWORKS + pid % 2**18 * 8
    server, *others = (".".join(map(str, (first + n).to_bytes(4, "big"))) for n in (1, 2, 3))
    found = Networks(server, {f"dyno-access-{pid}-{n}": one for n, one in enumerate(others)})
    try:
        for number, (name, address) in enumerate(found.clients.items()):
            link = f"dyno{pid}{number}"
            ip("netns", "add", name)
            ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", name)
            ip("address", "add", server, "peer", address, "dev", link)
            ip("link", "set", link, "up")
            ip("-n", name, "address", "add", address, "peer", server, "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
        yield found
    finally:
        for name in found.clients:
            with suppress(subprocess.CalledProcessError):
                ip("netns", "delete", name)


@dataclass(frozen=True)
class Reached:
    """A running server that other hosts reach, and the networks of these."""

    server: LabServer
    networks: Networks
    place: Place

    def load(
        self,
        client: int | None = 0,
        *,
        at: Endpoint | None = None,
        tls: bool = True,
        password: str | None = None,
    ) -> str | None:
        """Makes load from a network, or from here, as a generator there does; why it failed.

        `at`: a job's `server`, in place of the server's own.
        """
        secrets = self.server.entrance.secrets()
        job = addressed(self.server, one_statement())
        place = at or job.server
        assert isinstance(place, Endpoint)
        place = place if tls else structs.replace(place, tls=None)
        there = [] if client is None else ["ip", "netns", "exec", [*self.networks.clients][client]]
        done = subprocess.run(
            [*there, program.find("dyno-loadgen")],
            input=msgspec.json.encode(structs.replace(job, server=place, autostart=True)).decode(),
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, access.PASSWORD: password or secrets.password},
        )
        last = json.loads(done.stdout.splitlines()[-1])
        return None if last["status"] == "ok" else str(last["reason"])

    def places(self) -> list[Endpoint]:
        """Where load can connect: the server, and its standbys."""
        names = [] if self.server.standbys is None else list(self.server.standbys.addresses())
        (role,) = one_statement().roles
        roles = tuple(structs.replace(role, name=name, endpoint=name) for name in names)
        job = addressed(self.server, structs.replace(one_statement(), roles=roles))
        assert isinstance(job.server, Endpoint)
        return [job.server, *job.endpoints.values()]

    def of_family(self, words: dict[str, str]) -> str:
        return words[FAMILIES[self.server.engine]]


def reachable(place: Place, networks: Networks, client: int, *, tls: bool) -> Place:
    """The same place for a server that one of the networks may reach."""
    address = [*networks.clients.values()][client]
    return replace(place, access=access.make(networks.server, [address], tls=tls))


@contextmanager
def running(arm: Arm, networks: Networks) -> Iterator[Reached]:
    """A server with TLS that the first network may reach."""
    with a_place(arm.engine) as place:
        place = reachable(place, networks, 0, tls=True)
        with started(arm, place) as server:
            server.create_database("ib")
            if server.standbys is not None:
                server.standbys.join()
            yield Reached(server, networks, place)


def named(server: Path | str) -> str:
    return getattr(server, "name", str(server))


def servers(*in_soak: Path | str) -> list[Any]:
    """Those of each engine; these are tried by `make soak` alone."""
    return [
        pytest.param(one, id=named(one), marks=[pytest.mark.soak] * (one in in_soak))
        for one in [*ends(), *ENGINES]
    ]


OLDER = ends()[:-1]


@pytest.fixture(scope="module", params=servers(*OLDER))
def encrypted(request: pytest.FixtureRequest, networks: Networks) -> Iterator[Reached]:
    """A server of each engine with TLS; the newest PostgreSQL has a standby."""
    if request.param in ENGINES:
        needs(request.param, "TLS by files that a run makes", mysql=50700)
        arm = an_arm(request.param, settings=LOGS[request.param])
    else:
        standby = int(request.param == ends()[-1])
        arm = postgres(request.param, settings=LOGS["postgres"], standby=standby)
    with running(arm, networks) as found:
        yield found


def postgres(base_dir: Path, **more: object) -> Arm:
    return replace(Arm(name="a", engine="postgres", base_dir=base_dir), **more)


def test_the_client_named_comes_in_and_verifies_the_servers_certificate(encrypted: Reached):
    for place in encrypted.places():
        assert place.host == encrypted.networks.server
        assert place.tls.mode == "verify-full"
        assert place.password.env == access.PASSWORD
        assert encrypted.load(at=place) is None


def test_another_host_is_refused_by_the_server_itself_and_so_is_this_one(encrypted: Reached):
    for place in encrypted.places():
        for client in (1, None):
            assert encrypted.of_family(REFUSED) in str(encrypted.load(client, at=place))


def test_the_client_named_is_refused_without_tls_and_without_the_password(encrypted: Reached):
    for place in encrypted.places():
        said = encrypted.load(at=place, tls=False)
        assert re.search(encrypted.of_family(UNENCRYPTED), str(said))
        said = encrypted.load(at=place, password="another")
        assert encrypted.of_family(BAD_PASSWORD) in str(said)


def test_a_certificate_of_another_run_is_not_trusted(encrypted: Reached, tmp_path: Path):
    other = tmp_path / "other.crt"
    other.write_text(access.made_certificate(encrypted.networks.server).text)
    (place, *_) = encrypted.places()
    tls = structs.replace(place.tls, root_certificate=str(other))
    said = encrypted.load(at=structs.replace(place, tls=tls))
    assert "certificate" in str(said)


def test_facts_say_how_the_load_comes_and_have_no_secret(encrypted: Reached):
    facts = encrypted.server.facts()
    client, _ = encrypted.networks.clients.values()
    assert facts.transport == "tcp"
    assert str(facts.encryption).startswith("TLS")
    assert facts.access == AccessFacts(encrypted.networks.server, (client,))
    assert facts.departures == ()
    secrets = encrypted.server.entrance.secrets()
    assert secrets.password not in str(facts)


def test_the_password_is_in_no_file_and_in_nothing_that_a_process_shows(encrypted: Reached):
    assert encrypted.load() is None
    secrets, pid = encrypted.server.entrance.secrets(), encrypted.server.postmaster_pid
    assert pid is not None
    password = secrets.password.encode()
    shown = [Path(f"/proc/{one}") for one in (pid, *process.children(pid))]
    files = [one / name for one in shown for name in ("cmdline", "environ")]
    files += [one for one in encrypted.place.data_root.parent.rglob("*") if one.is_file()]
    assert any(one.name.endswith(".log") for one in files)
    holding = []
    for file in files:
        with suppress(FileNotFoundError, ProcessLookupError):  # the server removes and renames some
            holding += [file] if password in file.read_bytes() else []
    assert holding == []


def test_the_key_is_the_servers_alone_and_lies_in_no_data(encrypted: Reached):
    folder = encrypted.place.data_root / "a"
    found = (folder / "load.key").stat()
    assert found.st_uid == encrypted.place.account.uid
    assert found.st_mode & 0o777 == 0o600
    key = (folder / "load.key").read_bytes()
    assert not [one for one in folder.rglob("data/*") if one.is_file() and key in one.read_bytes()]


@pytest.mark.parametrize("encrypted", servers(*OLDER, "mysql"), indirect=True)
def test_a_copy_of_the_data_lets_in_whom_the_next_run_names(encrypted: Reached):
    """The last with this server, whose data it takes; the next run is without TLS."""
    server, networks, plain = encrypted.server, encrypted.networks, encrypted.place
    first, arm = server.entrance.secrets(), server._arm  # type: ignore[attr-defined]
    copy = server.keep({"seed": 1}, CopyOrigin(workload="w", step="s", block_begun_unix_ns=5))
    server.remove()
    assert not (plain.data_root / "a" / "load.key").exists()
    place = reachable(plain, networks, 1, tls=False)
    second = provide(arm, place=place)
    alone = provide(arm, place=replace(plain, access=None))
    assert first is not None and server.identity == second.identity == alone.identity
    try:
        second.prepare_from(copy, shared_blocks=False)
        second.start()
        second.use_database("ib")
        there = Reached(second, networks, place)
        assert there.load(1) is None
        assert there.of_family(BAD_PASSWORD) in str(there.load(1, password=first.password))
        assert there.of_family(REFUSED) in str(there.load(0))
        assert str(second.facts().encryption).startswith("not encrypted")
        second.stop(crash=True)
        if arm.engine != "postgres":  # whose rules are no part of its data
            alone.prepare_from(copy, shared_blocks=False)
            alone.start()
            assert alone.execute("SELECT @@skip_networking") == [(1,)]
            assert alone.execute("SELECT count(*) FROM mysql.user WHERE user = 'dyno'") == [(1,)]
    finally:
        for one in (second, alone):
            one.stop(crash=True)
        second.remove()


def test_a_setting_of_the_plan_that_the_lab_needs_itself_is_refused(networks: Networks):
    with a_place() as place:
        arm = postgres(ends()[-1], settings={"ssl": "off"})
        asked = provide(arm, place=reachable(place, networks, 0, tls=True))
        with pytest.raises(PlanError, match=r"arms\.a\.settings\.ssl: dyno sets this itself"):
            asked.check()
        provide(arm, place=reachable(place, networks, 0, tls=False)).check()
