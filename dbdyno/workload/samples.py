"""Files of tuples that values are drawn from, as dyno-loadgen reads them (loadgen/src/samples.rs).

A line is `{"weight": 3, "values": [5, null, "O'Brien", true]}`. The values of an operation come
from one tuple. No message quotes a value, as they may come from production.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from dbdyno.model.error import WorkloadError
from dbdyno.model.job import values
from dbdyno.workload import maker_schema
from dbdyno.workload.scope import Scope

FORM = '{"weight": 1, "values": [5, "text", null]}'
WEIGHTS_MAX = 2**63 - 1
"""The sum of all weights, as dyno-loadgen has it."""


class SampleTuple(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A tuple of a file; each value is kept as its JSON, as numbers keep their digits."""

    weight: Annotated[int, Meta(ge=1, le=WEIGHTS_MAX)] = 1
    values: tuple[msgspec.Raw, ...]


@dataclass(frozen=True, kw_only=True)
class SampleFile:
    """A file of tuples that has been read."""

    path: Path
    sha256: str  # in hexadecimal
    samples: tuple[SampleTuple, ...]

    @property
    def columns(self) -> int:
        """The values of each tuple."""
        return len(self.samples[0].values)


def read(path: Path) -> SampleFile:
    """Reads a file of tuples.

    Raises WorkloadError with one line where it cannot be read, or a line of it is no tuple.
    """
    try:
        content = path.read_bytes()
    except OSError as reason:
        raise WorkloadError(f"{path}: cannot be read as samples: {reason.strerror}") from None
    decoder = msgspec.json.Decoder(SampleTuple)
    lines = enumerate(content.split(b"\n"), start=1)
    samples: list[SampleTuple] = []
    weights = 0
    for number, line in lines:
        if not line.strip():
            continue
        sample = _sample(line, decoder, f"{path}: line {number}")
        weights += sample.weight
        if weights > WEIGHTS_MAX:
            raise WorkloadError(f"{path}: line {number}: all weights together are beyond 2^63")
        if samples and len(sample.values) != len(samples[0].values):
            raise WorkloadError(
                f"{path}: line {number}: has {len(sample.values)} values where the lines before "
                f"have {len(samples[0].values)}"
            )
        samples.append(sample)
    if not samples:
        raise WorkloadError(f"{path}: has no tuple; write a line for each, such as {FORM}")
    sha256 = hashlib.sha256(content).hexdigest()
    return SampleFile(path=path, sha256=sha256, samples=tuple(samples))


def _sample(line: bytes, decoder: msgspec.json.Decoder[SampleTuple], place: str) -> SampleTuple:
    """The tuple of a line; what is wrong with it is said without a word of what it holds."""
    try:
        line.decode()
        sample = decoder.decode(line)
    except (UnicodeDecodeError, msgspec.DecodeError):
        raise WorkloadError(f"{place}: is no tuple; write {FORM}") from None
    if not sample.values:
        raise WorkloadError(f"{place}: has no values; write {FORM}")
    for number, value in enumerate(sample.values, start=1):
        if problem := _problem(bytes(value)):
            raise WorkloadError(f"{place}: value {number} {problem}")
    return sample


def _problem(raw: bytes) -> str | None:
    """What is wrong with a value; None: nothing."""
    if raw.startswith((b"[", b"{")):
        return "is a list or an object; write a number, a text, true, false or null"
    if not raw.startswith(b'"'):
        return None
    text = str(msgspec.json.decode(raw))
    return "has a NUL character, which no statement can hold" if "\0" in text else None


class Samples:
    """The files that the values of one job are drawn from, each read once."""

    def __init__(self) -> None:
        self._files: dict[Path, SampleFile] = {}

    def column(self, written: maker_schema.SampleForm, scope: Scope) -> values.SampleColumn:
        """The column of a file as a job has it. Raises WorkloadError where there is none."""
        path = scope.folder / scope.at("file").text(written.file)
        if path not in self._files:
            self._files[path] = read(path)
        file = self._files[path]
        column = scope.at("column").integer(written.column, low=1)
        if column > file.columns:
            raise scope.at("column").error(
                f"{path} has {file.columns} values in each line, and no number {column}"
            )
        return values.SampleColumn(of=file.sha256, column=column - 1)

    @property
    def paths(self) -> dict[str, str]:
        """Where the files are, by the SHA-256 of their content."""
        return {file.sha256: str(path.absolute()) for path, file in self._files.items()}


def sha256(makers: Mapping[str, maker_schema.Maker], folder: Path) -> dict[str, str]:
    """The SHA-256 of each file that values name, in hexadecimal, by its path there.

    Raises WorkloadError where one cannot be read.
    """
    named = {maker.sample.file for maker in makers.values() if maker.sample is not None}
    return {path: read(folder / path).sha256 for path in sorted(named)}
