"""libyaml's error messages in words for people who write YAML, not parsers."""

import re
from dataclasses import dataclass

from yaml import MarkedYAMLError


@dataclass(frozen=True, kw_only=True)
class SyntaxMistake:
    """What is wrong, and its 0-based line and column in the text that was parsed."""

    line: int
    column: int
    message: str
    hint: str = ""
    tab: bool = False


_WORDS: tuple[tuple[str, str, str], ...] = (
    ("mapping values are not allowed", "a second `: ` on one line", 'quote the value when it contains ": "'),
    ("did not find expected key", "this line fits neither the mapping nor the list that it stands in", "check its indentation and quotes"),
    ("could not find expected ':'", "a field name without `:`", "write `name: value`, or indent the line to continue the value above"),
    ("did not find expected '-' indicator", "a list item must start with `- ` at the list's indentation", "check the indentation"),
    ("found unexpected end of stream", "the text ends inside a quoted value or a bracket", "close the quote or bracket"),
    ("did not find expected ',' or ']'", "a list in brackets is not closed", "add `,` between items and `]` at the end"),
    ("did not find expected ',' or '}'", "a mapping in braces is not closed", "add `,` between fields and `}` at the end"),
    ("found unknown escape character", "an unknown escape in a double-quoted value", r"use single quotes, or write \\ for a backslash"),
    ("found undefined alias", "an alias to an anchor that does not stand before it", "define the anchor first, or write the value out"),
    ("second occurrence", "an anchor with this name exists already", "rename one of the anchors"),
    ("block sequence entries are not allowed", "a list cannot start here", "put the list on the next line"),
    ("found character that cannot start any token", "a value cannot start with this character", "quote the value"),
    ("did not find expected <document start>", "text after the end of the document", "separate documents with a line `---`"),
    ("control characters are not allowed", "a control character", "remove it, or write it as an escape in double quotes"),
    ("did not find expected node content", "a value is missing here", "write the value, or remove the `,`"),
)


def explain(error: MarkedYAMLError | str, text: str) -> SyntaxMistake:
    """The mistake behind a libyaml error."""
    if isinstance(error, str):
        return _reader_error(error, text)
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line, mark.column) if mark is not None else (0, 0)
    problem = f"{error.context or ''} {error.problem or ''}"
    lines = text.split("\n")
    here = lines[line] if line < len(lines) else ""
    if "\t" in _leading_blank(here) and ("token" in problem or "indentation" in problem or "tab" in problem):
        return SyntaxMistake(
            line=line, column=here.index("\t"), message="a tab in the indentation; YAML allows spaces only", hint="use spaces", tab=True
        )
    context = error.context_mark
    for part, message, hint in _WORDS:
        if part in problem:
            if "while scanning a simple key" in problem and context is not None:
                line, column = context.line, context.column
            elif "unexpected end of stream" in problem and context is not None:
                line, column = context.line, context.column
                return SyntaxMistake(line=line, column=column, message="what is opened here is never closed", hint=hint)
            return SyntaxMistake(line=line, column=column, message=message, hint=hint)
    return SyntaxMistake(line=line, column=column, message=f"not valid YAML: {error.problem or error.context or 'unreadable'}")


def _leading_blank(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


_NOT_PRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|\ufeff")


def _reader_error(message: str, text: str) -> SyntaxMistake:
    """Characters that YAML forbids are reported without a line; the first one is looked up."""
    found = _NOT_PRINTABLE.search(text)
    if found is None:
        return SyntaxMistake(line=0, column=0, message=f"not valid YAML: {message.splitlines()[0] if message else 'unreadable'}")
    line = text.count("\n", 0, found.start())
    column = found.start() - (text.rfind("\n", 0, found.start()) + 1)
    name = f"U+{ord(found[0]):04X}"
    return SyntaxMistake(
        line=line,
        column=column,
        message=f"the character {name} is not allowed in YAML",
        hint="remove it, or write it as an escape in double quotes",
    )
