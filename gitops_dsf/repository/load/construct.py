"""Converts node trees to plain data. Checks duplicate keys, ambiguous scalars, aliases and tags."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from gitops_dsf.diagnostics import Diagnostic, Position, codes
from gitops_dsf.repository.load.document import AmbiguousValue, Path
from gitops_dsf.repository.load.limits import AliasBudget, ReadLimits
from gitops_dsf.repository.load.scalar import Ambiguous, resolve_plain
from gitops_dsf.wording import shortened

_STRING_TAG = "tag:yaml.org,2002:str"


class Constructor:
    """Converts one document. Adds findings to `diagnostics`; `refused` says that the data must
    not be used.
    """

    def __init__(
        self, *, text: str, place: Callable[[int, int], Position], limits: ReadLimits, aliases: AliasBudget
    ) -> None:
        self.diagnostics: list[Diagnostic] = []
        self.refused = False
        self._place = place
        self._limits = limits
        self._aliases = aliases
        self._has_aliases = "*" in text and "&" in text
        self._ambiguous_nodes: dict[int, Ambiguous] = {}

    def construct(self, root: Node) -> Any:  # noqa: ANN401 - whatever YAML holds
        """Returns the plain data of a document; None, with `refused` set, if its aliases expand too far."""
        if self._has_aliases and not self._aliases_are_fine(root):
            self.refused = True
            return None
        return self._value(root)

    def ambiguous(self, root: Node) -> tuple[AmbiguousValue, ...]:
        """The ambiguous values of the converted document, with their positions."""
        if not self._ambiguous_nodes:
            return ()
        return tuple(
            AmbiguousValue(
                path=path,
                position=self._at(node),
                text=node.value,
                instead=self._ambiguous_nodes[id(node)].instead,
            )
            for path, node in _scalars(root)
            if id(node) in self._ambiguous_nodes
        )

    def _value(self, node: Node) -> Any:  # noqa: ANN401 - whatever YAML holds
        if isinstance(node, ScalarNode):
            return self._scalar(node)
        if node.tag:
            self._unsupported_tag(node)
        if isinstance(node, MappingNode):
            return self._mapping(node)
        return [self._value(item) for item in node.value]

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
                self._value(value)
            elif name in result:
                self._duplicate(name, key, first)
            else:
                first[name] = key
                result[name] = self._value(value)
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
        if id(node) in self._ambiguous_nodes:
            return  # an alias: reported where it is defined
        self._ambiguous_nodes[id(node)] = found
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

    def _aliases_are_fine(self, root: Node) -> bool:
        """Checks size and depth of the document with every alias expanded. An alias refers to an earlier
        node, so the recursion is only as deep as the text is nested.
        """
        known: dict[int, tuple[int, int]] = {}
        unfinished: set[int] = set()
        limits = self._limits

        def measure(node: Node) -> tuple[int, int] | None:
            if id(node) in known:
                return known[id(node)]
            if id(node) in unfinished:
                self._report(node, codes.ALIASES, "an alias inside of its own value", "write the value out")
                return None
            unfinished.add(id(node))
            size, depth = 1, 0
            for child in _children(node):
                measured = measure(child)
                if measured is None:
                    return None
                size, depth = size + measured[0], max(depth, measured[1])
            depth += not isinstance(node, ScalarNode)
            if size > limits.expanded_nodes or depth > limits.depth:
                what = (
                    f"{limits.expanded_nodes} values"
                    if size > limits.expanded_nodes
                    else f"{limits.depth} levels"
                )
                self._report(
                    node,
                    codes.ALIASES,
                    f"with its aliases expanded this has more than {what}",
                    "use fewer aliases",
                )
                return None
            unfinished.discard(id(node))
            known[id(node)] = (size, depth)
            return size, depth

        measured = measure(root)
        if measured is None:
            return False
        # `known` counts every value once; what is left was added by aliases.
        if not self._aliases.spend(measured[0] - len(known)):
            message = f"the aliases of all files together expand to more than {limits.alias_nodes} values"
            self._report(root, codes.ALIASES, message, "use fewer aliases")
            return False
        return True

    def _at(self, node: Node) -> Position:
        return self._place(node.start_mark.line, node.start_mark.column)

    def _report(self, node: Node, code: codes.Code, message: str, hint: str = "") -> None:
        self.diagnostics.append(code.at(self._at(node), message, hint))


def _children(node: Node) -> list[Node]:
    if isinstance(node, MappingNode):
        return [part for pair in node.value for part in pair]
    if isinstance(node, SequenceNode):
        return list(node.value)
    return []


def _scalars(root: Node) -> Iterator[tuple[Path, ScalarNode]]:
    """Every scalar value with its path. A value behind an alias appears once, where it is defined."""
    pending: list[tuple[Path, Node]] = [((), root)]
    seen: set[int] = set()
    while pending:
        path, node = pending.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, ScalarNode):
            yield path, node
        elif isinstance(node, MappingNode):
            pending += [
                ((*path, key.value), value) for key, value in node.value if isinstance(key, ScalarNode)
            ]
        else:
            pending += [((*path, index), item) for index, item in enumerate(node.value)]
