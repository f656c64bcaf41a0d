"""Parses an expression of pgbench: operators by their precedence, functions, CASE.

The form is a precedence climber (Pratt); what binds how strongly is PostgreSQL's, as pgbench has
it. A tree's nodes are those of a job (contract/README.md, "Scripts"), but for variables, which it
knows by their names.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dbdyno.model.document import suggestion
from dbdyno.workload.script.function import FUNCTIONS
from dbdyno.workload.script.source import Source
from dbdyno.workload.script.token import END, INTEGER_MAX, Token, tokens

DEPTH_MAX = 100
"""How deep an expression may nest: readers of JSON go no deeper than 128 in all."""
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
TESTS = {"null": "is_null", "true": "is_true", "false": "is_false"}


@dataclass(frozen=True)
class Node:
    """A node of a tree: a leaf has a `value`, a variable its name there; others have arguments."""

    form: str
    offset: int
    arguments: tuple[Node, ...] = ()
    value: int | float | bool | str | None = None
    depth: int = 1  # how many arrays lie in each other where a job has it

    def variables(self) -> Iterator[Node]:
        """The variables in it, each as often as it stands there."""
        if self.form == "variable":
            yield self
        for argument in self.arguments:
            yield from argument.variables()


def parse(source: Source, start: int) -> tuple[Node, int]:
    """The expression from there to the end of its line, and where that is.

    Raises WorkloadError that shows the place.
    """
    parser = _Parser(source, tokens(source, start))
    node = parser.operand(0)
    if parser.now.kind != END:
        raise parser.unexpected("the end of the line")
    return node, parser.now.offset


class _Parser:
    def __init__(self, source: Source, stream: Iterator[Token]) -> None:
        self.source = source
        self._stream = stream
        self._depth = 0
        self.now = next(stream)

    def operand(self, least: int) -> Node:
        """Parses operators that bind at least so strongly, from here on."""
        self._depth += 1
        self._check_depth(self._depth, self.now.offset)
        left = self._prefix()
        while True:
            kind = self.now.kind
            if kind in ("is", "isnull", "notnull") and least <= IS:
                left = self._test(left)
            elif kind in BINARY and BINARY[kind][0] >= least:
                binds, form = BINARY[kind]
                offset = self._step().offset
                left = self._node(form, offset, left, self.operand(binds + 1))
                if binds == COMPARE and BINARY.get(self.now.kind, (0,))[0] == COMPARE:
                    raise self.unexpected("`and` or brackets: comparisons do not chain")
            else:
                break
        self._depth -= 1
        return left

    def unexpected(self, wanted: str) -> Exception:
        """The complaint about the token that is here."""
        sentence = f"syntax error: {self.now.shown} in place of {wanted}"
        return self.source.error(self.now.offset, sentence)

    def _node(self, form: str, offset: int, *arguments: Node) -> Node:
        depth = 1 + max((argument.depth for argument in arguments), default=0)
        self._check_depth(depth, offset)
        return Node(form, offset, arguments, depth=depth)

    def _check_depth(self, depth: int, offset: int) -> None:
        if depth > DEPTH_MAX:
            sentence = f"nested more than {DEPTH_MAX} deep; split it with another \\set"
            raise self.source.error(offset, sentence)

    def _step(self) -> Token:
        token = self.now
        if token.kind != END:
            self.now = next(self._stream)
        return token

    def _take(self, kind: str) -> Token:
        if self.now.kind != kind:
            raise self.unexpected(f"`{kind}`")
        return self._step()

    def _prefix(self) -> Node:
        """A leaf, a call, brackets, CASE, or an operator with one operand."""
        token = self._step()
        match token.kind:
            case "integer" | "double" | "null" | "true" | "false" | "variable":
                return self._leaf(token)
            case "name":
                return self._call(token)
            case "case":
                return self._case(token)
            case "(":
                inner = self.operand(0)
                self._take(")")
                return inner
            case "+":
                return self.operand(UNARY)
            case "-":
                return self._negative(token)
            case "~":
                return self._node("bit_not", token.offset, self.operand(BITS + 1))
            case "not":
                return self._node("not", token.offset, self.operand(NOT))
        self.now = token
        raise self.unexpected("a value")

    def _leaf(self, token: Token) -> Node:
        value: int | float | bool | str | None = None
        match token.kind:
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
                return Node("boolean", token.offset, value=token.kind == "true")
        return Node(token.kind, token.offset, value=value)

    def _negative(self, minus: Token) -> Node:
        """`-x` is `0 - x`, and so overflows as that does; constants are computed here."""
        if self.now.kind == "integer" and int(self.now.text) == INTEGER_MAX + 1:
            self._step()
            return Node("integer", minus.offset, value=-INTEGER_MAX - 1)
        inner = self.operand(UNARY)
        constant = inner.form in ("integer", "double") and inner.value != -INTEGER_MAX - 1
        if constant and isinstance(inner.value, (int, float)):
            return Node(inner.form, minus.offset, value=0 - inner.value)
        zero = Node("integer", minus.offset, value=0)
        return self._node("subtract", minus.offset, zero, inner)

    def _test(self, left: Node) -> Node:
        """IS [NOT] NULL, TRUE or FALSE, and their short forms."""
        token = self._step()
        if token.kind != "is":
            node = self._node("is_null", token.offset, left)
            return node if token.kind == "isnull" else self._node("not", token.offset, node)
        negated = self.now.kind == "not"
        if negated:
            self._step()
        if self.now.kind not in TESTS:
            raise self.unexpected("null, true or false")
        node = self._node(TESTS[self._step().kind], token.offset, left)
        return self._node("not", token.offset, node) if negated else node

    def _call(self, name: Token) -> Node:
        """A function with its arguments. Refuses unknown ones and wrong numbers of arguments."""
        function = FUNCTIONS.get(name.text.lower())
        if function is None:
            remedy = suggestion(name.text.lower(), FUNCTIONS)
            raise self.source.error(name.offset, f"no function `{name.text}`; {remedy}")
        self._take("(")
        arguments: list[Node] = []
        if self.now.kind not in (")", ","):  # pgbench, too, takes a comma before the first one
            arguments.append(self.operand(0))
        while self.now.kind == ",":
            self._step()
            arguments.append(self.operand(0))
        self._take(")")
        if not function.low <= len(arguments) <= function.high:
            sentence = f"`{name.text}` takes {function.wanted}, not {len(arguments)}"
            raise self.source.error(name.offset, sentence)
        if function.seeded and len(arguments) < function.high:
            arguments.append(Node("variable", name.offset, value=DEFAULT_SEED))
        return self._node(function.form, name.offset, *arguments)

    def _case(self, case: Token) -> Node:
        """Conditions and values in turn, and what holds where no condition does."""
        arguments: list[Node] = []
        if self.now.kind != "when":
            raise self.unexpected("`when`")
        while self.now.kind == "when":
            self._step()
            arguments.append(self.operand(0))
            self._take("then")
            arguments.append(self.operand(0))
        if self.now.kind == "else":
            self._step()
            arguments.append(self.operand(0))
        else:
            arguments.append(Node("null", self.now.offset))
        self._take("end")
        return self._node("case", case.offset, *arguments)
