"""The kinds of objects that `uninstall` finds on a hub."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from dsf_wire.constants import SCORE_GROUP
from gitops_dsf.hub.names import OCM_GROUP
from gitops_dsf.hub.resources import KUEUE_GROUP
from gitops_dsf.installation.hub import Manifest, object_text
from gitops_dsf.wording import names_text


class GroupKind(NamedTuple):
    """A kind of objects, without its version."""

    group: str
    kind: str


APPLICATION: Final = GroupKind("argoproj.io", "Application")
APPLICATION_SET: Final = GroupKind("argoproj.io", "ApplicationSet")
PROJECT: Final = GroupKind("argoproj.io", "AppProject")
DEPLOYMENT: Final = GroupKind("apps", "Deployment")
ADDON: Final = GroupKind("addon.open-cluster-management.io", "ManagedClusterAddOn")
WORK: Final = GroupKind("work.open-cluster-management.io", "ManifestWork")
LEASE: Final = GroupKind("coordination.k8s.io", "Lease")
CONFIGMAP: Final = GroupKind("", "ConfigMap")
SCORE: Final = GroupKind(SCORE_GROUP, "AddOnPlacementScore")
CLUSTER: Final = GroupKind(OCM_GROUP, "ManagedCluster")
MULTIKUEUE_CONFIG: Final = GroupKind(KUEUE_GROUP, "MultiKueueConfig")
DEFINITION: Final = GroupKind("apiextensions.k8s.io", "CustomResourceDefinition")


def names_of(kind: GroupKind, manifests: Iterable[Manifest]) -> str:
    return names_text([object_text(kind.kind, manifest) for manifest in manifests])
