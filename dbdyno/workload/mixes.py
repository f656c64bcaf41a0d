"""Turns a plan's `pgbench = ["mix.sql@3", "tpcb-like"]` into steps of a workload file.

The file has a step `scripts` that says all but which scripts run. Its tables are loaded where one
of the scripts uses them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dbdyno.model.document import suggestion
from dbdyno.model.error import WorkloadError
from dbdyno.workload import schema
from dbdyno.workload.pgbench import BUILTIN, script_and_weight
from dbdyno.workload.script import command, files
from dbdyno.workload.script.command import SqlCommand
from dbdyno.workload.script.source import ScriptText
from dbdyno.workload.script.sql import NAME, TOKENS, VARIABLE, named

WORKLOAD = "pgbench"
"""The shipped workload whose step and tables they take."""
SOURCE = f"{WORKLOAD}.toml"
"""How messages call its file."""
STEP = "scripts"
"""The step that is copied, and how the copy is called where a plan gives it no name."""
READING = "select-only"
"""The built-in script that changes nothing."""
READS = frozenset(
    {"SELECT", "WITH", "VALUES", "TABLE", "SHOW", "BEGIN", "START", "COMMIT", "END", "ROLLBACK"}
)
"""How statements begin that change nothing, unless one of these words is in them."""
CHANGES = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE", "INTO", "SHARE", "NEXTVAL", "SETVAL"})

Mixes = Mapping[str, Sequence[str]]
"""Scripts with weights, as on pgbench's command line, by the name of the step that runs them."""


@dataclass(frozen=True, kw_only=True)
class _Mix:
    """The scripts of one step: weights by script, built-in ones by their names."""

    weights: dict[str, int]
    texts: Mapping[str, str]  # of those that are files

    @property
    def built_in(self) -> bool:
        """Whether it has no script of the user's."""
        return not self.texts

    def uses(self, tables: Sequence[str]) -> bool:
        """Whether a script names one of the tables, or is a built-in one."""
        # Which of the tokens the arms' engines read is not known here.
        own = any(named(tables, text, token) for text in self.texts.values() for token in TOKENS)
        return own or len(self.texts) < len(self.weights)


def with_scripts(
    file: schema.WorkloadFile,
    mixes: Mixes,
    variables: Mapping[str, bool | int | float | str],
    folder: Path,
) -> schema.WorkloadFile:
    """The file with a step for each mix in place of its own; paths begin at the folder.

    Raises WorkloadError in one line.
    """
    template = next(step for step in file.steps if step.name == STEP)
    taken = {step.name for step in file.steps if step is not template}
    read = {name: _read(name, scripts, file, folder) for name, scripts in mixes.items()}
    for name in mixes:
        if name in taken:
            raise WorkloadError(f"`{name}` is a step of the workload's own; use another name")
    _check_variables(variables, read.values())
    used = any(mix.uses(list(file.tables)) for mix in read.values())
    loads = [step for step in file.steps if step.load or step.fill or step.creates or step.fills]
    own = [_step(template, name, mix) for name, mix in read.items()]
    paths = {path for mix in read.values() for path in mix.texts}
    return file.model_copy(
        update={
            "tables": file.tables if used else {},
            "fill": file.fill if used else None,
            "transactions": file.transactions
            | {
                path: schema.Transaction(script=path, protocol="{protocol}", values=False)
                for path in sorted(paths)
            },
            "choices": file.choices | {name: mix.weights for name, mix in read.items()},
            "variables": {**file.variables, **variables},
            "steps": [*(loads if used else ()), *own],
        }
    )


def only_read(scripts: Sequence[str]) -> bool:
    """Whether all statements of scripts read, as far as their words tell. Raises WorkloadError."""
    names = {(script_and_weight(entry) or (entry, 1))[0] for entry in scripts}
    own = names.difference(BUILTIN)
    sources = [ScriptText(Path(name).name, files.text(Path(name), Path())) for name in sorted(own)]
    return names - own <= {READING} and all(map(_only_reads, sources))


def _only_reads(source: ScriptText) -> bool:
    commands = command.parse(source)
    parts = [
        words for each in commands if isinstance(each, SqlCommand) for words in each.sql.words()
    ]
    return all(words[0] in READS and CHANGES.isdisjoint(words) for words in parts)


def _read(name: str, scripts: Sequence[str], file: schema.WorkloadFile, folder: Path) -> _Mix:
    """The scripts of one mix, and what the files among them hold."""
    if not scripts:
        raise WorkloadError(f'`{name}` has no script; write ["mine.sql"] or ["{BUILTIN[0]}"]')
    weights: dict[str, int] = {}
    texts: dict[str, str] = {}
    for entry in scripts:
        weighted = script_and_weight(entry)
        if weighted is None:
            sentence = "is not a script with a weight; write it as `mine.sql@3`"
            raise WorkloadError(f"`{entry}` {sentence}")
        script, weight = weighted
        if script in weights:
            raise WorkloadError(f"`{script}` is listed twice; give it the sum of the weights")
        weights[script] = weight
        if script in BUILTIN:
            continue
        if script in file.transactions or script in file.statements:
            raise WorkloadError(f"`{script}` means something else here; write `./{script}`")
        if "/" not in script and "." not in script and not (folder / script).exists():
            remedy = suggestion(script, BUILTIN)
            raise WorkloadError(f"no script `{script}`: no file, and no built-in one; {remedy}")
        texts[script] = files.text(Path(script), folder)
    if not any(weights.values()):
        raise WorkloadError(f"`{name}`: all weights are 0; raise one of them")
    return _Mix(weights=weights, texts=texts)


def _step(template: schema.StepForm, name: str, mix: _Mix) -> schema.StepForm:
    """The step that runs a mix: balances hold for our scripts alone."""
    roles = {
        role: form.model_copy(update={"choose": name}) for role, form in template.roles.items()
    }
    reads = set(mix.weights) == {READING}
    return template.model_copy(
        update={
            "name": name,
            "when": 1,
            "writes": template.writes if not reads else False,
            "invariants": template.invariants if mix.built_in and not reads else None,
            "roles": roles,
        }
    )


def _check_variables(variables: Iterable[str], mixes: Iterable[_Mix]) -> None:
    """Refuses a variable that no script reads: its name may be mistyped."""
    texts = [text for mix in mixes for text in mix.texts.values()]
    there = {name for text in texts for name in VARIABLE.findall(text)}
    for name in variables:
        if not NAME.fullmatch(name):
            raise WorkloadError(
                f"key `variables`: `{name}` cannot name a variable; use letters, digits and "
                "underscores"
            )
        if name not in there:
            remedy = suggestion(name, there)
            raise WorkloadError(f"key `variables`: no script has `:{name}`; {remedy}")
