"""ScoredApplication: an application that runs on the clusters with the best scores."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from gitops_dsf.hub.urls import misleads_git
from gitops_dsf.repository.load import Path
from gitops_dsf.repository.model.base import (
    PRODUCT_API,
    Authored,
    DnsLabel,
    DnsName,
    Metadata,
    Rule,
    Ruled,
    given,
    having,
    not_empty_list,
)
from gitops_dsf.repository.model.ranking import PlacementRules, Ranking, Score


class ApplicationSource(Authored):
    """Where the manifests of the application are; further fields are Argo CD's own (helm, kustomize,
    directory, plugin, ref, chart).
    """

    repo_url: Annotated[str, Field(alias="repoURL", min_length=1)]
    """URL of a Git or Helm repository."""
    path: str | None = None
    """Folder inside the repository."""
    target_revision: str | None = None
    """Branch, tag or commit; version range for charts."""
    chart: str | None = None
    """Helm chart, instead of path."""
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
            raise ValueError(
                f"{url} would start a program or be taken for an option by git: write"
                " https://host/owner/repository.git or git@host:owner/repository.git"
            )
        return url


class Application(Ruled):
    """Where the manifests are, and how they are deployed."""

    rules = (
        Rule(
            message="write exactly one of source and sources",
            json={"oneOf": [given("source"), not_empty_list("sources")]},
        ),
    )

    source: ApplicationSource | None = None
    """The source of the manifests."""
    sources: list[ApplicationSource] = []
    """Several sources, instead of source."""
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

    @property
    def placed_sources(self) -> list[tuple[Path, ApplicationSource]]:
        """Every source with its path in the document."""
        found: list[tuple[Path, ApplicationSource]] = []
        if self.source is not None:
            found.append((("spec", "application", "source"), self.source))
        found += [
            (("spec", "application", "sources", index), source) for index, source in enumerate(self.sources)
        ]
        return found

    @model_validator(mode="after")
    def _source_or_sources(self) -> Self:
        if (self.source is None) == (not self.sources):
            raise ValueError(
                "an application has one source or a list of sources: write exactly one of source and sources"
            )
        return self


class Moves(Authored):
    """How the application moves when the decision changes."""

    strategy: Literal["MakeBeforeBreak", "Keep", "Replace"] = "MakeBeforeBreak"
    """MakeBeforeBreak: the reconciler deletes the old copy when the new one is healthy. Keep: the old copy
    stays. Replace: the ApplicationSet controller deletes the old copy when it creates the new one.
    """
    timeout_seconds: Annotated[int, Field(ge=60, le=86_400)] = 1800
    """Seconds for which MakeBeforeBreak waits until the new copy is Healthy and Synced. After that, the old
    copy is deleted as soon as the new one is at least as healthy.
    """
    refresh_seconds: Annotated[int, Field(ge=5, le=3600)] = 60
    """Seconds after which the ApplicationSet controller reads the decision again."""
    pace: Literal["Fleet", "None"] = "Fleet"
    """Fleet: by spec.pace of gitops-dsf.yaml, when it is there. None: it follows its scores at once."""


class ApplicationPlacement(PlacementRules):
    """Which clusters may be chosen, and how many; or a ScoredPlacement whose decision is used."""

    ref: DnsName | None = None
    """metadata.name of a ScoredPlacement, whose decision the application follows. It replaces the other
    fields of placement, and scores, stickiness and onMissingScore.
    """


class ScoredApplicationSpec(Ranking, Ruled):
    """What runs, and which scores decide where."""

    rules = (
        Rule(
            message="write scores, or in placement a ref to a ScoredPlacement, which has them; never both",
            json={"oneOf": [given("scores"), having("placement", given("ref"))]},
        ),
    )

    application: Application
    """Where the manifests are, and how they are deployed."""
    placement: ApplicationPlacement = ApplicationPlacement()
    """Which clusters may be chosen, and how many; or a ScoredPlacement whose decision is used."""
    scores: Annotated[list[Score], Field(min_length=1)] = []
    """Which scorers rank the clusters; required without placement.ref."""
    moves: Moves = Moves()
    """How the application moves when the decision changes."""


class ScoredApplication(Authored):
    """An application that runs on the clusters with the best scores."""

    api_version: Literal["gitops-dsf.io/v1alpha1"] = PRODUCT_API
    kind: Literal["ScoredApplication"] = "ScoredApplication"
    metadata: Metadata
    spec: ScoredApplicationSpec

    @property
    def follows(self) -> str:
        """Name of the Placement whose decision it follows: its own, or a ScoredPlacement's."""
        return self.spec.placement.ref or self.metadata.name
