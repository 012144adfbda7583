"""Checks the way from OCM's decision to an Application: Placements, how Argo CD reads them, and whether it
knows the clusters.
"""

from collections.abc import Iterator, Sequence

from dsf_wire.constants import GENERATOR_MANAGER, MANAGED_BY_LABEL
from gitops_dsf.hub.applicationsets import differences
from gitops_dsf.hub.names import REFRESH_ANNOTATION
from gitops_dsf.views.doctor.facts import Facts, Source, name_of
from gitops_dsf.views.doctor.finding import Result, error, ok, warning
from gitops_dsf.wording import names_text, plural


def placements(facts: Facts) -> Iterator[Result]:
    """Does OCM understand the rendered Placements?"""
    ours = [
        item for item in facts.inputs.placements if item.metadata.label(MANAGED_BY_LABEL) == GENERATOR_MANAGER
    ]
    sound = True
    for item in ours:
        key, name = item.key, item.metadata.name
        describe = facts.command("-n", item.metadata.namespace or "", "describe", "placement", name)
        misconfigured, satisfied = (
            item.condition("PlacementMisconfigured"),
            item.condition("PlacementSatisfied"),
        )
        if misconfigured.status == "True":
            sound = False
            yield error(
                f"Placement {key} is misconfigured: {misconfigured.message}",
                "edit it in apps/ and render; gitops-dsf validate",
            )
        elif satisfied.status == "False":
            sound = False
            yield warning(
                f"Placement {key} has too few clusters: {satisfied.reason}: {satisfied.message}", describe
            )
    if sound:
        yield ok(f"OCM understands {plural(len(ours), 'rendered Placement')}")


def application_sets(facts: Facts) -> Iterator[Result]:
    """Are the rendered ApplicationSets those on the hub, and do they generate?"""
    ours = [item for item in facts.inputs.application_sets if item.rendered]
    failing = [(item.name, item.error) for item in ours if item.error]
    for name, message in failing:
        annotate = facts.command(
            "-n", facts.argocd_namespace, "annotate", "--overwrite", "applicationset", name
        )
        # Argo CD reconciles when an annotation changes, and removes this one only after success, so the value
        # must be new each time.
        fix = f"{annotate} {REFRESH_ANNOTATION}=$(date +%s)  # refreshes at once; else within 3 minutes"
        if "placementdecisions" in message and "forbidden" in message:
            fix = "add the ServiceAccount to spec.argocd.decisionReaders in gitops-dsf.yaml and render"
        yield error(f"ApplicationSet {name} generates nothing: {message}", fix)
    stale = list(_stale(facts))
    yield from stale
    if not failing and not stale:
        compared = "" if facts.rendered is None else ", and each is as it was rendered"
        yield ok(f"no error in {plural(len(ours), 'rendered ApplicationSet')}{compared}")


def _stale(facts: Facts) -> Iterator[Result]:
    """ApplicationSets that Argo CD could not apply, and those that are not as they were rendered."""
    refused = {
        str(one.get("name")): str(one.get("message"))
        for item in facts.of(Source.DELIVERY)
        for one in ((item.get("status") or {}).get("operationState") or {})
        .get("syncResult", {})
        .get("resources", ())
        if one.get("kind") == "ApplicationSet"
    }
    live = {name_of(item): item for item in facts.of(Source.APPLICATION_SETS)}
    for name, message in refused.items():
        old = "the old one stays on the hub" if name in live else "it is not on the hub"
        yield error(
            f"ApplicationSet {name} is refused, and {old}: {message}", f"correct {name} in apps/ and render"
        )
    for wanted in facts.rendered or ():
        name = name_of(wanted)
        if name in refused:
            continue
        found = live.get(name)
        places = [] if found is None else list(differences(wanted.get("spec"), found.get("spec"), ("spec",)))
        if found is not None and not places:
            continue
        what = (
            "is not on the hub"
            if found is None
            else f"on the hub differs from the rendered one in {_places(places)}"
        )
        fix = facts.command(
            "apply", "--dry-run=server", "-f", f"rendered/delivery/applicationset.{name}.yaml"
        )
        yield warning(
            f"ApplicationSet {name} {what}: it was not pushed or synced yet, or the API server refuses it",
            f"{fix}  # says why if it is refused",
        )


def _places(places: Sequence[tuple[str | int, ...]]) -> str:
    shown = [".".join(str(part) for part in place) for place in places[:3]]
    return names_text(shown) + (f" and {len(places) - 3} more" if len(places) > 3 else "")
