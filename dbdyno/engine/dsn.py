"""A server's place as one text: a URI of PostgreSQL or MySQL, without a password. Pure."""

import re
from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from dbdyno import engine
from dbdyno.engine.dsn_form import (
    ADDRESS,
    BINDING,
    CERTIFICATE,
    DATABASE,
    GSSAPI,
    HOST,
    KEY,
    MODE,
    NEGOTIATION,
    OPTIONS,
    PASSFILE,
    PORT,
    ROOT,
    SESSION,
    USER,
    DsnForm,
)
from dbdyno.model import Address, Arm, Password, Tls
from dbdyno.model.address import PREFERRED
from dbdyno.model.engine import having
from dbdyno.model.error import PlanError

NO_TLS = ("disable", "disabled")
PORT_MAX = 65_535
PLACE = re.compile(r"(\[[^]]*\]|[^:]*)(?::(.*))?|.*", re.DOTALL)
"""A host, or an IPv6 address in brackets, and its port."""


def address(arm: Arm) -> Address:
    """The address of the arm's server. Raises PlanError in a line that begins with the mistake."""
    assert arm.dsn is not None, "an arm whose server runs elsewhere has a DSN"
    written = engine.of(arm.engine).dsn
    try:
        uri = urlsplit(arm.dsn)
    except ValueError as error:
        raise PlanError(f"is not a URI ({error}); {form(written)}") from error
    before, _, hosts = uri.netloc.rpartition("@")
    user, colon, _ = before.partition(":")
    if colon:
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
    user = said.get(USER) or unquote(user)
    database = said.get(DATABASE) or unquote(uri.path.removeprefix("/"))
    places = places_of(unquote(hosts), said, written)
    if not user or not database or not all(host for host, _ in places):
        raise PlanError(f"names no user, host or database; {form(written)}")
    host, port = places[0]
    password = arm.password
    if password is None and PASSFILE in said:
        password = Password(passfile=Path(said[PASSFILE]))
    return Address(
        host=host,
        port=port,
        user=user,
        database=database,
        password=password,
        tls=tls(said, written, by_socket=host.startswith("/")),
        ip=said.get(ADDRESS) or None,
        options=said.get(OPTIONS) or None,
        session=said.get(SESSION, "any"),
        places=places if len(places) > 1 else (),
    )


def places_of(hosts: str, said: Mapping[str, str], written: DsnForm) -> tuple[tuple[str, int], ...]:
    """Hosts and their ports: those of a URI, as the parameters change them. Raises PlanError."""
    in_uri = [match for match in map(PLACE.fullmatch, hosts.split(",")) if match is not None]
    names = [name for name in said.get(HOST, "").split(",") if name]
    names = names or [match[1] or "" for match in in_uri]
    ports = said.get(PORT, "").split(",")
    ports = ports if any(ports) else [match[2] or "" for match in in_uri]
    found = []
    for number, host in enumerate(names):
        text = ports[number if len(ports) == len(names) else 0] or str(written.port)
        if not text.isdecimal() or int(text) > PORT_MAX:
            raise PlanError(f"is not a URI (port `{text}`); {form(written)}")
        found.append((host.strip("[]") or said.get(ADDRESS, ""), int(text)))
    return tuple(found)


def parameters(query: str, form: DsnForm) -> dict[str, str]:
    """The parameters after `?` that dyno takes, by what they say. Raises PlanError for others."""
    found = {}
    for key, value in parse_qsl(query, keep_blank_values=True):
        if key in form.refused:
            raise PlanError(form.refused[key])
        if key in form.ignored:
            continue
        if key not in form.keys:
            known = ", ".join(f"`{one}`" for one in (*form.keys, *form.ignored))
            raise PlanError(f"has a parameter `{key}` that is unknown; there are {known}")
        meaning = form.keys[key]
        values = form.choices.get(meaning, (value,))
        if value not in values:
            known = ", ".join(f"`{other}`" for other in values)
            raise PlanError(f"has `{key}={value}`; use one of {known}")
        found[meaning] = value
    if ADDRESS in found:
        try:
            ip_address(found[ADDRESS])
        except ValueError as error:
            raise PlanError(f"has `hostaddr`, but it is no IP address ({error})") from error
    return found


def passed_over(arm: Arm) -> Iterator[str]:
    """A sentence for each parameter of the arm's places that dyno passes over."""
    places = {} if arm.dsn is None else {"dsn": arm.dsn}
    places |= {f"endpoints.{name}": text for name, text in arm.endpoints.items()}
    for key, text in places.items():
        ignored = engine.of(arm.engine).dsn.ignored
        for parameter, _ in parse_qsl(urlsplit(text).query, keep_blank_values=True):
            if parameter in ignored:
                why = ignored[parameter]
                yield f"arms.{arm.name}.{key}: `{parameter}` does nothing here: {why}"


def tls(said: Mapping[str, str], form: DsnForm, *, by_socket: bool) -> Tls | None:
    """How parameters say that a connection is encrypted; None: it is not. Raises PlanError."""
    keys = {meaning: key for key, meaning in form.keys.items()}
    mode = tls_mode(said.get(MODE, "").lower(), form)
    for one, other in ((CERTIFICATE, KEY), (KEY, CERTIFICATE)):
        if one in said and other not in said:
            raise PlanError(f"names a `{keys[one]}` but no `{keys[other]}`: add it")
    if said.get(GSSAPI) == "require":
        raise PlanError(
            f"asks for encryption by GSSAPI, which dyno does not speak: remove `{keys[GSSAPI]}`, "
            f"and ask for TLS by `{keys[MODE]}=require`"
        )
    if mode == "verify-ca" and ROOT not in said:
        raise PlanError(f"asks for `{said[MODE]}` but names no certificates: add `{keys[ROOT]}`")
    if mode in (None, PREFERRED, "require") and ROOT in said:
        raise PlanError(f"has `{keys[ROOT]}`, which this mode ignores: {stricter(form, 'verify')}")
    direct, binding = said.get(NEGOTIATION) == "direct", said.get(BINDING, PREFERRED)
    if direct and mode in (None, PREFERRED):
        raise PlanError(
            f"asks for `{keys[NEGOTIATION]}=direct`, which a server without TLS cannot be asked "
            f"for: {stricter(form, '')}"
        )
    if mode is None or (by_socket and mode == PREFERRED):
        if CERTIFICATE in said or binding == "require":
            key = keys[CERTIFICATE if CERTIFICATE in said else BINDING]
            remedy = "remove it" if by_socket else f"remove it, or {stricter(form, '')}"
            raise PlanError(f"has `{key}`, but the connection has no TLS: {remedy}")
        return None  # a unix socket has none, and needs none
    return Tls(mode, said.get(ROOT), said.get(CERTIFICATE), said.get(KEY), direct, binding)


def stricter(form: DsnForm, beginning: str) -> str:
    """The remedy that names the modes of such a beginning which always encrypt."""
    modes = ", ".join(
        f"`{name}`"
        for name, mode in form.modes.items()
        if mode.startswith(beginning) and mode != PREFERRED
    )
    (key,) = (key for key, meaning in form.keys.items() if meaning == MODE)
    return f"ask by `{key}` for one of {modes}"


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
