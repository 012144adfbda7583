"""What the pods of our programs have in common."""

from typing import Final

from gitops_dsf.render.objects import Object
from gitops_dsf.repository.model.reconciler import Reconciler
from gitops_dsf.repository.model.repository import Agent, HubScorer

METRICS_PORT: Final = 8080
"""Of pages and metrics, in the manifests of every program."""


def pod_values(settings: Agent | HubScorer | Reconciler, *, image: str) -> Object:
    """What the manifest of a pod is filled in with."""
    return {
        "image": image,
        "pull_policy": settings.image_pull_policy,
        "pull_secrets": [{"name": name} for name in settings.image_pull_secrets] or None,
        "node_selector": settings.node_selector,
        "tolerations": [each.model_dump(exclude_unset=True) for each in settings.tolerations],
        "requests": settings.resources.requests,
        "limits": settings.resources.limits,
    }
