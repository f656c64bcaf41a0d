"""Questions to a person at a terminal, or to a pipe that answers a line each."""

import sys

from dbdyno.model.error import DynoError


class Questions:
    """Asks on standard error and reads standard input; where that ends, all else is as proposed."""

    def word(self, question: str, proposed: str) -> str:
        """The answer, or what is proposed where the line is empty."""
        print(f"{question} [{proposed or 'none'}]: ", end="", file=sys.stderr, flush=True)  # noqa: T201
        answer = sys.stdin.readline()
        if not sys.stdin.isatty():
            print(answer.strip(), file=sys.stderr)  # noqa: T201
        return answer.strip() or proposed

    def words(self, question: str, proposed: str) -> list[str]:
        """The answer in words."""
        return self.word(question, proposed).split()

    def number(self, question: str, proposed: float) -> float:
        """The answer as a number; a person is asked again. Raises DynoError if a pipe has none."""
        while True:
            answer = self.word(question, f"{proposed:g}")
            try:
                return float(answer)
            except ValueError:
                said = f"{question}: `{answer}` is no number"
            if not sys.stdin.isatty():
                raise DynoError(said)
            print(said, file=sys.stderr)  # noqa: T201
