"""What transactions compute: variables from kept columns and values, and turns under conditions."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from dbdyno.model.job.programs import Assignment, ConditionalJump, Expression, Instruction
from dbdyno.workload import computed
from dbdyno.workload.schema import AssignForm, RollbackForm
from dbdyno.workload.scope import TURN, Scope
from dbdyno.workload.script.compile import Scripts
from dbdyno.workload.script.expression import Node
from dbdyno.workload.transaction import TransactionPart

Sending = Callable[[Sequence[str | int]], list[Instruction]]
"""Gives the instructions for statements and sleeps."""
Computable = Callable[[str, Scope], int | None]
"""Gives the number of a value by its name; None where it is a variable."""


class Flow:
    """The part of one transaction that computes; instructions are appended to `code`.

    `drawn` are the values that expressions take.
    """

    def __init__(self, shared: Scripts, value: Computable, code: list[Instruction]) -> None:
        self.shared = shared
        self.drawn: set[int] = set()
        self._value = value
        self._code = code

    def turn(self, part: TransactionPart, number: int, instructions: Sending) -> None:
        """Appends a turn of a part that assigns or has a condition, by its number from 0.

        Raises WorkloadError.
        """
        scope = part.scope.knowing({TURN: number})
        branch = None
        if part.when is not None:
            branch = self._branch(self._tree(part.when, scope.at("when")), scope)
        for doe in part.does:
            if isinstance(doe, AssignForm):
                place = scope.at("to")
                self._set(doe.set, self._tree(doe.to, place), place)
            elif isinstance(doe, RollbackForm):
                self._code.append(Instruction(doe.end, 0))
            elif isinstance(doe, TransactionPart):
                for turn in range(doe.times):
                    self.turn(doe, turn, instructions)
            else:
                self._code += instructions([doe])
        if branch is not None:
            branches = self.shared.branches
            branches[branch] = replace(branches[branch], to=len(self._code))

    def _branch(self, unless: Expression, scope: Scope) -> int:
        """Adds a condition whose target is known later."""
        self.shared.branches.append(ConditionalJump(unless=unless, to=0, place=scope.key))
        number = len(self.shared.branches) - 1
        self._code.append(Instruction("unless", number))
        return number

    def _set(self, variable: str, expression: Expression, scope: Scope) -> None:
        number = self.shared.number(variable)
        assignment = Assignment(variable=number, expression=expression, place=scope.key)
        self.shared.assignments.append(assignment)
        self._code.append(Instruction("set", len(self.shared.assignments) - 1))

    def _tree(self, text: str, scope: Scope) -> Expression:
        """An expression as a job has it, behind assignments of the values that it takes."""
        node = computed.read(text, scope, "assign a part of it")
        for name in dict.fromkeys(str(variable.value) for variable in node.variables()):
            value = self._value(name, scope)
            if value is not None:
                self.drawn.add(value)
                self._set(name, ["drawn", value], scope)
        return self._written(node)

    def _written(self, node: Node) -> Expression:
        if node.form == "variable":
            return ["variable", self.shared.number(str(node.value))]
        if node.arguments:
            return [node.form, *(self._written(argument) for argument in node.arguments)]
        return [node.form] if node.value is None else [node.form, node.value]
