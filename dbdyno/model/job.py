"""Facts that follow from a job (contract/README.md), for running and judging. Pure."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path

from dbdyno.model import Address, Extent, Json, Password
from dbdyno.model.events import Tick

SETTLE_S_DEFAULT = 0.2
"""What follows a resumption and counts for nothing, where the job does not say (contract/README.md,
"stop")."""
SETTLE_SHARE_MAX = 0.25
"""Of a turn: what settles is no more than this, as a short turn follows a short pause."""
SENDING = frozenset({"draw", "send", "sleep"})
"""Instructions of programs that are no scripts."""
CONTROL = frozenset(
    {"BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT", "SAVEPOINT", "RELEASE"}
)
"""How commands begin that only say where a transaction begins or ends."""


def settle_s(job: Json) -> float:
    """How long after a resumption nothing counts."""
    return float((job.get("stop") or {}).get("settle_s", SETTLE_S_DEFAULT))


def in_turns(job: Json, turn_s: float) -> Json:
    """The same job in turns of `turn_s` seconds: what settles is a quarter of a turn at most."""
    settles_s = settling_s(turn_s)
    if settles_s == SETTLE_S_DEFAULT:
        return job
    return job | {"stop": job["stop"] | {"settle_s": settles_s}}


def settling_s(turn_s: float) -> float:
    """How long after a resumption nothing counts in turns of `turn_s` seconds."""
    return min(SETTLE_S_DEFAULT, SETTLE_SHARE_MAX * turn_s)


def clients(job: Json, role: Json) -> int:
    """How many times a role is there: once for each client, or once in all."""
    return int(job["clients"]) if role["per"] == "client" else 1


def amounts(tick: Tick, statements: Container[str]) -> dict[str, int]:
    """The operations, rows and statements of a tick, all clients of its role together.

    `statements`: the names of those (`statement_names`), so that no transaction counts as one.
    """
    parts = tick.operations.items()
    return {
        "operations": sum(client.count for client in tick.per_client),
        "rows": sum(client.rows or 0 for client in tick.per_client),
        "statements": sum(part.count for name, part in parts if name in statements),
    }


def connections(job: Json) -> int:
    """The connections of all roles."""
    return sum(role_connections(job, role) for role in job.get("roles", []))


def table_names(job: Json, kind: str) -> tuple[str, ...]:
    """The tables of a kind: pi1, pi2 …; a single one without a number where the job counts 0.

    Numbers have as many digits at least as `table_digits` says: bench0001.
    """
    digits = job.get("table_digits", {}).get(kind, 1)
    return tuple(f"{kind}{n + 1:0{digits}}" for n in range(job["tables"][kind])) or (kind,)


def extent(job: Json) -> Extent | None:
    """How much takes part in a step; None where the job is missing."""
    if "clients" not in job:
        return None
    return Extent(
        clients=job["clients"],
        connections=connections(job),
        tables=sum(max(1, count) for count in job.get("tables", {}).values()),
    )


def role_connections(job: Json, role: Json) -> int:
    """The connections of one role, all clients together."""
    return int(role["connections"]) * clients(job, role)


def has_limit(role: Json) -> bool:
    """Whether a role has a latency limit."""
    return role.get("latency_limit_ms") is not None


def connects_each(job: Json) -> bool:
    """Whether operations of a role have a connection each, so that nobody knows whose they are."""
    return any(role.get("connect") == "each" for role in job.get("roles", []))


def skips(role: Json) -> bool:
    """Whether a role leaves out what missed its latency limit before it could begin."""
    pace = role.get("pace") or {}
    return has_limit(role) and pace.get("arrivals") in ("even", "poisson")


def reports_progress(job: Json, role: str) -> bool:
    """Whether a statement of a role reports its rows while it runs."""
    chosen = {
        choice["program"]
        for known in job.get("roles", [])
        if known["name"] == role
        for choice in known.get("choose", ())
    }
    sent = {code[1] for at in chosen for code in job["programs"][at]["code"] if code[0] == "send"}
    return any("progress" in job["statements"][index] for index in sent)


def timed_operations(job: Json) -> set[str]:
    """The names under which whole operations are timed: a transaction's, not its statements'."""
    names = set()
    for program in job.get("programs", []):
        sends = [job["statements"][code[1]] for code in program["code"] if code[0] == "send"]
        alone = len(sends) == 1 and not computes(program, sends[0])
        names.add(sends[0]["name"] if alone else program["name"])
    return names


def computes(program: Json, statement: Json) -> bool:
    """Whether a program of one statement does anything besides, as scripts do."""
    verbs = {code[0] for code in program["code"]}
    variables = any(
        "variable" in piece for piece in statement.get("pieces", []) if isinstance(piece, dict)
    )
    return bool(verbs - SENDING) or variables or "into" in statement


def statement_names(job: Json) -> frozenset[str]:
    """The names of the job's statements; a transaction of several has another one."""
    return frozenset(statement["name"] for statement in job.get("statements", []))


def first_words(statement: Json) -> list[str]:
    """How each command of a statement's SQL begins, in capitals."""
    texts = [piece for piece in statement.get("pieces", []) if isinstance(piece, str)]
    commands = " ".join(texts).split(";")
    return [command.split()[0].upper() for command in commands if command.strip()]


def is_control(statement: Json) -> bool:
    """Whether a statement does nothing but begin or end a transaction, by its SQL."""
    words = first_words(statement)
    return bool(words) and CONTROL.issuperset(words)


def server_json(address: Address) -> Json:
    """Where a server answers, as a job's `server`."""
    return {
        "host": address.host,
        "port": address.port,
        "user": address.user,
        "database": address.database,
        "password": password_json(address.password),
        "tls": tls_json(address),
    }


def password_json(password: Password | None) -> Json | None:
    """Where a password is to be found, as a job's `server` says it."""
    if password is None:
        return None
    place = {"env": password.env} if password.env else {"passfile": str(password.passfile)}
    return place | ({"insecure": True} if password.insecure else {})


def tls_json(address: Address) -> Json | None:
    """How the connection is encrypted, as a job's `server` says it."""
    if address.tls is None:
        return None
    root = None if address.tls_root is None else str(address.tls_root)
    return {"mode": address.tls, "root_certificate": root}


def address(server: Json) -> Address:
    """Where a job's `server` answers, as `server_json` wrote it."""
    password, tls = server["password"], server["tls"]
    passfile = None if password is None else password.get("passfile")
    root = None if tls is None else tls["root_certificate"]
    return Address(
        host=server["host"],
        port=server["port"],
        user=server["user"],
        database=server["database"],
        password=None
        if password is None
        else Password(
            env=password.get("env"),
            passfile=None if passfile is None else Path(passfile),
            insecure=password.get("insecure", False),
        ),
        tls=None if tls is None else tls["mode"],
        tls_root=None if root is None else Path(root),
    )
