"""rendered/argocd: the AppProject and the Applications that apply the other directories. Applied once, by hand or by a root Application.

An explicit list and no git generator, which deletes everything when it finds nothing
(docs/contributing/argocd-behaviour.md#generators-that-find-nothing). Each directory is one Application, because Argo CD limits the
size of one (docs/contributing/argocd-behaviour.md#limits-of-an-application).
"""

import posixpath
from collections.abc import Iterator

from gitops_dsf.hub.names import REFRESH_ANNOTATION
from gitops_dsf.render.objects import Object, metadata
from gitops_dsf.repository.model.repository import FleetRepository

RENDERED = "rendered"


def bootstrap(repository: FleetRepository, directories: list[str]) -> Iterator[Object]:
    """The AppProject, then one Application per rendered directory, in the order given."""
    spec = repository.spec
    yield {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "AppProject",
        "metadata": metadata(name=spec.argocd.project, namespace=spec.argocd.namespace),
        "spec": {
            "description": "What gitops-dsf renders from its fleet repository.",
            "sourceRepos": [spec.git.url],
            # ManifestWorks and ManagedClusterAddOns live in one namespace per cluster.
            "destinations": [{"server": spec.argocd.destination_server, "namespace": "*"}],
            # The same whatever is switched on: the project is applied by hand.
            "clusterResourceWhitelist": [
                {"group": "", "kind": "Namespace"},
                {"group": "addon.open-cluster-management.io", "kind": "AddOnTemplate"},
                {"group": "addon.open-cluster-management.io", "kind": "ClusterManagementAddOn"},
                {"group": "admissionregistration.k8s.io", "kind": "ValidatingAdmissionPolicy"},
                {"group": "admissionregistration.k8s.io", "kind": "ValidatingAdmissionPolicyBinding"},
                {"group": "apiextensions.k8s.io", "kind": "CustomResourceDefinition"},
                {"group": "rbac.authorization.k8s.io", "kind": "ClusterRole"},
                {"group": "rbac.authorization.k8s.io", "kind": "ClusterRoleBinding"},
            ],
        },
    }
    for directory in directories:
        yield _application(repository, directory)


def _application(repository: FleetRepository, directory: str) -> Object:
    spec = repository.spec
    branch = spec.git.target_revision if spec.output.mode == "Directory" else spec.output.branch
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": metadata(
            name=f"gitops-dsf-{directory}",
            namespace=spec.argocd.namespace,
            annotations={
                # OCM's kinds have many defaults, which a three-way diff would show for ever.
                "argocd.argoproj.io/compare-options": "ServerSideDiff=true",
                "argocd.argoproj.io/manifest-generate-paths": ".",
            },
        ),
        "spec": {
            "project": spec.argocd.project,
            "source": {
                "repoURL": spec.git.url,
                "targetRevision": branch,
                "path": posixpath.join(spec.git.path, RENDERED, directory).lstrip("/"),
            },
            "destination": {"server": spec.argocd.destination_server, "namespace": spec.hub_namespace},
            "ignoreDifferences": _ignored(directory),
            "revisionHistoryLimit": 3,
            "syncPolicy": {
                "automated": {"prune": True, "selfHeal": True, "allowEmpty": False},
                "syncOptions": [
                    "ServerSideApply=true",
                    "ApplyOutOfSyncOnly=true",
                    "RespectIgnoreDifferences=true",
                    "FailOnSharedResource=true",
                    "PruneLast=true",
                ],
                # A sync that waits for OCM must not give up: a failed one is never retried for the same commit.
                "retry": {"limit": -1, "refresh": True, "backoff": {"duration": "5s", "factor": 2, "maxDuration": "3m"}},
            },
        },
    }


def _ignored(directory: str) -> list[Object]:
    """Fields that a controller writes on objects that we apply."""
    if directory == "delivery":
        # The reconciler asks the ApplicationSet controller for a look at a moved decision.
        pointer = f"/metadata/annotations/{REFRESH_ANNOTATION.replace('/', '~1')}"
        return [{"group": "argoproj.io", "kind": "ApplicationSet", "jsonPointers": [pointer]}]
    return []
