"""Everything in rendered/reconciler."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from gitops_dsf.canonicalyaml import emit
from gitops_dsf.render.admission import reconciler_policies
from gitops_dsf.render.monitoring import monitoring
from gitops_dsf.render.objects import Object, filled, pod_values
from gitops_dsf.render.reconciler.maintenance import maintenance as maintenance_for_the_hub
from gitops_dsf.render.reconciler.rights import rights
from gitops_dsf.repository.model.maintenance import Maintenance
from gitops_dsf.repository.model.repository import FleetRepository

CREDENTIALS_DIR: Final = "/etc/gitops-dsf/git"
SECRETS_DIR: Final = "/etc/gitops-dsf/credentials"
CONFIG_DIR: Final = "/etc/gitops-dsf/config"
SETTINGS: Final = frozenset({"probe", "suspend", "proposals", "state", "journal"})
"""The fields of spec.reconciler that say what it does; the others say what its pods are like."""
WORK_DIR: Final = "/tmp/gitops-dsf"  # noqa: S108 - in an emptyDir of the pod's own


def reconciler(
    repository: FleetRepository,
    *,
    placement_namespaces: Sequence[str] = (),
    maintenance: Iterable[Maintenance] = (),
) -> Iterator[Object]:
    """`placement_namespaces` are those of ScoredPlacements outside of the Argo CD namespace.

    Disabled, the account alone is left, without rights: Argo CD never prunes a directory to nothing by
    itself, so the last objects of an empty one would stay, and the Deployment with them.
    """
    yield from filled("reconciler-account.yaml", namespace=repository.spec.hub_namespace)
    if not repository.spec.reconciler.enabled:
        return
    yield from reconciler_policies(repository.spec.hub_namespace)
    yield from rights(repository)
    yield from monitoring(repository)
    yield maintenance_for_the_hub(maintenance, repository)
    yield from workload(repository, placement_namespaces=placement_namespaces)


def workload(repository: FleetRepository, *, placement_namespaces: Sequence[str]) -> Iterator[Object]:
    """ConfigMap, Deployment, PodDisruptionBudget, NetworkPolicy and Service."""
    namespace, settings = repository.spec.hub_namespace, repository.spec.reconciler
    config = configuration(repository)
    args = [
        *([f"--work-dir={WORK_DIR}"] if settings.uses_git else []),
        *(f"--placement-namespace={name}" for name in placement_namespaces if settings.state.enabled),
    ]
    mounts: list[Object] = []
    volumes: list[Object] = []
    if settings.git_secret is not None and settings.uses_git:
        args.append(f"--git-credentials={CREDENTIALS_DIR}")
        mounts.append({"name": "git", "mountPath": CREDENTIALS_DIR, "readOnly": True})
        # Optional: without its credentials the reconciler still reports, and its log says what is missing.
        volumes.append({"name": "git", "secret": {"secretName": settings.git_secret.name, "optional": True}})
    if settings.config_credentials:
        args.append(f"--credentials={SECRETS_DIR}")
    for index, name in enumerate(settings.config_credentials):
        # Volumes of their own: a projected one would have to list the keys to give each Secret a folder.
        mounts.append(
            {"name": f"credentials-{index}", "mountPath": f"{SECRETS_DIR}/{name}", "readOnly": True}
        )
        volumes.append({"name": f"credentials-{index}", "secret": {"secretName": name, "optional": True}})
    yield from filled(
        "reconciler.yaml",
        namespace=namespace,
        config=config,
        config_digest=hashlib.sha256(config.encode()).hexdigest()[:16],
        replicas=settings.replicas,
        more_args=args,
        more_mounts=mounts,
        more_volumes=volumes,
        **pod_values(settings, image=settings.image),
    )


def configuration(repository: FleetRepository) -> str:
    """The FleetRepository without what only concerns rendering and defaults, so that a diff shows what was
    decided. gitops_dsf/reconciler/settings.py reads it.
    """
    said = repository.model_dump(exclude_defaults=True)["spec"]
    kept = {name: said[name] for name in ("git", "hubNamespace", "output", "pace") if name in said}
    if repository.spec.reconciler.config_credentials and "allowedTokenHosts" in said:
        kept["allowedTokenHosts"] = said["allowedTokenHosts"]
    if namespace := said.get("argocd", {}).get("namespace"):
        kept["argocd"] = {"namespace": namespace}
    settings = {name: value for name, value in said.get("reconciler", {}).items() if name in SETTINGS}
    if settings:
        kept["reconciler"] = settings
    return emit(
        {
            "apiVersion": repository.api_version,
            "kind": repository.kind,
            "metadata": {"name": repository.metadata.name},
            "spec": kept,
        }
    )
