"""The Deployment on the hub that runs scorers with runsOn: Hub, its rights, and the policies that narrow
them.

It is part of rendered/reconciler, which always exists: Argo CD deletes what is no longer rendered there when
the last scorer leaves the hub.
"""

from gitops_dsf.render.hubscorer.directory import hub_scorer
from gitops_dsf.render.hubscorer.rights import cluster_rights

__all__ = ["cluster_rights", "hub_scorer"]
