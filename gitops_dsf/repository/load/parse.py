"""Parses the text of one file into documents.

The text is split at `---` lines first, so that a mistake affects only its document.

YAML forbids `---` at the start of a line inside of any value, so the split is always right.
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

_MARKER = re.compile(r"^---(?=[ \t\r\n]|\Z)", re.MULTILINE)
_ODD_BREAK = re.compile("[\x85\u2028\u2029]")
_CONFLICT = re.compile(r"^(?:<{7}|>{7}) .*$", re.MULTILINE)
"""The first or last line of a conflict that git could not merge. No YAML of ours has one."""
_DIRECTIVE = re.compile(r"(?:[ \t]*(?:#.*)?\r?\n)*(%[A-Z].*)")
"""A directive before any content. A `%` further down is content, or a mistake that libyaml reports.
"""
MAX_DOCUMENTS: Final = 10_000
"""Of one file."""
MAX_DOCUMENT_BYTES: Final = 1_500_000
"""Of one document. The store of Kubernetes takes 1.5 MB in one object (etcd, --max-request-bytes).
"""
MOST_BROKEN: Final = 20
"""Malformed documents that are reported per file, so that a binary file does not hide other
findings.
"""

Parsed = tuple[list[Document], list[Diagnostic]]
"""The documents of a text that could be parsed, and all findings about it."""


def parse(*, file: str, text: str) -> Parsed:
    """Parses every document of a text. Skips empty documents, such as comments only."""
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
            return documents, [
                *listed.all(),
                codes.SIZE.at(position, message, "split it into several files"),
            ]
        found, mistakes = _part(file=file, text=part, first_line=first_line)
        documents += found
        listed.add(mistakes)
        broken += any(
            item.code in {codes.SYNTAX.id, codes.TAB.id, codes.TEMPLATE.id} for item in mistakes
        )
        if broken >= MOST_BROKEN:
            message = f"more than {broken} broken documents; the rest of the file is not read"
            listed.add([codes.SYNTAX.at(position, message)])
            break
    return documents, listed.all()


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """The text between markers, each part with its marker and the number of lines before it."""
    cuts = [match.start() for match in _MARKER.finditer(text)] if "---" in text else []
    if not cuts or cuts[0] != 0:
        cuts.insert(0, 0)
    line = 0
    for start, end in zip(cuts, [*cuts[1:], len(text)], strict=True):
        part = text[start:end]
        yield line, part
        line += part.count("\n")


def _part(*, file: str, text: str, first_line: int) -> Parsed:
    def place(line: int, column: int) -> Position:
        return Position(file=file, line=first_line + line + 1, column=column + 1)

    if len(text) > MAX_DOCUMENT_BYTES:
        size, most = len(text.encode()), MAX_DOCUMENT_BYTES
        message = (
            f"the document has {size} bytes, of at most {most}: Kubernetes stores no larger object"
        )
        hint = "shorten its texts, or split it into several objects"
        return [], [codes.SIZE.at(place(0, 0), message, hint)]
    if "%" in text and (directive := _DIRECTIVE.match(text)) is not None:
        line = text.count("\n", 0, directive.start(1))
        message = f"the directive {directive[1].strip()} is not read"
        return [], [codes.UNSUPPORTED_YAML.at(place(line, 0), message, "remove the line")]
    odd = None if text.isascii() else _ODD_BREAK.search(text)
    if odd is not None:
        message = (
            f"U+{ord(odd[0]):04X} ends the line for some readers of YAML, and is a letter for"
            " others"
        )
        hint = "remove it, or write it as an escape in double quotes"
        return [], [codes.SYNTAX.at(place(*line_and_column(text, odd.start())), message, hint)]
    documents: list[Document] = []
    diagnostics: list[Diagnostic] = []
    try:
        if (refused := forbidden(text)) is not None:
            code, mark, message, hint = refused
            return [], [code.at(place(mark.line, mark.column), message, hint)]
        for index, root in enumerate(compose(text)):
            constructor = Constructor(place=place)
            data = constructor.construct(root)
            diagnostics += constructor.listed.all()
            if data is None and root.value == "":  # an empty document
                continue
            start = place(root.start_mark.line, root.start_mark.column)
            if not isinstance(data, dict):
                message = "a document must be an object with apiVersion, kind and metadata"
                hint = "write one Kubernetes object per document"
                diagnostics.append(codes.NOT_AN_OBJECT.at(start, message, hint))
                continue
            name = _name_mark(root)
            name_at = start if name is None else place(*name)
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
        found = explain(error if isinstance(error, MarkedYAMLError) else str(error), text)
        code = codes.TEMPLATE if found.template else codes.TAB if found.tab else codes.SYNTAX
        diagnostics.append(code.at(place(found.line, found.column), found.message, found.hint))
    return documents, diagnostics


def _name_mark(root: Node) -> tuple[int, int] | None:
    for key, value in root.value:
        if key.value == "metadata" and isinstance(value, MappingNode):
            for inner, name in value.value:
                if inner.value == "name":
                    return name.start_mark.line, name.start_mark.column
    return None


_STRING_TAG = "tag:yaml.org,2002:str"


class _TemplateError(Exception):
    """`{{ ... }}` in the place of a value.

    YAML reads it as a mapping that is the key of a mapping.

    YAML reads it as a mapping that is the key of a mapping.
    """

    def __init__(self, position: Position) -> None:
        super().__init__(position)
        self.position = position


def _are_adjacent(outer: Node, inner: Node) -> bool:
    """Whether the brace of the inner mapping follows that of the outer one, as in {{."""
    return (inner.start_mark.line, inner.start_mark.column) == (
        outer.start_mark.line,
        outer.start_mark.column + 1,
    )


class Constructor:
    """Converts one document, which has no aliases. Adds findings to `listed`."""

    def __init__(self, *, place: Callable[[int, int], Position]) -> None:
        self.listed = Listed(MAX_OF_DOCUMENT)
        self.ambiguous: list[AmbiguousValue] = []
        self._place = place
        self._path: list[str | int] = []

    def construct(self, node: Node) -> Any:  # noqa: ANN401 - whatever YAML holds
        if isinstance(node, ScalarNode):
            return self._scalar(node)
        if node.tag:
            self._unsupported_tag(node)
        if isinstance(node, MappingNode):
            return self._mapping(node)
        return [self._inside(index, item) for index, item in enumerate(node.value)]

    def _inside(self, part: str | int, node: Node) -> Any:  # noqa: ANN401 - whatever YAML holds
        self._path.append(part)
        value = self.construct(node)
        self._path.pop()
        return value

    def _scalar(self, node: ScalarNode) -> Any:  # noqa: ANN401 - whatever YAML holds
        text: str = node.value
        if node.tag:
            if node.tag not in {_STRING_TAG, "!"}:
                self._unsupported_tag(node)
            return text
        if node.style:
            return text
        value = resolve_plain(text)
        if isinstance(value, Ambiguous):
            self._report_ambiguous(node, value)
            return text
        return value

    def _mapping(self, node: MappingNode) -> dict[str, Any]:
        result: dict[str, Any] = {}
        first: dict[str, Node] = {}
        for key, value in node.value:
            if isinstance(key, MappingNode) and _are_adjacent(node, key):
                raise _TemplateError(self._at(node))
            name = self._key(key)
            if name is None:
                self.construct(value)
            elif name in result:
                line = self._at(first[name]).line
                message = f"{shortened(name)} is written twice; it is already on line {line}"
                self._report(key, codes.DUPLICATE_KEY, message, "keep one of the two")
            else:
                first[name] = key
                result[name] = self._inside(name, value)
        return result

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
        why = f"{shortened(text) or 'an empty key'} is not a string"
        if isinstance(value, Ambiguous):
            why = f"{shortened(text)}: {value.why}"
        self._report(
            node, codes.AMBIGUOUS, f"{why}; field names are strings", f'quote it: "{text}"'
        )
        return text

    def _report_ambiguous(self, node: ScalarNode, found: Ambiguous) -> None:
        position, path = self._at(node), tuple(self._path)
        if not self.listed.is_full:
            self.ambiguous.append(
                AmbiguousValue(
                    path=path, position=position, text=node.value, readings=found.readings
                )
            )
        hint = f'quote it: "{node.value}"'
        if found.readings:
            hint = f'quote it: "{node.value}", or write {" or ".join(found.readings)}'
        self._report(node, codes.AMBIGUOUS, f"{shortened(node.value)}: {found.why}", hint)

    def _unsupported_tag(self, node: Node) -> None:
        tag = str(node.tag).replace("tag:yaml.org,2002:", "!!")
        if tag in {"!!map", "!!seq"}:
            return
        hint = "remove the tag; quote the value to make it a string"
        self._report(node, codes.UNSUPPORTED_YAML, f"the tag {shortened(tag)} is not read", hint)

    def _at(self, node: Node) -> Position:
        return self._place(node.start_mark.line, node.start_mark.column)

    def _report(self, node: Node, code: codes.Code, message: str, hint: str = "") -> None:
        self.listed.add([code.at(self._at(node), message, hint)])
