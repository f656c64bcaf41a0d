"""What readers of the example results see: nothing is cut, intervals are named, hints work."""

import ast
import html
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

import example_pages
import test_docs_tried
from dbdyno.parts.drawing import Effects
from dbdyno.parts.part import Page, Text, charts, flat
from dbdyno.report import post
from dbdyno.report.render import html as as_html
from dbdyno.report.render import markdown
from dbdyno.report.render import post as rendered

ROOT = Path(__file__).parent.parent / "dbdyno"
CUT = "…"


def words_of(part: Any) -> Iterator[str]:
    """Every text within a part of a page."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, tuple | list):
        for each in part:
            yield from words_of(each)
    elif is_dataclass(part):
        for field in fields(part):
            yield from words_of(getattr(part, field.name))


# --- Reasons ---------------------------------------------------------------------------------


def reasons(page: Page) -> Iterator[str]:
    """Why steps changed, as the answer has it, and what is said beside their words."""
    for chart in charts(page.parts):
        if isinstance(chart.data, Effects):
            for effect in chart.data.effects:
                yield from (effect.figures, effect.also.lstrip("; "), effect.reason)


def flowing(text: str) -> str:
    """A text without its line ends."""
    return " ".join(text.replace("\u00a0", " ").split())


@pytest.mark.parametrize("width", [60, 80, 200])
@pytest.mark.parametrize("kind", example_pages.KINDS)
def test_no_reason_is_cut(kind: str, width: int) -> None:
    page = example_pages.report(kind)
    screens = {name: flowing(text) for name, text in example_pages.screens(kind, width).items()}
    text = markdown.render(page).replace("\\", "")
    for reason in filter(None, reasons(page)):
        assert CUT not in reason
        assert flowing(reason) in screens["all"]
        assert flowing(reason) in flowing(html.unescape(text)).replace("&lt;", "<")
    of_texts = {line for line in words_of(page.parts) if CUT in line}
    for name in ("answer", "tables"):
        own = [line for line in screens[name].split(". ") if CUT in line]
        assert all(any(flowing(line) in each for line in of_texts) for each in own)


# --- Intervals -------------------------------------------------------------------------------

INTERVAL = re.compile(r"\[(?:[+−]?[\d.,]+(?:e\d+)?, [+−]?[\d.,]+(?:e\d+)?|too few repeats)\]")
METRIC = re.compile(
    r"throughput|CPU|time|p99|quer|insert|rows|pages|reads|writes|WAL|waits|work|ratio|bytes|"
    r"instructions|latency|checkpoint|switches|MiB|seconds|response|lock|client"
)


@pytest.mark.parametrize("kind", example_pages.KINDS)
def test_every_interval_in_a_sentence_has_its_metric_named(kind: str) -> None:
    """Between it and the interval, or the semicolon, before."""
    page, count = example_pages.report(kind), 0
    for text in words_of(
        [part for part in flat(page.parts) if isinstance(part, Text) and part.form != "code"]
    ):
        count += named(text)
    for chart in charts(page.parts):
        if isinstance(chart.data, Effects):
            count += sum(map(named, words_of(chart.data)))
    assert count or example_pages.comparison(kind).blocks < 2


def named(text: str) -> int:
    """Checks the intervals of a text; how many there are."""
    begin = count = 0
    for found in INTERVAL.finditer(text):
        before = re.split(r"; |\. ", text[begin : found.start()])[-1]
        assert METRIC.search(before), f"no metric before {found[0]}: {text}"
        begin, count = found.end(), count + 1
    return count


def test_an_interval_without_a_metric_is_found() -> None:
    assert named("throughput +1.0 % [+0.5, +1.5] and CPU −1.0 % [−1.5, −0.5]") == 2
    for text in ("faster +1.0 % [+0.5, +1.5]", "CPU +1 % [+0, +2]; 3 % [too few repeats]"):
        with pytest.raises(AssertionError, match="no metric before"):
            named(text)


# --- The order of steps ----------------------------------------------------------------------


@pytest.mark.parametrize("kind", example_pages.KINDS)
def test_every_arm_has_its_steps_in_the_order_of_the_plan(kind: str) -> None:
    comparison, page = example_pages.comparison(kind), example_pages.report(kind)
    several = len({step.workload for step in comparison.steps}) > 1
    order = [f"{s.workload} {s.step}" if several else s.step for s in comparison.steps]
    for chart in charts(page.parts):
        if isinstance(chart.data, Effects):
            steps = [effect.step.rstrip("†‡‖§") for effect in chart.data.effects]
            assert steps == sorted(steps, key=order.index)


# --- Hints -----------------------------------------------------------------------------------

CODE = re.compile(r"<(?:code|pre)[^>]*>(dyno [^<]+)</(?:code|pre)>")
OUTPUTS = {"html", "post", "markdown", "pictures", "flame", "to", "out", "site", "file"}


def hints(kind: str, folder: Path) -> set[str]:
    """The commands that pages of an example and a terminal give to their readers."""
    page = example_pages.report(kind)
    of_post = post.make(example_pages.comparison(kind))
    (made,) = rendered.one_page(of_post, folder / "p.html").values()
    pages = (as_html.render(page), made.decode())
    found = {html.unescape(code) for text in pages for code in CODE.findall(text)}
    screen = example_pages.screens(kind, 1000)
    found |= set(re.findall(r"^All tables: (dyno .*)$", screen["answer"], re.MULTILINE))
    return found | set(re.findall(r"^ *(dyno run .*?)   \(dyno", screen["all"], re.MULTILINE))


@pytest.mark.parametrize("kind", example_pages.KINDS)
def test_every_hint_of_a_page_is_a_command_that_works_on_paths_that_are_there(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = example_pages.comparison(kind).plan
    (tmp_path / f"{plan.name}.toml").write_text(plan.text or "")  # as the page says
    monkeypatch.chdir(tmp_path)
    found = hints(kind, tmp_path)
    assert len(found) >= 2
    for hint in found:
        for name, value in parsed(hint).items():
            if isinstance(value, Path) and name not in OUTPUTS:
                assert value.exists(), f"{hint}: {value}"


def parsed(hint: str) -> dict[str, Any]:
    """The parameters of a command; none of a mere name of one."""
    (words,) = test_docs_tried.of_script(hint)
    command, rest = test_docs_tried.root(), words
    while rest and rest[0] in getattr(command, "commands", {}):
        command, rest = command.commands[rest[0]], rest[1:]
    group = hasattr(command, "commands")
    assert not group or rest[0].startswith("-"), f"no command: {hint}"
    if group or not rest or rest == ["--help"]:
        return {}
    given = dict(command.make_context(hint, list(rest)).params)
    return {name: Path(value) if name in PATHS else value for name, value in given.items() if value}


PATHS = {"folder", "plan"}
HINT = re.compile(r"`(dyno [^`\n]+)`|(?:^|[:>] )(dyno (?:NAMES)\b(?!:)[^\n<;]*)")
PLAN = re.compile(r"^dyno (run|check|calibrate|doctor) 18\b")
"""A plan's file is no mere word, which would name one that comes along."""
NO_COMMANDS = {"dyno waits", "dyno lag", "dyno gate", "dyno inquiry", "dyno bisect: build"}


def messages(path: Path) -> Iterator[tuple[int, str]]:
    """The texts of a module that are not docstrings; a value within stands as `18`."""
    tree = ast.parse(path.read_text())
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    whole = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    inner = {id(part) for node in whole for part in ast.walk(node) if part is not node}
    for node in ast.walk(tree):
        if id(node) in inner | docs:
            continue
        if isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else "18" for part in node.values)
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


@pytest.mark.parametrize("room", sorted(path.name for path in ROOT.iterdir() if path.is_dir()))
def test_every_hint_of_a_message_is_a_command_with_all_that_it_takes(room: str) -> None:
    """Or the mere name of one, which promises nothing."""
    pattern = re.compile(HINT.pattern.replace("NAMES", "|".join(test_docs_tried.root().commands)))
    for path in sorted((ROOT / room).rglob("*.py")):
        if "dyno " not in path.read_text():
            continue
        for line, text in messages(path):
            for found in pattern.finditer(text):
                hint = (found[1] or found[2]).split("   (dyno")[0].split("   #")[0].strip()
                if hint in NO_COMMANDS or hint.partition(" … ")[1]:
                    continue
                try:
                    parsed(PLAN.sub(r"dyno \1 18.toml", hint))
                except Exception as error:
                    pytest.fail(f"{path}:{line}: {hint}: {error}")
