"""pgbench's script language: what is refused, where, and what becomes of what is not."""

import pytest

from dbdyno.model.error import WorkloadError
from dbdyno.workload.script import ScriptText
from dbdyno.workload.script.sql import Lexer, Sql
from pgbench_expressions import EXPRESSIONS
from pgbench_facts import FACTS, Fact
from script_reader import compiled, tree


def complaint(text: str, protocol: str = "simple", to: str = "postgres") -> str:
    with pytest.raises(WorkloadError) as raised:
        compiled(text, protocol, to)
    return str(raised.value)


@pytest.mark.parametrize("fact", FACTS.values(), ids=FACTS)
def test_what_cannot_run_is_refused_before_it_begins_and_nothing_else(fact: Fact) -> None:
    if fact.ours == "start":
        line, shown, caret = complaint(fact.script, fact.protocol).split("\n")
        number, column = map(int, line.split(":")[1:3])
        assert line.startswith(f"mix.sql:{number}:{column}: ")
        assert shown == (fact.script.split("\n") or [""])[number - 1]
        assert caret == " " * (column - 1) + "^"
    else:
        assert compiled(fact.script, fact.protocol).code


def test_a_complaint_shows_the_place_with_tabs_as_they_are() -> None:
    assert complaint("SELECT 1;\r\n\\set\tx  rndom(1, 2)\r\n") == (
        "mix.sql:2:9: no function `rndom`; did you mean `random`?\n"
        "\\set\tx  rndom(1, 2)\n"
        "    \t   ^"
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "\\shell ls",
            "mix.sql:1:1: \\shell is not run here: it runs a program during the measurement",
        ),
        ("\\setshell n ls", "give the value as one of the plan's `variables`"),
        ("\\sett x 1", "mix.sql:1:1: no command `\\sett`; did you mean `set`?"),
        (
            "SELECT 1;\n\\set y :ad",
            "mix.sql:2:8: variable `ad` is never set: set it, or name it under `variables`; there",
        ),
        ("\\set aid 1\n\\set y :aib", "under `variables`; did you mean `aid`?"),
        ("SELECT 'a", "mix.sql:1:8: the quote ' is never closed"),
        ("SELECT $a$ $b$", "mix.sql:1:8: the quote $a$ is never closed"),
        ("SELECT /* /* */", "mix.sql:1:8: the comment /* is never closed"),
        ("\\set x 1 +", "syntax error: end of line in place of a value"),
        ("\\set x 1 = 2 = 3", "mix.sql:1:14: syntax error: `=` in place of `and` or brackets"),
        ("\\set x least(1)(2)", "mix.sql:1:16: syntax error: `(` in place of the end of the line"),
        ("\\set x " + "(" * 2_000 + "1", "syntax error: end of line in place of `)`"),
        ("\\set x " + "1+" * 2_000 + "1", "nested more than 1,000 deep"),
        ("\\set x mod(1)", "mix.sql:1:8: `mod` takes 2 arguments, not 1"),
        ("\\sleep 2 d", "mix.sql:1:10: no unit `d`; use us, ms or s"),
        ("\\sleep 100000", "\\sleep lasts a day at most"),
        ("\\set 1x 1", "mix.sql:1:1: `1x` cannot name a variable"),
        ("\\sleep :1x", "mix.sql:1:1: `:1x` is not a variable"),
        ("COPY t TO STDOUT;", "mix.sql:1:1: COPY from or to the client is not supported"),
        ("\\if 1\nSELECT 1;", "mix.sql:1:1: \\if without an \\endif"),
    ],
)
def test_a_complaint_says_what_to_do(text: str, sentence: str) -> None:
    assert sentence in complaint(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1 + 2 * 3 - 4", "(subtract (add 1 (multiply 2 3)) 4)"),
        ("~ 1 + 2", "(bit_not (add 1 2))"),
        ("~ 1 | 2", "(bit_or (bit_not 1) 2)"),
        ("1 | 2 & 3", "(bit_and (bit_or 1 2) 3)"),
        ("- :x * 2", "(multiply (subtract 0 :x) 2)"),
        ("- 5", "-5"),
        ("- -9223372036854775808", "(subtract 0 -9223372036854775808)"),
        ("not :a = :b and :c", "(and (not (eq :a :b)) :c)"),
        ("not :a is null", "(not (is_null :a))"),
        ("1 + not :a = 2", "(add 1 (not (eq :a 2)))"),
        (":a < 1 is true", "(is_true (lt :a 1))"),
        (":a is not null = :b", "(eq (not (is_null :a)) :b)"),
        (":a notnull or :b isnull", "(or (not (is_null :a)) (is_null :b))"),
        ("1 >= 2 % 3", "(ge 1 (remainder 2 3))"),
        ("hash(:a)", "(hash_murmur2 :a :default_seed)"),
        ("hash_fnv1a(:a, 1)", "(hash_fnv1a :a 1)"),
        ("permute(0, 2)", "(permute 0 2 :default_seed)"),
        ("Pow(2, .5)", "(power 2 0.5)"),
        ("case when 1 then 2 when 3 then 4 end", "(case 1 2 3 4 null)"),
        ("pi()", "pi"),
        ("debug(TRUE)", "(debug True)"),
    ],
)
def test_operators_bind_as_in_pgbench(text: str, shown: str) -> None:
    assert tree(text) == shown


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_every_expression_of_the_list_is_understood(text: str) -> None:
    assert compiled(f"\\set x {text}").job["assignments"][0]["variable"] == 0


def test_a_script_becomes_instructions_and_its_branches_jump_forward() -> None:
    made = compiled(
        "\\set a random(1, :scale)\n"
        "\\if :a = 1\n"
        "SELECT :a;\n"
        "\\elif :a = 2\n"
        "\\sleep 5 ms\n"
        "\\else\n"
        "\\if true\n"
        "\\sleep :a us\n"
        "\\endif\n"
        "\\endif\n"
        "SELECT 2;\n"
    )
    assert made.code == [
        ["set", 0],
        ["unless", 0],
        ["send", 0],
        ["jump", 9],
        ["unless", 1],
        ["sleep", 5000],
        ["jump", 9],
        ["unless", 2],
        ["rest", 0],
        ["send", 1],
    ]
    assert [one["to"] for one in made.job["branches"]] == [4, 7, 9]
    assert made.job["branches"][1] == {
        "unless": ["eq", ["variable", 0], ["integer", 2]],
        "to": 7,
        "place": "mix.sql:4:1",
    }
    assert made.job["sleeps"] == [{"variable": 0, "unit_us": 1, "place": "mix.sql:8:1"}]
    assert made.job["variables"] == [
        {"name": "a", "initial": None},
        {"name": "scale", "initial": {"integer": 1}},
    ]
    assert made.job["assignments"][0]["expression"] == [
        "random", ["integer", 1], ["variable", 1],
    ]  # fmt: skip
    assert [one["name"] for one in made.statements] == ["mix.sql:3", "mix.sql:11"]
    assert made.statements[0]["place"] == "mix.sql:3:1"


def test_automatic_variables_begin_with_what_they_are() -> None:
    made = compiled("\\set x :client_id + :random_seed + hash(1)\n")
    assert made.job["variables"] == [
        {"name": "x", "initial": None},
        {"name": "client_id", "initial": {"client": {"first": 0}}},
        {"name": "random_seed", "initial": {"seed": "random"}},
        {"name": "default_seed", "initial": {"seed": "default"}},
    ]
    given = compiled("\\set x :client_id\n", given={"client_id": {"text": "7"}})
    assert given.job["variables"][1]["initial"] == {"text": "7"}


def test_names_in_sql_are_replaced_everywhere_where_something_sets_them() -> None:
    made = compiled("\\set a 1\nSELECT :a::int, ':a', x[1:2], :b, '1:a' /* :a */;\n")
    assert made.texts() == ["SELECT <a>::int, '<a>', x[1:2], :b, '1<a>' /* <a> */;"]
    assert compiled("\\set a 1\nSELECT :a;\n", "prepared").texts() == ["SELECT <a>;"]
    line = complaint("\\set a 1\nSELECT 1\n -- :a\n;", "prepared").split("\n")[0]
    assert line.startswith('mix.sql:3:5: with protocol = "prepared" `:a` in quotes or a comment')
    assert compiled("SELECT :b;", "extended").texts() == ["SELECT <b>;"]


def test_a_result_may_set_every_variable_that_begins_with_its_prefix() -> None:
    made = compiled(
        "\\set x_a 1\n"
        "SELECT 1 AS a, 2 AS b \\gset x_\n"
        "\\; SELECT 1 AS x_c \\; SELECT 2 \\aset\n"
        "SELECT :x_b, ':y';\n"
    )
    names = [one["name"] for one in made.job["variables"]]
    (gset, aset) = (statement["into"] for statement in made.statements[:2])
    assert not gset["every"]
    assert {key: names[n] for key, n in gset["columns"].items()} == {"a": "x_a", "b": "x_b"}
    assert aset["every"]
    assert set(aset["columns"]) == {"x_a", "x_b", "y"}
    assert made.texts()[1:] == ["; SELECT 1 AS x_c ; SELECT 2 ", "SELECT <x_b>, '<y>';"]


def test_two_statements_of_a_line_have_names_of_their_own() -> None:
    names = [one["name"] for one in compiled("BEGIN; SELECT 1;\nEND;\n").statements]
    assert names == ["mix.sql:1", "mix.sql:1:8", "mix.sql:2"]


def test_mysql_gets_commit_for_end_and_no_pipelines() -> None:
    text = "BEGIN;\n\\set a 1\nSELECT 'END', :a\\; end work;\n"
    made = compiled(text, to="mysql")
    assert made.texts() == ["BEGIN;", "SELECT 'END', <a>; COMMIT;"]
    assert compiled(text).texts()[1] == "SELECT 'END', <a>; end work;"
    prepared = compiled("BEGIN;\nSELECT 1;\nEND;\n", "prepared", "mysql").statements
    assert [one["protocol"] for one in prepared] == ["simple", "prepared", "prepared"]
    prepared = compiled("BEGIN;\nEND;\n", "prepared", "mariadb").statements
    assert [one["protocol"] for one in prepared] == ["prepared", "prepared"]
    line = complaint("\\startpipeline\nSELECT 1;\n\\endpipeline\n", "prepared", "mysql")
    assert "MySQL has no pipelines" in line


def test_statements_are_explained_where_there_is_a_form_of_theirs() -> None:
    text = (
        "\\set a 1\nSELECT :a, :a;\nSELECT ':a';\nSELECT 1\\; SELECT 2;\nBEGIN;\nSELECT 3;\nEND;\n"
    )
    assert compiled(text).explain == {"mix.sql:2": "SELECT $1, $2", "mix.sql:6": "SELECT 3"}
    assert compiled(text, to="mysql").explain == {"mix.sql:6": "SELECT 3"}


def test_what_a_conditional_keeps_from_running_is_left_to_the_run() -> None:
    certain = {
        "\\set 1x 1\n": "`1x` cannot name a variable; use letters, digits, underscores",
        "COPY t TO STDOUT;\n": "COPY from or to the client is not supported, as in pgbench",
        "\\sleep :1x\n": "`:1x` is not a variable",
    }
    for text, reason in certain.items():
        assert complaint(text).split("\n")[0] == f"mix.sql:1:1: {reason}"
        made = compiled(f"\\if :scale > 1\n{text}\\endif\nSELECT 1;\n")
        assert made.code == [["unless", 0], ["unless", 1], ["send", 0]]
        assert made.job["branches"][1] == {
            "unless": ["error", reason],
            "to": 2,
            "place": "mix.sql:2:1",
        }


def test_a_variable_that_nothing_sets_matters_only_where_it_is_certainly_computed() -> None:
    for text in ("true or :b", "case when :scale = 1 then 1 else :b end", "false and (1 + :b) > 1"):
        assert compiled(f"\\set x {text}\n").job["variables"][-1] == {"name": "b", "initial": None}
    for text in (":b or true", "case when :b then 1 end", "greatest(1, 2 * :b)"):
        assert "variable `b` is never set" in complaint(f"\\set x {text}\n")
    made = compiled("\\if :scale > 1\n\\set x :b\n\\sleep :c\n\\endif\nSELECT 1;\n")
    assert [one["name"] for one in made.job["variables"]] == ["scale", "x", "b", "c"]


def test_an_expression_that_nests_deeper_than_json_goes_is_said_in_parts() -> None:
    deep = "1" + " + :scale" * 300
    (one,) = compiled(f"\\set x {deep}\n").job["assignments"]
    word, *parts = one["expression"]
    assert (word, len(parts)) == ("postfix", 601)
    assert parts[:3] == [["integer", 1], ["variable", 1], {"call": "add", "of": 2}]
    (one,) = compiled(f"\\set x {'(' * 150}:scale{')' * 150}\n").job["assignments"]
    assert one["expression"] == ["variable", 1]
    most = "1" + " + 1" * 99
    assert compiled(f"\\set x {most}\n").job["assignments"][0]["expression"][0] == "add"


@pytest.mark.parametrize("protocol", ["extended", "prepared"])
def test_scripts_are_sent_as_libpq_sends_them_and_only_where_a_protocol_binds(protocol: str):
    text = "\\set a 1\nSELECT :a;\nSELECT 1 AS b \\gset\n"
    for one in compiled(text, protocol).statements:
        assert (one["libpq"], one["results"]) == (True, "text")
    for protocol, engine in (("simple", "postgres"), ("prepared", "mysql")):
        for one in compiled(text, protocol, engine).statements:
            assert "libpq" not in one
            assert "results" not in one


def test_a_pipeline_is_open_on_one_way_as_far_as_anyone_can_tell() -> None:
    begin, end = "\\if :scale = 1\n\\startpipeline\n\\endif\n", "\\endpipeline\n"
    assert compiled(f"{begin}SELECT 1;\n{end}", "extended").code
    assert compiled(f"{begin}SELECT 1;\n\\if :scale = 1\n{end}\\endif\n", "extended").code
    assert compiled(f"{begin}SELECT 1 AS a \\gset\n", "extended").code
    assert compiled(f"\\if :scale > 1\n{end}\\endif\nSELECT 1;\n", "extended").code
    open_on_both = f"{begin}\\if :scale > 1\n{end}\\endif\n\\startpipeline\n"
    assert "a pipeline that the script does not end" in complaint(open_on_both, "extended")
    assert "no pipeline is open here" in complaint(f"SELECT 1;\n{end}", "extended")


@pytest.mark.parametrize(
    "ended",
    ["COMMIT/* now */;", "/* now */ COMMIT -- now\n;", ":how;", "rollback/**/and no chain;"],
)
def test_comments_are_no_part_of_what_ends_a_transaction(ended: str) -> None:
    assert compiled(f"BEGIN;\nSELECT 1;\n{ended}\n", given={"how": {"text": "END"}}).code
    for left in ("ROLLBACK/**/TO s;", "SELECT 'COMMIT';", "COMMIT/**/AND CHAIN;", "/* COMMIT */;"):
        assert "does not end" in complaint(f"BEGIN;\n{left}\n")


@pytest.mark.parametrize(
    ("text", "copies"),
    [
        ("copy t from stdin", True),
        ("/* c */ COPY (SELECT 1) TO/**/STDOUT (FORMAT binary)", True),
        ("SELECT 1\\; COPY t TO STDOUT", True),
        ("COPY t FROM STDOUT", True),
        ("COPY stdout TO '/tmp/x'", False),
        ("COPY (SELECT * FROM stdin) TO '/tmp/x'", False),
        ("COPY t TO PROGRAM 'cat'", False),
        ("SELECT 'COPY t TO STDOUT'", False),
    ],
)
def test_a_copy_of_the_client_is_known_by_its_words(text: str, copies: bool) -> None:
    (sql,) = [one for one in Lexer(ScriptText("mix.sql", text)).items() if isinstance(one, Sql)]
    assert sql.copies() == copies


def test_a_block_may_be_open_on_one_way_as_far_as_anyone_can_tell() -> None:
    text = "\\if :scale = 1\nBEGIN;\n\\endif\nSELECT 1;\n\\if :scale = 1\nEND;\n\\endif\n"
    assert len(compiled(text).statements) == 3
    both = "\\if :scale = 1\nBEGIN;\n\\else\nSTART TRANSACTION;\n\\endif\nSELECT 1;\n"
    line = complaint(both).split("\n")[0]
    assert line == (
        "mix.sql:2:1: a transaction that the script does not end; add COMMIT or ROLLBACK"
    )


def test_commands_are_cut_where_pgbench_cuts_them() -> None:
    text = (
        "-- a\n/* b; */ SELECT 1 -- c;\n, ';' ; ; CREATE FUNCTION f() BEGIN ATOMIC; END; "
        "SELECT (2;3);\nSELECT a$b$c;\n\\\nSELECT 4\n"
    )
    items = list(Lexer(ScriptText("mix.sql", text)).items())
    assert [one.text for one in items if isinstance(one, Sql)] == [
        "/* b; */ SELECT 1 -- c;\n, ';' ;",
        ";",
        "CREATE FUNCTION f() BEGIN ATOMIC; END;",
        "SELECT (2;3);",
        "SELECT a$b$c;",
        "SELECT 4\n",
    ]
