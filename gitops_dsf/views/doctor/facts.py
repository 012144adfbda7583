"""The input of the checks, a hub's objects at one moment, and what they say of it: findings."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any, Final

from msgspec import Struct
from packaging.version import InvalidVersion, Version

from dsf_wire.constants import AGENT_NAMESPACE
from gitops_dsf.hub.resources import Unread
from gitops_dsf.views.status.build import Overview
from gitops_dsf.views.status.inputs import Inputs, Part

Object = Mapping[str, Any]


class Source(StrEnum):
    """What is read for the checks in addition to the parts of the status view (Part)."""

    CLUSTER_MANAGERS = "ClusterManagers"
    OCM_DEPLOYMENTS = "Deployments in open-cluster-management-hub"
    ADDON_DEFINITIONS = "ClusterManagementAddOns"
    ADDON_STATES = "our ManagedClusterAddOns"
    ARGOCD_DEPLOYMENTS = "Deployments in the Argo CD namespace"
    ARGOCD_STATEFULSETS = "StatefulSets in the Argo CD namespace"
    ARGOCD_SETTINGS = "ConfigMap argocd-cm"
    ARGOCD_PARAMETERS = "ConfigMap argocd-cmd-params-cm"
    DELIVERY = "Applications of the rendered tree"
    CLUSTER_SECRETS = "metadata of Argo CD's cluster Secrets"
    UPSTREAM_DEPLOYMENTS = "Deployments of the upstream addon"
    UPSTREAM_WORKS = "ManifestWorks of the upstream addon"
    OUR_WORKS = "ManifestWorks gitops-dsf-config"
    SCORING_CONFIGS = "DynamicScoringConfigs"
    LEASES = "Lease gitops-dsf-reconciler"
    RECONCILER_PODS = "pods of the reconciler"


Need = Source | Part
OPTIONAL: Final = frozenset({Source.CLUSTER_SECRETS, Source.RECONCILER_PODS})
"""Sources without which a check says less. Not everybody may see Secrets and pods."""


@dataclass(frozen=True, kw_only=True)
class Facts:
    kubectl: tuple[str, ...]
    """The words that a kubectl command for this hub starts with."""
    hub_namespace: str
    argocd_namespace: str
    groups: Mapping[str, tuple[str, ...]]
    clock_offset: float | None
    """Seconds by which the hub's clock is ahead of this machine's; None if it is not known."""
    inputs: Inputs
    overview: Overview
    sources: Mapping[Source, tuple[Object, ...] | Unread]

    def of(self, source: Source) -> tuple[Object, ...]:
        """The objects of a source; none if it was not read, which a check must declare in `needs`."""
        found = self.sources[source]
        return () if isinstance(found, Unread) else found

    def one(self, source: Source) -> Object | None:
        """The object of a source that has at most one."""
        return next(iter(self.of(source)), None)

    def missing(self, need: Need) -> Unread | None:
        """Why something was not read; None if it was."""
        found = self.inputs.unread.get(need) if isinstance(need, Part) else self.sources[need]
        return found if isinstance(found, Unread) else None

    @property
    def refused(self) -> bool:
        """Whether the hub refused to show something that a check needs. Some sources need not be shown."""
        missing = (self.missing(need) for need in (*Part, *Source) if need not in OPTIONAL)
        return any(item is not None and item.refused for item in missing)

    @property
    def install(self) -> str:
        return shlex.join(("gitops-dsf", "install", *self.kubectl[1:]))

    def command(self, *words: str) -> str:
        """A kubectl command for this hub, quoted for a shell."""
        return shlex.join((*self.kubectl, *words))

    def in_argocd(self, *words: str) -> str:
        return self.command("-n", self.argocd_namespace, *words)

    def on_hub(self, *words: str) -> str:
        """A kubectl command for the namespace of the reconciler and the scorers."""
        return self.command("-n", self.hub_namespace, *words)

    def clusteradm(self, *words: str) -> str:
        """A clusteradm command for this hub, which accepts kubectl's flags."""
        return shlex.join(("clusteradm", *self.kubectl[1:], *words))


def on_cluster(cluster: str, command: str, *, namespace: str = AGENT_NAMESPACE) -> str:
    """A kubectl command for a cluster itself, whose context is named as the cluster."""
    return f"kubectl --context {cluster} -n {namespace} {command}  # on the cluster itself"


def name_of(item: Object) -> str:
    return str(item["metadata"]["name"])


def namespace_of(item: Object) -> str:
    return str(item["metadata"].get("namespace") or "")


def condition(item: Object, kind: str) -> Mapping[str, Any] | None:
    found = (item.get("status") or {}).get("conditions") or ()
    return next((each for each in found if each.get("type") == kind), None)


def containers_of(workload: Object) -> Sequence[Object]:
    pod = ((workload.get("spec") or {}).get("template") or {}).get("spec") or {}
    return pod.get("containers") or ()


def images_of(workload: Object) -> dict[str, str]:
    """The images of a workload, without tag and digest, with their tags."""
    found = {}
    for container in containers_of(workload):
        name = str(container.get("image") or "").partition("@")[0]
        registry, slash, last = name.rpartition("/")
        repository, _, tag = last.partition(":")
        found[f"{registry}{slash}{repository}"] = tag
    return found


VERSION_LABEL: Final = "app.kubernetes.io/version"


def version_of(workload: Object) -> Version | None:
    """The oldest version of a workload: from its images, or its label if these have digests."""
    label = str((workload["metadata"].get("labels") or {}).get(VERSION_LABEL, ""))
    found = [version for tag in images_of(workload).values() if (version := _read(tag)) is not None]
    return min(found, default=None) or _read(label)


def versions_of(workloads: Iterable[Object]) -> dict[str, Version]:
    """The versions of workloads that tell one, by name."""
    found = {name_of(item): version_of(item) for item in workloads}
    return {name: version for name, version in found.items() if version is not None}


def _read(text: str) -> Version | None:
    for part in (text, text.partition("-")[0]):
        try:
            return Version(part)
        except InvalidVersion:
            continue
    return None


RIGHTS: Final = (
    "ask an administrator of the hub for the rights of the ClusterRole gitops-dsf-doctor"
)


class State(StrEnum):
    """The severity of a finding."""

    OK = "ok"
    WARNING = "warning"
    """Everything works, but something should be changed."""
    ERROR = "error"
    """Scores, decisions or applications do not work, or will be lost."""
    UNKNOWN = "unknown"
    """It could not be checked: a permission is missing, or the hub does not show it."""


WORST_FIRST: Final = (State.ERROR, State.WARNING, State.UNKNOWN, State.OK)


class Finding(Struct, frozen=True, kw_only=True):
    """One line of the report."""

    check: str
    state: State
    message: str
    fix: str | None
    """A command that fixes it, or what to edit in git; None if there is nothing to do."""
    count: int = 1
    subjects: tuple[str, ...] = ()
    """The clusters that it is about, if they were checked one by one."""


class DoctorHub(Struct, rename="camel"):
    origin: str
    now: str
    clock_offset_seconds: float | None


class DoctorOutput(Struct):
    """The output of `doctor`."""

    hub: DoctorHub
    findings: tuple[Finding, ...]
    summary: dict[str, int]


def _result(state: State, message: str, fix: str = "", *, subject: str = "") -> Finding:
    """One result of a check, which does not know its ID. `subject` is the cluster that it is about."""
    subjects = (subject,) if subject else ()
    return Finding(check="", state=state, message=message, fix=fix or None, subjects=subjects)


ok, unknown = partial(_result, State.OK), partial(_result, State.UNKNOWN)
warning, error = partial(_result, State.WARNING), partial(_result, State.ERROR)
