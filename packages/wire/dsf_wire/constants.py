"""Names and limits that other programs depend on. Changing one changes the wire contract."""

from typing import Final

AGENT_NAMESPACE: Final = "dynamic-scoring"
"""Namespace on every spoke with the agent, its ConfigMap and people's token Secrets."""

# Upstream's names. Its agent and ours read the same ConfigMap.
CONFIGMAP_NAME: Final = "dynamic-scoring-config"
CONFIGMAP_KEY: Final = "summaries"
CLUSTERS_KEY: Final = "clusters"
"""Key of the hub scorer's ConfigMap with the clusters that it scores."""

RUNS_ON_HUB: Final = "Hub"
"""spec.runsOn of a scorer that runs in the hub scorer, and the value of RUNS_ON_LABEL on its
scores.
"""

ADDON_NAME: Final = "gitops-dsf-agent"
"""Name of the ManagedClusterAddOn and ClusterManagementAddOn. It differs from upstream's on
purpose.
"""
ADDON_GROUP: Final = f"system:open-cluster-management:addon:{ADDON_NAME}"
"""Hub group of every registered agent of the add-on."""

DSF_GROUP: Final = "dynamic-scoring.open-cluster-management.io"
DSF_VERSION: Final = "v1alpha1"
# OCM 1.2.1 serves AddOnPlacementScores only in this version.
SCORE_API_VERSION: Final = "cluster.open-cluster-management.io/v1alpha1"
SCORE_GROUP: Final = "cluster.open-cluster-management.io"
SCORE_VERSION: Final = "v1alpha1"
SCORE_PLURAL: Final = "addonplacementscores"

MANAGED_BY_LABEL: Final = "app.kubernetes.io/managed-by"
AGENT_MANAGER: Final = "gitops-dsf-agent"
"""Value of MANAGED_BY_LABEL on AddOnPlacementScores that our agent wrote."""
GENERATOR_MANAGER: Final = "gitops-dsf"
SCORER_LABEL: Final = "gitops-dsf.io/scorer"
RUNS_ON_LABEL: Final = "gitops-dsf.io/runs-on"
"""Label of AddOnPlacementScores that the hub scorer wrote. Those of agents do not have it."""

HUB_SCORER_WRITES_PER_SECOND: Final = 50
"""Scores that the hub scorer publishes per second at most. A small hub peaked near 390 writes."""
DEFAULT_CLUSTERS_PER_REQUEST: Final = 100
"""Most clusters in one scoring request of the hub scorer."""

# One item outside of these limits makes the API server refuse the whole status.
SCORE_MIN: Final = -100
SCORE_MAX: Final = 100
"""AddOnPlacementScore.status.scores[].value: int32, minimum -100, maximum 100 (OCM CRD)."""

MAX_SCORE_ITEMS: Final = 20_000
"""Most items of an AddOnPlacementScore. etcd's limit of 1.5 MiB is reached at about 17,000."""
MAX_ITEM_NAME: Final = 4096
"""Characters of an item's name: seven labels of 253 characters, and the text of a dimension format.
"""

DEFAULT_OUTPUT_MIN: Final = 1
DEFAULT_OUTPUT_MAX: Final = 100
"""Default range of mapped scores. OCM counts a missing score as 0, so the worst real score must be
higher.
"""

# OCM 1.2.1 schedules a Placement again at every write of a score that it ranks by, without a
# debounce. These two bound how often scores that hardly differ cause that.
DEFAULT_DEADBAND: Final = 2
DEFAULT_MIN_INTERVAL_SECONDS: Final = 60

# Nothing in OCM 1.2.1 wakes a Placement when a score expires. At the latest the resync of its
# informers after 10 minutes does, so a shorter TTL would take effect no sooner.
MIN_TTL_SECONDS: Final = 900
TTL_INTERVALS: Final = 10

MAX_POINTS: Final = 11_000
"""Prometheus refuses a range query with more points per series."""


def default_ttl_seconds(interval_seconds: int) -> int:
    """max(900, 10 x interval) seconds: OCM notices expired scores only every 10 minutes."""
    return max(MIN_TTL_SECONDS, TTL_INTERVALS * interval_seconds)
