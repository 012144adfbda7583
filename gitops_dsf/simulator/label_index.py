"""Which clusters carry which label (or claim): selectors over thousands of clusters as set operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gitops_dsf.simulator.selectors import Requirement, Selector


class LabelIndex:
    """Positions of labelled things by key and value. Built once; answers are remembered per selector."""

    def __init__(self, labels: Sequence[Mapping[str, str]]) -> None:
        self.labels = labels
        self._everything = frozenset(range(len(labels)))
        by_value: dict[str, dict[str, list[int]]] = {}
        for position, mapping in enumerate(labels):
            for key, value in mapping.items():
                by_value.setdefault(key, {}).setdefault(value, []).append(position)
        self._by_value = by_value
        self._having = {
            key: frozenset(position for positions in values.values() for position in positions) for key, values in by_value.items()
        }
        self._answers: dict[Selector, frozenset[int]] = {}

    def carrying(self, key: str, value: str) -> frozenset[int]:
        return frozenset(self._by_value.get(key, {}).get(value, ()))

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
        having = self._having.get(requirement.key, frozenset())
        if requirement.operator == "Exists":
            return having
        if requirement.operator == "DoesNotExist":
            return self._everything - having
        values = self._by_value.get(requirement.key, {})
        listed = frozenset(position for value in set(requirement.values) for position in values.get(value, ()))
        return listed if requirement.operator == "In" else self._everything - listed
