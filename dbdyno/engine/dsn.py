"""A server's place as one text: a URI of PostgreSQL or MySQL, without a password. Pure."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from dbdyno.model import FAMILIES, Address, Arm
from dbdyno.model.error import PlanError

SCHEMES = {"postgresql": "postgres", "postgres": "postgres", "mysql": "mysql", "mariadb": "mariadb"}
"""What a URI begins with, and the engine that it is for."""
PORTS = {"postgres": 5432, "mysql": 3306, "mariadb": 3306}
MODES = {
    "postgres": {mode: mode for mode in ("prefer", "require", "verify-ca", "verify-full")},
    "mysql": {
        "preferred": "prefer",
        "required": "require",
        "verify_ca": "verify-ca",
        "verify_identity": "verify-full",
    },
}
"""How each engine's clients name what is checked of a certificate, and libpq's name for it."""
NO_TLS = ("disable", "disabled")
PREFERRED = "prefer"
"""TLS where the server has it: what the clients of all engines do where nobody says anything."""
HOST, MODE, ROOT = "host", "mode", "root"
KEYS = {
    "postgres": {"host": HOST, "sslmode": MODE, "sslrootcert": ROOT},
    "mysql": {"socket": HOST, "ssl-mode": MODE, "ssl-ca": ROOT},
}
"""The parameters after `?`, as each engine's clients name them, and what they say."""


def address(arm: Arm) -> Address:
    """Where the arm's server answers. Raises PlanError in a line that begins with what is wrong."""
    assert arm.dsn is not None, "an arm whose server runs elsewhere has a DSN"
    family = FAMILIES[arm.engine]
    try:
        uri = urlsplit(arm.dsn)
        port = uri.port
        secret = uri.password is not None
    except ValueError as error:
        raise PlanError(f"is no URI ({error}); {form(arm.engine)}") from error
    if secret:
        raise PlanError(
            "holds a password, which would come into results: remove it, and name its place by "
            '`password = { env = "NAME" }` or `{ passfile = "PATH" }`'
        )
    if SCHEMES.get(uri.scheme) != arm.engine:
        engine = SCHEMES.get(uri.scheme)
        remedy = f'write engine = "{engine}"' if engine else form(arm.engine)
        raise PlanError(f"is not for engine `{arm.engine}`; {remedy}")
    said = parameters(uri.query, family)
    database = unquote(uri.path.removeprefix("/"))
    if not uri.username or not database or not (uri.hostname or HOST in said):
        raise PlanError(f"names no user, host or database; {form(arm.engine)}")
    mode = said.get(MODE, "").lower()
    tls = tls_mode(mode, family)
    keys = {what: key for key, what in KEYS[family].items()}
    if tls == "verify-ca" and ROOT not in said:
        raise PlanError(f"asks for `{mode}` but names no certificates: add `{keys[ROOT]}`")
    if tls in (None, PREFERRED, "require") and ROOT in said:
        modes = ", ".join(f"`{one}`" for one in MODES[family] if one.startswith("verify"))
        raise PlanError(
            f"has `{keys[ROOT]}`, at which nobody looks: ask by `{keys[MODE]}` for one of {modes}"
        )
    host = said.get(HOST) or unquote(uri.hostname or "")
    if host.startswith("/") and tls == PREFERRED:
        tls = None  # a unix socket has none, and needs none
    return Address(
        host=host,
        port=port or PORTS[arm.engine],
        user=unquote(uri.username),
        database=database,
        password=arm.password,
        tls=tls,
        tls_root=Path(said[ROOT]) if ROOT in said else None,
    )


def parameters(query: str, family: str) -> dict[str, str]:
    """What stands after `?`, by what it says. Raises PlanError for what is not known."""
    found = {}
    for key, value in parse_qsl(query, keep_blank_values=True):
        if key == "password":
            raise PlanError("holds a password, which would come into results: remove it")
        if key not in KEYS[family]:
            known = ", ".join(f"`{one}`" for one in KEYS[family])
            raise PlanError(f"has a parameter `{key}` that is not known; there are {known}")
        found[KEYS[family][key]] = value
    return found


def tls_mode(mode: str, family: str) -> str | None:
    """What of a certificate is checked, as libpq names it; None: no TLS. Raises PlanError."""
    if not mode:
        return PREFERRED
    if mode in NO_TLS:
        return None
    if mode not in MODES[family]:
        known = ", ".join(f"`{one}`" for one in (NO_TLS[family == "mysql"], *MODES[family]))
        raise PlanError(f"asks for TLS as `{mode}`; there are {known}, which say what is checked")
    return MODES[family][mode]


def form(engine: str) -> str:
    """How a DSN is written."""
    scheme = "postgresql" if engine == "postgres" else engine
    return f'write it as "{scheme}://user@host:{PORTS[engine]}/database"'
