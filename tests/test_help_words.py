"""What users type first is answered: `dyno help`, `dyno completion`, a name of many."""

from typer.testing import CliRunner

from dbdyno import cli
from dbdyno.model.document import WORDS_MAX, suggestion


def test_help_is_a_command_too() -> None:
    asked = CliRunner().invoke(cli.app, ["help"])
    assert asked.exit_code == 0 and "race" in asked.output
    assert "--install-completion" in CliRunner().invoke(cli.app, ["completion"]).output


def test_of_many_names_the_first_stand_in_a_message() -> None:
    many = [f"step-{number:02}" for number in range(58)]
    assert suggestion("zzz", many).endswith(f"`step-{WORDS_MAX - 1}` and {58 - WORDS_MAX} more")
    assert suggestion("step9", ["step-9", "x"]) == "did you mean `step-9`?"
