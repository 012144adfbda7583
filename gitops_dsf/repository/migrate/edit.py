"""Edits of a text, and the edits that each kind of rewriting needs."""

from dataclasses import dataclass
from typing import Any

from yaml.nodes import CollectionNode, MappingNode, Node, ScalarNode

from gitops_dsf.repository.load import Document, Path
from gitops_dsf.repository.model.dialect import Dialect, Rewrite


@dataclass(frozen=True, order=True)
class Edit:
    """Replaces the characters start..end of a text by `new`."""

    start: int
    end: int
    new: str


def apply(text: str, edits: list[Edit]) -> str:
    """Applies edits, which must not overlap."""
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.new + text[edit.end :]
    return text


def overlap(first: list[Edit], second: list[Edit]) -> bool:
    """Whether two groups of edits overlap."""
    return any(a.start <= b.end and b.start <= a.end for a in first for b in second)


def edits_for(document: Document, dialect: Dialect) -> list[Edit] | None:
    """The edits of a document's text; None if its layout needs a person's decision."""
    pair = _pair(document, dialect.path)
    if pair is None:
        return None
    parent, key, value = pair
    text = document.text
    if _is_alias(key, value):
        return None
    match dialect.rewrite:
        case Rewrite.KEY:
            return _replace(text, key, dialect.text)
        case Rewrite.VALUE:
            return _replace(text, value, dialect.text)
        case Rewrite.HOIST:
            return _hoist(text, parent, key, value)
        case Rewrite.REMOVE:
            return _remove(text, parent, key, value)
        case Rewrite.SCORE_NAME:
            return _move_name(document, parent, key, value)
        case Rewrite.BY_HAND:
            return None


def _pair(document: Document, path: Path) -> tuple[MappingNode, ScalarNode, Node] | None:
    """The mapping that contains the field at a path, its key and its value."""
    parent, _, _ = document.walk(path[:-1])
    value, key, whole = document.walk(path)
    return (parent, key, value) if whole and isinstance(parent, MappingNode) and key is not None else None


def _start(node: Node) -> int:
    return int(_mark(node.start_mark).index)


def _end(node: Node) -> int:
    return int(_mark(node.end_mark).index)


def _mark(mark: Any) -> Any:  # noqa: ANN401 - the stubs know two kinds of marks, and none
    return mark


def _is_alias(key: Node, value: Node) -> bool:
    """Whether a node is an alias: it is composed as its definition, which is earlier in the text."""
    return _start(value) < _end(key)


def _replace(text: str, node: Node, new: str) -> list[Edit] | None:
    """Replaces a scalar's text. Quotes, anchors and tags are kept."""
    if not isinstance(node, ScalarNode) or node.style in {"|", ">"}:
        return None
    source = text[_start(node) : _end(node)]
    index = source.rfind(node.value)
    if index < 0 or not node.value:
        return None
    start = _start(node) + index
    return [Edit(start, start + len(node.value), new)]


def _line_start(text: str, index: int) -> int:
    return text.rfind("\n", 0, index) + 1


def _line_end(text: str, index: int) -> int:
    """Index after the line break that ends the line."""
    end = text.find("\n", index)
    return len(text) if end < 0 else end + 1


def _last_index(node: Node) -> int:
    """Index after the last character of a node's content. The marks of a collection end only at the next
    token.
    """
    if not isinstance(node, CollectionNode) or node.flow_style or not node.value:
        return _end(node)
    last = node.value[-1]
    return _last_index(last[1] if isinstance(last, tuple) else last)


def _hoist(text: str, parent: MappingNode, key: ScalarNode, value: Node) -> list[Edit] | None:
    if not isinstance(value, MappingNode):
        return None
    if value.flow_style:
        inner = text[_start(value) : _end(value)]
        if "#" in inner or not inner.startswith("{"):
            return None
        if parent.flow_style:
            return [Edit(_start(key), _end(value), inner[1:-1].strip().rstrip(","))]
        return _unfold(text, key, value)
    first = value.value[0][0]
    between = text[_end(key) : _start(first)]
    if parent.flow_style or "&" in between or "!" in between or "\n" not in between:
        return None
    head = _line_start(text, _start(key))
    if text[head : _start(key)].strip():
        return None
    depth = _mark(first.start_mark).column - _mark(key.start_mark).column
    if depth < 1:
        return None
    comment = text[_end(key) : _line_end(text, _end(key))].lstrip(" \t").removeprefix(":").lstrip(" \t")
    heading = (
        [Edit(_start(key), _line_end(text, _end(key)), comment)]
        if comment.strip()
        else [Edit(head, _line_end(text, head), "")]
    )
    return heading + _dedent(text, _line_end(text, head), _last_index(value), depth)


def _dedent(text: str, start: int, end: int, depth: int) -> list[Edit]:
    """Removes up to `depth` spaces from the start of every line between start and end."""
    edits: list[Edit] = []
    while start < end:
        line = text[start : _line_end(text, start)]
        blank = len(line) - len(line.lstrip(" "))
        if blank and line.strip():
            edits.append(Edit(start, start + min(blank, depth), ""))
        start = _line_end(text, start)
    return edits


def _unfold(text: str, key: ScalarNode, value: MappingNode) -> list[Edit] | None:
    """Writes `endpoint: {host: a, path: b}` in a block mapping as one line per field."""
    head = _line_start(text, _start(key))
    indent = text[head : _start(key)]
    fields = [text[_start(name) : _end(item)] for name, item in value.value]
    if indent.strip() or any(
        "\n" in field or _is_alias(name, item)
        for field, (name, item) in zip(fields, value.value, strict=True)
    ):
        return None
    if any(not isinstance(item, ScalarNode) for _, item in value.value):
        return None
    return [Edit(_start(key), _end(value), f"{_newline(text)}{indent}".join(fields))]


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _remove(text: str, parent: MappingNode, key: ScalarNode, value: Node) -> list[Edit] | None:
    if len(parent.value) < 2 or not isinstance(value, ScalarNode) or value.style in {"|", ">"}:
        return None
    if not parent.flow_style:
        head = _line_start(text, _start(key))
        tail = text[_end(value) : _line_end(text, _end(value))]
        if text[head : _start(key)].strip():
            return None
        if tail.strip():  # only a comment can follow; it stays on its own line
            return [Edit(_start(key), _end(value) + len(tail) - len(tail.lstrip()), "")]
        return [Edit(head, _line_end(text, _end(value)), "")]
    index = next(number for number, (name, _) in enumerate(parent.value) if name is key)
    if index + 1 < len(parent.value):
        return [Edit(_start(key), _start(parent.value[index + 1][0]), "")]
    return [Edit(_end(parent.value[index - 1][1]), _end(value), "")]


def _move_name(document: Document, parent: MappingNode, key: ScalarNode, value: Node) -> list[Edit] | None:
    text = document.text
    removed = _remove(text, parent, key, value)
    source = text[_start(value) : _end(value)]
    if removed is None or "\n" in source or source[:1] in {"&", "!"}:
        return None
    params = _pair(document, ("spec", "scoring", "params"))
    if params is not None and not isinstance(params[2], MappingNode):
        return None
    if params is not None and not _is_alias(params[1], params[2]):
        added = _insert_first(text, params[2], f"name: {source}", f"name: {source}")
    else:
        scoring = _pair(document, ("spec", "scoring"))
        if scoring is None or _is_alias(scoring[1], scoring[2]):
            return None
        added = _insert_first(text, scoring[2], f"params: {{name: {source}}}", f"params: {{name: {source}}}")
    return None if added is None else [*removed, added]


def _insert_first(text: str, mapping: Node, flow: str, block: str) -> Edit | None:
    """Inserts a first field into a mapping that has fields."""
    if not isinstance(mapping, MappingNode) or not mapping.value:
        return None
    first = _start(mapping.value[0][0])
    if mapping.flow_style:
        return Edit(first, first, f"{flow}, ")
    head = _line_start(text, first)
    indent = text[head:first]
    return None if indent.strip() else Edit(head, head, f"{indent}{block}{_newline(text)}")
