"""Codes about limits of what is rendered. They are checked when there are no other errors."""

from gitops_dsf.diagnostics import Severity
from gitops_dsf.diagnostics.code import FindingCode

LARGE_LIST = FindingCode(
    "DSF040",
    Severity.ERROR,
    "more scorers than the list for the reconciler holds",
    explanation="""
        The reconciler takes the scorers from ConfigMaps, of which there are eight at most: its
        rights name each of them. The API server limits the size of each. About 2,000 scorers fit;
        long `scoring.arguments` and queries take more room.
        """,
    unshown="the smallest example has 512,000 bytes",
)

LARGE_HUB_CONFIG = FindingCode(
    "DSF153",
    Severity.ERROR,
    "configuration of the hub scorer larger than a ConfigMap holds",
    explanation="""
        All clusters and all hub scorers share one ConfigMap, and the API server takes 1 MiB.
        Shorten `scoring.arguments`, or let scorers with long arguments run on the spokes.
        """,
    unshown="the smallest example has 1 MiB",
)

LARGE_WORK = FindingCode(
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

FULL_SHARD = FindingCode(
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

LARGE_SET = FindingCode(
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
