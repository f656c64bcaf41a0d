"""What lies at a web address, with each way to fail as one line."""

import hashlib
import time
from collections.abc import Iterator, Mapping
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, Request, build_opener, getproxies, proxy_bypass

from dbdyno.model.error import ServerError, refusal

ANSWER_S_MAX = 30.0
"""How long a site may say nothing."""
DOWNLOAD_S_MAX = 900.0
CHUNK_BYTES = 1 << 18
PAGE_BYTES_MAX = 1 << 22
AGENT = {"User-Agent": "dbdyno"}
"""Some sites refuse the name by which Python's library calls itself."""
NOT_THERE = (403, 404, 410)
"""What sites answer for a file that does not exist; object stores answer 403."""


def page(url: str, remedy: str) -> str:
    """The text at an address. Raises ServerError, with the remedy, where it cannot be had."""
    content = b""
    for chunk in chunks(url, remedy):
        content += chunk
        if len(content) > PAGE_BYTES_MAX:
            raise ServerError(f"`{url}` is no list and no checksum: {remedy}")
    return content.decode(errors="replace")


def page_if_there(url: str, remedy: str) -> str | None:
    """The text at an address, None if nothing is there. Raises ServerError as `page` does."""
    return page(url, remedy) if exists(url, remedy) else None


def exists(url: str, remedy: str) -> bool:
    """Whether something is at an address; asks for its head alone.

    Raises ServerError where the site does not tell.
    """
    try:
        with open_url(url, "HEAD"):
            return True
    except HTTPError as error:
        error.close()
        if error.code in NOT_THERE:
            return False
        raise refused(url, error) from error
    except (OSError, HTTPException, ValueError) as error:
        raise unreachable(url, error, remedy) from error


def bring(url: str, path: Path, remedy: str, hashes: tuple[str, ...]) -> Mapping[str, str]:
    """Writes what lies at `url` into the file `path`; returns its checksums, in hexadecimal.

    Raises ServerError where it cannot be brought or written; then there is no such file.
    """
    found = {name: hashlib.new(name, usedforsecurity=name != "md5") for name in hashes}
    try:
        with path.open("wb") as file:
            for chunk in chunks(url, remedy):
                for one in found.values():
                    one.update(chunk)
                file.write(chunk)
    except OSError as error:
        path.unlink(missing_ok=True)
        raise ServerError(f"`{path}` cannot be written: {refusal(error)}") from error
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return {name: one.hexdigest() for name, one in found.items()}


def chunks(url: str, remedy: str) -> Iterator[bytes]:
    """What lies at an address, piece by piece. Raises ServerError where it cannot be had."""
    end_s = time.monotonic() + DOWNLOAD_S_MAX
    try:
        with open_url(url, "GET") as answer:
            if url.startswith("https:") and not answer.url.startswith("https:"):
                raise ValueError(f"the site sends to `{answer.url}`, without TLS")
            while chunk := answer.read(CHUNK_BYTES):
                if time.monotonic() > end_s:
                    raise TimeoutError(f"not within {DOWNLOAD_S_MAX:.0f} s")
                yield chunk
            if missing := getattr(answer, "length", None):
                raise ConnectionError(f"the answer broke off {missing} bytes before its end")
    except HTTPError as error:
        error.close()
        raise refused(url, error) from error
    except (OSError, HTTPException, ValueError) as error:
        raise unreachable(url, error, remedy) from error


def open_url(url: str, method: str) -> HTTPResponse:
    """The beginning of an answer, by a proxy where the environment names one.

    Python's library knows `http_proxy`, `https_proxy` and `no_proxy`, but not `all_proxy`.
    """
    request = Request(url, headers=AGENT, method=method)
    opener = build_opener(ProxyHandler(proxies()))
    answer: HTTPResponse = opener.open(request, timeout=ANSWER_S_MAX)
    return answer


def proxies() -> dict[str, str]:
    """By scheme the proxy that the environment names."""
    named = getproxies()
    if (proxy := named.get("all", "")).startswith("http"):
        named = {"http": proxy, "https": proxy, **named}
    return named


def refused(url: str, error: HTTPError) -> ServerError:
    """The site answers that it does not give this."""
    hint = "is there such a version?" if error.code in NOT_THERE else "try again later"
    return ServerError(f"`{url}`: {error.code} {error.reason}: {hint}")


def unreachable(url: str, error: Exception, remedy: str) -> ServerError:
    """The site gives no answer, or no whole one."""
    reason = getattr(error, "reason", None) or error
    site = urlsplit(url)
    proxy = None if proxy_bypass(site.hostname or "") else proxies().get(site.scheme)
    # Without the account that may stand in a proxy's address.
    way = "" if proxy is None else f" through the proxy `{proxy.rpartition('@')[2]}`"
    return ServerError(f"`{url}` cannot be reached{way}: {reason}: check the network, {remedy}")
