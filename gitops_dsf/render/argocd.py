"""The directory rendered/argocd: AppProjects, and Applications that apply the other directories.

People or a root Application apply it once.

The Applications are an explicit list. A git generator deletes everything when it finds nothing
(docs/contributing/behaviour.md#generators-that-find-nothing). Each directory is one Application,
because Argo CD limits the size of one (docs/contributing/behaviour.md#limits-of-an-application).

The projects allow only rendered objects, so a file that is added to a directory by hand is refused.
There are two: works are in one namespace per cluster, and everything else is in a few known
namespaces (docs/contributing/behaviour.md#what-a-project-allows). A ValidatingAdmissionPolicy lets
no other Application into them.
"""

import posixpath
from collections.abc import Iterable, Iterator

from gitops_dsf.hub.names import REFRESH_ANNOTATION
from gitops_dsf.render.admission import application_policy
from gitops_dsf.render.objects import Object, filled
from gitops_dsf.render.works import WORKS
from gitops_dsf.repository.model.repository import FleetRepository
from gitops_dsf.schema.crd import crds

RENDERED = "rendered"
BOOTSTRAP = "argocd"
"""The directory that people apply."""

# The reconciler sets the annotation when a decision changed, so that the ApplicationSet controller
# looks at once. Without this, Argo CD would take it back as a difference.
_REFRESHED = {
    "group": "argoproj.io",
    "kind": "ApplicationSet",
    "jsonPointers": [f"/metadata/annotations/{REFRESH_ANNOTATION.replace('/', '~1')}"],
}


def bootstrap(
    repository: FleetRepository, directories: list[str], *, further: Iterable[str] = ()
) -> Iterator[Object]:
    """The AppProjects, the policy over their Applications, then one Application per directory.

    The Applications are in the order of `directories`. `further` are the namespaces of Placements
    and of copied documents.
    """
    project, works = _projects(repository, further)
    yield project
    if any(directory.startswith(WORKS) for directory in directories):
        yield works
    applications = [_application(repository, directory) for directory in directories]
    yield from application_policy(repository.spec.argocd, applications)
    yield from applications


def rendered_kinds() -> frozenset[tuple[str, str]]:
    """(group, kind) of what may be rendered outside of rendered/argocd, except copied documents."""
    names = ("project", "works_project", "namespace", "url", "hub_namespace")
    blank = dict.fromkeys((*names, "destinations", "works_destinations"), "")
    kinds: set[tuple[str, str]] = set()
    # The projects allow nothing that is not rendered, so their lists are these kinds.
    for project in filled("projects.yaml", crds=_crds(), **blank):
        for scope in ("clusterResourceWhitelist", "namespaceResourceWhitelist"):
            for allowed in project["spec"][scope]:
                kinds.add((allowed["group"], allowed["kind"]))
    return frozenset(kinds)


def _projects(repository: FleetRepository, further: Iterable[str]) -> list[Object]:
    """The AppProject of everything but the works, and that of the works."""
    spec = repository.spec
    namespaces = {spec.hub_namespace, spec.argocd.namespace, *further}
    # Each cluster has a namespace of its name, so works may go anywhere but to the platform's
    # namespaces.
    works_namespaces = ["*", *(f"!{glob}" for glob in spec.platform.globs)]
    return filled(
        "projects.yaml",
        project=spec.argocd.project,
        works_project=spec.argocd.works_project,
        namespace=spec.argocd.namespace,
        url=spec.git.url,
        hub_namespace=spec.hub_namespace,
        destinations=_destinations(repository, sorted(namespaces)),
        works_destinations=_destinations(repository, works_namespaces),
        # If another program owns the CRDs, Argo CD takes none from a directory, and prunes none
        # that an earlier render left: objects that a project does not allow are not compared.
        crds=_crds() if spec.renders_crds else [],
    )


def _crds() -> list[Object]:
    """The CRDs by name: the project allows no others."""
    group = "apiextensions.k8s.io"
    return [
        {"group": group, "kind": crd["kind"], "name": crd["metadata"]["name"]} for crd in crds()
    ]


def _destinations(repository: FleetRepository, namespaces: Iterable[str]) -> list[Object]:
    server = repository.spec.argocd.destination_server
    return [{"server": server, "namespace": namespace} for namespace in namespaces]


def _application(repository: FleetRepository, directory: str) -> Object:
    spec = repository.spec
    project = spec.argocd.project
    hub_namespace: str | None = spec.hub_namespace
    if directory.startswith(WORKS):
        # The works project allows no single namespace that could stand for all of them.
        project = spec.argocd.works_project
        hub_namespace = None
    branch = spec.output.branch
    if spec.output.mode == "Directory":
        branch = spec.git.target_revision
    ignored: list[Object] = []
    if directory == "delivery":
        ignored.append(_REFRESHED)
    [application] = filled(
        "application.yaml",
        directory=directory,
        namespace=spec.argocd.namespace,
        project=project,
        url=spec.git.url,
        branch=branch,
        path=posixpath.join(spec.git.path, RENDERED, directory).lstrip("/"),
        server=spec.argocd.destination_server,
        hub_namespace=hub_namespace,
        ignored=ignored,
    )
    return application
