"""How load reaches a server of the lab over TCP: by one address, from these clients alone.

They come with a password made for the run; from other hosts by TLS, with a certificate made for it,
unless the plan says otherwise. The lab itself goes on over the server's socket, whose folder no
other account enters. A server that no load reaches over TCP does not listen there.

data_root/<arm>/load.crt         the certificate, which signs itself
data_root/<arm>/load.key         its key, of the server's account alone
data_root/<arm>/load.pass        for load over 127.0.0.1: the password, of dyno's account alone
"""

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from msgspec import structs

from dbdyno.host.account import Account, created
from dbdyno.host.place import RemoteAccess
from dbdyno.model import Address, Arm, Password, Tls
from dbdyno.model.error import PlanError
from dbdyno.model.server_facts import AccessFacts, ServerFacts

__all__ = ["PASSWORD", "Certificate", "Entrance", "RemoteAccess", "made_certificate", "make"]

PASSWORD = "DYNO_LOAD_PASSWORD"
"""The variable in whose place the load generator's environment has the password."""
ANY_SERVER = "*:*:*:*:"
"""How a line of a passfile begins that holds for every server."""
PASSWORD_BYTES = 32
VALID_BEFORE = timedelta(days=1)
"""Clocks of other hosts may be late."""
VALID_FOR = timedelta(days=90)
"""Longer than any run: a step lasts 30 days at most."""
BY_TLS = "TLS, by a certificate made for the run"
REMEDY = "write `tls = false` in [generator]"


def make(address: str, clients: Iterable[str], *, tls: bool, here: bool = False) -> RemoteAccess:
    """The access of one run of a server, with a new password.

    Raises ValueError for what is no IP address.
    """
    return RemoteAccess(
        address=str(ip_address(address)),
        clients=tuple(dict.fromkeys(str(ip_address(client)) for client in clients)),
        tls=tls,
        password=secrets.token_urlsafe(PASSWORD_BYTES),
        here=here,
    )


@dataclass(frozen=True)
class Secrets:
    """What generators elsewhere need beside a job, and no file may have."""

    password: str = field(repr=False)  # for the variable that the job names
    certificate: str | None  # the text of the job's `root_certificate`; None without TLS


@dataclass(frozen=True)
class Certificate:
    """A certificate that signs itself, and its key; both as PEM."""

    text: str
    key: str = field(repr=False)


def made_certificate(address: str) -> Certificate:
    """A new certificate for the server at an IP address.

    Not marked as an authority: as a root and a server's own at once the load generator would refuse
    it.
    """
    # cryptography takes a tenth of a second to import; servers that nobody else reaches do without.
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "dyno")])
    place = x509.SubjectAlternativeName([x509.IPAddress(ip_address(address))])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - VALID_BEFORE)
        .not_valid_after(now + VALID_FOR)
        .add_extension(place, critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return Certificate(
        text=made.public_bytes(serialization.Encoding.PEM).decode(),
        key=key.private_bytes(serialization.Encoding.PEM, *form).decode(),
    )


class Entrance:
    """What a server that load reaches over TCP has for it, in its folder."""

    def __init__(self, access: RemoteAccess, folder: Path, account: Account) -> None:
        """Makes the certificate, where one is needed; `write` brings it into the folder."""
        self.access = access
        self.folder = folder
        self.certificate_file, self.key_file = folder / "load.crt", folder / "load.key"
        self.passfile = folder / "load.pass" if access.here else None
        self.certificate = made_certificate(access.address) if access.tls else None
        self.account = account

    def write(self) -> None:
        """Writes certificate and key for the server's account, the passfile for our own."""
        if self.passfile is not None:
            with created(self.passfile, 0o600) as file:
                file.write(f"{ANY_SERVER}{self.access.password}\n")
        if self.certificate is not None:
            self.account.give(self.certificate_file, self.certificate.text)
            self.account.give(self.key_file, self.certificate.key, mode=0o600)

    def load_address(self, own: Address, *, exposed: bool) -> Address:
        """Where the load connects; `own`: the server's address for the lab.

        `exposed`: whether without TLS the password goes as others on the way may learn it.
        """
        tls = self.access.tls
        insecure = exposed and not tls
        place = Password(env=PASSWORD, insecure=insecure)
        if self.passfile is not None:
            place = Password(passfile=self.passfile, insecure=insecure)
        return replace(
            own,
            host=self.access.address,
            password=place,
            tls=Tls("verify-full", str(self.certificate_file)) if tls else None,
        )

    def secrets(self) -> Secrets:
        """What a generator needs of it beside the job."""
        certificate = self.certificate.text if self.certificate else None
        return Secrets(self.access.password, certificate)

    def with_access(self, facts: ServerFacts) -> ServerFacts:
        """The facts of its server with where and how load from other hosts reaches it, if any."""
        access = self.access
        if self.passfile is not None:
            return facts
        return structs.replace(
            facts,
            transport="tcp",
            encryption=BY_TLS if access.tls else "not encrypted: a network of the plan's hosts",
            access=AccessFacts(access.address, tuple(access.clients)),
        )


def refuse_own(arm: Arm, names: Iterable[str]) -> None:
    """Raises PlanError where an arm's settings name one of those that the entrance has."""
    set_here = frozenset(names)
    for written in arm.settings:
        if written.lower().replace("-", "_").removeprefix("loose_") in set_here:
            raise PlanError(
                f"arms.{arm.name}.settings.{written}: dyno sets this itself for load from other "
                f"hosts: remove the key, or {REMEDY}"
            )


def departures(configured: Mapping[str, str], set_: Mapping[str, str]) -> tuple[str, ...]:
    """A sentence for each setting that the entrance has otherwise than the arm's configuration."""
    return tuple(
        f"{name} is {value}, not {configured[name]}: load from other hosts needs it"
        for name, value in set_.items()
        if configured.get(name, value) != value
    )
