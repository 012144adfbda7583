"""Checks Argo CD: installed, recent enough, no danger to applications and objects of others."""

from collections.abc import Iterator, Sequence
from typing import Final

from packaging.version import Version

from dsf_wire.constants import DSF_GROUP
from gitops_dsf.views.doctor.facts import Facts, Object, Source, images_of, name_of, version_of
from gitops_dsf.views.doctor.finding import Finding, error, ok, unknown, warning
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


def version(facts: Facts) -> Iterator[Finding]:
    """Does the ApplicationSet controller run a version that can read decisions with scores in them?"""
    if "argoproj.io" not in facts.groups:
        fix = f"{facts.command('create', 'namespace', facts.argocd_namespace)} && {_install(facts)}"
        yield error("the hub does not serve argoproj.io: Argo CD is not installed", fix)
        return
    workloads = [*facts.of(Source.ARGOCD_DEPLOYMENTS), *facts.of(Source.ARGOCD_STATEFULSETS)]
    # Its programs share an image. The others, such as Dex and Redis, have versions of their own.
    images = {image for item in workloads if CONTROLLER in name_of(item) for image in images_of(item)}
    argocd = {name_of(item): item for item in workloads if images & images_of(item).keys()}
    found = {name: version for name, item in argocd.items() if (version := version_of(item)) is not None}
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


def _install(facts: Facts) -> str:
    return facts.in_argocd("apply", "--server-side", "--force-conflicts", "-f", MANIFEST)


def policy(facts: Facts) -> Iterator[Finding]:
    """Does Argo CD obey an ApplicationSet that says it never deletes?"""
    data = (facts.one(Source.ARGOCD_PARAMETERS) or {}).get("data") or {}
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
    change = facts.in_argocd("patch", "configmap", "argocd-cmd-params-cm", "--type=merge", "-p", patch)
    restart = facts.in_argocd("rollout", "restart", "deployment", "argocd-applicationset-controller")
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
    lacking = [
        kind for kind in KINDS if f"{HEALTH}.{kind}" not in data and "resource.customizations" not in data
    ]
    if lacking:
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
    yield ok("argocd-cm has the health checks, and tracks by annotation")


def delivery(facts: Facts) -> Iterator[Finding]:
    """Does Argo CD apply the rendered tree, and what does it say of each object?"""
    if DSF_GROUP not in facts.groups:
        yield error(f"the hub does not serve {DSF_GROUP}: our CRDs are not there", facts.install)
    apply = facts.command("apply", "--server-side", "-f", "rendered/argocd")
    if not facts.of(Source.DELIVERY):
        yield warning(
            "no Application applies the rendered tree: what is merged does not reach the hub", apply
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
                " git allows it, apply that, and otherwise remove the object from git",
                apply,
            )
        elif reason := _failure(status):
            yield error(
                f"Application {name} cannot be synced: {reason}" + (f"; {objects}" if objects else ""), look
            )
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


def _failure(status: Object) -> str:
    """Why the last sync of an Application failed, or why it cannot be compared; empty if neither is so."""
    for one in status.get("conditions") or ():
        if str(one.get("type", "")).endswith("Error"):
            return str(one.get("message"))
    operation = _operation(status)
    phase = operation.get("phase")
    # A failed sync that Argo CD tries again, as it does without end for rendered Applications, is Running.
    if phase in {"Failed", "Error"} or (phase == "Running" and operation.get("retryCount")):
        return str(operation.get("message") or phase)
    return ""


def _operation(status: Object) -> Object:
    return status.get("operationState") or {}
