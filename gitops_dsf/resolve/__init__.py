"""Computes effective scorers and their target clusters, and checks every rule. Pure."""

from gitops_dsf.diagnostics import Diagnostic, in_order
from gitops_dsf.diagnostics.listed import Listed
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules import RULES
from gitops_dsf.resolve.rules.registry import CLUSTERS, SETTINGS, Rule
from gitops_dsf.resolve.rules.selectors import selectors_are_valid


def findings(context: Context) -> list[Diagnostic]:
    """All findings about the objects of a repository, in order of position."""
    listed = Listed()
    listed.add(context.declared.diagnostics)
    for rule in applicable(context):
        listed.add(rule(context))
    return in_order(listed.all())


def applicable(context: Context) -> list[Rule]:
    """The rules that may judge: not those that need an object that cannot be read.

    A selector that is not valid selects nothing. Nothing may be concluded from that, so the rules
    about clusters are skipped then.
    """
    unreadable = {kind for kind, _ in context.declared.left_out}
    if any(selectors_are_valid(context)):
        unreadable.add("ManagedCluster")
    if context.declared.repository is None:
        unreadable.add(SETTINGS)
    # A new repository has no inventory yet. Every selector in it would match nothing.
    if not context.inventory.clusters:
        unreadable.add(CLUSTERS)
    rules = [selectors_are_valid]
    for rule in RULES:
        if rule is not selectors_are_valid and unreadable.isdisjoint(rule.needs):
            rules.append(rule)
    return rules
