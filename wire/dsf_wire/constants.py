"""Names and bounds that strangers depend on. Changing one is a change of the wire contract."""

from typing import Final

AGENT_NAMESPACE: Final = "dynamic-scoring"
"""Namespace on every spoke that holds the agent, its ConfigMap and people's token Secrets."""

CONFIGMAP_NAME: Final = "dynamic-scoring-config"
CONFIGMAP_KEY: Final = "summaries"

SUSPENDED_CONFIGMAP: Final = "gitops-dsf-suspended"
"""ConfigMap in the hub namespace that names suspended scorers."""
SUSPENDED_KEY: Final = "scorers"

ADDON_NAME: Final = "gitops-dsf-agent"
"""ManagedClusterAddOn and ClusterManagementAddOn name; upstream's is different on purpose."""
ADDON_GROUP: Final = f"system:open-cluster-management:addon:{ADDON_NAME}"
"""Hub group that every registered agent of the add-on belongs to."""

DSF_GROUP: Final = "dynamic-scoring.open-cluster-management.io"
DSF_VERSION: Final = "v1alpha1"
SCORE_API_VERSION: Final = "cluster.open-cluster-management.io/v1alpha1"
SCORE_GROUP: Final = "cluster.open-cluster-management.io"
SCORE_VERSION: Final = "v1alpha1"
SCORE_PLURAL: Final = "addonplacementscores"

MANAGED_BY_LABEL: Final = "app.kubernetes.io/managed-by"
AGENT_MANAGER: Final = "gitops-dsf-agent"
"""Value of MANAGED_BY_LABEL on AddOnPlacementScores that an agent of ours wrote."""
GENERATOR_MANAGER: Final = "gitops-dsf"
SCORER_LABEL: Final = "gitops-dsf.io/scorer"

SCORE_MIN: Final = -100
SCORE_MAX: Final = 100
"""AddOnPlacementScore.status.scores[].value: int32, minimum -100, maximum 100 (OCM CRD)."""

MAX_SCORE_ITEMS: Final = 20_000
"""Items of one AddOnPlacementScore that an agent publishes. The shortest that are possible reach etcd's limit
of 1.5 MiB at some 17,000.
"""
MAX_ITEM_NAME: Final = 4096
"""Characters of an item's name: seven labels of 253 characters and what a dimension format adds."""

DEFAULT_OUTPUT_MIN: Final = 1
DEFAULT_OUTPUT_MAX: Final = 100
"""Range of mapped scores: a missing score counts as 0 in OCM, so the worst real one must be above it."""

DEFAULT_DEADBAND: Final = 2
DEFAULT_MIN_INTERVAL_SECONDS: Final = 60

MIN_TTL_SECONDS: Final = 900
TTL_INTERVALS: Final = 10

MAX_POINTS: Final = 11_000
"""Points per series above which Prometheus refuses a range query."""


def default_ttl_seconds(interval_seconds: int) -> int:
    """Seconds that a score stays valid when the scorer names none: max(900, 10 x interval).

    OCM itself looks at expiry only every 10 minutes (its informer resync), so less than 900 s would flap.
    """
    return max(MIN_TTL_SECONDS, TTL_INTERVALS * interval_seconds)
