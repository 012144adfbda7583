"""The output of the demo: numbered steps, commands, and their output."""

import os
import textwrap
from typing import Final, TextIO

from demo.history import Command

WIDTH: Final = 110
"""Columns of a paragraph."""
OUTPUT_LINES: Final = 24
"""Lines of a command's output that are shown."""
_PARAGRAPH: Final = textwrap.TextWrapper(
    WIDTH,
    initial_indent="  ",
    subsequent_indent="  ",
    # Names such as eu-west-1 and cpu-free must stay whole, so that they can be copied.
    break_on_hyphens=False,
    break_long_words=False,
)


class Narrator:
    """Writes to a stream."""

    def __init__(self, out: TextIO, *, steps: int) -> None:
        self._out = out
        self._steps = steps
        self._step = 0
        self._styled = out.isatty() and "NO_COLOR" not in os.environ

    def step(self, title: str) -> None:
        """Starts a step of the story, with its number and a title."""
        self._step += 1
        number = self._style("1;36", f"[{self._step}/{self._steps}]")
        self.plain(f"\n{number} {self._style('1', title)}")

    def paragraph(self, text: str) -> None:
        """Writes a paragraph."""
        self.plain(_PARAGRAPH.fill(text))

    def command(self, command: Command, *, lines: int = OUTPUT_LINES) -> None:
        """Shows a command with the first ``lines`` lines of its output."""
        self.plain(f"  {self._style('32', '$')} {self._style('1', command.text)}")
        output = command.output.rstrip("\n").splitlines()
        for line in output[:lines]:
            if line:
                self.plain(f"    {self._style('2', line)}")
            else:
                self.plain("")
        omitted = len(output) - lines
        if omitted > 0:
            self.plain("    " + self._style("2", f"... {omitted} more lines"))

    def line(self, text: str) -> None:
        """Shows a line about the current state."""
        self.plain(f"    {text}")

    def plain(self, *lines: str) -> None:
        """Shows lines unchanged."""
        # In a pipe Python keeps lines back, and whoever reads it would not see the demo live.
        print(*lines, sep="\n", file=self._out, flush=True)

    def placed(self, text: str) -> str:
        """Marks the cluster where the application is."""
        return self._style("1;33", text)

    def _style(self, code: str, text: str) -> str:
        if not self._styled:
            return text
        return f"\x1b[{code}m{text}\x1b[0m"
