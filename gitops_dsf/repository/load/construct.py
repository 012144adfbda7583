"""Converts node trees to plain data. Checks duplicate keys, ambiguous scalars and tags."""

from collections.abc import Callable, Mapping
from typing import Any

from yaml.nodes import MappingNode, Node, ScalarNode

from gitops_dsf.diagnostics import Diagnostic, Position, codes
from gitops_dsf.repository.load.document import AmbiguousValue
from gitops_dsf.repository.load.scalar import Ambiguous, resolve_plain
from gitops_dsf.wording import shortened

_STRING_TAG = "tag:yaml.org,2002:str"


class Constructor:
    """Converts one document, which has no aliases. Adds findings to `diagnostics`."""

    def __init__(self, *, place: Callable[[int, int], Position]) -> None:
        self.diagnostics: list[Diagnostic] = []
        self.ambiguous: list[AmbiguousValue] = []
        self._place = place
        self._path: list[str | int] = []

    def construct(self, node: Node) -> Any:  # noqa: ANN401 - whatever YAML holds
        """Returns the plain data of a node."""
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
            name = self._key(key)
            if name is None:
                self.construct(value)
            elif name in result:
                self._duplicate(name, key, first)
            else:
                first[name] = key
                result[name] = self._inside(name, value)
        return result

    def _key(self, node: Node) -> str | None:
        """A field name; None after a finding."""
        if not isinstance(node, ScalarNode):
            self._report(
                node, codes.UNSUPPORTED_YAML, "a mapping or list cannot be a field name", "write a string"
            )
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
        why = (
            f"{shortened(text)}: {value.why}"
            if isinstance(value, Ambiguous)
            else f"{shortened(text) or 'an empty key'} is not a string"
        )
        self._report(node, codes.AMBIGUOUS, f"{why}; field names are strings", f'quote it: "{text}"')
        return text

    def _report_ambiguous(self, node: ScalarNode, found: Ambiguous) -> None:
        position = self._at(node)
        self.ambiguous.append(
            AmbiguousValue(path=tuple(self._path), position=position, text=node.value, instead=found.instead)
        )
        hint = f'quote it: "{node.value}"'
        if found.instead:
            hint += f", or write {found.instead}"
        self._report(node, codes.AMBIGUOUS, f"{shortened(node.value)}: {found.why}", hint)

    def _duplicate(self, name: str, key: Node, first: Mapping[str, Node]) -> None:
        there = self._at(first[name])
        message = f"{shortened(name)} is written twice; it is already on line {there.line}"
        self._report(key, codes.DUPLICATE_KEY, message, "keep one of the two")

    def _unsupported_tag(self, node: Node) -> None:
        tag = str(node.tag).replace("tag:yaml.org,2002:", "!!")
        if tag in {"!!map", "!!seq"}:
            return
        self._report(
            node,
            codes.UNSUPPORTED_YAML,
            f"the tag {shortened(tag)} is not read",
            "remove the tag; quote the value to make it a string",
        )

    def _at(self, node: Node) -> Position:
        return self._place(node.start_mark.line, node.start_mark.column)

    def _report(self, node: Node, code: codes.Code, message: str, hint: str = "") -> None:
        self.diagnostics.append(code.at(self._at(node), message, hint))
