"""Checks the way from a decision to an Application: Placements, and how Argo CD reads them."""

import re
from collections.abc import Iterator
from typing import Final

from dsf_wire.constants import GENERATOR_MANAGER, MANAGED_BY_LABEL
from gitops_dsf.hub.names import REFRESH_ANNOTATION
from gitops_dsf.views.doctor.facts import Facts
from gitops_dsf.views.doctor.finding import Finding, error, ok, warning
from gitops_dsf.wording import plural

_NO_CLUSTER: Final = re.compile(r'no entry for key "(?:labels|claims)"')
"""What Argo CD says when a template reads a label of a cluster that is not rendered."""


def placements(facts: Facts) -> Iterator[Finding]:
    """Does OCM understand the rendered Placements?"""
    ours = [
        item for item in facts.inputs.placements if item.metadata.label(MANAGED_BY_LABEL) == GENERATOR_MANAGER
    ]
    for item in ours:
        key, name = item.key, item.metadata.name
        describe = facts.command("-n", item.metadata.namespace or "", "describe", "placement", name)
        misconfigured, satisfied = (
            item.condition("PlacementMisconfigured"),
            item.condition("PlacementSatisfied"),
        )
        if misconfigured.status == "True":
            yield error(
                f"Placement {key} is misconfigured: {misconfigured.message}",
                "edit it in apps/ and render; gitops-dsf validate",
            )
        elif satisfied.status == "False":
            yield warning(
                f"Placement {key} has too few clusters: {satisfied.reason}: {satisfied.message}", describe
            )
    yield ok(f"OCM understands {plural(len(ours), 'rendered Placement')}")


def application_sets(facts: Facts) -> Iterator[Finding]:
    """Do the rendered ApplicationSets generate Applications?"""
    ours = [item for item in facts.inputs.application_sets if item.rendered]
    failing = [(item.name, item.error) for item in ours if item.error]
    for name, message in failing:
        annotate = facts.in_argocd("annotate", "--overwrite", "applicationset", name)
        # Argo CD reconciles when an annotation changes, and removes this one only after success, so the value
        # must be new each time.
        fix = f"{annotate} {REFRESH_ANNOTATION}=$(date +%s)  # refreshes at once; else within 3 minutes"
        if "placementdecisions" in message and "forbidden" in message:
            fix = "add the ServiceAccount to spec.argocd.decisionReaders in gitops-dsf.yaml and render"
        elif _NO_CLUSTER.search(message):
            fix = "write the clusters that joined into clusters/ (gitops-dsf import), and render"
        yield error(f"ApplicationSet {name} generates nothing: {message}", fix)
    yield ok(f"no error in {plural(len(ours), 'rendered ApplicationSet')}")
