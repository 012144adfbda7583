"""ScoredApplication: run this there, where the score is best."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from gitops_dsf.hub.urls import misleads_git
from gitops_dsf.repository.model.base import PRODUCT_API, Authored, DnsLabel, LabelSelector, Metadata

Weight = Annotated[int, Field(ge=-10, le=10)]


class ApplicationSource(Authored):
    """Where the manifests of the application are; further fields are Argo CD's own (helm, kustomize,
    directory, plugin, ref, chart).
    """

    repo_url: Annotated[str, Field(alias="repoURL", min_length=1)]
    """Git or Helm repository."""
    path: str | None = None
    """Folder inside the repository."""
    target_revision: str | None = None
    """Branch, tag or commit; version range for charts."""
    chart: str | None = None
    """Helm chart, in place of path."""
    ref: str | None = None
    """Name by which other sources refer to this one."""
    helm: dict[str, Any] | None = None
    """Argo CD's helm options."""
    kustomize: dict[str, Any] | None = None
    """Argo CD's kustomize options."""
    directory: dict[str, Any] | None = None
    """Argo CD's directory options."""
    plugin: dict[str, Any] | None = None
    """Argo CD's config management plugin options."""

    @field_validator("repo_url")
    @classmethod
    def _is_a_url(cls, url: str) -> str:
        if misleads_git(url):
            msg = (
                f"{url} would start a program or be taken for an option by git: write"
                " https://host/owner/repository.git or git@host:owner/repository.git"
            )
            raise ValueError(msg)
        return url


class Application(Authored):
    """What runs."""

    source: ApplicationSource | None = None
    """The one source."""
    sources: list[ApplicationSource] = []
    """Several sources, in place of source."""
    project: DnsLabel = "default"
    """AppProject of the generated Applications."""
    destination_namespace: DnsLabel
    """Namespace on the chosen cluster."""
    sync_policy: dict[str, Any] | None = None
    """Argo CD's syncPolicy; automated with prune and self-heal when absent."""
    delivery: Literal["Push", "Pull"] = "Push"
    """Push: the hub's Argo CD applies to the cluster. Pull: OCM's pull integration hands the Application to
    the cluster's Argo CD.
    """

    @model_validator(mode="after")
    def _source_or_sources(self) -> Self:
        if (self.source is None) == (not self.sources):
            msg = (
                "an application has one source or a list of sources: write exactly one of source and sources"
            )
            raise ValueError(msg)
        return self


class Toleration(Authored):
    """A taint of clusters that this application puts up with."""

    key: str | None = None
    """Taint key; with operator Exists it may be left out to tolerate every taint."""
    operator: Literal["Equal", "Exists"] = "Equal"
    """How the value is compared."""
    value: str | None = None
    """Taint value for Equal."""
    effect: Literal["NoSelect", "PreferNoSelect", "NoSelectIfNew"] | None = None
    """Taint effect; every effect when absent."""
    toleration_seconds: int | None = None
    """Seconds after which the toleration ends."""

    @model_validator(mode="after")
    def _as_ocm_reads_it(self) -> Self:
        if not self.key and self.operator != "Exists":
            msg = (
                "a toleration without key needs operator: Exists (OCM treats it as misconfigured and evicts"
                " everything)"
            )
            raise ValueError(msg)
        if self.operator == "Exists" and self.value:
            msg = "operator Exists takes no value (OCM treats it as misconfigured and evicts everything)"
            raise ValueError(msg)
        return self


class DecisionGroup(Authored):
    """A named part of the decision, chosen by labels."""

    group_name: Annotated[str, Field(min_length=2, max_length=63)]
    """Name of the group."""
    cluster_selector: LabelSelector
    """Clusters of the group."""


class DecisionGroups(Authored):
    """How the chosen clusters are cut into groups."""

    groups: list[DecisionGroup] = []
    """Named groups, in order."""
    clusters_per_decision_group: (
        Annotated[int, Field(ge=1)] | Annotated[str, Field(pattern=r"^([1-9][0-9]?|100)%$")]
    ) = "100%"
    """A number, or a percentage such as 25%."""


class PlacementRules(Authored):
    """Which clusters may run it, and on how many it runs."""

    number_of_clusters: Annotated[int, Field(ge=1)] | None = None
    """Number of clusters; absent means every eligible one."""
    cluster_sets: list[DnsLabel] = ["global"]
    """ManagedClusterSets to choose from; a binding for each is rendered."""
    cluster_selector: LabelSelector | None = None
    """Labels that a cluster must have."""
    tolerations: list[Toleration] = []
    """Taints that are put up with; unreachable clusters are tainted by OCM."""
    decision_groups: DecisionGroups | None = None
    """How the chosen clusters are cut into groups."""


class Score(Authored):
    """A scorer that ranks the clusters."""

    scorer: Annotated[str, Field(min_length=1)]
    """metadata.name of a DynamicScorer of this repository."""
    dimension: Annotated[str, Field(min_length=1)] | None = None
    """Score item; by default the only one that the scorer's format can yield."""
    weight: Weight = 1
    """Relative weight; negative when a lower score is better."""


class Moves(Authored):
    """How the application moves when the decision changes."""

    strategy: Literal["MakeBeforeBreak", "Keep", "Replace"] = "MakeBeforeBreak"
    """MakeBeforeBreak: the new copy comes first; the reconciler deletes the old one once that is healthy.
    Keep: it stays. Replace: delete and create in one pass.
    """
    timeout_seconds: Annotated[int, Field(ge=60, le=86_400)] = 1800
    """Seconds that MakeBeforeBreak gives the new copy to become Healthy and Synced; after that the old copy
    goes once the new one is no less healthy than it is.
    """
    refresh_seconds: Annotated[int, Field(ge=5, le=3600)] = 60
    """Seconds between two looks of the ApplicationSet controller at the decision."""


class ScoredApplicationSpec(Authored):
    """Run this there, where the score is best."""

    application: Application
    """What runs."""
    placement: PlacementRules = PlacementRules()
    """Which clusters may run it, and on how many it runs."""
    scores: Annotated[list[Score], Field(min_length=1)]
    """Which scorers rank the clusters."""
    stickiness: Annotated[int, Field(ge=0, le=1000)] = 20
    """Score points that a better cluster must gain before the application moves."""
    on_missing_score: Literal["Neutral", "Exclude"] = "Neutral"
    """What a cluster without the score counts as: 0, or not eligible."""
    moves: Moves = Moves()
    """How the application moves when the decision changes."""


class ScoredApplication(Authored):
    """An application that follows scores."""

    api_version: Literal["gitops-dsf.io/v1alpha1"] = PRODUCT_API
    kind: Literal["ScoredApplication"] = "ScoredApplication"
    metadata: Metadata
    spec: ScoredApplicationSpec
