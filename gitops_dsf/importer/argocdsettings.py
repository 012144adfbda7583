"""Writes the Argo CD that a hub has into gitops-dsf.yaml.

A setting that names an Argo CD that is on the hub stays as people wrote it, and so do
decisionReaders that people wrote.
"""

from collections.abc import Iterator

from gitops_dsf.hub.argocdplace import ACM_DUCK_TYPE, ArgoCdPlace
from gitops_dsf.hub.names import ARGOCD_NAMESPACE
from gitops_dsf.importer.settings import AdaptedSettings, SettingsFile
from gitops_dsf.repository.model.foreign import DUCK_TYPE_CONFIGMAP
from gitops_dsf.repository.model.repository import DECISION_READERS


def adapt_argocd(file: SettingsFile, argocd: ArgoCdPlace) -> AdaptedSettings:
    """Writes the namespace and the accounts of an Argo CD into the settings."""
    section = file.section("argocd")
    if section is None:
        return AdaptedSettings()
    wanted = dict(section)
    changed: list[str] = []
    if section.get("namespace", ARGOCD_NAMESPACE) != argocd.namespace:
        wanted["namespace"] = argocd.namespace
        changed.append(
            f"spec.argocd.namespace: {argocd.namespace}, because Deployment {argocd.controller} is"
            " there"
        )
    # Without both accounts the default is the better guess.
    is_written = "decisionReaders" in section
    if not is_written and len(argocd.accounts) > 1 and argocd.accounts != DECISION_READERS:
        wanted["decisionReaders"] = list(argocd.accounts)
        changed.append(
            f"spec.argocd.decisionReaders: {', '.join(argocd.accounts)}, the ServiceAccounts of the"
            " ApplicationSet controller and of the server there"
        )
    if changed:
        file.replace_section("argocd", wanted)
    return AdaptedSettings(changed=tuple(changed), notes=tuple(_notes(argocd)))


def _notes(argocd: ArgoCdPlace) -> Iterator[str]:
    """The other parts of Argo CD on the hub, and their owners."""
    for importer in argocd.importers:
        yield (
            f"GitOpsCluster {importer.namespace}/{importer.name} imports the clusters that its"
            f" Placement {importer.placement} chooses into Argo CD: applications can go to these"
        )
    if argocd.has_acm_duck_type:
        yield (
            f"ConfigMap {argocd.namespace}/{ACM_DUCK_TYPE} stays its owner's: ApplicationSets that"
            f" are rendered name {DUCK_TYPE_CONFIGMAP}, which is rendered, too"
        )
    for unread in argocd.unread:
        yield str(unread)
