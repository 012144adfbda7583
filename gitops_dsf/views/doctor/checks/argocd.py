"""Checks Argo CD: its version and settings, and whether it applies the rendered tree.

Not guaranteed: that Argo CD works. Its own reports are read, which may be older than the hub.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

from packaging.version import Version

from dsf_wire.constants import DSF_GROUP
from gitops_dsf.argocd.failures import failure_of
from gitops_dsf.hub.argocdplace import APPLICATIONSET_CONTROLLER
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
"""Older controllers panic on a number in a decision.

docs/contributing/behaviour.md#numbers-in-decisions has the source.
"""
MANIFEST: Final = "https://raw.githubusercontent.com/argoproj/argo-cd/stable/manifests/install.yaml"
POLICY: Final = "applicationsetcontroller.policy"
OVERRIDE: Final = "applicationsetcontroller.enable.policy.override"
TRACKING: Final = "application.resourceTrackingMethod"
HEALTH: Final = "resource.customizations.health"
REFUSED: Final = "not permitted in project"
"""The words of Argo CD 3.6.1 about objects that the AppProject does not allow.

If one object is not allowed, nothing is applied (docs/contributing/behaviour.md#failed-syncs).
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


class _WrongObject(NamedTuple):
    """An object of an Application that is not as it should be."""

    kind: str
    name: str
    state: str
    message: str
    """The reason in the words of Argo CD; empty if it does not report one."""

    def __str__(self) -> str:
        if self.message:
            return f"{self.kind} {self.name} is {self.state}: {self.message}"
        return f"{self.kind} {self.name} is {self.state}"


def version(facts: DoctorFacts) -> Iterator[DoctorFinding]:
    """Does the ApplicationSet controller run a version that can read decisions with scores?"""
    if "argoproj.io" not in facts.groups:
        namespace = facts.command("create", "namespace", facts.argocd_namespace)
        yield error(
            "the hub does not serve argoproj.io: Argo CD is not installed",
            f"{namespace} && {_install(facts)}",
        )
        return
    versions = _versions(facts)
    # Only this controller reads PlacementDecisions; the versions of the others matter only if they
    # differ.
    controllers: dict[str, Version] = {}
    for name, version_of_program in versions.items():
        if APPLICATIONSET_CONTROLLER in name:
            controllers[name] = version_of_program
    without = _controllers_without(facts, controllers)
    if without:
        yield _version_unknown(facts, without)
    if not controllers:
        if not without:
            yield unknown(
                "the version of the ApplicationSet controller is not known: namespace"
                f" {facts.argocd_namespace} has no Deployment of it; {MINIMUM} or newer is needed"
            )
        return
    old = sorted(f"{name} {version}" for name, version in controllers.items() if version < MINIMUM)
    if old:
        yield error(
            f"{names_text(old)} is older than {MINIMUM}: it fails on a number in a"
            " PlacementDecision",
            _install(facts),
        )
        return
    lowest = min(controllers.values())
    mixed = sorted(f"{name} {version}" for name, version in versions.items() if version != lowest)
    if mixed:
        yield warning(
            f"Argo CD's programs are not of one version ({lowest}): {names_text(mixed)}",
            "finish the upgrade of Argo CD",
        )
    yield ok(f"Argo CD {lowest}")


def _versions(facts: DoctorFacts) -> dict[str, Version]:
    """The versions of Argo CD's programs, by name of the workload.

    They share an image. Dex and Redis have images and versions of their own.
    """
    programs = workloads(facts)
    images = set[str]()
    for workload in programs:
        if APPLICATIONSET_CONTROLLER in name_of(workload):
            images |= images_of(workload).keys()
    return versions_of(_running(frozenset(images), programs))


def _running(images: frozenset[str], workloads: Iterable[HubObject]) -> Iterator[HubObject]:
    """The workloads with a container of one of these images."""
    for workload in workloads:
        if not images.isdisjoint(images_of(workload)):
            yield workload


def _controllers_without(facts: DoctorFacts, versions: Container[str]) -> list[str]:
    """The ApplicationSet controllers that have none of these versions, sorted."""
    names = sorted(map(name_of, workloads(facts)))
    return [name for name in names if APPLICATIONSET_CONTROLLER in name and name not in versions]


def workloads(facts: DoctorFacts) -> list[HubObject]:
    """The Deployments and StatefulSets in the namespace of Argo CD."""
    return list(chain.from_iterable(map(facts.of, WORKLOADS)))


def _version_unknown(facts: DoctorFacts, deployments: list[str]) -> DoctorFinding:
    images = ("-o", "jsonpath={..containers[*].image}")
    look = facts.in_argocd("get", "deployments", *deployments, *images)
    return warning(
        f"the version of {names_text(deployments)} is not known, because the image has no tag with"
        f" a version: Argo CD {MINIMUM} or newer is needed; an older one fails on a number in a"
        " PlacementDecision",
        f"{look}  # find the digest in the release notes of your distribution of Argo CD; a label"
        f" {VERSION_LABEL} on the Deployment gives the version, too",
    )


def _install(facts: DoctorFacts) -> str:
    return facts.in_argocd("apply", "--server-side", "--force-conflicts", "-f", MANIFEST)


def policy(facts: DoctorFacts) -> Iterator[DoctorFinding]:
    """Does Argo CD obey an ApplicationSet that says it never deletes?"""
    data = (facts.one(FactSource.ARGOCD_PARAMETERS) or {}).get("data") or {}
    forced = str(data.get(POLICY) or "")
    # Without a policy for all, Argo CD 3.6.1 obeys each set's own. With one it does only if the
    # override is on.
    if str(data.get(OVERRIDE) or "") != "true":
        # These two delete Applications, whatever the set's own policy is.
        if forced in {"sync", "create-delete"}:
            yield error(
                f"{POLICY} is {forced}, which overrides the policy of each ApplicationSet: an empty"
                " decision deletes the applications, even where the set forbids it",
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
    """A command that changes a parameter of the ApplicationSet controller.

    The controller reads its parameters only when it starts, so it is restarted.
    """
    change = facts.in_argocd(
        "patch", "configmap", "argocd-cmd-params-cm", "--type=merge", "-p", patch
    )
    restart = facts.in_argocd(
        "rollout", "restart", "deployment", "argocd-applicationset-controller"
    )
    return f"{change} && {restart}"


def settings(facts: DoctorFacts) -> Iterator[DoctorFinding]:
    """Does Argo CD judge the health of OCM's kinds, and track its own objects by annotation?"""
    data = (facts.one(FactSource.ARGOCD_SETTINGS) or {}).get("data") or {}
    # Annotation is the default since Argo CD 3.0.
    if str(data.get(TRACKING) or "annotation") == "label":
        patch = f'{{"data":{{"{TRACKING}":"annotation"}}}}'
        yield warning(
            f"{TRACKING} is label: objects that a controller copies with their labels look like"
            " Argo CD's own, and are pruned",
            facts.in_argocd("patch", "configmap", "argocd-cm", "--type=merge", "-p", patch),
        )
    missing = [kind for kind in KINDS if f"{HEALTH}.{kind}" not in data]
    # Argo CD reads either form. The old one is one text for all kinds, which is not parsed here.
    if missing and "resource.customizations" not in data:
        yield warning(
            f"argocd-cm has no health check for {names_text(missing)}: Argo CD always reports"
            " them as Healthy",
            facts.install,
        )
    yield ok("argocd-cm has the health checks, and tracks by annotation")


def delivery(facts: DoctorFacts) -> Iterator[DoctorFinding]:
    """Does Argo CD apply the rendered tree, and what does it report of each object?"""
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
    """The worst problem of an Application: refused, not synced, broken objects, differences."""
    name = name_of(application)
    status = application.get("status") or {}
    describe = facts.in_argocd("describe", "application", name)
    wrong = list(_wrong_objects(status))
    objects = names_text(map(str, wrong))
    health = str((status.get("health") or {}).get("status"))
    refused = _refusals(status)
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
    elif health in BROKEN or any(object_.state.startswith(BROKEN) for object_ in wrong):
        yield error(f"Application {name}: {objects}", describe)
    elif wrong and _operation(status).get("phase") != "Running":
        # While a sync runs, objects differ because it has not reached them yet.
        yield warning(f"Application {name}: {objects}", describe)


def _refusals(status: HubObject) -> list[str]:
    """The objects that the AppProject does not allow, each message once."""
    messages: set[str] = set()
    for result in _sync_results(status):
        message = str(result.get("message"))
        if REFUSED in message:
            messages.add(message)
    return sorted(messages)


def _wrong_objects(status: HubObject) -> Iterator[_WrongObject]:
    """The objects of an Application that are not as they should be."""
    # Each of two lists has a half: `resources` shows that an object differs, and the result of the
    # last sync why it could not be applied.
    failures: dict[tuple[str, ...], str] = {}
    for result in _sync_results(status):
        if result.get("status") == "SyncFailed":
            failures[_identity(result)] = str(result.get("message") or "")
    for resource in status.get("resources") or ():
        health = resource.get("health") or {}
        state = str(health.get("status") or "")
        message = failures.get(_identity(resource)) or str(health.get("message") or "")
        # A broken object is broken whether or not it differs from git.
        if state not in BROKEN:
            state = str(resource.get("status") or "")
        if resource.get("requiresPruning"):
            state = "no longer in git"
            message = message or "delete it"
        if state not in {"", "Synced"}:
            name = "/".join(filter(None, (resource.get("namespace"), resource.get("name"))))
            yield _WrongObject(str(resource.get("kind")), name, state, message)


def _sync_results(status: HubObject) -> Sequence[HubObject]:
    return (_operation(status).get("syncResult") or {}).get("resources") or ()


def _identity(resource: HubObject) -> tuple[str, ...]:
    return tuple(str(resource.get(key) or "") for key in ("group", "kind", "namespace", "name"))


def _operation(status: HubObject) -> HubObject:
    return status.get("operationState") or {}
