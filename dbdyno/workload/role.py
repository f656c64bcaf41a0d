"""The roles of a step, as a job has them (contract/README.md, "roles")."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

from msgspec.structs import replace

from dbdyno.model.document import suggestion
from dbdyno.model.engine import Traits
from dbdyno.model.job.role import (
    Choice,
    ClosedPace,
    ConnectionRenewal,
    ErrorReaction,
    Pace,
    RatePace,
    Role,
    RoleStop,
    TableBy,
    TableUse,
    TiedPace,
)
from dbdyno.workload import choosing, schema, sending
from dbdyno.workload.job_content import Content
from dbdyno.workload.scope import NUMBER_MARK, TABLE_MARK, Scope

CONNECTIONS_MAX = 100_000
LATENCY_LIMIT_MS_MAX = 86_400_000
"""A day, as dyno-loadgen has it."""
STATEMENT_LIMIT_S = (0.001, 86_400)
"""The shortest limit, as servers count milliseconds, and the longest: a day."""
LEAD = 8
"""The published client's queues between its generator and its connections hold 8 statements."""
KINDS = ("insert", "delete", "query")


def from_roles(
    written: Mapping[str, schema.RoleForm], content: Content, scope: Scope
) -> tuple[list[Role], dict[str, str]]:
    """The roles of a step, and each one's kind in the published tables."""
    roles = {
        name: role
        for name, role in written.items()
        if scope.at("roles", name, "when").number(role.when)
    }
    chosen = {
        name: choosing.entries(role, content, scope.at("roles", name))
        for name, role in roles.items()
    }
    content.scripts.read(entry.program for entries in chosen.values() for entry in entries)
    made = []
    for name, role in roles.items():
        choose = tuple(entry.choice(content) for entry in chosen[name])
        made.append(_made(name, role, choose, content, scope.at("roles", name)))
    # A role that `when` leaves out is waited for by none.
    left_out = written.keys() - roles.keys()
    made = [
        replace(role, after=tuple(name for name in role.after if name not in left_out))
        for role in made
    ]
    for ready in made:
        place = scope.at("roles", ready.name)
        _check_tie(ready, made, place.at("pace"))
        _check_after(ready, made, place.at("after"))
    kinds: dict[str, str] = {
        name: role.kind or (name if name in KINDS else "other") for name, role in roles.items()
    }
    return made, kinds


def check_tables(roles: Sequence[Role], content: Content, scope: Scope) -> None:
    """Refuses several tables where a cursor is read from one; after `content.finish`."""
    for role in roles:
        if role.table is None or role.table.by not in ("uniform", "in_turn"):
            continue
        for choice in role.choose:
            if name := content.bound_by_cursor(choice.program):
                raise scope.at("roles", role.name, "table").error(
                    f"`{name}` has a cursor, which is read from one table; use `own`"
                )


def from_parts(
    parts: Sequence[schema.StatementPartForm], content: Content, scope: Scope
) -> tuple[list[Role], dict[str, str]]:
    """The parts of a maintenance step as roles, each beginning when the one before has ended."""
    made: list[Role] = []
    for number, part in enumerate(parts, start=1):
        place = scope.at("parts", number)
        if not place.at("when").number(part.when):
            continue
        texts = place.at("once").sql(part.once)
        if not texts:
            continue
        name = _part_name(texts[0], [role.name for role in made])
        connections = place.at("connections").integer(part.connections, low=1)
        program = content.add_part(name, texts, place.at("once"))
        role = schema.RoleForm(
            per="step",
            connections=connections,
            table=part.table,
            stop=schema.StopForm(operations=connections),
            after=[made[-1].name] if made else [],
        )
        made.append(_made(name, role, (Choice(program, 1),), content, place))
    return made, {role.name: "other" for role in made}


def _part_name(sql: str, taken: Sequence[str]) -> str:
    """The SQL's first word; with a number where it is taken."""
    word = "".join(c for c in sql.split(None, 1)[0].lower() if c.isalnum()) or "part"
    number = 1 + sum(name.rstrip("0123456789") == word for name in taken)
    return word if number == 1 else f"{word}{number}"


def _made(
    name: str, role: schema.RoleForm, choose: tuple[Choice, ...], content: Content, scope: Scope
) -> Role:
    connections = scope.at("connections").integer(role.connections, low=1)
    if connections > CONNECTIONS_MAX:
        raise scope.at("connections").error(f"at most {CONNECTIONS_MAX}, not {connections}")
    rows = {content.rows_of(choice.program) for choice in choose}
    pace, place = role.pace, scope.at("pace")
    limit_ms = scope.at("latency_limit_ms").number(
        role.latency_limit_ms, low=0, high=LATENCY_LIMIT_MS_MAX
    )
    burst = not isinstance(pace, str) and (pace.tied is not None or pace.arrivals == "burst")
    if role.queue != "role" and burst:
        raise scope.at("queue").error("only even and random arrivals can be shared; remove it")
    made = Role(
        name=name,
        per=role.per,
        connections=connections,
        choose=choose,
        choice=choosing.rule(role, choose, scope),
        table=_table(role, choose, content),
        pace=_pace(pace, rows, place),
        stop=_quota(role.stop, rows, scope.at("stop")),
        after=tuple(role.after),
        latency_limit_ms=float(limit_ms) if limit_ms else None,
        endpoint=role.endpoint,
        session=_session(role, scope.at("session")),
        statement_limit_s=_statement_limit_s(role, scope.at("statement_limit_s")),
        on_error=ErrorReaction(
            retry=_codes(role.on_error.retry, scope.engine),
            tries=scope.at("on_error", "tries").integer(role.on_error.tries, low=0),
            otherwise=role.on_error.otherwise,
        ),
        on_lost=role.on_lost,
        connect=sending.connect(role.connect, scope.at("connect")),
        renew=_renew(role.renew, scope.at("renew")),
        queue=role.queue,
    )
    if made.thinks and not isinstance(made.pace, ClosedPace):
        raise place.error(
            "`before_s` and `after_s` are of users, who wait for an answer; at a rate nobody does: "
            "remove them, or `pace`"
        )
    return made


def _renew(renew: schema.RenewalForm | None, scope: Scope) -> ConnectionRenewal | None:
    """How connections are made anew after pauses; None: they last."""
    texts = scope.at("ask").sql(renew.ask) if renew is not None else ()
    if renew is None or not texts:
        return None
    return ConnectionRenewal(
        binds=scope.at("binds").integer(renew.binds, low=0), ask="; ".join(texts)
    )


def _session(role: schema.RoleForm, scope: Scope) -> tuple[str, ...]:
    """What each connection sends first. Refuses SQL of a table: a role may have several."""
    texts = () if role.session is None else tuple(scope.sql(role.session))
    if any(TABLE_MARK in text or NUMBER_MARK in text for text in texts):
        raise scope.error("is sent before a table is chosen; leave `{t}` and `{number}` out")
    return texts


def _statement_limit_s(role: schema.RoleForm, scope: Scope) -> float | None:
    """How long a statement may take in the server; None: as the server says."""
    if role.statement_limit_s is None:
        return None
    low, high = STATEMENT_LIMIT_S
    return float(scope.number(role.statement_limit_s, low=low, high=high))


def check_tries(roles: Sequence[Role], *, timed: bool, scope: Scope) -> None:
    """Refuses tries without limit where nothing would end them."""
    for role in roles:
        assert role.on_error is not None, "dyno-loadgen makes the load"
        if not (role.on_error.tries or timed or role.latency_limit_ms is not None):
            raise scope.at("roles", role.name, "on_error", "tries").error(
                "0, without limit, needs an end; give the role `latency_limit_ms` or the step "
                "`seconds`"
            )


def _codes(written: list[str] | schema.Codes, engine: Traits) -> tuple[str, ...]:
    """The errors that are tried again, by the engine's codes."""
    if isinstance(written, list):
        return tuple(written)
    own = (getattr(written, key) for key in engine.sql)
    return tuple(next((codes for codes in own if codes is not None), ()))


def _table(role: schema.RoleForm, choose: Sequence[Choice], content: Content) -> TableUse | None:
    kinds = [base for choice in choose if (base := content.table_of(choice.program))]
    if not kinds:
        return None
    by_default: TableBy = "own" if role.per == "client" else "by_connection"
    return TableUse(of=kinds[0], by=role.table or by_default)


def _rows(rows: set[int], scope: Scope) -> int:
    """The rows of one operation, where rows have to become operations."""
    if len(rows) != 1 or 0 in rows:
        raise scope.error(
            "cannot be counted in rows, because the operations differ in rows or have none; "
            "count operations, or give the statements the key `rows`"
        )
    return next(iter(rows))


def _pace(pace: schema.Pace | str, rows: set[int], scope: Scope) -> Pace:
    if isinstance(pace, str):
        return ClosedPace()
    given = [key for key in ("rows_per_s", "per_s", "tied") if getattr(pace, key) is not None]
    if len(given) != 1:
        raise scope.error("needs exactly one of `rows_per_s`, `per_s` and `tied`")
    if pace.tied is not None:
        if pace.arrivals is not None:
            raise scope.at("arrivals").error("a tied role has its partner's arrivals; remove it")
        lead = LEAD if pace.lead is None else scope.at("lead").integer(pace.lead, low=1)
        return TiedPace(to=pace.tied, lead=lead)
    if pace.lead is not None:
        raise scope.at("lead").error("only a tied role has a lead; remove it")
    key = "per_s" if pace.rows_per_s is None else "rows_per_s"
    per_s = scope.at(key).number(getattr(pace, key), low=0)
    if not per_s:
        return ClosedPace()
    if key == "rows_per_s":
        per_s /= _rows(rows, scope)
    return RatePace(arrivals=pace.arrivals or "even", per_s=float(per_s))


def _quota(stop: schema.StopForm | None, rows: set[int], scope: Scope) -> RoleStop | None:
    """Rows become operations, rounded up, as the published client does."""
    if stop is None:
        return None
    if (stop.rows is None) == (stop.operations is None):
        raise scope.error("needs either `rows` or `operations`")
    if stop.operations is not None:
        operations = scope.at("operations").integer(stop.operations, low=0)
        return RoleStop(operations) if operations else None
    wanted = scope.at("rows").positive(stop.rows or 0)
    operations = math.ceil(Fraction(wanted) / _rows(rows, scope))
    return RoleStop(scope.at("rows").integer(operations))


def _check_tie(role: Role, roles: Sequence[Role], scope: Scope) -> None:
    if not isinstance(role.pace, TiedPace):
        return
    partners = {other.name: other for other in roles if other is not role}
    to = role.pace.to
    if to not in partners:
        raise scope.at("tied").error(f"no other role `{to}`; {suggestion(to, partners)}")
    if isinstance(partners[to].pace, TiedPace):
        raise scope.at("tied").error(f"`{to}` is tied itself; tie to a role with a pace of its own")
    if role.stop is not None:
        raise scope.error(f"a tied role ends with `{to}`; remove its `stop`")
    if role.per != partners[to].per:
        raise scope.error(f"differs from `{to}` in `per`; give both the same")


def _check_after(role: Role, roles: Sequence[Role], scope: Scope) -> None:
    """Every role waited for is there, ends by itself, and does not wait for this one."""
    there = {other.name: other for other in roles}
    open_ends, seen = list(role.after), set()
    while open_ends:
        name = open_ends.pop()
        if name not in there:
            raise scope.error(f"no role `{name}`; {suggestion(name, there)}")
        if name == role.name:
            raise scope.error("waits for itself")
        if name not in seen:
            seen.add(name)
            open_ends += there[name].after
