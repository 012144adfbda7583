"""Objects that `uninstall` leaves on a hub, and the commands that delete them.

Others may use these objects, so people decide about them.
"""

from collections.abc import Iterator, Sequence

from dsf_wire.constants import AGENT_MANAGER, AGENT_NAMESPACE, GENERATOR_MANAGER, MANAGED_BY_LABEL
from gitops_dsf.hub.names import RECONCILER
from gitops_dsf.hub.namespaces import owner_on_every_hub
from gitops_dsf.installation.hub import Manifest, WritableHub
from gitops_dsf.installation.objectkinds import (
    APPLICATION,
    DEFINITION,
    MULTIKUEUE_CONFIG,
    SCORE,
    names_of,
)
from gitops_dsf.schema.crd import crds
from gitops_dsf.wording import names_text, plural


def what_stays(
    hub: WritableHub,
    *,
    hub_namespace: str,
    argocd_namespace: str,
    running: Sequence[Manifest],
    copied: Sequence[str],
) -> Iterator[str]:
    """Everything that stays, why, and the command that deletes it.

    `running` are Applications that ApplicationSets generated, `copied` documents of the repository.
    """
    if running:
        names = names_of(APPLICATION, running)
        delete = hub.command("gitops-dsf", "uninstall", "--delete-applications")
        yield (
            f"{names}: they keep running where they are, and no longer move."
            f" `{delete}` deletes them with their workloads"
        )
    yield from _orders_of_jobs(hub)
    if copied:
        yield f"{names_text(copied)}: copied from your repository, and may be used by others"
    definitions = _definitions(hub)
    if definitions:
        delete = hub.command("kubectl", "delete", "crd", *definitions)
        yield (
            f"CustomResourceDefinition {' and '.join(definitions)}: deleting them deletes"
            f" every object of these kinds, including those of others: {delete}"
        )
    label = f"{MANAGED_BY_LABEL}={AGENT_MANAGER}"
    count = _count_scores(hub, label)
    if count:
        delete = hub.command("kubectl", "delete", "addonplacementscores", "-A", "-l", label)
        yield (
            f"{plural(count, 'AddOnPlacementScore')}: Placements ignore them once they expire."
            f" To delete them: {delete}"
        )
    yield _hub_namespace_stays(hub, hub_namespace, argocd_namespace)
    yield (
        f"Namespace {AGENT_NAMESPACE} on the managed clusters: it holds Secrets that people created"
    )
    yield "the fleet repository and its branches"


def _hub_namespace_stays(hub: WritableHub, name: str, argocd_namespace: str) -> str:
    """The reason why the hub namespace stays: people put Secrets there, or it belongs to others."""
    if name == argocd_namespace or owner_on_every_hub(name) is not None:
        return f"Namespace {name} with its Secrets: others use it, too"
    delete = hub.command("kubectl", "delete", "namespace", name)
    return (
        f"Namespace {name}: it holds Secrets that people created. To delete it with everything"
        f" in it: {delete}"
    )


def _orders_of_jobs(hub: WritableHub) -> Iterator[str]:
    """The MultiKueueConfigs of the reconciler. A job needs the one of its AdmissionCheck."""
    served = hub.kind(MULTIKUEUE_CONFIG.group, kind=MULTIKUEUE_CONFIG.kind)
    if served is None:
        return
    configs = hub.list(served.path(), labels=f"{MANAGED_BY_LABEL}={RECONCILER}")
    if configs:
        names = [str(config["metadata"]["name"]) for config in configs]
        delete = hub.command("kubectl", "delete", "multikueueconfigs", *names)
        yield (
            f"{names_of(MULTIKUEUE_CONFIG, configs)}: jobs go on by the last order. When no"
            f" AdmissionCheck names them any more: {delete}"
        )


def _definitions(hub: WritableHub) -> list[str]:
    """The CustomResourceDefinitions on the hub that are ours.

    Those of another program have the same names, and no label of ours.
    """
    served = hub.kind(DEFINITION.group, kind=DEFINITION.kind)
    if served is None:
        return []
    ours: list[str] = []
    for definition in crds():
        name = definition["metadata"]["name"]
        live = hub.live(served.path(name=name))
        labels = (live or {}).get("metadata", {}).get("labels") or {}
        if labels.get(MANAGED_BY_LABEL) == GENERATOR_MANAGER:
            ours.append(name)
    return ours


def _count_scores(hub: WritableHub, label: str) -> int:
    served = hub.kind(SCORE.group, kind=SCORE.kind)
    return 0 if served is None else len(hub.list(served.path(), labels=label))
