"""Checks whether the upstream add-on runs beside ours: both write the same ConfigMap.

docs/contributing/behaviour.md#works-that-share-an-object has the facts.

On a hub with Red Hat Advanced Cluster Management its operator carries the upstream add-on, and
restores the Deployments and the add-on when they are scaled or deleted. There the controllers may
stay: without a DynamicScoringConfig they write no ManifestWork, and without clusters for its
Placements the add-on installs no agent. Both belong to people, and stay as people leave them
(docs/start/acm.md).
"""

from collections.abc import Iterator
from typing import Final

from dsf_wire.constants import ADDON_NAME
from gitops_dsf.hub.delivery import UPSTREAM_ADDON
from gitops_dsf.hub.names import WORK_NAME
from gitops_dsf.repository.model.scoring_config import SINGLETON_NAME
from gitops_dsf.views.doctor.facts import MAX_COMMANDS, DoctorFacts, FactSource
from gitops_dsf.views.doctor.finding import DoctorFinding, error, ok, warning
from gitops_dsf.views.doctor.objects import HubObject, key_of, name_of, namespace_of
from gitops_dsf.wording import names_text

UPSTREAM_WORK: Final = "dynamic-scoring-config-manifestwork"
"""Upstream's ManifestWork in the namespace of a cluster."""
UPSTREAM_LABELS: Final = (
    "app.kubernetes.io/name=dynamic-scoring-framework",
    "app=dynamic-scoring-addon-controller",
)
"""The labels of its two Deployments: one writes works and status, the other installs its agents."""
UPSTREAM_NEEDS: Final = (
    FactSource.UPSTREAM_DEPLOYMENTS,
    FactSource.ADDON_DEFINITIONS,
    FactSource.UPSTREAM_WORKS,
    FactSource.UPSTREAM_ADDON_STATES,
    FactSource.OUR_WORKS,
    FactSource.SCORING_CONFIGS,
    FactSource.MULTICLUSTERHUBS,
)


def upstream(facts: DoctorFacts) -> Iterator[DoctorFinding]:
    """Does the upstream add-on run beside ours?"""
    deployments = facts.of(FactSource.UPSTREAM_DEPLOYMENTS)
    # A Deployment that was scaled to 0 writes nothing, so it may stay.
    running = list(filter(_has_replicas, deployments))
    works = sorted(map(namespace_of, facts.of(FactSource.UPSTREAM_WORKS)))
    if facts.is_upstreams:
        yield from _chosen(facts, is_running=bool(running))
        return
    if not is_ours(facts):
        if running or _is_defined(facts) or works:
            yield ok("the upstream add-on runs, and ours does not")
        else:
            yield ok("neither the upstream add-on nor ours is installed")
        return
    operator = facts.one(FactSource.MULTICLUSTERHUBS)
    if operator is not None and (running or _is_defined(facts)):
        yield from _beside_operator(facts, operator, works)
        return
    for deployment in running:
        yield _running(facts, deployment)
    if _is_defined(facts):
        yield error(
            f"the upstream add-on {UPSTREAM_ADDON} is installed beside ours: two agents publish"
            " the same scores on each cluster",
            facts.command("delete", "clustermanagementaddon", UPSTREAM_ADDON),
        )
    if works:
        yield _works(facts, works)
    for config in facts.of(FactSource.SCORING_CONFIGS):
        yield _scoring_config(facts, config)
    yield ok("no part of the upstream add-on is on the hub")


def _chosen(facts: DoctorFacts, *, is_running: bool) -> Iterator[DoctorFinding]:
    """The needs of delivery.mode UpstreamController, and our objects that would write beside it."""
    # A ManifestWork lives in the namespace of its cluster, which has the cluster's name.
    clusters = sorted(map(namespace_of, facts.of(FactSource.OUR_WORKS)))
    if clusters:
        yield error(
            f"delivery.mode is UpstreamController, and our ManifestWork {WORK_NAME} is left on"
            f" {names_text(clusters)}: the last writer of the scoring ConfigMap wins",
            facts.in_each(clusters[:MAX_COMMANDS], "delete", "manifestwork", WORK_NAME),
        )
    if _is_addon(facts, ADDON_NAME):
        yield error(
            f"delivery.mode is UpstreamController, and our add-on {ADDON_NAME} is installed: two"
            " agents publish the same scores on each cluster",
            facts.command("delete", "clustermanagementaddon", ADDON_NAME),
        )
    if not is_running:
        yield error(
            "delivery.mode is UpstreamController, and no upstream controller runs: nobody tells"
            " agents what to score",
            "install the upstream add-on, or write delivery.mode: ManifestWork in gitops-dsf.yaml,"
            " render and merge",
        )
    elif not facts.of(FactSource.UPSTREAM_ADDON_STATES):
        yield error(
            f"no cluster has the add-on {UPSTREAM_ADDON}: nobody publishes scores",
            facts.command("describe", "clustermanagementaddon", UPSTREAM_ADDON)
            + "  # bind a ManagedClusterSet for its Placements",
        )
    if not _is_configured(facts):
        yield error(
            f"namespace {facts.hub_namespace} has no DynamicScoringConfig {SINGLETON_NAME}:"
            " upstream's controller delivers nothing",
            "write it in config/, also without masks, render and merge",
        )
    yield ok("upstream's controller delivers, as delivery.mode: UpstreamController says")


def _is_configured(facts: DoctorFacts) -> bool:
    """Whether upstream's controller finds its configuration beside the DynamicScorers."""
    return any(
        (name_of(config), namespace_of(config)) == (SINGLETON_NAME, facts.hub_namespace)
        for config in facts.of(FactSource.SCORING_CONFIGS)
    )


def _beside_operator(
    facts: DoctorFacts, operator: HubObject, works: list[str]
) -> Iterator[DoctorFinding]:
    """The fixes where the operator of a MultiClusterHub restores the controllers and the add-on.

    They remove the objects that make these work, and nothing that the operator owns. `works` has
    the clusters with a ManifestWork of the upstream add-on.
    """
    name = f"MultiClusterHub {key_of(operator)}"
    configs = facts.of(FactSource.SCORING_CONFIGS)
    for config in configs:
        yield error(
            f"DynamicScoringConfig {key_of(config)} makes the upstream controller that {name} keeps"
            " write the scoring ConfigMap that we write, too",
            _delete_config(facts, config),
        )
    # The finalizer of the DynamicScoringConfig deletes the works with it, so while there is one
    # they are not distinguished.
    if works and not configs:
        yield _works(facts, works)
    agents = sorted(map(namespace_of, facts.of(FactSource.UPSTREAM_ADDON_STATES)))
    if agents:
        yield error(
            f"the upstream add-on that {name} keeps has its agents on {names_text(agents)}: they"
            " publish the same scores as ours",
            _unbind(facts),
        )
    yield ok(
        f"{name} keeps the upstream add-on; without DynamicScoringConfig and agents it delivers"
        " nothing, and may stay beside ours"
    )


def _unbind(facts: DoctorFacts) -> str:
    """The command after which the Placements of the upstream add-on choose no cluster.

    The operator's chart has Placements that choose from the set `global`, and no binding: people
    bind the set.
    """
    namespaces: set[str] = set()
    for definition in facts.of(FactSource.ADDON_DEFINITIONS):
        if name_of(definition) == UPSTREAM_ADDON:
            strategy = (definition.get("spec") or {}).get("installStrategy") or {}
            for placement in strategy.get("placements") or ():
                namespaces.add(str(placement.get("namespace")))
    if not namespaces:
        # Its agents were installed by hand.
        clusters = list(map(namespace_of, facts.of(FactSource.UPSTREAM_ADDON_STATES)))
        delete = ("delete", "managedclusteraddon", UPSTREAM_ADDON)
        return facts.in_each(clusters[:MAX_COMMANDS], *delete)
    unbind = facts.in_each(sorted(namespaces), "delete", "managedclustersetbinding", "global")
    return f"{unbind}  # unless other Placements there need this set"


def is_ours(facts: DoctorFacts) -> bool:
    """Whether our works or our add-on are on the hub."""
    return bool(facts.of(FactSource.OUR_WORKS)) or _is_addon(facts, ADDON_NAME)


def delivers_alone(facts: DoctorFacts) -> bool:
    """Whether the upstream add-on delivers, and nothing that was rendered is on the hub."""
    if facts.inputs.mode is not None:
        return False
    needed = (FactSource.OUR_WORKS, FactSource.ADDON_DEFINITIONS, FactSource.UPSTREAM_DEPLOYMENTS)
    # A part that may not be read may be there, so nothing follows from its absence.
    if any(facts.missing(need) is not None for need in needed) or is_ours(facts):
        return False
    if facts.of(FactSource.MULTICLUSTERHUBS):
        # Its operator brings the controllers and the add-on, whether they are used or not.
        return bool(facts.of(FactSource.UPSTREAM_WORKS) or facts.of(FactSource.SCORING_CONFIGS))
    return bool(facts.of(FactSource.UPSTREAM_DEPLOYMENTS)) or _is_defined(facts)


def _has_replicas(deployment: HubObject) -> bool:
    # Without the field Kubernetes runs one replica.
    return bool((deployment.get("spec") or {}).get("replicas", 1))


def _is_defined(facts: DoctorFacts) -> bool:
    return _is_addon(facts, UPSTREAM_ADDON)


def _is_addon(facts: DoctorFacts, name: str) -> bool:
    return name in map(name_of, facts.of(FactSource.ADDON_DEFINITIONS))


def _running(facts: DoctorFacts, deployment: HubObject) -> DoctorFinding:
    scale = ("scale", "deployment", name_of(deployment), "--replicas=0")
    return error(
        f"the upstream controller {key_of(deployment)} runs beside ours: both write the scoring"
        " ConfigMap and the status",
        facts.command("-n", namespace_of(deployment), *scale),
    )


def _works(facts: DoctorFacts, clusters: list[str]) -> DoctorFinding:
    fix = facts.in_each(clusters[:MAX_COMMANDS], "delete", "manifestwork", UPSTREAM_WORK)
    both = sorted(set(clusters).intersection(map(namespace_of, facts.of(FactSource.OUR_WORKS))))
    if both:
        return error(
            "the upstream add-on's ManifestWork writes the same ConfigMap as ours on"
            f" {names_text(both)}: the last writer wins, and both report Applied",
            fix,
        )
    return error(
        f"the upstream add-on's ManifestWork is left on {names_text(clusters)}: the last writer"
        " wins, and both report Applied",
        fix,
    )


def _scoring_config(facts: DoctorFacts, config: HubObject) -> DoctorFinding:
    return warning(
        f"DynamicScoringConfig {key_of(config)} is on the hub: an upstream controller, once"
        " installed, would start writing works",
        f"{_delete_config(facts, config)}  # config/ in git is what counts",
    )


def _delete_config(facts: DoctorFacts, config: HubObject) -> str:
    delete = ("delete", "dynamicscoringconfig", name_of(config))
    return facts.command("-n", namespace_of(config), *delete)
