"""rendered/reconciler: the Deployment on the hub that observes what git cannot know, its rights, and the
policies that narrow them.

A directory and an Argo CD Application of its own: an image that cannot start must not hold back what the
fleet needs.
"""

from gitops_dsf.render.reconciler.directory import reconciler
from gitops_dsf.render.reconciler.policies import policies
from gitops_dsf.render.reconciler.rights import DECISIONS, RIGHTS, Right, Where, decision_rights, rights

__all__ = ["DECISIONS", "RIGHTS", "Right", "Where", "decision_rights", "policies", "reconciler", "rights"]
