"""How a server's place is written as one text, by the clients of each engine."""

from collections.abc import Mapping
from dataclasses import dataclass, field

HOST, MODE, ROOT = "host", "mode", "root"
"""What a parameter of a DSN may say: the host, the check of the certificate, its authority,"""
CERTIFICATE, KEY = "certificate", "key"
"""the client's own certificate and its key,"""
NEGOTIATION, BINDING, GSSAPI = "negotiation", "binding", "gssapi"
"""how TLS begins, whether a password is bound to it, and whether GSSAPI encrypts in its place,"""

PORT, USER, DATABASE, ADDRESS = "port", "user", "database", "address"
"""what else a URI says before its `?`, and the host's IP address,"""
OPTIONS, SESSION, PASSFILE = "options", "session", "passfile"
"""settings of each session, what the server has to be, and where passwords lie."""


@dataclass(frozen=True, kw_only=True)
class DsnForm:
    """How an engine's clients write a server's place."""

    schemes: tuple[str, ...]  # what a URI begins with, the one to write first
    port: int
    keys: Mapping[str, str]  # the parameters after `?`, and what they say
    modes: Mapping[str, str]  # how what is checked of a certificate is named, and libpq's name
    no_tls: str  # how a connection without TLS is asked for
    # What the other parameters may say, libpq's own default first.
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # Parameters that clients take and dyno passes over, and what dyno does.
    ignored: Mapping[str, str] = field(default_factory=dict)
    # Parameters that no plan may have, and what to do.
    refused: Mapping[str, str] = field(default_factory=dict)
