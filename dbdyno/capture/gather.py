"""Brings calls together by query: what they share, how often, how long, with what values."""

import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from msgspec import structs

from dbdyno.capture.call import Call, Way
from dbdyno.capture.dialect import (
    ALL,
    NESTED,
    ROLE,
    Dialect,
    InnerQuery,
    NormalForm,
    ParsedText,
    Setting,
)
from dbdyno.capture.folder import CallSample
from dbdyno.capture.mix import Transactions
from dbdyno.capture.reservoir import Reservoir, Values
from dbdyno.capture.senders import OWN, Sender, by_name, by_text
from dbdyno.model.own_query import Exclusion

APPLICATION = "dyno capture"
"""The name of capture's own sessions."""
VARIANTS_MAX = 10
"""So many different literals beside bound values are taken for parts of the program's text."""
TEXTS_MAX = 20_000
SEVERAL = "several statements in one message: their time is not divided"
NOT_UTF8 = "bytes that are no UTF-8"
FAILED = "failed when they were captured"
TEMPORARY = "temporary tables"

Settings = tuple[tuple[str, str], ...]
Key = tuple[str, str, str, Settings, str]
"""Database, form, its layout, settings of the session, role."""


@dataclass
class Variant:
    """Calls of one query with the same literals beside its bound values."""

    calls: int = 0
    time_s: float = 0.0


@dataclass
class QueryGroup:
    """All calls of one query."""

    form: NormalForm
    samples: Reservoir
    calls: int = 0
    time_s: float = 0.0
    rows: int | None = None  # None: the log does not tell
    ways: Counter[Way] = field(default_factory=Counter)
    variants: dict[Values, Variant] = field(default_factory=dict)
    types: tuple[str, ...] = ()
    query_ids: set[int] = field(default_factory=set)
    length_min: int = sys.maxsize  # of its texts, in bytes
    cut: bool = False  # the log may have lost the end of one of them
    many: bool = False  # more variants than are taken for the program's own


@dataclass(frozen=True, kw_only=True, eq=False)
class Query:
    """A query of the application, as far as sources know it."""

    form: NormalForm
    way: Way
    literals: Values | None = None  # that stand in its text; None: they are parameters
    samples: tuple[CallSample, ...] = ()
    calls: int
    time_s: float
    rows: int | None = None
    types: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    role: str = ""
    database: str = ""
    query_ids: frozenset[int] = frozenset()
    length_min: int = 0  # of its texts, in bytes
    cut: bool = False  # its text may lack its end


@dataclass
class SessionState:
    """What a session has set, and its cursors."""

    settings: dict[str, str] = field(default_factory=dict)
    local: dict[str, str] = field(default_factory=dict)
    cursors: dict[str, Key] = field(default_factory=dict)
    now: Mapping[str, str] = field(default_factory=dict)  # both, as they hold now
    key: Settings = ()
    sender: Sender | None = None

    def renew(self) -> None:
        """Makes the key of the settings that hold now."""
        self.now = self.settings | self.local
        self.key = tuple(sorted((name, value) for name, value in self.now.items() if name != ROLE))

    def role(self, user: str) -> str:
        """The role that runs its statements."""
        return self.local.get(ROLE) or self.settings.get(ROLE) or user


@dataclass
class QueryCalls:
    """Calls by query, and what is left out, by database and reason."""

    dialect: Dialect
    seed: int = 1
    keeps_values: bool = True
    with_monitoring: bool = False
    groups: dict[Key, QueryGroup] = field(default_factory=dict)
    left_out: dict[tuple[str, str], Exclusion] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)
    arrivals: dict[str, Counter[int]] = field(default_factory=dict)
    sessions: dict[str, SessionState] = field(default_factory=dict)
    texts: dict[str, ParsedText] = field(default_factory=dict)  # of the last calls
    temporary: set[str] = field(default_factory=set)
    transactions: dict[str, Transactions] = field(default_factory=dict)  # by database
    length_max: int = 0  # of all texts of queries, in bytes
    first_s: float | None = None
    last_s: float | None = None

    def add_all(self, calls: Iterable[Call]) -> None:
        """Adds calls in the order in which they ended."""
        for call in calls:
            readable = call.database.isascii() and call.user.isascii() and call.error.isascii()
            self.add(call if readable else with_readable_names(call))

    def add(self, call: Call) -> None:
        """Adds a call."""
        sender = self.sender(call)
        if sender is not None and sender.reason == OWN:
            self.leave_out(call, OWN)
            return
        start_s = call.start_s
        self.first_s = start_s if self.first_s is None else min(self.first_s, start_s)
        self.last_s = call.end_s if self.last_s is None else max(self.last_s, call.end_s)
        if sender is not None and not self.with_monitoring and sender.sent(self.read(call).form):
            self.leave_out(call, sender.reason)
            return
        if call.nested:
            self.leave_out(call, NESTED)
            return
        if call.error:
            self.errors[call.error] += 1
            self.leave_out(call, FAILED)
            return
        if not call.text.isascii() and not is_utf8(call.text):
            self.leave_out(call, NOT_UTF8)
            return
        place = call.text.find(";")
        if place >= 0 and call.text[place + 1 :].strip() and self.several(call):
            return
        self.statement(call, call.duration_s or 0.0)

    def sender(self, call: Call) -> Sender | None:
        """Who sent a call, if that was not the application.

        A log of MySQL does not name programs, so what a session begins with tells all of it.
        """
        sender = by_text(call.text)
        if call.account and call.session:
            session = self.sessions.get(call.session)
            if session is None and sender is not None:
                session = self.sessions[call.session] = SessionState()
            if session is not None:
                sender = session.sender = session.sender or sender
        return sender or by_name(call.application, call.user or call.account)

    def several(self, call: Call) -> bool:
        """Adds the statements of a message that has more than one; whether it has."""
        parts = self.dialect_of(call).split(call.text)
        if len(parts) < 2:
            return False
        self.leave_out(call, SEVERAL, calls=0)
        for part in parts:
            self.statement(structs_replace(call, part), 0.0)
        return True

    def statement(self, call: Call, time_s: float) -> None:
        """Adds a call of one statement, whose time may be counted elsewhere."""
        statement = self.read(call)
        form = statement.form
        if not form.left_out and "set_config" not in call.text:
            self.count(call, statement, time_s)
            return
        session = self.sessions.setdefault(call.session, SessionState())
        if call.session:  # else the log does not tell sessions apart
            self.settle(session, call.text)
            ends = self.dialect.ends_transaction(call.text)
            self.of_database(call).control(call, ends=ends)
        inside = self.dialect.inside(call.text)
        if inside is not None:
            self.inner(call, inside, time_s)
            return
        cursor = self.dialect.fetched(call.text)
        if cursor and cursor in session.cursors:
            group = self.groups[session.cursors[cursor]]
            group.time_s += time_s
            return
        if form.left_out == TEMPORARY:
            self.temporary.update(form.tables)
        if form.left_out:
            self.leave_out(call, form.left_out, time_s=time_s)
        else:
            self.count(call, statement, time_s)

    def inner(self, call: Call, inside: InnerQuery, time_s: float) -> None:
        """Adds the query inside a statement, which its cursor may go on fetching from."""
        inner = structs_replace(call, inside.text)
        statement = self.read(inner)
        if statement.form.left_out:
            self.leave_out(call, statement.form.left_out, time_s=time_s)
            return
        key = self.count(inner, statement, time_s)
        if inside.cursor:
            self.sessions[call.session].cursors[inside.cursor] = key

    def read(self, call: Call) -> ParsedText:
        """The call's text, taken apart; the texts of the last calls are kept, as many repeat."""
        dialect = self.dialect_of(call)
        if dialect is not self.dialect:
            return dialect.read(call.text)
        statement = self.texts.get(call.text)
        if statement is None:
            if len(self.texts) >= TEXTS_MAX:
                self.texts.clear()
            statement = self.texts[call.text] = self.dialect.read(call.text)
        return statement

    def dialect_of(self, call: Call) -> Dialect:
        """What reads the texts of the call's session."""
        session = self.sessions.get(call.session)
        return self.dialect if session is None else self.dialect.within(session.now)

    def settle(self, session: SessionState, text: str) -> None:
        """Follows what a statement does to its session's settings."""
        settings = self.dialect.settings(text)
        if not settings and session.local and self.dialect.ends_transaction(text):
            session.local.clear()
            session.renew()
        for setting in settings:
            self.set(session, setting)

    def set(self, session: SessionState, setting: Setting) -> None:
        """Follows what a statement does to one setting."""
        place = session.local if setting.local else session.settings
        if setting.name == ALL:
            session.settings.clear()
            session.local.clear()
        elif setting.value is None:
            place.pop(setting.name, None)
        else:
            place[setting.name] = setting.value
        session.renew()

    def count(self, call: Call, statement: ParsedText, time_s: float) -> Key:
        """Adds a call of a query to its group, whose key is returned."""
        form = statement.form
        session = self.sessions.get(call.session)
        settings = session.key if session is not None else ()
        role = session.role(call.user) if session is not None else call.user
        key = (call.database, form.key, form.layout, settings, role)
        group = self.groups.get(key)
        if group is None:
            seed = f"{self.seed}:{form.key}"
            group = self.groups[key] = QueryGroup(form=form, samples=Reservoir(seed))
        group.time_s += time_s
        group.cut = group.cut or call.cut
        size = len(call.text) if call.text.isascii() else size_of(call.text)
        if size < group.length_min:
            group.length_min = size
        if size > self.length_max:
            self.length_max = size
        if call.further:
            return key
        group.calls += 1
        group.ways[call.way] += 1
        self.of_database(call).query(call, form.key)
        if call.rows is not None:
            group.rows = (group.rows or 0) + call.rows
        group.types = group.types or call.types
        if call.query_id:
            group.query_ids.add(call.query_id)
        arrivals = self.arrivals.get(call.database)
        if arrivals is None:
            arrivals = self.arrivals[call.database] = Counter()
        arrivals[int(call.start_s)] += 1
        self.sample(group, call, statement, time_s)
        return key

    def of_database(self, call: Call) -> Transactions:
        """The transactions of the call's database."""
        transactions = self.transactions.get(call.database)
        if transactions is None:
            transactions = self.transactions[call.database] = Transactions()
        return transactions

    def sample(self, group: QueryGroup, call: Call, statement: ParsedText, time_s: float) -> None:
        """Keeps the values of a call, and counts literals that stand beside bound ones."""
        form = group.form
        if form.bound and form.literals and not group.many:
            variant = group.variants.setdefault(statement.literals, Variant())
            variant.calls += 1
            variant.time_s += time_s
            group.many = len(group.variants) > VARIANTS_MAX
        if not self.keeps_values or not (form.bound or form.literals):
            return
        bound: Values = ()
        if form.bound:
            if call.values is None or len(call.values) != form.bound:
                return
            if not all(value is None or value.isascii() or is_utf8(value) for value in call.values):
                return
            bound = tuple(map(self.dialect_of(call).bound, call.values))
        group.samples.add(bound + statement.literals)

    def leave_out(
        self, call: Call, reason: str, *, calls: int = 1, time_s: float | None = None
    ) -> None:
        """Counts a call that no query stands for."""
        left = self.left_out.setdefault((call.database, reason), Exclusion(reason))
        left.calls += calls
        left.time_s += (call.duration_s or 0.0) if time_s is None else time_s


def structs_replace(call: Call, text: str) -> Call:
    """The call with another text."""
    return structs.replace(call, text=text)


def with_readable_names(call: Call) -> Call:
    """The call, with what of its names is no UTF-8 replaced."""
    names = (call.database, call.user, call.error)
    database, user, error = (name.encode("utf-8", "replace").decode() for name in names)
    return structs.replace(call, database=database, user=user, error=error)


def size_of(text: str) -> int:
    """The bytes of a text."""
    return len(text.encode("utf-8", "surrogateescape"))


def is_utf8(text: str) -> bool:
    """Whether a text that was read as UTF-8 was that."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


# --- Queries of groups ------------------------------------------------------------------------


def queries_of(gathered: QueryCalls, database: str) -> list[Query]:
    """The queries of one database; those on its sessions' temporary tables are left out."""
    queries: list[Query] = []
    for (its_database, _, bound, settings, role), group in gathered.groups.items():
        if its_database != database:
            continue
        if gathered.temporary.intersection(group.form.tables):
            left = gathered.left_out.setdefault((database, TEMPORARY), Exclusion(TEMPORARY))
            left.calls += group.calls
            left.time_s += group.time_s
            continue
        way = group.ways.most_common(1)[0][0] if group.ways else "simple"
        query = Query(
            form=group.form,
            way=way,
            calls=group.calls,
            time_s=group.time_s,
            rows=None if bound else group.rows,
            types=group.types,
            settings=dict(settings),
            role=role,
            database=database,
            query_ids=frozenset(group.query_ids),
            length_min=group.length_min,
            cut=group.cut,
        )
        queries += variants(query, group) if bound else [simple(query, group)]
    return queries


def simple(query: Query, group: QueryGroup) -> Query:
    """A query without bound values: its literals are its parameters."""
    way: Way = "simple" if group.form.literals else query.way
    return replaced(query, way=way, samples=samples(group.samples.kept()))


def variants(query: Query, group: QueryGroup) -> list[Query]:
    """A query with bound values, for each variant of literals; one if there are too many."""
    kept, bound = group.samples.kept(), group.form.bound
    if group.many:
        return [replaced(query, way="simple", samples=samples(kept))]
    if not group.variants:
        return [replaced(query, samples=samples(kept))]
    return [
        replaced(
            query,
            literals=literals,
            calls=variant.calls,
            time_s=variant.time_s,
            samples=samples(
                Counter({v[:bound]: n for v, n in kept.items() if v[bound:] == literals})
            ),
        )
        for literals, variant in group.variants.items()
    ]


def replaced(query: Query, **changes: object) -> Query:
    """The query with changes."""
    return replace(query, **changes)  # type: ignore[arg-type]


def samples(kept: Mapping[Values, int]) -> tuple[CallSample, ...]:
    """Samples in an order that depends on nothing but them."""
    return tuple(CallSample(values, weight) for values, weight in sorted(kept.items()))
