"""An index by label, for selectors over thousands of clusters."""

from collections.abc import Hashable, Mapping
from typing import Generic, TypeVar

from gitops_dsf.hub.selectors import Requirement, Selector

K = TypeVar("K", bound=Hashable)


class LabelIndex(Generic[K]):
    """Names of labelled things, by label and value.

    A label is indexed when it is first used, and the answer for a selector is kept: a fleet has
    thousands of clusters, and few selectors that many objects share.
    """

    def __init__(self, labels: Mapping[K, Mapping[str, str]]) -> None:
        self.labels = labels
        self.everything = frozenset(labels)
        self._by_key: dict[str, Mapping[str, frozenset[K]]] = {}
        self._answers: dict[Selector, frozenset[K]] = {}

    def carrying(self, key: str, value: str) -> frozenset[K]:
        """Names with this label and this value."""
        return self.by_value(key).get(value, frozenset())

    def carrying_any(self, key: str) -> frozenset[K]:
        """Names with this label, whatever its value."""
        return frozenset[K]().union(*self.by_value(key).values())

    def select(self, selector: Selector) -> frozenset[K]:
        """Names that a selector matches."""
        answer = self._answers.get(selector)
        # A selector without requirements matches everything, one that is nil in Go matches nothing.
        if answer is None:
            answer = frozenset() if selector.nothing else self.everything
            for requirement in selector.requirements:
                answer &= self._matching(requirement)
            self._answers[selector] = answer
        return answer

    def by_value(self, key: str) -> Mapping[str, frozenset[K]]:
        """Names with a label, by its value."""
        indexed = self._by_key.get(key)
        if indexed is None:
            names_of: dict[str, list[K]] = {}
            for name, labels in self.labels.items():
                if key in labels:
                    names_of.setdefault(labels[key], []).append(name)
            indexed = {value: frozenset(names) for value, names in names_of.items()}
            self._by_key[key] = indexed
        return indexed

    def _matching(self, requirement: Requirement) -> frozenset[K]:
        if requirement.operator in ("In", "NotIn"):
            matching = frozenset[K]()
            for value in requirement.values:
                matching |= self.carrying(requirement.key, value)
        else:
            matching = self.carrying_any(requirement.key)
        if requirement.operator in ("In", "Exists"):
            return matching
        # NotIn also matches what does not have the label at all, as in Kubernetes.
        return self.everything - matching
