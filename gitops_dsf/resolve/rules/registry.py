"""All rules, and which of them can be asked."""

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Final

from gitops_dsf.diagnostics import Diagnostic
from gitops_dsf.resolve import rules
from gitops_dsf.resolve.context import CLUSTERS, NEEDS, SETTINGS, Context, Rule
from gitops_dsf.resolve.rules.selectors import invalid_selectors

_SHAPE: Final = {"context": Context, "return": Iterator[Diagnostic]}
RULES: Final[tuple[Rule, ...]] = tuple(
    found
    for module in (import_module(f"{__package__}.{each.name}") for each in iter_modules(rules.__path__))
    for name, found in vars(module).items()
    if not name.startswith("_") and getattr(found, "__annotations__", None) == _SHAPE
)
"""Every public function of this package that takes the context alone and yields findings."""


def findings(context: Context) -> Iterator[Diagnostic]:
    """What the rules find. A selector that is not valid selects nothing, so nothing follows from that."""
    invalid = invalid_selectors(context)
    unknown = {kind for kind, _ in context.declared.left_out} | ({"ManagedCluster"} if invalid else set())
    if context.declared.repository is None:
        unknown.add(SETTINGS)
    if not context.inventory.clusters:
        unknown.add(CLUSTERS)
    yield from invalid
    for rule in RULES:
        if unknown.isdisjoint(NEEDS.get(rule, ())):
            yield from rule(context)
