"""The OCM kinds that decide a placement.

Unused fields are ignored; values that no API server stores are rejected. The comments say how OCM
1.2.1 reads a field where that is surprising (docs/decisions/scheduler.md).

Not guaranteed: that an object is valid. Only the fields that decide a placement are read.
"""

from msgspec import Struct
from msgspec.structs import replace

from gitops_dsf.hub.metadata import Int32, Int64, Metadata, ObjectCondition, condition_of
from gitops_dsf.hub.names import AVAILABLE_CONDITION, PLACEMENT_LABEL
from gitops_dsf.hub.times import Timestamp


class Conditions(Struct, frozen=True, gc=False):
    """A status of which only conditions are used."""

    conditions: tuple[ObjectCondition, ...] | None = None


class KubernetesObject(Struct, frozen=True, rename="camel", gc=False):
    """The fields that all objects have."""

    metadata: Metadata

    @property
    def created(self) -> float:
        """Seconds since 1970; 0 if it is not known."""
        return self.metadata.created

    @property
    def deleting(self) -> bool:
        """Whether the object is being deleted."""
        return self.metadata.deleting

    def condition(self, kind: str) -> ObjectCondition:
        """The condition of a type; NO_CONDITION if the object does not have it."""
        return condition_of(getattr(getattr(self, "status", None), "conditions", None), kind)


class LabelRequirement(Struct, frozen=True, rename="camel", gc=False):
    key: str = ""
    # The CRDs check neither operators nor values. In a Placement OCM reports a mistake only when it
    # schedules, and then it empties the decision.
    operator: str = ""
    values: tuple[str, ...] | None = None


class LabelSelector(Struct, frozen=True, rename="camel", gc=False):
    match_labels: dict[str, str] | None = None
    match_expressions: tuple[LabelRequirement, ...] | None = None


class ClaimSelector(Struct, frozen=True, rename="camel", gc=False):
    # Claims are matched by the rules of label selectors.
    match_expressions: tuple[LabelRequirement, ...] | None = None


class CelSelector(Struct, frozen=True, rename="camel", gc=False):
    # An expression that fails on a cluster drops the cluster, and nothing reports it. One that does
    # not compile empties the decision.
    cel_expressions: tuple[str, ...] | None = None


class ClusterSelector(Struct, frozen=True, rename="camel", gc=False):
    # All of them must match.
    label_selector: LabelSelector | None = None
    claim_selector: ClaimSelector | None = None
    cel_selector: CelSelector | None = None


class ClusterPredicate(Struct, frozen=True, rename="camel", gc=False):
    required_cluster_selector: ClusterSelector | None = None


class AddOnCoordinate(Struct, frozen=True, rename="camel", gc=False):
    # A misspelt name is not a mistake for OCM: the score is missing, and counts as 0.
    resource_name: str = ""
    score_name: str = ""


class ScoreCoordinate(Struct, frozen=True, rename="camel", gc=False):
    # Everything but BuiltIn is read as AddOn. API servers fill in BuiltIn where it is absent.
    type: str = ""
    # A built-in prioritizer that is configured twice counts once, the last time.
    built_in: str = ""
    add_on: AddOnCoordinate | None = None


class PrioritizerConfig(Struct, frozen=True, rename="camel", gc=False):
    score_coordinate: ScoreCoordinate | None = None
    # With 0 the prioritizer does not run. API servers fill in 1 where it is absent.
    weight: Int32 = 0


class PrioritizerPolicy(Struct, frozen=True, rename="camel", gc=False):
    # Additive, the default, begins with Balance and Steady at weight 1. Any other word than
    # Additive and Exact empties the decision.
    mode: str | None = None
    configurations: tuple[PrioritizerConfig, ...] | None = None


class Toleration(Struct, frozen=True, rename="camel", gc=False):
    # An empty key matches all keys, but only with the operator Exists. An empty effect matches all
    # effects.
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    # They count from the taint's timeAdded.
    toleration_seconds: Int64 | None = None


class DecisionGroup(Struct, frozen=True, rename="camel", gc=False):
    # A group without a cluster has no PlacementDecision. CEL is not evaluated in its selector.
    group_name: str = ""
    group_cluster_selector: ClusterSelector | None = None


class GroupStrategy(Struct, frozen=True, rename="camel", gc=False):
    # A number in quotes deletes the PlacementDecisions, and PlacementSatisfied stays True.
    clusters_per_decision_group: Int32 | str | None = None
    decision_groups: tuple[DecisionGroup, ...] | None = None


class DecisionStrategy(Struct, frozen=True, rename="camel", gc=False):
    group_strategy: GroupStrategy | None = None


class PlacementSpec(Struct, frozen=True, rename="camel", gc=False):
    cluster_sets: tuple[str, ...] | None = None
    # 0 takes every cluster away. With -1 the controller panics at every look, and the old decision
    # stays.
    number_of_clusters: Int32 | None = None
    # One of them must match; without any, every cluster does.
    predicates: tuple[ClusterPredicate, ...] | None = None
    prioritizer_policy: PrioritizerPolicy | None = None
    tolerations: tuple[Toleration, ...] | None = None
    decision_strategy: DecisionStrategy | None = None


class Placement(KubernetesObject, frozen=True):
    spec: PlacementSpec = PlacementSpec()
    status: Conditions | None = None

    @property
    def key(self) -> str:
        """namespace/name."""
        return f"{self.metadata.namespace}/{self.metadata.name}"


class Taint(Struct, frozen=True, rename="camel", gc=False, omit_defaults=True):
    key: str = ""
    value: str = ""
    effect: str = ""
    # A webhook sets it for a new taint, and refuses a write that changes that of an old one.
    time_added: Timestamp | None = None


class ClientConfig(
    Struct, frozen=True, gc=False, omit_defaults=True, rename={"ca_bundle": "caBundle"}
):
    url: str = ""
    ca_bundle: str = ""


class ManagedClusterSpec(Struct, frozen=True, rename="camel", gc=False, omit_defaults=True):
    hub_accepts_client: bool | None = None
    """None if it is absent, which means false, or not known."""
    # Without a renewal for five times as long, 300 s by default, OCM reports the cluster as
    # Unknown.
    lease_duration_seconds: int | None = None
    managed_cluster_client_configs: tuple[ClientConfig, ...] | None = None
    # A plain list: two writers without a resourceVersion overwrite each other.
    taints: tuple[Taint, ...] | None = None


class ClusterClaim(Struct, frozen=True, rename="camel", gc=False):
    name: str = ""
    value: str = ""


class ClusterVersion(Struct, frozen=True, gc=False, omit_defaults=True):
    kubernetes: str = ""


class ManagedNamespace(Struct, frozen=True, rename="camel", gc=False, omit_defaults=True):
    name: str = ""
    cluster_set: str = ""
    conditions: tuple[ObjectCondition, ...] | None = None


Resources = dict[str, str | int | float]


class ManagedClusterStatus(Struct, frozen=True, rename="camel", gc=False, omit_defaults=True):
    # The scheduler reads no condition: a cluster that is not available has a taint.
    conditions: tuple[ObjectCondition, ...] | None = None
    version: ClusterVersion | None = None
    allocatable: Resources | None = None
    capacity: Resources | None = None
    cluster_claims: tuple[ClusterClaim, ...] | None = None
    managed_namespaces: tuple[ManagedNamespace, ...] | None = None


class ManagedCluster(KubernetesObject, frozen=True, omit_defaults=True):
    """A cluster. Labels, taints, claims and resources can be None in a snapshot: not known."""

    spec: ManagedClusterSpec | None = None
    status: ManagedClusterStatus | None = None

    @property
    def labels(self) -> dict[str, str]:
        """Labels; empty if there are none or they are not known."""
        return self.metadata.labels or {}

    @property
    def claims(self) -> dict[str, str]:
        """Cluster claims. If a name appears twice, the later one counts (OCM: GetClusterClaims)."""
        claims = (self.status.cluster_claims if self.status else None) or ()
        return {claim.name: claim.value for claim in claims}

    @property
    def taints(self) -> tuple[Taint, ...]:
        """Taints; empty if there are none or they are not known."""
        return (self.spec.taints if self.spec else None) or ()

    def tainted_by(self, taint: Taint) -> "ManagedCluster":
        """The cluster with one more taint."""
        spec = replace(self.spec or ManagedClusterSpec(), taints=(*self.taints, taint))
        return replace(self, spec=spec)

    @property
    def unreachable(self) -> bool:
        """Whether OCM reports the cluster as unavailable. A missing condition does not say so."""
        return self.condition(AVAILABLE_CONDITION).status in {"False", "Unknown"}

    @property
    def available_since(self) -> float | None:
        """Seconds since 1970; None if the cluster is unavailable or OCM does not report it."""
        available = self.condition(AVAILABLE_CONDITION)
        return available.since if available.status == "True" else None


class SetSelector(Struct, frozen=True, rename="camel", gc=False):
    # By default, ExclusiveClusterSetLabel, the set has the clusters whose label names it.
    selector_type: str = ""
    # With LabelSelector an absent selector selects nothing, and an empty one everything.
    label_selector: LabelSelector | None = None


class ManagedClusterSetSpec(Struct, frozen=True, rename="camel", gc=False):
    cluster_selector: SetSelector | None = None


class ManagedClusterSet(KubernetesObject, frozen=True):
    spec: ManagedClusterSetSpec | None = None


class ManagedClusterSetBinding(KubernetesObject, frozen=True):
    # Its name is that of the set: OCM's webhook refuses another one. The scheduler does not look at
    # the condition Bound.
    pass


class ClusterDecision(Struct, frozen=True, rename="camel", gc=False):
    # OCM fills in nothing else: neither a reason nor a score.
    cluster_name: str = ""


class PlacementDecisionStatus(Struct, frozen=True, gc=False):
    # Where OCM decides for no cluster, it writes one page with an empty list.
    decisions: tuple[ClusterDecision, ...] | None = None


class PlacementDecision(KubernetesObject, frozen=True):
    status: PlacementDecisionStatus | None = None

    @property
    def placement(self) -> str:
        """Name of the Placement, from the label; empty if there is none."""
        return self.metadata.label(PLACEMENT_LABEL)

    @property
    def cluster_names(self) -> tuple[str, ...]:
        """Cluster names in the order of the page.

        OCM writes them in order of name, so the order does not show which cluster is best.
        """
        decisions = self.status.decisions if self.status else None
        return tuple(decision.cluster_name for decision in decisions or ())


class ManagedClusterAddOn(KubernetesObject, frozen=True):
    """The agent's add-on on one cluster. Its namespace is the cluster."""

    status: Conditions | None = None

    @property
    def cluster(self) -> str:
        """The cluster that the agent is on."""
        return self.metadata.namespace or ""

    @property
    def available(self) -> str:
        """True, False or Unknown; empty if OCM has not reported it yet."""
        return self.condition("Available").status
