"""Scripts become instructions, statements and variables of a job (contract/README.md, "Scripts").

All scripts of a step share their variables, as each of pgbench's clients has one set of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dbdyno.model import Json
from dbdyno.model.document import suggestion
from dbdyno.model.engine import Traits
from dbdyno.workload import sending
from dbdyno.workload import sql as statements_sql
from dbdyno.workload.script import command, flow
from dbdyno.workload.script.command import Assign, Command, Condition, Plain, Send, Sleep
from dbdyno.workload.script.expression import Node
from dbdyno.workload.script.source import Source
from dbdyno.workload.script.sql import NAME, Sql, Use

PARAMETERS_MAX = 255
"""So many variables pgbench takes in a statement that is not simple."""
TREE_DEPTH_MAX = 100
"""How deep an expression nests in a job at most: readers of JSON go no deeper than 128 in all."""
AUTOMATIC: Mapping[str, Json] = {
    "client_id": {"client": {"first": 0}},
    "random_seed": {"seed": "random"},
    "default_seed": {"seed": "default"},
}
"""Variables that are there by themselves, beside `scale`, and what they begin with."""
PIPELINE = {"startpipeline": "pipeline", "syncpipeline": "sync", "endpipeline": "flush"}
ENDS = (("END",), ("END", "WORK"), ("END", "TRANSACTION"))
BEGINS = ("BEGIN", "START")


@dataclass(frozen=True)
class Script:
    """A script that was read: its name in results, its commands, how its statements are sent."""

    name: str
    source: Source
    commands: tuple[Command, ...]
    protocol: str

    @classmethod
    def of(cls, name: str, source: Source, protocol: str) -> Script:
        """The script in a text. Raises WorkloadError that shows the place of what is wrong."""
        commands = command.parse(source)
        flow.check(source, commands)
        return cls(name, source, commands, protocol)


@dataclass
class _Choice:
    """A conditional that is open: the branch whose target, and the jumps whose targets follow."""

    branch: int | None
    jumps: list[int] = field(default_factory=list)


class Scripts:
    """The scripts of a step, and what a job says of them together.

    `given` are variables that begin with a value of the plan's or the workload file's.
    """

    def __init__(self, scripts: Sequence[Script], given: Mapping[str, Json], engine: Traits):
        self.variables: list[Json] = []
        self.assignments: list[Json] = []
        self.branches: list[Json] = []
        self.sleeps: list[Json] = []
        self.explain: dict[str, str] = {}
        self._engine = engine
        self._numbers: dict[str, int] = {}
        self._initial = {**AUTOMATIC, **given}
        every = [one for script in scripts for one in script.commands]
        self._assigned = {one.variable for one in every if isinstance(one, Assign)}
        into = [one.into for one in every if isinstance(one, Send) and one.into is not None]
        self._prefixes = {one.prefix for one in into}
        self._named = {name for script in scripts for name in command.names_in(script.commands)}

    def program(self, script: Script, statements: list[Json]) -> list[list[str | int]]:
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
            self.variables.append({"name": name, "initial": self._initial.get(name)})
        return self._numbers[name]

    def columns(self, prefix: str) -> dict[str, int]:
        """The variables that the columns of a result may become, by the columns' names.

        The columns are known when it comes; so they are all variables of the step whose names begin
        with the prefix.
        """
        found = sorted(one for one in self._named if one.startswith(prefix) and one != prefix)
        return {one.removeprefix(prefix): self.number(one) for one in found}

    @property
    def engine(self) -> Traits:
        """The engine to which the statements go."""
        return self._engine

    def json(self) -> Json:
        """The job's keys of scripts."""
        return {
            "variables": self.variables,
            "assignments": self.assignments,
            "branches": self.branches,
            "sleeps": self.sleeps,
        }


class _Program:
    """One script while it becomes instructions."""

    def __init__(self, scripts: Scripts, script: Script, statements: list[Json]) -> None:
        self.scripts = scripts
        self.name = script.name
        self.source = script.source
        self.protocol = script.protocol
        self.statements = statements
        self.names = {str(statement["name"]) for statement in statements}
        self.code: list[list[str | int]] = []
        self.choices: list[_Choice] = []
        for one in script.commands:
            match one:
                case Send():
                    self._send(one)
                case Assign():
                    self._assign(one)
                case Sleep():
                    self._sleep(one)
                case Condition(word="if"):
                    self.choices.append(_Choice(self._branch(one)))
                case Condition():
                    self._next_branch(self.choices[-1])
                    self.choices[-1].branch = self._branch(one)
                case Plain(word="else"):
                    self._next_branch(self.choices[-1])
                    self.choices[-1].branch = None
                case Plain(word="endif"):
                    self._end(self.choices.pop())
                case Plain():
                    self._pipeline(one)

    def _add(self, instruction: str, number: int) -> None:
        self.code.append([instruction, number])

    def _ends(self, offset: int, sentence: str) -> None:
        """What ends pgbench's client as it gets there, whatever the variables hold.

        Raises WorkloadError, unless a conditional decides whether it gets there: then the step
        fails as it does.
        """
        if not self.choices:
            raise self.source.error(offset, sentence)
        self._fork(["error", sentence], len(self.code) + 1, offset)

    def _assign(self, one: Assign) -> None:
        if not NAME.fullmatch(one.variable):
            sentence = f"`{one.variable}` cannot name a variable; use letters, digits, underscores"
            self._ends(one.offset, sentence)
            return
        number = self.scripts.number(one.variable)
        self.scripts.assignments.append(
            {
                "variable": number,
                "expression": self._tree(one.value),
                "place": self.source.place(one.offset),
            }
        )
        self._add("set", len(self.scripts.assignments) - 1)

    def _sleep(self, one: Sleep) -> None:
        if one.variable is None:
            self._add("sleep", one.amount * one.unit_us)
            return
        if not NAME.fullmatch(one.variable):
            self._ends(one.offset, f"`:{one.variable}` is not a variable")
            return
        if not self.choices and not self.scripts.known(one.variable):
            raise self.source.error(one.offset, self.scripts.never_set(one.variable))
        self.scripts.sleeps.append(
            {
                "variable": self.scripts.number(one.variable),
                "unit_us": one.unit_us,
                "place": self.source.place(one.offset),
            }
        )
        self._add("rest", len(self.scripts.sleeps) - 1)

    def _branch(self, one: Condition) -> int:
        """If the expression is not true, the branch's target is next; it is known later."""
        return self._fork(self._tree(one.value), 0, one.offset)

    def _fork(self, unless: list[object], to: int, offset: int) -> int:
        place = self.source.place(offset)
        self.scripts.branches.append({"unless": unless, "to": to, "place": place})
        number = len(self.scripts.branches) - 1
        self._add("unless", number)
        return number

    def _next_branch(self, choice: _Choice) -> None:
        """Behind a branch that was taken the others are jumped over."""
        self._add("jump", 0)
        choice.jumps.append(len(self.code) - 1)
        self._point(choice.branch)

    def _end(self, choice: _Choice) -> None:
        self._point(choice.branch)
        for jump in choice.jumps:
            self.code[jump] = ["jump", len(self.code)]

    def _point(self, branch: int | None) -> None:
        """Has a branch lead to here."""
        if branch is not None:
            self.scripts.branches[branch]["to"] = len(self.code)

    def _pipeline(self, one: Plain) -> None:
        if "extended" not in self.scripts.engine.sends:
            product = self.scripts.engine.product
            raise self.source.error(one.offset, f"{product} has no pipelines; leave this step out")
        if self.protocol == "simple":
            sentence = 'a pipeline needs protocol = "extended" or "prepared", not "simple"'
            self._ends(one.offset, sentence)
            return
        self._add(PIPELINE[one.word], 0)

    def _send(self, one: Send) -> None:
        """Enters a statement, under the number of its line."""
        sql = one.sql
        if sql.copies():
            self._ends(sql.offset, "COPY from or to the client is not supported, as in pgbench")
            return
        name = f"{self.name}:{self.source.line(sql.offset)}"
        if name in self.names:
            name += f":{self.source.column(sql.offset)}"
        self.names.add(name)
        protocol = self._protocol(sql)
        if protocol != "simple":
            self._check_parameters(sql)
        self.statements.append(
            {
                "name": name,
                "protocol": protocol,
                "pieces": self._pieces(sql),
                "types": [],
                "rows": int(statements_sql.explainable(sql.text)),
                "place": self.source.place(sql.offset),
                **sending.as_pgbench(protocol, self.scripts.engine),
                **self._into(one),
            }
        )
        if explained := self._explained(sql):
            self.scripts.explain[name] = explained
        self._add("send", len(self.statements) - 1)

    def _protocol(self, sql: Sql) -> str:
        """The script's, but for what the engine cannot prepare."""
        begins = any(words[0] in BEGINS for words in sql.words())
        return "simple" if begins and not self.scripts.engine.prepares_begin else self.protocol

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
        return [use for use in sql.variables if not simple or self.scripts.known(use.name)]

    def _pieces(self, sql: Sql) -> list[str | Json]:
        """The text, with variables in their places."""
        edits: list[tuple[int, int, str | Json]] = [
            (use.start, use.end, {"variable": self.scripts.number(use.name)})
            for use in self._used(sql)
        ]
        if self.scripts.engine.commits_end:
            edits += [
                (start, end, "COMMIT")
                for (start, end), words in zip(sql.parts, sql.words(), strict=True)
                if words in ENDS
            ]
        return [piece for piece in _edited(sql.text, edits) if piece]

    def _into(self, one: Send) -> Json:
        if one.into is None:
            return {}
        prefix = one.into.prefix
        into = {"columns": self.scripts.columns(prefix), "every": one.into.every}
        return {"into": into | ({"prefix": prefix} if prefix else {})}

    def _explained(self, sql: Sql) -> str | None:
        """The statement for EXPLAIN, with $1 … for variables; None where there is no such form."""
        used = self._used(sql)
        plain = len(sql.parts) == 1 and not any(use.quoted for use in used)
        if not plain or not statements_sql.explainable(sql.text):
            return None
        if used and not self.scripts.engine.placeholders:
            return None
        edits = [(use.start, use.end, f"${n}") for n, use in enumerate(used, start=1)]
        text = "".join(str(piece) for piece in _edited(sql.text, edits))
        return text.rstrip().removesuffix(";")

    def _tree(self, node: Node) -> list[object]:
        """An expression as a job has it.

        Raises WorkloadError where it can never be computed, unless a conditional decides whether it
        is.
        """
        for leaf in () if self.choices else node.certain():
            if leaf.form == "error":
                raise self.source.error(leaf.offset, str(leaf.value))
            if leaf.form == "variable" and not self.scripts.known(str(leaf.value)):
                raise self.source.error(leaf.offset, self.scripts.never_set(str(leaf.value)))
        if node.depth > TREE_DEPTH_MAX:
            return ["postfix", *(self._part(part) for part in node.parts())]
        trees: list[list[object]] = []
        for one in node.parts():
            count = len(one.arguments)
            arguments = trees[len(trees) - count :]
            del trees[len(trees) - count :]
            trees.append([one.form, *arguments] if count else self._leaf(one))
        return trees.pop()

    def _part(self, node: Node) -> object:
        """A node behind its arguments."""
        count = len(node.arguments)
        return {"call": node.form, "of": count} if count else self._leaf(node)

    def _leaf(self, node: Node) -> list[object]:
        if node.form == "variable":
            return ["variable", self.scripts.number(str(node.value))]
        return [node.form] if node.value is None else [node.form, node.value]


def _edited(text: str, edits: Sequence[tuple[int, int, str | Json]]) -> list[str | Json]:
    """The text with what takes the places from start to end, in pieces; texts are joined."""
    pieces: list[str | Json] = [""]
    end = 0
    for start, after, piece in sorted(edits, key=lambda edit: edit[0]):
        _append(pieces, text[end:start])
        _append(pieces, piece)
        end = after
    _append(pieces, text[end:])
    return pieces


def _append(pieces: list[str | Json], piece: str | Json) -> None:
    if isinstance(piece, str) and isinstance(pieces[-1], str):
        pieces[-1] += piece
    else:
        pieces.append(piece)
