"""Random queries over two small tables full of ties: for tests of what a query determines."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

COLUMNS = {
    "t": ("id", "a", "b", "x", "s"),
    "u": ("id", "t_id", "a", "k"),
    "v": ("number", "a"),
    "w": ("a", "n"),
}
"""Tables t and u, and the views v (of t, limited) and w (groups of u)."""
NUMBERS = frozenset({"id", "a", "b", "t_id", "k", "number", "n", "x"})
AGGREGATES = ("count(*)", "count({})", "sum({})", "min({})", "max({})", "avg({})")
WINDOWS = ("row_number()", "rank()", "lag({})", "first_value({})", "sum({})", "count(*)")


@dataclass
class QueryMaker:
    """Draws queries; `lists` is an aggregate of rows in their order, as the dialect has it."""

    random: Random
    lists: str  # "string_agg({}::text, ','{})"
    lateral: bool = True
    names: int = 0

    def query(self, depth: int = 2, width: int = 0) -> str:
        """A query; `width`: of so many columns, named c0 …, as others are put beside it."""
        draw = self.random.random()
        if draw < 0.08 and depth:
            both = [self.query(depth - 1, width or 1) for _ in range(2)]
            word = self.random.choice(["UNION ALL", "UNION", "EXCEPT", "INTERSECT"])
            return f"({both[0]}) {word} ({both[1]}){self._end(['1'])}"
        sources, columns, conditions = self._from(depth)
        if draw < 0.35:
            return self._grouped(sources, columns, conditions, width)
        items = [self._item(columns, depth) for _ in range(width or self.random.randint(1, 3))]
        distinct = "DISTINCT " if self.random.random() < 0.12 else ""
        selected = ", ".join(f"{item} AS c{place}" for place, item in enumerate(items))
        keys = [f"c{place}" for place in range(len(items))] if distinct else [*columns, "c0"]
        where = self._where(conditions, columns, depth)
        return f"SELECT {distinct}{selected} FROM {sources}{where}{self._end(keys)}"

    def _grouped(
        self, sources: str, columns: Sequence[str], conditions: Sequence[str], width: int
    ) -> str:
        keys = self.random.sample(list(columns), min(width or 1, len(columns)))
        items = [*keys]
        if not width or len(items) < width:
            for _ in range(width - len(items) if width else self.random.randint(1, 2)):
                items.append(self._aggregate(columns))
        selected = ", ".join(f"{item} AS c{place}" for place, item in enumerate(items))
        end = self._end([f"c{place}" for place in range(len(items))])
        group = ", ".join(keys)
        where = self._where(conditions, columns, 0)
        return f"SELECT {selected} FROM {sources}{where} GROUP BY {group}{end}"

    def _aggregate(self, columns: Sequence[str]) -> str:
        if self.random.random() < 0.3:
            order = self._order(columns)
            return self.lists.format(self.random.choice(list(columns)), order)
        numbers = [column for column in columns if column.rpartition(".")[2] in NUMBERS] or ["1"]
        return self.random.choice(AGGREGATES).format(self.random.choice(numbers))

    def _from(self, depth: int) -> tuple[str, list[str], list[str]]:
        """What stands behind FROM, its columns, and conditions that join it."""
        written, columns = self._source(depth)
        conditions: list[str] = []
        for _ in range(self.random.choice((0, 0, 1, 1, 2))):
            other, more = self._source(depth - 1)
            pair = f"{self.random.choice(_joining(columns))} = {self.random.choice(_joining(more))}"
            how = self.random.choice(["JOIN", "LEFT JOIN", "LEFT JOIN", ","])
            if how == "," and not written.count("JOIN"):
                written, conditions = f"{written}, {other}", [*conditions, pair]
            else:
                written = f"{written} {how.replace(',', 'JOIN')} {other} ON {pair}"
            columns = [*columns, *more]
        return written, columns, conditions

    def _source(self, depth: int) -> tuple[str, list[str]]:
        self.names += 1
        name = f"q{self.names}"
        if depth > 0 and self.random.random() < 0.45:
            width = self.random.randint(1, 3)
            columns = [f"{name}.c{place}" for place in range(width)]
            return f"({self.query(depth - 1, width)}) AS {name}", columns
        table = self.random.choice(("t", "t", "t", "u", "u", "u", "v", "w"))
        return f"{table} AS {name}", [f"{name}.{column}" for column in COLUMNS[table]]

    def _item(self, columns: Sequence[str], depth: int) -> str:
        draw, column = self.random.random(), self.random.choice(list(columns))
        if draw < 0.12:
            by = self.random.choice(list(columns))
            order = self._order(columns)
            partition = f"PARTITION BY {by}" if self.random.random() < 0.4 else ""
            numbers = _joining(columns)
            made = self.random.choice(WINDOWS).format(self.random.choice(numbers))
            return f"{made} OVER ({partition}{order})"
        if draw < 0.2 and depth:
            name, table = f"i{self.names}", self.random.choice(("t", "u"))
            self.names += 1
            end = self._order([f"{name}.{column}" for column in COLUMNS[table]])
            key = self.random.choice(_joining(columns))
            return f"(SELECT {name}.id FROM {table} AS {name} WHERE {name}.a = {key}{end} LIMIT 1)"
        if draw < 0.3:
            number = self.random.choice(_joining(columns))
            return self.random.choice([f"coalesce({number}, 3)", "5", f"{number} + 1"])
        return column

    def _where(self, conditions: Sequence[str], columns: Sequence[str], depth: int) -> str:
        parts = [*conditions]
        column = self.random.choice(_joining(columns))
        draw = self.random.random()
        if draw < 0.25:
            parts.append(f"{column} = {self.random.randint(0, 4)}")
        elif draw < 0.4:
            parts.append(f"{column} < {self.random.randint(2, 30)}")
        elif draw < 0.5 and depth:
            word = self.random.choice(["IN", "NOT IN"])
            parts.append(f"{column} {word} (SELECT z.c0 FROM ({self.query(depth - 1, 1)}) AS z)")
        elif draw < 0.55 and depth:
            # Not a UNION itself: MySQL and MariaDB take ORDER BY and LIMIT out of its sides there.
            parts.append(f"EXISTS (SELECT 1 FROM ({self.query(depth - 1)}) AS z)")
        return f" WHERE {' AND '.join(parts)}" if parts else ""

    def _order(self, keys: Sequence[str]) -> str:
        if not keys or self.random.random() < 0.25:
            return ""
        count = min(len(keys), self.random.choice((1, 1, 2, 3)))
        picked = self.random.sample(list(dict.fromkeys(keys)), min(count, len(set(keys))))
        return " ORDER BY " + ", ".join(key + self.random.choice(["", " DESC"]) for key in picked)

    def _end(self, keys: Sequence[str]) -> str:
        draw = self.random.random()
        limit = f" LIMIT {self.random.choice((1, 2, 5, 9))}" if draw < 0.5 else ""
        offset = f" OFFSET {self.random.randint(1, 4)}" if draw < 0.1 else ""
        return self._order(keys) + limit + offset


def _joining(columns: Sequence[str]) -> list[str]:
    """Columns of numbers; all of a subquery's, of which it is not known."""
    kept = [column for column in columns if column.rpartition(".")[2] in NUMBERS]
    return kept or list(columns)
