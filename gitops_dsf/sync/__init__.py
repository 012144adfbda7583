"""locks/ brought up to date with what scoring APIs say on their /config pages: asked, judged, and written
only when the meaning changed.

`plan` and `fetch` ask; they need the libraries of the extra `live`. What is exported here does not.
"""

from gitops_dsf.sync.result import LockResult, LockState, SyncPlan
from gitops_dsf.sync.write import write_locks

__all__ = ["LockResult", "LockState", "SyncPlan", "write_locks"]
