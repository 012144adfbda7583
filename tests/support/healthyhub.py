"""Facts of a healthy hub, from what the renderer renders. Tests break one thing."""

import pickle
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from dsf_wire.constants import DSF_GROUP
from gitops_dsf.hub.unread import Unread
from gitops_dsf.render import agent
from gitops_dsf.repository.model.repository import FleetRepository
from gitops_dsf.schema.crd import crds
from gitops_dsf.views.doctor.checks.ocm import GROUPS
from gitops_dsf.views.doctor.examine import CHECKS, examine
from gitops_dsf.views.doctor.facts import DoctorFacts, FactSource
from gitops_dsf.views.doctor.finding import DoctorFinding
from gitops_dsf.views.status.build import build
from tests.support import yamlfast
from tests.support.hubobjects import ARGOCD, HUB, NOW, Object, fleet, meta, stamp
from tests.support.overviews import inputs_of

ROOT = Path(__file__).parents[2]
CLUSTERS = ("cluster1", "cluster2", "cluster3")
REPOSITORY = FleetRepository.model_validate(
    {
        "apiVersion": "gitops-dsf.io/v1alpha1",
        "kind": "FleetRepository",
        "metadata": {"name": "fleet"},
        "spec": {"git": {"url": "https://git.example.com/fleet.git"}},
    }
)


def workload(name: str, namespace: str, image: str, **more: Any) -> Object:
    container = {"name": "main", "image": image, **more}
    spec = {
        "replicas": 1,
        "template": {"spec": {"serviceAccountName": name, "containers": [container]}},
    }
    return {"metadata": meta(name, namespace), "spec": spec}


def conditions(**states: str) -> Object:
    return {
        "conditions": [
            {"type": kind, "status": status, "reason": "Told", "message": "told"}
            for kind, status in states.items()
        ]
    }


def sources() -> dict[FactSource, tuple[Any, ...]]:
    """Returns a separate copy for each caller."""
    copy: dict[FactSource, tuple[Any, ...]] = pickle.loads(_packed_sources())  # noqa: S301 - packed below
    return copy


@cache
def _packed_sources() -> bytes:
    # To unpack them takes a tenth of the time of a deep copy.
    return pickle.dumps(_sources())


def _sources() -> dict[FactSource, tuple[Any, ...]]:
    addon = {item["kind"]: item for item in agent.addon(REPOSITORY, [])}
    health = yamlfast.load(
        (ROOT / "argocd/install/argocd-cm-health.yaml").read_text(encoding="utf-8")
    )
    return {
        FactSource.CLUSTER_MANAGERS: ({"metadata": meta("cluster-manager"), "spec": {}},),
        FactSource.OCM_DEPLOYMENTS: (
            workload("cluster-manager-placement-controller", "hub", "quay.io/ocm/placement:v1.2.1"),
        ),
        FactSource.ADDON_DEFINITIONS: (addon["ClusterManagementAddOn"],),
        FactSource.ADDON_STATES: tuple(
            {"metadata": meta("gitops-dsf-agent", name), "status": conditions(Available="True")}
            for name in CLUSTERS
        ),
        FactSource.ARGOCD_DEPLOYMENTS: (
            workload("argocd-applicationset-controller", ARGOCD, "quay.io/argoproj/argocd:v3.3.9"),
            workload("argocd-dex-server", ARGOCD, "ghcr.io/dexidp/dex:v2.43.0"),
            workload("argocd-redis", ARGOCD, "public.ecr.aws/docker/library/redis:8.2.3-alpine"),
        ),
        FactSource.ARGOCD_STATEFULSETS: (
            workload("argocd-application-controller", ARGOCD, "quay.io/argoproj/argocd:v3.3.9"),
        ),
        FactSource.ARGOCD_SETTINGS: (health,),
        FactSource.ARGOCD_PARAMETERS: ({"metadata": meta("argocd-cmd-params-cm", ARGOCD)},),
        FactSource.DELIVERY: (
            {
                "metadata": meta("gitops-dsf-platform", ARGOCD),
                "status": {"sync": {"status": "Synced"}},
            },
        ),
        FactSource.CLUSTER_SECRETS: tuple(
            {"metadata": meta(f"cluster-{name}", ARGOCD)} for name in CLUSTERS
        ),
        FactSource.AGENT_PARAMETERS: (),
        FactSource.AGENT_APPLICATIONS: (),
        FactSource.UPSTREAM_DEPLOYMENTS: (),
        FactSource.UPSTREAM_WORKS: (),
        FactSource.UPSTREAM_ADDON_STATES: (),
        FactSource.MULTICLUSTERHUBS: (),
        FactSource.GITOPS_CLUSTERS: (),
        FactSource.OUR_WORKS: tuple(
            {"metadata": meta("gitops-dsf-config", name)} for name in CLUSTERS
        ),
        FactSource.SCORING_CONFIGS: (),
        FactSource.SCORER_DEFINITION: (crds()[0],),
        FactSource.RECONCILER_PODS: (),
        FactSource.KUEUE_DEPLOYMENTS: (),
        FactSource.KUEUE_SETTINGS: (),
        FactSource.MULTIKUEUE_CLUSTERS: (),
        FactSource.ADMISSION_CHECKS: (),
        FactSource.EXTERNAL_SCORES: (),
        FactSource.LEASES: (
            {
                "metadata": meta("gitops-dsf-reconciler", HUB),
                "spec": {
                    "holderIdentity": "pod-a",
                    "leaseDurationSeconds": 15,
                    "renewTime": stamp(NOW),
                },
            },
        ),
    }


def facts(
    changed: Mapping[FactSource, tuple[Any, ...]] | None = None,
    *,
    hub: list[Object] | None = None,
    read: Mapping[str, Any] | None = None,
    unread: Mapping[FactSource, Unread] | None = None,
    **more: Any,
) -> DoctorFacts:
    """A healthy hub with changed sources, other objects in its view (`hub`, `read`), or other
    facts.
    """
    inputs = inputs_of(fleet() if hub is None else hub, **(read or {}))
    healthy = DoctorFacts(
        kubectl=("kubectl", "--context", "hub"),
        hub_namespace=HUB,
        argocd_namespace=ARGOCD,
        groups={**GROUPS, "argoproj.io": ("v1alpha1",), DSF_GROUP: ("v1alpha1",)},
        clock_offset=0.0,
        inputs=inputs,
        overview=build(inputs),
        sources={**sources(), **(changed or {}), **(unread or {})},
    )
    return replace(healthy, **more)


def run(check: str, given: DoctorFacts) -> tuple[DoctorFinding, ...]:
    """The findings of one check."""
    return examine(given, [item for item in CHECKS if item.id == check])


Change = Callable[[Object], None]


def altered(source: FactSource, change: Change) -> dict[FactSource, tuple[Any, ...]]:
    """Returns one source with one changed object."""
    items = list(sources()[source])
    change(items[0])
    return {source: tuple(items)}
