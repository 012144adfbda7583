"""rendered/argocd: the AppProjects, and the Applications that apply the other directories.

People or a root Application apply it once.

The Applications are an explicit list. A git generator deletes everything when it finds nothing
(docs/contributing/behaviour.md#generators-that-find-nothing). Each directory is one Application,
because Argo CD limits the size of one (docs/contributing/behaviour.md#limits-of-an-application).

The projects allow only what is rendered, so a file that somebody adds to a directory by hand is
refused. There are two: works are in one namespace per cluster, and everything else is in a few
known namespaces (docs/contributing/behaviour.md#what-a-project-allows). A ValidatingAdmissionPolicy
lets no other Application into them.
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


def bootstrap(
    repository: FleetRepository, directories: list[str], *, further: Iterable[str] = ()
) -> Iterator[Object]:
    """The AppProjects, the policy over their Applications, then one Application per directory.

    The Applications are in the given order.

    The Applications are in the given order.

    `further` are the namespaces of Placements and of copied documents.
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
    return frozenset(
        (item["group"], item["kind"])
        for project in filled("projects.yaml", crds=_crds(), **blank)
        for scope in ("clusterResourceWhitelist", "namespaceResourceWhitelist")
        for item in project["spec"][scope]
    )


def _projects(repository: FleetRepository, further: Iterable[str]) -> list[Object]:
    """The AppProject of everything but the works, and that of the works."""
    spec = repository.spec
    ours = {spec.hub_namespace, spec.argocd.namespace}
    return filled(
        "projects.yaml",
        project=spec.argocd.project,
        works_project=spec.argocd.works_project,
        namespace=spec.argocd.namespace,
        url=spec.git.url,
        hub_namespace=spec.hub_namespace,
        destinations=_destinations(repository, sorted({*ours, *further})),
        works_destinations=_destinations(
            repository, ["*", *(f"!{glob}" for glob in spec.platform.globs)]
        ),
        crds=_crds(),
    )


def _crds() -> list[Object]:
    return [
        {"group": "apiextensions.k8s.io", "kind": crd["kind"], "name": crd["metadata"]["name"]}
        for crd in crds()
    ]


def _destinations(repository: FleetRepository, namespaces: Iterable[str]) -> list[Object]:
    server = repository.spec.argocd.destination_server
    return [{"server": server, "namespace": namespace} for namespace in namespaces]


def _application(repository: FleetRepository, directory: str) -> Object:
    spec = repository.spec
    is_works = directory.startswith(WORKS)
    [application] = filled(
        "application.yaml",
        directory=directory,
        namespace=spec.argocd.namespace,
        project=spec.argocd.works_project if is_works else spec.argocd.project,
        url=spec.git.url,
        branch=spec.git.target_revision if spec.output.mode == "Directory" else spec.output.branch,
        path=posixpath.join(spec.git.path, RENDERED, directory).lstrip("/"),
        server=spec.argocd.destination_server,
        hub_namespace=None if is_works else spec.hub_namespace,
        ignored=[_REFRESHED] if directory == "delivery" else [],
    )
    return application


_REFRESHED = {
    "group": "argoproj.io",
    "kind": "ApplicationSet",
    "jsonPointers": [f"/metadata/annotations/{REFRESH_ANNOTATION.replace('/', '~1')}"],
}
"""The reconciler asks the ApplicationSet controller to refresh after a decision changed."""
