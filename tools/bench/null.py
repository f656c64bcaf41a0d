"""The null server of the generator under measurement: it answers every statement at once."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.process import ENVIRONMENT, ContenderFailed
from dbdyno.model import Address


@contextmanager
def listening(generator: Path) -> Iterator[Address]:
    """`dyno-loadgen null --postgres` on a unix socket of its own, while the context lasts."""
    process = subprocess.Popen(
        [generator, "null", "--postgres"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        said = process.stdout.readline()
        if not said:
            raise ContenderFailed(f"`{generator.name} null --postgres` does not serve")
        place = json.loads(said)
        yield Address(host=place["host"], port=place["port"], user="dyno", database="dyno")
    finally:
        # The end of its standard input ends it.
        process.stdin.close()
        process.wait()
        process.stdout.close()
