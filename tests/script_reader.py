"""Scripts of the tests: compiled as a step's, and read again."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import convert

from dbdyno.model import Json, engine
from dbdyno.model.job import Job
from dbdyno.model.job.programs import Initial, Program
from dbdyno.model.job.statements import Protocol, Statement
from dbdyno.workload.script import CompiledScript, Scripts, ScriptText
from dbdyno.workload.script.expression import Node, parse


@dataclass(frozen=True)
class Compiled:
    """A script's instructions, and what the job says besides."""

    code: list[list[Any]]
    statements: list[Json]
    job: Json
    explain: Mapping[str, str]

    def texts(self) -> list[str]:
        """Its statements as readable text."""
        return [
            "".join(
                piece if isinstance(piece, str) else f"<{self.name(piece['variable'])}>"
                for piece in statement["pieces"]
            )
            for statement in self.statements
        ]

    def name(self, number: int) -> str:
        return str(self.job["variables"][number]["name"])


def compiled(
    text: str,
    protocol: Protocol = "simple",
    to: str = "postgres",
    given: Mapping[str, Json] | None = None,
) -> Compiled:
    """The script of one step."""
    script = CompiledScript.of("mix.sql", ScriptText("mix.sql", text), protocol)
    known = convert({"scale": {"integer": 1}, **(given or {})}, dict[str, Initial])
    scripts = Scripts([script], known, engine.of(to))
    statements: list[Statement] = []
    code = scripts.program(script, statements)
    program = Program("mix.sql", tuple(code))
    job = Job(clients=1, statements=tuple(statements), programs=(program,))
    plain = msgspec.json.decode(msgspec.json.encode(scripts.computed(job)))
    return Compiled(plain["programs"][0]["code"], plain["statements"], plain, scripts.explain)


def tree(text: str) -> str:
    """An expression as its tree: `(add 1 (multiply 2 3))`."""

    def shown(node: Node) -> str:
        if node.arguments:
            return f"({node.form} {' '.join(map(shown, node.arguments))})"
        if node.form == "variable":
            return f":{node.value}"
        return node.form if node.value is None else str(node.value)

    return shown(parse(ScriptText("e.sql", text), 0)[0])
