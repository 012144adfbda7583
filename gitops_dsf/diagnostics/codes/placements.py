"""Codes about Placements and ScoredPlacements: what OCM refuses or ignores, and CEL predicates."""

from gitops_dsf.diagnostics import Severity
from gitops_dsf.diagnostics.code import FindingCode

CEL_WITHOUT_SCORE = FindingCode(
    "DSF186",
    Severity.WARNING,
    "CEL predicate that a cluster without a score passes",
    explanation="""
        For a scorer that never had a score, the agent writes an AddOnPlacementScore that has no
        scores, only the reason. `scores("x")` is then an empty list, for which `all(...)` and
        `!...exists(...)` hold. Without the object the expression would fail and drop the cluster.
        Require what must be there, as `onMissingScore: Exclude` does.
        """,
    bad="""
        # apps/batch.yaml
        spec:
          predicates:
            - requiredClusterSelector:
                celSelector:
                  celExpressions:
                    - managedCluster.scores("cpu-mean").all(score, score.value > 50)
        """,
    good="""
        # apps/batch.yaml
        spec:
          predicates:
            - requiredClusterSelector:
                labelSelector:
                  matchLabels: {env: prod}
        """,
)

CLUSTER_COUNT = FindingCode(
    "DSF312",
    Severity.ERROR,
    "numberOfClusters that evicts everything, or at which the scheduler panics",
    explanation="""
        With `numberOfClusters: 0` OCM selects nothing, and everything that follows the decision
        is evicted. With a negative number its placement controller panics whenever it looks at
        the Placement. Write 1 or more, or leave the field out for all clusters.
        """,
    bad="""
        # apps/batch.yaml
        spec:
          numberOfClusters: 0
        """,
    good="""
        # apps/batch.yaml
        spec:
          numberOfClusters: 1
        """,
)

PRIORITIZER = FindingCode(
    "DSF313",
    Severity.ERROR,
    "prioritizer that OCM refuses",
    explanation="""
        OCM refuses a Placement with this prioritizer, and removes all clusters from its
        decision. Type BuiltIn, the default, needs `builtIn`, and type AddOn needs `addOn`.
        """,
    bad="""
        # apps/batch.yaml
        spec:
          prioritizerPolicy:
            mode: Exact
            configurations:
            - {weight: 1, scoreCoordinate: {type: BuiltIn}}
        """,
    good="""
        # apps/batch.yaml
        spec:
          prioritizerPolicy:
            mode: Exact
            configurations:
            - {weight: 1, scoreCoordinate: {type: BuiltIn, builtIn: Steady}}
        """,
)

DECISION_GROUPS = FindingCode(
    "DSF314",
    Severity.ERROR,
    "decision groups that remove every decision",
    explanation="""
        OCM cannot form these decision groups, and removes all clusters from the decision. In
        quotes the number passes the CRD, but is read as a percentage.
        """,
    bad="""
        # apps/batch.yaml
        spec:
          decisionStrategy: {groupStrategy: {clustersPerDecisionGroup: "5"}}
        """,
    good="""
        # apps/batch.yaml
        spec:
          decisionStrategy: {groupStrategy: {clustersPerDecisionGroup: 5}}
        """,
)

TOLERATION = FindingCode(
    "DSF315",
    Severity.ERROR,
    "toleration that OCM treats as misconfigured",
    explanation="""
        OCM refuses the toleration, and removes all clusters from the decision. Without a key
        the operator must be Exists, and Exists takes no value.
        """,
    bad="""
        # apps/batch.yaml
        spec:
          tolerations: [{key: maintenance, operator: Exists, value: "true"}]
        """,
    good="""
        # apps/batch.yaml
        spec:
          tolerations: [{key: maintenance, operator: Exists}]
        """,
)

CEL_PREDICATE = FindingCode(
    "DSF316",
    Severity.WARNING,
    "CEL predicate that can drop clusters silently",
    explanation="""
        OCM drops a cluster on which a CEL expression fails, for instance because the cluster lacks
        the label, and reports nothing. The expressions are run on the clusters of `clusters/`; what
        only the hub knows, such as most claims, is not checked. CEL also reads scores that have
        expired. Guard the field with `has(...)`, and rank by scores with a prioritizer.
        """,
    bad="""
        # apps/batch.yaml
        spec:
          predicates:
            - requiredClusterSelector:
                celSelector:
                  celExpressions:
                    - managedCluster.metadata.labels.tier == "gold"
        """,
    good="""
        # apps/batch.yaml
        spec:
          predicates:
            - requiredClusterSelector:
                celSelector:
                  celExpressions:
                    - managedCluster.metadata.labels[?"tier"].orValue("") == "gold"
        """,
)

IMPLICIT_DEFAULT = FindingCode(
    "DSF317",
    Severity.WARNING,
    "default that is not written out",
    explanation="""
        The API server fills in this field, and its default decides what ranks the clusters:
        mode Additive adds OCM's own prioritizers, and the type BuiltIn needs a name. Write the
        value that you mean; the defaults are Additive, BuiltIn and the weight 1. `validate
        --fix` writes them.
        """,
    bad="""
        # apps/batch.yaml
        spec:
          prioritizerPolicy:
            configurations: []
        """,
    good="""
        # apps/batch.yaml
        spec:
          prioritizerPolicy:
            mode: Additive
            configurations: []
        """,
)

PLACEMENT_SHAPE = FindingCode(
    "DSF321",
    Severity.ERROR,
    "field of the wrong shape for OCM or Argo CD",
    explanation="""
        The field has another shape than the CRD of OCM or Argo CD says. The API server refuses
        the object, and the old one stays on the hub. `validate --fix` corrects quotes.
        """,
    bad="""
        # apps/batch.yaml
        spec:
          clusterSets: global
        """,
    good="""
        # apps/batch.yaml
        spec:
          clusterSets: [global]
        """,
)

CEL_SYNTAX = FindingCode(
    "DSF324",
    Severity.ERROR,
    "CEL expression that does not compile, or yields no bool",
    explanation="""
        The expression does not compile, or yields something other than true or false. OCM refuses
        the Placement and removes all clusters from its decision, or drops every cluster without a
        report. Some functions are [not
        checked](docs/decisions/scheduler.md#what-the-simulator-adds).
        """,
    bad="""
        # apps/batch.yaml
        spec:
          predicates:
            - requiredClusterSelector:
                celSelector:
                  celExpressions:
                    - manageCluster.metadata.name != "prod-1"
        """,
    good="""
        # apps/batch.yaml
        spec:
          predicates:
            - requiredClusterSelector:
                celSelector:
                  celExpressions:
                    - managedCluster.metadata.name != "prod-1"
        """,
)

UNREAD_FIELD = FindingCode(
    "DSF325",
    Severity.WARNING,
    "field that OCM accepts and ignores",
    explanation="""
        The CRD of OCM has this field, but no controller of OCM reads it, so it has no effect. The
        hint says what to write instead.
        """,
    bad="""
        # apps/batch.yaml
        spec:
          numberOfClusters: 2
          spreadPolicy:
            spreadConstraints: [{topologyKey: topology.kubernetes.io/zone, topologyKeyType: Label}]
        """,
    good="""
        # apps/batch.yaml
        spec:
          numberOfClusters: 2
        """,
)

UNKNOWN_SCORED_PLACEMENT = FindingCode(
    "DSF326",
    Severity.ERROR,
    "unknown ScoredPlacement",
    explanation="""
        `placement.ref` names a ScoredPlacement that is not in the namespace of Argo CD. The
        application would follow no decision and never run.
        """,
    bad="""
        # apps/web.yaml
        spec:
          placement: {ref: shared}
          scores:
        """,
    good="""
        # apps/web.yaml
        spec:
          placement: {numberOfClusters: 1}
          scores: [{scorer: cpu-forecast}]
        """,
)

REFERENCE_AND_RANKING = FindingCode(
    "DSF327",
    Severity.ERROR,
    "ranking beside a reference to a ScoredPlacement",
    explanation="""
        An application with `placement.ref` follows the decision of a ScoredPlacement. A ranking
        or a choice of clusters beside it has no effect. Remove it here, or remove
        `placement.ref`.
        """,
    bad="""
        # apps/web.yaml
        spec:
          placement: {ref: frontends}
          scores: [{scorer: cpu-forecast}]
        """,
    good="""
        # apps/web.yaml
        spec:
          placement: {numberOfClusters: 1}
          scores: [{scorer: cpu-forecast}]
        """,
)
