"""Codes about any object, whatever its kind: its fields, values, name and annotations."""

from gitops_dsf.diagnostics import Severity
from gitops_dsf.diagnostics.code import FindingCode

NOT_AN_OBJECT = FindingCode(
    "DSF011",
    Severity.ERROR,
    "document that is not an object",
    explanation="""
        A YAML document must be an object with apiVersion and kind. This one is a list, a text
        or a number, and nothing reads it.
        """,
    bad="""
        # clusters/second.yaml
        - prod-2
        """,
    good="""
        # clusters/second.yaml
        apiVersion: cluster.open-cluster-management.io/v1
        kind: ManagedCluster
        metadata: {name: prod-2}
        """,
)

UNKNOWN_KIND = FindingCode(
    "DSF012",
    Severity.ERROR,
    "unknown kind or apiVersion",
    explanation="""
        The kind, or the apiVersion of the kind, is not one that a fleet repository has; DSF017
        lists them. The document would not be rendered, and what it says would not happen. An
        object of another program is a warning: move it to a repository of its own, or to a
        folder that is not read. `validate --fix` rewrites upstream's version v1.
        """,
    bad="""
        # clusters/second.yaml
        apiVersion: cluster.open-cluster-management.io/v1
        kind: ManagedCluser
        metadata: {name: prod-2}
        """,
    good="""
        # clusters/second.yaml
        apiVersion: cluster.open-cluster-management.io/v1
        kind: ManagedCluster
        metadata: {name: prod-2}
        """,
)

UNKNOWN_FIELD = FindingCode(
    "DSF013",
    Severity.ERROR,
    "unknown field",
    explanation="""
        The kind has no field of this name, so the field would have no effect. Most often the
        name is misspelt, or stands one level too high or too low. In the inventory it is a
        warning, because a newer OCM may have the field.
        """,
    bad="""
        # apps/web.yaml
        spec:
          placement:
            numberofClusters: 1
        """,
    good="""
        # apps/web.yaml
        spec:
          placement:
            numberOfClusters: 1
        """,
)

MISSING_FIELD = FindingCode(
    "DSF014",
    Severity.ERROR,
    "missing field",
    explanation="""
        A field that the object needs is missing. The hint says what it is for, and which values
        it takes.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          source:
            auth: {tokenSecretRef: {name: prometheus-token}}
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          source:
            auth: {tokenSecretRef: {name: prometheus-token, key: token}}
        """,
)

WRONG_TYPE = FindingCode(
    "DSF015",
    Severity.ERROR,
    "wrong type",
    explanation="""
        The value has another type than the field: a text where a number belongs, or a list
        where an object does. The API server would refuse the rendered object. `validate --fix`
        adds or removes quotes where only those are wrong.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          scoring:
            params:
              interval: 1m
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          scoring:
            params:
              interval: 60
        """,
)

BAD_VALUE = FindingCode(
    "DSF016",
    Severity.ERROR,
    "value that is not allowed",
    explanation="""
        The value has the right type, and the field does not allow it: the number is too large
        or too small, the name has characters that Kubernetes refuses, or the word is not one of
        the listed ones. The hint says what is allowed.
        """,
    bad="""
        # scorers/cpu.yaml
        spec:
          scoring:
            params:
              interval: 999999999
        """,
    good="""
        # scorers/cpu.yaml
        spec:
          scoring:
            params:
              interval: 60
        """,
)

DUPLICATE_OBJECT = FindingCode(
    "DSF018",
    Severity.ERROR,
    "object defined twice",
    explanation="""
        Two documents declare the object of one kind, namespace and name. Argo CD would apply
        both in turn, and the hub would have whichever came last. A ScoredApplication also
        renders a Placement and an ApplicationSet of its name, so a copied one must have another
        name.
        """,
    bad="""
        # clusters/second.yaml
        apiVersion: cluster.open-cluster-management.io/v1
        kind: ManagedCluster
        metadata: {name: prod-1}
        """,
    good="""
        # clusters/second.yaml
        apiVersion: cluster.open-cluster-management.io/v1
        kind: ManagedCluster
        metadata: {name: prod-2}
        """,
)

ARGOCD_CONTROL = FindingCode(
    "DSF024",
    Severity.ERROR,
    "annotation or label that steers Argo CD",
    explanation="""
        Argo CD obeys `argocd.argoproj.io/*`, and of Helm's annotations `helm.sh/hook*` and
        `helm.sh/resource-policy`. With one of them it could treat the object as a hook and
        delete it when it is healthy, or never prune it. Remove it: gitops-dsf renders the waves
        and options that its objects need. Only `argocd.argoproj.io/sync-wave` is allowed, on
        Placements, ManagedClusterSetBindings and ApplicationSets.
        """,
    bad="""
        # scorers/cpu.yaml
        metadata:
          annotations:
            argocd.argoproj.io/hook: PostSync
        """,
    good="""
        # scorers/cpu.yaml
        metadata:
          annotations:
            example.com/owner: capacity-team
        """,
)

LARGE_ANNOTATIONS = FindingCode(
    "DSF031",
    Severity.ERROR,
    "annotations larger than Kubernetes accepts",
    explanation="""
        The API server refuses an object whose annotations have more than 262,144 bytes
        together, and Argo CD then stops the sync of everything beside it. 250,000 bytes are
        left for yours. Keep the text elsewhere, and write its address.
        """,
    unshown="the smallest example has 250,001 bytes",
)

MANY_LABELS = FindingCode(
    "DSF032",
    Severity.ERROR,
    "more labels than an object of Kubernetes should have",
    explanation="""
        An object may have 1,000 labels. Kubernetes has no limit of its own, but every program
        that watches the object keeps its labels in memory. Write as annotations what no
        selector needs.
        """,
    unshown="the smallest example has 1,001 labels",
)
