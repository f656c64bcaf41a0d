"""Parses an expression of pgbench: operators by their precedence, functions, CASE.

The parser keeps what is open on a stack of its own, so that brackets nest as deep as pgbench lets
them. What binds how strongly is PostgreSQL's, as pgbench has it. A tree's nodes are those of a job
(contract/README.md, "Scripts"), but for variables, which it knows by their names.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from dbdyno.model.document import suggestion
from dbdyno.workload.script.function import ARGUMENTS_MAX, FUNCTIONS
from dbdyno.workload.script.source import ScriptText
from dbdyno.workload.script.token import END, INTEGER_MAX, Token, tokens

DEPTH_MAX = 1_000
"""How deep an expression may nest: the load generator computes no deeper one."""
SMALLEST = str(INTEGER_MAX + 1)
"""The digits of the smallest integer: behind a minus alone they are one."""
DEFAULT_SEED = "default_seed"
"""The variable that is the seed of functions that are given none."""
NOT, IS, COMPARE, BITS, UNARY = 3, 4, 5, 6, 9
"""How strongly these bind; the others stand in `BINARY`."""
BINARY = {
    "or": (1, "or"),
    "and": (2, "and"),
    "<": (COMPARE, "lt"),
    "<=": (COMPARE, "le"),
    "=": (COMPARE, "eq"),
    "<>": (COMPARE, "ne"),
    "!=": (COMPARE, "ne"),
    ">=": (COMPARE, "ge"),
    ">": (COMPARE, "gt"),
    "|": (BITS, "bit_or"),
    "#": (BITS, "bit_xor"),
    "&": (BITS, "bit_and"),
    "<<": (BITS, "shift_left"),
    ">>": (BITS, "shift_right"),
    "+": (7, "add"),
    "-": (7, "subtract"),
    "*": (8, "multiply"),
    "/": (8, "divide"),
    "%": (8, "remainder"),
}
"""Operators between two operands: how strongly they bind, and what a job calls them."""
PREFIXES = {"+": UNARY, "-": UNARY, "~": BITS, "not": NOT}
"""Operators in front of one operand, and how strongly they bind it."""
LAZY = frozenset({"and", "or", "case"})
"""Functions of which pgbench always computes the first argument only."""
TESTS = {"null": "is_null", "true": "is_true", "false": "is_false"}


@dataclass(frozen=True)
class Node:
    """A node of a tree: a leaf has a `value`, a variable its name there; others have arguments."""

    form: str
    offset: int
    arguments: tuple[Node, ...] = ()
    value: int | float | bool | str | None = None
    depth: int = 1  # how many arrays lie in each other where a job has it

    def parts(self) -> Iterator[Node]:
        """All its nodes, from left to right, arguments before their function."""
        todo = [(self, False)]
        while todo:
            node, behind = todo.pop()
            if behind or not node.arguments:
                yield node
                continue
            todo.append((node, True))
            todo += [(argument, False) for argument in reversed(node.arguments)]

    def variables(self) -> Iterator[Node]:
        """The variables in it, each as often as it stands there."""
        return (node for node in self.parts() if node.form == "variable")

    def certain(self) -> Iterator[Node]:
        """The leaves that are computed whenever the whole is, whatever other ones hold."""
        todo = [self]
        while todo:
            node = todo.pop()
            if not node.arguments:
                yield node
            todo += node.arguments[:1] if node.form in LAZY else reversed(node.arguments)


def parse(source: ScriptText, start: int) -> tuple[Node, int]:
    """The expression from there to the end of its line, and where that is.

    Raises WorkloadError that shows the place.
    """
    parser = _Parser(source, tokens(source, start))
    return parser.whole(), parser.now.offset


@dataclass(frozen=True)
class _Operator:
    """An operator that waits for what stands behind it; `left` is what stands in front."""

    form: str
    binds: int
    offset: int
    left: Node | None = None


@dataclass
class _OpenBrackets:
    """Brackets, a call or a CASE that has not ended, with what is complete within.

    `waits` is the word that has to follow the next operand of a CASE.
    """

    token: Token
    operators: list[_Operator] = field(default_factory=list)
    arguments: list[Node] = field(default_factory=list)
    waits: str = ""


class _Parser:
    def __init__(self, source: ScriptText, stream: Iterator[Token]) -> None:
        self.source = source
        self._stream = stream
        self.now = next(stream)
        self._open = [_OpenBrackets(self.now)]  # the line itself, and what is open in it

    def whole(self) -> Node:
        """The expression up to the end of its line."""
        while True:
            left = self._operand()
            while left is not None:
                inner = self._open[-1]
                if self.now.symbol in ("is", "isnull", "notnull"):
                    left = self._test(self._reduced(left, IS))
                elif self.now.symbol in BINARY:
                    self._wait(left)
                    left = None
                elif len(self._open) > 1:
                    left = self._behind(inner, self._reduced(left, 0))
                elif self.now.symbol == END:
                    return self._reduced(left, 0)
                else:
                    raise self.unexpected("the end of the line")

    def unexpected(self, wanted: str) -> Exception:
        """The complaint about the token that is here."""
        sentence = f"syntax error: {self.now.shown} in place of {wanted}"
        return self.source.error(self.now.offset, sentence)

    def _operand(self) -> Node | None:
        """Takes what begins an operand: a leaf, or None where more has to follow."""
        token = self._step()
        match token.symbol:
            case "integer" | "double" | "null" | "true" | "false" | "variable":
                return self._leaf(token)
            case "name":
                return self._call(token)
            case "case":
                self._take("when")
                self._open.append(_OpenBrackets(token, waits="then"))
            case "(":
                self._open.append(_OpenBrackets(token))
            case "-" if self.now.symbol == "integer" and self.now.text == SMALLEST:
                self._step()
                return Node("integer", token.offset, value=-INTEGER_MAX - 1)
            case kind if kind in PREFIXES:
                self._open[-1].operators.append(_Operator(kind, PREFIXES[kind], token.offset))
            case _:
                self.now = token
                raise self.unexpected("a value")
        return None

    def _wait(self, left: Node) -> None:
        """Takes an operator between two operands, of which the second follows."""
        binds, form = BINARY[self.now.symbol]
        left = self._reduced(left, binds)
        operators = self._open[-1].operators
        if operators and operators[-1].binds == binds == COMPARE:
            raise self.unexpected("`and` or brackets: comparisons do not chain")
        operators.append(_Operator(form, binds, self._step().offset, left))

    def _reduced(self, right: Node, binds: int) -> Node:
        """An operand together with the operators in front of it that bind it more strongly.

        Of two that bind alike the first does, but for comparisons, which do not chain.
        """
        operators = self._open[-1].operators
        while operators:
            last = operators[-1]
            if last.binds < binds or last.binds == binds == COMPARE:
                break
            operators.pop()
            right = self._applied(last, right)
        return right

    def _applied(self, operator: _Operator, right: Node) -> Node:
        """An operator with its operands."""
        match operator:
            case _Operator(left=Node() as left):
                return self._node(operator.form, operator.offset, left, right)
            case _Operator(form="+"):
                return right
            case _Operator(form="-"):
                return self._negative(operator.offset, right)
            case _Operator(form="~"):
                return self._node("bit_not", operator.offset, right)
        return self._node(operator.form, operator.offset, right)

    def _behind(self, inner: _OpenBrackets, operand: Node) -> Node | None:
        """Goes on behind an operand in brackets, a call or a CASE; returns what that ends."""
        if inner.token.symbol == "case":
            return self._in_case(inner, operand)
        if inner.token.symbol == "(":
            self._take(")")
            self._open.pop()
            return operand
        inner.arguments.append(operand)
        if self.now.symbol == ",":
            self._step()
            return None
        return self._called(inner)

    def _in_case(self, case: _OpenBrackets, operand: Node) -> Node | None:
        """The same in a CASE: conditions and values in turn, and what holds where none does."""
        case.arguments.append(operand)
        if case.waits == "then":
            self._take("then")
            case.waits = "when"
            return None
        if case.waits == "when" and self.now.symbol == "when":
            self._step()
            case.waits = "then"
            return None
        if case.waits == "when" and self.now.symbol == "else":
            self._step()
            case.waits = "end"
            return None
        if case.waits == "when":
            case.arguments.append(Node("null", self.now.offset))
        self._take("end")
        self._open.pop()
        return self._node("case", case.token.offset, *case.arguments)

    def _node(self, form: str, offset: int, *arguments: Node) -> Node:
        depth = 1 + max((argument.depth for argument in arguments), default=0)
        if depth > DEPTH_MAX:
            sentence = f"nested more than {DEPTH_MAX:,} deep; split it with another \\set"
            raise self.source.error(offset, sentence)
        return Node(form, offset, arguments, depth=depth)

    def _step(self) -> Token:
        token = self.now
        if token.symbol != END:
            self.now = next(self._stream)
        return token

    def _take(self, expected: str) -> Token:
        if self.now.symbol != expected:
            raise self.unexpected(f"`{expected}`")
        return self._step()

    def _leaf(self, token: Token) -> Node:
        value: int | float | bool | str | None = None
        match token.symbol:
            case "integer":
                value = int(token.text)
                if value > INTEGER_MAX:
                    sentence = f"the integer {token.text} does not fit into 64 bits"
                    raise self.source.error(token.offset, sentence)
            case "double":
                value = float(token.text)
            case "variable":
                value = token.text
            case "true" | "false":
                return Node("boolean", token.offset, value=token.symbol == "true")
        return Node(token.symbol, token.offset, value=value)

    def _negative(self, offset: int, inner: Node) -> Node:
        """`-x` is `0 - x`, and so overflows as that does; constants are computed here."""
        constant = inner.form in ("integer", "double") and inner.value != -INTEGER_MAX - 1
        if constant and isinstance(inner.value, (int, float)):
            return Node(inner.form, offset, value=0 - inner.value)
        zero = Node("integer", offset, value=0)
        return self._node("subtract", offset, zero, inner)

    def _test(self, left: Node) -> Node:
        """IS [NOT] NULL, TRUE or FALSE, and their short forms."""
        token = self._step()
        if token.symbol != "is":
            node = self._node("is_null", token.offset, left)
            return node if token.symbol == "isnull" else self._node("not", token.offset, node)
        negated = self.now.symbol == "not"
        if negated:
            self._step()
        if self.now.symbol not in TESTS:
            raise self.unexpected("null, true or false")
        node = self._node(TESTS[self._step().symbol], token.offset, left)
        return self._node("not", token.offset, node) if negated else node

    def _call(self, name: Token) -> Node | None:
        """Begins a call; returns it where it has no argument. Refuses unknown functions."""
        if name.text.lower() not in FUNCTIONS:
            remedy = suggestion(name.text.lower(), FUNCTIONS)
            raise self.source.error(name.offset, f"no function `{name.text}`; {remedy}")
        self._take("(")
        self._open.append(_OpenBrackets(name))
        if self.now.symbol == ")":
            return self._called(self._open[-1])
        if self.now.symbol == ",":  # pgbench, too, takes a comma before the first argument
            self._step()
        return None

    def _called(self, call: _OpenBrackets) -> Node:
        """Ends a call. Refuses wrong numbers of arguments."""
        self._take(")")
        self._open.pop()
        name, arguments = call.token, call.arguments
        function = FUNCTIONS[name.text.lower()]
        if not function.low <= len(arguments) <= function.high:
            sentence = f"`{name.text}` takes {function.wanted}, not {len(arguments)}"
            raise self.source.error(name.offset, sentence)
        if len(arguments) > ARGUMENTS_MAX:
            sentence = f"too many function arguments, maximum is {ARGUMENTS_MAX}"
            return Node("error", name.offset, value=sentence)
        if function.seeded and len(arguments) < function.high:
            arguments.append(Node("variable", name.offset, value=DEFAULT_SEED))
        return self._node(function.form, name.offset, *arguments)
