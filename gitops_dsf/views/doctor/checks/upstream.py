"""Checks for the upstream addon (docs/contributing/behaviour.md#works-that-share-an-object)."""

from collections.abc import Iterator
from typing import Final

from dsf_wire.constants import ADDON_NAME
from gitops_dsf.views.doctor.facts import Facts, Source, name_of, namespace_of
from gitops_dsf.views.doctor.finding import Finding, error, ok, warning
from gitops_dsf.wording import names_text

ADDON: Final = "dynamic-scoring-framework"
"""Its ClusterManagementAddOn."""
WORK: Final = "dynamic-scoring-config-manifestwork"
"""Its ManifestWork in each cluster's namespace."""
DEPLOYMENT_LABELS: Final = (
    "app.kubernetes.io/name=dynamic-scoring-framework",
    "app=dynamic-scoring-addon-controller",
)
"""The labels of its two Deployments: one writes works and status, the other installs its agents."""


def controller(facts: Facts) -> Iterator[Finding]:
    """Does the upstream addon run beside ours?"""
    ours = _ours(facts)
    running = [
        item for item in facts.of(Source.UPSTREAM_DEPLOYMENTS) if (item.get("spec") or {}).get("replicas", 1)
    ]
    definition = any(name_of(item) == ADDON for item in facts.of(Source.ADDON_DEFINITIONS))
    theirs = sorted(namespace_of(item) for item in facts.of(Source.UPSTREAM_WORKS))
    if not ours:
        there = running or definition or theirs
        yield ok(
            "the upstream addon runs, and ours does not"
            if there
            else "neither the upstream addon nor ours is installed"
        )
        return
    for item in running:
        namespace, name = namespace_of(item), name_of(item)
        fix = facts.command("-n", namespace, "scale", "deployment", name, "--replicas=0")
        yield error(
            f"the upstream controller {namespace}/{name} runs beside ours: both write the scoring ConfigMap"
            " and the status",
            fix,
        )
    if definition:
        fix = facts.command("delete", "clustermanagementaddon", ADDON)
        yield error(
            f"the upstream add-on {ADDON} is installed beside ours: two agents publish the same scores on"
            " each cluster",
            fix,
        )
    if theirs:
        both = sorted(set(theirs) & {namespace_of(item) for item in facts.of(Source.OUR_WORKS)})
        commands = [facts.command("-n", cluster, "delete", "manifestwork", WORK) for cluster in theirs[:5]]
        what = (
            f"writes the same ConfigMap as ours on {names_text(both)}"
            if both
            else f"is left on {names_text(theirs)}"
        )
        yield error(
            f"the upstream addon's ManifestWork {what}: the last writer wins, and both report Applied",
            " && ".join(commands),
        )
    for item in facts.of(Source.SCORING_CONFIGS):
        namespace, name = namespace_of(item), name_of(item)
        yield warning(
            f"DynamicScoringConfig {namespace}/{name} is on the hub: an upstream controller, once installed,"
            " would start writing works",
            facts.command("-n", namespace, "delete", "dynamicscoringconfig", name)
            + "  # config/ in git is what counts",
        )
    yield ok("no part of the upstream addon is on the hub")


def _ours(facts: Facts) -> bool:
    return bool(facts.of(Source.OUR_WORKS)) or any(
        name_of(item) == ADDON_NAME for item in facts.of(Source.ADDON_DEFINITIONS)
    )


def delivers(facts: Facts) -> bool:
    """Whether the upstream addon delivers in our place (delivery.mode UpstreamController)."""
    needed = (Source.OUR_WORKS, Source.ADDON_DEFINITIONS, Source.UPSTREAM_DEPLOYMENTS)
    if any(facts.missing(need) is not None for need in needed) or _ours(facts):
        return False
    return bool(facts.of(Source.UPSTREAM_DEPLOYMENTS)) or any(
        name_of(item) == ADDON for item in facts.of(Source.ADDON_DEFINITIONS)
    )
