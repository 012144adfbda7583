"""ScoredApplication, a kind of apps/: it runs on the clusters with the best scores."""

import re
from typing import Annotated, Any, Final, Literal

from pydantic import Field, field_validator

from dsf_wire.constants import SCORE_MAX, SCORE_MIN
from gitops_dsf.hub.pace import MAX_CHECKS, MAX_SPAN
from gitops_dsf.repository.load import FieldPath
from gitops_dsf.repository.model.base import (
    PRODUCT_API,
    Authored,
    DnsLabel,
    DnsName,
    Labels,
    Metadata,
)
from gitops_dsf.repository.model.field_rules import (
    FieldRule,
    Ruled,
    exactly_one,
    given,
    having,
    not_empty_list,
)
from gitops_dsf.repository.model.foreign import DUCK_TYPE_CONFIGMAP
from gitops_dsf.repository.model.ranking import PlacementRules, Ranking, Score, ScoreReference
from gitops_dsf.urls.git import misleads_git

MAX_VERIFY_SECONDS: Final = 86_400
"""The largest verifySeconds."""
NAME_OF_APPLICATIONS: Final = r"^[a-z0-9.-]*\{\{ *\.(name|clusterName) *\}\}[a-z0-9.-]*$"
"""A name of Applications: fixed text around the action that writes their cluster."""


class ApplicationSource(Authored):
    """Where the manifests of the application are; further fields are Argo CD's own (helm,
    kustomize, directory, plugin, ref, chart).
    """

    repo_url: Annotated[str, Field(alias="repoURL", min_length=1)]
    """URL of a Git or Helm repository."""
    name: str | None = None
    """Name that Argo CD shows for this source, where there are several."""
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

    # Only URLs that are dangerous to hand to git are refused here. Rules check the others, with
    # messages that say more.
    @field_validator("repo_url")
    @classmethod
    def _is_a_url(cls, url: str) -> str:
        if misleads_git(url):
            raise ValueError(
                f"{url} would start a program or be taken for an option by git: write"
                " https://host/owner/repository.git or git@host:owner/repository.git"
            )
        return url


class ApplicationTemplate(Authored):
    """Fields of the generated Applications, for those that were made by somebody else's
    ApplicationSet.

    All of it is optional. `gitops-dsf import --adopt` writes it, so that Applications stay as they
    are.
    """

    # The reconciler computes the name of a copy from its cluster, so nothing else may be in it.
    name: Annotated[str, Field(json_schema_extra={"pattern": NAME_OF_APPLICATIONS})] | None = None
    """Name of an Application: fixed text around {{.name}}, its cluster. APPLICATION-{{.name}} when
    absent.
    """
    labels: Labels = {}
    """Labels of the Applications."""
    annotations: Labels = {}
    """Annotations of the Applications."""
    # Argo CD 3.6.1 adds resources-finalizer.argocd.argoproj.io only where this list is empty.
    finalizers: list[str] = []
    """Finalizers of the Applications; when empty, the one with which Argo CD deletes what they
    deployed.
    """
    destination: Literal["Name", "Server"] = "Name"
    """Name: Applications name their cluster. Server: they have the URL of its API server."""
    marks: Literal["Rendered", "None"] = "Rendered"
    """Rendered: Applications carry the label gitops-dsf.io/application, by which the reconciler
    finds them, and the link to the board. None: they carry neither.
    """

    @field_validator("name")
    @classmethod
    def _names_the_cluster(cls, name: str | None) -> str | None:
        if name is not None and not re.fullmatch(NAME_OF_APPLICATIONS, name):
            raise ValueError(
                f"{name} must be {{{{.name}}}}, which is the cluster, with fixed text around it:"
                " write web-{{.name}} or {{.name}}-web"
            )
        return name

    @property
    def lets_copies_be_found(self) -> bool:
        """Whether the reconciler finds the Applications, and recognises the cluster of each."""
        return self.marks == "Rendered" and self.destination == "Name"


class ApplicationSetOptions(Authored):
    """Fields of an ApplicationSet outside its template. `gitops-dsf import --adopt` writes them."""

    config_map_ref: DnsName = DUCK_TYPE_CONFIGMAP
    """ConfigMap that tells Argo CD how to read decisions; by default the one that is rendered. It
    must have matchKey clusterName.
    """
    preserve_resources_on_deletion: bool = False
    """Whether what Applications deployed stays when they are deleted."""
    preserved_fields: dict[str, Any] | None = None
    """Argo CD's preservedFields: labels and annotations of Applications that others write."""
    ignore_application_differences: list[dict[str, Any]] = []
    """Argo CD's ignoreApplicationDifferences: fields of Applications that others write."""


class Application(Ruled):
    """Where the manifests are, and how they are deployed."""

    rules = (
        FieldRule(
            message="write exactly one of source and sources",
            says="an application has one source or a list of sources: write exactly one of source"
            " and sources",
            holds=lambda application: (application.source is None) != (not application.sources),
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
    """Push: the hub's Argo CD applies to the cluster. Pull: OCM's pull integration hands the
    Application to the cluster's Argo CD.
    """
    ignore_differences: list[dict[str, Any]] = []
    """Argo CD's ignoreDifferences: fields of deployed objects that others write."""
    info: list[dict[str, Any]] = []
    """Argo CD's info: names and values that it shows with the Application."""
    revision_history_limit: Annotated[int, Field(ge=0)] | None = None
    """Argo CD's revisionHistoryLimit: how many syncs it remembers."""
    template: ApplicationTemplate = ApplicationTemplate()
    """Fields of the generated Applications, for those that were made by somebody else's
    ApplicationSet.
    """
    application_set: ApplicationSetOptions = ApplicationSetOptions()
    """Fields of the ApplicationSet outside its template."""

    @property
    def placed_sources(self) -> list[tuple[FieldPath, ApplicationSource]]:
        """Every source with its path in the document."""
        application: FieldPath = ("spec", "application")
        if self.source is not None:
            return [((*application, "source"), self.source)]
        placed: list[tuple[FieldPath, ApplicationSource]] = []
        for index, source in enumerate(self.sources):
            placed.append(((*application, "sources", index), source))
        return placed


class MoveCheck(ScoreReference, Ruled):
    """A score that must be good on the new cluster before the old copy is deleted."""

    rules = (
        exactly_one(
            "at_least",
            "no_worse_than",
            "write exactly one of atLeast (a score) and noWorseThan (points below the old copy)",
        ),
    )

    at_least: Annotated[int, Field(ge=SCORE_MIN, le=SCORE_MAX)] | None = None
    """The lowest score with which the application does well."""
    no_worse_than: Annotated[int, Field(ge=0, le=MAX_SPAN)] | None = None
    """By how many points the score may be below that of the old copy before the move."""
    for_seconds: Annotated[int, Field(ge=0, le=86_400)] = 600
    """Seconds for which the score must hold without a break, measured after the new copy is
    Healthy.
    """


class Moves(Authored):
    """How the application moves when the decision changes."""

    strategy: Literal["MakeBeforeBreak", "Keep", "Replace"] = "MakeBeforeBreak"
    """MakeBeforeBreak: the reconciler deletes the old copy when the new one is healthy. Keep: the
    old copy stays. Replace: the ApplicationSet controller deletes the old copy when it creates the
    new one.
    """
    timeout_seconds: Annotated[int, Field(ge=60, le=86_400)] = 1800
    """Seconds for which MakeBeforeBreak waits until the new copy is Healthy and Synced. After that,
    the old copy is deleted as soon as the new one is at least as healthy.
    """
    # Argo CD 3.6.1 watches no PlacementDecisions. It polls them every 3 minutes if this is not set.
    # The reconciler asks it to look at once; this bounds the delay where no reconciler runs.
    refresh_seconds: Annotated[int, Field(ge=5, le=3600)] = 60
    """Seconds after which the ApplicationSet controller reads the decision again."""
    pace: Literal["Fleet", "None"] = "Fleet"
    """Fleet: moves follow spec.pace of gitops-dsf.yaml, if it is set. None: the application follows
    its scores at once.
    """
    verify: Annotated[list[MoveCheck], Field(max_length=MAX_CHECKS)] = []
    """What must hold on the new cluster before the old copy is deleted. If it does not hold, the
    application moves back. Needs spec.pace.
    """
    verify_seconds: Annotated[int, Field(ge=60, le=MAX_VERIFY_SECONDS)] = 1800
    """Seconds after the new copy is Healthy until which the checks must be decided."""
    on_unknown: Literal["Hold", "Return", "Complete"] = "Hold"
    """What happens when a score is missing or too old at the end of verifySeconds. Hold: both
    copies stay. Return: the application moves back. Complete: the old copy is deleted.
    """
    hold_seconds: Annotated[int, Field(ge=60, le=604_800)] = 21_600
    """Seconds for which an application that moved back does not move to that cluster again. Doubled
    with each return, up to 7 days.
    """


class ApplicationPlacement(PlacementRules):
    """Which clusters may be chosen, and how many; or a ScoredPlacement whose decision is used."""

    ref: DnsName | None = None
    """metadata.name of a ScoredPlacement, whose decision the application follows. It replaces the
    other fields of placement, and scores, stickiness, onMissingScore and bindings.
    """


class ScoredApplicationSpec(Ranking, Ruled):
    """What runs, and which scores decide where."""

    rules = (
        FieldRule(
            message="write scores, or in placement a ref to a ScoredPlacement, which has them;"
            " never both",
            json={"oneOf": [given("scores"), having("placement", given("ref"))]},
        ),
        FieldRule(
            message="MakeBeforeBreak finds copies by their mark and their cluster's name: write"
            " moves.strategy Keep or Replace with application.template.marks None or destination"
            " Server",
            says="the reconciler would delete no old copy: it finds copies by the label"
            " gitops-dsf.io/application and the name of their cluster, and"
            " application.template leaves one of them out. Remove marks: None and destination:"
            " Server, or write moves.strategy: Keep or Replace",
            holds=lambda spec: (
                spec.moves.strategy != "MakeBeforeBreak"
                or spec.application.template.lets_copies_be_found
            ),
            path=("moves", "strategy"),
            json={
                "if": having(
                    "application",
                    having(
                        "template",
                        {
                            "anyOf": [
                                having("marks", {"const": "None"}),
                                having("destination", {"const": "Server"}),
                            ]
                        },
                    ),
                ),
                "then": having("moves", having("strategy", {"enum": ["Keep", "Replace"]})),
            },
        ),
    )

    application: Application
    """Where the manifests are, and how they are deployed."""
    placement: ApplicationPlacement = ApplicationPlacement()
    """Which clusters may be chosen, and how many; or a ScoredPlacement whose decision is used."""
    scores: Annotated[list[Score], Field(min_length=1)] = []
    """Which scores rank the clusters; required without placement.ref."""
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
