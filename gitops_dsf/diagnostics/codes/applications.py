"""Codes about applications: their names, AppProjects, objects and moves."""

from gitops_dsf.diagnostics import Severity
from gitops_dsf.diagnostics.code import FindingCode

REPLACE_EXCLUDE = FindingCode(
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

LONG_NAME = FindingCode(
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

APPLICATION_NAME = FindingCode(
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

OWN_APPLICATION = FindingCode(
    "DSF362",
    Severity.ERROR,
    "Application named like one of rendered/argocd",
    explanation="""
        No ApplicationSet owns the Applications of `rendered/argocd`. An ApplicationSet that
        generates the same name would replace their source and project, and the fleet repository
        would no longer be applied. Choose another name.
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

SAME_OBJECTS = FindingCode(
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

PLATFORM_PROJECT = FindingCode(
    "DSF410",
    Severity.ERROR,
    "application in an AppProject of the platform",
    explanation="""
        The AppProjects of the platform, `spec.argocd.project` of gitops-dsf.yaml and the same with
        `-works`, may deploy with its rights on every cluster. Anyone who can push a branch of the
        fleet repository would have those rights, because an AppProject cannot be limited to a
        branch. The rule holds wherever a project is named: in applications, and in the template,
        the generators' templates and the `templatePatch` of ApplicationSets. [The hub refuses it,
        too](docs/operate/security.md#what-a-merged-file-may-do). Write an AppProject of the
        application's own team.
        """,
    bad="""
        # apps/web.yaml
        spec:
          application:
            project: gitops-dsf-works
        """,
    good="""
        # apps/web.yaml
        spec:
          application:
            project: team-web
        """,
)
