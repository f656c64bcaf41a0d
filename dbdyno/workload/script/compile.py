"""Scripts become instructions, statements and variables of a job (contract/README.md, "Scripts").

All scripts of a step share their variables, as each of pgbench's clients has one set of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from dbdyno.model.document import suggestion
from dbdyno.model.engine import Traits
from dbdyno.model.job import Job, programs
from dbdyno.model.job.statements import Piece, Protocol, ResultVariables, Statement
from dbdyno.workload import sending
from dbdyno.workload import sql as statements_sql
from dbdyno.workload.script import command, flow
from dbdyno.workload.script.command import (
    Command,
    IfCommand,
    PlainCommand,
    SetCommand,
    SleepCommand,
    SqlCommand,
)
from dbdyno.workload.script.expression import Node
from dbdyno.workload.script.source import ScriptText
from dbdyno.workload.script.sql import ESCAPING, NAME, STANDARD, Sql, Use
from dbdyno.workload.script.value import ScriptValue
from dbdyno.workload.sql import ValuePlace, VariablePlace

PARAMETERS_MAX = 255
"""So many variables pgbench takes in a statement that is not simple."""
TREE_DEPTH_MAX = 100
"""How deep an expression nests in a job at most: readers of JSON go no deeper than 128 in all."""
AUTOMATIC: Mapping[str, programs.Initial] = {
    "client_id": programs.Initial(client=programs.FirstClient(0)),
    "random_seed": programs.Initial(seed="random"),
    "default_seed": programs.Initial(seed="default"),
}
"""Variables that are there by themselves, beside `scale`, and what they begin with."""
PIPELINE = {"startpipeline": "pipeline", "syncpipeline": "sync", "endpipeline": "flush"}
ENDS = (("END",), ("END", "WORK"), ("END", "TRANSACTION"))


@dataclass(frozen=True)
class CompiledScript:
    """A script that was read: its name in results, its commands, how its statements are sent.

    `values` are those of the file that it uses, by their names.
    """

    name: str
    source: ScriptText
    commands: tuple[Command, ...]
    protocol: Protocol
    values: Mapping[str, ScriptValue] = field(default_factory=dict)

    @classmethod
    def of(
        cls, name: str, source: ScriptText, protocol: Protocol, *, escapes: bool = False
    ) -> CompiledScript:
        """The script in a text; `escapes`: whether a backslash in a string does.

        Raises WorkloadError that shows the place of what is wrong.
        """
        commands = command.parse(source, ESCAPING if escapes else STANDARD)
        flow.check(source, commands)
        return cls(name, source, commands, protocol)


@dataclass
class _OpenJumps:
    """A conditional that is open: the branch whose target, and the jumps whose targets follow."""

    branch: int | None
    jumps: list[int] = field(default_factory=list)


class Scripts:
    """The scripts of a step, and what a job says of them together.

    `given` are variables that begin with a value of the plan's or the workload file's.
    """

    def __init__(
        self,
        scripts: Sequence[CompiledScript],
        given: Mapping[str, programs.Initial],
        engine: Traits,
    ):
        self.variables: list[programs.Variable] = []
        self.assignments: list[programs.Assignment] = []
        self.branches: list[programs.ConditionalJump] = []
        self.sleeps: list[programs.VariableSleep] = []
        self.explain: dict[str, str] = {}
        self._engine = engine
        self._numbers: dict[str, int] = {}
        self._initial = {**AUTOMATIC, **given}
        commands = [each for script in scripts for each in script.commands]
        self._assigned = {each.variable for each in commands if isinstance(each, SetCommand)}
        sends = [each for each in commands if isinstance(each, SqlCommand)]
        self._prefixes = {send.into.prefix for send in sends if send.into is not None}
        self._named = {
            name
            for script in scripts
            for name in command.names_in(script.commands)
            if name not in script.values
        }

    def program(
        self, script: CompiledScript, statements: list[Statement]
    ) -> list[programs.Instruction]:
        """The instructions of a script; its statements are added to the job's."""
        return _Program(self, script, statements).code

    def known(self, name: str) -> bool:
        """Whether a variable may ever have a value."""
        if name in self._assigned or name in self._initial:
            return True
        return any(name.startswith(prefix) and name != prefix for prefix in self._prefixes)

    def never_set(self, name: str) -> str:
        """What there is to say of a variable that may never have a value."""
        there = {*self._assigned, *self._initial}
        remedy = f"set it, or name it under `variables`; {suggestion(name, there)}"
        return f"variable `{name}` is never set: {remedy}"

    def number(self, name: str) -> int:
        """The number of a variable."""
        if name not in self._numbers:
            self._numbers[name] = len(self.variables)
            self.variables.append(programs.Variable(name, self._initial.get(name)))
        return self._numbers[name]

    def columns(self, prefix: str) -> dict[str, int]:
        """The variables that the columns of a result may become, by the columns' names.

        The columns are known when it comes; so they are all variables of the step whose names begin
        with the prefix.
        """
        names = sorted(name for name in self._named if name.startswith(prefix) and name != prefix)
        return {name.removeprefix(prefix): self.number(name) for name in names}

    @property
    def engine(self) -> Traits:
        """The engine to which the statements go."""
        return self._engine

    def computed(self, job: Job) -> Job:
        """The job with what the scripts compute."""
        return replace(
            job,
            variables=tuple(self.variables),
            assignments=tuple(self.assignments),
            branches=tuple(self.branches),
            sleeps=tuple(self.sleeps),
        )


class _Program:
    """One script while it becomes instructions."""

    def __init__(
        self, scripts: Scripts, script: CompiledScript, statements: list[Statement]
    ) -> None:
        self.scripts = scripts
        self.name = script.name
        self.source = script.source
        self.protocol = script.protocol
        self.values = script.values
        self.samples = {
            name: value.sample for name, value in script.values.items() if value.sample is not None
        }
        self.statements = statements
        self.names = {statement.name for statement in statements}
        self.code: list[programs.Instruction] = []
        self.choices: list[_OpenJumps] = []
        self._draw(script.commands)
        for each in script.commands:
            match each:
                case SqlCommand():
                    self._send(each)
                case SetCommand():
                    self._assign(each)
                case SleepCommand():
                    self._sleep(each)
                case IfCommand(word="if"):
                    self.choices.append(_OpenJumps(self._branch(each)))
                case IfCommand():
                    self._next_branch(self.choices[-1])
                    self.choices[-1].branch = self._branch(each)
                case PlainCommand(word="else"):
                    self._next_branch(self.choices[-1])
                    self.choices[-1].branch = None
                case PlainCommand(word="endif"):
                    self._end(self.choices.pop())
                case PlainCommand():
                    self._pipeline(each)

    def _draw(self, commands: tuple[Command, ...]) -> None:
        """Draws the values; those that are computed with become variables, too."""
        draws = (value.draws for value in self.values.values())
        for number in sorted(frozenset().union(*draws)):
            self._add("draw", number)
        for name in dict.fromkeys(command.computed_in(commands)):
            value = self.values.get(name)
            if value is not None and not value.is_text:
                self._set(self._number(name), ["drawn", value.number], 0)

    def _add(self, instruction: str, number: int) -> None:
        self.code.append(programs.Instruction(instruction, number))

    def _ends(self, offset: int, sentence: str) -> None:
        """What ends pgbench's client as it gets there, whatever the variables hold.

        Raises WorkloadError, unless a conditional decides whether it gets there: then the step
        fails as it does.
        """
        if not self.choices:
            raise self.source.error(offset, sentence)
        self._fork(["error", sentence], len(self.code) + 1, offset)

    def _assign(self, assign: SetCommand) -> None:
        name = assign.variable
        if not NAME.fullmatch(name):
            sentence = f"`{name}` cannot name a variable; use letters, digits, underscores"
            self._ends(assign.offset, sentence)
            return
        self._set(self.scripts.number(name), self._tree(assign.value), assign.offset)

    def _set(self, variable: int, expression: programs.Expression, offset: int) -> None:
        self.scripts.assignments.append(
            programs.Assignment(
                variable=variable, expression=expression, place=self.source.place(offset)
            )
        )
        self._add("set", len(self.scripts.assignments) - 1)

    def _number(self, name: str) -> int:
        """The number of a variable, or of the one that holds what a value was drawn as."""
        return self.scripts.number(f"{name} (value)" if name in self.values else name)

    def _known(self, name: str) -> bool:
        """Whether a name may ever have a value."""
        return name in self.values or self.scripts.known(name)

    def _check_number(self, name: str, offset: int) -> None:
        """Refuses to compute with a value that is a text."""
        if name in self.values and self.values[name].is_text:
            sentence = f"nothing can be computed from the value `{name}`, which is a text"
            raise self.source.error(offset, sentence)

    def _sleep(self, sleep: SleepCommand) -> None:
        name = sleep.variable
        if name is None:
            self._add("sleep", sleep.amount * sleep.unit_us)
            return
        if not NAME.fullmatch(name):
            self._ends(sleep.offset, f"`:{name}` is not a variable")
            return
        self._check_number(name, sleep.offset)
        if not self.choices and not self._known(name):
            raise self.source.error(sleep.offset, self.scripts.never_set(name))
        self.scripts.sleeps.append(
            programs.VariableSleep(
                variable=self._number(name),
                unit_us=sleep.unit_us,
                place=self.source.place(sleep.offset),
            )
        )
        self._add("rest", len(self.scripts.sleeps) - 1)

    def _branch(self, condition: IfCommand) -> int:
        """If the expression is not true, the branch's target is next; it is known later."""
        return self._fork(self._tree(condition.value), 0, condition.offset)

    def _fork(self, unless: programs.Expression, to: int, offset: int) -> int:
        place = self.source.place(offset)
        self.scripts.branches.append(programs.ConditionalJump(unless=unless, to=to, place=place))
        number = len(self.scripts.branches) - 1
        self._add("unless", number)
        return number

    def _next_branch(self, choice: _OpenJumps) -> None:
        """Behind a branch that was taken the others are jumped over."""
        self._add("jump", 0)
        choice.jumps.append(len(self.code) - 1)
        self._point(choice.branch)

    def _end(self, choice: _OpenJumps) -> None:
        self._point(choice.branch)
        for jump in choice.jumps:
            self.code[jump] = programs.Instruction("jump", len(self.code))

    def _point(self, branch: int | None) -> None:
        """Has a branch lead to here."""
        if branch is not None:
            branches = self.scripts.branches
            branches[branch] = replace(branches[branch], to=len(self.code))

    def _pipeline(self, command: PlainCommand) -> None:
        if "extended" not in self.scripts.engine.sends:
            product = self.scripts.engine.product
            raise self.source.error(
                command.offset, f"{product} has no pipelines; leave this step out"
            )
        if self.protocol == "simple":
            sentence = 'a pipeline needs protocol = "extended" or "prepared", not "simple"'
            self._ends(command.offset, sentence)
            return
        self._add(PIPELINE[command.word], 0)

    def _send(self, send: SqlCommand) -> None:
        """Enters a statement, under the number of its line."""
        sql = send.sql
        if sql.copies():
            self._ends(sql.offset, "COPY from or to the client is not supported, as in pgbench")
            return
        name = f"{self.name}:{self.source.line(sql.offset)}"
        if name in self.names:
            name += f":{self.source.column(sql.offset)}"
        self.names.add(name)
        protocol = self._protocol(sql)
        self._check_values(sql)
        if protocol != "simple":
            self._check_parameters(sql)
        engine = self.scripts.engine
        pieces = sending.with_casts(self._pieces(sql), self.samples, protocol, engine)
        bound = statements_sql.bound(pieces, self.samples)
        types = sending.sample_types(bound, self.samples, protocol, engine)
        statement = Statement(
            name=name,
            protocol=protocol,
            pieces=tuple(self._piece(piece) for piece in pieces),
            types=tuple(types),
            rows=int(statements_sql.explainable(sql.text)),
            place=self.source.place(sql.offset),
            into=self._into(send),
        )
        self.statements.append(sending.as_pgbench(statement, engine))
        if self._has_plan(sql):
            text = statements_sql.numbered(bound, "", types)
            self.scripts.explain[name] = text.rstrip().removesuffix(";")
        self._add("send", len(self.statements) - 1)

    def _protocol(self, sql: Sql) -> Protocol:
        """The script's, but for what the engine cannot prepare."""
        firsts = (words[0] for words in sql.words())
        return sending.preparable(self.protocol, firsts, self.scripts.engine)

    def _check_values(self, sql: Sql) -> None:
        """Refuses values where variables are texts: a value that is one has quotes of its own."""
        for use in sql.variables:
            if use.quoted and use.name in self.values:
                sentence = (
                    f"`:{use.name}` is a value, which stands in neither quotes nor comments; move "
                    "it outside, or make a text of it by `join`"
                )
                raise self.source.error(use.offset, sentence)

    def _check_parameters(self, sql: Sql) -> None:
        """Refuses what the server would not take as a statement with parameters.

        It says so itself where a conditional decides whether the statement is sent.
        """
        how = f'with protocol = "{self.protocol}"'
        if len(sql.variables) > PARAMETERS_MAX:
            sentence = f"{how} a statement has at most {PARAMETERS_MAX} variables"
            raise self.source.error(sql.offset, sentence)
        if self.choices:
            return
        if len(sql.parts) > 1:
            sentence = f"{how} commands go one by one; write `;` in place of `\\;`"
            raise self.source.error(sql.offset, sentence)
        for use in sql.variables:
            if use.quoted:
                sentence = (
                    f"{how} `:{use.name}` in quotes or a comment would be sent as a parameter, "
                    'which the server does not find there; use "simple"'
                )
                raise self.source.error(use.offset, sentence)

    def _used(self, sql: Sql) -> list[Use]:
        """The variables of a statement; a name that nothing sets is none in a simple one's text."""
        simple = self.protocol == "simple"
        return [use for use in sql.variables if not simple or self._known(use.name)]

    def _pieces(self, sql: Sql) -> tuple[statements_sql.Piece, ...]:
        """The text, with values and variables in their places."""
        edits: list[tuple[int, int, statements_sql.Piece]] = [
            (use.start, use.end, ValuePlace(use.name))
            if use.name in self.values
            else (use.start, use.end, VariablePlace(use.name))
            for use in self._used(sql)
        ]
        if self.scripts.engine.commits_end:
            edits += [
                (start, end, "COMMIT")
                for (start, end), words in zip(sql.parts, sql.words(), strict=True)
                if words in ENDS
            ]
        return tuple(piece for piece in _edited(sql.text, edits) if piece)

    def _piece(self, piece: statements_sql.Piece) -> str | Piece:
        match piece:
            case ValuePlace(name=name):
                return Piece(value=self.values[name].number)
            case VariablePlace(name=name):
                return Piece(variable=self.scripts.number(name))
        assert isinstance(piece, str), "scripts have neither tables nor repetitions"
        return piece

    def _into(self, send: SqlCommand) -> ResultVariables | None:
        """The variables of a result; a column that has a value's name fails the step."""
        if send.into is None:
            return None
        prefix = send.into.prefix
        columns: dict[str, int | None] = {**self.scripts.columns(prefix)}
        for name in self.values:
            if name.startswith(prefix) and name != prefix:
                columns[name.removeprefix(prefix)] = None
        return ResultVariables(columns=columns, every=send.into.every, prefix=prefix)

    def _has_plan(self, sql: Sql) -> bool:
        """Whether EXPLAIN takes the statement with $1 … for values and variables."""
        used = self._used(sql)
        plain = len(sql.parts) == 1 and not any(use.quoted for use in used)
        explainable = plain and statements_sql.explainable(sql.text)
        return explainable and (self.scripts.engine.placeholders or not used)

    def _tree(self, node: Node) -> programs.Expression:
        """An expression as a job has it.

        Raises WorkloadError where it can never be computed, unless a conditional decides whether it
        is.
        """
        for leaf in node.variables():
            self._check_number(str(leaf.value), leaf.offset)
        for leaf in () if self.choices else node.certain():
            if leaf.form == "error":
                raise self.source.error(leaf.offset, str(leaf.value))
            if leaf.form == "variable" and not self._known(str(leaf.value)):
                raise self.source.error(leaf.offset, self.scripts.never_set(str(leaf.value)))
        if node.depth > TREE_DEPTH_MAX:
            return ["postfix", *(self._part(part) for part in node.parts())]
        trees: list[programs.Expression] = []
        for part in node.parts():
            count = len(part.arguments)
            arguments = trees[len(trees) - count :]
            del trees[len(trees) - count :]
            trees.append([part.form, *arguments] if count else self._leaf(part))
        return trees.pop()

    def _part(self, node: Node) -> object:
        """A node behind its arguments."""
        count = len(node.arguments)
        return {"call": node.form, "of": count} if count else self._leaf(node)

    def _leaf(self, node: Node) -> programs.Expression:
        if node.form == "variable":
            return ["variable", self._number(str(node.value))]
        return [node.form] if node.value is None else [node.form, node.value]


def _edited(
    text: str, edits: Sequence[tuple[int, int, statements_sql.Piece]]
) -> list[statements_sql.Piece]:
    """The text with what takes the places from start to end, in pieces; texts are joined."""
    pieces: list[statements_sql.Piece] = [""]
    end = 0
    for start, after, piece in sorted(edits, key=lambda edit: edit[0]):
        _append(pieces, text[end:start])
        _append(pieces, piece)
        end = after
    _append(pieces, text[end:])
    return pieces


def _append(pieces: list[statements_sql.Piece], piece: statements_sql.Piece) -> None:
    last = pieces[-1]
    if isinstance(piece, str) and isinstance(last, str):
        pieces[-1] = last + piece
    else:
        pieces.append(piece)
