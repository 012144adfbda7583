"""Codes about the scores and the built-in prioritizers by which applications rank clusters."""

from gitops_dsf.diagnostics import Severity
from gitops_dsf.diagnostics.code import FindingCode

UNKNOWN_SCORER = FindingCode(
    "DSF301",
    Severity.ERROR,
    "unknown scorer",
    explanation="""
        The ranking names a scorer that does not exist, cannot run yet, or whose score has no
        known name. OCM counts a score that nobody publishes as 0 on every cluster, and reports
        nothing, so the score would not rank at all.
        """,
    bad="""
        # apps/web.yaml
        spec:
          scores:
            - scorer: cpu-forcast
        """,
    good="""
        # apps/web.yaml
        spec:
          scores:
            - scorer: cpu-forecast
        """,
)

SCORE_NOT_RUNNING = FindingCode(
    "DSF302",
    Severity.ERROR,
    "score that no eligible cluster publishes",
    explanation="""
        No cluster that the application may choose publishes this score: its scorer runs on none
        of them, or has `scoreDestination: None`. OCM counts it as 0 on all of them, so it ranks
        nothing. Correct the selectors or the masks. A score that verifies moves must be published
        on each of them; if it is missing on some, this is a warning.
        """,
    bad="""
        # apps/web.yaml
        spec:
          placement:
            clusterSelector: {matchLabels: {env: edge}}
        """,
    good="""
        # apps/web.yaml
        spec:
          placement:
            clusterSelector: {matchLabels: {env: prod}}
        """,
)

DIMENSION = FindingCode(
    "DSF303",
    Severity.ERROR,
    "dimension that no fixed name can match",
    explanation="""
        The Placement asks for an item name that this scorer never publishes, or names none
        although the scorer publishes several. OCM would find no score and count 0. Write a
        dimension that the format yields on every cluster, or a format without labels. A
        placeholder such as `${app}` is not filled in here: write the name itself. The same holds
        for a score that verifies moves, which would never be known.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          scoreDimensionFormat: ${node}
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          scoreDimensionFormat: ${scoreName}
        """,
)

MISSING_BEATS_REAL = FindingCode(
    "DSF304",
    Severity.WARNING,
    "missing score that beats real ones",
    explanation="""
        OCM counts a missing score as 0. With negative scores or a negative weight, a cluster
        without the score beats clusters that have one, so a broken agent attracts workload.
        Give the scorer a scoreRange from 1 to 100, or write `onMissingScore: Exclude`.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          scoreRange: {min: 0, max: 100, outputMin: -100}
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          scoreRange: {min: 0, max: 100, outputMin: 1}
        """,
)

ZERO_WEIGHT = FindingCode(
    "DSF307",
    Severity.WARNING,
    "score that has no effect",
    explanation="""
        OCM does not run a prioritizer of weight 0, so the score does not rank. Remove the
        entry, or give it a weight.
        """,
    bad="""
        # apps/web.yaml
        spec:
          scores:
            - scorer: cpu-forecast
            - {scorer: cpu-mean, weight: 0}
        """,
    good="""
        # apps/web.yaml
        spec:
          scores:
            - scorer: cpu-forecast
            - {scorer: cpu-mean, weight: 1}
        """,
)

DUPLICATE_COORDINATE = FindingCode(
    "DSF308",
    Severity.ERROR,
    "score listed twice",
    explanation="""
        The ranking lists one score twice. OCM adds the weights of an AddOn score, and uses the last
        weight of a BuiltIn prioritizer; neither is what the list suggests. Keep one entry with the
        weight that you mean. The same holds for a check in `moves.verify`: two bounds of one score
        are fine, and the same bound twice is a mistake.
        """,
    bad="""
        # apps/web.yaml
        spec:
          scores:
            - {scorer: cpu-forecast, weight: 2}
            - {scorer: cpu-forecast, weight: 1}
        """,
    good="""
        # apps/web.yaml
        spec:
          scores:
            - {scorer: cpu-forecast, weight: 2}
            - {scorer: cpu-mean, weight: 1}
        """,
)

SCORE_SUSPENDED = FindingCode(
    "DSF322",
    Severity.WARNING,
    "score of a suspended scorer",
    explanation="""
        The scorer is suspended, so its scores are removed everywhere, and OCM counts them as 0
        on every cluster. Moves that it verifies stay undecided. Remove the score here while the
        scorer is suspended.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          suspend: true
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          suspend: false
        """,
)

BUILT_IN_REFUSED = FindingCode(
    "DSF379",
    Severity.ERROR,
    "built-in prioritizer where only scores can rank",
    explanation="""
        Paced moves and the order of clusters for jobs are decided by scores, corrected for what
        moves and jobs do to them. OCM's own prioritizers cannot be corrected: Balance changes with
        each move of any Placement, and the resources of a cluster are compared with those of the
        best and the worst eligible one. Rank by scores, or do not pace the application.
        """,
    bad="""
        # gitops-dsf.yaml
        spec:
          pace: {}
        # apps/web.yaml
        spec:
          placement: {numberOfClusters: 1}
          scores:
            - builtIn: ResourceAllocatableMemory
        """,
    good="""
        # gitops-dsf.yaml
        spec:
          pace: {}
        # apps/web.yaml
        spec:
          placement: {numberOfClusters: 1}
          scores:
            - builtIn: ResourceAllocatableMemory
          moves: {pace: None}
        """,
)

BALANCE_SWINGS = FindingCode(
    "DSF380",
    Severity.NOTICE,
    "Balance that the stickiness does not hold",
    explanation="""
        Balance compares how many decisions of other Placements name a cluster, with the busiest
        cluster of the hub. On a hub with few decisions, one more changes it by up to 200 points.
        So Placements that rank by it can displace each other in turns: each move of one is a
        reason for the next. OCM looks at Balance only when something else changes, or after ten
        minutes. Write a stickiness that such a change does not overcome, if that matters.
        """,
    bad="""
        # apps/web.yaml
        spec:
          placement: {numberOfClusters: 1}
          scores:
            - {scorer: cpu-forecast, weight: 4}
            - {builtIn: Balance, weight: 1}
          stickiness: 20
        """,
    good="""
        # apps/web.yaml
        spec:
          placement: {numberOfClusters: 1}
          scores:
            - {scorer: cpu-forecast, weight: 4}
            - {builtIn: Balance, weight: 1}
          stickiness: 40
        """,
)

NO_RESOURCES = FindingCode(
    "DSF381",
    Severity.WARNING,
    "cluster without the resources that rank",
    explanation="""
        OCM ranks by allocatable CPU or memory from -100 for the least to 100 for the most of the
        eligible clusters. A cluster that does not report `allocatable` and `capacity` counts as 0,
        so it beats every cluster below the middle. `import --resources` brings both into
        clusters/.
        """,
    bad="""
        # clusters/edge.yaml
        apiVersion: cluster.open-cluster-management.io/v1
        kind: ManagedCluster
        metadata:
          name: edge-1
          labels: {env: prod, cluster.open-cluster-management.io/clusterset: fleet}
        status:
          allocatable: {memory: 64Gi}
          capacity: {memory: 64Gi}
        # apps/web.yaml
        spec:
          scores:
            - builtIn: ResourceAllocatableMemory
        """,
    good="""
        # apps/web.yaml
        spec:
          scores:
            - builtIn: ResourceAllocatableMemory
        """,
)
