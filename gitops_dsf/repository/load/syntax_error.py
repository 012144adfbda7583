"""Explains libyaml's error messages to people who write YAML.

libyaml says what its state machine expected, and often at a place many lines below the mistake. So
the text around the error is searched for common mistakes: a tab, a template, an open quote.

Not guaranteed: that the explanation is the cause. If no common mistake is recognised, libyaml's own
message and position are reported.
"""

import re
from dataclasses import dataclass, replace
from typing import Final, Literal

import yaml
from yaml import MarkedYAMLError, ScalarToken, YAMLError

from gitops_dsf.diagnostics import Mistake
from gitops_dsf.repository.load.characters import line_and_column

TEMPLATE: Final = (
    "this is a line of a template, and files are read as they are",
    "commit what it renders to, as `helm template` prints it; quote values that begin with {{",
)
"""Message and hint of a line that a Helm chart has."""

_TEMPLATE_LINE = re.compile(r"\s*(?:- +)*(?:[\w./-]+:\s+)?(?=\{\{)")
"""The start of a line whose value, or which as a whole, is an action of a Go template."""
_WITHOUT_COLON: Final = (
    "a field name without `:`",
    "write `name: value`, or indent the line to continue the value above",
)
_EXPLANATIONS: Final = {
    "could not find expected ':'": _WITHOUT_COLON,
    "mapping values are not allowed": (
        "a second `: ` on one line",
        'quote the value when it contains ": "',
    ),
    "did not find expected key": (
        "this line fits neither the mapping nor the list that it stands in",
        "check its indentation and quotes",
    ),
    "did not find expected '-' indicator": (
        "a list item must start with `- ` at the list's indentation",
        "check the indentation",
    ),
    "found unexpected end of stream": (
        "the text ends inside a quoted value or a bracket",
        "close the quote or bracket",
    ),
    "did not find expected ',' or ']'": (
        "a list in brackets is not closed",
        "add `,` between items and `]` at the end",
    ),
    "did not find expected ',' or '}'": (
        "a mapping in braces is not closed",
        "add `,` between fields and `}` at the end",
    ),
    "found unknown escape character": (
        "an unknown escape in a double-quoted value",
        r"use single quotes, or write \\ for a backslash",
    ),
    "second occurrence": (
        "an anchor with this name exists already",
        "rename one of the anchors",
    ),
    "block sequence entries are not allowed": (
        "a list cannot start here",
        "put the list on the next line",
    ),
    "found character that cannot start any token": (
        "a value cannot start with this character",
        "quote the value",
    ),
    "did not find expected <document start>": (
        "text after the end of the document",
        "separate documents with a line `---`",
    ),
    "control characters are not allowed": (
        "a control character",
        "remove it, or write it as an escape in double quotes",
    ),
    "did not find expected node content": (
        "a value is missing here",
        "write the value, or remove the `,`",
    ),
}
"""Message and hint, by a part of what libyaml says. The first part that fits counts."""
_BREAK = re.compile("\r\n|\r|\n")
_FIELD = re.compile(r"""\s*(- +|["']?[A-Za-z_][\w./-]*["']?:(\s|$))""")
"""The start of a line that is a field or an item, and hardly part of a text."""
_ENDED_BY_QUOTE = re.compile(r"""(?:^|[-:,\[{]\s)\s*("(?:[^"\\]|\\.)*")(?=[^\s,:\]}#])""")
"""A double-quoted value, and text directly behind its end."""
_NO_BREAK_SPACE = (
    "^ *(?:- *)*([\u00a0\u2007\u202f\u200b\u3000])|:([\u00a0\u2007\u202f\u200b\u3000])"
)
# Compiled on first use: it takes 4 ms, and repositories without mistakes do not need it.
_NOT_PRINTABLE = "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|\ufeff"


@dataclass(frozen=True, slots=True)
class SyntaxMistake(Mistake):
    """A mistake in the syntax, with its place as libyaml reports it."""

    offset: int | None = None
    line: int = 0
    """0-based, in the parsed text, as the column."""
    column: int = 0
    kind: Literal["syntax", "tab", "template"] = "syntax"
    """`tab`: in the indentation. `template`: an action of a Go template."""


def explain(error: MarkedYAMLError | str, text: str) -> SyntaxMistake:
    """Explains an error of the parser, or the message of an error of libyaml's reader."""
    if isinstance(error, str):
        return _reader_error(error, text)
    # Without a last line break, libyaml names the line behind the end.
    lines = [*_BREAK.split(text), ""]
    mark = error.problem_mark or error.context_mark
    line = mark.line if mark is not None else 0
    column = mark.column if mark is not None else 0
    if line == len(lines) - 1:
        line -= 1
        column = len(lines[line])
    problem = f"{error.context or ''} {error.problem or ''}"
    here = lines[line]
    # Before everything else: whatever libyaml expected, a tab is what an editor put there.
    if "\t" in _leading_blank(here) and re.search("token|indentation|tab", problem):
        message = "a tab in the indentation; YAML allows spaces only"
        return SyntaxMistake(message, "use spaces", line=line, column=here.index("\t"), kind="tab")
    # The most certain cause first: each of them may make libyaml say any of the texts below.
    cause = (
        _template_action(error, lines)
        or _open_quote(error, text, lines)
        or _no_break_space(lines, line)
        or _inner_quote(lines, line)
    )
    if cause is not None:
        return cause
    explanation = _explanation_of(problem)
    if explanation is None:
        message = f"not valid YAML: {error.problem or error.context or 'unreadable'}"
        return SyntaxMistake(message, line=line, column=column)
    mistake = SyntaxMistake(*explanation, line=line, column=column)
    if "mapping values" in problem:
        return _too_deep(lines, mistake)
    if "did not find expected key" in problem and here[:column].strip():
        message = "text behind a quoted or bracketed value"
        return replace(mistake, message=message, hint="quote the whole value")
    if "node content" in problem and not "".join(lines[line:])[column:].strip():
        message = "the text ends where a value or a closing bracket should be"
        return replace(mistake, message=message, hint="write it, or remove what opens it")
    context = error.context_mark
    if context is None:
        return mistake
    # Where something is not closed, libyaml reports the end of the text. People need the beginning.
    at_beginning = replace(mistake, line=context.line, column=context.column)
    if "while scanning a simple key" in problem:
        return _without_colon(lines, at_beginning)
    # A line that is not indented deeper than that of the bracket is outside of it.
    indentation = len(_leading_blank(here))
    indentation_of_bracket = len(_leading_blank(lines[context.line]))
    is_outside = line > context.line and (not here.strip() or indentation <= indentation_of_bracket)
    if "unexpected end of stream" in problem or ("expected ',' or" in problem and is_outside):
        return replace(at_beginning, message="the bracket or quote that opens here is never closed")
    return mistake


def _explanation_of(problem: str) -> tuple[str, str] | None:
    for part, explanation in _EXPLANATIONS.items():
        if part in problem:
            return explanation
    return None


def _template_action(error: MarkedYAMLError, lines: list[str]) -> SyntaxMistake | None:
    """A line of a Go template, such as those of Helm charts."""
    for mark in (error.context_mark, error.problem_mark):
        if mark is None:
            continue
        action = _TEMPLATE_LINE.match(lines[min(mark.line, len(lines) - 1)])
        if action is not None:
            return SyntaxMistake(*TEMPLATE, line=mark.line, column=action.end(), kind="template")
    return None


def _open_quote(error: MarkedYAMLError, text: str, lines: list[str]) -> SyntaxMistake | None:
    """An open quote, which reaches to the next one.

    libyaml refuses something there, often many lines below. The quoted text then holds lines that
    look like fields.
    """
    if error.problem_mark is None:
        return None
    quoted_texts = []
    if "quoted scalar" in (error.context or ""):
        quoted_texts.append((error.context_mark, error.problem_mark))
    ends = {mark.index for mark in (error.context_mark, error.problem_mark) if mark is not None}
    try:
        # The scanner knows where quoted texts end also where the parser has given up.
        for token in yaml.scan(text, Loader=yaml.CLoader):
            if (
                isinstance(token, ScalarToken)
                and token.style in {"'", '"'}
                and token.end_mark.index in ends
            ):
                quoted_texts.insert(0, (token.start_mark, token.end_mark))
    except YAMLError:
        pass  # the same error again
    for start, end in quoted_texts:
        if start is not None and any(map(_FIELD.match, lines[start.line + 1 : end.line + 1])):
            return SyntaxMistake(
                "the quote that opens here is not closed: the fields below are part of its text",
                "close it on its line",
                line=start.line,
                column=start.column,
            )
    return None


def _no_break_space(lines: list[str], line: int) -> SyntaxMistake | None:
    """A no-break space, which YAML reads as a letter; the error is on its line or the next."""
    for number in (line - 1, line):
        space = re.search(_NO_BREAK_SPACE, lines[number]) if number >= 0 else None
        if space is not None:
            column = space.end() - 1
            code_point = ord(lines[number][column])
            message = f"U+{code_point:04X} looks like a space, but is not one in YAML"
            return SyntaxMistake(message, "write a space", line=number, column=column)
    return None


def _inner_quote(lines: list[str], line: int) -> SyntaxMistake | None:
    """A double-quoted value with double quotes in it, as people write PromQL.

    The first label ends it.
    """
    quoted = _ENDED_BY_QUOTE.search(lines[line])
    if quoted is None:
        return None
    message = "a double quote ends the value that begins with one, and text follows it"
    hint = "write the whole value in single quotes: '...'"
    if "'" in lines[line][quoted.start(1) :]:
        hint = (
            "write `|-` in its place, and the text on the next line, indented and without quotes"
            " around it"
        )
    return SyntaxMistake(message, hint, line=line, column=quoted.end(1) - 1)


def _without_colon(lines: list[str], mistake: SyntaxMistake) -> SyntaxMistake:
    """Detects `name:value`, which YAML reads as one word."""
    # Not https://host, in which the colon belongs to the value.
    joined = re.match(r"([A-Za-z][\w.-]*):(?!//)(\S{1,40})", lines[mistake.line][mistake.column :])
    if joined is None:
        return mistake
    return replace(
        mistake,
        column=mistake.column + joined.end(1),
        message="no space after the `:`",
        hint=f"write `{joined[1]}: {joined[2]}`",
    )


def _too_deep(lines: list[str], mistake: SyntaxMistake) -> SyntaxMistake:
    """Detects a line that is indented deeper and so continues the value above it."""
    here = lines[mistake.line]
    if re.search(r":(\s|$)", here[: mistake.column]) or not here.strip():
        return mistake
    start = len(_leading_blank(here))
    for number in range(mistake.line - 1, -1, -1):
        # Empty lines and comments have no indentation that counts.
        if lines[number].strip() and not lines[number].lstrip().startswith("#"):
            column = len(_leading_blank(lines[number]))
            if column >= start:
                return _without_colon(
                    lines, SyntaxMistake(*_WITHOUT_COLON, line=number, column=column)
                )
            break
    message = "this line is indented deeper than the one above, which has a value already"
    hint = "give lines of one mapping the same indentation, or indent neither"
    return SyntaxMistake(message, hint, line=mistake.line, column=start)


def _leading_blank(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _reader_error(error: str, text: str) -> SyntaxMistake:
    """Explains a character that YAML forbids.

    libyaml reports it without a line, so the first one is searched for.
    """
    character = re.search(_NOT_PRINTABLE, text)
    if character is None:
        reason = error.splitlines()[0] if error else "unreadable"
        return SyntaxMistake(f"not valid YAML: {reason}")
    line, column = line_and_column(text, character.start())
    message = f"the character U+{ord(character[0]):04X} is not allowed in YAML"
    hint = "remove it, or write it as an escape in double quotes"
    return SyntaxMistake(message, hint, line=line, column=column)
