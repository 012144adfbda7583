"""Parses the text of one file into documents.

The text is split at `---` lines first, so that a mistake affects only its document. YAML forbids
`---` at the start of a line inside of any value (YAML 1.2.2, section 9.1.2), so the split is always
right.

Guaranteed: a mistake in one document is a finding at its line, and the other documents are read
anyway. The number and the size of documents are bounded before they are parsed. Not guaranteed:
that the content means anything. Kinds and fields are checked by `repository.model`.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from yaml import MarkedYAMLError, YAMLError
from yaml.nodes import MappingNode, Node, ScalarNode

from gitops_dsf.diagnostics import Diagnostic, Position, codes
from gitops_dsf.diagnostics.listed import MAX_OF_DOCUMENT, Listed
from gitops_dsf.repository.load.characters import line_and_column
from gitops_dsf.repository.load.compose import compose, forbidden
from gitops_dsf.repository.load.document import AmbiguousValue, Document
from gitops_dsf.repository.load.scalar import Ambiguous, resolve_plain
from gitops_dsf.repository.load.syntax_error import TEMPLATE, explain
from gitops_dsf.wording import shortened

MAX_DOCUMENTS: Final = 10_000
"""Upper limit of the documents of one file."""
MAX_DOCUMENT_BYTES: Final = 1_500_000
"""Upper limit of the bytes of one document.

The store of Kubernetes takes 1.5 MB in one object (etcd, --max-request-bytes).
"""
MAX_BROKEN: Final = 20
"""Malformed documents that are reported per file, so that a binary file does not hide other
findings.
"""

_MARKER = re.compile(r"^---(?=[ \t\r\n]|\Z)", re.MULTILINE)
_ODD_BREAK = re.compile("[\x85\u2028\u2029]")
"""Line ends of YAML 1.1 that YAML 1.2 reads as letters."""
_CONFLICT = re.compile(r"^(?:<{7}|>{7}) .*$", re.MULTILINE)
"""The first or last line of a conflict that git could not merge. No YAML of ours has one."""
_DIRECTIVE = re.compile(r"(?:[ \t]*(?:#.*)?\r?\n)*(%[A-Z].*)")
"""A directive before any content. A `%` further down is content, or a mistake that libyaml reports.
"""
_BROKEN: Final = frozenset({codes.SYNTAX.id, codes.TAB.id, codes.TEMPLATE.id})
_CODES: Final = {"syntax": codes.SYNTAX, "tab": codes.TAB, "template": codes.TEMPLATE}
"""The code of a finding, by the kind of its mistake."""
_STRING_TAG: Final = "tag:yaml.org,2002:str"

Parsed = tuple[list[Document], list[Diagnostic]]
"""The documents of a text that could be parsed, and all findings about it."""
_PositionOf = Callable[[int, int], Position]
"""Makes a position in the file of a 0-based line and column in a part of it."""


def parse(*, file: str, text: str) -> Parsed:
    """Parses every document of a text. Skips empty documents, such as comments only."""
    # The search for a plain text is fast, and hardly any file goes on to the regular expression.
    conflict = _CONFLICT.search(text) if "<<<<<<<" in text or ">>>>>>>" in text else None
    if conflict is not None:
        position = Position(file=file, line=text.count("\n", 0, conflict.start()) + 1)
        hint = "keep what is right, and remove the lines with <<<<<<<, ======= and >>>>>>>"
        return [], [codes.SYNTAX.at(position, "a merge conflict that is not resolved", hint)]
    documents: list[Document] = []
    listed = Listed()
    broken = 0
    for number, (first_line, part) in enumerate(_parts(text)):
        position = Position(file=file, line=first_line + 1)
        if number >= MAX_DOCUMENTS:
            more = len(_MARKER.findall(text)) - number + (_MARKER.match(text) is None)
            message = f"{more:,} more documents are not read: a file may have {MAX_DOCUMENTS:,}"
            finding = codes.SIZE.at(position, message, "split it into several files")
            return documents, [*listed.all(), finding]
        parsed, mistakes = _part(file=file, text=part, first_line=first_line)
        documents += parsed
        listed.add(mistakes)
        broken += any(mistake.code in _BROKEN for mistake in mistakes)
        if broken >= MAX_BROKEN:
            message = f"more than {broken} broken documents; the rest of the file is not read"
            listed.add([codes.SYNTAX.at(position, message)])
            break
    return documents, listed.all()


class Constructor:
    """Converts one composed document, which has no aliases, to plain data.

    Findings are added to `listed`, and texts that YAML parsers read differently to `ambiguous`.
    """

    def __init__(self, *, position_of: _PositionOf) -> None:
        self.listed = Listed(MAX_OF_DOCUMENT)
        self.ambiguous: list[AmbiguousValue] = []
        self._position_of = position_of
        self._path: list[str | int] = []

    def construct(self, node: Node) -> Any:  # noqa: ANN401 - whatever YAML holds
        """The plain data of a node. Raises _TemplateError for `{{ ... }}`."""
        if isinstance(node, ScalarNode):
            return self._scalar(node)
        if node.tag:
            self._report_tag(node)
        if isinstance(node, MappingNode):
            return self._mapping(node)
        return [self._inside(index, child) for index, child in enumerate(node.value)]

    def _inside(self, part: str | int, node: Node) -> Any:  # noqa: ANN401 - whatever YAML holds
        """The plain data of a node below the current path."""
        self._path.append(part)
        value = self.construct(node)
        self._path.pop()
        return value

    def _scalar(self, node: ScalarNode) -> Any:  # noqa: ANN401 - whatever YAML holds
        text: str = node.value
        if node.tag:
            # `!` alone says the same: a string, whatever it looks like (YAML 1.2.2, section 6.9.1).
            if node.tag not in {_STRING_TAG, "!"}:
                self._report_tag(node)
            return text
        # A style is a kind of quotes or of block: such a scalar is a text, whatever it says.
        if node.style:
            return text
        value = resolve_plain(text)
        if isinstance(value, Ambiguous):
            self._report_ambiguous(node, value)
            return text
        return value

    def _mapping(self, node: MappingNode) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        first_keys: dict[str, Node] = {}
        for key, value in node.value:
            if isinstance(key, MappingNode) and _are_adjacent(node, key):
                raise _TemplateError(self._at(node))
            name = self._key(key)
            if name is None:
                # The value has no place in the data, but its mistakes are reported.
                self.construct(value)
            elif name in fields:
                line = self._at(first_keys[name]).line
                message = f"{shortened(name)} is written twice; it is already on line {line}"
                self._report(key, codes.DUPLICATE_KEY, message, "keep one of the two")
            else:
                first_keys[name] = key
                fields[name] = self._inside(name, value)
        return fields

    def _key(self, node: Node) -> str | None:
        """A field name; None after a finding."""
        if not isinstance(node, ScalarNode):
            message = "a mapping or list cannot be a field name"
            self._report(node, codes.UNSUPPORTED_YAML, message, "write a string")
            return None
        text: str = node.value
        if node.tag or node.style:
            return text
        if text == "<<":
            message = "the merge key << is read by kubectl and not by YAML 1.2"
            self._report(node, codes.UNSUPPORTED_YAML, message, "write the merged fields out")
            return None
        value = resolve_plain(text)
        if isinstance(value, str):
            return value
        if isinstance(value, Ambiguous):
            message = f"{shortened(text)}: {value.why}; field names are strings"
        else:
            name = shortened(text) or "an empty key"
            message = f"{name} is not a string; field names are strings"
        self._report(node, codes.AMBIGUOUS, message, f'quote it: "{text}"')
        return text

    def _report_ambiguous(self, node: ScalarNode, ambiguous: Ambiguous) -> None:
        if not self.listed.is_full:
            self.ambiguous.append(
                AmbiguousValue(
                    path=tuple(self._path),
                    position=self._at(node),
                    text=node.value,
                    readings=ambiguous.readings,
                )
            )
        hint = f'quote it: "{node.value}"'
        if ambiguous.readings:
            hint = f'quote it: "{node.value}", or write {" or ".join(ambiguous.readings)}'
        message = f"{shortened(node.value)}: {ambiguous.why}"
        self._report(node, codes.AMBIGUOUS, message, hint)

    def _report_tag(self, node: Node) -> None:
        """Reports a tag, unless it says what the node is without it."""
        tag = str(node.tag).replace("tag:yaml.org,2002:", "!!")
        if tag in {"!!map", "!!seq"}:
            return
        hint = "remove the tag; quote the value to make it a string"
        self._report(node, codes.UNSUPPORTED_YAML, f"the tag {shortened(tag)} is not read", hint)

    def _at(self, node: Node) -> Position:
        return self._position_of(node.start_mark.line, node.start_mark.column)

    def _report(self, node: Node, code: codes.FindingCode, message: str, hint: str = "") -> None:
        self.listed.add([code.at(self._at(node), message, hint)])


class _TemplateError(Exception):
    """`{{ ... }}` in the place of a value.

    YAML reads it as a mapping that is the key of a mapping.
    """

    def __init__(self, position: Position) -> None:
        super().__init__(position)
        self.position = position


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """The text between markers, each part with its marker and the number of lines before it.

    Markers are looked for one by one: of a file with a million of them, few parts are read.
    """
    start = line = 0
    for marker in _MARKER.finditer(text) if "---" in text else ():
        end = marker.start()
        # Before a marker at the very beginning there is nothing.
        if end:
            part = text[start:end]
            yield line, part
            line += part.count("\n")
            start = end
    yield line, text[start:]


def _part(*, file: str, text: str, first_line: int) -> Parsed:
    """Parses a part of a file. It has several documents only after a line `...`."""

    def position_of(line: int, column: int) -> Position:
        return Position(file=file, line=first_line + line + 1, column=column + 1)

    finding = _refusal(text, position_of)
    if finding is not None:
        return [], [finding]
    documents: list[Document] = []
    diagnostics: list[Diagnostic] = []
    try:
        if (refused := forbidden(text)) is not None:
            position = position_of(refused.mark.line, refused.mark.column)
            return [], [refused.code.at(position, refused.message, refused.hint)]
        for index, root in enumerate(compose(text)):
            constructor = Constructor(position_of=position_of)
            data = constructor.construct(root)
            diagnostics += constructor.listed.all()
            # An empty document is a null that was not written; one that is written is a mistake.
            if data is None and root.value == "":
                continue
            start = position_of(root.start_mark.line, root.start_mark.column)
            if not isinstance(data, dict):
                message = "a document must be an object with apiVersion, kind and metadata"
                hint = "write one Kubernetes object per document"
                diagnostics.append(codes.NOT_AN_OBJECT.at(start, message, hint))
                continue
            name_at = _name_position(root, position_of) or start
            document = Document(
                file=file,
                text=text,
                first_line=first_line,
                index=index,
                data=data,
                start=(start.line, start.column),
                name_at=(name_at.line, name_at.column),
                ambiguous=tuple(constructor.ambiguous),
            )
            documents.append(document)
    except _TemplateError as error:
        return [], [codes.TEMPLATE.at(error.position, *TEMPLATE)]
    except YAMLError as error:
        mistake = explain(error if isinstance(error, MarkedYAMLError) else str(error), text)
        code = _CODES[mistake.kind]
        position = position_of(mistake.line, mistake.column)
        diagnostics.append(code.at(position, mistake.message, mistake.hint))
    return documents, diagnostics


def _refusal(text: str, position_of: _PositionOf) -> Diagnostic | None:
    """The reason why a part is not parsed at all; None if it is."""
    if len(text) > MAX_DOCUMENT_BYTES:
        size = len(text.encode())
        return codes.SIZE.at(
            position_of(0, 0),
            f"the document has {size} bytes; Kubernetes stores objects of at most"
            f" {MAX_DOCUMENT_BYTES} bytes",
            "shorten its texts, or split it into several objects",
        )
    if "%" in text and (directive := _DIRECTIVE.match(text)) is not None:
        line = text.count("\n", 0, directive.start(1))
        message = f"the directive {directive[1].strip()} is not read"
        return codes.UNSUPPORTED_YAML.at(position_of(line, 0), message, "remove the line")
    odd_break = None if text.isascii() else _ODD_BREAK.search(text)
    if odd_break is not None:
        return codes.SYNTAX.at(
            position_of(*line_and_column(text, odd_break.start())),
            f"U+{ord(odd_break[0]):04X} ends the line for some readers of YAML, and is a letter for"
            " others",
            "remove it, or write it as an escape in double quotes",
        )
    return None


def _name_position(root: Node, position_of: _PositionOf) -> Position | None:
    """The position of metadata.name's value in a composed document; None if there is none."""
    for key, value in root.value:
        if key.value == "metadata" and isinstance(value, MappingNode):
            for inner_key, name in value.value:
                if inner_key.value == "name":
                    return position_of(name.start_mark.line, name.start_mark.column)
    return None


def _are_adjacent(outer: Node, inner: Node) -> bool:
    """Whether the brace of the inner mapping follows that of the outer one, as in {{."""
    return (inner.start_mark.line, inner.start_mark.column) == (
        outer.start_mark.line,
        outer.start_mark.column + 1,
    )
