"""A YAML file of the repository that people wrote: edited in place, with its comments, quotes and indentation."""

from collections.abc import Mapping
from io import StringIO
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap

_INDENTS = ((2, 4, 2), (2, 2, 0), (4, 4, 2), (4, 6, 4), (4, 4, 0))
"""Mapping, sequence and dash: the ways people indent, the usual one first."""


class YamlFile:
    """The documents of one text. What is not edited comes out as it was wherever the text is indented in one way throughout."""

    def __init__(self, text: str) -> None:
        self._bom = "\ufeff" if text.startswith("\ufeff") else ""
        self._newline = "\r\n" if "\r\n" in text else "\n"
        plain = text.removeprefix(self._bom).replace("\r\n", "\n")
        self._yaml, self._documents = _read(plain)

    def find(self, kind: str, name: str) -> CommentedMap | None:
        """The document of an object, to be edited in place."""
        for document in self._documents:
            if isinstance(document, CommentedMap) and document.get("kind") == kind:
                metadata = document.get("metadata")
                if isinstance(metadata, Mapping) and metadata.get("name") == name:
                    return document
        return None

    def remove(self, kind: str, name: str) -> bool:
        """Takes the document of an object out; False where there is none."""
        found = self.find(kind, name)
        self._documents = [document for document in self._documents if document is not found]
        return found is not None

    @property
    def holds_nothing(self) -> bool:
        """Whether no document is left."""
        return all(document is None for document in self._documents)

    @property
    def text(self) -> str:
        """The whole file."""
        return self._bom + _written(self._yaml, self._documents).replace("\n", self._newline)


def appended(text: str, document: str) -> str:
    """A text with one more document at its end."""
    if not text.strip():
        return document
    newline = "\r\n" if "\r\n" in text else "\n"
    return f"{text}{'' if text.endswith(newline) else newline}---{newline}{document.replace(chr(10), newline)}"


def _read(text: str) -> tuple[YAML, list[Any]]:
    """The documents, and the emitter that writes them most like the text."""
    fallback: tuple[YAML, list[Any]] | None = None
    for marker in (text.startswith("---"), not text.startswith("---")):
        for indent in _INDENTS:
            yaml = _emitter(*indent, marker=marker)
            documents = list(yaml.load_all(text))
            if _written(yaml, documents) == text:
                return yaml, documents
            fallback = fallback or (yaml, documents)
    assert fallback is not None  # noqa: S101 - there is at least one indentation
    return fallback


def _emitter(mapping: int, sequence: int, offset: int, *, marker: bool) -> YAML:
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 4096
    yaml.allow_duplicate_keys = False
    yaml.explicit_start = marker
    yaml.indent(mapping=mapping, sequence=sequence, offset=offset)
    return yaml


def _written(yaml: YAML, documents: list[Any]) -> str:
    out = StringIO()
    yaml.dump_all(documents, out)
    return out.getvalue()
