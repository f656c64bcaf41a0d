"""The feed of changes, in Atom's form (RFC 4287): results and findings, the newest first. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import NAMESPACE_URL, UUID, uuid5
from xml.etree import ElementTree

from dbdyno.serve.folders import ListedResult

ATOM = "http://www.w3.org/2005/Atom"
ENTRIES_MAX = 100
FOREIGN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML may have, not even escaped."""


@dataclass(frozen=True, kw_only=True)
class FeedEntry:
    """A result, or a finding of a farm."""

    name: str  # that no other has; its identifier is made of it, and stays
    title: str
    summary: str
    link: str  # from the feed's own folder
    changed_s: float  # Unix time
    raw: tuple[str, int] | None = None  # the link to raw data, and its bytes


def new_id(results: Sequence[ListedResult]) -> str:
    """The identifier of a new feed, of what it begins with."""
    begun = " ".join(f"{result.key} {result.begun_s}" for result in results)
    return uuid5(NAMESPACE_URL, f"urn:dbdyno:{begun}").urn


def atom(identifier: str, entries: Sequence[FeedEntry], *, home: str, own: str) -> bytes:
    """A feed of the newest entries; `home` and `own`: the addresses of its page and its own."""
    newest = sorted(entries, key=lambda entry: (-entry.changed_s, entry.name))[:ENTRIES_MAX]
    ElementTree.register_namespace("", ATOM)
    feed = ElementTree.Element(f"{{{ATOM}}}feed")
    _add(feed, "id", identifier)
    _add(feed, "title", "Results of dyno")
    _add(feed, "updated", stamp(newest[0].changed_s if newest else 0.0))
    _add(_add(feed, "author"), "name", "dyno")
    _add(feed, "link", rel="alternate", href=home)
    _add(feed, "link", rel="self", href=own)
    for entry in newest:
        _add_entry(feed, identifier, entry)
    ElementTree.indent(feed)
    text: bytes = ElementTree.tostring(feed, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _add_entry(feed: ElementTree.Element, identifier: str, entry: FeedEntry) -> None:
    made = _add(feed, "entry")
    _add(made, "id", uuid5(UUID(identifier), entry.name).urn)
    _add(made, "title", entry.title)
    _add(made, "updated", stamp(entry.changed_s))
    _add(made, "link", rel="alternate", type="text/html", href=entry.link)
    if entry.raw is not None:
        link, length = entry.raw
        _add(made, "link", rel="enclosure", type="application/gzip", href=link, length=f"{length}")
    _add(made, "summary", entry.summary)


def _add(
    parent: ElementTree.Element, name: str, text: str = "", **attributes: str
) -> ElementTree.Element:
    child = ElementTree.SubElement(parent, f"{{{ATOM}}}{name}", attributes)
    if text:
        child.text = xml_text(text)
    return child


def xml_text(text: str) -> str:
    """A text of characters that XML may have."""
    return FOREIGN.sub("\ufffd", text)


def stamp(unix_s: float) -> str:
    """A moment as RFC 3339 has it."""
    return datetime.fromtimestamp(int(unix_s), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
