"""rendered/argocd: the AppProjects, and the Applications that apply the other directories. People or a root
Application apply it once.

The Applications are an explicit list. A git generator deletes everything when it finds nothing
(docs/contributing/argocd-behaviour.md#generators-that-find-nothing). Each directory is one Application,
because Argo CD limits the size of one (docs/contributing/argocd-behaviour.md#limits-of-an-application).

The projects allow only what is rendered, so a file that somebody adds to a directory by hand is refused.
There are two: works are in one namespace per cluster, and everything else is in a few known namespaces
(docs/contributing/argocd-behaviour.md#what-a-project-allows).
"""

import posixpath
from collections.abc import Iterable, Iterator
from typing import Final

from dsf_wire.constants import ADDON_NAME
from gitops_dsf.hub.names import HUB_SCORER, NAMESPACES_OF_OTHERS, REFRESH_ANNOTATION
from gitops_dsf.render.admission import AGENT_POLICY
from gitops_dsf.render.agent import HUB_ROLE
from gitops_dsf.render.objects import Object, filled, metadata
from gitops_dsf.render.reconciler.names import NAME
from gitops_dsf.render.reconciler.rights import HUB_ROLE as RECONCILER_ROLE
from gitops_dsf.render.works import WORKS
from gitops_dsf.repository.model.repository import FleetRepository
from gitops_dsf.schema import crds

RENDERED = "rendered"
BOOTSTRAP = "argocd"
"""The directory that people apply."""

_WORK_KINDS: Final = (
    ("addon.open-cluster-management.io", "ManagedClusterAddOn"),
    ("rbac.authorization.k8s.io", "RoleBinding"),
    ("work.open-cluster-management.io", "ManifestWork"),
)
_KINDS: Final = (
    ("", "ConfigMap"),
    ("", "Service"),
    ("", "ServiceAccount"),
    ("addon.open-cluster-management.io", "AddOnDeploymentConfig"),
    ("apps", "Deployment"),
    ("argoproj.io", "ApplicationSet"),
    ("cluster.open-cluster-management.io", "ManagedClusterSetBinding"),
    ("cluster.open-cluster-management.io", "Placement"),
    ("dynamic-scoring.open-cluster-management.io", "DynamicScorer"),
    ("dynamic-scoring.open-cluster-management.io", "DynamicScoringConfig"),
    ("monitoring.coreos.com", "PrometheusRule"),
    ("monitoring.coreos.com", "ServiceMonitor"),
    ("networking.k8s.io", "NetworkPolicy"),
    ("policy", "PodDisruptionBudget"),
    ("rbac.authorization.k8s.io", "Role"),
    ("rbac.authorization.k8s.io", "RoleBinding"),
)
"""Namespaced kinds of the other directories, for all settings, because people apply the
projects only once.
"""


def bootstrap(
    repository: FleetRepository, directories: list[str], *, further: Iterable[str] = ()
) -> Iterator[Object]:
    """The AppProjects, then one Application per rendered directory, in the given order.

    `further` are the namespaces of Placements and of copied documents.
    """
    spec = repository.spec
    yield _project(
        repository,
        spec.argocd.project,
        "What gitops-dsf renders from its fleet repository, but for the works.",
        namespaces=sorted({spec.hub_namespace, spec.argocd.namespace, *further}),
        kinds=_KINDS,
        cluster_kinds=_cluster_kinds(spec.hub_namespace),
    )
    if any(directory.startswith(WORKS) for directory in directories):
        # Every cluster has a namespace of its name, and clusters join without the project being applied
        # again.
        yield _project(
            repository,
            works_project(repository),
            "What gitops-dsf renders for each cluster, into the cluster's namespace.",
            namespaces=[
                "*",
                *(
                    f"!{name}"
                    for name in sorted({spec.hub_namespace, spec.argocd.namespace, *NAMESPACES_OF_OTHERS})
                ),
            ],
            kinds=_WORK_KINDS,
            cluster_kinds=[],
        )
    for directory in directories:
        yield _application(repository, directory)


def works_project(repository: FleetRepository) -> str:
    """The AppProject of the works directories."""
    return f"{repository.spec.argocd.project}-works"


def rendered_kinds() -> frozenset[tuple[str, str]]:
    """(group, kind) of what may be rendered outside of rendered/argocd, except copied documents."""
    cluster_scoped = ((item["group"], item["kind"]) for item in _cluster_kinds(""))
    return frozenset((*_KINDS, *_WORK_KINDS, *cluster_scoped))


def _cluster_kinds(hub_namespace: str) -> list[Object]:
    """Cluster-scoped objects by name, the same for all settings."""
    addon, admission, rbac = (
        "addon.open-cluster-management.io",
        "admissionregistration.k8s.io",
        "rbac.authorization.k8s.io",
    )
    allowed = [
        ("", "Namespace", hub_namespace),
        (addon, "AddOnTemplate", f"{ADDON_NAME}-*"),
        (addon, "ClusterManagementAddOn", ADDON_NAME),
        (admission, "ValidatingAdmissionPolicy", f"{NAME}-*"),
        (admission, "ValidatingAdmissionPolicyBinding", f"{NAME}-*"),
        (admission, "ValidatingAdmissionPolicy", AGENT_POLICY),
        (admission, "ValidatingAdmissionPolicyBinding", AGENT_POLICY),
        (admission, "ValidatingAdmissionPolicy", f"{HUB_SCORER}-*"),
        (admission, "ValidatingAdmissionPolicyBinding", f"{HUB_SCORER}-*"),
        *(("apiextensions.k8s.io", "CustomResourceDefinition", crd["metadata"]["name"]) for crd in crds()),
        (rbac, "ClusterRole", HUB_ROLE),
        (rbac, "ClusterRole", RECONCILER_ROLE),
        (rbac, "ClusterRoleBinding", RECONCILER_ROLE),
    ]
    return [{"group": group, "kind": kind, "name": name} for group, kind, name in allowed]


def _project(
    repository: FleetRepository,
    name: str,
    description: str,
    *,
    namespaces: list[str],
    kinds: Iterable[tuple[str, str]],
    cluster_kinds: list[Object],
) -> Object:
    spec = repository.spec
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "AppProject",
        "metadata": metadata(name=name, namespace=spec.argocd.namespace),
        "spec": {
            "description": description,
            "sourceRepos": [spec.git.url],
            "destinations": [
                {"server": spec.argocd.destination_server, "namespace": namespace} for namespace in namespaces
            ],
            "clusterResourceWhitelist": cluster_kinds,
            "namespaceResourceWhitelist": [{"group": group, "kind": kind} for group, kind in kinds],
        },
    }


def _application(repository: FleetRepository, directory: str) -> Object:
    spec = repository.spec
    is_works = directory.startswith(WORKS)
    [application] = filled(
        "application.yaml",
        directory=directory,
        namespace=spec.argocd.namespace,
        project=works_project(repository) if is_works else spec.argocd.project,
        url=spec.git.url,
        branch=spec.git.target_revision if spec.output.mode == "Directory" else spec.output.branch,
        path=posixpath.join(spec.git.path, RENDERED, directory).lstrip("/"),
        server=spec.argocd.destination_server,
        hub_namespace=None if is_works else spec.hub_namespace,
        ignored=_ignored(directory),
    )
    return application


def _ignored(directory: str) -> list[Object]:
    """Fields that a controller writes on objects that we apply."""
    if directory == "delivery":
        # The reconciler asks the ApplicationSet controller to refresh after a decision changed.
        pointer = f"/metadata/annotations/{REFRESH_ANNOTATION.replace('/', '~1')}"
        return [{"group": "argoproj.io", "kind": "ApplicationSet", "jsonPointers": [pointer]}]
    return []
