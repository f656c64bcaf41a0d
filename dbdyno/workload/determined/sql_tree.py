"""A query's tree, by sqlglot: functions keep the names that they are called by."""

import logging
import re
from collections.abc import Callable
from typing import Any, ClassVar

import sqlglot
from sqlglot import exp
from sqlglot.dialects.mysql import MySQL
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import SqlglotError
from sqlglot.parsers.mysql import MySQLParser
from sqlglot.parsers.postgres import PostgresParser

from dbdyno.workload.own_text import at_parameters, masked

PARAMETER = "dyno_parameter_"
REPLACE = re.compile(r"\s*REPLACE\b", re.IGNORECASE)
DERIVED = (exp.Query, exp.Values, exp.Insert, exp.Update, exp.Delete, exp.Merge)
"""Statements that give rows, also within others."""


NO_SYNTAX = frozenset({"JSON_AGG", "JSON_ARRAYAGG", "JSON_OBJECTAGG", "STRING_AGG"})
"""Functions that sqlglot parses in its own way and that need none."""
Parsers = dict[str, Callable[..., Any]]


def _plain(parsers: Parsers) -> Parsers:
    """The parsers of functions whose arguments have a syntax of their own."""
    return {name: parser for name, parser in parsers.items() if name not in NO_SYNTAX}


class PlainPostgres(Postgres):
    """PostgreSQL's SQL without sqlglot's own names for functions."""

    class Parser(PostgresParser):
        """Its parser."""

        FUNCTIONS: ClassVar[Parsers] = {}
        FUNCTION_PARSERS: ClassVar[Parsers] = _plain(PostgresParser.FUNCTION_PARSERS)


class PlainMysql(MySQL):
    """MySQL's and MariaDB's SQL without sqlglot's own names for functions."""

    class Parser(MySQLParser):
        """Its parser."""

        FUNCTIONS: ClassVar[Parsers] = {}
        FUNCTION_PARSERS: ClassVar[Parsers] = _plain(MySQLParser.FUNCTION_PARSERS)


class UnclearError(Exception):
    """A query of which cannot be told whether it is determined; the words say why."""


def parsed(text: str, *, backticks: bool) -> exp.Expr:
    """The tree of a query; `backticks`: of MySQL's SQL. Raises UnclearError."""
    pieces = at_parameters(text)
    pieces[1::2] = [f"'{PARAMETER}{piece[1:]}'" for piece in pieces[1::2]]
    written = "".join(pieces)
    if backticks:
        written = REPLACE.sub("INSERT", written, count=1)
    try:
        trees = quietly(written, PlainMysql if backticks else PlainPostgres)
    except (SqlglotError, RecursionError):
        trees = []
    if len(trees) != 1 or not isinstance(trees[0], DERIVED):
        raise UnclearError(
            "the parser does not take the text, so that nothing is known of its order"
        )
    return trees[0]


def quietly(text: str, dialect: str | type[sqlglot.Dialect]) -> list[exp.Expr | None]:
    """The trees of a text. What the parser logs would show the text: nothing of it is written."""
    logger = logging.getLogger("sqlglot")
    before, logger.disabled = logger.disabled, True
    try:
        return list(sqlglot.parse(text, read=dialect))
    finally:
        logger.disabled = before


def clause(tree: exp.Expr, key: str) -> Any:
    """What a tree has under one of sqlglot's keys: a tree, a list of them, a word, or None."""
    return tree.args.get(key)


def order_items(tree: exp.Expr) -> list[exp.Expr]:
    """The keys of a statement's or a window's own ORDER BY."""
    order = clause(tree, "order")
    items = [item.this for item in order.expressions] if order is not None else []
    return [item for item in items if not isinstance(item, exp.Null)]


def is_parameter(tree: exp.Expr | None) -> bool:
    """Whether this is one of `$1` …"""
    return isinstance(tree, exp.Literal) and str(tree.this).startswith(PARAMETER)


def words(tree: exp.Expr | None) -> str:
    """A part of a query for a message: parameters as `$1`, other texts as `?`."""
    if isinstance(tree, exp.Literal) and not tree.is_string:
        return str(tree.this)
    plain = tree.sql(dialect="postgres", normalize_functions=False) if tree is not None else ""
    return masked(re.sub(rf"'{PARAMETER}(\d+)'", r"$\1", plain)).replace('"', "")
