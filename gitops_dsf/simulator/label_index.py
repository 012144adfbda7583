"""Which clusters carry which label (or claim): selectors over thousands of clusters as set operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gitops_dsf.simulator.label_selector import Requirement, Selector


class LabelIndex:
    """Positions of labelled things by key and value. A key is indexed when it is first asked for."""

    def __init__(self, labels: Sequence[Mapping[str, str]]) -> None:
        self.labels = labels
        self._everything = frozenset(range(len(labels)))
        self._by_key: dict[str, Mapping[str, frozenset[int]]] = {}
        self._answers: dict[Selector, frozenset[int]] = {}

    def carrying(self, key: str, value: str) -> frozenset[int]:
        """The positions with this very label."""
        return self._values(key).get(value, frozenset())

    def select(self, selector: Selector) -> frozenset[int]:
        """The positions that a selector matches."""
        found = self._answers.get(selector)
        if found is None:
            found = frozenset() if selector.nothing else self._everything
            for requirement in selector.requirements:
                found &= self._matching(requirement)
            self._answers[selector] = found
        return found

    def _matching(self, requirement: Requirement) -> frozenset[int]:
        values = self._values(requirement.key)
        if requirement.operator in ("In", "NotIn"):
            found = frozenset[int]().union(*(values.get(value, ()) for value in requirement.values))
        else:
            found = frozenset[int]().union(*values.values())
        return found if requirement.operator in ("In", "Exists") else self._everything - found

    def _values(self, key: str) -> Mapping[str, frozenset[int]]:
        indexed = self._by_key.get(key)
        if indexed is None:
            found: dict[str, list[int]] = {}
            for position, mapping in enumerate(self.labels):
                if key in mapping:
                    found.setdefault(mapping[key], []).append(position)
            indexed = self._by_key[key] = {value: frozenset(positions) for value, positions in found.items()}
        return indexed
