"""Each rule of tools/tidy.py finds what it is for; `make check` asks whether the tree keeps it."""

from collections.abc import Mapping
from pathlib import Path

import pytest

import tidy

ROOT = Path(__file__).resolve().parents[1]
CARGO = '[lib]\npath = "loadgen/src/lib.rs"\n[[bin]]\npath = "loadgen/src/main.rs"\n'


def plant(root: Path, texts: Mapping[str, str]) -> list[str]:
    """What tidy says of a tree of these texts by path."""
    for path, text in texts.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return [str(violation) for violation in tidy.check(root)]


def test_the_tree_is_really_read() -> None:
    tree = tidy.read(ROOT)
    some = {"dbdyno/model/plan.py", "loadgen/src/main.rs", "tests/test_tidy.py"}
    assert some <= tree.sources.keys()
    assert not any(path.startswith(("target/", ".venv/")) for path in tree.sources)


def test_each_rule_gives_its_reason_and_has_a_test_here() -> None:
    tested = Path(__file__).read_text()
    for rule in tidy.RULES:
        assert rule.__doc__ and rule.__doc__.endswith(".")
        assert f" {rule.__name__.replace('_', '-')}: " in tested


def test_a_file_that_keeps_the_rules_is_left_alone(tmp_path: Path) -> None:
    assert (
        plant(tmp_path, {"tests/test_one.py": '"""One."""\n\n\ndef test_one():\n    pass\n'}) == []
    )


def test_a_python_function_longer_than_a_screen_is_found(tmp_path: Path) -> None:
    body = "    x = 1\n" * 70
    found = plant(tmp_path, {"tools/one.py": f'"""One."""\n\ndef long():\n{body}'})
    assert found == ["tools/one.py:3 function-length: `long` has 71 lines, at most 70"]


def test_a_rust_function_longer_than_a_screen_is_found_whatever_its_strings_hold(tmp_path: Path):
    traps = ['"}"', "'}'", 'r#"}"#', "b'{'", '"\\"}"']
    body = "".join(f"    f({trap}); // }}\n" for trap in traps) + "    g();\n" * 64
    text = f"//! One.\nfn short<'a>(x: &'a [u8; 4]) -> &'a u8 {{\n}}\nfn long() {{\n{body}}}\n"
    found = plant(tmp_path, {"Cargo.toml": CARGO, "loadgen/src/lib.rs": text})
    assert found == ["loadgen/src/lib.rs:4 function-length: `long` has 71 lines, at most 70"]


def test_a_rust_signature_without_a_body_ends_at_its_semicolon(tmp_path: Path) -> None:
    text = "//! One.\ntrait One {\n    fn one(&self) -> [u8; 4];\n}\n" + "struct A;\n" * 80
    assert plant(tmp_path, {"Cargo.toml": CARGO, "loadgen/src/lib.rs": text}) == []


def test_a_file_with_two_subjects_is_found(tmp_path: Path) -> None:
    found = plant(tmp_path, {"tools/one.py": '"""One."""\n' + "x = 1\n" * 500})
    assert found == ["tools/one.py:501 file-length: 501 lines, at most 500: split it by subject"]


def test_a_file_that_does_not_say_what_it_is_for_is_found(tmp_path: Path) -> None:
    found = plant(tmp_path, {"Cargo.toml": CARGO, "loadgen/src/lib.rs": "fn one() {}\n"})
    assert found == ["loadgen/src/lib.rs:1 file-doc: begin with `//!`: what is it for?"]


@pytest.mark.parametrize("name", ["util", "common", "helpers", "manager"])
def test_a_drawer_for_odds_and_ends_is_found(tmp_path: Path, name: str) -> None:
    found = plant(tmp_path, {f"tools/{name}.py": '"""One."""\n'})
    assert found == [f"tools/{name}.py:1 file-name: `{name}` names no subject"]


@pytest.mark.parametrize("word", ["TO" + "DO", "FIX" + "ME", "XX" + "X"])
def test_a_remark_of_what_is_left_to_do_is_found(tmp_path: Path, word: str) -> None:
    found = plant(tmp_path, {"tools/one.py": f'"""One."""\n# {word}: later\n'})
    assert found == [f"tools/one.py:2 unfinished: `{word}`: do it, or open an issue"]


def test_an_abbreviation_is_found_where_it_is_declared(tmp_path: Path) -> None:
    rust = "//! One.\nfn one(conn: &mut Session) {\n    let stmt = 1;\n    conn_count(stmt);\n}\n"
    found = plant(
        tmp_path,
        {
            "Cargo.toml": CARGO,
            "loadgen/src/lib.rs": rust,
            "tools/one.py": '"""One."""\nfor conn in []:\n    print(conn)\n',
        },
    )
    assert found == [
        "loadgen/src/lib.rs:2 abbreviation: `conn`: write `connection`",
        "loadgen/src/lib.rs:3 abbreviation: `stmt`: write `statement`",
        "tools/one.py:2 abbreviation: `conn`: write `connection`",
    ]


def test_a_file_that_nothing_reaches_is_found(tmp_path: Path) -> None:
    found = plant(
        tmp_path,
        {
            "Cargo.toml": CARGO,
            "dbdyno/stats.py": '"""One."""\nimport dbdyno.stats\n',
            "loadgen/src/lib.rs": "//! One.\npub mod session;\nmod pace;\n// mod lost;\n",
            "loadgen/src/pace.rs": "//! One.\n",
            "loadgen/src/session/mod.rs": "//! One.\nmod fake;\n",
            "loadgen/src/session/fake.rs": (
                '//! One.\nmod deep;\n#[path = "../shared/mod.rs"]\nmod shared;\n'
            ),
            "loadgen/src/shared/mod.rs": "//! One.\n",
            "loadgen/src/session/fake/deep.rs": "//! One.\n",
            "loadgen/src/lost.rs": "//! One.\n",
        },
    )
    assert found == [
        "dbdyno/stats.py:1 unreached: nothing imports `dbdyno.stats`",
        "loadgen/src/lost.rs:1 unreached: no `mod` and no target of Cargo.toml",
    ]


def test_modules_of_a_crate_that_import_in_a_circle_are_found(tmp_path: Path) -> None:
    found = plant(
        tmp_path,
        {
            "Cargo.toml": CARGO,
            "loadgen/src/lib.rs": "//! One.\npub mod draw;\npub mod job;\npub mod value;\n",
            "loadgen/src/draw.rs": "//! One.\nuse crate::job::Job;\n",
            "loadgen/src/job.rs": "//! One.\nmod check;\n",
            "loadgen/src/job/check.rs": "//! One.\nuse crate::value::Bounds;\n",
            "loadgen/src/value.rs": (
                "//! One.\n// use crate::draw::Draw;\nuse crate::value::Skewed;\n"
                "fn place() -> crate::job::Job {}\n"
            ),
        },
    )
    circles = ("job uses value uses job", "value uses job uses value")
    assert found in [[f"loadgen/src/lib.rs:1 rust-circle: {circle}"] for circle in circles]


PACKAGE = {
    "dbdyno/run/__init__.py": '"""Run."""\nfrom dbdyno.run import arm\n',
    "dbdyno/run/lab.py": '"""Lab."""\n',
    "tests/test_one.py": '"""One."""\nimport dbdyno.run\nimport dbdyno.run.lab\n',
}


def test_modules_that_import_what_they_share_are_left_alone(tmp_path: Path) -> None:
    arm = '"""Arm."""\nimport dbdyno.run.lab\nfrom dbdyno.run import lab\n'
    assert plant(tmp_path, PACKAGE | {"dbdyno/run/arm.py": arm}) == []


@pytest.mark.parametrize(
    ("statement", "line"),
    [
        ("from dbdyno.run import of", 3),
        ("import dbdyno.run", 3),
        ("from . import lab, of", 3),
        ("if TYPE_CHECKING:\n    from dbdyno.run import Site", 4),
        ("def f():\n    from dbdyno.run import of", 4),
    ],
)
def test_a_module_that_imports_what_imports_it_is_found(tmp_path: Path, statement: str, line: int):
    arm = f'"""Arm."""\nfrom dbdyno.run import lab\n{statement}\n'
    found = plant(tmp_path, PACKAGE | {"dbdyno/run/arm.py": arm})
    first = "dbdyno/run/__init__.py:2 python-circle: dbdyno.run imports dbdyno.run.arm imports "
    other = f"dbdyno/run/arm.py:{line} python-circle: dbdyno.run.arm imports dbdyno.run imports "
    assert found in [[f"{first}dbdyno.run"], [f"{other}dbdyno.run.arm"]]


def test_a_circle_of_three_modules_is_found(tmp_path: Path) -> None:
    texts = {
        "dbdyno/run/arm.py": '"""Arm."""\nfrom dbdyno.run import site\n',
        "dbdyno/run/lab.py": '"""Lab."""\nfrom dbdyno.run.arm import Run\n',
        "dbdyno/run/site.py": '"""Site."""\nfrom dbdyno.run.lab import Lab\n',
    }
    (found,) = plant(tmp_path, PACKAGE | texts)
    assert " python-circle: dbdyno.run." in found and found.count(" imports ") == 3


@pytest.mark.parametrize(
    "expression",
    [
        'arm.engine == "mysql"',
        '"mysql" != arm.engine',
        'arm.engine in ("other", "mysql")',
        'arm.engine not in {"mysql"}',
        '{"other": 1, "mysql": 2}[arm.engine]',
        'ports["mysql"]',
    ],
)
def test_whoever_compares_an_engines_name_is_found(tmp_path: Path, expression: str) -> None:
    table = (
        '"""Engines."""\nTRAITS: dict[str, int] = {"postgres": 1, "mysql": 2}\nx = "mysql" == 1\n'
    )
    user = f'"""Run."""\nfrom dbdyno.model import engine\ny = lambda arm: {expression}\n'
    texts = {
        "dbdyno/model/engine.py": table,
        "dbdyno/model/__init__.py": '"""Model."""\n',
        "dbdyno/engine/__init__.py": '"""Engine."""\nx = "mysql" == 1\n',
        "dbdyno/run/__init__.py": user,
        "tests/test_one.py": '"""One."""\nimport dbdyno.engine\nimport dbdyno.run\n',
    }
    assert plant(tmp_path, texts) == [
        "dbdyno/run/__init__.py:3 engine-name: `mysql`: ask `can`, a trait or a method of the "
        "engine"
    ]


@pytest.mark.parametrize(
    ("line", "is_found"),
    [
        ("x = sum(y) / len(y)", True),
        ("x = math.fsum(y) / len(y)", True),
        ("from statistics import fmean", True),
        ("from statistics import median", False),
        ("x = sum(y) / sum(z)", False),
        ("x = y / len(y)", False),
    ],
)
@pytest.mark.parametrize(("room", "shows"), [("report", True), ("stats", False)])
def test_a_mean_that_a_page_computes_is_found(
    tmp_path: Path, line: str, is_found: bool, room: str, shows: bool
) -> None:
    texts = {
        f"dbdyno/{room}/__init__.py": f'"""Room."""\n{line}\n',
        "tests/test_one.py": f'"""One."""\nimport dbdyno.{room}\n',
    }
    message = "ask `model.metric.over.taken`, or the cell's estimate"
    expected = [f"dbdyno/{room}/__init__.py:2 mean-shown: {message}"]
    assert plant(tmp_path, texts) == (expected if is_found and shows else [])


def test_whoever_matches_an_engines_name_is_found(tmp_path: Path) -> None:
    table = '"""Engines."""\nTRAITS: dict[str, int] = {"postgres": 1, "mysql": 2}\n'
    user = (
        'def f(x):\n    """F."""\n    match x:\n        case "mysql" | "other":\n            pass\n'
    )
    texts = {
        "dbdyno/model/engine.py": table,
        "dbdyno/model/__init__.py": '"""Model."""\n',
        "dbdyno/run/__init__.py": f'"""Run."""\nfrom dbdyno.model import engine\n{user}',
        "tests/test_one.py": '"""One."""\nimport dbdyno.run\n',
    }
    (found,) = plant(tmp_path, texts)
    assert found.startswith("dbdyno/run/__init__.py:6 engine-name: `mysql`: ")
