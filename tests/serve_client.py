"""A client of the pages of `dyno serve`, and the results that they show."""

import shutil
from pathlib import Path

from starlette.testclient import TestClient

from dbdyno.serve.access import Access
from dbdyno.serve.app import application

EXAMPLE = Path(__file__).parent / "example_results" / "example"


def client(*roots: Path, token: str | None = None) -> TestClient:
    """A client on this machine; without the cookie of a token."""
    made = application(roots, Access(token))
    return TestClient(made, base_url="http://127.0.0.1:8765", follow_redirects=False)


def example(folder: Path) -> Path:
    """A copy of the example result as this folder."""
    shutil.copytree(EXAMPLE, folder)
    return folder


def renamed(folder: Path, old: str, new: str) -> None:
    """Replaces a text in a result's plan."""
    path = folder / "plan.json"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
