"""What tests ask of a published folder: its links, its feed, and its badge."""

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

ATOM = "{http://www.w3.org/2005/Atom}"
SVG = "{http://www.w3.org/2000/svg}"
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
URN = re.compile(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Links(HTMLParser):
    """The addresses that a page leads to or loads, and the elements that it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.tags: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]
        self.anchors |= {value or "" for name, value in attrs if name == "id"}


def broken(site: Path) -> list[str]:
    """Each link of each page, of the feed, too, that leads nowhere or out of the folder."""
    return [
        f"{page.relative_to(site)}: {link}"
        for page in [*site.rglob("*.html"), site / "feed.xml"]
        for link in links(page)
        if not leads(site, page, link)
    ]


def links(page: Path) -> list[str]:
    """The addresses that a page or a feed has."""
    if page.suffix == ".html":
        return Links(page.read_text()).links
    return [link.attrib["href"] for link in ElementTree.parse(page).iter(f"{ATOM}link")]


def leads(site: Path, page: Path, link: str) -> bool:
    """Whether a link has a path from its page on, to a file of the folder and a place in it."""
    if link == "data:,":  # no icon
        return True
    parts = urlsplit(link)
    if parts.scheme or parts.netloc or parts.query or parts.path.startswith("/"):
        return False
    target = ((page.parent / unquote(parts.path)) if parts.path else page).resolve()
    if not target.is_file() or not target.is_relative_to(site.resolve()):
        return False
    return not parts.fragment or unquote(parts.fragment) in Links(target.read_text()).anchors


def entries(feed: Path) -> list[ElementTree.Element]:
    """The entries of a feed that has all that RFC 4287 asks for."""
    root = ElementTree.parse(feed).getroot()
    assert root.tag == f"{ATOM}feed"
    found = root.findall(f"{ATOM}entry")
    for element in (root, *found):
        for name in ("id", "title", "updated"):
            assert len(element.findall(f"{ATOM}{name}")) == 1, name
        assert URN.fullmatch(text(element, "id"))
        assert MOMENT.fullmatch(text(element, "updated"))
        kinds = [link.attrib["rel"] for link in element.findall(f"{ATOM}link")]
        assert kinds.count("alternate") == 1
    assert text(root.find(f"{ATOM}author"), "name")
    names = [text(element, "id") for element in (root, *found)]
    assert len(set(names)) == len(names)
    return found


def text(element: ElementTree.Element | None, name: str) -> str:
    """What an element of a feed says by another one."""
    assert element is not None
    return element.findtext(f"{ATOM}{name}") or ""


def badge(picture: Path) -> str:
    """What a badge says: an SVG that needs nothing else, and whose boxes hold their texts."""
    root = ElementTree.parse(picture).getroot()
    assert root.tag == f"{SVG}svg"
    width = float(root.attrib["width"])
    texts = root.findall(f".//{SVG}text")
    for box in texts:
        assert (
            0
            < float(box.attrib["x"])
            < float(box.attrib["x"]) + float(box.attrib["textLength"])
            < width
        )
    foreign = [name for element in root.iter() for name in element.attrib if "href" in name]
    assert not foreign and not root.findall(f".//{SVG}script")
    assert ": ".join(box.text or "" for box in texts) == root.findtext(f"{SVG}title")
    return root.findtext(f"{SVG}title") or ""
