"""Checks Argo CD: its version and settings, and whether it applies the rendered tree."""

from collections.abc import Iterator, Sequence
from typing import Final

from packaging.version import Version

from dsf_wire.constants import DSF_GROUP
from gitops_dsf.argocd.failures import failure_of
from gitops_dsf.views.doctor.facts import DoctorFacts, FactSource
from gitops_dsf.views.doctor.finding import DoctorFinding, error, ok, unknown, warning
from gitops_dsf.views.doctor.objects import (
    VERSION_LABEL,
    HubObject,
    images_of,
    name_of,
    versions_of,
)
from gitops_dsf.wording import names_text, plural

MINIMUM: Final = Version("3.3.9")
"""Older controllers panic on a number in a decision
(docs/contributing/behaviour.md#numbers-in-decisions).
"""
MANIFEST: Final = "https://raw.githubusercontent.com/argoproj/argo-cd/stable/manifests/install.yaml"
CONTROLLER: Final = "applicationset-controller"
POLICY: Final = "applicationsetcontroller.policy"
OVERRIDE: Final = "applicationsetcontroller.enable.policy.override"
TRACKING: Final = "application.resourceTrackingMethod"
HEALTH: Final = "resource.customizations.health"
REFUSED: Final = "not permitted in project"
"""Argo CD's words of what the AppProject does not allow
(docs/contributing/behaviour.md#failed-syncs).
"""
BROKEN: Final = ("Missing", "Degraded")
"""The health of an object that does not work."""
KINDS: Final = (
    "addon.open-cluster-management.io_ManagedClusterAddOn",
    "cluster.open-cluster-management.io_Placement",
    "dynamic-scoring.open-cluster-management.io_DynamicScorer",
    "work.open-cluster-management.io_ManifestWork",
)
"""Kinds in argocd/install/argocd-cm-health.yaml whose wrong health blocks or hides something."""
WORKLOADS: Final = (FactSource.ARGOCD_DEPLOYMENTS, FactSource.ARGOCD_STATEFULSETS)


def version(facts: DoctorFacts) -> Iterator[DoctorFinding]:
    """Does the ApplicationSet controller run a version that can read decisions with scores in them?"""
    if "argoproj.io" not in facts.groups:
        namespace = facts.command("create", "namespace", facts.argocd_namespace)
        yield error(
            "the hub does not serve argoproj.io: Argo CD is not installed",
            f"{namespace} && {_install(facts)}",
        )
        return
    workloads = [item for source in WORKLOADS for item in facts.of(source)]
    controllers = [item for item in workloads if CONTROLLER in name_of(item)]
    # Argo CD's programs share an image. Dex and Redis have versions of their own.
    images = {image for item in controllers for image in images_of(item)}
    versions = versions_of(item for item in workloads if images & images_of(item).keys())
    without = sorted(name_of(item) for item in controllers if name_of(item) not in versions)
    if without:
        yield _version_unknown(facts, without)
    known = {name: found for name, found in versions.items() if CONTROLLER in name}
    if not known:
        if not without:
            yield unknown(
                "no Deployment of the ApplicationSet controller in namespace"
                f" {facts.argocd_namespace} tells a version; {MINIMUM} or newer is needed"
            )
        return
    old = sorted(f"{name} {found}" for name, found in known.items() if found < MINIMUM)
    if old:
        yield error(
            f"{names_text(old)} is older than {MINIMUM}: it fails on a number in a"
            " PlacementDecision",
            _install(facts),
        )
        return
    lowest = min(known.values())
    mixed = sorted(f"{name} {found}" for name, found in versions.items() if found != lowest)
    if mixed:
        yield warning(
            f"Argo CD's programs are not of one version ({lowest}): {names_text(mixed)}",
            "finish the upgrade of Argo CD",
        )
    yield ok(f"Argo CD {lowest}")


def _version_unknown(facts: DoctorFacts, deployments: list[str]) -> DoctorFinding:
    images = ("-o", "jsonpath={..containers[*].image}")
    look = facts.in_argocd("get", "deployments", *deployments, *images)
    return warning(
        f"the version of {names_text(deployments)} is not known, because the image has no tag with"
        f" a version: Argo CD {MINIMUM} or newer is needed; an older one fails on a number in a"
        " PlacementDecision",
        f"{look}  # find the digest in the release notes of your distribution of Argo CD; a label"
        f" {VERSION_LABEL} on the Deployment tells the version to doctor",
    )


def _install(facts: DoctorFacts) -> str:
    return facts.in_argocd("apply", "--server-side", "--force-conflicts", "-f", MANIFEST)


def policy(facts: DoctorFacts) -> Iterator[DoctorFinding]:
    """Does Argo CD obey an ApplicationSet that says it never deletes?"""
    data = (facts.one(FactSource.ARGOCD_PARAMETERS) or {}).get("data") or {}
    forced = str(data.get(POLICY) or "")
    if str(data.get(OVERRIDE) or "") != "true":
        if forced in {"sync", "create-delete"}:
            yield error(
                f"{POLICY} is {forced} for all: a set that never deletes is not obeyed, and an"
                " empty decision deletes the application",
                _set_parameter(facts, f'{{"data":{{"{OVERRIDE}":"true"}}}}'),
            )
        elif forced == "create-only":
            yield warning(
                f"{POLICY} is {forced} for every ApplicationSet: applications are never changed or"
                " moved",
                _set_parameter(facts, f'{{"data":{{"{POLICY}":null}}}}'),
            )
    yield ok("each ApplicationSet's own policy counts")


def _set_parameter(facts: DoctorFacts, patch: str) -> str:
    """The ApplicationSet controller reads its parameters only when it starts, so it is restarted."""
    change = facts.in_argocd(
        "patch", "configmap", "argocd-cmd-params-cm", "--type=merge", "-p", patch
    )
    restart = facts.in_argocd(
        "rollout", "restart", "deployment", "argocd-applicationset-controller"
    )
    return f"{change} && {restart}"


def settings(facts: DoctorFacts) -> Iterator[DoctorFinding]:
    """Does Argo CD know how OCM's kinds are judged, and does it tell its own objects by annotation?"""
    data = (facts.one(FactSource.ARGOCD_SETTINGS) or {}).get("data") or {}
    if str(data.get(TRACKING) or "annotation") == "label":
        patch = f'{{"data":{{"{TRACKING}":"annotation"}}}}'
        yield warning(
            f"{TRACKING} is label: objects that a controller copies with their labels look like"
            " Argo CD's own, and are pruned",
            facts.in_argocd("patch", "configmap", "argocd-cm", "--type=merge", "-p", patch),
        )
    missing = [kind for kind in KINDS if f"{HEALTH}.{kind}" not in data]
    # Argo CD reads either form. The old one is one text for all kinds, which is not read here.
    if missing and "resource.customizations" not in data:
        yield warning(
            f"argocd-cm has no health check for {names_text(missing)}: Argo CD calls them Healthy"
            " whatever they say",
            facts.install,
        )
    yield ok("argocd-cm has the health checks, and tracks by annotation")


def delivery(facts: DoctorFacts) -> Iterator[DoctorFinding]:
    """Does Argo CD apply the rendered tree, and what does it say of each object?"""
    applications = facts.of(FactSource.DELIVERY)
    if DSF_GROUP not in facts.groups:
        yield error(f"the hub does not serve {DSF_GROUP}: our CRDs are not there", facts.install)
    if not applications:
        yield warning(
            "no Application applies the rendered tree: what is merged does not reach the hub",
            facts.install,
        )
        return
    for application in applications:
        yield from _application(facts, application)
    number = plural(len(applications), "Application")
    yield ok(f"{number} for the rendered tree: every object is there, and as it was rendered")


def _application(facts: DoctorFacts, application: HubObject) -> Iterator[DoctorFinding]:
    """The most telling problem of an Application: refused, not synced, broken objects, or differences."""
    name = name_of(application)
    status = application.get("status") or {}
    describe = facts.in_argocd("describe", "application", name)
    wrong = dict(_wrong_objects(status))
    objects = names_text(f"{what} is {state}" for what, state in wrong.items())
    health = str((status.get("health") or {}).get("status"))
    messages = {str(result.get("message")) for result in _sync_results(status)}
    refused = sorted(message for message in messages if REFUSED in message)
    failure = failure_of(status)
    if refused:
        yield error(
            f"Argo CD syncs nothing of Application {name}: {names_text(refused)}; if the"
            " AppProject in git allows it, install that, and otherwise remove the object from git",
            facts.install,
        )
    elif failure and objects:
        yield error(f"Application {name} cannot be synced: {failure}; {objects}", describe)
    elif failure:
        yield error(f"Application {name} cannot be synced: {failure}", describe)
    elif health in BROKEN and not objects:
        yield error(f"Application {name}: it is {health}", describe)
    elif health in BROKEN or any(state.startswith(BROKEN) for state in wrong.values()):
        yield error(f"Application {name}: {objects}", describe)
    elif wrong and _operation(status).get("phase") != "Running":
        yield warning(f"Application {name}: {objects}", describe)


def _wrong_objects(status: HubObject) -> Iterator[tuple[str, str]]:
    """The objects of an Application that are not as they should be: kind and name, and Argo CD's words."""
    failures = {
        _identity(result): str(result.get("message") or "")
        for result in _sync_results(status)
        if result.get("status") == "SyncFailed"
    }
    for resource in status.get("resources") or ():
        health = resource.get("health") or {}
        state = str(health.get("status") or "")
        message = failures.get(_identity(resource)) or str(health.get("message") or "")
        if state not in BROKEN:
            state = str(resource.get("status") or "")
        if resource.get("requiresPruning"):
            state = "no longer in git"
            message = message or "delete it"
        if state not in {"", "Synced"}:
            name = "/".join(filter(None, (resource.get("namespace"), resource.get("name"))))
            yield f"{resource.get('kind')} {name}", f"{state}: {message}".removesuffix(": ")


def _sync_results(status: HubObject) -> Sequence[HubObject]:
    return (_operation(status).get("syncResult") or {}).get("resources") or ()


def _identity(resource: HubObject) -> tuple[str, ...]:
    return tuple(str(resource.get(key) or "") for key in ("group", "kind", "namespace", "name"))


def _operation(status: HubObject) -> HubObject:
    return status.get("operationState") or {}
