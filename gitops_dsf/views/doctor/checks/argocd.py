"""Checks Argo CD: installed, recent enough, and configured so that it neither deletes applications nor claims
objects that are not its own.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from gitops_dsf.views.doctor.facts import Facts, Object, Source, name_of
from gitops_dsf.views.doctor.finding import Result, error, ok, unknown, warning
from gitops_dsf.views.doctor.version import Version, images_of, repository_of, versions_of
from gitops_dsf.wording import names_text, plural

MINIMUM: Final = Version(3, 3, 9)
"""Older controllers panic on a number in a PlacementDecision
(docs/contributing/argocd-behaviour.md#numbers-in-decisions).
"""
MANIFEST: Final = "https://raw.githubusercontent.com/argoproj/argo-cd/stable/manifests/install.yaml"
CONTROLLER: Final = "applicationset-controller"
POLICY: Final = "applicationsetcontroller.policy"
OVERRIDE: Final = "applicationsetcontroller.enable.policy.override"
TRACKING: Final = "application.resourceTrackingMethod"
HEALTH: Final = "resource.customizations.health"
REFUSED: Final = "not permitted in project"
"""What Argo CD says of an object that the AppProject does not allow
(docs/contributing/argocd-behaviour.md#failed-syncs).
"""
KINDS: Final = (
    "addon.open-cluster-management.io_ManagedClusterAddOn",
    "cluster.open-cluster-management.io_Placement",
    "dynamic-scoring.open-cluster-management.io_DynamicScorer",
    "work.open-cluster-management.io_ManifestWork",
)
"""Kinds in argocd/install/argocd-cm-health.yaml whose wrong health blocks or hides something."""


def version(facts: Facts) -> Iterator[Result]:
    """Does the ApplicationSet controller run a version that can read decisions with scores in them?"""
    if "argoproj.io" not in facts.groups:
        fix = f"{facts.command('create', 'namespace', facts.argocd_namespace)} && {_install(facts)}"
        yield error("the hub does not serve argoproj.io: Argo CD is not installed", fix)
        return
    workloads = [*facts.of(Source.ARGOCD_DEPLOYMENTS), *facts.of(Source.ARGOCD_STATEFULSETS)]
    argocd = {name_of(item): item for item in _with_its_image(workloads)}
    found = {name: min(seen) for name, item in argocd.items() if (seen := list(versions_of(item)))}
    controllers = {name: version for name, version in found.items() if CONTROLLER in name}
    if not controllers:
        where = f"namespace {facts.argocd_namespace}"
        yield unknown(
            f"no Deployment of the ApplicationSet controller in {where} tells a version; {MINIMUM} or newer"
            " is needed"
        )
        return
    old = sorted(f"{name} {version}" for name, version in controllers.items() if version < MINIMUM)
    if old:
        yield error(
            f"{names_text(old)} is older than {MINIMUM}: it fails on a number in a PlacementDecision",
            _install(facts),
        )
        return
    mixed = sorted(
        f"{name} {version}" for name, version in found.items() if version != min(controllers.values())
    )
    if mixed:
        yield warning(
            f"Argo CD's programs are not of one version ({min(controllers.values())}): {names_text(mixed)}",
            "finish the upgrade of Argo CD",
        )
    else:
        yield ok(f"Argo CD {min(controllers.values())}")


def _with_its_image(workloads: Sequence[Object]) -> Iterator[Object]:
    """Workloads with the image of the ApplicationSet controller, which all programs of Argo CD share. The
    others, such as Dex and Redis, have versions of their own.
    """
    images = {
        repository_of(image) for item in workloads if CONTROLLER in name_of(item) for image in images_of(item)
    }
    return (item for item in workloads if any(repository_of(image) in images for image in images_of(item)))


def _install(facts: Facts) -> str:
    return facts.command(
        "-n", facts.argocd_namespace, "apply", "--server-side", "--force-conflicts", "-f", MANIFEST
    )


def policy(facts: Facts) -> Iterator[Result]:
    """Does Argo CD obey an ApplicationSet that says it never deletes?"""
    found = facts.one(Source.ARGOCD_PARAMETERS)
    data = (found or {}).get("data") or {}
    forced, override = str(data.get(POLICY) or ""), str(data.get(OVERRIDE) or "")
    if forced in {"sync", "create-delete"} and override != "true":
        patch = f'{{"data":{{"{OVERRIDE}":"true"}}}}'
        yield error(
            f"{POLICY} is {forced} for all: a set that never deletes is not obeyed, and an empty decision"
            " deletes the application",
            _set_parameter(facts, patch),
        )
    elif forced == "create-only" and override != "true":
        message = f"{POLICY} is {forced} for every ApplicationSet: applications are never changed or moved"
        yield warning(message, _set_parameter(facts, f'{{"data":{{"{POLICY}":null}}}}'))
    else:
        yield ok("each ApplicationSet's own policy counts")


def _set_parameter(facts: Facts, patch: str) -> str:
    """A fix for a parameter. The ApplicationSet controller reads its parameters when it starts."""
    change = facts.command(
        "-n",
        facts.argocd_namespace,
        "patch",
        "configmap",
        "argocd-cmd-params-cm",
        "--type=merge",
        "-p",
        patch,
    )
    restart = facts.command(
        "-n", facts.argocd_namespace, "rollout", "restart", "deployment", "argocd-applicationset-controller"
    )
    return f"{change} && {restart}"


def settings(facts: Facts) -> Iterator[Result]:
    """Does Argo CD know how OCM's kinds are judged, and does it tell its own objects by annotation?"""
    found = facts.one(Source.ARGOCD_SETTINGS)
    data = (found or {}).get("data") or {}
    sound = True
    if str(data.get(TRACKING) or "annotation") == "label":
        sound = False
        patch = f'{{"data":{{"{TRACKING}":"annotation"}}}}'
        yield warning(
            f"{TRACKING} is label: objects that a controller copies with their labels look like Argo CD's"
            " own, and are pruned",
            facts.command(
                "-n", facts.argocd_namespace, "patch", "configmap", "argocd-cm", "--type=merge", "-p", patch
            ),
        )
    lacking = [
        kind for kind in KINDS if f"{HEALTH}.{kind}" not in data and "resource.customizations" not in data
    ]
    if lacking:
        sound = False
        yield warning(
            f"argocd-cm has no health check for {names_text(lacking)}: Argo CD calls them Healthy whatever"
            " they say",
            facts.command(
                "apply",
                "--server-side",
                "--field-manager=gitops-dsf",
                "-f",
                "argocd/install/argocd-cm-health.yaml",
            ),
        )
    if sound:
        yield ok("argocd-cm has the health checks, and tracks by annotation")


def delivery(facts: Facts) -> Iterator[Result]:
    """Do the Applications that apply the rendered tree get through?"""
    items = facts.of(Source.DELIVERY)
    if not items:
        fix = facts.command("apply", "--server-side", "-f", "rendered/argocd")
        yield warning("no Application applies the rendered tree: what is merged does not reach the hub", fix)
        return
    sound = True
    for item in items:
        if refused := _refused(item):
            sound = False
            fix = facts.command("apply", "--server-side", "-f", "rendered/argocd")
            yield error(
                f"Argo CD syncs nothing of Application {name_of(item)}: {names_text(refused)}; if the"
                " AppProject in git allows it, apply that, and otherwise remove the object from git",
                fix,
            )
        elif reason := _failure(item):
            sound = False
            fix = facts.command("-n", facts.argocd_namespace, "describe", "application", name_of(item))
            yield error(f"Application {name_of(item)} cannot be synced: {reason}", fix)
    if sound:
        waiting = sorted(
            name_of(item)
            for item in items
            if ((item.get("status") or {}).get("sync") or {}).get("status") != "Synced"
        )
        yield ok(
            f"{plural(len(items), 'Application')} for the rendered tree, without errors"
            + (f"; not in sync at the moment: {names_text(waiting)}" if waiting else "")
        )


def _refused(item: Object) -> list[str]:
    """What Argo CD said of objects that the AppProject of an Application does not allow."""
    result = _operation(item).get("syncResult") or {}
    messages = (str(one.get("message")) for one in result.get("resources") or ())
    return sorted({message for message in messages if REFUSED in message})


def _failure(item: Object) -> str:
    """Why the last sync of an Application failed, or why it cannot be compared; empty if neither is so."""
    conditions = (item.get("status") or {}).get("conditions") or ()
    for one in conditions:
        if str(one.get("type", "")).endswith("Error"):
            return str(one.get("message"))
    operation = _operation(item)
    phase = operation.get("phase")
    # A failed sync that Argo CD tries again, as it does without end for rendered Applications, is Running.
    if phase in {"Failed", "Error"} or (phase == "Running" and operation.get("retryCount")):
        return str(operation.get("message") or phase)
    return ""


def _operation(item: Object) -> Object:
    return (item.get("status") or {}).get("operationState") or {}
