"""Codes DSF3xx: applications, Placements and maintenance."""

from gitops_dsf.diagnostics import Severity
from gitops_dsf.diagnostics.code import Code

UNKNOWN_SCORER = Code(
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

SCORE_NOT_RUNNING = Code(
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

DIMENSION = Code(
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

MISSING_BEATS_REAL = Code(
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

STICKINESS = Code(
    "DSF305",
    Severity.ERROR,
    "stickiness that cannot be expressed",
    explanation="""
        OCM keeps a decision by the weight of its prioritizer Steady, and weights are whole
        numbers up to 10. A cluster must lead by 100 x *t* / *s* points, with a Steady weight
        *t* and the sum *s* of the absolute score weights, so only some numbers of points can be
        expressed. The hint names the nearest ones. With `multiKueue` any number is possible:
        the reconciler orders the clusters, and OCM decides for all of them.
        """,
    bad="""
        # apps/web.yaml
        spec:
          stickiness: 15
        """,
    good="""
        # apps/web.yaml
        spec:
          stickiness: 20
        """,
)

REPLACE_EXCLUDE = Code(
    "DSF306",
    Severity.ERROR,
    "Replace together with Exclude",
    explanation="""
        With `onMissingScore: Exclude` a cluster that loses its score leaves the decision, and
        with `moves.strategy: Replace` its copy is deleted at once. A scoring API that fails for
        a moment would delete the application everywhere. Use MakeBeforeBreak, or another
        onMissingScore.
        """,
    bad="""
        # apps/web.yaml
        spec:
          onMissingScore: Exclude
          moves: {strategy: Replace}
        """,
    good="""
        # apps/web.yaml
        spec:
          onMissingScore: Exclude
          moves: {strategy: MakeBeforeBreak}
        """,
)

ZERO_WEIGHT = Code(
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

DUPLICATE_COORDINATE = Code(
    "DSF308",
    Severity.ERROR,
    "score listed twice",
    explanation="""
        The ranking lists one score twice. OCM adds the weights of an AddOn score, and uses the
        last weight of a BuiltIn prioritizer; neither is what the list looks like. Keep one
        entry with the weight that you mean. The same holds for a check in `moves.verify`: two
        bounds of one score are fine, and the same bound twice is a mistake.
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

UNKNOWN_SET = Code(
    "DSF309",
    Severity.ERROR,
    "unknown ManagedClusterSet",
    explanation="""
        The ManagedClusterSet is not in `clusters/`. OCM ignores a set that does not exist, so
        its clusters could not be chosen. `default` and `global` exist on every hub.
        """,
    bad="""
        # apps/web.yaml
        spec:
          placement:
            numberOfClusters: 1
            clusterSets: [globl]
        """,
    good="""
        # apps/web.yaml
        spec:
          placement:
            numberOfClusters: 1
            clusterSets: [global]
        """,
)

NO_ELIGIBLE_CLUSTER = Code(
    "DSF310",
    Severity.ERROR,
    "no eligible cluster",
    explanation="""
        Sets, selector and tolerations leave no cluster of the inventory, so the application
        would run nowhere. `spec.allowUnmatchedSelectors: true` makes it a warning, for clusters
        that join later.
        """,
    bad="""
        # apps/web.yaml
        spec:
          placement:
            clusterSelector: {matchLabels: {env: staging}}
        """,
    good="""
        # apps/web.yaml
        spec:
          placement:
            clusterSelector: {matchLabels: {env: prod}}
        """,
)

LONG_NAME = Code(
    "DSF311",
    Severity.ERROR,
    "name too long for where it is used",
    explanation="""
        The name becomes a label value, and is too long for that. OCM writes no decision for such a
        Placement, and only its controller's log says so. Choose a shorter name.
        """,
    bad="""
        # apps/web.yaml
        metadata:
          name: a-web-application-with-a-name-of-more-than-sixty-three-characters
        """,
    good="""
        # apps/web.yaml
        metadata:
          name: web
        """,
)

CLUSTER_COUNT = Code(
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

PRIORITIZER = Code(
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

DECISION_GROUPS = Code(
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

TOLERATION = Code(
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

CEL_PREDICATE = Code(
    "DSF316",
    Severity.WARNING,
    "CEL predicate that can drop clusters silently",
    explanation="""
        OCM drops a cluster on which a CEL expression fails, for instance because the cluster
        lacks the label, and reports nothing. The expressions are run on the clusters of
        `clusters/`; what only the hub knows, such as most claims, is not judged. CEL also reads
        scores that have expired. Guard the field with `has(...)`, and rank by scores with a
        prioritizer.
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

IMPLICIT_DEFAULT = Code(
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

NO_STEADY = Code(
    "DSF318",
    Severity.WARNING,
    "placement without stickiness",
    explanation="""
        Nothing holds the decision: as soon as another cluster is one point better, the workload
        moves. Write the points of a lead that is worth a move as `stickiness`, or add the
        prioritizer Steady to a Placement.
        """,
    bad="""
        # apps/web.yaml
        spec:
          stickiness: 0
        """,
    good="""
        # apps/web.yaml
        spec:
          stickiness: 10
        """,
)

MANY_DECISIONS = Code(
    "DSF320",
    Severity.WARNING,
    "more than 100 clusters in one decision",
    explanation="""
        OCM writes a decision of more than 100 clusters as several objects, and updates them one
        after another. A cluster that changes its object is in none of them for a moment, and
        Replace would delete its copy. MakeBeforeBreak and Keep delete no cluster that OCM
        [moves between objects](docs/decisions/scheduler.md#more-than-a-hundred-clusters).
        """,
    unshown="the smallest example has 101 clusters",
)

PLACEMENT_SHAPE = Code(
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

SCORE_SUSPENDED = Code(
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

FOREIGN_SCORE = Code(
    "DSF323",
    Severity.WARNING,
    "score that no scorer here publishes",
    explanation="""
        No scorer of this repository publishes the score. If another add-on does, declare it under
        `spec.externalScores` of gitops-dsf.yaml. Otherwise OCM counts it as 0 on every cluster, and
        it ranks nothing.
        """,
    bad="""
        # apps/batch.yaml
        spec:
          prioritizerPolicy:
            mode: Exact
            configurations:
              - {weight: 1, scoreCoordinate: {type: BuiltIn, builtIn: Steady}}
              - weight: 2
                scoreCoordinate:
                  type: AddOn
                  addOn: {resourceName: disk, scoreName: disk}
        """,
    good="""
        # apps/batch.yaml
        spec:
          prioritizerPolicy:
            mode: Exact
            configurations:
              - {weight: 1, scoreCoordinate: {type: BuiltIn, builtIn: Steady}}
              - weight: 2
                scoreCoordinate:
                  type: AddOn
                  addOn: {resourceName: cpu-mean, scoreName: cpu_mean}
        """,
)

CEL_SYNTAX = Code(
    "DSF324",
    Severity.ERROR,
    "CEL expression that does not compile, or yields no bool",
    explanation="""
        The expression does not compile, or yields something else than true or false. OCM
        refuses the Placement and removes all clusters from its decision, or drops every cluster
        without a report. Some functions are [not
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

UNREAD_FIELD = Code(
    "DSF325",
    Severity.WARNING,
    "field that OCM accepts and ignores",
    explanation="""
        The CRD of OCM has this field, and none of its controllers reads it, so it has no
        effect. The hint names what does.
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

UNKNOWN_SCORED_PLACEMENT = Code(
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

REFERENCE_AND_RANKING = Code(
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

SOURCE_PATH = Code(
    "DSF335",
    Severity.ERROR,
    "path outside of the repository",
    explanation="""
        The path leads out of the repository, is absolute, or has backslashes. Argo CD refuses
        the Application. A path is relative to the root of the repository, with `/` between
        folders. This holds for sources of applications and ApplicationSets, and for
        `spec.git.path` of gitops-dsf.yaml.
        """,
    bad="""
        # apps/web.yaml
        spec:
          application:
            source:
              path: deploy\\eu
        """,
    good="""
        # apps/web.yaml
        spec:
          application:
            source:
              path: deploy/eu
        """,
)

REPOSITORY_URL = Code(
    "DSF336",
    Severity.ERROR,
    "repoURL that Argo CD cannot fetch",
    explanation="""
        Argo CD cannot fetch a repository from this URL and reports the Application as invalid.
        Git URLs have `https`, `http`, `ssh`, `git` or `file`, or the form
        `git@host:owner/repository.git`; OCI URLs have `oci://`. The rule holds wherever a URL
        is named: in the sources of applications and ApplicationSets, in their generators'
        templates, in git generators, and in `drySource`. What an action of a template writes is
        not judged.
        """,
    bad="""
        # apps/web.yaml
        spec:
          application:
            source:
              repoURL: htps://git.example.com/web.git
        """,
    good="""
        # apps/web.yaml
        spec:
          application:
            source:
              repoURL: https://git.example.com/web.git
        """,
)

UNKNOWN_SET_OF_CLUSTER = Code(
    "DSF340",
    Severity.WARNING,
    "cluster in a set that does not exist",
    explanation="""
        The label puts the cluster into a ManagedClusterSet that is not in `clusters/`. Only
        applications that choose from the set `global` can use the cluster. Correct the label,
        or write the set.
        """,
    bad="""
        # clusters/edge.yaml
        metadata:
          name: edge-1
          labels: {env: edge, cluster.open-cluster-management.io/clusterset: defualt}
        """,
    good="""
        # clusters/edge.yaml
        metadata:
          name: edge-1
          labels: {env: edge, cluster.open-cluster-management.io/clusterset: default}
        """,
)

PLATFORM_DESTINATION = Code(
    "DSF341",
    Severity.WARNING,
    "application in a namespace of the platform",
    explanation="""
        The application is deployed into one of the [namespaces of the
        platform](#dsf210-cluster-named-like-a-namespace-of-the-platform) other than `default`.
        Who may write there controls the cluster or the fleet. Choose a namespace of the
        application's own.
        """,
    bad="""
        # apps/web.yaml
        spec:
          application:
            destinationNamespace: kube-system
        """,
    good="""
        # apps/web.yaml
        spec:
          application:
            destinationNamespace: web
        """,
)

GO_TEMPLATE = Code(
    "DSF342",
    Severity.ERROR,
    "template that Argo CD cannot run",
    explanation="""
        Argo CD cannot parse or run the template. It then generates no Application of the whole
        ApplicationSet, and those that exist are not updated.
        """,
    bad="""
        # apps/web.yaml
        spec:
          application:
            source:
              path: overlays/{{.name
        """,
    good="""
        # apps/web.yaml
        spec:
          application:
            source:
              path: overlays/{{.name}}
        """,
)

TEMPLATE_PARAMETER = Code(
    "DSF343",
    Severity.ERROR,
    "parameter that the generator does not give",
    explanation="""
        The generator gives no such parameter. Argo CD generates no Application, or leaves the
        braces as they are. A decision gives `.name`, `.clusterName`, `.server` and `.reason`,
        the inventory `.labels` and `.claims`.
        """,
    bad="""
        # apps/web.yaml
        spec:
          application:
            source:
              path: overlays/{{.cluster.name}}
        """,
    good="""
        # apps/web.yaml
        spec:
          application:
            source:
              path: overlays/{{.clusterName}}
        """,
)

TEMPLATE_COST = Code(
    "DSF344",
    Severity.ERROR,
    "template that is expensive for Argo CD",
    explanation="""
        The template could need much memory or time. All teams share the ApplicationSet
        controller, [so everybody's deployments would
        wait](docs/reference/generator.md#templates-in-an-application). Write less into it; it is a
        warning where the cost depends on parameters.
        """,
    bad="""
        # apps/web.yaml
        spec:
          application:
            source:
              path: '{{ repeat 400000000 "x" }}'
        """,
    good="""
        # apps/web.yaml
        spec:
          application:
            source:
              path: '{{ lower .name }}'
        """,
)

TEMPLATE_LANGUAGE = Code(
    "DSF345",
    Severity.ERROR,
    "Go template without goTemplate",
    explanation="""
        The ApplicationSet has Go templates and does not set `goTemplate`. Argo CD then leaves
        the braces as they are. Write `spec.goTemplate: true`.
        """,
    bad="""
        # apps/set.yaml
        spec:
          goTemplate: false
        """,
    good="""
        # apps/set.yaml
        spec:
          goTemplate: true
        """,
)

AMBIGUOUS_SOURCE = Code(
    "DSF346",
    Severity.ERROR,
    "source with contradicting fields",
    explanation="""
        The source says two things of which Argo CD takes one. It refuses two sources with one
        `ref`, and more than one of `helm`, `kustomize`, `directory` and `plugin`. Beside
        `sources`, which it takes alone, `source` is a warning. With `chart`, it does not read
        `path`.
        """,
    bad="""
        # apps/web.yaml
        spec:
          application:
            source:
              repoURL: https://git.example.com/web.git
              path: deploy
              helm: {releaseName: web}
              kustomize: {namePrefix: web-}
        """,
    good="""
        # apps/web.yaml
        spec:
          application:
            source:
              repoURL: https://git.example.com/web.git
              path: deploy
              helm: {releaseName: web}
        """,
)

UNKNOWN_REFERENCE = Code(
    "DSF347",
    Severity.ERROR,
    "value file of an unknown source",
    explanation="""
        `$NAME/` at the start of a value file stands for the source whose `ref` is NAME. No
        source has this `ref`, so Helm would not find the file.
        """,
    bad="""
        # apps/web.yaml
        spec:
          application:
            source:
            sources:
              - repoURL: https://charts.example.com
                chart: web
                targetRevision: 1.0.0
                helm: {valueFiles: [$values/web.yaml]}
              - {repoURL: https://git.example.com/web.git, ref: value}
            destinationNamespace: web
        """,
    good="""
        # apps/web.yaml
        spec:
          application:
            source:
            sources:
              - repoURL: https://charts.example.com
                chart: web
                targetRevision: 1.0.0
                helm: {valueFiles: [$values/web.yaml]}
              - {repoURL: https://git.example.com/web.git, ref: values}
            destinationNamespace: web
        """,
)

PACE_WEIGHTS = Code(
    "DSF348",
    Severity.ERROR,
    "weights that cannot hold a paced Placement",
    explanation="""
        OCM holds a [paced](docs/decisions/paced-moves.md) decision, and carries out a move, while
        the sum of |weight| x span stays below 500, with the weights in the smallest whole
        numbers of the same proportions. With these weights a difference of scores could decide
        alone, without the pace. The message has both divided by the weights, as
        [points](docs/start/concepts.md). A score without `scoreRange` spans 200 points.
        """,
    bad="""
        # gitops-dsf.yaml
        spec:
          pace: {concurrent: 2}
        # apps/web.yaml
        spec:
          stickiness: 50
          scores:
            - {scorer: cpu-forecast, weight: 9}
            - {scorer: cpu-mean, weight: 1}
        """,
    good="""
        # gitops-dsf.yaml
        spec:
          pace: {concurrent: 2}
        # apps/web.yaml
        spec:
          stickiness: 50
          scores:
            - {scorer: cpu-forecast, weight: 3}
            - {scorer: cpu-mean, weight: 1}
        """,
)

PACE_WITHOUT_RECONCILER = Code(
    "DSF349",
    Severity.ERROR,
    "pace without the reconciler",
    explanation="""
        `spec.pace` makes the reconciler admit the moves of applications. Without the reconciler
        no application would ever move by its scores. Enable it, or remove `pace`.
        """,
    bad="""
        # gitops-dsf.yaml
        spec:
          pace: {concurrent: 2}
          reconciler:
            enabled: false
        """,
    good="""
        # gitops-dsf.yaml
        spec:
          pace: {concurrent: 2}
          reconciler:
            enabled: true
        """,
)

PACE_FIELD = Code(
    "DSF350",
    Severity.WARNING,
    "field of paced moves that has no effect",
    explanation="""
        The field is about paced moves, and this application is not paced: a demand is assumed,
        and a pace kept, only for applications that choose some of their clusters by a ranking
        of their own in a repository with `spec.pace`.
        """,
    bad="""
        # apps/web.yaml
        spec:
          scores:
            - {scorer: cpu-forecast, demand: 5}
        """,
    good="""
        # apps/web.yaml
        spec:
          scores:
            - {scorer: cpu-forecast}
        """,
)

WINDOW_NEVER_OPENS = Code(
    "DSF351",
    Severity.ERROR,
    "maintenance window that never opens",
    explanation="""
        The window ends before it begins, or opens and closes at the same time, so the
        maintenance would never take place. With a weekly window, `to` before `from` is on the
        next day.
        """,
    bad="""
        # config/maintenance.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: Maintenance
        metadata: {name: patch}
        spec:
          action: Cordon
          clusters: [prod-1]
          start: "2026-11-24T20:00:00+01:00"
          end: "2026-11-24T04:00:00+01:00"
        """,
    good="""
        # config/maintenance.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: Maintenance
        metadata: {name: patch}
        spec:
          action: Cordon
          clusters: [prod-1]
          start: "2026-11-24T20:00:00+01:00"
          end: "2026-11-25T04:00:00+01:00"
        """,
)

WINDOW_CLOCKS = Code(
    "DSF352",
    Severity.WARNING,
    "maintenance window during a clock change",
    explanation="""
        Once a year a local time does not exist, and once it exists twice
        ([Maintenance](docs/decisions/maintenance.md#windows)). The window begins or ends at such
        a time and would be shorter or longer on that day. Write another time, or `zone: UTC`.
        """,
    bad="""
        # config/maintenance.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: Maintenance
        metadata: {name: patch}
        spec:
          action: Cordon
          clusters: [prod-1]
          schedule: {days: [Sun], from: "02:30", to: "05:00", zone: Europe/Berlin}
        """,
    good="""
        # config/maintenance.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: Maintenance
        metadata: {name: patch}
        spec:
          action: Cordon
          clusters: [prod-1]
          schedule: {days: [Sun], from: "03:30", to: "05:00", zone: Europe/Berlin}
        """,
)

WINDOWS_OVERLAP = Code(
    "DSF353",
    Severity.WARNING,
    "maintenance windows of one cluster that overlap",
    explanation="""
        Windows of two Maintenance documents are open for one cluster at the same time, and both
        hold. While Freeze is open, nothing leaves by Drain. Remove one, or let one end before
        the other begins.
        """,
    bad="""
        # config/maintenance.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: Maintenance
        metadata: {name: patch}
        spec:
          action: Cordon
          clusters: [edge-1]
          start: "2026-11-24T20:00:00+01:00"
          end: "2026-11-25T04:00:00+01:00"
        # config/upgrade.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: Maintenance
        metadata: {name: upgrade}
        spec:
          action: Cordon
          clusters: [edge-1]
          start: "2026-11-25T02:00:00+01:00"
          end: "2026-11-25T06:00:00+01:00"
        """,
    good="""
        # config/maintenance.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: Maintenance
        metadata: {name: patch}
        spec:
          action: Cordon
          clusters: [edge-1]
          start: "2026-11-24T20:00:00+01:00"
          end: "2026-11-25T04:00:00+01:00"
        # config/upgrade.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: Maintenance
        metadata: {name: upgrade}
        spec:
          action: Cordon
          clusters: [edge-1]
          start: "2026-11-25T04:00:00+01:00"
          end: "2026-11-25T06:00:00+01:00"
        """,
)

MAINTENANCE_STRANDS = Code(
    "DSF354",
    Severity.WARNING,
    "maintenance that leaves too few eligible clusters",
    explanation="""
        While the window is open, fewer clusters are left for the application than it asks for.
        Windows that are open at once count together. What runs on a cordoned cluster stays; a
        drain moves what fits elsewhere. Close fewer clusters at a time, or make more of them
        eligible.
        """,
    bad="""
        # config/maintenance.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: Maintenance
        metadata: {name: patch}
        spec:
          action: Cordon
          clusters: [prod-1, edge-1]
          start: "2026-11-24T20:00:00+01:00"
          end: "2026-11-25T04:00:00+01:00"
        """,
    good="""
        # config/maintenance.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: Maintenance
        metadata: {name: patch}
        spec:
          action: Cordon
          clusters: [edge-1]
          start: "2026-11-24T20:00:00+01:00"
          end: "2026-11-25T04:00:00+01:00"
        """,
)

MAINTENANCE_NEEDS = Code(
    "DSF355",
    Severity.ERROR,
    "maintenance without spec.pace",
    explanation="""
        Drain and Freeze are about [paced moves](docs/decisions/paced-moves.md), which need
        `spec.pace` and the reconciler. Without them nothing would move, and nothing would be
        held. Write `spec.pace`, or `action: Cordon`.
        """,
    bad="""
        # config/maintenance.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: Maintenance
        metadata: {name: patch}
        spec:
          action: Drain
          clusters: [edge-1]
          start: "2026-11-24T20:00:00+01:00"
          end: "2026-11-25T04:00:00+01:00"
        """,
    good="""
        # config/maintenance.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: Maintenance
        metadata: {name: patch}
        spec:
          action: Cordon
          clusters: [edge-1]
          start: "2026-11-24T20:00:00+01:00"
          end: "2026-11-25T04:00:00+01:00"
        """,
)

UNKNOWN_IN_MAINTENANCE = Code(
    "DSF356",
    Severity.ERROR,
    "maintenance of something that does not exist",
    explanation="""
        The maintenance names a cluster or an application that is not in this repository. What
        is meant would not be protected while somebody works on it. Correct the name.
        """,
    bad="""
        # config/maintenance.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: Maintenance
        metadata: {name: patch}
        spec:
          action: Cordon
          clusters: [edge1]
          start: "2026-11-24T20:00:00+01:00"
          end: "2026-11-25T04:00:00+01:00"
        """,
    good="""
        # config/maintenance.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: Maintenance
        metadata: {name: patch}
        spec:
          action: Cordon
          clusters: [edge-1]
          start: "2026-11-24T20:00:00+01:00"
          end: "2026-11-25T04:00:00+01:00"
        """,
)

MANY_WINDOWS = Code(
    "DSF357",
    Severity.ERROR,
    "more than 200 Maintenance documents",
    explanation="""
        A repository may have 200 Maintenance documents, because each pair of windows is
        compared. Remove those that are past, or let one document name several clusters.
        """,
    unshown="the smallest example has 201 documents",
)

CLUSTER_LACKS = Code(
    "DSF358",
    Severity.ERROR,
    "label or claim that a cluster lacks",
    explanation="""
        A [template](docs/reference/generator.md#templates-in-an-application) reads a label or claim
        that a cluster does not have, and the application may run there. The text would be empty,
        such as a path without its last folder. Add the label, or write a default into the template.
        A label that no cluster has is a warning where another text stands in for it.
        """,
    bad="""
        # apps/web.yaml
        spec:
          application:
            source:
              path: overlays/{{ .labels.region }}
        """,
    good="""
        # apps/web.yaml
        spec:
          application:
            source:
              path: overlays/{{ .labels.env }}
        """,
)

PLACEMENT_NAMESPACE = Code(
    "DSF360",
    Severity.ERROR,
    "Placement in a namespace of the platform or of a cluster",
    explanation="""
        The AppProject allows the namespace of each Placement, and all kinds that are rendered
        in it. So a merged file could put objects into one of the [namespaces of the
        platform](#dsf210-cluster-named-like-a-namespace-of-the-platform), of which only Argo
        CD's is allowed, or into the namespace of a cluster. The agents of the cluster have
        rights there, and it is deleted when the cluster leaves the hub. Write the namespace of
        the program that reads the decision.
        """,
    bad="""
        # apps/training.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: ScoredPlacement
        metadata:
          name: training
          namespace: kube-system
        spec: {scores: [{scorer: cpu-forecast}], placement: {numberOfClusters: 1}}
        """,
    good="""
        # apps/training.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: ScoredPlacement
        metadata:
          name: training
          namespace: kueue-system
        spec: {scores: [{scorer: cpu-forecast}], placement: {numberOfClusters: 1}}
        """,
)

APPLICATION_NAME = Code(
    "DSF361",
    Severity.ERROR,
    "Application that two ApplicationSets generate",
    explanation="""
        The Application of an application on a cluster is named APPLICATION-CLUSTER. `web-prod`
        on the cluster `2` and `web` on the cluster `prod-2` are both `web-prod-2`. It stays
        with the ApplicationSet that was first, and the other application never runs there. Only
        clusters that both may use count. Rename one of the two.
        """,
    bad="""
        # clusters/second.yaml
        apiVersion: cluster.open-cluster-management.io/v1
        kind: ManagedCluster
        metadata: {name: prod-2, labels: {env: prod}}
        # clusters/third.yaml
        apiVersion: cluster.open-cluster-management.io/v1
        kind: ManagedCluster
        metadata: {name: "2", labels: {env: prod}}
        # apps/more.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: ScoredApplication
        metadata:
          name: web-prod
        spec:
          application:
            source: {repoURL: https://git.example.com/web.git, path: deploy}
            destinationNamespace: more
          scores: [{scorer: cpu-forecast}]
          placement: {numberOfClusters: 1}
        """,
    good="""
        # clusters/second.yaml
        apiVersion: cluster.open-cluster-management.io/v1
        kind: ManagedCluster
        metadata: {name: prod-2, labels: {env: prod}}
        # clusters/third.yaml
        apiVersion: cluster.open-cluster-management.io/v1
        kind: ManagedCluster
        metadata: {name: "2", labels: {env: prod}}
        # apps/more.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: ScoredApplication
        metadata:
          name: prod-web
        spec:
          application:
            source: {repoURL: https://git.example.com/web.git, path: deploy}
            destinationNamespace: more
          scores: [{scorer: cpu-forecast}]
          placement: {numberOfClusters: 1}
        """,
)

OWN_APPLICATION = Code(
    "DSF362",
    Severity.ERROR,
    "Application named like one of rendered/argocd",
    explanation="""
        No ApplicationSet owns the Applications of `rendered/argocd`. Argo CD lets one that
        generates such a name replace source and project of the Application, and the fleet
        repository is no longer applied. Choose another name.
        """,
    bad="""
        # clusters/second.yaml
        apiVersion: cluster.open-cluster-management.io/v1
        kind: ManagedCluster
        metadata: {name: delivery, labels: {env: prod}}
        # apps/more.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: ScoredApplication
        metadata:
          name: gitops-dsf
        spec:
          application:
            source: {repoURL: https://git.example.com/docs.git, path: deploy}
            destinationNamespace: docs
          scores: [{scorer: cpu-forecast}]
          placement: {numberOfClusters: 1}
        """,
    good="""
        # clusters/second.yaml
        apiVersion: cluster.open-cluster-management.io/v1
        kind: ManagedCluster
        metadata: {name: delivery, labels: {env: prod}}
        # apps/more.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: ScoredApplication
        metadata:
          name: docs
        spec:
          application:
            source: {repoURL: https://git.example.com/docs.git, path: deploy}
            destinationNamespace: docs
          scores: [{scorer: cpu-forecast}]
          placement: {numberOfClusters: 1}
        """,
)

UNREACHABLE_STICKINESS = Code(
    "DSF363",
    Severity.WARNING,
    "stickiness that no score overcomes",
    explanation="""
        By the `scoreRange` of the scorers no cluster can lead by as many points as the
        stickiness, so the application stays where it is first, whatever happens. The same holds
        for a weight of Steady in a Placement. Write a smaller stickiness.
        """,
    bad="""
        # apps/web.yaml
        spec:
          placement:
            numberOfClusters: 1
          stickiness: 100
        """,
    good="""
        # apps/web.yaml
        spec:
          placement:
            numberOfClusters: 1
          stickiness: 50
        """,
)

TOO_FEW_CLUSTERS = Code(
    "DSF364",
    Severity.WARNING,
    "more clusters than are eligible",
    explanation="""
        The application asks for more clusters than it may choose. All eligible clusters are
        chosen, whatever their scores are, and the rest of the decision stays empty. With
        `allowUnmatchedSelectors` it is a notice.
        """,
    bad="""
        # apps/web.yaml
        spec:
          placement:
            numberOfClusters: 3
        """,
    good="""
        # apps/web.yaml
        spec:
          placement:
            numberOfClusters: 1
        """,
)

SAME_OBJECTS = Code(
    "DSF365",
    Severity.WARNING,
    "two applications with the same objects",
    explanation="""
        Two applications deploy the same source into one namespace. On a cluster that is chosen
        for both, each undoes what the other does, and when one of them moves away, Argo CD
        deletes the objects of both. Give each a namespace of its own.
        """,
    bad="""
        # apps/more.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: ScoredApplication
        metadata: {name: web-again}
        spec:
          application:
            source: {repoURL: https://git.example.com/web.git, path: deploy}
            destinationNamespace: web
          scores: [{scorer: cpu-forecast}]
          placement: {numberOfClusters: 1}
        """,
    good="""
        # apps/more.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: ScoredApplication
        metadata: {name: web-again}
        spec:
          application:
            source: {repoURL: https://git.example.com/web.git, path: deploy}
            destinationNamespace: web-again
          scores: [{scorer: cpu-forecast}]
          placement: {numberOfClusters: 1}
        """,
)

DEAD_BAND = Code(
    "DSF366",
    Severity.WARNING,
    "dead band above the stickiness",
    explanation="""
        A score that changes by less than `publish.deadband` is written only at half of its TTL.
        So a lead that moves the application may be published late. With several scores the mean
        of their dead bands counts, by weight. Lower the dead band, or write a larger
        stickiness.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          publish: {deadband: 30}
        # apps/web.yaml
        spec:
          placement: {numberOfClusters: 1}
          stickiness: 20
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          publish: {deadband: 5}
        # apps/web.yaml
        spec:
          placement: {numberOfClusters: 1}
          stickiness: 20
        """,
)

UNSTABLE_TEMPLATE = Code(
    "DSF367",
    Severity.WARNING,
    "template with another result each time",
    explanation="""
        Argo CD fills in the template again whenever it looks at the decision. This function
        gives another text each time, so the Application would be updated, and synced, again and
        again. Write a fixed text.
        """,
    bad="""
        # apps/web.yaml
        spec:
          application:
            source:
              path: deploy/{{ randAlpha 5 }}
        """,
    good="""
        # apps/web.yaml
        spec:
          application:
            source:
              path: deploy/blue
        """,
)

TEXTS_AS_A_WHOLE = Code(
    "DSF368",
    Severity.ERROR,
    "labels or claims used as a whole",
    explanation="""
        Only the labels and claims that templates read by name [are
        rendered](docs/reference/generator.md#templates-in-an-application), because all of them
        would be too many. Using the map as a whole would give few of them, or none. Read each label
        by its name.
        """,
    bad="""
        # apps/web.yaml
        spec:
          application:
            source:
              helm: {values: "env: {{ get .labels `env` }}"}
        """,
    good="""
        # apps/web.yaml
        spec:
          application:
            source:
              helm: {values: "env: {{ .labels.env }}"}
        """,
)

BINDING_NAME = Code(
    "DSF370",
    Severity.ERROR,
    "binding that is not named as its set",
    explanation="""
        OCM's webhook refuses a ManagedClusterSetBinding whose name is not that of its set, so
        the Placements of the namespace could not choose from the set.
        """,
    bad="""
        # apps/binding.yaml
        apiVersion: cluster.open-cluster-management.io/v1beta2
        kind: ManagedClusterSetBinding
        metadata: {name: all}
        spec: {clusterSet: global}
        """,
    good="""
        # apps/binding.yaml
        apiVersion: cluster.open-cluster-management.io/v1beta2
        kind: ManagedClusterSetBinding
        metadata: {name: global}
        spec: {clusterSet: global}
        """,
)

BINDING_OWNER = Code(
    "DSF371",
    Severity.WARNING,
    "binding with two owners",
    explanation="""
        `bindings: Existing` says that somebody else keeps the ManagedClusterSetBindings of the
        namespace, and another object in `apps/` has one of them rendered. Argo CD then owns the
        binding, and deletes it when nothing here asks for it any more. Write
        `bindings: Rendered`, or let neither render it.
        [Consumers](docs/decisions/consumers.md) explains bindings.
        """,
    bad="""
        # apps/web.yaml
        spec:
          bindings: Existing
          placement: {numberOfClusters: 1, clusterSets: [global]}
        # apps/batch.yaml
        spec:
          clusterSets: [global]
        """,
    good="""
        # apps/web.yaml
        spec:
          bindings: Rendered
          placement: {numberOfClusters: 1, clusterSets: [global]}
        # apps/batch.yaml
        spec:
          clusterSets: [global]
        """,
)

JOBS_COUNT = Code(
    "DSF372",
    Severity.ERROR,
    "number of clusters with multiKueue",
    explanation="""
        With `numberOfClusters` OCM takes a cluster out of the decision when another one has a
        better score. Kueue takes back the admission of a job whose cluster leaves the
        MultiKueueConfig. The job hangs, and starts from the beginning when the cluster is listed
        again. So the decision has to be all clusters that jobs may run on, and the scores give
        their order, as [Jobs by scores](docs/decisions/multikueue.md) explains. Remove
        `numberOfClusters`; `clusterSets` and `clusterSelector` limit the clusters.
        """,
    bad="""
        # apps/jobs.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: ScoredPlacement
        metadata: {name: gpu-jobs, namespace: kueue-system}
        spec:
          scores: [{scorer: cpu-forecast, demand: 5}]
          multiKueue: {config: gpu-jobs}
          placement: {numberOfClusters: 1}
        """,
    good="""
        # apps/jobs.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: ScoredPlacement
        metadata: {name: gpu-jobs, namespace: kueue-system}
        spec:
          scores: [{scorer: cpu-forecast, demand: 5}]
          multiKueue: {config: gpu-jobs}
        """,
)

CONFIG_WRITERS = Code(
    "DSF373",
    Severity.ERROR,
    "MultiKueueConfig with two writers",
    explanation="""
        Two of these write one MultiKueueConfig: ScoredPlacements with `multiKueue`, OCM's kueue
        add-on for an AdmissionCheck with `controllerName: open-cluster-management.io/placement`,
        and whoever applies a MultiKueueConfig. Each undoes what the other does, and a cluster that
        is taken out of the list loses its running jobs. Give each ScoredPlacement a config of its
        own, and let nobody else write it. [Jobs by scores](docs/decisions/multikueue.md) explains
        how to change over from the add-on.
        """,
    bad="""
        # apps/jobs.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: ScoredPlacement
        metadata: {name: gpu-jobs, namespace: kueue-system}
        spec:
          scores: [{scorer: cpu-forecast, demand: 5}]
          multiKueue: {config: gpu-jobs}
        # apps/more-jobs.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: ScoredPlacement
        metadata: {name: more-jobs, namespace: kueue-system}
        spec:
          scores: [{scorer: cpu-mean}]
          multiKueue: {config: gpu-jobs}
        """,
    good="""
        # apps/jobs.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: ScoredPlacement
        metadata: {name: gpu-jobs, namespace: kueue-system}
        spec:
          scores: [{scorer: cpu-forecast, demand: 5}]
          multiKueue: {config: gpu-jobs}
        # apps/more-jobs.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: ScoredPlacement
        metadata: {name: more-jobs, namespace: kueue-system}
        spec:
          scores: [{scorer: cpu-mean}]
          multiKueue: {config: more-jobs}
        """,
)

ORDER_WITHOUT_RECONCILER = Code(
    "DSF374",
    Severity.ERROR,
    "multiKueue without the reconciler",
    explanation="""
        The reconciler writes the MultiKueueConfig that `multiKueue` names. Without the reconciler
        there is none, and Kueue sends no job to any cluster. Enable it, or remove `multiKueue`.
        """,
    bad="""
        # gitops-dsf.yaml
        spec:
          reconciler:
            enabled: false
        # apps/jobs.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: ScoredPlacement
        metadata: {name: gpu-jobs, namespace: kueue-system}
        spec:
          scores: [{scorer: cpu-forecast, demand: 5}]
          multiKueue: {config: gpu-jobs}
        """,
    good="""
        # gitops-dsf.yaml
        spec:
          reconciler:
            enabled: true
        # apps/jobs.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: ScoredPlacement
        metadata: {name: gpu-jobs, namespace: kueue-system}
        spec:
          scores: [{scorer: cpu-forecast, demand: 5}]
          multiKueue: {config: gpu-jobs}
        """,
)

ORDER_FIELD = Code(
    "DSF375",
    Severity.WARNING,
    "field that has no effect on jobs",
    explanation="""
        A MultiKueueConfig is one list of clusters, which Kueue reads from the front. It has no
        groups. Remove `decisionGroups`, or use another ScoredPlacement for the consumer that reads
        groups.
        """,
    bad="""
        # apps/jobs.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: ScoredPlacement
        metadata: {name: gpu-jobs, namespace: kueue-system}
        spec:
          scores: [{scorer: cpu-forecast, demand: 5}]
          multiKueue: {config: gpu-jobs}
          placement:
            decisionGroups: {clustersPerDecisionGroup: 50%}
        """,
    good="""
        # apps/jobs.yaml
        apiVersion: gitops-dsf.io/v1alpha1
        kind: ScoredPlacement
        metadata: {name: gpu-jobs, namespace: kueue-system}
        spec:
          scores: [{scorer: cpu-forecast, demand: 5}]
          multiKueue: {config: gpu-jobs}
        """,
)

TOO_MANY_CLUSTERS = Code(
    "DSF376",
    Severity.WARNING,
    "more clusters than a MultiKueueConfig takes",
    explanation="""
        A MultiKueueConfig takes 20 clusters at most. The reconciler lists the best ones and those
        on which jobs run, and the others get no jobs. Choose fewer clusters with `clusterSets` or
        `clusterSelector`, or divide them among several ScoredPlacements and AdmissionChecks.
        """,
    unshown="the smallest example has 21 clusters",
)

UNDECLARED_SCORE = Code(
    "DSF377",
    Severity.ERROR,
    "score of another add-on that is not declared",
    explanation="""
        `spec.externalScores` of gitops-dsf.yaml has no such score. OCM counts a score that nobody
        publishes as 0 on every cluster, and reports nothing, so a misspelt name would rank nothing.
        Correct the name, or declare what the add-on publishes.
        """,
    bad="""
        # gitops-dsf.yaml
        spec:
          externalScores:
            - {resource: resource-usage-score, names: [gpuClusterAvailable]}
        # apps/web.yaml
        spec:
          onMissingScore: Exclude
          scores:
            - addOn: {resource: resource-usage-score, name: gpuAvailable}
        """,
    good="""
        # gitops-dsf.yaml
        spec:
          externalScores:
            - {resource: resource-usage-score, names: [gpuClusterAvailable]}
        # apps/web.yaml
        spec:
          onMissingScore: Exclude
          scores:
            - addOn: {resource: resource-usage-score, name: gpuClusterAvailable}
        """,
)

UNKNOWN_MEASUREMENT = Code(
    "DSF378",
    Severity.ERROR,
    "score of which nobody knows when it has measured a move",
    explanation="""
        Paced moves and a `demand` assume something about a score until it shows what moved. A
        scorer says how long that takes. For a score of another add-on write `measuredAfterSeconds`
        in `spec.externalScores`: for how long its items may still show what was before. The
        resource-usage-collect add-on looks every 60 seconds. With `delivery.mode:
        UpstreamController`, a /config that no lock has may set any interval.
        """,
    bad="""
        # gitops-dsf.yaml
        spec:
          pace: {}
          externalScores:
            - {resource: resource-usage-score, names: [cpuClusterAvailable]}
        # apps/web.yaml
        spec:
          placement: {numberOfClusters: 1}
          onMissingScore: Exclude
          scores:
            - addOn: {resource: resource-usage-score, name: cpuClusterAvailable}
        """,
    good="""
        # gitops-dsf.yaml
        spec:
          pace: {}
          externalScores:
            - resource: resource-usage-score
              names: [cpuClusterAvailable]
              measuredAfterSeconds: 60
        # apps/web.yaml
        spec:
          placement: {numberOfClusters: 1}
          onMissingScore: Exclude
          scores:
            - addOn: {resource: resource-usage-score, name: cpuClusterAvailable}
        """,
)

BUILT_IN_REFUSED = Code(
    "DSF379",
    Severity.ERROR,
    "built-in prioritizer where only scores can rank",
    explanation="""
        Paced moves and the order of clusters for jobs are decided by scores, with what moves and
        jobs do to them. OCM's own prioritizers are none: Balance changes with each move of any
        Placement, and the resources of a cluster are compared with those of the best and the
        worst eligible one. Rank by scores, or do not pace the application.
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

BALANCE_SWINGS = Code(
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

NO_RESOURCES = Code(
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
