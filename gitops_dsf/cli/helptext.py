"""Help that fits the terminal: prose is filled, and examples keep their columns or continue below.

argparse fills only the help of arguments. Descriptions and examples of verbs are written with line
breaks of their own, which RawDescriptionHelpFormatter prints as they are, however narrow the
terminal is.
"""

import argparse
import re
import shutil
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

MAX_COLUMNS: Final = 110
"""Columns of help at most. Longer lines are hard to read."""
MIN_COLUMNS: Final = 28
"""Columns for the explanations of examples at least. With less each one is below its example."""
_DEEPER: Final = 4
"""The further indentation of the continuation of an example."""
_CONTINUATION: Final = 4
"""A line that is indented by more continues the explanation of the line before."""
_COMMANDS: Final = ("gitops-dsf ", "kubectl ", "curl ")
_LINE: Final = re.compile(r"(\S.*?)(?: {2,}(\S.*))?")
_WORD: Final = re.compile(r"""(?:[^\s'"]|'[^']*'|"[^"]*")+""")
"""A word of a shell: what is in quotes is not divided."""


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Follows the width of the terminal, or COLUMNS, in descriptions and examples, too."""

    def __init__(self, prog: str, width: int | None = None) -> None:
        columns = min(shutil.get_terminal_size().columns, MAX_COLUMNS) if width is None else width
        # argparse leaves two columns free as well.
        super().__init__(prog, width=columns - 2)

    def add_usage(
        self,
        usage: str | None,
        actions: Iterable[argparse.Action],
        groups: Iterable[Any],
        prefix: str | None = None,
    ) -> None:
        """Divides long groups of arguments that exclude each other, which argparse does not."""
        # argparse's own method does the same with `_format_usage`, which has no public name either.
        if usage is not argparse.SUPPRESS:
            self._add_item(self._divided_usage, (usage, actions, groups, prefix))

    def _divided_usage(self, *usage: Any) -> str:  # noqa: ANN401 - what argparse gives
        parts: list[str] = []
        for line in self._format_usage(*usage).split("\n"):
            parts += _divided(line, self._width)
        return "\n".join(parts)

    def _split_lines(self, text: str, width: int) -> list[str]:
        """Names with hyphens stay whole, which argparse divides."""
        return _wrapped(" ".join(text.split()), width)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines = filled(text, width=width - len(indent))
        return "\n".join(f"{indent}{line}".rstrip() for line in lines)


def _divided(line: str, width: int) -> Iterator[str]:
    """A line of the usage, in parts that end after a `|`."""
    while len(line) > width and (end := line.rfind(" | ", 0, width - 1)) > 0:
        yield line[: end + 2]
        line = " " * (len(line) - len(line.lstrip()) + 1) + line[end + 3 :]
    yield line


@dataclass(kw_only=True)
class _Example:
    """An indented line: what to type, and what it means."""

    indent: int
    typed: str
    meaning: str


def filled(text: str, *, width: int) -> Iterator[str]:
    """The lines of a text. Paragraphs begin in the first column, examples do not."""
    prose: list[str] = []
    examples: list[_Example] = []
    for line in text.split("\n"):
        indent = len(line) - len(line.lstrip())
        # A paragraph ends at an example or an empty line; the examples end at anything that begins
        # in the first column, because together they decide how wide their columns are.
        if indent or not line:
            yield from _wrapped(" ".join(prose), width)
            prose.clear()
        if not indent:
            yield from _aligned(examples, width)
            examples.clear()
        if not line:
            yield ""
        elif not indent:
            prose.append(line)
        elif examples and indent > _CONTINUATION:
            examples[-1].meaning = f"{examples[-1].meaning} {line.strip()}".lstrip()
        else:
            examples.append(_example(line, indent))
    yield from _wrapped(" ".join(prose), width)
    yield from _aligned(examples, width)


def _example(line: str, indent: int) -> _Example:
    columns = _LINE.fullmatch(line.strip())
    if columns is None:
        return _Example(indent=indent, typed=line.strip(), meaning="")
    typed, meaning = columns.groups("")
    return _Example(indent=indent, typed=typed, meaning=meaning)


def _aligned(examples: Sequence[_Example], width: int) -> Iterator[str]:
    """Two columns if the second one is wide enough, else each explanation below its example."""
    # An example without an explanation may be longer than the column: nothing stands beside it.
    widths = [example.indent + len(example.typed) for example in examples if example.meaning]
    column = 2 + max(widths, default=0)
    is_wide_enough = width - column >= MIN_COLUMNS
    for example in examples:
        if is_wide_enough and example.meaning:
            first, *rest = _wrapped(example.meaning, width - column)
            yield (" " * example.indent + example.typed).ljust(column) + first
            yield from (" " * column + line for line in rest)
        else:
            yield from _typed(example, width)
            deeper = example.indent + _DEEPER
            yield from (" " * deeper + line for line in _wrapped(example.meaning, width - deeper))


def _typed(example: _Example, width: int) -> Iterator[str]:
    """The command to type. A long one continues after a backslash, so that it can be copied."""
    if example.indent + len(example.typed) <= width or not example.typed.startswith(_COMMANDS):
        yield " " * example.indent + example.typed
        return
    line = ""
    indent = example.indent
    for word in _words(example.typed):
        longer = f"{line} {word}" if line else " " * indent + word
        # Two columns are for the backslash and the space before it.
        if line and len(longer) > width - 2:
            yield f"{line} \\"
            indent = example.indent + _DEEPER
            longer = " " * indent + word
        line = longer
    yield line


def _words(command: str) -> Iterator[str]:
    """The words of a command, each option together with its value.

    A command is divided between them, and an option without its value on the line reads badly. The
    word after a switch without a value stays with it, too: which options have one is not known.
    """
    option = ""
    for word in _WORD.findall(command):
        if option and (word == "-" or not word.startswith("-")):
            yield f"{option} {word}"
            option = ""
            continue
        if option:
            yield option
        option = word if word.startswith("-") else ""
        if not option:
            yield word
    if option:
        yield option


def _wrapped(text: str, width: int) -> list[str]:
    """A word is never broken: names and commands are copied."""
    return textwrap.wrap(text, max(width, 1), break_long_words=False, break_on_hyphens=False)
