"""An index by label, for selectors over thousands of clusters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping
from typing import Generic, TypeVar

from gitops_dsf.hub.selectors import Requirement, Selector

K = TypeVar("K", bound=Hashable)


class LabelIndex(Generic[K]):
    """Names of labelled things, by label and value. A label is indexed when it is first used."""

    def __init__(self, labels: Mapping[K, Mapping[str, str]]) -> None:
        self.labels = labels
        self.everything = frozenset(labels)
        self._by_key: dict[str, Mapping[str, frozenset[K]]] = {}
        self._answers: dict[Selector, frozenset[K]] = {}

    def carrying(self, key: str, value: str) -> frozenset[K]:
        return self.by_value(key).get(value, frozenset())

    def carrying_any(self, key: str) -> frozenset[K]:
        """Names with this label, whatever its value."""
        return frozenset[K]().union(*self.by_value(key).values())

    def select(self, selector: Selector) -> frozenset[K]:
        found = self._answers.get(selector)
        if found is None:
            found = frozenset() if selector.nothing else self.everything
            for requirement in selector.requirements:
                found &= self._matching(requirement)
            self._answers[selector] = found
        return found

    def by_value(self, key: str) -> Mapping[str, frozenset[K]]:
        indexed = self._by_key.get(key)
        if indexed is None:
            found = defaultdict[str, list[K]](list)
            for position, mapping in self.labels.items():
                if key in mapping:
                    found[mapping[key]].append(position)
            indexed = self._by_key[key] = {
                value: frozenset(positions) for value, positions in found.items()
            }
        return indexed

    def _matching(self, requirement: Requirement) -> frozenset[K]:
        if requirement.operator in ("In", "NotIn"):
            values = self.by_value(requirement.key)
            found = frozenset[K]().union(*(values.get(value, ()) for value in requirement.values))
        else:
            found = self.carrying_any(requirement.key)
        return found if requirement.operator in ("In", "Exists") else self.everything - found
