"""Codes DSF5xx: limits of what is rendered. They are checked when there are no other errors."""

from gitops_dsf.diagnostics import Severity
from gitops_dsf.diagnostics.code import Code

LARGE_WORK = Code(
    "DSF501",
    Severity.ERROR,
    "ManifestWork larger than OCM accepts",
    explanation="""
        OCM's webhook refuses a ManifestWork of more than 512,000 bytes. A cluster has one work
        with all its scorers, so none of them would be updated. Limit the scorers by
        `clusterSelector`, or shorten `scoring.arguments`.
        """,
    unshown="the smallest example has 512,000 bytes",
)

FULL_SHARD = Code(
    "DSF502",
    Severity.ERROR,
    "works directory larger than Argo CD accepts",
    explanation="""
        Argo CD's repo server takes at most 10 MB of manifests from a folder, and refuses the
        whole folder otherwise. Raise `spec.output.shards`; a new number moves most clusters, so
        leave room to grow.
        """,
    unshown="the smallest example has hundreds of clusters",
)

LARGE_SET = Code(
    "DSF503",
    Severity.ERROR,
    "labels and claims larger than Argo CD accepts",
    explanation="""
        Where templates read labels or claims, the ApplicationSet carries them for each cluster
        on which the application may run: about 100 bytes each. The API server and Argo CD limit
        the size of an object and of a folder. Let the application choose from fewer clusters,
        or read fewer labels.
        """,
    unshown="the smallest example has thousands of clusters",
)
