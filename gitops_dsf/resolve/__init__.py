"""Computes effective scorers and their target clusters, and checks every rule. Pure."""

from collections.abc import Iterator

from gitops_dsf.diagnostics import Diagnostic, in_order
from gitops_dsf.diagnostics.listed import Listed
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules import RULES
from gitops_dsf.resolve.rules.registry import CLUSTERS, SETTINGS
from gitops_dsf.resolve.rules.selectors import selectors_are_valid


def findings(context: Context) -> list[Diagnostic]:
    """All findings about the objects of a repository, in order of position."""
    listed = Listed()
    listed.add(context.declared.diagnostics)
    listed.add(_judged(context))
    return in_order(listed.all())


def _judged(context: Context) -> Iterator[Diagnostic]:
    """What the rules find, without those that need an object that cannot be read.

    A selector that is not valid selects nothing. Nothing may be concluded from that, so the rules
    about clusters are skipped then.
    """
    invalid_selectors = tuple(selectors_are_valid(context))
    unreadable = {kind for kind, _ in context.declared.left_out}
    if invalid_selectors:
        unreadable.add("ManagedCluster")
    if context.declared.repository is None:
        unreadable.add(SETTINGS)
    if not context.inventory.clusters:
        unreadable.add(CLUSTERS)
    yield from invalid_selectors
    for rule in RULES:
        if rule is not selectors_are_valid and unreadable.isdisjoint(rule.needs):
            yield from rule(context)
