"""Finds and reads scripts, and brings those of a step into its job."""

import dataclasses
import hashlib
import typing
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec.structs import replace

from dbdyno.model.error import WorkloadError
from dbdyno.model.job import Job, values
from dbdyno.model.job.programs import Initial, Instruction
from dbdyno.model.job.statements import Protocol, Statement
from dbdyno.workload import distribution
from dbdyno.workload.maker_schema import SampleForm
from dbdyno.workload.schema import WorkloadFile
from dbdyno.workload.scope import Scope
from dbdyno.workload.script import command
from dbdyno.workload.script.compile import AUTOMATIC, CompiledScript, Scripts
from dbdyno.workload.script.source import ScriptText
from dbdyno.workload.script.sql import NAME
from dbdyno.workload.script.value import ScriptValue

PROTOCOLS: tuple[Protocol, ...] = ("simple", "extended", "prepared")
SCALE = "scale"
"""The variable that has the parameter of its name, and without one pgbench's 1."""


def text(path: Path, folder: Path) -> str:
    """A script as it was written; `path` begins at the folder. Raises WorkloadError."""
    try:
        script = (folder / path).read_bytes().decode()  # a literal's line ends stay as they are
    except (OSError, UnicodeDecodeError) as reason:
        sentence = reason.strerror if isinstance(reason, OSError) else "not UTF-8 text"
        raise WorkloadError(f"{folder / path}: cannot be read as a script: {sentence}") from None
    if "\0" in script:
        raise WorkloadError(f"{folder / path}: cannot be read as a script: it has a NUL character")
    return script


def sha256(file: WorkloadFile, folder: Path) -> dict[str, str]:
    """The SHA-256 of each script that the file names, in hexadecimal, by its path there."""
    paths = (
        transaction.script
        for transaction in file.transactions.values()
        if transaction.script is not None
    )
    return {
        path: hashlib.sha256(text(Path(path), folder).encode()).hexdigest()
        for path in sorted(set(paths))
    }


class JobValues(typing.Protocol):
    """The values of a job, where they are entered by their names."""

    values: list[values.Value]

    def value(self, name: str) -> int:
        """The number of a value of the file."""

    def sample(self, name: str) -> SampleForm | None:
        """Where a value of the file is drawn from, if from a file of tuples."""


class StepScripts:
    """The scripts of one step, read together: one may use what another one sets."""

    def __init__(self, file: WorkloadFile, scope: Scope, entered: JobValues) -> None:
        self._file = file
        self._scope = scope
        self._entered = entered
        self._read: dict[str, CompiledScript] = {}
        self._scripts: Scripts | None = None

    def read(self, programs: Iterable[str]) -> None:
        """Reads those of the step's programs that are scripts; before the first is entered."""
        for name in programs:
            transaction = self._file.transactions.get(name)
            if transaction is not None and transaction.script is not None:
                self._read[name] = self._script(name, transaction.script)
        if self._read:
            self._scripts = Scripts(list(self._read.values()), self._given(), self._scope.engine)

    def program(self, name: str, statements: list[Statement]) -> list[Instruction]:
        """The instructions of a script; its statements are added to the job's."""
        assert self._scripts is not None, "the step's scripts were read"
        return self._scripts.program(self._read[name], statements)

    def computed(self, job: Job) -> Job:
        """The job with what its programs compute; as it is where none is a script or computes."""
        if self._scripts is None or not (self._read or self._scripts.variables):
            return job
        return self._scripts.computed(job)

    @property
    def shared(self) -> Scripts:
        """What the step's programs compute together; scripts and transactions number it alike."""
        if self._scripts is None:
            self._scripts = Scripts([], {}, self._scope.engine)
        return self._scripts

    def moved(self, first: list[Instruction], code: list[Instruction]) -> list[Instruction]:
        """A program behind further instructions, to which its conditions lead that much later."""
        targets = {number for verb, number in code if verb == "unless"}
        for number in targets:
            branch = self.shared.branches[number]
            self.shared.branches[number] = replace(branch, to=branch.to + len(first))
        return [*first, *code]

    @property
    def explain(self) -> Mapping[str, str]:
        """Statements by their names, as EXPLAIN takes them."""
        return {} if self._scripts is None else self._scripts.explain

    def _script(self, name: str, path: str) -> CompiledScript:
        place = self._scope.root("transactions", name)
        transaction = self._file.transactions[name]
        if transaction.do or transaction.draw:
            raise place.error("has `script` beside `do` or `draw`; remove one")
        source = ScriptText(path, text(Path(path), self._scope.folder))
        protocol = self._protocol(transaction.protocol, place)
        escapes = self._scope.engine.backslash_escapes
        script = CompiledScript.of(name, source, protocol, escapes=escapes)
        if transaction.values:
            script = dataclasses.replace(script, values=self._values(script))
        return script

    def _values(self, script: CompiledScript) -> dict[str, ScriptValue]:
        """The values that a script uses, by their names; refuses those that are variables, too."""
        there = self._file.values
        for name, offset in command.assigned_in(script.commands, there):
            raise script.source.error(
                offset,
                f"`{name}` is also a value of {self._scope.source}; rename one of them, or give "
                f"`transactions.{script.name}` the key values = false",
            )
        used = [name for name in command.names_in(script.commands) if name in there]
        path = script.source.name
        for name in used:
            if name in AUTOMATIC or name in (SCALE, *self._file.variables):
                place = self._scope.root("values", name)
                raise place.error(f"is also a variable, which `{path}` uses; rename one of them")
        return {name: self._value(name, path) for name in dict.fromkeys(used)}

    def _value(self, name: str, path: str) -> ScriptValue:
        """A value that the script of a path uses, entered in the job. Raises WorkloadError."""
        scope = self._scope.root("values", name)
        number, sample = self._entered.value(name), self._entered.sample(name)
        job = self._entered.values
        if sample is None and job[number].per != "transaction":
            raise scope.error(f'`{path}` draws it once; give it the key per = "transaction"')
        numbers = distribution.with_bases(job, number)
        bounds = [bound for base in numbers for bound in job[base].uniform or ()]
        if any(isinstance(bound, values.CursorBound) for bound in bounds):
            raise scope.error(f"a cursor bounds it, which `{path}` does not read; give it numbers")
        return ScriptValue(
            number=number,
            draws=frozenset(base for base in numbers if job[base].per == "transaction"),
            is_text=job[number].is_text,
            sample=sample,
        )

    def _protocol(self, written: str | None, place: Scope) -> Protocol:
        place = place.root("protocol") if written is None else place.at("protocol")
        word = place.text(self._file.protocol if written is None else written)
        protocol = next((protocol for protocol in PROTOCOLS if protocol == word), None)
        sends = self._scope.engine.sends
        if protocol is None or protocol not in sends:
            theirs = " or ".join(f"`{known}`" for known in PROTOCOLS if known in sends)
            product = self._scope.engine.product
            raise place.error(f"scripts on {product} are sent by {theirs}, not `{word}`")
        return protocol

    def _given(self) -> dict[str, Initial]:
        """Variables that have a value from the beginning on, as a job says it."""
        known = self._scope.names.get(SCALE, 1)
        written: dict[str, object] = {SCALE: known, **self._file.variables}
        return {name: self._initial(name, value) for name, value in written.items()}

    def _initial(self, name: str, written: object) -> Initial:
        place = self._scope.root("variables", name)
        if not NAME.fullmatch(name):
            raise place.error("cannot name a variable; use letters, digits and underscores")
        if isinstance(written, bool):
            return Initial(boolean=written)
        assert isinstance(written, (int, float, str, list)), "the form has it so"
        value = place.value(written)
        if isinstance(value, list):
            raise place.error("a variable has one value, no list")
        if isinstance(value, str):
            return Initial(text=value)
        if isinstance(value, float):
            return Initial(double=place.number(value))
        return Initial(integer=place.integer(value))
