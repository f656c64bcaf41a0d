"""Certificates for tests, made by openssl: roots, and what they sign for servers and users."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

RSA = ("rsa:2048",)
ECDSA = ("ec", "-pkeyopt", "ec_paramgen_curve:P-256")
ED25519 = ("ed25519",)
PSS = ("-sigopt", "rsa_padding_mode:pss")
"""Of RSA, another way to sign."""


@dataclass(frozen=True)
class Root:
    """A certificate that signs others, in a folder; all files belong to an account."""

    folder: Path
    owner: int
    key: Sequence[str] = RSA
    signing: Sequence[str] = ()

    @property
    def certificate(self) -> Path:
        """Its file."""
        return self.folder / "root.crt"

    def make(self) -> Root:
        """Makes it."""
        self._make("root", "a root", ())
        return self

    def sign(self, name: str, subject: str) -> tuple[Path, Path]:
        """A certificate of its signature with a common name, for 127.0.0.1, and its key."""
        # The load generator accepts no root as a server's own certificate.
        signed: list[str | Path] = ["-CA", self.certificate, "-CAkey", self.folder / "root.key"]
        signed += ["-addext", "basicConstraints=CA:FALSE"]
        return self._make(name, subject, [*signed, "-addext", "subjectAltName=IP:127.0.0.1"])

    def _make(self, name: str, subject: str, more: Sequence[str | Path]) -> tuple[Path, Path]:
        certificate, key = (self.folder / f"{name}.{suffix}" for suffix in ("crt", "key"))
        command = ["openssl", "req", "-x509", "-nodes", "-days", "2", "-subj", f"/CN={subject}"]
        files: list[str | Path] = [
            "-newkey",
            *self.key,
            *self.signing,
            "-keyout",
            key,
            "-out",
            certificate,
        ]
        subprocess.run([*command, *files, *more], check=True, capture_output=True)
        key.chmod(0o600)
        for file in (certificate, key):
            os.chown(file, self.owner, -1)
        return certificate, key
