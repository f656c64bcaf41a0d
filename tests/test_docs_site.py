"""The site of `make docs`: whole, without a network, and with a search that works from a file."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import docs_site
import published_folder
from browser import Tab, chromium

pytestmark = pytest.mark.long
"""Building the site takes over ten seconds."""

ROOT = Path(__file__).parent.parent
FETCHED = re.compile(r'(?:src="|<link [^>]*href=")(https?:|//)[^"]*')


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` builds it: a link or an anchor that leads nowhere fails it."""
    folder = tmp_path_factory.mktemp("docs") / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with chromium(tmp_path_factory.mktemp("browser")) as browser:
        yield browser.tab()


def test_every_page_is_in_the_navigation_and_fetches_nothing(site: Path) -> None:
    home = (site / "index.html").read_text()
    for page in docs_site.pages():
        built = "index.html" if page == "README.md" else page.removesuffix(".md") + ".html"
        built = built.replace("/README.html", "/index.html")
        text = (site / built).read_text()
        assert not FETCHED.search(text), f"{page}: {FETCHED.search(text)}"
        assert f'href="{built}"' in home or built == "index.html", f"{page} is not in mkdocs.yml"


def test_a_plan_that_a_page_links_to_is_a_page(site: Path) -> None:
    assert "plan/shipped/pg12-pg18.toml.html" in (site / "docs/howto/upgrade.html").read_text()
    assert "base" in (site / "dbdyno/plan/shipped/pg12-pg18.toml.html").read_text()


def test_the_example_of_a_published_result_is_in_the_site(site: Path) -> None:
    page = (site / "docs/howto/publish.html").read_text()
    (link,) = re.findall(r'href="(\.\./example/[^"]+/index\.html)"', page)
    example = (site / "docs/howto" / link).parent
    assert published_folder.broken(example) == []
    assert len(published_folder.entries(example / "feed.xml")) == 1
    assert "pg18 against pg17: " in published_folder.badge(example / "badge.svg")


def test_the_search_finds_a_page_from_a_file(site: Path, tab: Tab) -> None:
    tab.open(site / "docs" / "plan.html")
    tab.run("document.querySelector('.md-search__input').focus()")
    tab.wait("document.querySelector('.md-search-result__meta').textContent.includes('Type to')")
    tab.ask("Input.insertText", text="frequency governor")
    tab.ask("Input.dispatchKeyEvent", type="keyUp", key="r")
    tab.wait("document.querySelector('.md-search-result__item a')")
    found = tab.run("[...document.querySelectorAll('.md-search-result__item a')].map(a => a.href)")
    assert any("/docs/doctor.html" in address for address in found)
    assert tab.said == []


def test_a_page_fits_a_telephone(site: Path, tab: Tab) -> None:
    tab.width(390, 844, mobile=True)
    for page in ("index.html", "docs/metrics.html", "docs/howto/ci.html"):
        tab.open(site / page)
        assert tab.run("document.documentElement.scrollWidth") <= 390, page
    assert tab.said == []
