"""The `pgbench` of a step: which scripts it runs, how, and with which options of its own."""

from collections.abc import Iterator, Mapping, Sequence

from dbdyno.model.document import suggestion
from dbdyno.model.job.external import Pgbench, Script
from dbdyno.workload import program_schema
from dbdyno.workload.scope import Scope

BUILTIN = ("tpcb-like", "simple-update", "select-only")
WEIGHT_MAX = 2**31 - 1
OPTIONS: Mapping[str, bool] = {
    **dict.fromkeys(("-C", "--connect", "-r"), False),
    **dict.fromkeys(("--failures-detailed", "--verbose-errors", "--exit-on-abort"), False),
    **dict.fromkeys(("-D", "--define", "-L", "--latency-limit", "-R", "--rate"), True),
    **dict.fromkeys(("-P", "--progress", "-s", "--scale", "--max-tries"), True),
}
"""The options that a step may give, and whether a value follows."""
OURS: Mapping[str, str] = {
    **dict.fromkeys(("-c", "--client"), "the role's `connections`"),
    **dict.fromkeys(("-j", "--jobs"), "the plan's `generator.threads`"),
    **dict.fromkeys(("-T", "--time", "-t", "--transactions"), "the step's `seconds`"),
    **dict.fromkeys(("-M", "--protocol"), "`pgbench.protocol`"),
    **dict.fromkeys(("-b", "--builtin", "-N", "--skip-some-updates"), "`pgbench.builtin`"),
    **dict.fromkeys(("-S", "--select-only"), "`pgbench.builtin`"),
    **dict.fromkeys(("-f", "--file"), "`pgbench.scripts`"),
    **dict.fromkeys(("-l", "--log", "--log-prefix", "--sampling-rate"), "nothing: dyno logs all"),
    "--random-seed": "the plan's `seed`",
    **dict.fromkeys(("-n", "--no-vacuum", "-v", "--vacuum-all"), "the step's `setup`"),
    **dict.fromkeys(("-i", "--initialize"), "`tables` with a `fill`"),
}
"""Options that dyno sets or that are none of a load, and what says the same."""


def called(written: program_schema.PgbenchForm, scope: Scope) -> Pgbench:
    """The part of a job that is pgbench's. Raises WorkloadError."""
    builtin = [
        _script(text, scope.at("builtin", number), builtin=True)
        for number, text in enumerate(written.builtin, 1)
    ]
    files = [
        _script(text, scope.at("scripts", number), builtin=False)
        for number, text in enumerate(written.scripts, 1)
    ]
    scripts = (*builtin, *files)
    if not scripts:
        raise scope.error('has no script; write builtin = ["tpcb-like"] or scripts = ["mine.sql"]')
    names = [script.name for script in scripts]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise scope.error(f"has `{twice}` twice; give it the sum of the weights")
    options = tuple(scope.at("options", n).text(word) for n, word in enumerate(written.options, 1))
    for option in _options(options, scope.at("options")):
        if option in OURS:
            raise scope.at("options").error(f"`{option}` is set by dyno; use {OURS[option]}")
        if option not in OPTIONS:
            raise scope.at("options").error(f"no option `{option}`; {suggestion(option, OPTIONS)}")
    return Pgbench(
        program=scope.at("program").text(written.program),
        protocol=written.protocol,
        scripts=scripts,
        options=options,
    )


def connects(options: Sequence[str]) -> bool:
    """Whether each transaction has a connection of its own."""
    return "-C" in options or "--connect" in options


def _script(text: str, scope: Scope, *, builtin: bool) -> Script:
    """A script as a job has it."""
    weighted = script_and_weight(scope.text(text))
    if weighted is None:
        raise scope.error(f"`{text}` is not a script with a weight; write it as `name@3`")
    name, weight = weighted
    if builtin and name not in BUILTIN:
        raise scope.error(f"no builtin `{name}`; {suggestion(name, BUILTIN)}")
    return Script(name=name, builtin=builtin, weight=weight)


def script_and_weight(text: str) -> tuple[str, int] | None:
    """A script and its weight, which the last `@` begins; None where it is no such text."""
    name, mark, weight = text.rpartition("@")
    if not mark:
        name, weight = weight, "1"
    if not weight.isdecimal() or int(weight) > WEIGHT_MAX or not name:
        return None
    return name, int(weight)


def _options(words: Sequence[str], scope: Scope) -> Iterator[str]:
    """The options among the words, without their values. Raises WorkloadError for a stray value."""
    rest = iter(words)
    for word in rest:
        if not word.startswith("-") or word in ("-", "--"):
            raise scope.error(f"`{word}` is not an option; each value follows its option")
        option, value, _ = (
            word.partition("=") if word.startswith("--") else (word[:2], word[2:], "")
        )
        yield option
        if OPTIONS.get(option):
            if not value and next(rest, None) is None:
                raise scope.error(f"`{option}` has no value")
        elif value:
            raise scope.error(f"`{option}` has no value of its own, and stands alone: `{word}`")
