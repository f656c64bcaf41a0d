"""Lets only holders of the token read, or every account of this machine if it is to be open."""

import secrets
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from ipaddress import ip_address
from urllib.parse import parse_qs, urlencode

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

REFUSED = "open the link that `dyno serve` has printed: it has a token"
FOREIGN = "this server answers to its own address alone"
GUARDS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
}
"""Headers of every answer that does not have its own."""


@dataclass(frozen=True)
class Access:
    """The condition for a request: the token; without one, a name of the loopback."""

    token: str | None = None


def is_loopback(host: str) -> bool:
    """Whether an address or a name is of this machine alone."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


class Door:
    """Lets requests through that may read; a link with the token is answered with a cookie."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._token = access.token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request, or hands it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        guarded = _guarded(send)
        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, guarded)
        else:
            await self._app(scope, receive, guarded)

    def _refusal(self, scope: Scope) -> ASGIApp | None:
        headers = Headers(scope=scope)
        if self._token is None:  # a page elsewhere may have a name that leads to this machine
            own = is_loopback(_name(headers.get("host", "")))
            return None if own else PlainTextResponse(FOREIGN, 403)
        asked = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        if self._is_token(asked.pop("token", [""])[0]):
            query = urlencode(asked, doseq=True)
            here = f"/{scope['path'].lstrip('/')}"  # `//name` would be another server
            answer = RedirectResponse(here + (f"?{query}" if query else ""), 303)
            answer.set_cookie(_cookie_name(scope), self._token, httponly=True, samesite="lax")
            return answer
        if self._is_token(_cookie(headers, _cookie_name(scope))):
            return None
        return PlainTextResponse(REFUSED, 403)

    def _is_token(self, text: str) -> bool:
        assert self._token is not None
        return secrets.compare_digest(text.encode(), self._token.encode())


def _name(host: str) -> str:
    """The name in a Host header: [::1]:8000 gives ::1."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _cookie_name(scope: Scope) -> str:
    """The name of this server's cookie: browsers keep cookies by host, not by port."""
    return f"dyno-{scope['server'][1]}"


def _cookie(headers: Headers, name: str) -> str:
    try:
        cookie = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return cookie.value if cookie is not None else ""


def _guarded(send: Send) -> Send:
    async def with_guards(message: Message) -> None:
        if message["type"] == "http.response.start":
            there = {name for name, _ in message["headers"]}
            more = [(name.encode(), value.encode()) for name, value in GUARDS.items()]
            message["headers"] = [
                *message["headers"],
                *(each for each in more if each[0] not in there),
            ]
        await send(message)

    return with_guards
