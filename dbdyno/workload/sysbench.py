"""The `sysbench` of a step: which script it runs, and with which options of its own."""

from collections.abc import Mapping
from pathlib import PurePath

from dbdyno.model.job.external import Sysbench
from dbdyno.workload import program_schema
from dbdyno.workload.scope import Scope

OURS: Mapping[str, str] = {
    **dict.fromkeys(("threads", "num-threads"), "the role's `connections`"),
    **dict.fromkeys(("time", "max-time", "events", "max-requests"), "the step's `seconds`"),
    **dict.fromkeys(("warmup-time", "report-checkpoints"), "the step's `warmup_s`"),
    "tx-rate": "`--rate`",
    "rand-seed": "the plan's `seed`",
    "config-file": "`sysbench.options`",
    "forced-shutdown": "the step's `limit_s`",
    **dict.fromkeys(
        ("report-interval", "histogram", "percentile", "verbosity", "debug"),
        "nothing: dyno reads every second and the whole histogram",
    ),
    "db-driver": "the arm's engine",
    **{
        f"{engine}-{what}": "the arm's server"
        for engine in ("pgsql", "mysql")
        for what in ("host", "port", "socket", "user", "password", "db")
    },
    **dict.fromkeys(("help", "version"), "sysbench itself, by hand"),
}
"""Options that dyno sets or that are none of a load, and what says the same."""


def called(written: program_schema.SysbenchForm, scope: Scope) -> Sysbench:
    """The part of a job that is sysbench's. Raises WorkloadError."""
    script = scope.at("script").text(written.script)
    if not script or script.startswith("-"):
        raise scope.at("script").error('names no script; write script = "oltp_point_select"')
    options = tuple(scope.at("options", n).text(word) for n, word in enumerate(written.options, 1))
    for number, option in enumerate(options, 1):
        place = scope.at("options", number)
        if not option.startswith("--") or option == "--":
            raise place.error(f"`{option}` is not an option; write each as `--name=value`")
        name = option_name(option)
        if name in OURS:
            raise place.error(f"`--{name}` is set by dyno; use {OURS[name]}")
    return Sysbench(
        program=scope.at("program").text(written.program), script=script, options=options
    )


def option_name(option: str) -> str:
    """The name of an option, `rand-type` of `--rand_type=uniform`."""
    return option[2:].partition("=")[0].replace("_", "-")


def is_file(script: str) -> bool:
    """Whether a script is a file of the user's, and not one that comes with sysbench."""
    return "/" in script or PurePath(script).suffix == ".lua"
