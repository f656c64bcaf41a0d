"""What the tree of a MySQL statement says: its verb, its tables, whether it writes.

Its trees, which sqlglot makes, have no places, so that each literal is given
to it as a *marker* of its own: where a marker stands in the tree tells what the literal is.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.errors import SqlglotError

from dbdyno.capture.dialect import NESTED
from dbdyno.workload.determined.sql_tree import quietly

FIRST_MARKER = 700_000_001
"""The number that stands for a text's first literal; the next has the next."""
STRING_MARKER = "dyno_literal_"
UTILITIES = {
    "set": "SET",
    "show": "SHOW",
    "use": "USE",
    "begin": "transaction control",
    "start": "transaction control",
    "commit": "transaction control",
    "rollback": "transaction control",
    "savepoint": "transaction control",
    "release": "transaction control",
    "xa": "transaction control",
    "prepare": "PREPARE",
    "execute": "EXECUTE",
    "deallocate": "DEALLOCATE",
    "call": "CALL",
    "do": "DO",
    "explain": "EXPLAIN",
    "describe": "EXPLAIN",
    "desc": "EXPLAIN",
    "lock": "LOCK",
    "unlock": "LOCK",
    "load": "LOAD DATA",
    "handler": "HANDLER",
    "kill": "KILL",
    "flush": "FLUSH",
    "help": "HELP",
    "analyze": "maintenance (ANALYZE, OPTIMIZE …)",
    "optimize": "maintenance (ANALYZE, OPTIMIZE …)",
    "check": "maintenance (ANALYZE, OPTIMIZE …)",
    "checksum": "maintenance (ANALYZE, OPTIMIZE …)",
    "repair": "maintenance (ANALYZE, OPTIMIZE …)",
}
DEFINITIONS = "definitions (CREATE, ALTER, DROP, GRANT …)"
TEMPORARY_TABLES = "temporary tables"
DEFINING = frozenset(
    {
        *("create", "alter", "drop", "truncate", "rename", "grant", "revoke", "install"),
        *("uninstall", "change", "reset", "purge", "stop", "backup", "cache", "signal"),
        *("resignal", "get", "binlog", "clone", "import", "shutdown", "restart"),
    }
)
NOT_ALONE = {
    "sleep": "SLEEP",
    "benchmark": "BENCHMARK",
    "get_lock": "GET_LOCK",
    "release_lock": "GET_LOCK",
    "release_all_locks": "GET_LOCK",
    "is_free_lock": "GET_LOCK",
    "is_used_lock": "GET_LOCK",
    "load_file": "LOAD_FILE",
    "master_pos_wait": "waits of replicas",
    "master_gtid_wait": "waits of replicas",
    "source_pos_wait": "waits of replicas",
    "wait_for_executed_gtid_set": "waits of replicas",
}
"""Functions that reach beyond the query or measure nothing, as coverage calls them."""
CALLED = re.compile(rf"(?<![\w$.`@])({'|'.join(NOT_ALONE)})\s*\(", re.IGNORECASE)
TEMPORARY = re.compile(
    r"[\s(]*(?:CREATE|DROP)\s+(?:OR\s+REPLACE\s+)?TEMPORARY\s+TABLE\s+"
    r"(?:IF\s+(?:NOT\s+)?EXISTS\s+)?((?:`[^`]+`|[\w$]+)(?:\.(?:`[^`]+`|[\w$]+))?)",
    re.IGNORECASE,
)
FIRST_TABLE = re.compile(
    r"\b(?:FROM|INTO|UPDATE)\s+((?:`[^`]+`|[\w$]+)(?:\.(?:`[^`]+`|[\w$]+))?)", re.IGNORECASE
)
INTO = re.compile(r"\bINTO\s+(?:OUTFILE\b|DUMPFILE\b|@)", re.IGNORECASE)
OF_ROUTINES = re.compile(
    r"\bNAME_CONST\s*\(|(?<![\w$.`@])(?:NEW|OLD)\s*\.\s*[\w`]"
    r"|\A[\s(]*SELECT\b.*\bINTO\s+(?!OUTFILE\b|DUMPFILE\b)[\w`]",
    re.IGNORECASE | re.DOTALL,
)
"""What only statements of stored functions and triggers have, which the general log has, too."""
SESSION_VARIABLE = re.compile(r"(?<![\w$@`])@([\w$]+)(\s*:=)?")
SEQUENCE = re.compile(r"(?<![\w$.`])(?:nextval|setval)\s*\(|\bNEXT\s+VALUE\s+FOR\b", re.IGNORECASE)
LOCKING = re.compile(r"\bFOR\s+(?:UPDATE|SHARE)\b|\bLOCK\s+IN\s+SHARE\s+MODE\b", re.IGNORECASE)
FIXED_PARENTS = (exp.Ordered, exp.Group, exp.DataTypeParam, exp.DataType)
"""Under these a literal is no value: ORDER BY 2, decimal(10, 2)."""


@dataclass(frozen=True, kw_only=True)
class MysqlTraits:
    """What is known of a statement."""

    verb: str
    tables: tuple[str, ...] = ()
    writes: bool = False
    left_out: str = ""


@dataclass(frozen=True)
class MysqlParse:
    """What the parser says of a text in which markers stand for literals."""

    traits: MysqlTraits
    values: frozenset[int]  # the numbers of the markers that stand for values


def utility(word: str, text: str) -> MysqlTraits | None:
    """What is known of a statement by its first words; None: it is a query, or nothing is."""
    if match := TEMPORARY.match(text):
        tables = (match[1].replace("`", ""),)
        return MysqlTraits(
            verb="definitions", left_out=TEMPORARY_TABLES, tables=tables, writes=True
        )
    if word in UTILITIES:
        tag = UTILITIES[word]
        return MysqlTraits(
            verb=tag.split(" (")[0].lower().replace(" ", "-"), left_out=tag, writes=True
        )
    if word in DEFINING:
        return MysqlTraits(verb="definitions", left_out=DEFINITIONS, writes=True)
    return None


def parsed(text: str, word: str) -> MysqlParse | None:
    """What the parser says; None: it does not take the text."""
    if word == "replace":
        text = re.sub(r"(?i)^\s*replace\b", "INSERT", text, count=1)
    try:
        trees = quietly(text, "mysql")
    except (SqlglotError, RecursionError):
        return None
    tree = trees[0] if len(trees) == 1 else None
    if tree is None or isinstance(tree, exp.Command):
        return None
    verb = word if word in ("insert", "update", "delete", "replace") else verb_of(tree)
    if not verb:
        return None
    traits = MysqlTraits(
        verb=verb,
        tables=tuple(tables_of(tree)),
        writes=verb != "select" or writes(text),
        left_out=reason(text),
    )
    return MysqlParse(traits, frozenset(values_in(tree)))


def unparsed(text: str, word: str) -> MysqlTraits:
    """What is known of a text that is not parsed."""
    table = FIRST_TABLE.search(text)
    return MysqlTraits(
        verb=word or "text",
        tables=(table[1].replace("`", ""),) if table else (),
        writes=word not in ("select", "with") or writes(text),
        left_out=reason(text),
    )


def verb_of(tree: exp.Expr) -> str:
    """What a statement that begins with WITH, VALUES or a bracket is; empty: no query."""
    if isinstance(tree, exp.Insert | exp.Update | exp.Delete):
        return type(tree).__name__.lower()
    return "select" if isinstance(tree, exp.Query | exp.Values | exp.Table) else ""


def writes(text: str) -> bool:
    """Whether a SELECT takes locks or numbers of a sequence."""
    return LOCKING.search(text) is not None or SEQUENCE.search(text) is not None


def reason(text: str) -> str:
    """Why a query cannot be run by itself; empty: it can."""
    if OF_ROUTINES.search(text):
        return NESTED
    if INTO.search(text):
        return "SELECT INTO"
    if match := CALLED.search(text):
        return NOT_ALONE[match[1].lower()]
    variables = list(SESSION_VARIABLE.finditer(text))
    assigned = {match[1].lower() for match in variables if match[2]}
    if any(match[1].lower() not in assigned for match in variables):
        return "variables of a session (@x)"
    return ""


def tables_of(tree: exp.Expr) -> Iterator[str]:
    """The tables that a statement names, each once, without names of its own WITH."""
    own = {expression.alias for expression in tree.find_all(exp.CTE)}
    named: set[str] = set()
    for table in tree.find_all(exp.Table):
        name = f"{table.db}.{table.name}" if table.db else table.name
        if table.name and name not in own and name not in named:
            named.add(name)
            yield name


def values_in(tree: exp.Expr) -> Iterator[int]:
    """The numbers of the markers that stand where a value does."""
    for literal in tree.find_all(exp.Literal):
        if isinstance(literal.parent, FIXED_PARENTS):
            continue
        written = str(literal.this)
        if written.startswith(STRING_MARKER):
            yield int(written.removeprefix(STRING_MARKER))
        elif written.isdecimal() and int(written) >= FIRST_MARKER:
            yield int(written) - FIRST_MARKER
