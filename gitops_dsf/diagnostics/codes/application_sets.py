"""Codes about ApplicationSets: their generators, destinations and deletions."""

from gitops_dsf.diagnostics import Severity
from gitops_dsf.diagnostics.code import FindingCode

GENERATOR = FindingCode(
    "DSF402",
    Severity.ERROR,
    "clusterDecisionResource generator that cannot work",
    explanation="""
        The generator finds no decision, or those of all Placements: it needs exactly one of
        `name` and `labelSelector`, and the selector must name the Placement. Select the
        decision by the label `cluster.open-cluster-management.io/placement`.
        """,
    bad="""
        # apps/set.yaml
        spec:
          generators:
            - clusterDecisionResource:
                configMapRef: gitops-dsf-placement-decisions
        """,
    good="""
        # apps/set.yaml
        spec:
          generators:
            - clusterDecisionResource:
                configMapRef: gitops-dsf-placement-decisions
                labelSelector: {matchLabels: {cluster.open-cluster-management.io/placement: batch}}
        """,
)

DECISION_BY_NAME = FindingCode(
    "DSF403",
    Severity.ERROR,
    "decision looked up by name",
    explanation="""
        The generator names one object of the decision. OCM writes several of them for more than
        100 clusters or with decision groups, and clusters in the others would be missed. Select
        them by the label of the Placement.
        """,
    bad="""
        # apps/set.yaml
        spec:
          generators:
            - clusterDecisionResource:
                configMapRef: gitops-dsf-placement-decisions
                name: batch-decision-1
        """,
    good="""
        # apps/set.yaml
        spec:
          generators:
            - clusterDecisionResource:
                configMapRef: gitops-dsf-placement-decisions
                labelSelector: {matchLabels: {cluster.open-cluster-management.io/placement: batch}}
        """,
)

TEMPLATED_PROJECT = FindingCode(
    "DSF404",
    Severity.ERROR,
    "templated project",
    explanation="""
        The project of an Application decides what it may deploy and where. With a template in it,
        anyone who controls the parameters chooses the permissions. Write the name of the project.
        """,
    bad="""
        # apps/set.yaml
        spec:
          template:
            spec:
              project: "{{.name}}"
        """,
    good="""
        # apps/set.yaml
        spec:
          template:
            spec:
              project: batch
        """,
)

GENERATOR_CONFIG = FindingCode(
    "DSF405",
    Severity.WARNING,
    "generator ConfigMap of unknown content",
    explanation="""
        The ConfigMap tells Argo CD how to read a decision, and this one is not rendered here.
        If it has no `matchKey`, Argo CD deletes every Application of the set. Use the ConfigMap
        that is rendered.
        """,
    bad="""
        # apps/set.yaml
        spec:
          generators:
            - clusterDecisionResource:
                configMapRef: my-decisions
                labelSelector: {matchLabels: {cluster.open-cluster-management.io/placement: batch}}
        """,
    good="""
        # apps/set.yaml
        spec:
          generators:
            - clusterDecisionResource:
                configMapRef: gitops-dsf-placement-decisions
                labelSelector: {matchLabels: {cluster.open-cluster-management.io/placement: batch}}
        """,
)

DELETION_POLICY = FindingCode(
    "DSF406",
    Severity.WARNING,
    "ApplicationSet that deletes when a decision is empty",
    explanation="""
        OCM writes an empty decision when no cluster matches, also for a moment while it
        rewrites several objects. With this policy Argo CD deletes the Applications and
        everything that they run. Write `applicationsSync: create-update`, or
        `preserveResourcesOnDeletion: true`.
        """,
    bad="""
        # apps/set.yaml
        spec:
          syncPolicy: {applicationsSync: sync}
        """,
    good="""
        # apps/set.yaml
        spec:
          syncPolicy: {applicationsSync: create-update}
        """,
)

UNKNOWN_PLACEMENT = FindingCode(
    "DSF407",
    Severity.ERROR,
    "unknown Placement",
    explanation="""
        The ApplicationSet follows a Placement that is not in `apps/`, so it would generate
        nothing.
        """,
    bad="""
        # apps/set.yaml
        spec:
          generators:
            - clusterDecisionResource:
                configMapRef: gitops-dsf-placement-decisions
                labelSelector: {matchLabels: {cluster.open-cluster-management.io/placement: bach}}
        """,
    good="""
        # apps/set.yaml
        spec:
          generators:
            - clusterDecisionResource:
                configMapRef: gitops-dsf-placement-decisions
                labelSelector: {matchLabels: {cluster.open-cluster-management.io/placement: batch}}
        """,
)

CONSTANT_NAME = FindingCode(
    "DSF411",
    Severity.ERROR,
    "one name for several Applications",
    explanation="""
        The set generates several Applications, all with this name, and Argo CD then creates
        none of them. Write the cluster into the name. A fixed name fits a Placement with
        `numberOfClusters: 1`. It is a warning where the Placement names no `clusterSets`, or
        selects by claims or CEL.
        """,
    bad="""
        # apps/batch.yaml
        spec:
          numberOfClusters: 2
        # apps/set.yaml
        spec:
          template:
            metadata:
              name: batch
        """,
    good="""
        # apps/batch.yaml
        spec:
          numberOfClusters: 2
        # apps/set.yaml
        spec:
          template:
            metadata:
              name: batch-{{.name}}
        """,
)

DESTINATION = FindingCode(
    "DSF412",
    Severity.ERROR,
    "destination that names no cluster, or two",
    explanation="""
        Argo CD refuses an Application whose destination has both name and server, or neither.
        Write `name: "{{.name}}"` for the cluster of the decision.
        """,
    bad="""
        # apps/set.yaml
        spec:
          template:
            spec:
              destination: {name: "{{.name}}", server: "{{.server}}", namespace: batch}
        """,
    good="""
        # apps/set.yaml
        spec:
          template:
            spec:
              destination: {name: "{{.name}}", namespace: batch}
        """,
)

NO_GENERATOR = FindingCode(
    "DSF413",
    Severity.ERROR,
    "ApplicationSet that generates nothing",
    explanation="""
        The ApplicationSet has no generator, so Argo CD generates no Application for it and
        deletes those that it generated before. Write a generator, or remove the object.
        """,
    bad="""
        # apps/set.yaml
        spec:
          generators: []
        """,
    good="""
        # apps/set.yaml
        spec:
          generators:
            - clusterDecisionResource:
                configMapRef: gitops-dsf-placement-decisions
                labelSelector: {matchLabels: {cluster.open-cluster-management.io/placement: batch}}
        """,
)
