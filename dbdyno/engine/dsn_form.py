"""How a server's place is written as one text, by the clients of each engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

HOST, MODE, ROOT = "host", "mode", "root"
"""What a parameter of a DSN may say: the host, the check of the certificate, its authority."""
PREFERRED = "prefer"
"""TLS where the server has it: what the clients of all engines do where nobody says anything."""


@dataclass(frozen=True, kw_only=True)
class DsnForm:
    """How an engine's clients write a server's place."""

    schemes: tuple[str, ...]  # what a URI begins with, the one to write first
    port: int
    keys: Mapping[str, str]  # the parameters after `?`, and what they say
    modes: Mapping[str, str]  # how what is checked of a certificate is named, and libpq's name
    no_tls: str  # how a connection without TLS is asked for
