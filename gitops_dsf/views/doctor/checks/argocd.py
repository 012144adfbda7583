"""Checks Argo CD: its version, its danger to others, and the way from a decision to an Application."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from packaging.version import Version

from dsf_wire.constants import DSF_GROUP, GENERATOR_MANAGER, MANAGED_BY_LABEL
from gitops_dsf.argocd import failure_of
from gitops_dsf.hub.names import REFRESH_ANNOTATION
from gitops_dsf.views.doctor.facts import (
    VERSION_LABEL,
    Facts,
    Finding,
    Object,
    Source,
    error,
    images_of,
    name_of,
    ok,
    unknown,
    versions_of,
    warning,
)
from gitops_dsf.views.status.inputs import Part
from gitops_dsf.wording import names_text, plural

MINIMUM: Final = Version("3.3.9")
"""Older controllers panic on a number in a decision (docs/contributing/behaviour.md#numbers-in-decisions)."""
MANIFEST: Final = "https://raw.githubusercontent.com/argoproj/argo-cd/stable/manifests/install.yaml"
CONTROLLER: Final = "applicationset-controller"
POLICY: Final = "applicationsetcontroller.policy"
OVERRIDE: Final = "applicationsetcontroller.enable.policy.override"
TRACKING: Final = "application.resourceTrackingMethod"
HEALTH: Final = "resource.customizations.health"
REFUSED: Final = "not permitted in project"
"""Argo CD's words of what the AppProject does not allow (docs/contributing/behaviour.md#failed-syncs)."""
BROKEN: Final = ("Missing", "Degraded")
"""The health of an object that does not work."""
KINDS: Final = (
    "addon.open-cluster-management.io_ManagedClusterAddOn",
    "cluster.open-cluster-management.io_Placement",
    "dynamic-scoring.open-cluster-management.io_DynamicScorer",
    "work.open-cluster-management.io_ManifestWork",
)
"""Kinds in argocd/install/argocd-cm-health.yaml whose wrong health blocks or hides something."""
WORKLOADS: Final = (Source.ARGOCD_DEPLOYMENTS, Source.ARGOCD_STATEFULSETS)
CLUSTERS_NEED: Final = (
    Source.CLUSTER_SECRETS,
    Part.APPLICATION_SETS,
    Part.APPLICATIONS,
    Part.DECISIONS,
    Part.CLUSTERS,
)


def version(facts: Facts) -> Iterator[Finding]:
    """Does the ApplicationSet controller run a version that can read decisions with scores in them?"""
    if "argoproj.io" not in facts.groups:
        fix = f"{facts.command('create', 'namespace', facts.argocd_namespace)} && {_install(facts)}"
        yield error("the hub does not serve argoproj.io: Argo CD is not installed", fix)
        return
    workloads = [item for source in WORKLOADS for item in facts.of(source)]
    # Its programs share an image. The others, such as Dex and Redis, have versions of their own.
    images = {
        image for item in workloads if CONTROLLER in name_of(item) for image in images_of(item)
    }
    found = versions_of(item for item in workloads if images & images_of(item).keys())
    controllers = {name: version for name, version in found.items() if CONTROLLER in name}
    untold = sorted(
        name_of(item)
        for item in workloads
        if CONTROLLER in name_of(item) and name_of(item) not in found
    )
    if untold:
        look = facts.in_argocd(
            "get", "deployments", *untold, "-o", "jsonpath={..containers[*].image}"
        )
        yield warning(
            f"the version of {names_text(untold)} is not known, because the image has no tag with a version:"
            f" Argo CD {MINIMUM} or newer is needed; an older one fails on a number in a PlacementDecision",
            f"{look}  # find the digest in the release notes of your distribution of Argo CD; a label"
            f" {VERSION_LABEL} on the Deployment tells the version to doctor",
        )
    if not controllers:
        if not untold:
            what = f"no Deployment of the ApplicationSet controller in namespace {facts.argocd_namespace}"
            yield unknown(f"{what} tells a version; {MINIMUM} or newer is needed")
        return
    old = sorted(f"{name} {version}" for name, version in controllers.items() if version < MINIMUM)
    if old:
        what = f"{names_text(old)} is older than {MINIMUM}: it fails on a number in a PlacementDecision"
        yield error(what, _install(facts))
        return
    lowest = min(controllers.values())
    if mixed := sorted(f"{name} {version}" for name, version in found.items() if version != lowest):
        what = f"Argo CD's programs are not of one version ({lowest}): {names_text(mixed)}"
        yield warning(what, "finish the upgrade of Argo CD")
    yield ok(f"Argo CD {lowest}")


def _install(facts: Facts) -> str:
    return facts.in_argocd("apply", "--server-side", "--force-conflicts", "-f", MANIFEST)


def policy(facts: Facts) -> Iterator[Finding]:
    """Does Argo CD obey an ApplicationSet that says it never deletes?"""
    data = (facts.one(Source.ARGOCD_PARAMETERS) or {}).get("data") or {}
    forced, override = str(data.get(POLICY) or ""), str(data.get(OVERRIDE) or "")
    if forced in {"sync", "create-delete"} and override != "true":
        yield error(
            f"{POLICY} is {forced} for all: a set that never deletes is not obeyed, and an empty decision"
            " deletes the application",
            _set_parameter(facts, f'{{"data":{{"{OVERRIDE}":"true"}}}}'),
        )
    elif forced == "create-only" and override != "true":
        message = f"{POLICY} is {forced} for every ApplicationSet: applications are never changed or moved"
        yield warning(message, _set_parameter(facts, f'{{"data":{{"{POLICY}":null}}}}'))
    yield ok("each ApplicationSet's own policy counts")


def _set_parameter(facts: Facts, patch: str) -> str:
    """A fix for a parameter. The ApplicationSet controller reads its parameters when it starts."""
    change = facts.in_argocd(
        "patch", "configmap", "argocd-cmd-params-cm", "--type=merge", "-p", patch
    )
    restart = facts.in_argocd(
        "rollout", "restart", "deployment", "argocd-applicationset-controller"
    )
    return f"{change} && {restart}"


def settings(facts: Facts) -> Iterator[Finding]:
    """Does Argo CD know how OCM's kinds are judged, and does it tell its own objects by annotation?"""
    data = (facts.one(Source.ARGOCD_SETTINGS) or {}).get("data") or {}
    if str(data.get(TRACKING) or "annotation") == "label":
        patch = f'{{"data":{{"{TRACKING}":"annotation"}}}}'
        yield warning(
            f"{TRACKING} is label: objects that a controller copies with their labels look like Argo CD's"
            " own, and are pruned",
            facts.in_argocd("patch", "configmap", "argocd-cm", "--type=merge", "-p", patch),
        )
    lacking = [kind for kind in KINDS if f"{HEALTH}.{kind}" not in data]
    if lacking and "resource.customizations" not in data:
        what = f"argocd-cm has no health check for {names_text(lacking)}"
        yield warning(f"{what}: Argo CD calls them Healthy whatever they say", facts.install)
    yield ok("argocd-cm has the health checks, and tracks by annotation")


def delivery(facts: Facts) -> Iterator[Finding]:
    """Does Argo CD apply the rendered tree, and what does it say of each object?"""
    if DSF_GROUP not in facts.groups:
        yield error(f"the hub does not serve {DSF_GROUP}: our CRDs are not there", facts.install)
    if not facts.of(Source.DELIVERY):
        yield warning(
            "no Application applies the rendered tree: what is merged does not reach the hub",
            facts.install,
        )
        return
    for item in facts.of(Source.DELIVERY):
        name, status = name_of(item), item.get("status") or {}
        look = facts.in_argocd("describe", "application", name)
        wrong = dict(_wrong(status))
        health = str((status.get("health") or {}).get("status"))
        objects = names_text(f"{what} is {state}" for what, state in wrong.items())
        said = (str(one.get("message")) for one in _synced(status))
        if refused := sorted({message for message in said if REFUSED in message}):
            yield error(
                f"Argo CD syncs nothing of Application {name}: {names_text(refused)}; if the AppProject in"
                " git allows it, install that, and otherwise remove the object from git",
                facts.install,
            )
        elif reason := failure_of(status):
            more = f"; {objects}" if objects else ""
            yield error(f"Application {name} cannot be synced: {reason}{more}", look)
        elif health in BROKEN or any(state.startswith(BROKEN) for state in wrong.values()):
            yield error(f"Application {name}: {objects or f'it is {health}'}", look)
        elif wrong and _operation(status).get("phase") != "Running":
            yield warning(f"Application {name}: {objects}", look)
    number = plural(len(facts.of(Source.DELIVERY)), "Application")
    yield ok(f"{number} for the rendered tree: every object is there, and as it was rendered")


def _wrong(status: Object) -> Iterator[tuple[str, str]]:
    """The objects of an Application that are not as they should be: kind and name, and Argo CD's words."""
    failed = (one for one in _synced(status) if one.get("status") == "SyncFailed")
    said = {_key(one): str(one.get("message") or "") for one in failed}
    for one in status.get("resources") or ():
        health = one.get("health") or {}
        state = str(health.get("status") or "")
        message = said.get(_key(one)) or str(health.get("message") or "")
        if state not in BROKEN:
            state = str(one.get("status") or "")
        if one.get("requiresPruning"):
            state, message = "no longer in git", message or "delete it"
        if state not in {"", "Synced"}:
            name = "/".join(filter(None, (one.get("namespace"), one.get("name"))))
            yield f"{one.get('kind')} {name}", f"{state}: {message}".removesuffix(": ")


def _synced(status: Object) -> Sequence[Object]:
    return (_operation(status).get("syncResult") or {}).get("resources") or ()


def _key(one: Object) -> tuple[str, ...]:
    return tuple(str(one.get(key) or "") for key in ("group", "kind", "namespace", "name"))


def _operation(status: Object) -> Object:
    return status.get("operationState") or {}


_NO_CLUSTER: Final = re.compile(r'no entry for key "(?:labels|claims)"')
"""What Argo CD says when a template reads a label of a cluster that is not rendered."""


def placements(facts: Facts) -> Iterator[Finding]:
    """Does OCM understand the rendered Placements?"""
    ours = [
        item
        for item in facts.inputs.placements
        if item.metadata.label(MANAGED_BY_LABEL) == GENERATOR_MANAGER
    ]
    for item in ours:
        key, name = item.key, item.metadata.name
        describe = facts.command("-n", item.metadata.namespace or "", "describe", "placement", name)
        misconfigured, satisfied = map(
            item.condition, ("PlacementMisconfigured", "PlacementSatisfied")
        )
        if misconfigured.status == "True":
            fix = "edit it in apps/ and render; gitops-dsf validate"
            yield error(f"Placement {key} is misconfigured: {misconfigured.message}", fix)
        elif satisfied.status == "False":
            why = f"{satisfied.reason}: {satisfied.message}"
            yield warning(f"Placement {key} has too few clusters: {why}", describe)
    yield ok(f"OCM understands {plural(len(ours), 'rendered Placement')}")


def application_sets(facts: Facts) -> Iterator[Finding]:
    """Do the rendered ApplicationSets generate Applications?"""
    ours = [item for item in facts.inputs.application_sets if item.rendered]
    for name, message in ((item.name, item.error) for item in ours if item.error):
        annotate = facts.in_argocd("annotate", "--overwrite", "applicationset", name)
        # The value must be new each time: Argo CD removes the annotation only after success.
        fix = f"{annotate} {REFRESH_ANNOTATION}=$(date +%s)  # refreshes at once; else within 3 minutes"
        if "placementdecisions" in message and "forbidden" in message:
            fix = "add the ServiceAccount to spec.argocd.decisionReaders in gitops-dsf.yaml and render"
        elif _NO_CLUSTER.search(message):
            fix = "write the clusters that joined into clusters/ (gitops-dsf import), and render"
        yield error(f"ApplicationSet {name} generates nothing: {message}", fix)
    yield ok(f"no error in {plural(len(ours), 'rendered ApplicationSet')}")


def clusters(facts: Facts) -> Iterator[Finding]:
    """Does Argo CD know every cluster that an application is, or could be, decided for?"""
    # The data of a Secret is never read, where Argo CD has the cluster's name
    # (docs/contributing/behaviour.md#cluster-secrets): its own name, its labels or an Application must tell.
    decided, eligible = _pushed(facts)
    secrets = facts.of(Source.CLUSTER_SECRETS)
    refused = {
        item.cluster: item.refusal
        for item in facts.inputs.applications
        if item.application and item.refusal
    }
    named = {
        name
        for name in eligible | refused.keys()
        if any(_names(secret, name) for secret in secrets)
    }
    proven = {item.cluster for item in facts.inputs.applications} - refused.keys()
    everyone = facts.inputs.snapshot.clusters.keys() | proven
    spare = sum(not any(_names(secret, name) for name in everyone) for secret in secrets)
    unproven = sorted(eligible - named - proven)
    for name, reason in sorted(refused.items()):
        yield error(f"Argo CD does not know {name}: {reason}", _add(name))
    here = [name for name in unproven if name in decided and name not in refused]
    there = [name for name in unproven if name not in decided and name not in refused]
    for name in here if not spare else ():
        what = f"{name} is decided, and Argo CD has no cluster Secret for it"
        yield error(f"{what}: its application is silently left out", _add(name))
    guessed = [*(here if spare else ()), *there]
    if len(guessed) > spare:
        least = f"at least {len(guessed) - spare} of " if spare else ""
        what = f"Argo CD has no cluster Secret for {least}{names_text(guessed)}"
        yield warning(
            f"{what}: an application that is decided for it is left out", _add(guessed[0])
        )
    elif guessed:
        what = f"{names_text(guessed)}: no Secret shows it in its name or a label"
        fix = "argocd cluster list  # NAME must be the name of the ManagedCluster"
        yield unknown(f"{what}; {spare} may hold it in their data, which is not read", fix)
    known = f"Argo CD knows {plural(len(eligible), 'cluster')}: all that applications may be decided for"
    yield ok(known if eligible else "no application is pushed")


def _pushed(facts: Facts) -> tuple[set[str], set[str]]:
    """Clusters that a pushed application is decided for, and clusters that it could be decided for."""
    pushed = {
        f"{item.namespace}/{placement}"
        for item in facts.inputs.application_sets
        if item.rendered and not item.pulled
        for placement in item.placements
    }
    views = [view for view in facts.overview.placements if view.placement in pushed]
    decided = {name for view in views for name in view.decided or ()}
    return decided, decided.union(*(facts.overview.eligible[view.placement] for view in views))


def _names(secret: Object, cluster: str) -> bool:
    metadata = secret["metadata"]
    words = {
        *(metadata.get("labels") or {}).values(),
        *(metadata.get("annotations") or {}).values(),
    }
    ends = ("", "-cluster", "-secret", "-cluster-secret")
    usual = {f"cluster-{cluster}", *(f"{cluster}{end}" for end in ends)}
    return name_of(secret) in usual or cluster in words


def _add(cluster: str) -> str:
    add = f"argocd cluster add {cluster} --name {cluster}"
    return f"{add}  # the first is the cluster's context in your kubeconfig"
