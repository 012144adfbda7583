"""Reads documents that are copied into the output. Any shape is possible, and a wrong one is a finding."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gitops_dsf.argocd import fields
from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.repository.load import Document, Path, value_at
from gitops_dsf.repository.model.mistake import dotted
from gitops_dsf.repository.model.suggestion import did_you_mean
from gitops_dsf.resolve.rules.known_fields import Fields
from gitops_dsf.resolve.rules.selectors import invalid


@dataclass(slots=True)
class Reader:
    """Typed access to one document. A value of the wrong shape counts as absent and is added to `found`."""

    document: Document
    found: list[Diagnostic] = field(default_factory=list)

    def mapping(self, *place: str | int) -> Mapping[str, Any]:
        """An object; empty if it is absent."""
        value = self._value(place, dict, "an object")
        return value if value is not None else {}

    def is_mapping(self, *place: str | int) -> bool:
        """Whether there is an object. Reports a value of any other type."""
        return self._value(place, dict, "an object") is not None

    def items(self, *place: str | int) -> list[Path]:
        """The paths of the objects in a list. Reports other items."""
        value = self._value(place, list, "a list") or []
        places: list[Path] = []
        for index, item in enumerate(value):
            where = (*place, index)
            if isinstance(item, dict):
                places.append(where)
            else:
                self._wrong(where, "an object")
        return places

    def texts(self, *place: str | int) -> list[tuple[Path, str]]:
        """The strings in a list, each with its path."""
        value = self._value(place, list, "a list") or []
        found: list[tuple[Path, str]] = []
        for index, item in enumerate(value):
            if isinstance(item, str):
                found.append(((*place, index), item))
            else:
                self._wrong((*place, index), "text")
        return found

    def text(self, *place: str | int) -> str | None:
        """A string; None if it is absent."""
        value = self._value(place, str, "text")
        return value if isinstance(value, str) else None

    def whole(self, *place: str | int) -> int | None:
        """An integer; None if it is absent."""
        value = value_at(self.document.data, place)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            self._wrong(place, "a whole number")
            return None
        return value

    def known_fields(self, known: Fields, *place: str | int) -> None:
        """Reports unknown fields, at any depth."""
        value = value_at(self.document.data, place)
        if isinstance(value, list):
            for index in range(len(value)):
                self.known_fields(known, *place, index)
        for name in value if isinstance(value, dict) else ():
            inside = known.get(name)
            if inside is not None:
                self.known_fields(inside, *place, name)
            elif name not in known:
                self._unknown((*place, name), known)

    def fits(self, schema: fields.Schema, *place: str | int) -> None:
        """Reports what an API server with Argo CD's CRDs would refuse or drop, at any depth."""
        for problem in fields.problems(schema, value_at(self.document.data, place), place):
            where = problem.path
            if problem.kind is fields.Kind.WRONG:
                self._wrong(where, problem.expected, problem.known)
            elif problem.kind is fields.Kind.UNKNOWN:
                self._unknown(where, problem.known)
            else:
                message = f"{dotted(where)} is missing: the API server refuses the object"
                self.report(codes.MISSING_FIELD, where, message, f"add {where[-1]}")

    def _unknown(self, place: Path, known: Collection[str]) -> None:
        name = str(place[-1])
        hint = did_you_mean(name, known) or f"known here: {', '.join(sorted(known))}"
        position = self.document.key_at(place)
        self.found.append(
            codes.UNKNOWN_FIELD.at(position, f"{name} is not a field of {dotted(place[:-1])}", hint)
        )

    def selector(self, *place: str | int) -> None:
        """Reports what Kubernetes would reject in a label selector."""
        if self.mapping(*place):
            self.mapping(*place, "matchLabels")
            self.items(*place, "matchExpressions")
            self.found += invalid(self.document, place, value_at(self.document.data, place))

    def report(
        self, code: codes.Code, place: Path, message: str, hint: str = "", *, at_key: bool = False
    ) -> None:
        """Adds a finding at a value, or at its key."""
        position = self.document.key_at(place) if at_key else self.document.at(place)
        self.found.append(code.at(position, message, hint))

    def _value(self, place: Path, kind: type, expected: str) -> Any:  # noqa: ANN401 - plain data
        value = value_at(self.document.data, place)
        if value is None or isinstance(value, kind):
            return value
        self._wrong(place, expected)
        return None

    def _wrong(self, place: Path, expected: str, known: Collection[str] = ()) -> None:
        hint, written = "", self.document.written(place)
        if expected == "a whole number" and written.isdigit():
            hint = "remove the quotes"
        elif expected == "text" and written and value_at(self.document.data, place) is not None:
            hint = f'quote it: "{written}"'
        elif expected == "a list" and written:
            hint = f"write [{written}]"
        elif known:
            hint = f"its fields are {', '.join(sorted(known))}"
        finding = codes.PLACEMENT_SHAPE.at(
            self.document.at(place), f"{dotted(place)} must be {expected}", hint
        )
        if (finding.position, finding.message) not in {(one.position, one.message) for one in self.found}:
            self.found.append(finding)


def resources_ranked_by(document: Document) -> Iterator[tuple[Path, str]]:
    """The AddOnPlacementScores that the prioritizers of a raw Placement read, and where they are named."""
    for place in indexes(document, "spec", "prioritizerPolicy", "configurations"):
        where = (*place, "scoreCoordinate", "addOn", "resourceName")
        name = value_at(document.data, where)
        if isinstance(name, str):
            yield where, name


def indexes(document: Document, *place: str | int) -> Iterator[Path]:
    """The paths of the items of a list; none if there is no list."""
    found = value_at(document.data, place)
    yield from ((*place, index) for index in range(len(found) if isinstance(found, list) else 0))
