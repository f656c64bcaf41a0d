"""Commands that pages give to their readers: each works as it stands."""

from shlex import quote


def full(folder: str) -> str:
    """The command that prints all tables of a result."""
    return f"dyno compare {quote(folder)} --full"


def flames(folder: str) -> str:
    """The command that draws the flame graphs of a result into files."""
    return f"dyno export {quote(folder)} --flame flames"


def page(folder: str) -> str:
    """The command that writes all tables and charts of a result as one page."""
    return f"dyno report {quote(folder)} --html report.html"
