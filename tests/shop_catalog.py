"""A catalog of a small shop, as a server would tell it: for tests of what a query determines."""

from dataclasses import dataclass

from dbdyno.model.catalog import ColumnFacts, FunctionFacts, RelationFacts

ID = frozenset({"id"})
LISTED = "SELECT id, status FROM orders ORDER BY status LIMIT 7"


def columns(*names: str) -> tuple[ColumnFacts, ...]:
    """Columns of whole numbers; `f` is a floating one, `name` a text, `id` has a default."""
    return tuple(
        ColumnFacts(name=name, floating=name == "f", text=name == "name", default=name == "id")
        for name in names
    )


def loose(*names: str) -> tuple[ColumnFacts, ...]:
    """Texts that are equal in another case."""
    return tuple(ColumnFacts(name=name, text=True, loose=True) for name in names)


RELATIONS = {
    "orders": RelationFacts(
        columns=columns("id", "customer", "status", "total", "f", "name"), keys=(ID,)
    ),
    "customers": RelationFacts(
        columns=(*columns("id", "country", "code"), *loose("label")), keys=(ID, frozenset({"code"}))
    ),
    "items": RelationFacts(
        columns=columns("order_id", "line", "product", "price", "f"),
        keys=(frozenset({"order_id", "line"}),),
    ),
    "events": RelationFacts(columns=columns("at", "kind", "n")),  # without a key
    "parents": RelationFacts(columns=columns("id", "n"), keys=(ID,), inherited=True),
    "sorted_orders": RelationFacts(columns=columns("id", "status"), view=LISTED),
    "open_orders": RelationFacts(
        columns=columns("number", "state"), view="SELECT id, status FROM orders WHERE status = 1"
    ),
    "pg_class": RelationFacts(
        columns=columns("relname"), moving="`pg_class`, which the server keeps for itself"
    ),
    "audited": RelationFacts(columns=columns("id", "n"), keys=(ID,), triggers=True),
}
MOVING = frozenset({"random", "clock_timestamp", "gen_random_uuid", "nextval", "rand", "uuid"})
FUNCTIONS = {
    "generate_series": FunctionFacts(rows=True, builtin=True),
    "unnest": FunctionFacts(rows=True, builtin=True),
    "own_volatile": FunctionFacts(moving=True),
    "own_sum": FunctionFacts(aggregate=True),
    "ts_headline_rank": FunctionFacts(floating=True, builtin=True),
}


@dataclass(frozen=True)
class ShopCatalog:
    """The catalog, of a server of either family."""

    backticks: bool = False

    def relation(self, schema: str, name: str) -> RelationFacts | None:
        """The relation of that name."""
        return RELATIONS.get(name)

    def function(self, name: str) -> FunctionFacts:
        """The functions of that name."""
        usual = FunctionFacts(moving=name in MOVING, builtin=True)
        return FUNCTIONS.get(name, usual)
