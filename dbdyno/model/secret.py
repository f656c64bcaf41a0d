"""Passwords in texts that leave this machine: in addresses, and as values of a key `password`."""

import re

MASK = b"..."
_END = rb"(?:(?!&#3[49];|&quot;)[^\s\"'\\<>])"
"""A character of a password, also where quotes are escaped for HTML."""
_IN_ADDRESS = re.compile(rb"(?P<before>://[^\s/?#:@\"'<>]*:)(?!\.\.\.@)[^\s/?#\"'<>]+@")
_AFTER_KEY = re.compile(
    rb"(?P<before>(?:(?<![A-Za-z0-9_.])password|PASSWORD|MYSQL_PWD)"
    rb"(?:\\?[\"']|&#3[49];|&quot;)?\s*[=:]\s*(?:\\?[\"']|&#3[49];|&quot;)?)"
    rb"(?!null\b|None\b|\.\.\.|\*)[^\s\"'\\<>{}\[\],;&$?]" + _END + rb"*"
)
"""A place of a password (`{ env = "NAME" }`) and a parameter (`$1`) are none."""
_SIGNS = (b"://", b"password", b"PASSWORD", b"MYSQL_PWD")
"""Texts without any of these, which are found fast, have no password."""


def masked(content: bytes) -> bytes:
    """A text in UTF-8, markup or not, in which passwords are three points."""
    without = _IN_ADDRESS.sub(rb"\g<before>" + MASK + b"@", content)
    return _AFTER_KEY.sub(rb"\g<before>" + MASK, without)


def has_password(content: bytes) -> bool:
    """Whether a text holds what `masked` takes out."""
    if not any(sign in content for sign in _SIGNS):
        return False
    return any(pattern.search(content) for pattern in (_IN_ADDRESS, _AFTER_KEY))
