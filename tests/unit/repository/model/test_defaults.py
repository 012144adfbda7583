"""A default of a field is one object for all that do not set it: thousands of clusters need no copies."""

from gitops_dsf.repository.load import load_text
from gitops_dsf.repository.model.cluster import ManagedCluster
from gitops_dsf.repository.model.validate import declare

CLUSTER = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: %s}
"""


def test_objects_share_their_defaults() -> None:
    text = "---\n".join(CLUSTER % name for name in ("a", "b"))
    first, second = (item.value for item in declare(load_text(text, file="clusters/c.yaml")).clusters)
    assert isinstance(first, ManagedCluster)
    assert first.spec == ManagedCluster.model_fields["spec"].default
    assert first.spec is second.spec
    assert first.status is second.status
