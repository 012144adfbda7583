"""Registers rules, with the kinds of objects that each of them must see whole.

A rule is a function that takes the Context and yields findings, decorated with `@rule()`. The
package `rules` lists its modules, and `rules_of` returns the rules of these. A module that is not
listed, and a function that judges a Context without the decorator, fail a test
(tests/unit/resolve/rules/test_registry.py).
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Final

from gitops_dsf.diagnostics import Diagnostic
from gitops_dsf.repository.load.paths import FOLDER_OF_KIND
from gitops_dsf.resolve.context import Context

SETTINGS: Final = "settings"
"""The rule is about gitops-dsf.yaml, which must exist and be valid."""
CLUSTERS: Final = "clusters"
"""The rule is about the clusters of the inventory. There must be at least one."""
PLACEMENTS: Final = ("Placement", "ScoredApplication", "ScoredPlacement")

Check = Callable[[Context], Iterator[Diagnostic]]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule. Calling it yields its findings."""

    check: Check
    needs: tuple[str, ...]
    """Kinds of objects, SETTINGS or CLUSTERS.

    The rule is skipped unless all of them can be read.
    """

    def __call__(self, context: Context) -> Iterator[Diagnostic]:
        return self.check(context)

    @property
    def name(self) -> str:
        return self.check.__name__


def rule(*, needs: tuple[str, ...] = ()) -> Callable[[Check], Rule]:
    """Decorates a rule.

    A rule that concludes something from the absence of an object names its kind in `needs`: while
    one of them cannot be read, the conclusion would be false. Raises ValueError for an unknown
    kind.
    """
    if unknown := {*needs} - {*FOLDER_OF_KIND, SETTINGS, CLUSTERS}:
        raise ValueError(f"there is no kind {min(unknown)}")

    def register(check: Check) -> Rule:
        return Rule(check, needs)

    return register


def rules_of(modules: Iterable[ModuleType]) -> tuple[Rule, ...]:
    """The rules that these modules define, in their order."""
    rules: list[Rule] = []
    for module in modules:
        for value in vars(module).values():
            # A module that imports a rule of another one does not run it again.
            if isinstance(value, Rule) and value.check.__module__ == module.__name__:
                rules.append(value)
    return tuple(rules)
