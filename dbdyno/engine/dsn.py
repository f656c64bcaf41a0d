"""A server's place as one text: a URI of PostgreSQL or MySQL, without a password. Pure."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from dbdyno import engine
from dbdyno.engine.dsn_form import HOST, MODE, PREFERRED, ROOT, DsnForm
from dbdyno.model import Address, Arm
from dbdyno.model.engine import having
from dbdyno.model.error import PlanError

NO_TLS = ("disable", "disabled")


def address(arm: Arm) -> Address:
    """The address of the arm's server. Raises PlanError in a line that begins with the mistake."""
    assert arm.dsn is not None, "an arm whose server runs elsewhere has a DSN"
    written = engine.of(arm.engine).dsn
    try:
        uri = urlsplit(arm.dsn)
        port = uri.port
        secret = uri.password is not None
    except ValueError as error:
        raise PlanError(f"is not a URI ({error}); {form(written)}") from error
    if secret:
        raise PlanError(
            "contains a password, which results would keep: remove it, and name its place by "
            '`password = { env = "NAME" }` or `{ passfile = "PATH" }`'
        )
    if uri.scheme not in written.schemes:
        there = {scheme: name for name in having("clock") for scheme in engine.of(name).dsn.schemes}
        its = there.get(uri.scheme)
        remedy = f'write engine = "{its}"' if its else form(written)
        raise PlanError(f"is not for engine `{arm.engine}`; {remedy}")
    said = parameters(uri.query, written)
    database = unquote(uri.path.removeprefix("/"))
    if not uri.username or not database or not (uri.hostname or HOST in said):
        raise PlanError(f"names no user, host or database; {form(written)}")
    mode = said.get(MODE, "").lower()
    tls = tls_mode(mode, written)
    keys = {what: key for key, what in written.keys.items()}
    if tls == "verify-ca" and ROOT not in said:
        raise PlanError(f"asks for `{mode}` but names no certificates: add `{keys[ROOT]}`")
    if tls in (None, PREFERRED, "require") and ROOT in said:
        modes = ", ".join(f"`{one}`" for one in written.modes if one.startswith("verify"))
        raise PlanError(
            f"has `{keys[ROOT]}`, which this mode ignores: ask by `{keys[MODE]}` for one of {modes}"
        )
    host = said.get(HOST) or unquote(uri.hostname or "")
    if host.startswith("/") and tls == PREFERRED:
        tls = None  # a unix socket has none, and needs none
    return Address(
        host=host,
        port=port or written.port,
        user=unquote(uri.username),
        database=database,
        password=arm.password,
        tls=tls,
        tls_root=Path(said[ROOT]) if ROOT in said else None,
    )


def parameters(query: str, form: DsnForm) -> dict[str, str]:
    """The parameters after `?`, by name. Raises PlanError for unknown ones."""
    found = {}
    for key, value in parse_qsl(query, keep_blank_values=True):
        if key == "password":
            raise PlanError("contains a password, which results would keep: remove it")
        if key not in form.keys:
            known = ", ".join(f"`{one}`" for one in form.keys)
            raise PlanError(f"has a parameter `{key}` that is unknown; there are {known}")
        found[form.keys[key]] = value
    return found


def tls_mode(mode: str, form: DsnForm) -> str | None:
    """The check of a certificate, as libpq names it; None: no TLS. Raises PlanError."""
    if not mode:
        return PREFERRED
    if mode in NO_TLS:
        return None
    if mode not in form.modes:
        known = ", ".join(f"`{one}`" for one in (form.no_tls, *form.modes))
        raise PlanError(f"unknown TLS mode `{mode}`; use one of {known}")
    return form.modes[mode]


def form(written: DsnForm) -> str:
    """How a DSN is written."""
    return f'write it as "{written.schemes[0]}://user@host:{written.port}/database"'
