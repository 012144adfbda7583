"""Checks the way from OCM's decision to an Application: Placements, how Argo CD reads them, and whether it
knows the clusters.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from dsf_wire.constants import GENERATOR_MANAGER, MANAGED_BY_LABEL
from gitops_dsf.hub.applicationsets import differences
from gitops_dsf.hub.names import REFRESH_ANNOTATION
from gitops_dsf.render.decisions import DECISION_READER, decision_readers
from gitops_dsf.repository.model.delivery import DUCK_TYPE_CONFIGMAP
from gitops_dsf.repository.model.repository import DECISION_READERS
from gitops_dsf.views.doctor.facts import Facts, Object, Source, name_of
from gitops_dsf.views.doctor.finding import Result, error, ok, warning
from gitops_dsf.wording import names_text, plural

CONTROLLER: Final = "applicationset-controller"


def configmap(facts: Facts) -> Iterator[Result]:
    """Does the duck-type ConfigMap tell Argo CD how to read decisions?"""
    expected: dict[str, str] = next(iter(decision_readers(facts.argocd_namespace)))["data"]
    found = facts.one(Source.DECISIONS_CONFIGMAP)
    if found is None:
        literals = [f"--from-literal={key}={value}" for key, value in sorted(expected.items())]
        fix = facts.command(
            "-n", facts.argocd_namespace, "create", "configmap", DUCK_TYPE_CONFIGMAP, *literals
        )
        yield error(
            f"ConfigMap {DUCK_TYPE_CONFIGMAP} is not there: no ApplicationSet can read a decision", fix
        )
        return
    data = found.get("data") or {}
    wrong = sorted(key for key, value in expected.items() if data.get(key) != value)
    if wrong:
        content = ",".join(f'"{key}":"{expected[key]}"' for key in wrong)
        patch = f'{{"data":{{{content}}}}}'
        fix = facts.command(
            "-n",
            facts.argocd_namespace,
            "patch",
            "configmap",
            DUCK_TYPE_CONFIGMAP,
            "--type=merge",
            "-p",
            patch,
        )
        # Without matchKey, the generator returns nothing and no error
        # (docs/contributing/argocd-behaviour.md#match-key).
        danger = "; without matchKey every Application is deleted" if "matchKey" in wrong else ""
        yield error(f"ConfigMap {DUCK_TYPE_CONFIGMAP} has another {', '.join(wrong)}{danger}", fix)
    else:
        yield ok(f"ConfigMap {DUCK_TYPE_CONFIGMAP} is as rendered")


def rights(facts: Facts) -> Iterator[Result]:
    """May Argo CD's ApplicationSet controller list decisions?"""
    namespace = facts.argocd_namespace
    role, binding = facts.one(Source.DECISION_ROLE), facts.one(Source.DECISION_BINDING)
    resource = "placementdecisions.cluster.open-cluster-management.io"
    create = facts.command(
        "-n", namespace, "create", "role", DECISION_READER, "--verb=list", f"--resource={resource}"
    )
    accounts = [f"--serviceaccount={namespace}:{name}" for name in DECISION_READERS]
    bind = facts.command(
        "-n", namespace, "create", "rolebinding", DECISION_READER, f"--role={DECISION_READER}", *accounts
    )
    sound = True
    if role is None:
        sound = False
        yield error(
            f"Role {namespace}/{DECISION_READER} is not there: Argo CD may not list decisions", create
        )
    elif not _lists_decisions(role):
        sound = False
        remove = facts.command("-n", namespace, "delete", "role", DECISION_READER)
        yield error(
            f"Role {namespace}/{DECISION_READER} does not allow to list decisions", f"{remove} && {create}"
        )
    bound = {
        str(one.get("name"))
        for one in (binding or {}).get("subjects") or ()
        if one.get("namespace") == namespace
    }
    if binding is None:
        sound = False
        yield error(
            f"RoleBinding {namespace}/{DECISION_READER} is not there: Argo CD may not list decisions", bind
        )
    elif (binding.get("roleRef") or {}).get("name") != DECISION_READER or not any(
        CONTROLLER in name for name in bound
    ):
        sound = False
        remove = facts.command("-n", namespace, "delete", "rolebinding", DECISION_READER)
        yield error(
            f"RoleBinding {namespace}/{DECISION_READER} does not bind the ApplicationSet controller",
            f"{remove} && {bind}",
        )
    for name in sorted(_controllers(facts) - bound) if sound else ():
        sound = False
        yield error(
            f"the ApplicationSet controller runs as ServiceAccount {name}, which may not list decisions",
            f"add {name} to spec.argocd.decisionReaders in gitops-dsf.yaml and render",
        )
    if sound:
        yield ok("Argo CD may list decisions")


def _lists_decisions(role: Object) -> bool:
    return any(
        "cluster.open-cluster-management.io" in (rule.get("apiGroups") or ())
        and "placementdecisions" in (rule.get("resources") or ())
        and "list" in (rule.get("verbs") or ())
        for rule in role.get("rules") or ()
    )


def _controllers(facts: Facts) -> set[str]:
    """ServiceAccounts of ApplicationSet controllers. Distributions of Argo CD use different names."""
    return {
        str(pod["serviceAccountName"])
        for item in facts.of(Source.ARGOCD_DEPLOYMENTS)
        if CONTROLLER in name_of(item)
        and (pod := ((item.get("spec") or {}).get("template") or {}).get("spec") or {}).get(
            "serviceAccountName"
        )
    }


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
