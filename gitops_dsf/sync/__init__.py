"""locks/ brought up to date with what scoring APIs say on their /config pages: asked, judged, and written only when the meaning changed."""

from gitops_dsf.sync.outcome import Outcome, SyncPlan, Verdict
from gitops_dsf.sync.plan import plan_sync
from gitops_dsf.sync.write import write_locks

__all__ = ["Outcome", "SyncPlan", "Verdict", "plan_sync", "write_locks"]
