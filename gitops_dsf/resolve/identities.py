"""What the label of a series says about its cluster: the cluster's name, or a claim or label of it."""

from gitops_dsf.repository.model.cluster import ManagedCluster


def identity_of(cluster: ManagedCluster, identity: str) -> str | None:
    """The value of a cluster for ClusterLabel.identity; None if it has none."""
    if not identity:
        return cluster.metadata.name
    kind, _, name = identity.partition(":")
    if kind == "label":
        return cluster.metadata.labels.get(name) or None
    claims = cluster.status.cluster_claims
    return next((claim.value for claim in claims if claim.name == name and claim.value), None)
