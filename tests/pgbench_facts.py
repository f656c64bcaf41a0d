"""What pgbench says to scripts, as a list: tests hold the lab and pgbench to it.

The scripts stand for those of pgbench's documentation and its own tests, written anew.
"""

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["ok", "start", "run"]
"""It runs; it is refused before it begins; its client or step ends as it runs."""
MANY = ", ".join(str(number) for number in range(17))


@dataclass(frozen=True)
class Fact:
    """A script, and pgbench's verdict; `ours` where the lab says it earlier than pgbench."""

    script: str
    pgbench: Verdict
    ours: Verdict
    protocol: str = "simple"


def ok(script: str, protocol: str = "simple") -> Fact:
    """Both run it."""
    return Fact(script, "ok", "ok", protocol)


def start(script: str, protocol: str = "simple") -> Fact:
    """Both refuse it before it begins."""
    return Fact(script, "start", "start", protocol)


def early(script: str, protocol: str = "simple") -> Fact:
    """pgbench ends as it runs it, the lab refuses it before it begins."""
    return Fact(script, "run", "start", protocol)


def run(script: str, protocol: str = "simple") -> Fact:
    """Both end as they run it."""
    return Fact(script, "run", "run", protocol)


FACTS: dict[str, Fact] = {
    # --- Commands ---
    "nothing": start(""),
    "only a comment": start("-- nothing here\n"),
    "only a semicolon": ok(";"),
    "only a C comment": ok("/* nothing here */"),
    "a backslash alone": ok("\\\nSELECT 1;"),
    "no final semicolon": ok("SELECT 1"),
    "unknown command": start("\\nosuchcommand\n"),
    "a command in capitals": ok("\\SET x 1\nSELECT :x;"),
    "blanks behind the backslash": ok("\\ set x 1\nSELECT :x;"),
    "SQL before a command needs no semicolon": ok("SELECT 1\n\\set x 2\nSELECT :x;"),
    "a continued line": ok("\\set x \\\n 1 + \\\n 2\nSELECT :x;"),
    "a continued word": ok("\\sleep\\\n 1\\\n us\nSELECT 1;"),
    # --- SQL ---
    "semicolons in quotes": ok('SELECT \';\', "a;".b FROM (SELECT 1 AS b) AS "a;";'),
    "semicolons in dollars": ok("DO $body$ BEGIN PERFORM 1; PERFORM 2; END $body$;"),
    "semicolons in comments": ok("SELECT /* ; /* ; */ ; */ 1 -- ;\n;"),
    "an escape string": ok(r"SELECT E'\';', 'a\';"),
    "semicolons in a routine": ok(
        "CREATE OR REPLACE FUNCTION f_dyno() RETURNS int BEGIN ATOMIC SELECT 1; "
        "SELECT CASE WHEN true THEN 2 END; END;\nSELECT f_dyno();"
    ),
    "casts and slices": ok("SELECT 1::int, (ARRAY[1, 2, 3])[1:2], '12:30:00'::time;"),
    "a name that nothing sets stays": run("SELECT :nothing;"),
    "a name that nothing sets stays in quotes": ok("SELECT 'a :nothing b';"),
    "quotes are no shelter": run("\\set x 1\nSELECT 1/(':x' <> '1')::int;"),
    "an error of the server": run("SELECT 1/0;"),
    "a syntax error of the server": run("SELECT 1 + ;"),
    "a compound": ok("SELECT 1\\; SELECT 2;"),
    "a compound of empty ones": ok("\\; \\; SELECT 1 \\; ;"),
    "an escaped colon": ok("\\set x 2\nSELECT (ARRAY[1,2,3])[1\\:2];"),
    # --- Protocols ---
    "parameters": ok("\\set x 1\nSELECT :x::int + :x::int;", "prepared"),
    "parameters anew": ok("\\set x 1\nSELECT :x::int + :x::int;", "extended"),
    "a compound with parameters": early("SELECT 1\\; SELECT 2;", "extended"),
    "a compound of one": ok("\\; SELECT 1\\; ;", "prepared"),
    "a parameter in quotes": early("\\set x 1\nSELECT ':x';", "extended"),
    "256 parameters": start(f"\\set i 0\nSELECT LEAST({', '.join([':i'] * 256)});", "prepared"),
    "255 parameters": ok(f"\\set i 0\nSELECT LEAST({', '.join([':i'] * 255)});", "prepared"),
    # --- \set ---
    "set without anything": start("\\set\n"),
    "set without expression": start("\\set x\n"),
    "set of no name": early("\\set . 1\n"),
    "set of a name that begins with a digit": early("\\set 1x 1\n"),
    "set of a name beyond ASCII": ok("\\set größe 1\nSELECT :größe;"),
    "an operand is missing": start("\\set i 1 +\n"),
    "an operator is missing": start("\\set i 1 2\n"),
    "a bracket is missing": start("\\set i (1\n"),
    "a bracket too many": start("\\set i 1)\n"),
    "a character that is none": start("\\set i ;\n"),
    "a comment behind an expression": start("\\set i 1 -- one\n"),
    "an assignment operator": start("\\set i := 1\n"),
    "comparisons in a chain": start("\\set i 1 < 2 < 3\n"),
    "equations in a chain": start("\\set i 1 = 1 = 1\n"),
    "tests in a chain": ok("\\set i 1 is null is not null\nSELECT :i;"),
    "an unknown function": start("\\set i noSuchFunction()\n"),
    "a function without brackets": start("\\set i pi\n"),
    "a function in capitals": ok("\\set i ABS(-1)\nSELECT :i;"),
    "arguments: ln": start("\\set d ln(1.0, 2.0)\n"),
    "arguments: least": start("\\set i least()\n"),
    "arguments: greatest": start("\\set i greatest()\n"),
    "arguments: 17": early(f"\\set i least({MANY})\n"),
    "arguments: hash of none": start("\\set i hash()\n"),
    "arguments: hash of three": start("\\set i hash(1, 2, 3)\n"),
    "arguments: permute of one": start("\\set i permute(1)\n"),
    "arguments: permute of four": start("\\set i permute(1, 2, 3, 4)\n"),
    "arguments: a comma too many": start("\\set i abs(1,)\n"),
    "arguments: a comma in front": ok("\\set i abs(,-1)\nSELECT :i;"),
    "case without when": start("\\set i case true then 1 else 0 end\n"),
    "case without end": start("\\set i case when true then 1\n"),
    "an integer that is too large": start("\\set i 100000000000000000000\n"),
    "the largest integer and one": start("\\set i 9223372036854775808\n"),
    "the smallest integer": ok("\\set i -9223372036854775808\nSELECT :i;"),
    "a double that is too large": start("\\set d 1.0E309\n"),
    "a double that begins with a point": start("\\set d .1E310\n"),
    "a double that is too small": start("\\set d 1e-400\n"),
    "a number and a name": start("\\set d 1x\n"),
    "a sum of 300 terms": ok(f"\\set i 1{' + :scale' * 299}\nSELECT 1 / (1 - abs(:i - 300));"),
    "chains of 300 of each operator": ok(
        f"\\set i 1{' - :scale + 1 * 1' * 300}\n\\set b true{' and true or false' * 300}\n"
        f"\\set c 0{' # 1' * 300}\nSELECT 1 / (:i + 1 - 1);"
    ),
    "brackets 150 deep": ok(f"\\set i {'(' * 150}1{')' * 150}\nSELECT :i;"),
    "brackets 2,000 deep": ok(f"\\set i {'(' * 2_000}1{')' * 2_000}\nSELECT :i;"),
    "sums in brackets 300 deep": ok(f"\\set i {'(1 + ' * 300}1{')' * 300}\nSELECT :i;"),
    "calls 300 deep": ok(f"\\set i {'abs(' * 300}1{')' * 300}\nSELECT :i;"),
    "cases 300 deep": ok(
        f"\\set i {'case when true then ' * 300}1{' else 2 end' * 300}\nSELECT :i;"
    ),
    "signs 300 deep": ok(f"\\set i {'- ' * 300}:scale\n\\set b {'not ' * 300}true\nSELECT :i;"),
    "a division by zero 300 deep": run(f"\\set i {'(1 + ' * 300}1 / 0{')' * 300}\n"),
    "a smallest integer with a zero in front": start("\\set i -09223372036854775808\n"),
    "set of no name in a branch": ok("\\if false\n\\set . 1\n\\set 1x 1\n\\endif\nSELECT 1;"),
    "set of no name in a branch that is taken": run("\\if true\n\\set 1x 1\n\\endif\nSELECT 1;"),
    "arguments: 17 in a branch": ok(f"\\if false\n\\set i least({MANY})\n\\endif\nSELECT 1;"),
    "arguments: 17 in a branch that is taken": run(
        f"\\if true\n\\set i least({MANY})\n\\endif\nSELECT 1;"
    ),
    "arguments: 17 that are not computed": ok(
        f"\\set i case when true then 1 else least({MANY}) end\nSELECT :i;"
    ),
    "a variable that is never set, in a branch": ok(
        "\\if false\n\\set x :nosuchvariable\n\\sleep :nosuchvariable\n\\elif :scale = 0\n"
        "\\if :nosuchvariable\n\\elif :nosuchvariable\n\\endif\n\\endif\nSELECT 1;"
    ),
    "a variable that is never set, in a branch that is taken": run(
        "\\if true\n\\set x :nosuchvariable\n\\endif\n"
    ),
    "a variable that is never set, in a sleep of a branch": run(
        "\\if true\n\\sleep :nosuchvariable\n\\endif\n"
    ),
    "a variable that is never set, in elif": run(
        "\\if false\n\\elif :nosuchvariable\n\\endif\nSELECT 1;"
    ),
    "a variable that is never set and not computed": ok(
        "\\set a true or :nosuchvariable\n\\set b false and :nosuchvariable = 1\n"
        "\\set c case when true then 1 else :nosuchvariable end\nSELECT :a;"
    ),
    "a variable that is never set and computed": run("\\set a false or :nosuchvariable = 1\n"),
    "a variable of no name": early("\\set i :1x\n"),
    "a parameter that is never set": ok("SELECT :nosuchvariable::int;", "prepared"),
    "a parameter that is never set, anew": ok("SELECT :nosuchvariable::int;", "extended"),
    "a variable that is never set": early("\\set i :nosuchvariable\n"),
    "a variable that is set later": run("\\set i :later\n\\set later 1\n"),
    "a variable that is set in a branch": run("\\if false\n\\set x 1\n\\endif\n\\set y :x\n"),
    "division by zero": run("\\set i 1/0\n"),
    "division by zero that is not reached": ok("\\set i case when true then 1 else 1/0 end\n"),
    "an empty range": run("\\set i random(5, 3)\n"),
    "a range that is too large": run("\\set i random(-9223372036854775807, 9223372036854775807)\n"),
    "gaussian: too narrow": run("\\set i random_gaussian(0, 10, 1.0)\n"),
    "exponential: not above 0": run("\\set i random_exponential(0, 10, 0.0)\n"),
    "zipfian: too small": run("\\set i random_zipfian(0, 10, 1)\n"),
    "zipfian: too large": run("\\set i random_zipfian(0, 10, 1000000)\n"),
    "permute of nothing": run("\\set i permute(0, 0)\n"),
    "not of a double": run("\\set b not 0.0\n"),
    "a sum with a boolean": run("\\set i true + 2\n"),
    "a logarithm of a boolean": run("\\set d ln(true)\n"),
    "a draw between booleans": run("\\set b random(false, true)\n"),
    "a double that is no integer": run("\\set i int(1e32)\n"),
    "a sum that is too large": run("\\set i (1<<62) + (1<<62)\n"),
    "a difference that is too small": run("\\set i 0 - (1<<62) - (1<<62) - (1<<62)\n"),
    "a product that is too large": run("\\set i 2 * (1<<62)\n"),
    "a quotient that is too large": run("\\set i (-9223372036854775808) / -1\n"),
    # --- Conditionals ---
    "if without endif": start("\\if 1\n"),
    "elif without if": start("\\elif 1\n"),
    "else without if": start("\\else\n"),
    "endif without if": start("\\endif\n"),
    "elif after else": start("\\if 1\n\\else\n\\elif 0\n\\endif\n"),
    "else after else": start("\\if 1\n\\else\n\\else\n\\endif\n"),
    "if without expression": start("\\if\n\\endif\n"),
    "elif without operand": start("\\if 0\n\\elif +\n\\endif\n"),
    "else with an argument": start("\\if 0\n\\else BAD\n\\endif\n"),
    "endif with an argument": start("\\if 0\n\\endif BAD\n"),
    "an inner if that is open": start("\\if 1\n\\if 0\n\\endif\n"),
    "nested conditionals": ok(
        "\\if 0\n\\if 1/0\n\\endif\n\\elif null\nSELECT 1/0;\n\\elif 0.5\n\\if false\n"
        "SELECT 1/0;\n\\else\nSELECT 1;\n\\endif\n\\elif 1/0\n\\else\nSELECT 1/0;\n\\endif\n"
    ),
    "a branch that fails": run("\\if 1\nSELECT 1/0;\n\\endif\n"),
    "a condition that fails": run("\\if 1/0\n\\endif\n"),
    # --- \sleep ---
    "sleep without anything": start("\\sleep\n"),
    "sleep of too much": start("\\sleep 1 us more\n"),
    "sleep of an unknown unit": start("\\sleep 1 week\n"),
    "sleep of no number": start("\\sleep soon\n"),
    "sleep of a fraction": start("\\sleep 0.5 s\n"),
    "sleep of two units": start("\\sleep 1ms us\n"),
    "sleep, in all forms": ok(
        "\\set n 1\n\\sleep 1us\n\\sleep 1 US\n\\sleep 0\n\\sleep +1 ms\n\\sleep -1 s\n"
        "\\sleep :n ms\n\\set n 1.9\n\\sleep :n us\nSELECT 1;"
    ),
    "sleep of a variable of no name": early("\\sleep :\n"),
    "sleep of a variable of no name in a branch": ok(
        "\\if false\n\\sleep :\n\\sleep :1x\n\\endif\nSELECT 1;"
    ),
    "sleep of a variable that is never set": early("\\sleep :nosuchvariable\n"),
    "sleep of a variable that is no number": run("\\set n true\n\\sleep :n\n"),
    # --- \gset, \aset ---
    "gset alone": start("\\gset\n"),
    "gset behind a set": start("\\set i 1\n\\gset\n"),
    "gset behind a gset": start("SELECT 1 AS i \\gset\n\\gset\n"),
    "gset with two prefixes": start("SELECT 1 \\gset a b\n"),
    "gset": ok("SELECT 1 AS i, 2 AS j \\gset\n\\set k 6 / (:i + :j - 1)\nSELECT :k;"),
    "gset behind a semicolon": ok("SELECT 1 AS i;\n\\gset\n\\set k 1 / :i\n"),
    "gset with a prefix": ok("SELECT 1 AS i \\gset x_\n\\set k 1 / :x_i\n"),
    "gset with a prefix that is forgotten": early("SELECT 1 AS i \\gset x_\n\\set k :i\n"),
    "gset of the last one": ok("SELECT 0 AS i\\; SELECT 1 AS i\\; \\gset\n\\set k 1 / :i\n"),
    "gset over a set": ok("\\set i 0\nSELECT 1 AS i \\gset\n\\set k 1 / :i\n"),
    "gset of a column twice": ok("SELECT 0 AS i, 1 AS i \\gset\n\\set k 1 / :i\n"),
    "gset of no column": ok("SELECT \\gset\n"),
    "gset of no row": run("SELECT 1 AS i WHERE false \\gset\n"),
    "gset of two rows": run("SELECT generate_series(1, 2) AS i \\gset\n"),
    "gset of no query": run("DROP TABLE IF EXISTS nosuchtable_dyno \\gset\n"),
    "gset of a nameless column": run("SELECT 1 \\gset\n"),
    "gset of a strange column": run('SELECT 1 AS "bad name!" \\gset\n'),
    "gset of a text that is no number": run("SELECT 'bla' AS i \\gset\n\\set k :i + 1\n"),
    "gset of an almost boolean": run("SELECT 'trueX' AS b \\gset\n\\set k :b or true\n"),
    "gset of words": ok(
        "SELECT 'y' AS a, 'OFF' AS b, 'null' AS c, '+3' AS d, '1e1' AS e \\gset\n"
        "\\set k 1 / case when :a and not :b and :c is null and :d = 3 and :e = 10 "
        "then 1 else 0 end\n"
    ),
    "gset of numbers in C's forms": ok(
        "SELECT '0x10' AS a, ' 0x.8p1' AS b, 'inf' AS c, '-Infinity' AS d, '1.5e1' AS e \\gset\n"
        "\\set k 1 / case when :a = 16 and :b = 1 and :c > 1e300 and :d < 0 and :e = 15 "
        "then 1 else 0 end\n"
    ),
    "gset of no number in C's form": ok("SELECT 'NaN(7)' AS a \\gset\n\\set k :a + 1\n"),
    "gset of a text that is no double": run("SELECT '1e' AS a \\gset\n\\set k :a + 1\n"),
    "gset of half a hexadecimal number": run("SELECT '0x' AS a \\gset\n\\set k :a + 1\n"),
    "gset of a double that is too small": run("SELECT '1e-400' AS a \\gset\n\\set k :a + 1\n"),
    "gset of a double that is almost too small": run(
        "SELECT '1e-310' AS a \\gset\n\\set k :a + 1\n"
    ),
    "gset of a double that is too large": run("SELECT '.1e310' AS a \\gset\n\\set k :a + 1\n"),
    "gset of two signs": run("SELECT '+-1.5' AS a \\gset\n\\set k :a + 1\n"),
    "gset of an integer that is too large": run(
        "SELECT '9223372036854775808' AS a \\gset\n\\set k :a + 1\n"
    ),
    "gset of a number and a blank": run("SELECT '1 ' AS a \\gset\n\\set k :a + 1\n"),
    "gset of null": run("SELECT NULL AS a \\gset\n\\set k :a + 1\n"),
    "gset with a prefix before a digit": ok('SELECT 2 AS "1" \\gset x_\n\\set k 2 / :x_1\n'),
    "gset with no prefix of a name": run("SELECT 1 AS i \\gset 1x\n"),
    "gset with no prefix of a name and of no column": ok("SELECT \\gset 1x\n"),
    "aset with no prefix of a name and of no row": ok("SELECT 1 AS i WHERE false \\aset 1x\n"),
    "aset with no prefix of a name": run("SELECT 1 AS i \\aset 1x\n"),
    "gset of a type without a binary form": ok(
        "SELECT relacl AS a FROM pg_class WHERE relname = 'pg_class' \\gset\n", "prepared"
    ),
    "gset with parameters": ok("SELECT 1 AS i \\gset\n\\set k 1 / :i\nSELECT :k::int;", "prepared"),
    "aset": ok("SELECT 6 AS i\\; SELECT 7 AS j \\aset\n\\set k 1 / (:j - :i)\n"),
    "aset of rows": ok(
        "SELECT 8 AS i UNION SELECT 9 ORDER BY 1 DESC \\aset\n\\set k 1 / (9 - :i)\n"
    ),
    "aset of nothing": run("SELECT 1 AS i WHERE false \\aset\n\\set k :i\n"),
    "aset of nothing keeps": ok("\\set i 1\nSELECT 0 AS i WHERE false \\aset\n\\set k 1 / :i\n"),
    # --- Pipelines ---
    "a pipeline": ok("\\startpipeline\nSELECT 1;\nSELECT 2;\n\\endpipeline\n", "extended"),
    "a prepared pipeline": ok("\\startpipeline\nSELECT 1;\nSELECT 2;\n\\endpipeline\n", "prepared"),
    "a pipeline of a transaction": ok(
        "\\startpipeline\nBEGIN ISOLATION LEVEL SERIALIZABLE;\nSELECT 1;\nEND;\n\\endpipeline\n",
        "prepared",
    ),
    "rows of a type without a binary form": ok("SELECT relacl FROM pg_class;", "extended"),
    "rows of a type without a binary form, prepared": ok(
        "SELECT relacl FROM pg_class;", "prepared"
    ),
    "rows of such a type in a pipeline": ok(
        "\\startpipeline\nSELECT relacl FROM pg_class;\n\\endpipeline\n", "prepared"
    ),
    "parameters of any type": ok(
        "\\set i 7\n\\set d 1.5\n\\set b true\n\\set n null\n"
        "SELECT :i::smallint, :i::text, :d::float8, :b::bool, :n::text, :i::money, :i::name, "
        "ARRAY[:i]::int[], to_timestamp(:i), make_interval(days => :i);",
        "prepared",
    ),
    "null as a parameter of an integer": run("\\set n null\nSELECT :n::int;", "extended"),
    "a pipeline under an if of its own": ok(
        "\\if :scale = 1\n\\startpipeline\n\\endif\nSELECT 1;\nSELECT :scale::int;\n"
        "\\if :scale = 1\n\\endpipeline\n\\endif\nSELECT 2;\n",
        "extended",
    ),
    "a prepared pipeline under an if of its own": ok(
        "\\if :scale = 1\n\\startpipeline\n\\endif\nSELECT 1;\nSELECT :scale::int;\n"
        "\\if :scale = 1\n\\endpipeline\n\\endif\nSELECT 2;\n",
        "prepared",
    ),
    "a pipeline that no if begins": ok(
        "\\if :scale = 2\n\\startpipeline\n\\endif\nSELECT 1;\n"
        "\\if :scale = 2\n\\endpipeline\n\\endif\n",
        "extended",
    ),
    "a pipeline that only one if ends": run(
        "\\if :scale = 1\n\\startpipeline\n\\endif\nSELECT 1;\n"
        "\\if :scale = 2\n\\endpipeline\n\\endif\n",
        "extended",
    ),
    "a pipeline that only one if begins": run(
        "\\if :scale = 2\n\\startpipeline\n\\endif\nSELECT 1;\n\\endpipeline\n", "extended"
    ),
    "a pipeline that one if begins": ok(
        "\\if :scale = 1\n\\startpipeline\n\\endif\nSELECT 1;\n\\endpipeline\n", "extended"
    ),
    "a pipeline in a pipeline of a branch": run(
        "\\startpipeline\n\\if true\n\\startpipeline\n\\endif\nSELECT 1;\n\\endpipeline\n",
        "extended",
    ),
    "a pipeline in a pipeline of a branch that is not taken": ok(
        "\\startpipeline\n\\if false\n\\startpipeline\n\\endif\nSELECT 1;\n\\endpipeline\n",
        "extended",
    ),
    "gset in a pipeline of a branch": run(
        "\\startpipeline\n\\if true\nSELECT 1 AS i \\gset\n\\endif\n\\endpipeline\n", "extended"
    ),
    "gset in a pipeline of a branch that is not taken": ok(
        "\\startpipeline\n\\if false\nSELECT 1 AS i \\gset\n\\endif\nSELECT 1;\n\\endpipeline\n",
        "extended",
    ),
    "an empty pipeline": ok("\\startpipeline\n\\endpipeline\nSELECT 1;\n", "prepared"),
    "an error in a pipeline": run(
        "\\startpipeline\nSELECT 1;\nSELECT 1/0;\nSELECT 2;\n\\endpipeline\n", "prepared"
    ),
    "a set and a sleep in a pipeline": ok(
        "\\startpipeline\n\\set i 1\nSELECT :i::int;\n\\sleep 1 us\n\\endpipeline\n", "extended"
    ),
    "a simple pipeline in a branch": ok(
        "\\if false\n\\startpipeline\nSELECT 1;\n\\endpipeline\n\\endif\nSELECT 1;\n"
    ),
    "a simple pipeline in a branch that is taken": run(
        "\\if true\n\\startpipeline\nSELECT 1;\n\\endpipeline\n\\endif\nSELECT 1;\n"
    ),
    # --- COPY ---
    "a COPY to the client": early("COPY (SELECT 1) TO STDOUT;\n"),
    "a COPY to the client, extended": early("COPY (SELECT 1) TO STDOUT;\n", "extended"),
    "a COPY to the client, prepared": early("COPY (SELECT 1) TO STDOUT;\n", "prepared"),
    "a COPY from the client": early("CREATE TEMP TABLE c (i int);\nCOPY c FROM STDIN;\n"),
    "a COPY in a compound": early("SELECT 1\\; COPY (SELECT 1) TO STDOUT;\n"),
    "a COPY in a branch": ok("\\if false\nCOPY (SELECT 1) TO STDOUT;\n\\endif\nSELECT 1;\n"),
    "a COPY in a branch that is taken": run(
        "\\if true\nCOPY (SELECT 1) TO STDOUT;\n\\endif\nSELECT 1;\n", "prepared"
    ),
    "a COPY to a file": ok("COPY (SELECT 1) TO '/dev/null';\n", "prepared"),
    "a word of a COPY": ok("SELECT 'COPY t TO STDOUT' AS \"to stdout\";\n"),
    # --- What only the server refuses ---
    "a compound with parameters in a branch": ok(
        "\\if false\nSELECT 1\\; SELECT 2;\n\\endif\nSELECT 1;\n", "extended"
    ),
    "a compound with parameters in a branch that is taken": run(
        "\\if true\nSELECT 1\\; SELECT 2;\n\\endif\nSELECT 1;\n", "prepared"
    ),
    "a parameter in quotes in a branch": ok(
        "\\if false\nSELECT ':x';\n\\endif\nSELECT 1;\n", "prepared"
    ),
    "a parameter in quotes in a branch that is taken": run(
        "\\set x 1\n\\if true\nSELECT ':x';\n\\endif\nSELECT 1;\n", "extended"
    ),
    "an empty statement": ok(";\n;\n", "extended"),
    "an empty statement, prepared": ok("/* nothing */;\n", "prepared"),
    "a simple pipeline": early("\\startpipeline\nSELECT 1;\n\\endpipeline\n"),
    "a pipeline in a pipeline": early("\\startpipeline\n\\startpipeline\n", "extended"),
    "an end of no pipeline": early("\\endpipeline\n", "extended"),
    "a pipeline that is left open": early("\\startpipeline\nSELECT 1;\n", "extended"),
    "gset in a pipeline": early(
        "\\startpipeline\nSELECT 1 AS i \\gset\n\\endpipeline\n", "extended"
    ),
    "a pipeline with an argument": start("\\startpipeline now\n", "extended"),
    # --- Transactions ---
    "a transaction": ok("BEGIN;\nSELECT 1;\nEND;\n"),
    "a transaction that is left open": early("BEGIN;\nSELECT 1;\n"),
    "a transaction in a compound": ok("BEGIN\\; SELECT 1\\; COMMIT;\n"),
    "a transaction that is ended by a rollback": ok(
        "BEGIN;\nSAVEPOINT s;\nROLLBACK TO s;\n\\if 1\nROLLBACK;\n\\else\nCOMMIT;\n\\endif\n"
    ),
    "a transaction that goes on in another": early("BEGIN;\nCOMMIT AND CHAIN;\n"),
    "a transaction that does not": ok("BEGIN;\nCOMMIT AND NO CHAIN;\n"),
    "a transaction that a comment stands behind": ok("BEGIN;\nCOMMIT/* done */;\n"),
    "a transaction that a variable ends": run("BEGIN;\nSELECT 1;\n:nosuchvariable;\n"),
    "a transaction that is left open in a branch": run(
        "\\if true\nBEGIN;\n\\endif\nSELECT 1;\n\\if false\nEND;\n\\endif\n"
    ),
    "automatic variables": ok("\\set i 1 / (:scale + :client_id)\nSELECT :random_seed;"),
}
"""By what it is about."""
