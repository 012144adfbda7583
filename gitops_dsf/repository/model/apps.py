"""The kinds of apps/: ScoredApplication and ScoredPlacement.

The first is an application that runs on the clusters with the best scores, the second a decision by
scores for any consumer.
"""

import re
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from dsf_wire.constants import SCORE_MAX, SCORE_MIN
from gitops_dsf.hub.pace import MAX_CHECKS, MAX_DEMAND, MAX_SPAN
from gitops_dsf.repository.load import FieldPath
from gitops_dsf.repository.model.base import (
    PRODUCT_API,
    Authored,
    DnsLabel,
    DnsName,
    Labels,
    LabelSelector,
    Metadata,
)
from gitops_dsf.repository.model.external_scores import AddOnScore
from gitops_dsf.repository.model.field_rules import (
    FieldRule,
    Ruled,
    exactly_one,
    given,
    having,
    not_empty_list,
)
from gitops_dsf.repository.model.foreign import DUCK_TYPE_CONFIGMAP
from gitops_dsf.urls.git import misleads_git

MAX_STICKINESS: Final = 1000
"""The most points of stickiness."""
MAX_VERIFY_SECONDS: Final = 86_400
"""The largest verifySeconds."""

NAME_OF_APPLICATIONS: Final = r"^[a-z0-9.-]*\{\{ *\.(name|clusterName) *\}\}[a-z0-9.-]*$"
"""A name of Applications: fixed text around the action that writes their cluster."""
# The CRD of Placements (OCM 1.2.1) refuses other weights.
Weight = Annotated[int, Field(ge=-10, le=10)]


class Toleration(Ruled):
    """A taint of clusters that is tolerated."""

    rules = (
        FieldRule(
            message="a toleration without key needs operator: Exists, and operator Exists takes no"
            " value",
            json={
                "if": having("operator", {"const": "Exists"}),
                "then": {"properties": {"value": {"enum": [None, ""]}}},
                "else": having("key", {"type": "string", "minLength": 1}),
            },
        ),
    )

    key: str | None = None
    """Taint key; with operator Exists it may be left out to tolerate every taint."""
    operator: Literal["Equal", "Exists"] = "Equal"
    """How the value is compared."""
    value: str | None = None
    """Taint value for Equal."""
    effect: Literal["NoSelect", "PreferNoSelect", "NoSelectIfNew"] | None = None
    """Taint effect; every effect when absent."""
    # OCM 1.2.1 counts from the taint's timeAdded, for every effect. A taint without that time
    # counts as expired.
    toleration_seconds: int | None = None
    """Seconds after which the toleration ends."""

    @model_validator(mode="after")
    def _as_ocm_reads_it(self) -> Self:
        # The CRD accepts both mistakes. The scheduler of OCM 1.2.1 then calls the Placement
        # misconfigured, and empties its decision.
        if not self.key and self.operator != "Exists":
            raise ValueError(
                "a toleration without key needs operator: Exists (OCM treats it as misconfigured"
                " and evicts everything)"
            )
        if self.operator == "Exists" and self.value:
            raise ValueError(
                "operator Exists takes no value (OCM treats it as misconfigured and evicts"
                " everything)"
            )
        return self


class DecisionGroup(Authored):
    """A named part of the decision, chosen by labels."""

    group_name: Annotated[str, Field(min_length=2, max_length=63)]
    """Name of the group."""
    cluster_selector: LabelSelector
    """Clusters of the group."""


class DecisionGroups(Authored):
    """How the chosen clusters are divided into groups."""

    groups: list[DecisionGroup] = []
    """Named groups, in order."""
    # A number in quotes matches the pattern of OCM's CRD, but its controller wants a %: OCM 1.2.1
    # then deletes the PlacementDecisions, and PlacementSatisfied stays True.
    clusters_per_decision_group: (
        Annotated[int, Field(ge=1)] | Annotated[str, Field(pattern=r"^([1-9][0-9]?|100)%$")]
    ) = "100%"
    """A number, or a percentage such as 25%."""


class PlacementRules(Authored):
    """Which clusters may be chosen, and how many."""

    # The CRD has no minimum. With 0 OCM 1.2.1 empties the decision, and with a negative number its
    # controller panics.
    number_of_clusters: Annotated[int, Field(ge=1)] | None = None
    """Number of clusters; every eligible one when absent."""
    # OCM creates the set global on each hub, with all clusters in it.
    cluster_sets: list[DnsLabel] = ["global"]
    """ManagedClusterSets to choose from; a binding for each is rendered, unless `bindings` is
    Existing.
    """
    cluster_selector: LabelSelector | None = None
    """Labels that a cluster must have."""
    tolerations: list[Toleration] = []
    """Taints that are tolerated; OCM taints unreachable clusters."""


class SharedPlacementRules(PlacementRules):
    """Which clusters may be chosen, how many, and in which groups consumers of the decision find
    them.
    """

    decision_groups: DecisionGroups | None = None
    """How the chosen clusters are divided into groups."""


class ScoreReference(Authored):
    """An item of the scores of a scorer."""

    scorer: Annotated[str, Field(min_length=1)]
    """metadata.name of a DynamicScorer of this repository."""
    dimension: Annotated[str, Field(min_length=1)] | None = None
    """Name of the score item; by default the only one that the scorer can publish."""


BuiltInPrioritizer = Literal["Balance", "ResourceAllocatableCPU", "ResourceAllocatableMemory"]


def _no_steady(name: object) -> object:
    if name == "Steady":
        raise ValueError("Steady is what stickiness renders: remove this entry, write stickiness")
    return name


class Score(Ruled):
    """A score that ranks the clusters: of a scorer, of another add-on, or of OCM itself."""

    rules = (
        FieldRule(
            message="write exactly one of scorer (a DynamicScorer of this repository), addOn (a"
            " score of another add-on) and builtIn (a prioritizer of OCM)",
            holds=lambda score: (
                sum(part is not None for part in (score.scorer, score.add_on, score.built_in)) == 1
            ),
            json={"oneOf": [given("scorer"), given("addOn"), given("builtIn")]},
        ),
        FieldRule(
            message="demand is of a score that measures load, and a built-in prioritizer measures"
            " none",
            holds=lambda score: score.built_in is None or not score.demand,
            path=("demand",),
            json={
                "if": given("builtIn"),
                "then": {"properties": {"demand": {"const": 0}}},
            },
        ),
        FieldRule(
            message="dimension is an item of a scorer; with addOn the item is addOn.name",
            holds=lambda score: score.scorer is not None or score.dimension is None,
            path=("dimension",),
            json={"if": given("dimension"), "then": given("scorer")},
        ),
    )

    scorer: Annotated[str, Field(min_length=1)] | None = None
    """metadata.name of a DynamicScorer of this repository."""
    dimension: Annotated[str, Field(min_length=1)] | None = None
    """Name of the score item; by default the only one that the scorer can publish."""
    add_on: AddOnScore | None = None
    """In place of scorer: a score that another add-on publishes."""
    # The names are those that OCM 1.2.1 knows (pkg/placement/controllers/scheduling/schedule.go).
    built_in: Annotated[BuiltInPrioritizer, BeforeValidator(_no_steady)] | None = None
    """In place of scorer: a prioritizer of OCM. Balance prefers clusters with few decisions of
    other Placements, the others the clusters with the most allocatable CPU or memory.
    """
    weight: Weight = 1
    """Relative weight; negative when a lower score is better."""
    demand: Annotated[int, Field(ge=0, le=MAX_DEMAND)] = 0
    """Points of this score that the application takes where it runs. With spec.pace of
    gitops-dsf.yaml they are assumed until they are measured. With multiKueue of a ScoredPlacement:
    points that one job takes.
    """

    def __str__(self) -> str:
        """As people write it: `cpu`, `cost/spot`, `resource-usage-score/gpuClusterAvailable`."""
        if self.add_on is not None:
            return str(self.add_on)
        name = self.built_in or self.scorer or ""
        return f"{name}/{self.dimension}" if self.dimension else name


class Ranking(Authored):
    """The eligible clusters, their ranking and its stickiness."""

    placement: PlacementRules = PlacementRules()
    """Which clusters may be chosen, and how many."""
    scores: Annotated[list[Score], Field(min_length=1)]
    """Which scores rank the clusters."""
    stickiness: Annotated[int, Field(ge=0, le=MAX_STICKINESS)] = 20
    """Score points by which another cluster must be better before the decision changes."""
    # Exclude is a CEL predicate. OCM 1.2.1 evaluates CEL when a cluster or the Placement changes,
    # and at its resync every 10 minutes, not when a score changes; and CEL does not see that a
    # score has expired.
    on_missing_score: Literal["Neutral", "Exclude"] = "Neutral"
    """Neutral: a cluster without the score counts as 0. Exclude: it is not eligible."""
    bindings: Literal["Rendered", "Existing"] = "Rendered"
    """Rendered: a ManagedClusterSetBinding for each cluster set is rendered into the namespace of
    the Placement. Existing: the namespace has them, and somebody else owns them.
    """


class MultiKueue(Authored):
    """The MultiKueueConfig whose clusters the reconciler keeps in the order of the scores."""

    # AdmissionChecks refuse names with dots, and longer ones (Kueue 0.19.2).
    config: DnsLabel
    """Name of the MultiKueueConfig. The reconciler creates it, and nobody else may write it. An
    AdmissionCheck with controllerName kueue.x-k8s.io/multikueue names it.
    """
    reorder_seconds: Annotated[int, Field(ge=5, le=3600)] = 60
    """Seconds between two changes of the order. Clusters that join are appended at once."""


class ScoredPlacementSpec(Ranking):
    """Which clusters are chosen by score."""

    placement: SharedPlacementRules = SharedPlacementRules()
    """Which clusters may be chosen, how many, and in which groups."""
    multi_kueue: MultiKueue | None = None
    """Orders the clusters of a MultiKueueConfig by the scores, the best one first. Kueue offers
    jobs to them in this order.
    """


class ScoredPlacement(Authored):
    """A Placement by scores in any namespace, for ScoredApplications that share it and for other
    consumers of decisions.
    """

    api_version: Literal["gitops-dsf.io/v1alpha1"] = PRODUCT_API
    kind: Literal["ScoredPlacement"] = "ScoredPlacement"
    metadata: Metadata
    spec: ScoredPlacementSpec


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

    # Here only what is dangerous to hand to git. Rules judge the rest, and say more.
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
    """How the generated Applications look, where somebody else's ApplicationSet made them.

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
    """What an ApplicationSet says beside its template. `gitops-dsf import --adopt` writes it."""

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
    """How the generated Applications look, where somebody else's ApplicationSet made them."""
    application_set: ApplicationSetOptions = ApplicationSetOptions()
    """What the ApplicationSet says beside its template."""

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
    """A score that must be good on the new cluster before the old copy goes."""

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
    """Fleet: by spec.pace of gitops-dsf.yaml, when it is there. None: it follows its scores at
    once.
    """
    verify: Annotated[list[MoveCheck], Field(max_length=MAX_CHECKS)] = []
    """What must hold on the new cluster before the old copy goes. If it does not, the application
    goes back. Needs a pace.
    """
    verify_seconds: Annotated[int, Field(ge=60, le=MAX_VERIFY_SECONDS)] = 1800
    """Seconds after the new copy is Healthy until which the checks must be decided."""
    on_unknown: Literal["Hold", "Return", "Complete"] = "Hold"
    """What happens when a score is missing or too old at the end of verifySeconds. Hold: both
    copies stay. Return: the application goes back. Complete: the old copy goes.
    """
    hold_seconds: Annotated[int, Field(ge=60, le=604_800)] = 21_600
    """Seconds for which an application that went back does not go to that cluster again. Doubled
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
